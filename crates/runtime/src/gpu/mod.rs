//! Masks, draws and states on the device where the logits are.
//!
//! Three ways to keep logits from travelling to the host, from the simplest to
//! the one that leaves it out altogether:
//!
//! - [`mask_logits`](crate::gpu::masking::mask_logits) writes minus infinity over
//!   what is forbidden; whatever draws, draws.
//! - [`DeviceSampler`] masks and draws in one go. Masks are computed on the
//!   host, by any constraint, and travel while the model computes.
//! - [`ResidentDecoder`] keeps eager indexes, their rows and the vocabulary's
//!   bytes on the device: masks are laid out, tokens drawn and states advanced
//!   there, and tokens come back in blocks.
//!
//! Each works on a CPU device too, which is how all that surrounds the kernels
//! is tried where there is no GPU. For the same seed the tokens are the same on
//! every device, as long as the logits are.
//!
//! A GPU needs the feature `cuda`: see [`DeviceChoice`].
//!
//! For example, logits of 128,256 floats are 513 kB a text and step, which need not cross the bus.

#[cfg(feature = "cuda")]
mod cuda;
mod decode;
mod device;
#[cfg(test)]
mod host;
#[cfg(any(test, feature = "cuda"))]
mod kernels;
#[cfg(feature = "cuda")]
mod launch;
pub mod masking;
mod parameters;
mod resident;
mod sampler;
mod twin;

#[cfg(feature = "cuda")]
pub(crate) use cuda::mask_on_cuda;
pub use decode::{ResidentDecoder, ResidentText};
pub use device::DeviceChoice;
pub use sampler::{DeviceSampler, UploadedMasks};

use candle_core::Tensor;

use crate::{Error, ErrorKind};

/// Logits of a batch as the draws on a CPU device read them: `[batch, width]`
/// as 32-bit floats.
fn rows_on_host(logits: &Tensor) -> Result<Vec<Vec<f32>>, Error> {
    Ok(logits.to_dtype(candle_core::DType::F32)?.to_vec2()?)
}

/// Checks that logits are `[batch, width]` and contiguous.
fn check_logits(logits: &Tensor, batch: usize, width: usize) -> Result<(), Error> {
    if logits.dims() != [batch, width] {
        return Err(Error::new(
            ErrorKind::VocabularyMismatch,
            format!(
                "logits have the shape {:?}; the batch was made for {:?}",
                logits.dims(),
                [batch, width]
            ),
        ));
    }
    if !logits.is_contiguous() {
        return Err(Error::new(
            ErrorKind::VocabularyMismatch,
            "logits must be contiguous",
        ));
    }
    Ok(())
}

/// Checks the sizes of a batch.
fn check_sizes(batch: usize, width: usize, vocabulary: usize) -> Result<(), Error> {
    if batch == 0 || u32::try_from(batch).is_err() {
        return Err(Error::new(
            ErrorKind::InvalidParameter,
            format!("a batch of {batch} texts; it must have 1 to 2^32 - 1"),
        ));
    }
    if vocabulary == 0 || width < vocabulary || width > fsm_index::MAX_WIDTH {
        return Err(Error::new(
            ErrorKind::VocabularyMismatch,
            format!(
                "logits of width {width} do not fit a vocabulary of {vocabulary} tokens (at \
                 least 1, at most {})",
                fsm_index::MAX_WIDTH
            ),
        ));
    }
    Ok(())
}
