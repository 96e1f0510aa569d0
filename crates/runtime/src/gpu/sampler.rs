//! Mask and draw in one go, with masks from the host. For example, the masks of 4 texts are
//! uploaded while the model computes, and one call draws their 4 tokens.

use candle_core::{Device, Tensor};

use super::parameters::Parameters;
use super::{check_logits, check_sizes, rows_on_host, twin};
use crate::gpu::masking::{BatchMasks, mask_logits};
use crate::sampling::SamplingConfig;
use crate::{Error, ErrorKind};

/// Draws the tokens of a batch where the logits are: mask, temperature, top-k,
/// top-p, min-p and the draw together. Only tokens come back.
///
/// The order of the steps is that of [`Sampler`](crate::sampling::Sampler). At
/// temperature 0 the tokens are the same; else they have the same distribution,
/// with other draws for a seed (Philox counts instead of a stream, so that a
/// device needs no state but how many draws there were). Weights are whole
/// numbers of 38 bits: a token less than 4e-12 times as probable as the most
/// probable one is not drawn.
///
/// There are no penalties.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use tokenmold::gpu::DeviceSampler;
/// use tokenmold::masking::BatchMasks;
/// use tokenmold::sampling::SamplingConfig;
///
/// let configs = [SamplingConfig::greedy(), SamplingConfig::with_temperature(0.8, 7)];
/// let mut sampler = DeviceSampler::new(&Device::Cpu, &configs, 3, 4)?;
/// let mut masks = BatchMasks::new(3)?;
/// masks.push(&[0b011])?;
/// masks.push(&[0b100])?;
/// sampler.upload(&masks)?; // While the model computes.
/// let logits = Tensor::new(&[[0f32, 1., 2., 9.], [0., 1., 2., 9.]], &Device::Cpu)?;
/// assert_eq!(sampler.draw(&logits)?, [Some(1), Some(2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceSampler {
    engine: SamplerEngine,
    batch: usize,
    vocabulary: usize,
    width: usize,
    /// True if the masks of the next draw are there.
    uploaded: bool,
}

enum SamplerEngine {
    Host {
        parameters: Vec<Parameters>,
        masks: BatchMasks,
    },
    #[cfg(feature = "cuda")]
    Cuda(Box<super::cuda::CudaSampler>),
}

impl DeviceSampler {
    /// For a text for each configuration, over `vocabulary` tokens and logits
    /// of `width` columns on `device`.
    ///
    /// # Errors
    ///
    /// A parameter is out of its range ([`ErrorKind::InvalidParameter`]), the
    /// sizes do not fit, or the device fails.
    pub fn new(
        device: &Device,
        configs: &[SamplingConfig],
        vocabulary: usize,
        width: usize,
    ) -> Result<Self, Error> {
        check_sizes(configs.len(), width, vocabulary)?;
        let parameters: Result<Vec<_>, _> = configs.iter().map(Parameters::new).collect();
        let parameters = parameters?;
        let engine = match device {
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => SamplerEngine::Cuda(Box::new(super::cuda::CudaSampler::new(
                cuda,
                &parameters,
                vocabulary,
                width,
            )?)),
            Device::Cpu => SamplerEngine::Host {
                parameters,
                masks: BatchMasks::new(vocabulary)?,
            },
            #[allow(unreachable_patterns)]
            _ => {
                return Err(Error::new(
                    ErrorKind::Device,
                    "tokens are drawn on the CPU and on CUDA devices only",
                ));
            }
        };
        Ok(Self {
            engine,
            batch: configs.len(),
            vocabulary,
            width,
            uploaded: false,
        })
    }

    /// Gives the masks of the next draw. On a GPU they begin to travel now, from
    /// pinned memory and beside whatever the device computes; two sets are kept,
    /// so that the masks of one step are written while those of the one before
    /// are in use. Returns before they have arrived.
    ///
    /// # Errors
    ///
    /// They are of another number of texts or over another vocabulary, or the
    /// device fails.
    pub fn upload(&mut self, masks: &BatchMasks) -> Result<(), Error> {
        if masks.len() != self.batch || masks.vocabulary() != self.vocabulary {
            return Err(Error::new(
                ErrorKind::VocabularyMismatch,
                format!(
                    "{} masks over {} tokens were given for {} texts over {}",
                    masks.len(),
                    masks.vocabulary(),
                    self.batch,
                    self.vocabulary
                ),
            ));
        }
        match &mut self.engine {
            SamplerEngine::Host { masks: own, .. } => own.clone_from(masks),
            #[cfg(feature = "cuda")]
            SamplerEngine::Cuda(sampler) => sampler.upload(masks)?,
        }
        self.uploaded = true;
        Ok(())
    }

    /// Draws a token for each text under the masks that were uploaded last;
    /// none for a text that no token can be drawn for: all are masked, or none
    /// has a logit above minus infinity. Waits for the device.
    ///
    /// # Errors
    ///
    /// The logits have another shape, type or device, no masks were uploaded
    /// since the last draw, or the device fails.
    pub fn draw(&mut self, logits: &Tensor) -> Result<Vec<Option<u32>>, Error> {
        check_logits(logits, self.batch, self.width)?;
        if !std::mem::take(&mut self.uploaded) {
            return Err(Error::new(
                ErrorKind::Sampling,
                "no masks were uploaded for this draw; call `upload` before each",
            ));
        }
        match &mut self.engine {
            SamplerEngine::Host { parameters, masks } => {
                let rows = rows_on_host(logits)?;
                let texts = rows.iter().zip(parameters).enumerate();
                let tokens = texts.map(|(text, (row, parameters))| {
                    twin::draw(&row[..self.vocabulary], masks.mask(text), parameters)
                });
                Ok(tokens.collect())
            }
            #[cfg(feature = "cuda")]
            SamplerEngine::Cuda(sampler) => sampler.draw(logits),
        }
    }
}

/// Masks of a batch on a device, for logits that are masked more than once.
pub struct UploadedMasks {
    masks: Uploaded,
}

enum Uploaded {
    Host(BatchMasks),
    #[cfg(feature = "cuda")]
    Cuda(super::cuda::Masks),
}

impl UploadedMasks {
    /// Copies masks to a device.
    ///
    /// # Errors
    ///
    /// The device is neither the CPU nor a CUDA device, or it fails.
    pub fn new(device: &Device, masks: &BatchMasks) -> Result<Self, Error> {
        let masks = match device {
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Uploaded::Cuda(super::cuda::Masks::new(cuda, masks)?),
            Device::Cpu => Uploaded::Host(masks.clone()),
            #[allow(unreachable_patterns)]
            _ => {
                return Err(Error::new(
                    ErrorKind::Device,
                    "logits are masked on the CPU and on CUDA devices only",
                ));
            }
        };
        Ok(Self { masks })
    }

    /// Does the work of [`mask_logits`] without an upload: one launch, and on a GPU no wait.
    ///
    /// # Errors
    ///
    /// As [`mask_logits`], or the logits are on another device.
    pub fn apply(&self, logits: &Tensor) -> Result<(), Error> {
        match &self.masks {
            Uploaded::Host(masks) => mask_logits(logits, masks),
            #[cfg(feature = "cuda")]
            Uploaded::Cuda(masks) => masks.apply(logits),
        }
    }
}

impl std::fmt::Debug for UploadedMasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UploadedMasks(..)")
    }
}

impl std::fmt::Debug for DeviceSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "DeviceSampler({} texts, {} tokens)",
            self.batch, self.vocabulary
        )
    }
}
