//! `tokenizer.json`, as the `tokenizers` library writes it. Only what says which bytes a token
//! stands for is read; how text is cut is not needed here. For example, `Ġa` in a byte-level
//! vocabulary is a blank and `a`.

use std::collections::HashMap;

use serde_json::Value;

use super::{AddedTokens, VocabularyBuilder};
use crate::{Error, ErrorKind, TokenId, TokenKind, Vocabulary};

/// Names of tokens that end a text or a turn in the families that publish `tokenizer.json` files.
/// They are listed here, because such a file does not say which of its special tokens end a text.
const END_NAMES: [&str; 20] = [
    "</s>",
    "<eos>",
    "<|eos|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>",
    "<|eot|>",
    "<|end_of_role|>",
    "<EOT>",
    "[EOS]",
    "<turn|>",
];

pub(super) fn read(json: &[u8], added: AddedTokens) -> Result<Vocabulary, Error> {
    let file: Value = serde_json::from_slice(json)
        .map_err(|e| bad(format!("the tokenizer file is not JSON: {e}")))?;
    let Some(model) = file.get("model").filter(|m| m.is_object()) else {
        return Err(bad(
            "the file has no `model`: it is not the `tokenizer.json` of a Hugging Face tokenizer",
        ));
    };
    let spelling = PieceSpelling::of(&file, model)?;

    let mut specials: HashMap<u32, (&str, TokenKind)> = HashMap::new();
    let mut texts: HashMap<u32, &str> = HashMap::new();
    for (i, token) in array(&file, "added_tokens").iter().enumerate() {
        let id = token
            .get("id")
            .and_then(Value::as_u64)
            .and_then(|id| u32::try_from(id).ok());
        let content = token.get("content").and_then(Value::as_str);
        let (Some(id), Some(content)) = (id, content) else {
            return Err(bad(format!(
                "/added_tokens/{i} has no `id` or no `content`"
            )));
        };
        let special = token.get("special").and_then(Value::as_bool) == Some(true);
        let structure = special
            || (added == AddedTokens::Structure && content.chars().any(|c| !c.is_whitespace()));
        if !structure {
            texts.insert(id, content);
        } else if END_NAMES.contains(&content) {
            specials.insert(id, (content, TokenKind::End));
        } else {
            specials.insert(id, (content, TokenKind::Special));
        }
    }

    let mut builder = VocabularyBuilder::new();
    let mut put = |id: u32, token: &str| -> Result<(), Error> {
        if specials.contains_key(&id) || texts.contains_key(&id) {
            return Ok(()); // It is added below, as what it is.
        }
        builder.text(TokenId::new(id), spelling.bytes(token)?)?;
        Ok(())
    };
    match model.get("vocab") {
        Some(Value::Object(vocab)) => {
            for (token, id) in vocab {
                let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
                let id =
                    id.ok_or_else(|| bad(format!("/model/vocab/{token} is no token number")))?;
                put(id, token)?;
            }
        }
        Some(Value::Array(vocab)) => {
            for (id, entry) in vocab.iter().enumerate() {
                let token = entry.get(0).and_then(Value::as_str);
                let token = token.ok_or_else(|| bad(format!("/model/vocab/{id} has no piece")))?;
                put(id as u32, token)?;
            }
        }
        _ => return Err(bad("/model/vocab is missing")),
    }
    for (id, content) in texts {
        builder.text(TokenId::new(id), content)?;
    }
    for (id, (name, kind)) in specials {
        builder.special(TokenId::new(id), name)?;
        if kind == TokenKind::End {
            builder.end(TokenId::new(id))?;
        }
    }
    builder.build()
}

/// The spelling of the pieces of the file.
enum PieceSpelling {
    /// Each character stands for a byte, as GPT-2's `bytes_to_unicode` lays
    /// them out.
    ByteLevel(HashMap<char, u8>),
    /// UTF-8 with a character in place of the blank; `<0xNN>` is a byte where
    /// `byte_fallback` says so.
    Metaspace { blank: char, byte_fallback: bool },
}

impl PieceSpelling {
    fn of(file: &Value, model: &Value) -> Result<PieceSpelling, Error> {
        let kind = model.get("type").and_then(Value::as_str);
        // Files of the first versions leave the type out; only BPE has merges.
        let kind = kind.unwrap_or(if model.get("merges").is_some() {
            "BPE"
        } else {
            "unknown"
        });
        if kind != "BPE" && kind != "Unigram" {
            return Err(bad(format!(
                "the tokenizer's model is {kind}; its tokens do not spell bytes exactly. \
                 BPE and Unigram tokenizers are supported"
            )));
        }
        let decoder = &file["decoder"];
        if find(decoder, "ByteLevel").is_some()
            || find(&file["pre_tokenizer"], "ByteLevel").is_some()
        {
            return Ok(PieceSpelling::ByteLevel(byte_level_table()));
        }
        let byte_fallback = find(decoder, "ByteFallback").is_some()
            || model.get("byte_fallback").and_then(Value::as_bool) == Some(true);
        let metaspace =
            find(decoder, "Metaspace").or_else(|| find(&file["pre_tokenizer"], "Metaspace"));
        let replaced = find(decoder, "Replace").filter(|d| d["content"] == " ");
        let blank = metaspace
            .and_then(|d| d["replacement"].as_str())
            .or_else(|| replaced.and_then(|d| d["pattern"]["String"].as_str()));
        let blank = match blank {
            Some(text) => text.chars().next().unwrap_or('\u{2581}'),
            // Without a blank to put back the pieces are plain UTF-8.
            None if byte_fallback || decoder.is_null() || find(decoder, "Fuse").is_some() => ' ',
            None => {
                return Err(bad(format!(
                    "the tokenizer's decoder {} is of an unknown kind; \
                     ByteLevel, Metaspace and Replace with ByteFallback are supported",
                    decoder["type"]
                )));
            }
        };
        Ok(PieceSpelling::Metaspace {
            blank,
            byte_fallback,
        })
    }

    fn bytes(&self, token: &str) -> Result<Vec<u8>, Error> {
        match self {
            // A character outside the table is not a byte: such tokens are
            // there only in files with tokens that were added by hand.
            PieceSpelling::ByteLevel(table) => {
                match token.chars().map(|c| table.get(&c).copied()).collect() {
                    Some(bytes) => Ok(bytes),
                    None => Ok(token.as_bytes().to_vec()),
                }
            }
            PieceSpelling::Metaspace {
                blank,
                byte_fallback,
            } => {
                if *byte_fallback
                    && let Some(hex) = token.strip_prefix("<0x").and_then(|t| t.strip_suffix('>'))
                    && hex.len() == 2
                    && let Ok(byte) = u8::from_str_radix(hex, 16)
                {
                    return Ok(vec![byte]);
                }
                Ok(token.replace(*blank, " ").into_bytes())
            }
        }
    }
}

/// The part of a (nested) pre-tokenizer or decoder that has this type.
fn find<'a>(part: &'a Value, kind: &str) -> Option<&'a Value> {
    if part.get("type").and_then(Value::as_str) == Some(kind) {
        return Some(part);
    }
    let parts = ["decoders", "pretokenizers"].map(|name| array(part, name));
    // serde_json refuses nesting beyond 128 levels, which bounds this.
    parts
        .into_iter()
        .flatten()
        .find_map(|part| find(part, kind))
}

fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Printable bytes stand for themselves; the others are moved, in order, to
/// U+0100 and above (GPT-2).
fn byte_level_table() -> HashMap<char, u8> {
    let mut table = HashMap::new();
    let mut moved = 0x100;
    for byte in 0..=255u8 {
        let c = match byte {
            0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => byte as char,
            _ => {
                moved += 1;
                char::from_u32(moved - 1).unwrap_or('\0')
            }
        };
        table.insert(c, byte);
    }
    table
}

#[cold]
fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Vocabulary, message)
}
