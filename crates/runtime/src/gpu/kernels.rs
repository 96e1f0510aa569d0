//! The arguments of the kernels of `kernels/`, whoever runs them.
//!
//! The order of launches, their grids and their arguments are here; a
//! [`Backend`] runs them: [`super::cuda`] on a GPU, and in the tests the
//! kernels compiled for the host.
//!
//! For example, a mask of 128,256 tokens and 4 texts is laid on by a grid of 4 rows with 256
//! threads a block.

use super::twin::TILE;
use crate::Error;

/// The words of a tile's findings: its best token, the sum and the count, each of two words because
/// they have 64 bits.
const TILE_WORDS: usize = 6;

/// The most blocks in the second dimension of a grid, as CUDA limits it; further texts are taken by
/// the same blocks in a loop.
const MOST_DOWN: usize = 65_535;

/// The types of logits, in the order of the kernels for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Floats {
    F32,
    F16,
    BF16,
}

/// A kernel; the order is that of `kernels/host/kernels.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Mask(Floats),
    Scan(Floats),
    Choose(Floats),
    Advance,
    LayOut,
}

impl Kernel {
    pub(crate) const NAMES: [&'static str; 11] = [
        "mask_f32",
        "mask_f16",
        "mask_bf16",
        "scan_f32",
        "scan_f16",
        "scan_bf16",
        "choose_f32",
        "choose_f16",
        "choose_bf16",
        "advance",
        "lay_out",
    ];

    /// The place in [`Kernel::NAMES`].
    pub(crate) fn number(self) -> usize {
        match self {
            Kernel::Mask(floats) => floats as usize,
            Kernel::Scan(floats) => 3 + floats as usize,
            Kernel::Choose(floats) => 6 + floats as usize,
            Kernel::Advance => 9,
            Kernel::LayOut => 10,
        }
    }
}

/// An argument of a kernel.
pub(crate) enum Argument<'a, M> {
    Memory(&'a M),
    Word(u32),
}

/// One launch.
pub(crate) struct Launch<'a, M> {
    pub(crate) kernel: Kernel,
    /// Blocks across and down.
    pub(crate) grid: (u32, u32),
    /// Threads of a block.
    pub(crate) threads: u32,
    pub(crate) arguments: Vec<Argument<'a, M>>,
}

/// A device that runs the kernels, one after another in the order of the
/// calls.
pub(crate) trait Backend {
    /// Words of 32 bits on the device, or a tensor of logits.
    type Memory;

    /// New memory, all zeroes.
    fn zeroed(&self, words: usize) -> Result<Self::Memory, Error>;

    /// New memory with these words.
    fn filled(&self, words: &[u32]) -> Result<Self::Memory, Error>;

    /// All words of a memory, once everything before is done.
    fn read(&self, memory: &Self::Memory) -> Result<Vec<u32>, Error>;

    /// Runs a kernel, if need be later.
    fn launch(&self, launch: &Launch<'_, Self::Memory>) -> Result<(), Error>;
}

/// The shape of a batch of logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) batch: usize,
    /// Columns of a row.
    pub(crate) width: usize,
    /// Columns that are tokens.
    pub(crate) vocabulary: usize,
}

impl Shape {
    /// Words of a mask.
    pub(crate) fn words(self) -> usize {
        self.vocabulary.div_ceil(32)
    }

    /// Tiles of a row.
    pub(crate) fn tiles(self) -> usize {
        self.vocabulary.div_ceil(TILE)
    }
}

/// Masks of a batch on the device.
pub(crate) struct DeviceMasks<'a, M> {
    /// The masks one after another.
    pub(crate) words: &'a M,
    /// By text the number of its mask, or `NO_MASK`.
    pub(crate) rows: &'a M,
}

/// Threads of the blocks of `mask` and `scan`: 256, because blocks of that size fill a
/// multiprocessor on all cards.
const THREADS: u32 = 256;

/// Writes minus infinity over what is forbidden.
pub(crate) fn mask<B: Backend>(
    backend: &B,
    logits: &B::Memory,
    floats: Floats,
    shape: Shape,
    masks: &DeviceMasks<'_, B::Memory>,
) -> Result<(), Error> {
    // Each thread masks four vectors of 16 bytes.
    let bytes = match floats {
        Floats::F32 => 4,
        Floats::F16 | Floats::BF16 => 2,
    };
    let across = (shape.width * bytes).div_ceil(16 * 4 * THREADS as usize);
    let Shape {
        batch,
        width,
        vocabulary,
    } = shape;
    backend.launch(&Launch {
        kernel: Kernel::Mask(floats),
        grid: (across.max(1) as u32, batch.min(MOST_DOWN) as u32),
        threads: THREADS,
        arguments: vec![
            Argument::Memory(logits),
            Argument::Memory(masks.words),
            Argument::Memory(masks.rows),
            Argument::Word(batch as u32),
            Argument::Word(width as u32),
            Argument::Word(vocabulary as u32),
            Argument::Word(shape.words() as u32),
        ],
    })
}

/// Draws the tokens of a batch.
pub(crate) struct Draws<B: Backend> {
    shape: Shape,
    parameters: B::Memory,
    tiles: B::Memory,
    masses: B::Memory,
    /// Threads of a block that chooses, at most 512; the choice does not depend on
    /// it.
    pub(crate) threads: u32,
}

impl<B: Backend> Draws<B> {
    /// Parameters as [`super::parameters`] packs them, for each text.
    pub(crate) fn new(backend: &B, shape: Shape, parameters: &[u32]) -> Result<Self, Error> {
        let tiles = shape.batch * shape.tiles();
        Ok(Self {
            shape,
            parameters: backend.filled(parameters)?,
            tiles: backend.zeroed(tiles * TILE_WORDS)?,
            masses: backend.zeroed(tiles * 2)?,
            threads: 512,
        })
    }

    /// Draws a token for each text into `tokens`.
    pub(crate) fn draw(
        &self,
        backend: &B,
        logits: &B::Memory,
        floats: Floats,
        masks: &DeviceMasks<'_, B::Memory>,
        tokens: &B::Memory,
    ) -> Result<(), Error> {
        let shape = self.shape;
        let sizes = [
            shape.batch,
            shape.width,
            shape.vocabulary,
            shape.words(),
            shape.tiles(),
        ];
        let sizes = || sizes.map(|size| Argument::Word(size as u32));
        let threads = self.threads.min(THREADS);
        let warps = threads as usize / 32;
        let mut arguments = vec![
            Argument::Memory(logits),
            Argument::Memory(masks.words),
            Argument::Memory(masks.rows),
            Argument::Memory(&self.parameters),
            Argument::Memory(&self.tiles),
        ];
        arguments.extend(sizes());
        backend.launch(&Launch {
            kernel: Kernel::Scan(floats),
            grid: (
                shape.tiles().div_ceil(warps) as u32,
                shape.batch.min(MOST_DOWN) as u32,
            ),
            threads,
            arguments,
        })?;
        let mut arguments = vec![
            Argument::Memory(logits),
            Argument::Memory(masks.words),
            Argument::Memory(masks.rows),
            Argument::Memory(&self.parameters),
            Argument::Memory(&self.tiles),
            Argument::Memory(&self.masses),
            Argument::Memory(tokens),
        ];
        arguments.extend(sizes());
        backend.launch(&Launch {
            kernel: Kernel::Choose(floats),
            grid: (shape.batch as u32, 1),
            threads: self.threads,
            arguments,
        })
    }
}

/// Constraints on the device, with the states of a batch of texts.
pub(crate) struct States<B: Backend> {
    batch: usize,
    words: usize,
    states: B::Memory,
    bases: B::Memory,
    indexes: B::Memory,
    vocabulary: B::Memory,
    masks: B::Memory,
    rows: B::Memory,
}

/// The data with which [`States`] begin; see [`super::resident`].
pub(crate) struct Image<'a> {
    pub(crate) states: &'a [u32],
    pub(crate) bases: &'a [u32],
    pub(crate) indexes: &'a [u32],
    pub(crate) vocabulary: &'a [u32],
    /// Words of a mask.
    pub(crate) words: usize,
}

impl<B: Backend> States<B> {
    pub(crate) fn new(backend: &B, image: &Image<'_>) -> Result<Self, Error> {
        let batch = image.states.len();
        Ok(Self {
            batch,
            words: image.words,
            states: backend.filled(image.states)?,
            bases: backend.filled(image.bases)?,
            indexes: backend.filled(image.indexes)?,
            vocabulary: backend.filled(image.vocabulary)?,
            masks: backend.zeroed(batch * image.words)?,
            rows: backend.zeroed(batch)?,
        })
    }

    /// The masks that were laid out last.
    pub(crate) fn masks(&self) -> DeviceMasks<'_, B::Memory> {
        DeviceMasks {
            words: &self.masks,
            rows: &self.rows,
        }
    }

    /// The states' cursors.
    #[cfg(test)]
    pub(crate) fn states(&self) -> &B::Memory {
        &self.states
    }

    /// Lays out the masks of the states.
    pub(crate) fn lay_out(&self, backend: &B) -> Result<(), Error> {
        backend.launch(&Launch {
            kernel: Kernel::LayOut,
            grid: (self.batch as u32, 1),
            threads: THREADS,
            arguments: vec![
                Argument::Memory(&self.states),
                Argument::Memory(&self.bases),
                Argument::Memory(&self.indexes),
                Argument::Memory(&self.vocabulary),
                Argument::Memory(&self.masks),
                Argument::Memory(&self.rows),
                Argument::Word(self.batch as u32),
                Argument::Word(self.words as u32),
            ],
        })
    }

    /// Takes the tokens; notes them as those of `step` in `log`, and in `fed`
    /// what the model reads next.
    pub(crate) fn advance(
        &self,
        backend: &B,
        tokens: &B::Memory,
        fed: &B::Memory,
        log: (&B::Memory, usize),
    ) -> Result<(), Error> {
        /// Threads of a block of `advance`: one for a text, so that few blocks do for a batch.
        const THREADS: usize = 128;
        backend.launch(&Launch {
            kernel: Kernel::Advance,
            grid: (self.batch.div_ceil(THREADS) as u32, 1),
            threads: THREADS as u32,
            arguments: vec![
                Argument::Memory(&self.states),
                Argument::Memory(&self.bases),
                Argument::Memory(&self.indexes),
                Argument::Memory(&self.vocabulary),
                Argument::Memory(tokens),
                Argument::Memory(fed),
                Argument::Memory(log.0),
                Argument::Word(self.batch as u32),
                Argument::Word(log.1 as u32),
            ],
        })
    }
}
