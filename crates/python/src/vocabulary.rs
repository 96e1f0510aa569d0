//! `Vocabulary`: a tokenizer's tokens as bytes. For example,
//! `Vocabulary.from_tokenizer_json(text).token_bytes(5)` is `b"Ada"` if that is token 5.

use fsm_index::{MAX_WIDTH, TokenId, TokenKind, Vocabulary as Tokens, VocabularyBuilder};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString, PyTuple};

use crate::error::{IntoPython, detached, of_kind};

/// A tokenizer's tokens as bytes. Immutable: everything that is compiled for it shares it.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Vocabulary {
    pub(crate) tokens: Tokens,
}

/// The longest saved vocabulary that is read, in bytes: a hundred times the largest real ones,
/// because a damaged file must not fill the memory.
const MAX_STATE: usize = 1 << 30;

/// The first line of a saved vocabulary, because a later version may write another one.
const MAGIC: &[u8] = b"tokenmold vocabulary 1\n";

#[pymethods]
impl Vocabulary {
    /// Reads a Hugging Face `tokenizer.json`: byte-level BPE, and metaspace BPE or Unigram
    /// with byte fallback.
    ///
    /// `width` is the width of the logits, where it is more than the tokens; `ends` are the
    /// tokens that end a text, where they are not those that are known by name.
    #[staticmethod]
    #[pyo3(signature = (data, *, width = None, ends = None))]
    fn from_tokenizer_json(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        width: Option<usize>,
        ends: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vocabulary> {
        let ends = ends.map(token_ids).transpose()?;
        let read = |data: &[u8]| {
            detached(py, || {
                let tokens = Tokens::from_tokenizer_json(data).map_err(IntoPython::into_python)?;
                adjusted(tokens, width, ends)
            })
        };
        if let Ok(text) = data.cast::<PyString>() {
            read(text.to_str()?.as_bytes())
        } else if let Ok(bytes) = data.cast::<PyBytes>() {
            read(bytes.as_bytes())
        } else {
            Err(PyTypeError::new_err(
                "the content of a tokenizer.json is str or bytes; open the file first",
            ))
        }
    }

    /// Reads tiktoken ranks: the file's content, or a mapping from bytes to numbers. `specials`
    /// maps the names of special tokens to their numbers.
    #[staticmethod]
    #[pyo3(signature = (ranks, specials, *, ends, width = None))]
    fn from_tiktoken(
        py: Python<'_>,
        ranks: &Bound<'_, PyAny>,
        specials: &Bound<'_, PyAny>,
        ends: &Bound<'_, PyAny>,
        width: Option<usize>,
    ) -> PyResult<Vocabulary> {
        let ends = token_ids(ends)?;
        let specials = specials_of(specials)?;
        if let Ok(bytes) = ranks.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return detached(py, || {
                let named: Vec<(&str, TokenId)> =
                    specials.iter().map(|(name, id)| (&**name, *id)).collect();
                let tokens =
                    Tokens::from_tiktoken(bytes, &named, &ends).map_err(IntoPython::into_python)?;
                adjusted(tokens, width, None)
            });
        }
        let mut builder = VocabularyBuilder::new();
        for item in ranks.cast::<PyMapping>()?.items()? {
            let (bytes, id): (Vec<u8>, u32) = item.extract()?;
            let id = TokenId::new(id);
            builder.text(id, bytes).map_err(IntoPython::into_python)?;
        }
        finished(py, builder, specials, ends, width)
    }

    /// Reads the tokenizer of a model as `transformers` has it, or one of `tiktoken`'s.
    #[staticmethod]
    #[pyo3(signature = (tokenizer, *, width = None, ends = None))]
    fn from_huggingface<'py>(
        py: Python<'py>,
        tokenizer: Bound<'py, PyAny>,
        width: Option<usize>,
        ends: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = PyDict::new(py);
        arguments.set_item("width", width)?;
        arguments.set_item("ends", ends)?;
        let read = py.import("tokenmold._huggingface")?.getattr("vocabulary")?;
        read.call((tokenizer,), Some(&arguments))
    }

    /// The tokens themselves: a mapping from numbers to bytes, or a sequence in the order of
    /// the numbers with None in gaps.
    #[staticmethod]
    #[pyo3(signature = (tokens, ends, *, specials = None, width = None))]
    fn from_tokens(
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        ends: &Bound<'_, PyAny>,
        specials: Option<&Bound<'_, PyAny>>,
        width: Option<usize>,
    ) -> PyResult<Vocabulary> {
        let ends = token_ids(ends)?;
        let specials = specials.map_or(Ok(Vec::new()), specials_of)?;
        let mut builder = VocabularyBuilder::new();
        let mut add = |id: u32, bytes: Vec<u8>| {
            let id = TokenId::new(id);
            builder
                .text(id, bytes)
                .map(drop)
                .map_err(IntoPython::into_python)
        };
        if let Ok(mapping) = tokens.cast::<PyMapping>() {
            for item in mapping.items()? {
                let (id, bytes): (u32, Vec<u8>) = item.extract()?;
                add(id, bytes)?;
            }
        } else {
            for (id, bytes) in tokens.try_iter()?.enumerate() {
                let bytes: Option<Vec<u8>> = bytes?.extract()?;
                let id = u32::try_from(id).unwrap_or(u32::MAX);
                if let Some(bytes) = bytes {
                    add(id, bytes)?;
                }
            }
        }
        finished(py, builder, specials, ends, width)
    }

    /// Returns the number of tokens that masks speak of: the width of the logits.
    #[getter]
    fn width(&self) -> usize {
        self.tokens.width()
    }

    /// Returns the number of words of 32 bits in a mask.
    #[getter]
    fn mask_words(&self) -> usize {
        self.tokens.width().div_ceil(32)
    }

    /// The tokens that end a text.
    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tokens.ends().iter().map(|end| end.get()))
    }

    /// 128 bits of the tokens' numbers, kinds and bytes, in hexadecimal digits.
    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:032x}", self.tokens.fingerprint())
    }

    /// The bytes that a token stands for; None unless it is text.
    fn token_bytes<'py>(&self, py: Python<'py>, token: u32) -> Option<Bound<'py, PyBytes>> {
        let bytes = self.tokens.token_bytes(TokenId::new(token));
        bytes.map(|bytes| PyBytes::new(py, bytes))
    }

    /// Returns the kind of a token: `text`, `special`, `end` or `absent`.
    fn kind(&self, token: u32) -> &'static str {
        match self.tokens.kind(TokenId::new(token)) {
            TokenKind::Text => "text",
            TokenKind::Special => "special",
            TokenKind::End => "end",
            _ => "absent",
        }
    }

    /// The special or end token of that name.
    fn special(&self, name: &str) -> Option<u32> {
        self.tokens.special(name).map(TokenId::get)
    }

    fn __len__(&self) -> usize {
        self.tokens.width()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Vocabulary>()
            .is_ok_and(|other| other.get().tokens.fingerprint() == self.tokens.fingerprint())
    }

    #[expect(clippy::cast_possible_truncation, reason = "a hash has 64 bits")]
    fn __hash__(&self) -> u64 {
        self.tokens.fingerprint() as u64
    }

    fn __repr__(&self) -> String {
        format!(
            "Vocabulary(width={}, ends={:?}, fingerprint={:?})",
            self.tokens.width(),
            self.tokens
                .ends()
                .iter()
                .map(|t| t.get())
                .collect::<Vec<_>>(),
            self.fingerprint(),
        )
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let read = py
            .import("tokenmold._tokenmold")?
            .getattr("_vocabulary_from_state")?;
        Ok((read, (PyBytes::new(py, &state_of(&self.tokens)),)))
    }
}

/// The vocabulary of a pickle.
#[pyfunction]
#[pyo3(name = "_vocabulary_from_state")]
pub(crate) fn vocabulary_from_state(py: Python<'_>, state: &[u8]) -> PyResult<Vocabulary> {
    detached(py, || {
        let tokens = read_state(state)?;
        Ok(Vocabulary { tokens })
    })
}

/// Token numbers of any iterable.
pub(crate) fn token_ids(tokens: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
    let ids = tokens
        .try_iter()?
        .map(|id| Ok(TokenId::new(id?.extract()?)));
    ids.collect()
}

fn specials_of(specials: &Bound<'_, PyAny>) -> PyResult<Vec<(String, TokenId)>> {
    let items = specials.cast::<PyMapping>()?.items()?;
    let named = items.iter().map(|item| {
        let (name, id): (String, u32) = item.extract()?;
        Ok((name, TokenId::new(id)))
    });
    named.collect()
}

fn finished(
    py: Python<'_>,
    mut builder: VocabularyBuilder,
    specials: Vec<(String, TokenId)>,
    ends: Vec<TokenId>,
    width: Option<usize>,
) -> PyResult<Vocabulary> {
    detached(py, || {
        for (name, id) in specials {
            builder
                .special(id, &name)
                .map_err(IntoPython::into_python)?;
        }
        for end in ends {
            builder.end(end).map_err(IntoPython::into_python)?;
        }
        let tokens = builder.build().map_err(IntoPython::into_python)?;
        adjusted(tokens, width, None)
    })
}

/// The same tokens with another width and other ends, where these are given.
fn adjusted(
    mut tokens: Tokens,
    width: Option<usize>,
    ends: Option<Vec<TokenId>>,
) -> PyResult<Vocabulary> {
    if let Some(width) = width.filter(|&width| width != tokens.width()) {
        tokens = tokens.with_width(width).map_err(IntoPython::into_python)?;
    }
    if let Some(ends) = ends {
        tokens = tokens.with_ends(ends).map_err(IntoPython::into_python)?;
    }
    Ok(Vocabulary { tokens })
}

/// A vocabulary as bytes: for each number its kind and its bytes, or its name.
fn state_of(tokens: &Tokens) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for id in 0..tokens.width() {
        let id = TokenId::new(u32::try_from(id).unwrap_or(u32::MAX));
        let (kind, bytes) = match tokens.kind(id) {
            TokenKind::Text => (1, tokens.token_bytes(id)),
            TokenKind::Special => (2, tokens.token_name(id)),
            TokenKind::End => (3, tokens.token_name(id)),
            _ => (0, None),
        };
        let bytes = bytes.unwrap_or_default();
        out.push(kind);
        // A token has at most 60,000 bytes.
        out.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&bytes[..bytes.len().min(usize::from(u16::MAX))]);
    }
    out
}

fn read_state(state: &[u8]) -> PyResult<Tokens> {
    let damaged = || {
        of_kind(
            "vocabulary",
            "the bytes are not a saved vocabulary of this version",
        )
    };
    let mut rest = state
        .strip_prefix(MAGIC)
        .filter(|_| state.len() <= MAX_STATE)
        .ok_or_else(damaged)?;
    let mut builder = VocabularyBuilder::new();
    let mut width = 0;
    while let Some((&[kind, low, high], behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes([low, high]));
        let (bytes, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
        rest = behind;
        let id = u32::try_from(width).map_err(|_| damaged())?;
        let id = TokenId::new(id);
        width += 1;
        if width > MAX_WIDTH {
            return Err(damaged());
        }
        let name = || std::str::from_utf8(bytes).map_err(|_| damaged());
        match kind {
            0 => Ok(&mut builder),
            1 => builder.text(id, bytes),
            2 => builder.special(id, name()?),
            3 if bytes.is_empty() => builder.end(id),
            3 => builder.special(id, name()?).and_then(|b| b.end(id)),
            _ => return Err(damaged()),
        }
        .map_err(IntoPython::into_python)?;
    }
    if !rest.is_empty() {
        return Err(damaged());
    }
    let tokens = builder.build().map_err(IntoPython::into_python)?;
    match tokens.width() == width {
        true => Ok(tokens),
        false => tokens.with_width(width).map_err(IntoPython::into_python),
    }
}
