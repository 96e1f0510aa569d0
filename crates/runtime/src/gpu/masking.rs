//! Masks written into logits: forbidden tokens get minus infinity.
//!
//! For whoever draws with something else than this crate's sampler, which
//! never writes masked logits down. One call masks the logits of many texts,
//! in place, on the device where they are: on the CPU word by word of the mask,
//! with the feature `cuda` on a GPU by a kernel of `kernels/mask.cuh`. The bits
//! that come out are the same everywhere.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use tokenmold::masking::{BatchMasks, mask_logits};
//!
//! // Two texts, three tokens, logits padded to four columns.
//! let logits = Tensor::new(&[[0f32, 1., 2., 9.], [0., 1., 2., 9.]], &Device::Cpu)?;
//! let mut masks = BatchMasks::new(3)?;
//! masks.push(&[0b101])?;
//! masks.push_unmasked();
//! mask_logits(&logits, &masks)?;
//! let no = f32::NEG_INFINITY;
//! assert_eq!(logits.to_vec2::<f32>()?, [[0., no, 2., no], [0., 1., 2., no]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use candle_core::{CpuStorage, InplaceOp1, Layout, Tensor, WithDType};

use crate::{Error, ErrorKind};

/// The row of a text without a mask: the largest number, because rows are counted from 0.
pub(crate) const NO_MASK: u32 = u32::MAX;

/// The masks of the texts of a batch, in the order of the rows of the logits.
///
/// Texts may share a mask ([`BatchMasks::push_same_as`]): it is kept, and
/// uploaded, once.
///
/// ```
/// use tokenmold::masking::BatchMasks;
///
/// let mut masks = BatchMasks::new(3)?;
/// let first = masks.push(&[0b101])?;
/// masks.push_same_as(first)?;
/// masks.push_unmasked();
/// assert_eq!((masks.len(), masks.mask(1), masks.mask(2)), (3, Some(&[0b101][..]), None));
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchMasks {
    vocabulary: usize,
    /// The masks one after another, `words` words each.
    masks: Vec<u32>,
    words: usize,
    /// By text: the number of its mask, or [`NO_MASK`].
    rows: Vec<u32>,
}

impl BatchMasks {
    /// No texts yet, over so many tokens. Columns of the logits beyond them are
    /// padding and masked in every row.
    ///
    /// # Errors
    ///
    /// There are no tokens, or 2^31 and more.
    pub fn new(vocabulary: usize) -> Result<Self, Error> {
        if !(1..1 << 31).contains(&vocabulary) {
            return Err(invalid(format!(
                "masks over {vocabulary} tokens; it must be 1 to 2^31 - 1"
            )));
        }
        Ok(Self {
            vocabulary,
            masks: Vec::new(),
            words: vocabulary.div_ceil(32),
            rows: Vec::new(),
        })
    }

    /// The next text, under a mask: bit `t % 32` of word `t / 32` says whether
    /// token `t` is allowed. Words that are missing allow nothing; bits beyond
    /// the vocabulary count for nothing. Returns the text's number.
    ///
    /// # Errors
    ///
    /// There are 2^32 - 1 texts already.
    pub fn push(&mut self, mask: &[u32]) -> Result<usize, Error> {
        let number = u32::try_from(self.masks.len() / self.words).unwrap_or(NO_MASK);
        if number == NO_MASK {
            return Err(invalid("more than 2^32 - 2 masks in a batch".to_owned()));
        }
        let given = mask.len().min(self.words);
        self.masks.extend_from_slice(&mask[..given]);
        self.masks.resize(self.masks.len() + self.words - given, 0);
        self.rows.push(number);
        Ok(self.rows.len() - 1)
    }

    /// The next text, under the mask of the text with that number.
    ///
    /// # Errors
    ///
    /// There is no such text.
    pub fn push_same_as(&mut self, text: usize) -> Result<usize, Error> {
        let Some(&row) = self.rows.get(text) else {
            return Err(invalid(format!(
                "the mask of text {text} of a batch of {} is asked for",
                self.rows.len()
            )));
        };
        self.rows.push(row);
        Ok(self.rows.len() - 1)
    }

    /// The next text, without a mask: only its padding is masked.
    pub fn push_unmasked(&mut self) -> usize {
        self.rows.push(NO_MASK);
        self.rows.len() - 1
    }

    /// Forgets all texts and keeps the memory.
    pub fn clear(&mut self) {
        self.masks.clear();
        self.rows.clear();
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of tokens that the masks speak of.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// The mask of a text, `ceil(vocabulary / 32)` words; none if it has none
    /// or there is no such text.
    pub fn mask(&self, text: usize) -> Option<&[u32]> {
        let row = *self.rows.get(text).filter(|row| **row != NO_MASK)?;
        self.masks.chunks_exact(self.words).nth(row as usize)
    }

    /// The number of each text's mask; [`NO_MASK`] for none.
    #[cfg(any(test, feature = "cuda"))]
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The masks one after another.
    #[cfg(any(test, feature = "cuda"))]
    pub(crate) fn words(&self) -> &[u32] {
        &self.masks
    }
}

#[cold]
fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidParameter, message)
}

/// Writes minus infinity over every logit that the masks forbid, and over the
/// padding, in place. `logits` is `[batch, width]`, or `[width]` for one text,
/// contiguous, of 32-bit, 16-bit or `bf16` floats. All other values keep their
/// bits, those that are no numbers included.
///
/// O(batch x width); what is allowed in runs of 32 tokens is not even read.
///
/// # Errors
///
/// The tensor has another shape, order or type, more or fewer rows than there
/// are texts, fewer columns than tokens, or the device fails.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use tokenmold::masking::{BatchMasks, mask_logits};
///
/// let logits = Tensor::from_vec(vec![1_f32, 2.0, 3.0, 4.0], (2, 2), &Device::Cpu)?;
/// let mut masks = BatchMasks::new(2)?;
/// masks.push(&[0b01])?;
/// masks.push_unmasked();
/// mask_logits(&logits, &masks)?;
/// assert_eq!(logits.to_vec2::<f32>()?, [[1.0, f32::NEG_INFINITY], [3.0, 4.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mask_logits(logits: &Tensor, masks: &BatchMasks) -> Result<(), Error> {
    let (_, width) = batch_of(logits, masks.len(), masks.vocabulary())?;
    if !masks.is_empty() {
        logits.inplace_op1(&Masking { masks, width })?;
    }
    Ok(())
}

/// Rows and columns of logits, if masks of so many texts and tokens fit them.
pub(crate) fn batch_of(
    logits: &Tensor,
    texts: usize,
    vocabulary: usize,
) -> Result<(usize, usize), Error> {
    let (batch, width) = match logits.dims() {
        [width] => (1, *width),
        [batch, width] => (*batch, *width),
        other => {
            return Err(mismatch(format!(
                "logits of shape {other:?} cannot be masked; give [batch, width]"
            )));
        }
    };
    if batch != texts {
        return Err(mismatch(format!(
            "{texts} masks were given for logits of {batch} texts"
        )));
    }
    if width < vocabulary {
        return Err(mismatch(format!(
            "logits are {width} wide and the masks speak of {vocabulary} tokens"
        )));
    }
    if !logits.is_contiguous() {
        return Err(mismatch(
            "logits to be masked in place must be contiguous".to_owned(),
        ));
    }
    Ok((batch, width))
}

#[cold]
fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::VocabularyMismatch, message)
}

/// The operation, as candle asks for it.
struct Masking<'a> {
    masks: &'a BatchMasks,
    width: usize,
}

impl InplaceOp1 for Masking<'_> {
    fn name(&self) -> &'static str {
        "mask-logits"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        let Some((from, to)) = layout.contiguous_offsets() else {
            candle_core::bail!("logits to be masked must be contiguous");
        };
        match storage {
            CpuStorage::F32(values) => self.mask(&mut values[from..to]),
            CpuStorage::F16(values) => self.mask(&mut values[from..to]),
            CpuStorage::BF16(values) => self.mask(&mut values[from..to]),
            other => candle_core::bail!(
                "logits of type {:?} cannot be masked; they must be f32, f16 or bf16",
                candle_core::backend::BackendStorage::dtype(other)
            ),
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        storage: &mut candle_core::CudaStorage,
        layout: &Layout,
    ) -> candle_core::Result<()> {
        crate::gpu::mask_on_cuda(storage, layout, self.masks, self.width)
    }
}

impl Masking<'_> {
    fn mask<T: WithDType>(&self, values: &mut [T]) {
        let lowest = T::from_f64(f64::NEG_INFINITY);
        for (text, row) in values.chunks_exact_mut(self.width).enumerate() {
            let (tokens, padding) = row.split_at_mut(self.masks.vocabulary);
            padding.fill(lowest);
            if let Some(words) = self.masks.mask(text) {
                mask_row(tokens, words, lowest);
            }
        }
    }
}

/// Masks one row, a word of the mask at a time.
fn mask_row<T: Copy>(tokens: &mut [T], words: &[u32], lowest: T) {
    let (runs, rest) = tokens.as_chunks_mut::<32>();
    for (run, &word) in runs.iter_mut().zip(words) {
        match word {
            u32::MAX => {}
            0 => *run = [lowest; 32],
            _ => select(run, word, lowest),
        }
    }
    // The last tokens, fewer than a word's.
    if let Some(&word) = words.get(runs.len()) {
        for (bit, value) in rest.iter_mut().enumerate() {
            if word >> bit & 1 == 0 {
                *value = lowest;
            }
        }
    }
}

/// Keeps the values whose bits are set. Without branches, so that several are
/// chosen at once.
#[inline]
fn select<T: Copy>(run: &mut [T; 32], word: u32, lowest: T) {
    for (bit, value) in run.iter_mut().enumerate() {
        *value = match word & (1 << bit) {
            0 => lowest,
            _ => *value,
        };
    }
}
