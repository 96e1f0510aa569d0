//! The tiny model's tokenizer: byte-pair encoding with byte fallback, trained
//! on the synthetic text.
//!
//! Blanks become U+2581 and nothing is prepended, as Gemma's tokenizer does.
//! There is no pre-tokenizer; instead merges are learned inside the pieces that
//! [`pieces`] cuts, so that no merge can join a name with what stands around
//! it: a name then has the same tokens in the request and in the answer, which
//! is what makes it easy to copy. The frame of a schema (`":{"type":"string"},"`
//! and the like) is one piece, so that it becomes a token or two.

use std::collections::{HashMap, HashSet};

use ahash::AHashMap;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::normalizers::replace::Replace;
use tokenizers::{AddedToken, Model, Tokenizer, Trainer};

use crate::text::{Names, Writer};

/// Ids 0, 1 and 2.
pub(crate) const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

const BLANK: char = '\u{2581}';

/// The frame of schemas and calls, each to become one token.
const FRAMES: &[&str] = &[
    "{\"type\":\"object\",\"properties\":{\"",
    "\":{\"type\":\"object\",\"properties\":{\"",
    "\":{\"type\":\"string\"},\"",
    "\":{\"type\":\"string\"}},\"required\":[\"",
    "\":{\"type\":\"string\",\"format\":\"date\"},\"",
    "\":{\"type\":\"string\",\"format\":\"date\"}},\"required\":[\"",
    "\":{\"type\":\"string\",\"format\":\"email\"},\"",
    "\":{\"type\":\"string\",\"format\":\"email\"}},\"required\":[\"",
    "\":{\"type\":\"integer\"},\"",
    "\":{\"type\":\"integer\"}},\"required\":[\"",
    "\":{\"type\":\"integer\",\"minimum\":",
    ",\"maximum\":",
    "\":{\"type\":\"number\"},\"",
    "\":{\"type\":\"number\"}},\"required\":[\"",
    "\":{\"type\":\"boolean\"},\"",
    "\":{\"type\":\"boolean\"}},\"required\":[\"",
    "\":{\"enum\":[\"",
    "\"]}},\"required\":[\"",
    "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"",
    "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"",
    "}},\"required\":[\"",
    "\"],\"additionalProperties\":false}",
    "\"],\"additionalProperties\":false}}",
    "\"],\"additionalProperties\":false},\"",
    "\"],\"additionalProperties\":false}},\"required\":[\"",
    "Answer▁with▁JSON▁of▁this▁schema:",
    "Call▁one▁of▁these▁tools:",
    "<tool_call>{\"",
    "}}</tool_call>",
];

/// Words of the templates that no answer repeats: they take the blank before
/// them along. All other words stand apart from it, so that they have the same
/// tokens in a sentence as between quotes.
const GLUE: &[&str] = &[
    "a", "an", "and", "at", "by", "for", "from", "in", "is", "not", "of", "on", "the", "to", "with",
];

/// Cuts text into the pieces that merges stay within.
fn pieces(text: &str) -> Vec<String> {
    let text = text.replace(' ', "\u{2581}");
    let mut rest = text.as_str();
    let mut pieces = Vec::new();
    let length_while =
        |s: &str, f: &dyn Fn(char) -> bool| -> usize { s.find(|c| !f(c)).unwrap_or(s.len()) };
    while let Some(first) = rest.chars().next() {
        let lower = |c: char| c.is_ascii_lowercase() || c == '_';
        let cut = if first.is_ascii_alphabetic() {
            1 + length_while(&rest[1..], &lower)
        } else if first.is_ascii_punctuation() {
            length_while(rest, &|c| c.is_ascii_punctuation())
        } else {
            first.len_utf8()
        };
        pieces.push(rest[..cut].to_owned());
        rest = &rest[cut..];
    }
    // What has no character token is spelled in bytes, so it is not learned.
    pieces.retain(|piece| piece.chars().all(|c| c.is_ascii_graphic() || c == BLANK));
    pieces
}

/// Learns a vocabulary of `size` tokens from `examples` examples of the text.
///
/// Merges inside pieces are learned from their frequency; after them come the
/// merges that join whole pieces to the frames and to blank and glue word.
pub(crate) fn train(seed: u64, examples: usize, size: usize) -> tokenizers::Result<Tokenizer> {
    let mut writer = Writer::new(seed, u64::MAX, Names::Training);
    let texts: Vec<String> = (0..examples)
        .map(|_| {
            let example = writer.example(5);
            format!(
                "system\n{}\nuser\n{}\nassistant\n{}",
                example.system, example.user, example.answer
            )
        })
        .collect();

    // How many tokens the frames need depends a little on what was learned.
    let mut learned = size - 100;
    let (mut vocabulary, mut merges) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        (vocabulary, merges) = learn(&texts, learned)?;
        join_frames(&mut vocabulary, &mut merges)?;
        if vocabulary.len() == size {
            break;
        }
        learned = learned + size - vocabulary.len();
    }

    let ids = vocabulary
        .into_iter()
        .zip(0_u32..)
        .collect::<HashMap<_, _>>();
    let mut bpe = BPE::builder()
        .vocab_and_merges(ids.into_iter().collect::<AHashMap<_, _>>(), merges)
        .byte_fallback(true)
        .build()?;
    bpe.byte_fallback = true;
    let mut tokenizer = Tokenizer::new(bpe);
    tokenizer.with_normalizer(Some(Replace::new(" ", "\u{2581}")?))?;
    tokenizer.with_decoder(Some(Sequence::new(vec![
        DecoderWrapper::Replace(Replace::new("\u{2581}", " ")?),
        DecoderWrapper::ByteFallback(ByteFallback::new()),
        DecoderWrapper::Fuse(Fuse::new()),
    ])));
    tokenizer.add_special_tokens(SPECIAL.map(special))?;
    Ok(tokenizer)
}

fn special(content: &str) -> AddedToken {
    AddedToken::from(content.to_owned(), true).normalized(false)
}

type Merges = Vec<(String, String)>;

fn learn(texts: &[String], size: usize) -> tokenizers::Result<(Vec<String>, Merges)> {
    let bytes = (0..=255_u8).map(|byte| special(&format!("<0x{byte:02X}>")));
    let alphabet: HashSet<char> = (0x21..=0x7e_u8).map(char::from).chain([BLANK]).collect();
    let mut trainer = BpeTrainer::builder()
        .vocab_size(size)
        .min_frequency(2)
        .show_progress(false)
        .initial_alphabet(alphabet)
        .special_tokens(SPECIAL.iter().map(|s| special(s)).chain(bytes).collect())
        .build();
    trainer.feed(texts.iter(), |text| Ok(pieces(text)))?;
    let mut bpe = BPE::default();
    trainer.train(&mut bpe)?;
    // The merges are read back from the model's own JSON, in order of rank.
    let json = serde_json::to_value(&bpe)?;
    let merges = serde_json::from_value(json["merges"].clone())?;
    let mut vocabulary: Vec<(String, u32)> = bpe.get_vocab().into_iter().collect();
    vocabulary.sort_by_key(|(_, id)| *id);
    Ok((
        vocabulary.into_iter().map(|(token, _)| token).collect(),
        merges,
    ))
}

/// Appends the merges that make each frame one token, joining its pieces from
/// the left.
fn join_frames(vocabulary: &mut Vec<String>, merges: &mut Merges) -> tokenizers::Result<()> {
    let glued: Vec<String> = GLUE.iter().map(|word| format!("{BLANK}{word}")).collect();
    for frame in FRAMES
        .iter()
        .copied()
        .chain(glued.iter().map(String::as_str))
    {
        let ids: AHashMap<String, u32> = vocabulary.iter().cloned().zip(0..).collect();
        let so_far = BPE::builder()
            .vocab_and_merges(ids, merges.clone())
            .build()?;
        let mut tokens = so_far.tokenize(frame)?.into_iter().map(|token| token.value);
        let mut joined = tokens.next().unwrap_or_default();
        for token in tokens {
            merges.push((joined.clone(), token.clone()));
            joined.push_str(&token);
            if !vocabulary.contains(&joined) {
                vocabulary.push(joined.clone());
            }
        }
    }
    Ok(())
}
