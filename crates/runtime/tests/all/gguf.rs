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
use tokenmold::chat::Chat;
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
        ("llama.feed_forward_length", Value::U32(128)),
        ("llama.rope.dimension_count", Value::U32(16)),
        ("llama.rope.freq_base", Value::F32(1000.0)),
        ("tokenizer.ggml.model", Value::String("gpt2".to_owned())),
        ("tokenizer.ggml.pre", Value::String("smollm".to_owned())),
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
    write_wide(path, metadata, dtype, 260);
}

/// The same for a vocabulary of `width` tokens.
fn write_wide(
    path: &Path,
    metadata: &HashMap<&'static str, Value>,
    dtype: GgmlDType,
    width: usize,
) {
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
            random(&[width, HIDDEN], 0.0, 1.0),
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
        add("ffn_gate", random(&[128, HIDDEN], 0.0, 0.3));
        add("ffn_up", random(&[128, HIDDEN], 0.0, 0.3));
        add("ffn_down", random(&[HIDDEN, 128], 0.0, 0.3));
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
        let error = |format| distance(&logits(format), &stock);
        let stored = error(WeightFormat::AsStored);
        assert!(stored < 1e-4, "{dtype:?}: {stored}");
        // Products with quantised weights round the other side too.
        let (fast, floats) = (error(WeightFormat::Fast), error(WeightFormat::Float32));
        assert!(fast < 0.1 && floats < 0.1, "{dtype:?}: {fast}, {floats}");
    }
}

/// Weights of another family by their names and shapes: norms are of one
/// dimension.
fn write_family(
    path: &Path,
    metadata: &HashMap<&'static str, Value>,
    layer: &[(&str, Vec<usize>)],
    more: &[(&str, Vec<usize>)],
) {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut random = |name: &str, shape: &[usize]| {
        if name == "rope_freqs" {
            let twos = Tensor::full(2.0_f32, shape, &Device::Cpu).unwrap();
            return QTensor::quantize(&twos, GgmlDType::F32).unwrap();
        }
        let unit = |rng: &mut ChaCha8Rng| rng.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0;
        let (center, spread) = if shape.len() == 1 {
            (1.0, 0.3)
        } else {
            (0.0, 0.3)
        };
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count)
            .map(|_| center + spread * unit(&mut rng))
            .collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        QTensor::quantize(&tensor, GgmlDType::F32).unwrap()
    };
    let mut tensors = Vec::new();
    for index in 0..LAYERS {
        for (name, shape) in layer {
            tensors.push((format!("blk.{index}.{name}.weight"), random(name, shape)));
        }
    }
    for (name, shape) in more {
        tensors.push((format!("{name}.weight"), random(name, shape)));
    }
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors: Vec<(&str, &QTensor)> =
        tensors.iter().map(|(name, t)| (name.as_str(), t)).collect();
    gguf_file::write(&mut File::create(path).unwrap(), &metadata, &tensors).unwrap();
}

fn family_metadata(own: Vec<(&'static str, Value)>) -> HashMap<&'static str, Value> {
    let all = metadata().into_iter();
    let mut all: HashMap<&'static str, Value> =
        all.filter(|(key, _)| !key.starts_with("llama.")).collect();
    all.extend(own);
    all
}

fn assert_equal_logits(path: &Path, stock: Tensor) {
    let stock: Vec<f32> = stock.flatten_all().unwrap().to_vec1().unwrap();
    let mut model = load(path).unwrap().model;
    let ours = model.forward(&TOKENS, 0).unwrap();
    let error = distance(&ours, &stock);
    assert!(error < 1e-4, "{error}");
    model.truncate(4);
    let again = model.forward(&TOKENS[4..], 4).unwrap();
    assert!(distance(&ours, &again) < 1e-4);
}

fn stock_input() -> Tensor {
    Tensor::new(&TOKENS[..], &Device::Cpu)
        .unwrap()
        .unsqueeze(0)
        .unwrap()
}

#[test]
fn gemma_3_equals_the_same_weights_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gemma.gguf");
    let metadata = family_metadata(vec![
        ("general.architecture", Value::String("gemma3".to_owned())),
        ("gemma3.attention.head_count", Value::U32(4)),
        ("gemma3.attention.head_count_kv", Value::U32(2)),
        ("gemma3.attention.key_length", Value::U32(8)),
        ("gemma3.attention.value_length", Value::U32(8)),
        ("gemma3.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("gemma3.attention.sliding_window", Value::U32(32)),
        ("gemma3.block_count", Value::U32(LAYERS as u32)),
        ("gemma3.context_length", Value::U32(64)),
        ("gemma3.embedding_length", Value::U32(HIDDEN as u32)),
        ("gemma3.feed_forward_length", Value::U32(96)),
        ("gemma3.rope.freq_base", Value::F32(5000.0)),
        ("gemma3.rope.local_freq_base", Value::F32(100.0)),
    ]);
    let layer = [
        ("attn_norm", vec![HIDDEN]),
        ("post_attention_norm", vec![HIDDEN]),
        ("ffn_norm", vec![HIDDEN]),
        ("post_ffw_norm", vec![HIDDEN]),
        ("attn_q_norm", vec![8]),
        ("attn_k_norm", vec![8]),
        ("attn_q", vec![32, HIDDEN]),
        ("attn_k", vec![16, HIDDEN]),
        ("attn_v", vec![16, HIDDEN]),
        ("attn_output", vec![HIDDEN, 32]),
        ("ffn_gate", vec![96, HIDDEN]),
        ("ffn_up", vec![96, HIDDEN]),
        ("ffn_down", vec![HIDDEN, 96]),
    ];
    let more = [
        ("token_embd", vec![260, HIDDEN]),
        ("output_norm", vec![HIDDEN]),
    ];
    write_family(&path, &metadata, &layer, &more);
    // candle's own reader of such files has another activation than Gemma; the
    // same weights in a folder, which are tested against its model, do not.
    let floats = tempfile::tempdir().unwrap();
    let mut file = File::open(&path).unwrap();
    let content = gguf_file::Content::read(&mut file).unwrap();
    let names = [
        ("attn_norm", "input_layernorm"),
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_norm", "pre_feedforward_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ];
    let mut weights: HashMap<String, Tensor> = HashMap::new();
    for name in content.tensor_infos.keys() {
        let tensor = content.tensor(&mut file, name, &Device::Cpu).unwrap();
        let mut tensor = tensor.dequantize(&Device::Cpu).unwrap();
        if tensor.rank() == 1 {
            tensor = (tensor - 1.0).unwrap();
        }
        let bare = name.trim_end_matches(".weight");
        let new = match bare
            .strip_prefix("blk.")
            .and_then(|rest| rest.split_once('.'))
        {
            Some((layer, part)) => {
                let part = names.iter().find(|(from, _)| *from == part).unwrap().1;
                format!("model.layers.{layer}.{part}.weight")
            }
            None if bare == "token_embd" => "model.embed_tokens.weight".to_owned(),
            None => "model.norm.weight".to_owned(),
        };
        weights.insert(new, tensor);
    }
    let config = serde_json::json!({
        "model_type": "gemma3_text", "hidden_size": HIDDEN, "intermediate_size": 96,
        "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "query_pre_attn_scalar": 8, "rms_norm_eps": 1e-5, "vocab_size": 260,
        "max_position_embeddings": 64, "rope_theta": 5000.0, "rope_local_base_freq": 100.0,
        "sliding_window": 32, "hidden_activation": "gelu_pytorch_tanh",
    });
    std::fs::write(floats.path().join("config.json"), config.to_string()).unwrap();
    let tokenizer = load(&path).unwrap().tokenizer;
    let tokenizer = tokenizer.inner().to_string(false).unwrap();
    std::fs::write(floats.path().join("tokenizer.json"), tokenizer).unwrap();
    candle_core::safetensors::save(&weights, floats.path().join("model.safetensors")).unwrap();
    let stock = load(floats.path())
        .unwrap()
        .model
        .forward(&TOKENS, 0)
        .unwrap();
    assert_equal_logits(&path, Tensor::new(stock, &Device::Cpu).unwrap());
}

/// Files of Llama 3.1 and later list what each frequency is divided by.
#[test]
fn listed_rotary_factors_divide_frequencies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("llama.gguf");
    let layer = [
        ("attn_norm", vec![HIDDEN]),
        ("ffn_norm", vec![HIDDEN]),
        ("attn_q", vec![HIDDEN, HIDDEN]),
        ("attn_k", vec![HIDDEN / 2, HIDDEN]),
        ("attn_v", vec![HIDDEN / 2, HIDDEN]),
        ("attn_output", vec![HIDDEN, HIDDEN]),
        ("ffn_gate", vec![128, HIDDEN]),
        ("ffn_up", vec![128, HIDDEN]),
        ("ffn_down", vec![HIDDEN, 128]),
    ];
    let mut more = vec![
        ("token_embd", vec![260, HIDDEN]),
        ("output_norm", vec![HIDDEN]),
    ];
    let logits = |metadata: &HashMap<&'static str, Value>, more: &[(&str, Vec<usize>)]| {
        write_family(&path, metadata, &layer, more);
        load(&path).unwrap().model.forward(&TOKENS, 0).unwrap()
    };
    let plain = logits(&metadata(), &more);
    let mut halved = metadata();
    halved.insert(
        "llama.rope.scaling.type",
        Value::String("linear".to_owned()),
    );
    halved.insert("llama.rope.scaling.factor", Value::F32(2.0));
    let halved = logits(&halved, &more);
    // Weights are drawn in order, so that one more at the end changes none.
    more.push(("rope_freqs", vec![8]));
    let listed = logits(&metadata(), &more);
    assert!(distance(&plain, &listed) > 1e-3);
    assert!(distance(&halved, &listed) < 1e-5);
}

#[test]
fn phi_3_equals_the_stock_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("phi.gguf");
    let metadata = family_metadata(vec![
        ("general.architecture", Value::String("phi3".to_owned())),
        ("phi3.attention.head_count", Value::U32(4)),
        ("phi3.attention.head_count_kv", Value::U32(2)),
        ("phi3.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("phi3.block_count", Value::U32(LAYERS as u32)),
        ("phi3.context_length", Value::U32(64)),
        ("phi3.embedding_length", Value::U32(HIDDEN as u32)),
        ("phi3.feed_forward_length", Value::U32(96)),
        ("phi3.rope.dimension_count", Value::U32(16)),
    ]);
    let layer = [
        ("attn_norm", vec![HIDDEN]),
        ("ffn_norm", vec![HIDDEN]),
        ("attn_qkv", vec![2 * HIDDEN, HIDDEN]),
        ("attn_output", vec![HIDDEN, HIDDEN]),
        ("ffn_up", vec![192, HIDDEN]),
        ("ffn_down", vec![HIDDEN, 96]),
    ];
    let more = [
        ("token_embd", vec![260, HIDDEN]),
        ("output_norm", vec![HIDDEN]),
        ("output", vec![260, HIDDEN]),
    ];
    write_family(&path, &metadata, &layer, &more);
    let mut file = File::open(&path).unwrap();
    let content = gguf_file::Content::read(&mut file).unwrap();
    let mut stock = candle_transformers::models::quantized_phi3::ModelWeights::from_gguf(
        false,
        content,
        &mut file,
        &Device::Cpu,
    )
    .unwrap();
    assert_equal_logits(&path, stock.forward(&stock_input(), 0).unwrap());
}

#[test]
fn the_tokenizer_inside_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    write(&path, &metadata(), GgmlDType::Q8_0);
    let loaded = load(&path).unwrap();
    let tokenizer = &loaded.tokenizer;
    let messages = [serde_json::json!({"role": "user"})];
    let rendered = loaded.chat.apply(&Chat::new(&messages)).unwrap();
    assert_eq!(rendered.text, "[{'role': 'user'}]");
    assert_eq!(tokenizer.encode("the", Surround::Omit).unwrap(), [257]);
    assert_eq!(tokenizer.encode("the", Surround::Add).unwrap(), [258, 257]);
    assert_eq!(tokenizer.encode("<|end|>", Surround::Omit).unwrap(), [259]);
    // Nothing is put before a text, and digits stand alone.
    let text = "12 the";
    let tokens: Vec<String> = tokenizer
        .encode(text, Surround::Omit)
        .unwrap()
        .iter()
        .map(|token| tokenizer.describe(*token))
        .collect();
    assert_eq!(tokens, ["1", "2", " ", "the"]);
    let text = "other thé ✓\n";
    let tokens = tokenizer.encode(text, Surround::Omit).unwrap();
    assert_eq!(tokenizer.decode(&tokens), text);
    let ends = tokenizer.vocabulary().ends();
    assert_eq!(ends.iter().map(|end| end.get()).collect::<Vec<_>>(), [259]);
}

/// The file of another model went before the tokenizer inside, and the output was noise.
#[test]
fn a_tokenizer_beside_the_file_must_have_its_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    write(&path, &metadata(), GgmlDType::Q8_0);
    let inside = load(&path).unwrap().tokenizer;
    let inside = inside.inner().to_string(false).unwrap();
    let beside = folder.path().join("tokenizer.json");
    std::fs::write(&beside, &inside).unwrap();
    assert!(load(&path).is_ok());

    // A token of its own: converters spell some differently.
    let mut own: serde_json::Value = serde_json::from_str(&inside).unwrap();
    let vocabulary = own["model"]["vocab"].as_object_mut().unwrap();
    let last = vocabulary.remove("the").unwrap();
    vocabulary.insert("thy".to_owned(), last);
    own["model"]["merges"][1] = serde_json::json!(["th", "y"]);
    std::fs::write(&beside, own.to_string()).unwrap();
    let loaded = load(&path).unwrap();
    assert_eq!(
        loaded.tokenizer.encode("thy", Surround::Omit).unwrap(),
        [257]
    );

    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("model/tokenizer.json");
    std::fs::copy(other, &beside).unwrap();
    // It has more tokens than the model; one with fewer is as wrong.
    for fewer in [false, true] {
        if fewer {
            let mut few: serde_json::Value = serde_json::from_str(&inside).unwrap();
            let vocabulary = few["model"]["vocab"].as_object_mut().unwrap();
            vocabulary.retain(|_, id| id.as_u64().unwrap() < 200);
            few["model"]["merges"] = serde_json::json!([]);
            std::fs::write(&beside, few.to_string()).unwrap();
        }
        let error = load(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VocabularyMismatch, "{error}");
        for part in ["tokenizer.json: it is another model's", "model.gguf lists"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
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
        m.insert("llama.feed_forward_length", Value::U32(96));
    });
    note("a missing tensor", ErrorKind::Weights, &|m| {
        m.insert("llama.block_count", Value::U32(3));
    });
    note("another kind of tokenizer", ErrorKind::Tokenizer, &|m| {
        m.insert("tokenizer.ggml.model", Value::String("t5".to_owned()));
    });
    note("pieces without scores", ErrorKind::Tokenizer, &|m| {
        m.insert("tokenizer.ggml.model", Value::String("llama".to_owned()));
    });
    note("scores of others", ErrorKind::Tokenizer, &|m| {
        m.insert("tokenizer.ggml.model", Value::String("llama".to_owned()));
        m.insert("tokenizer.ggml.scores", Value::Array(vec![Value::F32(0.0)]));
    });
    note("another rule for cutting", ErrorKind::Tokenizer, &|m| {
        m.insert("tokenizer.ggml.pre", Value::String("gigachat".to_owned()));
    });
    note("no tokens", ErrorKind::Tokenizer, &|m| {
        m.remove("tokenizer.ggml.tokens");
    });
    note("a merge that is none", ErrorKind::Tokenizer, &|m| {
        let merges = vec![Value::String("th".to_owned())];
        m.insert("tokenizer.ggml.merges", Value::Array(merges));
    });
    insta::assert_snapshot!(lines.join("\n"));
}

/// The rules for cutting, against the tokenizers that they stand for.
#[test]
fn texts_are_cut_as_by_the_real_tokenizers() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("TOKENMOLD_DATA is not set: skipping the real tokenizers");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, pre) in [("llama3_1", "llama-bpe"), ("qwen3", "qwen2")] {
        let real = Path::new(&data)
            .join("tokenizers")
            .join(name)
            .join("tokenizer.json");
        let real = std::fs::read(real).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&real).unwrap();
        let mut tokens: Vec<(u64, String)> = json["model"]["vocab"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(token, id)| (id.as_u64().unwrap(), token.clone()))
            .collect();
        tokens.sort();
        let strings = |all: Vec<String>| Value::Array(all.into_iter().map(Value::String).collect());
        let merges = json["model"]["merges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|merge| match merge {
                serde_json::Value::String(merge) => merge.clone(),
                pair => format!(
                    "{} {}",
                    pair[0].as_str().unwrap(),
                    pair[1].as_str().unwrap()
                ),
            });
        let mut metadata = metadata();
        let types = tokens.iter().map(|_| Value::I32(1)).collect();
        metadata.insert("tokenizer.ggml.pre", Value::String(pre.to_owned()));
        metadata.insert("tokenizer.ggml.merges", strings(merges.collect()));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(types));
        let count = tokens.len();
        metadata.insert(
            "tokenizer.ggml.tokens",
            strings(tokens.into_iter().map(|t| t.1).collect()),
        );
        let path = folder.path().join(format!("{name}.gguf"));
        write_wide(&path, &metadata, GgmlDType::Q8_0, count);
        let ours = load(&path).unwrap().tokenizer;
        let real = tokenmold::tokenizer::Tokenizer::from_json(&real).unwrap();
        for text in [
            "Hello'LL  world 12345\n\n  foo\tbar",
            "{\"name\": \"Zoë\", \"n\": [1, 22.5, -3e10]}\r\n",
            " leading, ünïcode ✓ 你好 𝔘 e\u{301}",
        ] {
            let encode = |tokenizer: &tokenmold::tokenizer::Tokenizer| {
                tokenizer.encode(text, Surround::Omit).unwrap()
            };
            assert_eq!(encode(&ours), encode(&real), "{name}: {text:?}");
        }
    }
}

/// A file with the tokenizer of a `tokenizer.json` of SentencePiece's BPE: pieces by their
/// numbers, and the sooner a piece is joined the better its score, as in the models themselves.
fn write_pieces(path: &Path, json: &serde_json::Value, prefix: bool) {
    let mut tokens: Vec<(u64, &str)> = json["model"]["vocab"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(token, id)| (id.as_u64().unwrap(), token.as_str()))
        .collect();
    tokens.sort_unstable();
    let control = ["<unk>", "<s>", "</s>", "<pad>", "<eos>", "<bos>"];
    let kind = |token: &str| match token {
        "<unk>" => 2,
        _ if control.contains(&token) => 3,
        _ if token.starts_with("<0x") && token.len() == 6 => 6,
        _ => 1,
    };
    let id = |wanted: &[&str]| {
        let mut of = tokens.iter().filter(|(_, token)| wanted.contains(token));
        Value::U32(of.next().unwrap().0 as u32)
    };
    let mut joined: HashMap<String, f32> = HashMap::new();
    let merges = json["model"]["merges"].as_array();
    for (rank, merge) in merges.into_iter().flatten().enumerate() {
        let piece = match merge {
            serde_json::Value::String(merge) => merge.replacen(' ', "", 1),
            pair => format!("{}{}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
        };
        joined.entry(piece).or_insert(-(rank as f32));
    }
    let score = |(id, token): &(u64, &str)| match merges {
        Some(_) => joined.get(*token).copied().unwrap_or(-1e9),
        None => -(*id as f32),
    };
    let mut metadata = metadata();
    for (key, value) in [
        ("tokenizer.ggml.model", Value::String("llama".to_owned())),
        (
            "tokenizer.ggml.tokens",
            Value::Array(
                tokens
                    .iter()
                    .map(|t| Value::String(t.1.to_owned()))
                    .collect(),
            ),
        ),
        (
            "tokenizer.ggml.scores",
            Value::Array(tokens.iter().map(|t| Value::F32(score(t))).collect()),
        ),
        (
            "tokenizer.ggml.token_type",
            Value::Array(tokens.iter().map(|t| Value::I32(kind(t.1))).collect()),
        ),
        ("tokenizer.ggml.bos_token_id", id(&["<s>", "<bos>"])),
        ("tokenizer.ggml.eos_token_id", id(&["</s>", "<eos>"])),
        ("tokenizer.ggml.unknown_token_id", id(&["<unk>"])),
        ("tokenizer.ggml.add_space_prefix", Value::Bool(prefix)),
    ] {
        metadata.insert(key, value);
    }
    metadata.remove("tokenizer.ggml.merges");
    metadata.remove("tokenizer.ggml.pre");
    write_wide(path, &metadata, GgmlDType::Q8_0, tokens.len());
}

/// Files of Llama 2, Mistral and Gemma were refused: their tokenizers have scores, not
/// merges.
#[test]
fn sentence_pieces_are_read() {
    let pieces = ["<unk>", "<s>", "</s>"].map(str::to_owned).into_iter();
    let bytes = (0..=255).map(|byte| format!("<0x{byte:02X}>"));
    let words = [
        "\u{2581}t",
        "he",
        "\u{2581}the",
        "\u{2581}",
        "t",
        "h",
        "e",
        "{",
        "}",
        "\"",
    ];
    let all = pieces.chain(bytes).chain(words.map(str::to_owned));
    let vocabulary: serde_json::Map<String, serde_json::Value> = all
        .zip(0..)
        .map(|(token, id)| (token, serde_json::json!(id)))
        .collect();
    let json = serde_json::json!({"model": {"vocab": vocabulary}});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pieces.gguf");
    write_pieces(&path, &json, true);
    let tokenizer = load(&path).unwrap().tokenizer;
    let said = |text: &str, surround| {
        let tokens = tokenizer.encode(text, surround).unwrap();
        let names: Vec<String> = tokens.iter().map(|t| tokenizer.describe(*t)).collect();
        (tokens, names)
    };
    assert_eq!(said("the {", Surround::Omit).1, [" the", " ", "{"]);
    let (tokens, _) = said("the é", Surround::Add);
    assert_eq!(tokens, [1, 261, 262, 3 + 0xC3, 3 + 0xA9]);
    assert_eq!(tokenizer.decode(&tokens[1..]), "the é");
    let vocabulary = tokenizer.vocabulary();
    assert!(vocabulary.unspellable().is_empty());
    assert_eq!(vocabulary.ends(), [tokenmold::fsm_index::TokenId::new(2)]);
}

#[test]
fn pieces_are_joined_as_by_the_real_tokenizers() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("TOKENMOLD_DATA is not set: skipping the real tokenizers");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, prefix) in [("llama2", true), ("gemma3", false)] {
        let real = Path::new(&data)
            .join("tokenizers")
            .join(name)
            .join("tokenizer.json");
        let real = std::fs::read(real).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&real).unwrap();
        let path = folder.path().join(format!("{name}.gguf"));
        write_pieces(&path, &json, prefix);
        let ours = load(&path).unwrap().tokenizer;
        let real = tokenmold::tokenizer::Tokenizer::from_json(&real).unwrap();
        for text in [
            "Hello'LL  world 12345\n\n  foo\tbar",
            "{\"name\": \"Zoë\", \"n\": [1, 22.5, -3e10]}\r\n",
            " leading, ünïcode ✓ 你好 𝔘 e\u{301}",
        ] {
            let encode = |tokenizer: &tokenmold::tokenizer::Tokenizer| {
                tokenizer.encode(text, Surround::Omit).unwrap()
            };
            assert_eq!(encode(&ours), encode(&real), "{name}: {text:?}");
        }
    }
}
