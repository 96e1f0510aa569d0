//! The model's forward pass for training, over the weights' names and shapes
//! that Hugging Face gives a Llama.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::ops::{CausalSoftmax, CrossEntropy, RmsNorm, Rope, SwiGlu};

pub(crate) const LAYERS: usize = 4;
pub(crate) const WIDTH: usize = 192;
pub(crate) const HEADS: usize = 6;
pub(crate) const INNER: usize = 512;
pub(crate) const VOCABULARY: usize = 1024;
pub(crate) const CONTEXT: usize = 512;
pub(crate) const THETA: f32 = 10_000.0;
/// Written to `config.json` as well.
pub(crate) const EPS: f32 = 1e-5;

/// The weights by name.
pub(crate) struct Net {
    pub(crate) weights: BTreeMap<String, Var>,
}

/// Rows of packed documents: what goes in, where its documents start, and
/// which positions are to predict which token.
pub(crate) struct Batch {
    pub(crate) rows: usize,
    pub(crate) time: usize,
    pub(crate) tokens: Vec<u32>,
    pub(crate) starts: Vec<usize>,
    /// Flat positions with a loss, and the token that follows each.
    pub(crate) positions: Vec<u32>,
    pub(crate) targets: Vec<u32>,
    /// What each counts: 1 in answers, less in prompts.
    pub(crate) weights: Vec<f32>,
}

/// Names, shapes and the spread of the first values.
fn shapes() -> Vec<(String, Vec<usize>, f32)> {
    let spread = (WIDTH as f32).powf(-0.5);
    let into_residual = spread / (2.0 * LAYERS as f32).sqrt();
    let mut shapes = vec![
        (
            "model.embed_tokens.weight".to_owned(),
            vec![VOCABULARY, WIDTH],
            0.05,
        ),
        ("model.norm.weight".to_owned(), vec![WIDTH], 0.0),
    ];
    for layer in 0..LAYERS {
        let mut add = |name: &str, shape: &[usize], spread: f32| {
            shapes.push((
                format!("model.layers.{layer}.{name}.weight"),
                shape.to_vec(),
                spread,
            ));
        };
        add("input_layernorm", &[WIDTH], 0.0);
        add("post_attention_layernorm", &[WIDTH], 0.0);
        for name in ["q_proj", "k_proj", "v_proj"] {
            add(&format!("self_attn.{name}"), &[WIDTH, WIDTH], spread);
        }
        add("self_attn.o_proj", &[WIDTH, WIDTH], into_residual);
        add("mlp.gate_proj", &[INNER, WIDTH], spread);
        add("mlp.up_proj", &[INNER, WIDTH], spread);
        add("mlp.down_proj", &[WIDTH, INNER], into_residual);
    }
    shapes
}

impl Net {
    /// Fresh weights: normal values for matrices, ones for norms.
    pub(crate) fn new(seed: u64) -> Result<Self> {
        let mut weights = BTreeMap::new();
        for (stream, (name, shape, spread)) in shapes().into_iter().enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(1_000_000 + stream as u64);
            let count = shape.iter().product();
            let values = if spread == 0.0 {
                vec![1.0; count]
            } else {
                (0..count).map(|_| normal(&mut rng) * spread).collect()
            };
            let tensor = Tensor::from_vec(values, shape, &Device::Cpu)?;
            weights.insert(name, Var::from_tensor(&tensor)?);
        }
        let net = Self { weights };
        net.look_back()?;
        Ok(net)
    }

    fn get(&self, name: &str) -> &Tensor {
        self.weights[name].as_tensor()
    }

    /// Gives the first layer's heads 0, 1 and 2 a view of the token one, two
    /// and three places back, whatever the tokens are.
    ///
    /// Copying needs two layers that work together: one that tells a position
    /// what stood before it, one that finds the position whose predecessor is
    /// the token at hand (Olsson et al., 2022, "In-context learning and
    /// induction heads", <https://arxiv.org/abs/2209.11895>). Neither is of
    /// use alone, so training takes long to find both; with the first given it
    /// finds the second soon.
    ///
    /// All embeddings get the same first value, which the norm turns into a
    /// constant; queries and keys are made of that constant. With a query of 1
    /// and a key turned ahead by `d` places at every frequency, the rotary
    /// score is the sum of `cos(w (distance - d))`: largest at distance `d`.
    fn look_back(&self) -> Result<()> {
        const CONSTANT: f32 = 0.5;
        const SHARPNESS: f32 = 0.8;
        let edit = |name: &str, change: &mut dyn FnMut(&mut [f32])| {
            let var = &self.weights[name];
            let mut values = var.flatten_all()?.to_vec1::<f32>()?;
            change(&mut values);
            var.set(&Tensor::from_vec(values, var.shape(), &Device::Cpu)?)
        };
        edit("model.embed_tokens.weight", &mut |values| {
            values
                .iter_mut()
                .step_by(WIDTH)
                .for_each(|value| *value = CONSTANT);
        })?;
        let head = WIDTH / HEADS;
        let rows = |values: &mut [f32], row_at: &dyn Fn(usize, usize, f32) -> f32| {
            for distance in 1..=3 {
                let first = (distance - 1) * head;
                for row in 0..head {
                    let pair = row % (head / 2);
                    let frequency = THETA.powf(-2.0 * pair as f32 / head as f32);
                    let row_values = &mut values[(first + row) * WIDTH..][..WIDTH];
                    row_values.iter_mut().for_each(|value| *value *= 0.1);
                    let half = row / (head / 2);
                    row_values[0] = SHARPNESS * row_at(half, distance, frequency);
                }
            }
        };
        edit("model.layers.0.self_attn.q_proj.weight", &mut |values| {
            rows(values, &|half, _, _| if half == 0 { 1.0 } else { 0.0 });
        })?;
        edit("model.layers.0.self_attn.k_proj.weight", &mut |values| {
            rows(values, &|half, distance, frequency| {
                let angle = distance as f32 * frequency;
                if half == 0 { angle.cos() } else { angle.sin() }
            });
        })
    }

    /// The summed losses over the batch's positions: weighted, which has the
    /// gradient, and that of answers alone.
    pub(crate) fn loss(&self, batch: &Batch) -> Result<Tensor> {
        let (rows, time) = (batch.rows, batch.time);
        let head = WIDTH / HEADS;
        let half = head / 2;
        let angles = (0..time).flat_map(|t| {
            (0..half).map(move |i| t as f32 / THETA.powf(2.0 * i as f32 / head as f32))
        });
        let angles: Vec<f32> = angles.collect();
        let rope = Rope {
            heads: HEADS,
            width: head,
            time,
            cos: Arc::new(angles.iter().map(|a| a.cos()).collect()),
            sin: Arc::new(angles.iter().map(|a| a.sin()).collect()),
            inverse: false,
        };
        let starts = Arc::new(batch.starts.clone());
        let tokens = Tensor::from_slice(&batch.tokens, rows * time, &Device::Cpu)?;
        let embedding = self.get("model.embed_tokens.weight");
        let mut x = embedding.index_select(&tokens, 0)?;
        let linear = |x: &Tensor, name: String| x.matmul(&self.get(&name).t()?);
        for layer in 0..LAYERS {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            let norm = x.apply_op2(self.get(&name("input_layernorm")), RmsNorm { eps: EPS })?;
            let heads = |part: &str| linear(&norm, name(part))?.reshape((rows, time, WIDTH));
            let q = heads("self_attn.q_proj")?.apply_op1(rope.clone())?;
            let k = heads("self_attn.k_proj")?.apply_op1(rope.clone())?;
            let v = heads("self_attn.v_proj")?
                .reshape((rows, time, HEADS, head))?
                .transpose(1, 2)?
                .contiguous()?;
            let scores = q.matmul(&k.t()?)?;
            let softmax = CausalSoftmax {
                scale: (head as f32).sqrt().recip(),
                heads: HEADS,
                time,
                starts: starts.clone(),
            };
            let mixed = scores
                .apply_op1(softmax)?
                .matmul(&v)?
                .transpose(1, 2)?
                .contiguous()?
                .reshape((rows * time, WIDTH))?;
            x = (x + linear(&mixed, name("self_attn.o_proj"))?)?;
            let norm = x.apply_op2(
                self.get(&name("post_attention_layernorm")),
                RmsNorm { eps: EPS },
            )?;
            let gate = linear(&norm, name("mlp.gate_proj"))?;
            let up = linear(&norm, name("mlp.up_proj"))?;
            let inner = gate.apply_op2(&up, SwiGlu)?;
            x = (x + linear(&inner, name("mlp.down_proj"))?)?;
        }
        let positions = Tensor::from_slice(&batch.positions, batch.positions.len(), &Device::Cpu)?;
        let x = x
            .index_select(&positions, 0)?
            .apply_op2(self.get("model.norm.weight"), RmsNorm { eps: EPS })?;
        let loss = CrossEntropy {
            targets: Arc::new(batch.targets.clone()),
            weights: Arc::new(batch.weights.clone()),
        };
        x.matmul(&embedding.t()?)?.apply_op1(loss)
    }

    /// The weights as 16-bit floats, for the file.
    pub(crate) fn halves(&self) -> Result<std::collections::HashMap<String, Tensor>> {
        let halves = self.weights.iter();
        halves
            .map(|(name, var)| Ok((name.clone(), var.as_tensor().to_dtype(DType::F16)?)))
            .collect()
    }
}

/// A standard normal value, by Box and Muller.
fn normal(rng: &mut impl Rng) -> f32 {
    let mut unit = || (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
    let (a, b) = (unit(), unit());
    ((-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
}

/// The largest difference between gradients and finite differences, relative
/// to the largest gradient of the same weight.
pub(crate) fn gradient_error(seed: u64) -> Result<f32> {
    let net = Net::new(seed)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (rows, time) = (2, 24);
    let count = rows * time;
    let mut token = || rng.next_u32() % 50;
    let tokens: Vec<u32> = (0..count).map(|_| token()).collect();
    let starts = (0..count).map(|i| i % time / 10 * 10).collect();
    let positions: Vec<u32> = (0..count as u32 - 1).filter(|p| p % 3 != 0).collect();
    let targets: Vec<u32> = positions.iter().map(|_| token()).collect();
    let weights = (0..targets.len())
        .map(|i| if i % 2 == 0 { 1.0 } else { 0.3 })
        .collect();
    let batch = Batch {
        rows,
        time,
        tokens,
        starts,
        positions,
        targets,
        weights,
    };
    let grads = net.loss(&batch)?.get(0)?.backward()?;
    let mut worst = 0_f32;
    for (name, var) in &net.weights {
        let gradient = match grads.get(var) {
            Some(gradient) => gradient.flatten_all()?.to_vec1::<f32>()?,
            None => candle_core::bail!("{name} has no gradient"),
        };
        let largest = gradient.iter().fold(0_f32, |m, g| m.max(g.abs()));
        let values = var.flatten_all()?.to_vec1::<f32>()?;
        // Along the gradient itself the difference is the largest.
        let norm = gradient
            .iter()
            .map(|g| f64::from(g * g))
            .sum::<f64>()
            .sqrt() as f32;
        let step = 0.02 / norm.max(1e-6);
        let loss_at = |sign: f32| -> Result<f32> {
            let moved: Vec<f32> = values
                .iter()
                .zip(&gradient)
                .map(|(v, g)| v + sign * step * 0.1 * g)
                .collect();
            var.set(&Tensor::from_vec(moved, var.shape(), &Device::Cpu)?)?;
            Ok(net.loss(&batch)?.to_vec1::<f32>()?[0])
        };
        let difference = (loss_at(1.0)? - loss_at(-1.0)?) / (2.0 * step * 0.1);
        var.set(&Tensor::from_vec(
            values.clone(),
            var.shape(),
            &Device::Cpu,
        )?)?;
        let error = (difference / (norm * norm) - 1.0).abs();
        println!("{name:50} norm {norm:.4} largest {largest:.4} error {error:.4}");
        worst = worst.max(error);
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    #[test]
    fn gradients_equal_finite_differences() {
        let error = super::gradient_error(1).expect("the model computes");
        assert!(error < 0.01, "{error}");
    }
}
