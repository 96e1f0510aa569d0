//! Tokenizer files, damaged and made to do harm. For example, a `tokenizer.json` whose
//! post-processor names a token that the vocabulary lacks.

use fsm_index::Vocabulary;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use tokenmold::tokenizer::{Surround, Tokenizer};

use crate::harness::case::Case;
use crate::harness::seen::Seen;

/// The number of damaged copies of each file: enough to meet each section of a small file, few
/// because each is a process of its own.
const DAMAGED: u64 = 24;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, make) in FILES {
        cases.push(Case::new("tokenizer", *name, move |seen| {
            json_file(make().to_string().as_bytes(), seen);
        }));
    }
    for (name, make) in FILES.iter().take(3) {
        for seed in 0..DAMAGED {
            cases.push(Case::new(
                "tokenizer",
                format!("{name}, damaged {seed}"),
                move |seen| json_file(&damaged(make().to_string().into_bytes(), seed), seen),
            ));
        }
    }
    for seed in 0..DAMAGED {
        cases.push(Case::new(
            "tokenizer",
            format!("ranks, damaged {seed}"),
            move |seen| ranks(&damaged(some_ranks(300), seed), seen),
        ));
    }
    cases.push(Case::new("tokenizer", "no ranks", move |seen| {
        ranks(b"", seen);
    }));
    cases.push(Case::new("tokenizer", "a great rank", move |seen| {
        ranks(b"YQ== 4294967295\n", seen);
    }));
    cases.push(Case::new("tokenizer", "a long rank", move |seen| {
        ranks(format!("{} 0\n", "YWFh".repeat(1_000_000)).as_bytes(), seen);
    }));
    cases
}

fn json_file(file: &[u8], seen: &mut Seen) {
    seen.begin();
    seen.call(|| Vocabulary::from_tokenizer_json(file));
    let Some(tokenizer) = seen.call(|| Tokenizer::from_json(file)) else {
        return;
    };
    let text = "Hello, wörld \u{1F600} <s> aaaa </s>\n\u{0} x".repeat(50);
    for surround in [Surround::Add, Surround::Omit] {
        let tokens = seen.call(|| tokenizer.encode(&text, surround));
        seen.call(|| tokenizer.encode_with_offsets("aab", surround));
        if let Some(tokens) = tokens {
            tokenizer.decode(&tokens);
            tokenizer.encode_after("a", b"ab");
        }
    }
}

fn ranks(file: &[u8], seen: &mut Seen) {
    seen.begin();
    seen.call(|| Vocabulary::from_tiktoken(file, &[], &[]));
}

fn some_ranks(count: usize) -> Vec<u8> {
    // The base64 of `a` and a letter, often enough to be ranks.
    let lines = (0..count).map(|i| format!("YW{}= {i}\n", char::from(b'A' + (i % 26) as u8)));
    lines.collect::<String>().into_bytes()
}

/// Some bytes changed, taken out, put in or doubled.
pub(crate) fn damaged(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..random.random_range(1..6u32) {
        let at = random.random_range(0..bytes.len().max(1));
        match random.random_range(0..5u32) {
            0 => bytes[at] = random.random(),
            1 => bytes[at] ^= 1 << random.random_range(0..8u32),
            2 => {
                bytes.remove(at);
            }
            3 => bytes.insert(at, b"\"{}[]0,:-9"[random.random_range(0..10usize)]),
            _ => {
                let to = (at + random.random_range(1..40usize)).min(bytes.len());
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn vocabulary(extra: &[(&str, u64)]) -> Map<String, Value> {
    let letters = ('!'..='~').map(|c| c.to_string());
    let pieces = letters.chain(["aa", "ab", "aab", "He", "ll", "Ġ", "Ċ"].map(str::to_owned));
    let mut vocabulary: Map<String, Value> = pieces
        .zip(0u64..)
        .map(|(piece, id)| (piece, json!(id)))
        .collect();
    for (piece, id) in extra {
        vocabulary.insert((*piece).to_owned(), json!(id));
    }
    vocabulary
}

fn bpe(change: impl FnOnce(&mut Value)) -> Value {
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [{"id": 200, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
                         {"id": 201, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [200], "tokens": ["<s>"]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary(&[]), "merges": ["a a", "a b", "aa b", "H e", "l l"]},
    });
    change(&mut file);
    file
}

fn unigram(change: impl FnOnce(&mut Value)) -> Value {
    let mut pieces: Vec<Value> = vec![json!(["<unk>", 0.0])];
    pieces.extend((0..=255u8).map(|b| json!([format!("<0x{b:02X}>"), -10.0])));
    pieces.extend(["▁", "a", "ab", "▁Hello"].map(|piece| json!([piece, -2.5])));
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": null, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": true},
    });
    change(&mut file);
    file
}

type File = (&'static str, fn() -> Value);

/// The files, made here because no real tokenizer does harm.
const FILES: &[File] = &[
    ("bytes", || bpe(|_| {})),
    ("pieces", || unigram(|_| {})),
    ("a post-processor without its token", || {
        bpe(|file| file["post_processor"]["special_tokens"] = json!({}))
    }),
    ("a post-processor with a token of no number", || {
        bpe(|file| file["post_processor"]["special_tokens"]["<s>"]["ids"] = json!([]))
    }),
    ("a post-processor with a great number", || {
        bpe(|file| {
            file["post_processor"]["special_tokens"]["<s>"]["ids"] = json!([4_294_967_295u64]);
        })
    }),
    ("padding to a trillion", || {
        bpe(
            |file| file["padding"] = json!({"strategy": {"Fixed": 1_000_000_000_000u64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "!"}),
        )
    }),
    ("padding to multiples of nothing", || {
        bpe(
            |file| file["padding"] = json!({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 0, "pad_id": 0, "pad_type_id": 0, "pad_token": "!"}),
        )
    }),
    ("truncation to nothing", || {
        bpe(|file| {
            file["truncation"] = json!({"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 5});
        })
    }),
    ("truncation by a long stride", || {
        bpe(|file| {
            file["truncation"] = json!({"direction": "Right", "max_length": 3, "strategy": "OnlySecond", "stride": 30});
        })
    }),
    ("a merge of no tokens", || {
        bpe(|file| file["model"]["merges"] = json!(["q q", "x yy"]))
    }),
    ("a merge of one", || {
        bpe(|file| file["model"]["merges"] = json!(["a"]))
    }),
    ("a token of a great number", || {
        bpe(|file| file["model"]["vocab"] = Value::Object(vocabulary(&[("zz", 4_294_967_295)])))
    }),
    ("a token beyond numbers", || {
        bpe(|file| file["model"]["vocab"] = Value::Object(vocabulary(&[("zz", u64::MAX)])))
    }),
    ("an added token of a great number", || {
        bpe(|file| file["added_tokens"][0]["id"] = json!(4_000_000_000u64))
    }),
    ("added tokens of one number", || {
        bpe(|file| file["added_tokens"][1]["id"] = json!(200))
    }),
    ("an added token of nothing", || {
        bpe(|file| file["added_tokens"][0]["content"] = json!(""))
    }),
    ("no tokens", || {
        bpe(|file| file["model"]["vocab"] = json!({}))
    }),
    ("a long token", || {
        let long: &'static str = Box::leak("z".repeat(3_000_000).into_boxed_str());
        bpe(|file| file["model"]["vocab"] = Value::Object(vocabulary(&[(long, 150)])))
    }),
    ("two hundred thousand tokens", || {
        bpe(|file| {
            let tokens: Map<String, Value> = (0..200_000u32)
                .map(|i| (format!("t{i:x}"), json!(i)))
                .collect();
            file["model"]["vocab"] = Value::Object(tokens);
            file["model"]["merges"] = json!([]);
        })
    }),
    ("a split that backtracks", || {
        bpe(
            |file| file["pre_tokenizer"] = json!({"type": "Split", "pattern": {"Regex": "(a+)+(?!b)$"}, "behavior": "Isolated", "invert": false}),
        )
    }),
    ("a split that is broken", || {
        bpe(
            |file| file["pre_tokenizer"] = json!({"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": false}),
        )
    }),
    ("a normaliser that grows", || {
        bpe(|file| {
            file["normalizer"] =
                json!({"type": "Replace", "pattern": {"String": ""}, "content": "aaaaaaaaaa"});
        })
    }),
    ("normalisers in each other", || {
        bpe(|file| {
            file["normalizer"] = (0..100).fold(
                json!({"type": "NFC"}),
                |inner, _| json!({"type": "Sequence", "normalizers": [inner]}),
            );
        })
    }),
    ("a damaged map of characters", || {
        unigram(|file| {
            file["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": "/////wAAAAAAAAAAAAAAAAAAAAA="});
        })
    }),
    ("a short map of characters", || {
        unigram(|file| {
            file["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": "AAA="});
        })
    }),
    ("an unknown piece that is none", || {
        unigram(|file| file["model"]["unk_id"] = json!(1_000_000))
    }),
    ("scores that are none", || {
        unigram(|file| {
            file["model"]["vocab"] =
                json!([["<unk>", 0.0], ["a", -1e308], ["b", 1e308], ["ab", 0]]);
        })
    }),
    ("an empty piece", || {
        unigram(|file| file["model"]["vocab"] = json!([["", 0.0], ["", 0.0]]))
    }),
    ("a dropout of two", || {
        bpe(|file| file["model"]["dropout"] = json!(2.0))
    }),
    ("a prefix of subwords", || {
        bpe(|file| file["model"]["continuing_subword_prefix"] = json!("é"))
    }),
    ("words", || {
        bpe(|file| {
            file["model"] = json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "b"});
        })
    }),
    ("no model", || json!({"version": "1.0"})),
    ("a list", || json!([])),
];
