//! Whole decode loops on the device. For example, 16 steps of four texts run without the host
//! seeing a token, and `take` returns all 64.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use fsm_index::{Guide, Index, TokenId, TokenKind, Vocabulary};

use super::parameters::Parameters;
use super::resident::Resident;
use super::{check_logits, check_sizes, rows_on_host, twin};
use crate::gpu::masking::NO_MASK;
use crate::sampling::SamplingConfig;
use crate::{Error, ErrorKind};

/// The token of a text for which none was drawn.
const NO_TOKEN: u32 = u32::MAX;

/// A text that a [`ResidentDecoder`] decodes.
#[derive(Clone, Debug)]
pub struct ResidentText {
    /// Its constraint, an index that is filled if it is not yet; none for a
    /// free text.
    pub index: Option<Arc<Index>>,
    /// The settings by which its tokens are drawn; without penalties.
    pub sampling: SamplingConfig,
}

/// Decodes a batch of texts with all of the step on the device: the mask of each
/// state, the draw, and the next state. The host launches, and looks at tokens
/// only when a block of them is full.
///
/// ```
/// # use std::sync::Arc;
/// # use candle_core::{Device, Tensor};
/// # use fsm_index::{Index, TokenId, Vocabulary};
/// use tokenmold::gpu::{ResidentDecoder, ResidentText};
/// use tokenmold::sampling::SamplingConfig;
///
/// # let tokens = ["a", "b", "ab"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
/// let index = Arc::new(Index::new("(ab)+b", &vocabulary)?);
/// let text = ResidentText { index: Some(index), sampling: SamplingConfig::greedy() };
/// let mut decoder = ResidentDecoder::new(&Device::Cpu, &vocabulary, 4, &[text], 16)?;
/// // A model that is fed a token of each text and gives the logits of the next.
/// let mut model = |_: &Tensor| Tensor::new(&[[0f32, 2., 1., 3.]], &Device::Cpu);
/// let first = model(&Tensor::new(&[0u32], &Device::Cpu)?)?;
/// let texts = decoder.decode(first, &mut |fed| Ok(model(fed)?), 10)?;
/// assert_eq!(texts, [[2, 1, 3]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ResidentDecoder {
    engine: Engine,
    /// By text, what replays its tokens; none for a free one.
    guides: Vec<Option<Guide>>,
    vocabulary: Vocabulary,
    width: usize,
    block: usize,
    /// Steps since tokens were taken last.
    pending: usize,
    /// Texts that have ended.
    ended: Vec<bool>,
}

enum Engine {
    Host(Host),
    #[cfg(feature = "cuda")]
    Cuda(Box<super::cuda::CudaDecoder>),
}

/// The engine of a CPU device.
struct Host {
    resident: Resident,
    parameters: Vec<Parameters>,
    mask: Vec<u32>,
    log: Vec<u32>,
}

impl Host {
    /// Draws and advances; what the model reads next.
    fn step(&mut self, logits: &Tensor, vocabulary: usize) -> Result<Tensor, Error> {
        let rows = rows_on_host(logits)?;
        let mut fed = Vec::with_capacity(rows.len());
        for (text, row) in rows.iter().enumerate() {
            let masked = self.resident.lay_out(text, &mut self.mask) != NO_MASK;
            let mask = masked.then_some(&self.mask[..]);
            let drawn = twin::draw(&row[..vocabulary], mask, &mut self.parameters[text]);
            if let Some(token) = drawn {
                self.resident.advance(text, token);
            }
            self.log.push(drawn.unwrap_or(NO_TOKEN));
            fed.push(drawn.unwrap_or(0));
        }
        Ok(Tensor::new(fed, &Device::Cpu)?)
    }
}

impl ResidentDecoder {
    /// Uploads the constraints of a batch of texts at their start. `width` is
    /// that of the logits, columns beyond the vocabulary being padding; tokens
    /// are copied back every `block` steps.
    ///
    /// Memory on the device: that of the indexes' rows and tables, some bytes a
    /// token, and for each text a mask and 32 bytes for each 1,024 tokens.
    ///
    /// # Errors
    ///
    /// No texts, a block of 0, sizes that do not fit, an index over another
    /// vocabulary, a parameter out of its range, or the device fails.
    pub fn new(
        device: &Device,
        vocabulary: &Vocabulary,
        width: usize,
        texts: &[ResidentText],
        block: usize,
    ) -> Result<Self, Error> {
        check_sizes(texts.len(), width, vocabulary.width())?;
        if block == 0 || block > 1 << 20 {
            return Err(Error::new(
                ErrorKind::InvalidParameter,
                format!("a block of {block} steps; it must be 1 to 2^20"),
            ));
        }
        let parameters: Result<Vec<_>, _> = texts
            .iter()
            .map(|text| Parameters::new(&text.sampling))
            .collect();
        let parameters = parameters?;
        let indexes: Vec<_> = texts.iter().map(|text| text.index.clone()).collect();
        let resident = Resident::new(vocabulary, &indexes)?;
        let engine = match device {
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Engine::Cuda(Box::new(super::cuda::CudaDecoder::new(
                cuda,
                &resident,
                &parameters,
                (vocabulary.width(), width),
                block,
            )?)),
            Device::Cpu => Engine::Host(Host {
                mask: vec![0; resident.words],
                resident,
                parameters,
                log: Vec::new(),
            }),
            #[allow(unreachable_patterns)]
            _ => {
                return Err(Error::new(
                    ErrorKind::Device,
                    "texts are decoded on the CPU and on CUDA devices only",
                ));
            }
        };
        Ok(Self {
            engine,
            guides: indexes
                .into_iter()
                .map(|index| index.map(Guide::new))
                .collect(),
            vocabulary: vocabulary.clone(),
            width,
            block,
            pending: 0,
            ended: vec![false; texts.len()],
        })
    }

    /// One step: draws a token for each text from logits `[batch, width]`, and
    /// advances its state. Returns the tokens that the model reads next, `[batch]`
    /// of `u32` on the device, 0 for a text that has ended; they are overwritten by
    /// the next step. On a GPU nothing is waited for.
    ///
    /// # Errors
    ///
    /// A block is full ([`ResidentDecoder::take`] it first), the logits have
    /// another shape, type or device, or the device fails.
    pub fn step(&mut self, logits: &Tensor) -> Result<Tensor, Error> {
        check_logits(logits, self.ended.len(), self.width)?;
        if self.pending == self.block {
            return Err(Error::new(
                ErrorKind::InvalidParameter,
                format!(
                    "the block of {} steps is full; take its tokens first",
                    self.block
                ),
            ));
        }
        let fed = match &mut self.engine {
            Engine::Host(host) => host.step(logits, self.vocabulary.width())?,
            #[cfg(feature = "cuda")]
            Engine::Cuda(decoder) => decoder.step(logits, self.pending)?,
        };
        self.pending += 1;
        Ok(fed)
    }

    /// Steps that fit into the block before its tokens must be taken.
    pub fn room(&self) -> usize {
        self.block - self.pending
    }

    /// Copies back the tokens of the steps since the last time, by text, up to
    /// and with the token that ends it. Waits for the device.
    ///
    /// Each token is replayed by the host's own [`Guide`], so that a device that
    /// errs is found out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Sampling`]: a text goes on, and no token could be drawn for
    /// it: no allowed one has a logit above minus infinity.
    /// [`ErrorKind::Constraint`]: the device drew a token that the constraint
    /// refuses. Or the device fails.
    pub fn take(&mut self) -> Result<Vec<Vec<u32>>, Error> {
        let steps = std::mem::take(&mut self.pending);
        let log = match &mut self.engine {
            Engine::Host(host) => std::mem::take(&mut host.log),
            #[cfg(feature = "cuda")]
            Engine::Cuda(decoder) => decoder.log(steps)?,
        };
        let batch = self.ended.len();
        let mut taken = vec![Vec::new(); batch];
        for (at, &token) in log.iter().take(steps * batch).enumerate() {
            let text = at % batch;
            if self.ended[text] {
                continue;
            }
            if self.note(text, token)? {
                taken[text].push(token);
            }
        }
        Ok(taken)
    }

    /// Replays a token of a text that goes on; whether there was one.
    fn note(&mut self, text: usize, token: u32) -> Result<bool, Error> {
        let guide = &mut self.guides[text];
        if token == NO_TOKEN {
            let complete = match guide.as_mut() {
                Some(guide) => guide.mask()?.is_empty(),
                None => false,
            };
            if !complete {
                return Err(Error::new(
                    ErrorKind::Sampling,
                    format!(
                        "no token could be drawn for text {text}: none that is allowed has a \
                         logit above minus infinity"
                    ),
                ));
            }
            self.ended[text] = true;
            return Ok(false);
        }
        let id = TokenId::new(token);
        if let Some(guide) = guide {
            guide.advance(id).map_err(|error| {
                let message = format!("the device drew a token for text {text}: {error}");
                Error::with_source(ErrorKind::Constraint, message, error)
            })?;
        }
        self.ended[text] = self.vocabulary.kind(id) == TokenKind::End;
        Ok(true)
    }

    /// Tells whether all texts have ended, as far as their tokens were taken.
    pub fn is_finished(&self) -> bool {
        self.ended.iter().all(|ended| *ended)
    }

    /// Tells whether the text may end where its tokens, as far as they were taken, lead; a free
    /// text always may.
    pub fn is_accepting(&self, text: usize) -> bool {
        let guide = self.guides.get(text).and_then(Option::as_ref);
        guide.is_none_or(|guide| guide.is_accepting())
    }

    /// Decodes until all texts have ended or have `max_tokens` tokens. `logits`
    /// are those after the prompts; `forward` is given what [`ResidentDecoder::step`]
    /// returns and gives the logits after it. Texts that have ended are fed
    /// token 0 until the last of their block.
    ///
    /// # Errors
    ///
    /// As [`ResidentDecoder::step`] and [`ResidentDecoder::take`], and those of
    /// `forward`.
    pub fn decode(
        &mut self,
        mut logits: Tensor,
        forward: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>,
        max_tokens: usize,
    ) -> Result<Vec<Vec<u32>>, Error> {
        let mut texts = vec![Vec::new(); self.ended.len()];
        let mut collect = |decoder: &mut Self| {
            let taken = decoder.take()?;
            for (text, tokens) in texts.iter_mut().zip(taken) {
                text.extend(tokens);
            }
            Ok::<_, Error>(decoder.is_finished())
        };
        for left in (0..max_tokens).rev() {
            let fed = self.step(&logits)?;
            if left == 0 || self.room() == 0 {
                let finished = collect(self)?;
                if left == 0 || finished {
                    break;
                }
            }
            logits = forward(&fed)?;
        }
        Ok(texts)
    }
}

impl std::fmt::Debug for ResidentDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ResidentDecoder({} texts, {} tokens, blocks of {})",
            self.ended.len(),
            self.vocabulary.width(),
            self.block
        )
    }
}
