//! Loading and running models: against candle's own models as an oracle, over
//! tiny random weights written to a folder.

#![cfg(feature = "models")]

mod dtypes;
mod families;
mod together;

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models as stock;
use serde_json::{Value, json};
use tokenmold::ErrorKind;
use tokenmold::model::{LoadOptions, Model, WeightFormat, load, load_watched, load_with};

use self::families::*;

/// Two shards and their index.
fn write_shards(folder: &Path, weights: &HashMap<String, Tensor>) {
    let mut names: Vec<&String> = weights.keys().collect();
    names.sort();
    let mut map = serde_json::Map::new();
    for (number, part) in names.chunks(names.len().div_ceil(2)).enumerate() {
        let file = format!("model-{:05}-of-00002.safetensors", number + 1);
        let shard: HashMap<&str, Tensor> = part
            .iter()
            .map(|name| (name.as_str(), weights[*name].clone()))
            .collect();
        candle_core::safetensors::save(&shard, folder.join(&file)).unwrap();
        for name in part {
            map.insert((*name).clone(), json!(file));
        }
    }
    let index = json!({"metadata": {}, "weight_map": map});
    std::fs::write(
        folder.join("model.safetensors.index.json"),
        index.to_string(),
    )
    .unwrap();
    let single = folder.join("model.safetensors");
    if single.exists() {
        std::fs::remove_file(single).unwrap();
    }
}

fn stock_logits(family: Family, config: &Value) -> Vec<f32> {
    let vb = VarBuilder::from_tensors(weights(family), DType::F32, &Device::Cpu);
    let tokens = Tensor::new(&TOKENS[..], &Device::Cpu)
        .unwrap()
        .unsqueeze(0)
        .unwrap();
    let config = config.to_string();
    let logits = match family.name {
        "llama" => {
            let config: stock::llama::LlamaConfig = serde_json::from_str(&config).unwrap();
            let config = config.into_config(false);
            let mut cache =
                stock::llama::Cache::new(true, DType::F32, &config, &Device::Cpu).unwrap();
            let model = stock::llama::Llama::load(vb, &config).unwrap();
            model.forward(&tokens, 0, &mut cache).unwrap()
        }
        "qwen2" => {
            let mut config: stock::qwen2::Config = serde_json::from_str(&config).unwrap();
            // candle leaves the current token out of the window's count.
            config.sliding_window -= 1;
            let mut model = stock::qwen2::ModelForCausalLM::new(&config, vb).unwrap();
            model.forward(&tokens, 0).unwrap()
        }
        "qwen3" => {
            let config: stock::qwen3::Config = serde_json::from_str(&config).unwrap();
            let mut model = stock::qwen3::ModelForCausalLM::new(&config, vb).unwrap();
            model.forward(&tokens, 0).unwrap()
        }
        "mistral" => {
            let mut config: stock::mistral::Config = serde_json::from_str(&config).unwrap();
            // candle leaves the current token out of the window's count.
            config.sliding_window = config.sliding_window.map(|window| window - 1);
            let mut model = stock::mistral::Model::new(&config, vb).unwrap();
            model.forward(&tokens, 0).unwrap()
        }
        "phi3" => {
            let config: stock::phi3::Config = serde_json::from_str(&config).unwrap();
            let mut model = stock::phi3::Model::new(&config, vb).unwrap();
            model.forward(&tokens, 0).unwrap()
        }
        "gemma" => {
            let config: stock::gemma::Config = serde_json::from_str(&config).unwrap();
            let mut model = stock::gemma::Model::new(false, &config, vb).unwrap();
            model.forward(&tokens, 0).unwrap()
        }
        "gemma2" => {
            let config: stock::gemma2::Config = serde_json::from_str(&config).unwrap();
            let mut model = stock::gemma2::Model::new(false, &config, vb).unwrap();
            model.forward(&tokens, 0).unwrap()
        }
        "gemma3_text" => {
            let config: stock::gemma3::Config = serde_json::from_str(&config).unwrap();
            let mut model = stock::gemma3::Model::new(false, &config, vb).unwrap();
            // candle's cache takes one token at a time here.
            let step = |at| {
                model
                    .forward(&tokens.narrow(1, at, 1).unwrap(), at)
                    .unwrap()
            };
            (0..TOKENS.len()).map(step).last().unwrap()
        }
        other => panic!("no stock model {other}"),
    };
    logits.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn logits_equal_those_of_the_stock_models() {
    for family in ALL {
        let folder = folder(family);
        let mut loaded = load(folder.path()).unwrap();
        let ours = loaded.model.forward(&TOKENS, 0).unwrap();
        let distance = distance(&ours, &stock_logits(family, &config(family)));
        assert!(distance < 1e-4, "{}: {distance}", family.name);
    }
}

/// Layers from `max_window_layers` on see a window, as transformers has it; candle's
/// see it all.
#[test]
fn windows_of_qwen_equal_the_stock_model() {
    let logits = |family: Family, change: &dyn Fn(&mut Value)| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(family);
        config["use_sliding_window"] = json!(true);
        config["sliding_window"] = json!(5);
        change(&mut config);
        write_folder(folder.path(), &config, &weights(family));
        let mut model = load(folder.path()).unwrap().model;
        model.forward(&TOKENS[..4], 0).unwrap();
        (model.forward(&TOKENS[4..], 4).unwrap(), config)
    };
    let (all, config) = logits(QWEN2, &|config| {
        config["max_window_layers"] = json!(0);
    });
    let stock = stock_logits(QWEN2, &config);
    assert!(distance(&all, &stock) < 1e-4);
    for family in [QWEN2, QWEN3] {
        let windows = |layers: usize| {
            let types: Vec<&str> = (0..LAYERS)
                .map(|at| match at < layers {
                    true => "full_attention",
                    false => "sliding_attention",
                })
                .collect();
            logits(family, &|config| {
                config["max_window_layers"] = json!(layers);
                config["layer_types"] = json!(types);
            })
            .0
        };
        let (all, some, none) = (windows(0), windows(1), windows(LAYERS));
        let (unused, _) = logits(family, &|config| {
            config["use_sliding_window"] = json!(false);
        });
        assert_eq!(none, unused);
        assert!(distance(&all, &some) > 1e-3 && distance(&some, &none) > 1e-3);
    }
}

/// What makes a family matters to the logits: without it they are others.
#[test]
fn the_details_of_families_are_not_idle() {
    let logits = |family: Family, change: &dyn Fn(&mut Value)| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(family);
        change(&mut config);
        write_folder(folder.path(), &config, &weights(family));
        load(folder.path())
            .unwrap()
            .model
            .forward(&TOKENS, 0)
            .unwrap()
    };
    let details: [(Family, &str, Value); 8] = [
        (MISTRAL, "sliding_window", Value::Null),
        (PHI3, "partial_rotary_factor", Value::Null),
        (PHI3, "sliding_window", json!(3)),
        (GEMMA2, "attn_logit_softcapping", Value::Null),
        (GEMMA2, "final_logit_softcapping", Value::Null),
        (GEMMA2, "sliding_window", json!(3)),
        (GEMMA3, "rope_local_base_freq", json!(10_000.0)),
        (GEMMA3, "query_pre_attn_scalar", json!(1)),
    ];
    for (family, key, value) in details {
        let own = logits(family, &|_| {});
        let other = logits(family, &|config| config[key] = value.clone());
        assert!(distance(&own, &other) > 1e-3, "{}: {key}", family.name);
    }
    // Newer files say the same in other keys.
    let own = logits(GEMMA3, &|_| {});
    let newer = logits(GEMMA3, &|config| {
        for key in [
            "rope_theta",
            "rope_local_base_freq",
            "sliding_window_pattern",
        ] {
            config.as_object_mut().unwrap().remove(key);
        }
        config["_sliding_window_pattern"] = json!(2);
        config["layer_types"] = json!(["sliding_attention", "full_attention"]);
        config["rope_parameters"] = json!({
            "full_attention": {"rope_type": "default", "rope_theta": 3000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
        });
    });
    assert_eq!(own, newer);
}

#[test]
fn llama3_rope_scaling_equals_the_stock_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(LLAMA);
    config["rope_theta"] = json!(50.0);
    config["rope_scaling"] = json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    });
    write_folder(folder.path(), &config, &weights(LLAMA));
    let mut loaded = load(folder.path()).unwrap();
    let ours = loaded.model.forward(&TOKENS, 0).unwrap();
    assert!(distance(&ours, &stock_logits(LLAMA, &config)) < 1e-4);
    // The scaling matters at these positions.
    let plain = tempfile::tempdir().unwrap();
    config["rope_scaling"] = Value::Null;
    write_folder(plain.path(), &config, &weights(LLAMA));
    let unscaled = load(plain.path())
        .unwrap()
        .model
        .forward(&TOKENS, 0)
        .unwrap();
    assert!(distance(&ours, &unscaled) > 1e-3);
}

/// The factors for texts within the trained context, to which the context is cut.
#[test]
fn factors_of_long_contexts_equal_the_stock_model() {
    let mut stretched = config(PHI3);
    let factors: Vec<f64> = (0..PHI3.head_dim / 2)
        .map(|i| 1.0 + 0.5 * i as f64)
        .collect();
    stretched["partial_rotary_factor"] = json!(1.0);
    stretched["rope_theta"] = json!(50.0);
    stretched["max_position_embeddings"] = json!(256);
    stretched["original_max_position_embeddings"] = json!(32);
    let scaling =
        |short: &[f64]| json!({"type": "longrope", "short_factor": short, "long_factor": short});
    stretched["rope_scaling"] = scaling(&factors);
    let logits = |config: &Value, weights: &HashMap<String, Tensor>| {
        let folder = tempfile::tempdir().unwrap();
        write_folder(folder.path(), config, weights);
        let mut model = load(folder.path()).unwrap().model;
        assert_eq!(model.context_length(), 32);
        model.forward(&TOKENS, 0).unwrap()
    };
    let plain = weights(PHI3);
    let ours = logits(&stretched, &plain);

    // candle multiplies frequencies by the factors, and leaves the magnitude out.
    let mut inverse = stretched.clone();
    let inverted: Vec<f64> = factors.iter().map(|factor| 1.0 / factor).collect();
    inverse["rope_scaling"] = scaling(&inverted);
    let mut even = stretched.clone();
    even["rope_scaling"]["attention_factor"] = json!(1.0);
    let even = logits(&even, &plain);
    assert!(distance(&even, &stock_logits(PHI3, &inverse)) < 1e-4);
    assert!(distance(&even, &ours) > 1e-3);

    // Where all dimensions are turned the magnitude is as good as larger queries.
    let magnitude = (1.0 + 8.0_f64.ln() / 32.0_f64.ln()).sqrt();
    let mut larger = plain.clone();
    for (name, weight) in &mut larger {
        if name.ends_with("qkv_proj.weight") {
            let queries = HEADS * PHI3.head_dim;
            let first = (weight.narrow(0, 0, queries).unwrap() * magnitude.powi(2)).unwrap();
            let rest = weight
                .narrow(0, queries, weight.dim(0).unwrap() - queries)
                .unwrap();
            *weight = Tensor::cat(&[&first, &rest], 0).unwrap();
        }
    }
    stretched["rope_scaling"]["attention_factor"] = json!(1.0);
    assert!(distance(&ours, &logits(&stretched, &larger)) < 1e-4);
}

#[test]
fn chunks_single_tokens_and_second_tries_agree() {
    for family in ALL {
        let folder = folder(family);
        let mut model = load(folder.path()).unwrap().model;
        let at_once = model.forward(&TOKENS, 0).unwrap();
        assert_eq!(model.cached(), TOKENS.len());

        model.truncate(0);
        let mut one_by_one = Vec::new();
        for (position, token) in TOKENS.iter().enumerate() {
            one_by_one = model.forward(&[*token], position).unwrap();
        }
        assert!(distance(&at_once, &one_by_one) < 1e-4, "{}", family.name);

        // Another way from the fifth token on, taken back.
        model.forward(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 5).unwrap();
        assert_eq!(model.cached(), 15);
        model.truncate(5);
        model.forward(&TOKENS[5..9], 5).unwrap();
        let redone = model.forward(&TOKENS[9..], 9).unwrap();
        assert!(distance(&at_once, &redone) < 1e-4, "{}", family.name);
    }
}

#[test]
fn the_cache_grows_past_its_first_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(LLAMA);
    config["max_position_embeddings"] = json!(1500);
    write_folder(folder.path(), &config, &weights(LLAMA));
    let mut model = load(folder.path()).unwrap().model;
    let tokens: Vec<u32> = (0..1400).map(|i| (i * 7919) % VOCABULARY as u32).collect();
    let at_once = model.forward(&tokens, 0).unwrap();
    model.truncate(0);
    let mut pieces = Vec::new();
    for (i, piece) in tokens.chunks(100).enumerate() {
        pieces = model.forward(piece, i * 100).unwrap();
    }
    assert!(distance(&at_once, &pieces) < 1e-3);
}

#[test]
fn shards_equal_a_single_file() {
    let folder = folder(LLAMA);
    let single = load(folder.path())
        .unwrap()
        .model
        .forward(&TOKENS, 0)
        .unwrap();
    write_shards(folder.path(), &weights(LLAMA));
    let sharded = load(folder.path())
        .unwrap()
        .model
        .forward(&TOKENS, 0)
        .unwrap();
    assert_eq!(single, sharded);
}

#[test]
fn loading_tells_how_far_it_has_come() {
    let folder = folder(LLAMA);
    write_shards(folder.path(), &weights(LLAMA));
    let mut told = Vec::new();
    load_watched(folder.path(), LoadOptions::default(), &mut |progress| {
        told.push((progress.done, progress.total));
    })
    .unwrap();
    // Two shards and two layers.
    assert_eq!(told, [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]);
}

#[test]
fn half_precision_and_quantised_weights_stay_close() {
    let folder = folder(QWEN2);
    let exact = load(folder.path())
        .unwrap()
        .model
        .forward(&TOKENS, 0)
        .unwrap();
    let largest = exact.iter().fold(0.0_f32, |m, x| m.max(x.abs()));

    let options = LoadOptions::default().with_weights(WeightFormat::Q8_0);
    let mut quantised = load_with(folder.path(), options).unwrap().model;
    let quantised = quantised.forward(&TOKENS, 0).unwrap();
    let error = distance(&exact, &quantised) / largest;
    assert!(error > 0.0 && error < 0.05, "{error}");

    for (dtype, most) in [(DType::F16, 0.01), (DType::BF16, 0.08)] {
        let halves = weights(QWEN2)
            .into_iter()
            .map(|(name, t)| (name, t.to_dtype(dtype).unwrap()));
        write_folder(folder.path(), &config(QWEN2), &halves.collect());
        let half = load(folder.path())
            .unwrap()
            .model
            .forward(&TOKENS, 0)
            .unwrap();
        let error = distance(&exact, &half) / largest;
        assert!(error > 0.0 && error < most, "{dtype:?}: {error}");
    }
}

#[test]
fn end_tokens_come_from_every_file_that_names_them() {
    let folder = folder(LLAMA);
    let ends = |folder: &Path| -> Vec<u32> {
        let loaded = load(folder).unwrap();
        loaded
            .tokenizer
            .vocabulary()
            .ends()
            .iter()
            .map(|end| end.get())
            .collect()
    };
    assert_eq!(ends(folder.path()), [2]);
    std::fs::write(
        folder.path().join("generation_config.json"),
        r#"{"eos_token_id": [0, 2]}"#,
    )
    .unwrap();
    assert_eq!(ends(folder.path()), [0, 2]);
    let chat = r#"{"eos_token": {"content": "<|im_start|>"}, "chat_template": "{{ messages }}"}"#;
    std::fs::write(folder.path().join("tokenizer_config.json"), chat).unwrap();
    assert_eq!(ends(folder.path()), [0, 1, 2]);
    let templates = load(folder.path()).unwrap().chat;
    let messages = [serde_json::json!({"role": "user"})];
    let rendered = templates.apply(&tokenmold::chat::Chat::new(&messages));
    assert_eq!(rendered.unwrap().text, "[{'role': 'user'}]");
}

/// What a person reads when loading fails.
#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let mut lines = Vec::new();
    let mut note = |what: &str, folder: &Path, kind: ErrorKind| {
        let error = load(folder).expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        let text = error
            .to_string()
            .replace(&folder.display().to_string(), "DIR");
        lines.push(format!("{what}\n    {text}"));
    };
    let with = |change: &dyn Fn(&mut Value)| {
        let folder = folder(LLAMA);
        let mut config = config(LLAMA);
        change(&mut config);
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        folder
    };

    let empty = tempfile::tempdir().unwrap();
    note("an empty folder", empty.path(), ErrorKind::Io);
    note("no such path", &empty.path().join("nothing"), ErrorKind::Io);

    let broken = folder(LLAMA);
    std::fs::write(broken.path().join("config.json"), "{").unwrap();
    note(
        "a configuration that is not JSON",
        broken.path(),
        ErrorKind::Config,
    );
    let unknown = with(&|config| config["model_type"] = json!("mamba"));
    note("an unknown architecture", unknown.path(), ErrorKind::Config);
    let lacking = with(&|config| {
        config.as_object_mut().unwrap().remove("rms_norm_eps");
    });
    note("a missing value", lacking.path(), ErrorKind::Config);
    let huge = with(&|config| config["hidden_size"] = json!(1_u64 << 60));
    note("a value out of range", huge.path(), ErrorKind::Config);
    let uneven = with(&|config| config["num_key_value_heads"] = json!(3));
    note("heads that do not divide", uneven.path(), ErrorKind::Config);
    let rope = with(&|config| config["rope_scaling"] = json!({"rope_type": "yarn", "factor": 4}));
    note("another rope", rope.path(), ErrorKind::Config);
    let long = with(&|config| {
        config["model_type"] = json!("phi3");
        config["rope_scaling"] = json!({"type": "longrope", "short_factor": [], "long_factor": []});
    });
    note("a long-context Phi", long.path(), ErrorKind::Config);
    let mixed = with(&|config| {
        config["model_type"] = json!("gemma3_text");
        config["hidden_act"] = json!("gelu");
        config["layer_types"] = json!(["full_attention", "sliding_attention"]);
    });
    note("layers in another order", mixed.path(), ErrorKind::Config);
    let windowed = with(&|config| config["use_sliding_window"] = json!(true));
    note("windows of a Llama", windowed.path(), ErrorKind::Config);
    let layered = with(&|config| {
        config["model_type"] = json!("qwen3");
        config["use_sliding_window"] = json!(true);
        config["max_window_layers"] = json!(1);
        config["layer_types"] = json!(["sliding_attention", "full_attention"]);
    });
    note("layers that contradict", layered.path(), ErrorKind::Config);
    let activation = with(&|config| config["hidden_act"] = json!("gelu"));
    note("another activation", activation.path(), ErrorKind::Config);
    let wide = with(&|config| config["intermediate_size"] = json!(INNER + 1));
    note("a tensor of another shape", wide.path(), ErrorKind::Weights);
    let deep = with(&|config| config["num_hidden_layers"] = json!(LAYERS + 1));
    note("a missing tensor", deep.path(), ErrorKind::Weights);
    let narrow = with(&|config| config["vocab_size"] = json!(1000));
    note(
        "fewer logits than tokens",
        narrow.path(),
        ErrorKind::VocabularyMismatch,
    );

    let no_weights = folder(LLAMA);
    std::fs::remove_file(no_weights.path().join("model.safetensors")).unwrap();
    note("no weights", no_weights.path(), ErrorKind::Weights);
    let garbage = folder(LLAMA);
    std::fs::write(garbage.path().join("model.safetensors"), "not weights").unwrap();
    note("weights that are none", garbage.path(), ErrorKind::Weights);
    let sharded = folder(LLAMA);
    write_shards(sharded.path(), &weights(LLAMA));
    std::fs::remove_file(sharded.path().join("model-00002-of-00002.safetensors")).unwrap();
    note("a missing shard", sharded.path(), ErrorKind::Weights);
    let outside = folder(LLAMA);
    std::fs::remove_file(outside.path().join("model.safetensors")).unwrap();
    let index = r#"{"weight_map": {"lm_head.weight": "../elsewhere.safetensors"}}"#;
    std::fs::write(outside.path().join("model.safetensors.index.json"), index).unwrap();
    note(
        "a shard outside the folder",
        outside.path(),
        ErrorKind::Weights,
    );
    let words = folder(LLAMA);
    let word_level = json!({"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}});
    std::fs::write(words.path().join("tokenizer.json"), word_level.to_string()).unwrap();
    note(
        "a tokenizer of another kind",
        words.path(),
        ErrorKind::Tokenizer,
    );
    let gguf = folder(LLAMA);
    let file = gguf.path().join("model.gguf");
    std::fs::write(&file, "GGUF, not really").unwrap();
    note("a GGUF file that is none", &file, ErrorKind::Weights);

    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn requests_that_do_not_fit_are_refused_and_change_nothing() {
    let folder = folder(LLAMA);
    let mut model = load(folder.path()).unwrap().model;
    model.forward(&TOKENS, 0).unwrap();
    let mut kind = |tokens: &[u32], position: usize| {
        let error = model.forward(tokens, position).unwrap_err();
        assert_eq!(model.cached(), TOKENS.len());
        (error.kind(), error.to_string())
    };
    assert_eq!(kind(&[], 3).0, ErrorKind::Model);
    assert_eq!(kind(&[1], 13).0, ErrorKind::Model);
    assert_eq!(
        kind(&[VOCABULARY as u32], 12).0,
        ErrorKind::VocabularyMismatch
    );
    let (kind, message) = kind(&[1; 60], 12);
    assert_eq!(kind, ErrorKind::ContextLength);
    assert_eq!(
        message,
        "72 tokens are more than the 64 of the model's context"
    );
}
