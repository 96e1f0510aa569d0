//! The kernels on an NVIDIA GPU, through candle's device.
//!
//! Everything runs on candle's stream, in order with the model's own kernels,
//! but for the upload of masks, which has a stream of its own.
//!
//! For example, a batch of 8 masks is copied on one stream while the model's kernels run on the
//! other.

use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::cuda_backend::cudarc::driver::{
    CudaEvent, CudaSlice, CudaStream, PinnedHostSlice,
};
use candle_core::{CudaDevice, CudaStorage, Device, Layout, Tensor};
use std::sync::Arc;

use super::kernels::{Backend, DeviceMasks, Draws, Floats, Image, Launch, Shape, States, mask};
use super::parameters::Parameters;
use super::resident::Resident;
use crate::gpu::masking::{BatchMasks, batch_of};
use crate::{Error, ErrorKind};

use super::launch::{self, Address, pinned};

/// The kernels, as text that the driver compiles for the GPU at hand.
pub(super) const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/tokenmold.ptx"));

/// A GPU.
#[derive(Clone, Debug)]
pub(crate) struct Cuda {
    device: CudaDevice,
}

/// Words of its memory, or logits there.
pub(crate) enum Memory {
    Words(CudaSlice<u32>),
    Tensor(Tensor),
    /// The logits of an operation that candle runs; for as long as it runs.
    Lent(Address),
}

/// The driver's name of a stream that is another one in each thread, because threads must not wait
/// for each other.
const STREAM_OF_THREAD: usize = 2;

impl Cuda {
    /// For what keeps memory from call to call.
    ///
    /// # Errors
    ///
    /// The device's stream is another one in each thread, so that calls would not be in
    /// order.
    fn new(device: &CudaDevice) -> Result<Cuda, Error> {
        if device.cuda_stream().cu_stream() as usize == STREAM_OF_THREAD {
            return Err(Error::new(
                ErrorKind::Device,
                "the device has a stream for each thread; open it by `DeviceChoice::open` or \
                 `Device::new_cuda_with_stream`",
            ));
        }
        Ok(Cuda {
            device: device.clone(),
        })
    }
}

/// Returns the error of the driver.
#[cold]
fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let message = format!("the GPU failed: {}", crate::error::first_line(&error));
    Error::with_source(ErrorKind::Device, message, error)
}

impl Backend for Cuda {
    type Memory = Memory;

    fn zeroed(&self, words: usize) -> Result<Memory, Error> {
        // Memory of no words is none.
        let slice = self.device.alloc_zeros::<u32>(words.max(1));
        Ok(Memory::Words(slice.map_err(failed)?))
    }

    fn filled(&self, words: &[u32]) -> Result<Memory, Error> {
        if words.is_empty() {
            return self.zeroed(1);
        }
        Ok(Memory::Words(
            self.device.clone_htod(words).map_err(failed)?,
        ))
    }

    fn read(&self, memory: &Memory) -> Result<Vec<u32>, Error> {
        match memory {
            Memory::Words(slice) => self.device.clone_dtoh(slice).map_err(failed),
            Memory::Tensor(tensor) => tensor.to_vec1().map_err(failed),
            Memory::Lent(_) => Err(Error::new(
                ErrorKind::Device,
                "lent logits are not read back",
            )),
        }
    }

    fn launch(&self, launch: &Launch<'_, Memory>) -> Result<(), Error> {
        launch::launch(&self.device, launch).map_err(failed)
    }
}

/// The type of a tensor's values, if the kernels know it.
fn floats_of(tensor: &Tensor) -> Result<Floats, Error> {
    match tensor.dtype() {
        candle_core::DType::F32 => Ok(Floats::F32),
        candle_core::DType::F16 => Ok(Floats::F16),
        candle_core::DType::BF16 => Ok(Floats::BF16),
        other => Err(Error::new(
            ErrorKind::VocabularyMismatch,
            format!("logits of type {other:?}; they must be f32, f16 or bf16"),
        )),
    }
}

/// A tensor of logits as memory, if it lies on this GPU.
fn logits_on(device: &CudaDevice, logits: &Tensor) -> Result<(Memory, Floats), Error> {
    match logits.device() {
        Device::Cuda(own) if own.id() == device.id() => {
            Ok((Memory::Tensor(logits.clone()), floats_of(logits)?))
        }
        _ => Err(Error::new(
            ErrorKind::Device,
            "the logits lie on another device than the batch was made for",
        )),
    }
}

/// The masking operation, as candle calls it.
pub(crate) fn mask_on_cuda(
    storage: &mut CudaStorage,
    layout: &Layout,
    masks: &BatchMasks,
    width: usize,
) -> candle_core::Result<()> {
    let backend = Cuda {
        device: storage.device.clone(),
    };
    let floats = match &storage.slice {
        CudaStorageSlice::F32(_) => Floats::F32,
        CudaStorageSlice::F16(_) => Floats::F16,
        CudaStorageSlice::BF16(_) => Floats::BF16,
        _ => candle_core::bail!("logits to be masked must be f32, f16 or bf16"),
    };
    let shape = Shape {
        batch: masks.len(),
        width,
        vocabulary: masks.vocabulary(),
    };
    let plain = candle_core::Error::wrap;
    let words = backend.filled(masks.words()).map_err(plain)?;
    let rows = backend.filled(masks.rows()).map_err(plain)?;
    let logits = Memory::Lent(Address::of_storage(storage, layout)?);
    let masks = DeviceMasks {
        words: &words,
        rows: &rows,
    };
    mask(&backend, &logits, floats, shape, &masks).map_err(plain)
}

/// The form of [`UploadedMasks`](super::UploadedMasks) on a GPU.
pub(crate) struct Masks {
    backend: Cuda,
    batch: usize,
    vocabulary: usize,
    words: Memory,
    rows: Memory,
}

impl Masks {
    pub(crate) fn new(device: &CudaDevice, masks: &BatchMasks) -> Result<Self, Error> {
        let backend = Cuda::new(device)?;
        Ok(Self {
            batch: masks.len(),
            vocabulary: masks.vocabulary(),
            words: backend.filled(masks.words())?,
            rows: backend.filled(masks.rows())?,
            backend,
        })
    }

    pub(crate) fn apply(&self, logits: &Tensor) -> Result<(), Error> {
        let (batch, width) = batch_of(logits, self.batch, self.vocabulary)?;
        let (logits, floats) = logits_on(&self.backend.device, logits)?;
        let shape = Shape {
            batch,
            width,
            vocabulary: self.vocabulary,
        };
        let masks = DeviceMasks {
            words: &self.words,
            rows: &self.rows,
        };
        mask(&self.backend, &logits, floats, shape, &masks)
    }
}

/// The masks of a step on their way.
struct Staged {
    /// Words and rows in memory of the host from which the GPU reads.
    host: [PinnedHostSlice<u32>; 2],
    /// The same on the GPU.
    device: [Memory; 2],
    /// When they have arrived.
    arrived: Option<CudaEvent>,
    /// When they were read.
    read: Option<CudaEvent>,
}

/// The form of [`DeviceSampler`](super::DeviceSampler) on a GPU.
pub(crate) struct CudaSampler {
    backend: Cuda,
    stream: Arc<CudaStream>,
    upload: Arc<CudaStream>,
    draws: Draws<Cuda>,
    tokens: Memory,
    staged: [Staged; 2],
    /// Which of the two was uploaded last.
    newest: usize,
}

impl CudaSampler {
    pub(crate) fn new(
        device: &CudaDevice,
        parameters: &[Parameters],
        vocabulary: usize,
        width: usize,
    ) -> Result<Self, Error> {
        let backend = Cuda::new(device)?;
        let shape = Shape {
            batch: parameters.len(),
            width,
            vocabulary,
        };
        let stream = device.cuda_stream();
        let words = shape.batch * shape.words();
        let stage = || -> Result<Staged, Error> {
            Ok(Staged {
                host: [
                    pinned(stream.context(), words).map_err(failed)?,
                    pinned(stream.context(), shape.batch).map_err(failed)?,
                ],
                device: [backend.zeroed(words)?, backend.zeroed(shape.batch)?],
                arrived: None,
                read: None,
            })
        };
        let staged = [stage()?, stage()?];
        let packed: Vec<u32> = parameters.iter().flat_map(Parameters::words).collect();
        Ok(Self {
            draws: Draws::new(&backend, shape, &packed)?,
            tokens: backend.zeroed(shape.batch)?,
            // It begins when all of the above is done.
            upload: stream.fork().map_err(failed)?,
            stream,
            backend,
            staged,
            newest: 0,
        })
    }

    pub(crate) fn upload(&mut self, masks: &BatchMasks) -> Result<(), Error> {
        self.newest = 1 - self.newest;
        let staged = &mut self.staged[self.newest];
        // The memory of the host is free once its last upload has arrived.
        if let Some(arrived) = staged.arrived.take() {
            arrived.synchronize().map_err(failed)?;
        }
        // That of the device, once the draw before the last has read it.
        if let Some(read) = staged.read.take() {
            self.upload.wait(&read).map_err(failed)?;
        }
        let parts = [masks.words(), masks.rows()];
        for ((part, host), device) in parts.iter().zip(&mut staged.host).zip(&mut staged.device) {
            let Memory::Words(device) = device else {
                continue;
            };
            // If texts share masks, the words behind them are old and never read.
            host.as_mut_slice().map_err(failed)?[..part.len()].copy_from_slice(part);
            self.upload.memcpy_htod(host, device).map_err(failed)?;
        }
        let arrived = self.upload.record_event(None).map_err(failed)?;
        staged.arrived = Some(arrived);
        Ok(())
    }

    pub(crate) fn draw(&mut self, logits: &Tensor) -> Result<Vec<Option<u32>>, Error> {
        let (logits, floats) = logits_on(&self.backend.device, logits)?;
        let staged = &mut self.staged[self.newest];
        if let Some(arrived) = &staged.arrived {
            self.stream.wait(arrived).map_err(failed)?;
        }
        let masks = DeviceMasks {
            words: &staged.device[0],
            rows: &staged.device[1],
        };
        self.draws
            .draw(&self.backend, &logits, floats, &masks, &self.tokens)?;
        staged.read = Some(self.stream.record_event(None).map_err(failed)?);
        let tokens = self.backend.read(&self.tokens)?;
        let some = |token: u32| (token != u32::MAX).then_some(token);
        Ok(tokens.into_iter().map(some).collect())
    }
}

/// The form of [`ResidentDecoder`](super::ResidentDecoder) on a GPU.
pub(crate) struct CudaDecoder {
    backend: Cuda,
    states: States<Cuda>,
    draws: Draws<Cuda>,
    tokens: Memory,
    fed: Tensor,
    log: Memory,
}

impl CudaDecoder {
    /// `sizes` are the vocabulary's and the logits' width.
    pub(crate) fn new(
        device: &CudaDevice,
        resident: &Resident,
        parameters: &[Parameters],
        sizes: (usize, usize),
        block: usize,
    ) -> Result<Self, Error> {
        let backend = Cuda::new(device)?;
        let batch = parameters.len();
        let shape = Shape {
            batch,
            width: sizes.1,
            vocabulary: sizes.0,
        };
        let image = Image {
            states: &resident.states,
            bases: &resident.bases,
            indexes: &resident.indexes,
            vocabulary: &resident.vocabulary,
            words: resident.words,
        };
        let states = States::new(&backend, &image)?;
        states.lay_out(&backend)?;
        let packed: Vec<u32> = parameters.iter().flat_map(Parameters::words).collect();
        Ok(Self {
            draws: Draws::new(&backend, shape, &packed)?,
            tokens: backend.zeroed(batch)?,
            fed: Tensor::zeros(
                batch,
                candle_core::DType::U32,
                &Device::Cuda(device.clone()),
            )?,
            log: backend.zeroed(batch * block)?,
            backend,
            states,
        })
    }

    /// Draws, advances and lays the next masks out: four launches, and no wait.
    pub(crate) fn step(&mut self, logits: &Tensor, step: usize) -> Result<Tensor, Error> {
        let (logits, floats) = logits_on(&self.backend.device, logits)?;
        let backend = &self.backend;
        self.draws
            .draw(backend, &logits, floats, &self.states.masks(), &self.tokens)?;
        let fed = Memory::Tensor(self.fed.clone());
        self.states
            .advance(backend, &self.tokens, &fed, (&self.log, step))?;
        self.states.lay_out(backend)?;
        Ok(self.fed.clone())
    }

    /// The tokens of the first steps, step after step.
    pub(crate) fn log(&mut self, steps: usize) -> Result<Vec<u32>, Error> {
        let mut log = self.backend.read(&self.log)?;
        log.truncate(steps * self.fed.elem_count());
        Ok(log)
    }
}
