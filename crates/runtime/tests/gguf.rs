//! GGUF files: against candle's own model as an oracle, over tiny random
//! weights written to a file.

#![cfg(feature = "models")]

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tokenmold::ErrorKind;
use tokenmold::model::{LoadOptions, Model, WeightFormat, load, load_with};
use tokenmold::tokenizer::Surround;

const HIDDEN: usize = 64;
const LAYERS: usize = 2;

/// The characters that byte-level BPE writes the 256 bytes with.
fn byte_characters() -> Vec<String> {
    let mut next = 256;
    let shown =
        |b: u32| (33..=126).contains(&b) || (161..=172).contains(&b) || (174..=255).contains(&b);
    (0..256_u32)
        .map(|byte| {
            let code = if shown(byte) {
                byte
            } else {
                next += 1;
                next - 1
            };
            char::from_u32(code).unwrap().to_string()
        })
        .collect()
}

/// Bytes, two merges and two special tokens.
fn tokens() -> Vec<String> {
    let mut tokens = byte_characters();
    tokens.extend(["th", "the", "<|begin|>", "<|end|>"].map(str::to_owned));
    tokens
}

fn metadata() -> HashMap<&'static str, Value> {
    let strings = |all: Vec<String>| Value::Array(all.into_iter().map(Value::String).collect());
    let types = (0..260)
        .map(|i| Value::I32(if i < 258 { 1 } else { 3 }))
        .collect();
    HashMap::from([
        ("general.architecture", Value::String("llama".to_owned())),
        ("llama.attention.head_count", Value::U32(4)),
        ("llama.attention.head_count_kv", Value::U32(2)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.block_count", Value::U32(LAYERS as u32)),
        ("llama.context_length", Value::U32(64)),
        ("llama.embedding_length", Value::U32(HIDDEN as u32)),
        ("llama.feed_forward_length", Value::U32(96)),
        ("llama.rope.dimension_count", Value::U32(16)),
        ("llama.rope.freq_base", Value::F32(1000.0)),
        ("tokenizer.ggml.model", Value::String("gpt2".to_owned())),
        ("tokenizer.ggml.tokens", strings(tokens())),
        ("tokenizer.ggml.token_type", Value::Array(types)),
        (
            "tokenizer.ggml.merges",
            strings(vec!["t h".to_owned(), "th e".to_owned()]),
        ),
        ("tokenizer.ggml.bos_token_id", Value::U32(258)),
        ("tokenizer.ggml.eos_token_id", Value::U32(259)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(true)),
        (
            "tokenizer.chat_template",
            Value::String("{{ messages }}".to_owned()),
        ),
    ])
}

fn write(path: &Path, metadata: &HashMap<&'static str, Value>, dtype: GgmlDType) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut random = |shape: &[usize], center: f32, spread: f32| {
        let unit = |rng: &mut ChaCha8Rng| rng.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0;
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count)
            .map(|_| center + spread * unit(&mut rng))
            .collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        let dtype = if shape.len() == 1 {
            GgmlDType::F32
        } else {
            dtype
        };
        QTensor::quantize(&tensor, dtype).unwrap()
    };
    let mut tensors: Vec<(String, QTensor)> = vec![
        (
            "token_embd.weight".to_owned(),
            random(&[260, HIDDEN], 0.0, 1.0),
        ),
        ("output_norm.weight".to_owned(), random(&[HIDDEN], 1.0, 0.3)),
    ];
    for layer in 0..LAYERS {
        let mut add = |part: &str, tensor: QTensor| {
            tensors.push((format!("blk.{layer}.{part}.weight"), tensor));
        };
        add("attn_norm", random(&[HIDDEN], 1.0, 0.3));
        add("ffn_norm", random(&[HIDDEN], 1.0, 0.3));
        add("attn_q", random(&[HIDDEN, HIDDEN], 0.0, 0.3));
        add("attn_k", random(&[HIDDEN / 2, HIDDEN], 0.0, 0.3));
        add("attn_v", random(&[HIDDEN / 2, HIDDEN], 0.0, 0.3));
        add("attn_output", random(&[HIDDEN, HIDDEN], 0.0, 0.3));
        add("ffn_gate", random(&[96, HIDDEN], 0.0, 0.3));
        add("ffn_up", random(&[96, HIDDEN], 0.0, 0.3));
        add("ffn_down", random(&[HIDDEN, 96], 0.0, 0.3));
    }
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors: Vec<(&str, &QTensor)> =
        tensors.iter().map(|(name, t)| (name.as_str(), t)).collect();
    gguf_file::write(&mut File::create(path).unwrap(), &metadata, &tensors).unwrap();
}

const TOKENS: [u32; 9] = [258, 5, 90, 17, 17, 256, 1, 44, 200];

fn distance(a: &[f32], b: &[f32]) -> f32 {
    let largest = b.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
        / largest
}

#[test]
fn logits_equal_those_of_the_stock_model() {
    let folder = tempfile::tempdir().unwrap();
    for dtype in [GgmlDType::F32, GgmlDType::Q8_0, GgmlDType::Q4_1] {
        let path = folder.path().join(format!("{dtype:?}.gguf"));
        write(&path, &metadata(), dtype);
        let mut file = File::open(&path).unwrap();
        let content = gguf_file::Content::read(&mut file).unwrap();
        let mut stock = ModelWeights::from_gguf(content, &mut file, &Device::Cpu).unwrap();
        let tokens = Tensor::new(&TOKENS[..], &Device::Cpu)
            .unwrap()
            .unsqueeze(0)
            .unwrap();
        let stock = stock
            .forward(&tokens, 0)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap();

        let logits = |format: WeightFormat| {
            let options = LoadOptions::default().with_weights(format);
            let mut model = load_with(&path, options).unwrap().model;
            let at_once = model.forward(&TOKENS, 0).unwrap();
            // And with the cache cut back and continued.
            model.truncate(4);
            let again = model.forward(&TOKENS[4..], 4).unwrap();
            assert!(distance(&at_once, &again) < 1e-4, "{dtype:?}");
            at_once
        };
        assert!(
            distance(&logits(WeightFormat::AsStored), &stock) < 1e-4,
            "{dtype:?}"
        );
        // Products with quantised weights quantise the other side too.
        assert!(
            distance(&logits(WeightFormat::Fast), &stock) < 0.05,
            "{dtype:?}"
        );
        assert!(
            distance(&logits(WeightFormat::Float32), &stock) < 0.05,
            "{dtype:?}"
        );
    }
}

#[test]
fn the_tokenizer_inside_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    write(&path, &metadata(), GgmlDType::Q8_0);
    let loaded = load(&path).unwrap();
    let tokenizer = &loaded.tokenizer;
    assert_eq!(loaded.chat_template.as_deref(), Some("{{ messages }}"));
    assert_eq!(tokenizer.encode("the", Surround::Omit).unwrap(), [257]);
    assert_eq!(tokenizer.encode("the", Surround::Add).unwrap(), [258, 257]);
    assert_eq!(tokenizer.encode("<|end|>", Surround::Omit).unwrap(), [259]);
    let text = "other thé ✓\n";
    let tokens = tokenizer.encode(text, Surround::Omit).unwrap();
    assert_eq!(tokenizer.decode(&tokens), text);
    let ends = tokenizer.vocabulary().ends();
    assert_eq!(ends.iter().map(|end| end.get()).collect::<Vec<_>>(), [259]);
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    let mut note =
        |what: &str, kind: ErrorKind, change: &dyn Fn(&mut HashMap<&'static str, Value>)| {
            let path = folder.path().join("model.gguf");
            let mut metadata = metadata();
            change(&mut metadata);
            write(&path, &metadata, GgmlDType::F32);
            let error = load(&path).expect_err(what);
            assert_eq!(error.kind(), kind, "{what}: {error}");
            let text = error
                .to_string()
                .replace(&folder.path().display().to_string(), "DIR");
            lines.push(format!("{what}\n    {text}"));
        };
    note("an unknown architecture", ErrorKind::Config, &|m| {
        m.insert("general.architecture", Value::String("mamba".to_owned()));
    });
    note("a missing value", ErrorKind::Config, &|m| {
        m.remove("llama.context_length");
    });
    note("experts", ErrorKind::Config, &|m| {
        m.insert("llama.expert_count", Value::U32(8));
    });
    note("a tensor of another shape", ErrorKind::Weights, &|m| {
        m.insert("llama.feed_forward_length", Value::U32(128));
    });
    note("a missing tensor", ErrorKind::Weights, &|m| {
        m.insert("llama.block_count", Value::U32(3));
    });
    note("another kind of tokenizer", ErrorKind::Tokenizer, &|m| {
        m.insert("tokenizer.ggml.model", Value::String("llama".to_owned()));
    });
    insta::assert_snapshot!(lines.join("\n"));
}
