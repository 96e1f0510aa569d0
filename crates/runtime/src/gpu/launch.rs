//! The launches themselves, and memory that the driver pins: all that is `unsafe` here. For
//! example, a slice of `u32` is handed to a kernel as an address, which only this module can make.
#![allow(unsafe_code)]

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::cuda_backend::cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
};
use candle_core::{CudaDevice, CudaStorage, Layout, Result, Storage, Tensor};
use std::sync::Arc;

use super::cuda::{Memory, PTX};
use crate::gpu::kernels::{Argument, Kernel, Launch};

/// The name under which candle keeps our module. All kernels are one module, because they are
/// compiled to one text of PTX.
const MODULE: &str = "tokenmold";

/// An address in the GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(u64);

impl Address {
    fn of_slice<T>(slice: &CudaSlice<T>, from: usize, stream: &CudaStream) -> Address {
        // The event that is recorded when the guard is dropped orders the uses of other streams;
        // masks alone have one, with events of their own.
        let (address, _guard) = slice.device_ptr(stream);
        Address(address + (from * size_of::<T>()) as u64)
    }

    /// The first value of a tensor's storage.
    pub(crate) fn of_storage(storage: &CudaStorage, layout: &Layout) -> Result<Address> {
        let stream = storage.device.cuda_stream();
        let from = layout.start_offset();
        Ok(match &storage.slice {
            CudaStorageSlice::F32(slice) => Self::of_slice(slice, from, &stream),
            CudaStorageSlice::F16(slice) => Self::of_slice(slice, from, &stream),
            CudaStorageSlice::BF16(slice) => Self::of_slice(slice, from, &stream),
            CudaStorageSlice::U32(slice) => Self::of_slice(slice, from, &stream),
            _ => candle_core::bail!("no kernel takes values of type {:?}", storage.dtype()),
        })
    }

    fn of_tensor(tensor: &Tensor) -> Result<Address> {
        let (storage, layout) = tensor.storage_and_layout();
        match &*storage {
            Storage::Cuda(storage) => Self::of_storage(storage, layout),
            _ => candle_core::bail!("a kernel is given a tensor that is not on the GPU"),
        }
    }
}

/// Launches a kernel on candle's stream.
pub(super) fn launch(device: &CudaDevice, launch: &Launch<'_, Memory>) -> Result<()> {
    let stream = device.cuda_stream();
    let name = Kernel::NAMES[launch.kernel.number()];
    let function = device.get_or_load_custom_func(name, MODULE, PTX)?;
    /// An argument as the driver takes it.
    enum Value {
        Address(u64),
        Word(u32),
    }
    let mut values = Vec::with_capacity(launch.arguments.len());
    for argument in &launch.arguments {
        values.push(match argument {
            Argument::Word(word) => Value::Word(*word),
            Argument::Memory(Memory::Words(slice)) => {
                Value::Address(Address::of_slice(slice, 0, &stream).0)
            }
            Argument::Memory(Memory::Tensor(tensor)) => {
                Value::Address(Address::of_tensor(tensor)?.0)
            }
            Argument::Memory(Memory::Lent(address)) => Value::Address(address.0),
        });
    }
    let mut builder = function.builder();
    for value in &values {
        match value {
            Value::Address(address) => builder.arg(address),
            Value::Word(word) => builder.arg(word),
        };
    }
    let config = LaunchConfig {
        grid_dim: (launch.grid.0, launch.grid.1, 1),
        block_dim: (launch.threads, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the arguments are those that the kernel has, in its order: a
    // `Launch` is made in `kernels.rs` alone, and the tests there run every one
    // of them with the kernels of these sources, by a program that refuses
    // another number of arguments, a word for a pointer, and a block that is no
    // whole number of warps. Addresses are of memory that is alive until the
    // launch is queued, because `launch` borrows it, and that is freed, if then,
    // behind it on the same stream: one for all threads (`Cuda::new`), or that of
    // this thread for what lives no longer than this call. The kernels stay within it: what is written
    // was made for the batch's sizes by the same function that passes them, and
    // logits have been checked to be contiguous and `[batch, width]`. Numbers
    // that kernels read from memory are offsets into the tables of an index and
    // a vocabulary, which were made here from checked ones, rows of masks, which
    // `BatchMasks` alone numbers, and tokens that `choose` wrote. Tensors are
    // changed behind a shared borrow, as candle's own in-place operations do:
    // nothing on the host refers to their values, and all else that reads them
    // is queued behind.
    unsafe { builder.launch(config) }.map_err(candle_core::Error::wrap)?;
    Ok(())
}

/// Memory of the host that the GPU reads by itself.
pub(super) fn pinned(
    context: &Arc<CudaContext>,
    words: usize,
) -> std::result::Result<PinnedHostSlice<u32>, DriverError> {
    // SAFETY: all that is asked is that nothing is read before it was written;
    // the lines below write every word.
    let mut slice = unsafe { context.alloc_pinned::<u32>(words.max(1)) }?;
    slice.as_mut_slice()?.fill(0);
    Ok(slice)
}
