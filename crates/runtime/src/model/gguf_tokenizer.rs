//! The tokenizer inside a GGUF file, written out as a `tokenizer.json`. For example, the pieces
//! `▁a` and `b` with scores become entries and merges of a BPE model.

use std::collections::HashMap;
use std::path::Path;

use candle_core::quantized::gguf_file::Value as Metadata;
use serde_json::{Map, Value, json};

use super::gguf::Header;
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind};

/// The way in which texts are cut before merges apply, by the name that the file gives it in
/// `tokenizer.ggml.pre`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Gpt2,
    SmolLm,
    Llama3,
    Qwen2,
}

/// The ways to cut a text before BPE, as llama.cpp names them in `tokenizer.ggml.pre`.
const KNOWN: [(&str, Cut); 7] = [
    ("gpt-2", Cut::Gpt2),
    ("smollm", Cut::SmolLm),
    ("llama-bpe", Cut::Llama3),
    ("llama-v3", Cut::Llama3),
    ("llama3", Cut::Llama3),
    ("smaug-bpe", Cut::Llama3),
    ("qwen2", Cut::Qwen2),
];

/// A piece of text, as `tokenizer.ggml.token_type` numbers it.
const NORMAL: u64 = 1;
/// The piece for unknown text, as `tokenizer.ggml.token_type` numbers it.
const UNKNOWN: u64 = 2;
/// A special token, as `tokenizer.ggml.token_type` numbers it.
const CONTROL: u64 = 3;
/// A token that was added and is text, as `tokenizer.ggml.token_type` numbers it.
const USER_DEFINED: u64 = 4;

/// The character that SentencePiece writes for a blank, because pieces have none.
const BLANK: &str = "\u{2581}";

/// The longest piece of SentencePiece, in bytes, because all ways to cut it in two are tried.
const MAX_PIECE: usize = 1_024;

impl Cut {
    /// The pattern, where one is given with the digits that make a number's
    /// piece; GPT-2's own is known to the byte-level pre-tokenizer.
    fn pattern(self) -> Option<String> {
        let digits = match self {
            Self::Llama3 => r"\p{N}{1,3}",
            Self::Qwen2 => r"\p{N}",
            Self::Gpt2 | Self::SmolLm => return None,
        };
        Some(format!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ))
    }

    fn pre_tokenizer(self) -> Value {
        let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex});
        let first = match self.pattern() {
            Some(pattern) => {
                json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
            }
            None if self == Self::SmolLm => json!({"type": "Digits", "individual_digits": true}),
            None => return bytes(true),
        };
        let second = bytes(self.pattern().is_none());
        json!({"type": "Sequence", "pretokenizers": [first, second]})
    }
}

impl Header {
    /// The tokenizer inside, as a `tokenizer.json`.
    pub(super) fn tokenizer_json(&self) -> Result<Vec<u8>, Error> {
        let tokenizer = match self.text("tokenizer.ggml.model").unwrap_or("none") {
            "gpt2" => self.byte_level()?,
            "llama" => self.sentence_pieces()?,
            kind => {
                return Err(self.tokenizer_error(format!(
                    "it is of kind `{kind}`; read are `gpt2` (byte-level BPE) and `llama` \
                     (SentencePiece's BPE)"
                )));
            }
        };
        serde_json::to_vec(&tokenizer).map_err(|error| self.tokenizer_error(error.to_string()))
    }

    /// Tells whether a tokenizer from elsewhere has the tokens that the file lists. Files that list
    /// none take any. Converters spell a few tokens in their own way, so that some may differ.
    pub(super) fn check_tokenizer(&self, tokenizer: &Tokenizer, from: &Path) -> Result<(), Error> {
        let Ok(tokens) = self.strings("tokenizer.ggml.tokens") else {
            return Ok(());
        };
        let types = self.token_types();
        // The others are fillers, or structure that a `tokenizer.json` may name otherwise.
        let is_normal = |id: u32| types.get(id as usize).is_none_or(|kind| *kind == NORMAL);
        let (mut normal, mut missing) = (0, 0);
        for (id, token) in (0..).zip(&tokens).filter(|(id, _)| is_normal(*id)) {
            normal += 1;
            missing += usize::from(tokenizer.inner().token_to_id(token) != Some(id));
        }
        if missing * 10 <= normal {
            return Ok(());
        }
        let message = format!(
            "{}: it is another model's: of the {normal} tokens that {} lists, {missing} are not in \
             it or have other numbers; move it away, and the tokenizer inside is used",
            from.display(),
            self.place,
        );
        Err(Error::new(ErrorKind::VocabularyMismatch, message))
    }

    /// Byte-level BPE, with its merges.
    fn byte_level(&self) -> Result<Value, Error> {
        let pre = self.text("tokenizer.ggml.pre").unwrap_or("none");
        let known = KNOWN.iter().find(|(name, _)| *name == pre);
        let Some((_, cut)) = known else {
            let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
            return Err(self.tokenizer_error(format!(
                "it cuts texts by the rule `{pre}` (`tokenizer.ggml.pre`); known are {}",
                names.join(", ")
            )));
        };

        let tokens = self.strings("tokenizer.ggml.tokens")?;
        let merges = self.strings("tokenizer.ggml.merges")?;
        let vocabulary = self.vocabulary(&tokens)?;
        let mut pairs = Vec::new();
        for merge in merges {
            match merge.split_once(' ') {
                Some((left, right)) => pairs.push(json!([left, right])),
                None => return Err(self.tokenizer_error(format!("`{merge}` is not a merge"))),
            }
        }
        let llama = *cut == Cut::Llama3;
        let mut tokenizer = json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added_tokens(&tokens),
            "normalizer": null,
            "pre_tokenizer": cut.pre_tokenizer(),
            "post_processor": self.post_processor(&tokens, llama),
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {
                "type": "BPE",
                "dropout": null,
                "unk_token": null,
                "continuing_subword_prefix": null,
                "end_of_word_suffix": null,
                "fuse_unk": false,
                "byte_fallback": false,
                "ignore_merges": llama,
                "vocab": vocabulary,
                "merges": pairs,
            },
        });
        if *cut == Cut::Qwen2 {
            tokenizer["normalizer"] = json!({"type": "NFC"});
        }
        Ok(tokenizer)
    }

    /// SentencePiece's BPE (Kudo and Richardson, "SentencePiece", 2018), which files call `llama`:
    /// no merges but a score for each piece. The neighbours whose joined piece has the best score
    /// are joined first, so that all ways to join two pieces to a third are merges, in the order of
    /// its score. Text that no piece spells falls back to bytes.
    fn sentence_pieces(&self) -> Result<Value, Error> {
        let tokens = self.strings("tokenizer.ggml.tokens")?;
        let scores = self.scores(tokens.len())?;
        let vocabulary = self.vocabulary(&tokens)?;
        let types = self.token_types();
        let ids: HashMap<&str, usize> = tokens.iter().copied().zip(0..).collect();
        let mut merges: Vec<(usize, usize, usize)> = Vec::new();
        for (id, token) in tokens.iter().enumerate() {
            if token.len() > MAX_PIECE {
                return Err(self.tokenizer_error(format!(
                    "token {id} has {} bytes, more than {MAX_PIECE}",
                    token.len()
                )));
            }
            if !matches!(types.get(id), None | Some(&(NORMAL | USER_DEFINED))) {
                continue;
            }
            for (at, _) in token.char_indices().skip(1) {
                let (left, right) = token.split_at(at);
                if let (Some(&left), Some(&right)) = (ids.get(left), ids.get(right)) {
                    merges.push((id, left, right));
                }
            }
        }
        // The pieces of a piece that are better themselves come first.
        merges.sort_by(|a, b| {
            let by_score = scores[b.0].total_cmp(&scores[a.0]);
            by_score.then_with(|| a.cmp(b))
        });
        let merges = merges
            .iter()
            .map(|(_, l, r)| json!([tokens[*l], tokens[*r]]));
        let merges: Vec<Value> = merges.collect();
        let unknown = self.whole("tokenizer.ggml.unknown_token_id").unwrap_or(0);
        let unknown = usize::try_from(unknown).ok().and_then(|id| tokens.get(id));

        let begins = !matches!(
            self.content.metadata.get("tokenizer.ggml.add_space_prefix"),
            Some(Metadata::Bool(false))
        );
        let blank = json!({"type": "Replace", "pattern": {"String": " "}, "content": BLANK});
        let normalizer = match begins {
            true => json!({"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": BLANK},
                blank,
            ]}),
            false => blank,
        };
        let mut decoders = vec![
            json!({"type": "Replace", "pattern": {"String": BLANK}, "content": " "}),
            json!({"type": "ByteFallback"}),
            json!({"type": "Fuse"}),
        ];
        if begins {
            decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        }
        Ok(json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added_tokens(&tokens),
            "normalizer": normalizer,
            "pre_tokenizer": null,
            "post_processor": self.post_processor(&tokens, true),
            "decoder": {"type": "Sequence", "decoders": decoders},
            "model": {
                "type": "BPE",
                "dropout": null,
                "unk_token": unknown,
                "continuing_subword_prefix": null,
                "end_of_word_suffix": null,
                "fuse_unk": true,
                "byte_fallback": true,
                "ignore_merges": false,
                "vocab": vocabulary,
                "merges": merges,
            },
        }))
    }

    /// The tokens by their texts.
    fn vocabulary(&self, tokens: &[&str]) -> Result<Map<String, Value>, Error> {
        let mut vocabulary = Map::new();
        for (id, token) in tokens.iter().enumerate() {
            if vocabulary.insert((*token).to_owned(), json!(id)).is_some() {
                return Err(self.tokenizer_error(format!("token `{token}` is in it twice")));
            }
        }
        Ok(vocabulary)
    }

    /// A score for each of so many tokens.
    fn scores(&self, count: usize) -> Result<Vec<f32>, Error> {
        /// The key of the scores, as llama.cpp writes it.
        const KEY: &str = "tokenizer.ggml.scores";
        let Some(Metadata::Array(values)) = self.content.metadata.get(KEY) else {
            return Err(self.tokenizer_error(format!("`{KEY}` is missing")));
        };
        let scores = values.iter().map(|value| match value {
            Metadata::F32(score) => Some(*score),
            _ => None,
        });
        let scores: Option<Vec<f32>> = scores.collect();
        scores
            .filter(|scores| scores.len() == count)
            .ok_or_else(|| self.tokenizer_error(format!("`{KEY}` is no list of {count} numbers")))
    }

    /// The kind of each token, if the file tells.
    fn token_types(&self) -> Vec<u64> {
        let types = match self.content.metadata.get("tokenizer.ggml.token_type") {
            Some(Metadata::Array(types)) => types.as_slice(),
            _ => &[],
        };
        let kind = |value: &Metadata| match value {
            Metadata::I32(kind) => u64::try_from(*kind).unwrap_or(0),
            Metadata::U32(kind) => u64::from(*kind),
            _ => 0,
        };
        types.iter().map(kind).collect()
    }

    #[cold]
    fn tokenizer_error(&self, message: String) -> Error {
        Error::new(
            ErrorKind::Tokenizer,
            format!(
                "{}: the tokenizer inside cannot be used: {message}; put the model's tokenizer.json beside the file",
                self.place
            ),
        )
    }

    fn strings(&self, key: &str) -> Result<Vec<&str>, Error> {
        let Some(Metadata::Array(values)) = self.content.metadata.get(key) else {
            return Err(self.tokenizer_error(format!("`{key}` is missing")));
        };
        let texts = values.iter().map(|value| match value {
            Metadata::String(text) => Some(text.as_str()),
            _ => None,
        });
        let all: Option<Vec<&str>> = texts.collect();
        all.ok_or_else(|| self.tokenizer_error(format!("`{key}` holds something else than text")))
    }

    /// Control tokens, and tokens that the model's makers added as text. The unknown one
    /// is no text either. Blanks of SentencePiece are found by merges.
    fn added_tokens(&self, tokens: &[&str]) -> Vec<Value> {
        let types = self.token_types();
        let added = tokens.iter().zip(types).enumerate();
        let added = added.filter_map(|(id, (token, kind))| match kind {
            CONTROL | UNKNOWN => Some((id, token, true)),
            USER_DEFINED if !token.contains(BLANK) => Some((id, token, false)),
            _ => None,
        });
        let json = |(id, token, special): (usize, &&str, bool)| {
            json!({
                "id": id, "content": token, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": special,
            })
        };
        added.map(json).collect()
    }

    /// Puts the token that begins a text before it, if the file says so or its
    /// rule does.
    fn post_processor(&self, tokens: &[&str], rule: bool) -> Value {
        let begins = match self.content.metadata.get("tokenizer.ggml.add_bos_token") {
            Some(Metadata::Bool(begins)) => *begins,
            _ => rule,
        };
        let id = self.whole("tokenizer.ggml.bos_token_id");
        let token = id.and_then(|id| tokens.get(usize::try_from(id).ok()?));
        match (begins, id, token) {
            (true, Some(id), Some(token)) => json!({
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {*token: {"id": token, "ids": [id], "tokens": [token]}},
            }),
            _ => Value::Null,
        }
    }
}
