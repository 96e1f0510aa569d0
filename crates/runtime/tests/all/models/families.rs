//! The families with tiny random weights, as folders.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

const TOKENIZER: &str = include_str!("../../../model/tokenizer.json");
pub(crate) const HIDDEN: usize = 32;
pub(crate) const INNER: usize = 48;
pub(crate) const LAYERS: usize = 2;
pub(crate) const HEADS: usize = 4;
pub(crate) const GROUPS: usize = 2;
pub(crate) const VOCABULARY: usize = 1030;

/// What the families differ in.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) head_dim: usize,
    pub(crate) bias: bool,
    pub(crate) head_norms: bool,
    pub(crate) tied: bool,
    /// Norms after each part too.
    pub(crate) four_norms: bool,
    /// Queries, keys and values in one matrix, and the gate with what it gates.
    pub(crate) fused: bool,
}

pub(crate) const LLAMA: Family = Family {
    name: "llama",
    head_dim: 8,
    bias: false,
    head_norms: false,
    tied: false,
    four_norms: false,
    fused: false,
};
pub(crate) const QWEN2: Family = Family {
    name: "qwen2",
    bias: true,
    tied: true,
    ..LLAMA
};
pub(crate) const QWEN3: Family = Family {
    name: "qwen3",
    head_dim: 16,
    head_norms: true,
    ..LLAMA
};

pub(crate) const MISTRAL: Family = Family {
    name: "mistral",
    ..LLAMA
};
pub(crate) const PHI3: Family = Family {
    name: "phi3",
    fused: true,
    ..LLAMA
};
pub(crate) const GEMMA: Family = Family {
    name: "gemma",
    head_dim: 16,
    tied: true,
    ..LLAMA
};
pub(crate) const GEMMA2: Family = Family {
    name: "gemma2",
    four_norms: true,
    ..GEMMA
};
pub(crate) const GEMMA3: Family = Family {
    name: "gemma3_text",
    head_norms: true,
    ..GEMMA2
};
pub(crate) const ALL: [Family; 8] = [LLAMA, QWEN2, QWEN3, MISTRAL, PHI3, GEMMA, GEMMA2, GEMMA3];

pub(crate) fn config(family: Family) -> Value {
    let mut config = plain_config(family);
    let own = match family.name {
        "mistral" => json!({"sliding_window": 5}),
        "phi3" => json!({"partial_rotary_factor": 0.5}),
        "gemma" => json!({}),
        "gemma2" => json!({
            "query_pre_attn_scalar": family.head_dim,
            "attn_logit_softcapping": 2.0, "final_logit_softcapping": 10.0,
        }),
        "gemma3_text" => json!({
            "query_pre_attn_scalar": family.head_dim,
            "attn_logit_softcapping": null, "final_logit_softcapping": null,
            "rope_theta": 3000.0, "rope_local_base_freq": 20.0,
            "sliding_window_pattern": 2, "sliding_window": 5,
        }),
        _ => return config,
    };
    let config_map = config.as_object_mut().unwrap();
    if family.name.starts_with("gemma") {
        config_map.remove("hidden_act");
        config_map.remove("tie_word_embeddings");
        config_map.insert("hidden_activation".to_owned(), json!("gelu_pytorch_tanh"));
    }
    config_map.extend(own.as_object().unwrap().clone());
    config
}

fn plain_config(family: Family) -> Value {
    json!({
        "model_type": family.name,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": GROUPS,
        "head_dim": family.head_dim,
        "attention_bias": false,
        "max_position_embeddings": 64,
        "max_window_layers": LAYERS,
        "sliding_window": 64,
        "use_sliding_window": false,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": family.tied,
        "vocab_size": VOCABULARY,
        "eos_token_id": 2,
    })
}

pub(crate) fn weights(family: Family) -> HashMap<String, Tensor> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut random = |shape: &[usize], center: f32, spread: f32| {
        let count = shape.iter().product();
        let unit = |rng: &mut ChaCha8Rng| rng.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0;
        let values: Vec<f32> = (0..count)
            .map(|_| center + spread * unit(&mut rng))
            .collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    };
    let (query, key) = (HEADS * family.head_dim, GROUPS * family.head_dim);
    let mut all = HashMap::new();
    all.insert(
        "model.embed_tokens.weight".to_owned(),
        random(&[VOCABULARY, HIDDEN], 0.0, 1.0),
    );
    all.insert("model.norm.weight".to_owned(), random(&[HIDDEN], 1.0, 0.3));
    if !family.tied {
        all.insert(
            "lm_head.weight".to_owned(),
            random(&[VOCABULARY, HIDDEN], 0.0, 0.5),
        );
    }
    for layer in 0..LAYERS {
        let mut add = |part: &str, tensor: Tensor| {
            all.insert(format!("model.layers.{layer}.{part}"), tensor);
        };
        add("input_layernorm.weight", random(&[HIDDEN], 1.0, 0.3));
        add(
            "post_attention_layernorm.weight",
            random(&[HIDDEN], 1.0, 0.3),
        );
        if family.four_norms {
            for part in ["pre_feedforward_layernorm", "post_feedforward_layernorm"] {
                add(&format!("{part}.weight"), random(&[HIDDEN], 1.0, 0.3));
            }
        }
        if family.fused {
            add(
                "self_attn.qkv_proj.weight",
                random(&[query + 2 * key, HIDDEN], 0.0, 0.4),
            );
            add(
                "mlp.gate_up_proj.weight",
                random(&[2 * INNER, HIDDEN], 0.0, 0.4),
            );
            add(
                "self_attn.o_proj.weight",
                random(&[HIDDEN, query], 0.0, 0.4),
            );
            add("mlp.down_proj.weight", random(&[HIDDEN, INNER], 0.0, 0.4));
            continue;
        }
        for (part, rows) in [("q_proj", query), ("k_proj", key), ("v_proj", key)] {
            add(
                &format!("self_attn.{part}.weight"),
                random(&[rows, HIDDEN], 0.0, 0.4),
            );
            if family.bias {
                add(&format!("self_attn.{part}.bias"), random(&[rows], 0.0, 0.4));
            }
        }
        if family.head_norms {
            add(
                "self_attn.q_norm.weight",
                random(&[family.head_dim], 1.0, 0.3),
            );
            add(
                "self_attn.k_norm.weight",
                random(&[family.head_dim], 1.0, 0.3),
            );
        }
        add(
            "self_attn.o_proj.weight",
            random(&[HIDDEN, query], 0.0, 0.4),
        );
        add("mlp.gate_proj.weight", random(&[INNER, HIDDEN], 0.0, 0.4));
        add("mlp.up_proj.weight", random(&[INNER, HIDDEN], 0.0, 0.4));
        add("mlp.down_proj.weight", random(&[HIDDEN, INNER], 0.0, 0.4));
    }
    all
}

pub(crate) fn write_folder(folder: &Path, config: &Value, weights: &HashMap<String, Tensor>) {
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer.json"), TOKENIZER).unwrap();
    candle_core::safetensors::save(weights, folder.join("model.safetensors")).unwrap();
}

pub(crate) fn folder(family: Family) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), &config(family), &weights(family));
    folder
}

pub(crate) const TOKENS: [u32; 12] = [5, 900, 17, 17, 1029, 300, 1, 44, 612, 8, 77, 300];

pub(crate) fn distance(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}
