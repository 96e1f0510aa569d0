//! Measures a step of several texts, one by one and together, and the memory of a model of random
//! weights, by the floats that it is kept in. For example, `--texts 16` prints milliseconds a token
//! for 16 texts one after another, and for all in one step.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use tokenmold::model::{Dtype, LoadOptions, Model, Reading, Transformer, load_with};
use tokenmold_benches::{program, stats};

/// Decodes texts of random tokens with a Llama of random weights, stored as
/// `bf16`, and prints milliseconds for each token, one text after another and all
/// in one step.
#[derive(Parser, Debug)]
struct Arguments {
    /// The floats that matrices are kept as: `stored`, `f32`, `f16` or `bf16`.
    #[arg(long, default_value = "stored")]
    dtype: String,

    /// Width of the hidden state.
    #[arg(long, default_value_t = 1024)]
    hidden: usize,

    /// Layers.
    #[arg(long, default_value_t = 8)]
    layers: usize,

    /// Logits.
    #[arg(long, default_value_t = 16_384)]
    vocabulary: usize,

    /// Texts side by side.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16])]
    texts: Vec<usize>,

    /// Tokens of a prompt.
    #[arg(long, default_value_t = 32)]
    prompt: usize,

    /// Steps that are measured; medians are printed.
    #[arg(long, default_value_t = 12)]
    steps: usize,
}

fn main() -> ExitCode {
    program::end("together", run(&Arguments::parse()))
}

/// A folder that goes with the process.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is in the system's place for such files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let dtype = Dtype::by_name(&arguments.dtype)
        .ok_or_else(|| format!("--dtype is one of {}", Dtype::NAMES.join(", ")))?;
    let folder = std::env::temp_dir().join(format!("tokenmold-together-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let folder = Folder(folder);
    let parameters = write_model(&folder.0, arguments).map_err(|e| e.to_string())?;
    let before = memory("VmRSS:");
    let options = LoadOptions::default().with_dtype(dtype);
    let loaded = load_with(&folder.0, options).map_err(|e| e.to_string())?;
    println!(
        "{} million weights, {}: {} MB more in memory, at most {} MB while loading",
        parameters / 1_000_000,
        arguments.dtype,
        memory("VmRSS:").saturating_sub(before) / 1024,
        memory("VmHWM:").saturating_sub(before) / 1024,
    );
    println!("texts | one by one, ms a token | together, ms a token | x");
    for &count in &arguments.texts {
        let alone = decode(&loaded.model, arguments, count, one_by_one)?;
        let together = decode(&loaded.model, arguments, count, |reads| {
            let read = Transformer::forward_together(reads);
            read.into_iter().try_for_each(|read| read.map(|_| ()))
        })?;
        println!(
            "{count:5} | {alone:22.2} | {together:20.2} | {:.2}",
            alone / together
        );
    }
    Ok(())
}

fn one_by_one(reads: &mut [Reading<'_, Transformer>]) -> Result<(), tokenmold::Error> {
    for read in reads {
        read.model.forward(read.tokens, read.position)?;
    }
    Ok(())
}

/// Milliseconds for each token, the median of the steps.
fn decode(
    model: &Transformer,
    arguments: &Arguments,
    count: usize,
    step: impl Fn(&mut [Reading<'_, Transformer>]) -> Result<(), tokenmold::Error>,
) -> Result<f64, String> {
    let width = arguments.vocabulary as u32;
    let token = |text: usize, at: usize| ((text * 7919 + at * 104_729) as u32) % width;
    let mut models: Vec<Transformer> = (0..count).map(|_| model.fork()).collect();
    for (text, model) in models.iter_mut().enumerate() {
        let prompt: Vec<u32> = (0..arguments.prompt).map(|at| token(text, at)).collect();
        model.forward(&prompt, 0).map_err(|e| e.to_string())?;
    }
    let mut times = Vec::new();
    // The first step is not counted: it makes room.
    for at in arguments.prompt..=arguments.prompt + arguments.steps {
        let tokens: Vec<[u32; 1]> = (0..count).map(|text| [token(text, at)]).collect();
        let mut reads: Vec<Reading<'_, Transformer>> = models
            .iter_mut()
            .zip(&tokens)
            .map(|(model, tokens)| Reading {
                model,
                tokens,
                position: at,
            })
            .collect();
        let began = Instant::now();
        step(&mut reads).map_err(|e| e.to_string())?;
        times.push(began.elapsed().as_secs_f64() * 1e3 / count as f64);
    }
    times.remove(0);
    Ok(stats::Summary::new(times).p50)
}

/// A line of what the system says of this process, in kB; 0 where it says nothing.
fn memory(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|l| l.strip_prefix(line));
    found
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Writes a folder with a model of random weights; how many weights it has.
fn write_model(folder: &Path, arguments: &Arguments) -> std::io::Result<usize> {
    let (hidden, inner) = (arguments.hidden, arguments.hidden * 11 / 4);
    let config = json!({
        "model_type": "llama", "hidden_act": "silu", "hidden_size": hidden,
        "intermediate_size": inner, "num_hidden_layers": arguments.layers,
        "num_attention_heads": hidden / 64, "num_key_value_heads": hidden / 64,
        "head_dim": 64, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "tie_word_embeddings": false,
        "vocab_size": arguments.vocabulary, "eos_token_id": 2,
    });
    std::fs::write(folder.join("config.json"), config.to_string())?;
    let tokenizer = include_str!("../../../crates/runtime/model/tokenizer.json");
    std::fs::write(folder.join("tokenizer.json"), tokenizer)?;
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        (
            "model.embed_tokens".to_owned(),
            vec![arguments.vocabulary, hidden],
        ),
        ("lm_head".to_owned(), vec![arguments.vocabulary, hidden]),
        ("model.norm".to_owned(), vec![hidden]),
    ];
    for layer in 0..arguments.layers {
        let mut add = |part: &str, shape: &[usize]| {
            shapes.push((format!("model.layers.{layer}.{part}"), shape.to_vec()));
        };
        add("input_layernorm", &[hidden]);
        add("post_attention_layernorm", &[hidden]);
        for part in ["q_proj", "k_proj", "v_proj", "o_proj"] {
            add(&format!("self_attn.{part}"), &[hidden, hidden]);
        }
        add("mlp.gate_proj", &[inner, hidden]);
        add("mlp.up_proj", &[inner, hidden]);
        add("mlp.down_proj", &[hidden, inner]);
    }
    let mut header = Map::new();
    let mut end = 0;
    for (name, shape) in &shapes {
        let begin = end;
        end += 2 * shape.iter().product::<usize>();
        let entry = json!({"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]});
        header.insert(format!("{name}.weight"), entry);
    }
    let header = Value::Object(header).to_string();
    let mut file = BufWriter::new(File::create(folder.join("model.safetensors"))?);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..end / 2 {
        let weight: f32 = rng.random::<f32>() * 0.06 - 0.03;
        // The upper half of a float is a `bf16`.
        file.write_all(&((weight.to_bits() >> 16) as u16).to_le_bytes())?;
    }
    file.flush()?;
    Ok(end / 2)
}
