//! The training loop.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use candle_core::{Device, Tensor};
use serde_json::json;
use tokenizers::Tokenizer;

use crate::AnyError;
use crate::adam::AdamW;
use crate::bpe;
use crate::net::{self, Batch, Net};
use crate::text::{Names, Writer};

/// How to train. The defaults are those of the weights in the repository.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Steps of the optimiser.
    #[arg(long, default_value_t = 2800)]
    steps: usize,
    /// How many of the last steps lower the learning rate to nothing.
    #[arg(long, default_value_t = 600)]
    decay: usize,
    /// The learning rate after warming up.
    #[arg(long, default_value_t = 2e-3)]
    rate: f32,
    /// Rows of one step; each half is computed by a thread of its own.
    #[arg(long, default_value_t = 8)]
    rows: usize,
    /// Tokens of a row.
    #[arg(long, default_value_t = 256)]
    time: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the model goes.
    #[arg(long, default_value = "crates/runtime/model")]
    out: PathBuf,
    /// Where the loss curve goes.
    #[arg(long, default_value = "docs")]
    docs: PathBuf,
    /// Where to keep the state of the run every 200 steps, and to take it up again from.
    #[arg(long)]
    checkpoint: Option<PathBuf>,
}

const WARMUP: usize = 100;
const CLIP: f32 = 1.0;
/// What a token of a prompt counts, one of an answer counting 1.
const PROMPT_WEIGHT: f32 = 0.15;
/// A thread each; fixed, so that sums do not depend on the machine.
const SHARDS: usize = 2;

impl Options {
    /// Warm up, hold, then fall in a straight line: a run can be lengthened
    /// before its fall without being another run.
    fn rate_at(&self, step: usize) -> f32 {
        let up = ((step + 1) as f32 / WARMUP as f32).min(1.0);
        let left = self.steps.saturating_sub(step) as f32 / self.decay.max(1) as f32;
        self.rate * up * left.min(1.0)
    }
}

/// Packs whole conversations into rows. Loss is asked for on answers, and a
/// little on prompts: schemas repeat their keys, which teaches copying too.
fn batch(
    options: &Options,
    tokenizer: &Tokenizer,
    step: usize,
    shard: usize,
) -> Result<Batch, AnyError> {
    let rows = options.rows / SHARDS;
    let stream = (step * SHARDS + shard) as u64;
    let mut writer = Writer::new(options.seed, stream, Names::Training);
    // Copying first: most examples at the start, one in twenty from step 600 on.
    let copying = if step < 600 { 65 - step / 10 } else { 5 };
    let mut batch = Batch {
        rows,
        time: options.time,
        tokens: Vec::new(),
        starts: Vec::new(),
        positions: Vec::new(),
        targets: Vec::new(),
        weights: Vec::new(),
    };
    let encode = |text: &str| -> Result<Vec<u32>, AnyError> {
        Ok(tokenizer.encode_fast(text, false)?.get_ids().to_vec())
    };
    let mut pending = None;
    for row in 0..rows {
        let base = row * options.time;
        loop {
            let (prompt, answer) = match pending.take() {
                Some(document) => document,
                None => {
                    let example = writer.example(copying);
                    let prompt = encode(&example.prompt())?;
                    let answer = encode(&format!("{}<|im_end|>", example.answer))?;
                    if prompt.len() + answer.len() > options.time {
                        continue;
                    }
                    (prompt, answer)
                }
            };
            let start = batch.tokens.len() - base;
            let length = prompt.len() + answer.len();
            if start + length > options.time {
                pending = Some((prompt, answer));
                break;
            }
            let tokens: Vec<u32> = prompt.iter().chain(&answer).copied().collect();
            for (i, target) in tokens.iter().enumerate().skip(1) {
                batch.positions.push((base + start + i - 1) as u32);
                batch.targets.push(*target);
                let weight = if i >= prompt.len() {
                    1.0
                } else {
                    PROMPT_WEIGHT
                };
                batch.weights.push(weight);
            }
            batch.tokens.extend(tokens);
            batch.starts.extend(std::iter::repeat_n(start, length));
        }
        // What is left of the row is padding that nothing looks at.
        while batch.tokens.len() < base + options.time {
            batch.starts.push(batch.tokens.len() - base);
            batch.tokens.push(0);
        }
    }
    Ok(batch)
}

type Gradients = BTreeMap<String, Vec<f32>>;

/// What one shard adds to a step.
struct Share {
    /// Summed loss of the answers' tokens.
    loss: f32,
    answers: usize,
    /// Sum of all weights, by which the gradient is to be divided.
    weight: f32,
    gradients: Gradients,
}

/// The loss and gradient of one shard.
fn shard(
    options: &Options,
    tokenizer: &Tokenizer,
    net: &Net,
    step: usize,
    shard: usize,
) -> Result<Share, AnyError> {
    let batch = batch(options, tokenizer, step, shard)?;
    let loss = net.loss(&batch)?;
    let grads = loss.get(0)?.backward()?;
    let mut gradients = BTreeMap::new();
    for (name, var) in &net.weights {
        let gradient = match grads.get(var) {
            Some(gradient) => gradient.flatten_all()?.to_vec1()?,
            None => vec![0.0; var.elem_count()],
        };
        gradients.insert(name.clone(), gradient);
    }
    Ok(Share {
        loss: loss.to_vec1()?[1],
        answers: batch.weights.iter().filter(|w| **w == 1.0).count(),
        weight: batch.weights.iter().sum(),
        gradients,
    })
}

pub(crate) fn train(options: &Options) -> Result<(), AnyError> {
    std::fs::create_dir_all(&options.out)?;
    let tokenizer = bpe::train(options.seed, 20_000, net::VOCABULARY)?;
    tokenizer.save(options.out.join("tokenizer.json"), false)?;
    write_configuration(&options.out)?;

    let net = Net::new(options.seed)?;
    let mut adam = AdamW::default();
    let mut curve: Vec<(usize, f32)> = Vec::new();
    if let Some(folder) = &options.checkpoint {
        std::fs::create_dir_all(folder)?;
        if folder.join("state.safetensors").exists() {
            curve = restore(folder, &net, &mut adam)?;
            println!("taken up at step {}", adam.step);
        }
    }
    let began = Instant::now();
    let from = adam.step;
    let mut tokens = 0;
    let mut since = (0.0, 0);
    for step in from..options.steps {
        let results: Vec<_> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..SHARDS)
                .map(|index| {
                    let (net, tokenizer) = (&net, &tokenizer);
                    scope.spawn(move || shard(options, tokenizer, net, step, index))
                })
                .collect();
            handles.into_iter().map(|handle| handle.join()).collect()
        });
        let mut sum: Option<Gradients> = None;
        let (mut loss, mut count, mut weight) = (0.0, 0, 0.0);
        for result in results {
            let share: Share = result.map_err(|_| "a training thread panicked")??;
            loss += share.loss;
            count += share.answers;
            weight += share.weight;
            match &mut sum {
                None => sum = Some(share.gradients),
                Some(sum) => {
                    for (name, gradient) in share.gradients {
                        if let Some(sum) = sum.get_mut(&name) {
                            sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += g);
                        }
                    }
                }
            }
        }
        let mut gradients = sum.unwrap_or_default();
        let mean = weight.recip();
        gradients.values_mut().flatten().for_each(|g| *g *= mean);
        let norm = adam.step(&net.weights, &gradients, options.rate_at(step), CLIP)?;
        tokens += options.rows * options.time;
        since = (since.0 + loss, since.1 + count);
        if (step + 1) % 20 == 0 || step + 1 == options.steps {
            let mean = since.0 / since.1 as f32;
            since = (0.0, 0);
            curve.push((step + 1, mean));
            println!(
                "step {:5}  loss {mean:.4}  norm {norm:.2}  {:.0} tokens/s  {:.0} s",
                step + 1,
                tokens as f64 / began.elapsed().as_secs_f64(),
                began.elapsed().as_secs_f64()
            );
        }
        if let Some(folder) = &options.checkpoint
            && (step + 1) % 200 == 0
        {
            save(folder, &net, &adam, &curve)?;
        }
    }
    candle_core::safetensors::save(&net.halves()?, options.out.join("model.safetensors"))?;
    std::fs::create_dir_all(&options.docs)?;
    std::fs::write(options.docs.join("tiny-model-loss.csv"), csv(&curve))?;
    std::fs::write(options.docs.join("tiny-model-loss.svg"), svg(&curve))?;
    Ok(())
}

fn save(folder: &Path, net: &Net, adam: &AdamW, curve: &[(usize, f32)]) -> Result<(), AnyError> {
    let mut state = HashMap::new();
    for (name, var) in &net.weights {
        let (m, v) = &adam.moments[name];
        state.insert(name.clone(), var.as_tensor().clone());
        state.insert(
            format!("m.{name}"),
            Tensor::from_slice(m, m.len(), &Device::Cpu)?,
        );
        state.insert(
            format!("v.{name}"),
            Tensor::from_slice(v, v.len(), &Device::Cpu)?,
        );
    }
    candle_core::safetensors::save(&state, folder.join("state.new"))?;
    candle_core::safetensors::save(&net.halves()?, folder.join("model.safetensors"))?;
    std::fs::write(folder.join("curve.csv"), csv(curve))?;
    std::fs::write(folder.join("step"), adam.step.to_string())?;
    std::fs::rename(folder.join("state.new"), folder.join("state.safetensors"))?;
    Ok(())
}

fn restore(folder: &Path, net: &Net, adam: &mut AdamW) -> Result<Vec<(usize, f32)>, AnyError> {
    let state = candle_core::safetensors::load(folder.join("state.safetensors"), &Device::Cpu)?;
    let get = |name: String| {
        state
            .get(&name)
            .ok_or(format!("the checkpoint lacks {name}"))
    };
    for (name, var) in &net.weights {
        var.set(get(name.clone())?)?;
        let m = get(format!("m.{name}"))?.to_vec1()?;
        let v = get(format!("v.{name}"))?.to_vec1()?;
        adam.moments.insert(name.clone(), (m, v));
    }
    adam.step = std::fs::read_to_string(folder.join("step"))?
        .trim()
        .parse()?;
    let mut curve = Vec::new();
    for line in std::fs::read_to_string(folder.join("curve.csv"))?
        .lines()
        .skip(1)
    {
        if let Some((step, loss)) = line.split_once(',') {
            curve.push((step.parse()?, loss.parse()?));
        }
    }
    Ok(curve)
}

fn write_configuration(out: &Path) -> Result<(), AnyError> {
    let [end_of_text, _, end_of_turn] = [0, 1, 2];
    let config = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": net::WIDTH,
        "intermediate_size": net::INNER,
        "num_hidden_layers": net::LAYERS,
        "num_attention_heads": net::HEADS,
        "num_key_value_heads": net::HEADS,
        "max_position_embeddings": net::CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": net::THETA,
        "tie_word_embeddings": true,
        "vocab_size": net::VOCABULARY,
        "bos_token_id": null,
        "eos_token_id": end_of_turn,
        "torch_dtype": "float16",
    });
    let generation =
        json!({"eos_token_id": [end_of_turn, end_of_text], "pad_token_id": end_of_text});
    let template = concat!(
        "{% for message in messages %}<|im_start|>{{ message.role }}\n",
        "{{ message.content }}<|im_end|>\n{% endfor %}",
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    );
    let tokenizer = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": net::CONTEXT,
        "eos_token": bpe::SPECIAL[2],
        "pad_token": bpe::SPECIAL[0],
        "chat_template": template,
        "clean_up_tokenization_spaces": false,
    });
    for (name, value) in [
        ("config.json", config),
        ("generation_config.json", generation),
        ("tokenizer_config.json", tokenizer),
    ] {
        std::fs::write(out.join(name), format!("{value:#}\n"))?;
    }
    Ok(())
}

fn csv(curve: &[(usize, f32)]) -> String {
    let mut text = String::from("step,loss\n");
    for (step, loss) in curve {
        let _ = writeln!(text, "{step},{loss:.5}");
    }
    text
}

/// The loss over the steps as a drawing; the loss axis is logarithmic.
fn svg(curve: &[(usize, f32)]) -> String {
    let (width, height, left, bottom) = (720.0, 320.0, 48.0, 32.0);
    let steps = curve.last().map_or(1, |(step, _)| *step) as f32;
    let low = curve
        .iter()
        .map(|(_, loss)| *loss)
        .fold(f32::INFINITY, f32::min)
        .max(1e-3)
        .ln();
    let high = curve
        .iter()
        .map(|(_, loss)| *loss)
        .fold(1e-2, f32::max)
        .ln();
    let x = |step: f32| left + step / steps * (width - left - 12.0);
    let y =
        |loss: f32| 12.0 + (high - loss.ln()) / (high - low).max(1e-3) * (height - bottom - 12.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for loss in [5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01] {
        let at = y(loss);
        if at < 0.0 || at > height - bottom + 1.0 {
            continue;
        }
        let _ = writeln!(
            text,
            "<path d=\"M{left} {at:.1}H{:.0}\" stroke=\"#ddd\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{loss}</text>",
            width - 12.0,
            left - 6.0,
            at + 4.0
        );
    }
    for quarter in 0..=4_u8 {
        let step = steps * f32::from(quarter) / 4.0;
        let _ = writeln!(
            text,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{step:.0}</text>",
            x(step),
            height - bottom + 18.0
        );
    }
    let points: Vec<String> = curve
        .iter()
        .map(|(step, loss)| format!("{:.1},{:.1}", x(*step as f32), y(*loss)))
        .collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"1.5\"/>\n<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">step</text>\n<text x=\"{left}\" y=\"10\">loss of an answer's token (natural logarithm)</text>\n</svg>",
        points.join(" "),
        width / 2.0,
        height - 2.0
    );
    text
}
