//! Operations fused for training on the CPU, each with its gradient: candle's
//! own fused rope, rms-norm and softmax carry none, and spelling them in plain
//! operations spends most of a step in memory traffic.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Storage, Tensor, bail};

/// Runs `f` over the contiguous f32 values of a tensor.
fn with_values<T>(tensor: &Tensor, f: impl FnOnce(&[f32]) -> Result<T>) -> Result<T> {
    let tensor = tensor.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => f(values(storage, layout)?),
        _ => bail!("training runs on the CPU"),
    }
}

fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let all = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&all[from..to]),
        None => bail!("a fused operation wants contiguous values"),
    }
}

fn like(tensor: &Tensor, values: Vec<f32>) -> Result<Tensor> {
    Tensor::from_vec(values, tensor.shape(), tensor.device())
}

/// `x / rms(x) * weight` over the last dimension.
pub(crate) struct RmsNorm {
    pub(crate) eps: f32,
}

impl RmsNorm {
    fn scale(&self, row: &[f32]) -> f32 {
        let mean = row.iter().map(|x| x * x).sum::<f32>() / row.len() as f32;
        (mean + self.eps).sqrt().recip()
    }
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight) = (values(s1, l1)?, values(s2, l2)?);
        let mut out = Vec::with_capacity(x.len());
        for row in x.chunks_exact(weight.len()) {
            let scale = self.scale(row);
            out.extend(row.iter().zip(weight).map(|(x, w)| x * scale * w));
        }
        Ok((CpuStorage::F32(out), l1.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let n = weight.elem_count();
        let mut dw = vec![0_f32; n];
        let dx = with_values(x, |x| {
            with_values(weight, |w| {
                with_values(grad, |grad| {
                    let mut dx = Vec::with_capacity(x.len());
                    for (x, g) in x.chunks_exact(n).zip(grad.chunks_exact(n)) {
                        let scale = self.scale(x);
                        let mut dot = 0_f32;
                        for i in 0..n {
                            dot += g[i] * w[i] * x[i];
                            dw[i] += g[i] * x[i] * scale;
                        }
                        let pull = dot * scale * scale * scale / n as f32;
                        dx.extend((0..n).map(|i| g[i] * w[i] * scale - x[i] * pull));
                    }
                    Ok(dx)
                })
            })
        })?;
        Ok((Some(like(x, dx)?), Some(like(weight, dw)?)))
    }
}

/// `silu(gate) * up`.
pub(crate) struct SwiGlu;

impl CustomOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (gate, up) = (values(s1, l1)?, values(s2, l2)?);
        let out = gate.iter().zip(up).map(|(g, u)| g / (1. + exp(-g)) * u);
        Ok((CpuStorage::F32(out.collect()), l1.shape().clone()))
    }

    fn bwd(
        &self,
        gate: &Tensor,
        up: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (dgate, dup) = with_values(gate, |gate| {
            with_values(up, |up| {
                with_values(grad, |grad| {
                    let mut dgate = vec![0_f32; gate.len()];
                    let mut dup = vec![0_f32; gate.len()];
                    for i in 0..gate.len() {
                        let sigmoid = 1. / (1. + exp(-gate[i]));
                        let silu = gate[i] * sigmoid;
                        dup[i] = grad[i] * silu;
                        dgate[i] = grad[i] * up[i] * (sigmoid + silu * (1. - sigmoid));
                    }
                    Ok((dgate, dup))
                })
            })
        })?;
        Ok((Some(like(gate, dgate)?), Some(like(up, dup)?)))
    }
}

/// `e^x` to about 2e-7 relative, in a form that the compiler vectorises.
fn exp(x: f32) -> f32 {
    let x = x.clamp(-87., 88.) * std::f32::consts::LOG2_E;
    // Adding 1.5 * 2^23 rounds to a whole number that then stands in the low bits.
    let shifted = x + 12_582_912.;
    let f = x - (shifted - 12_582_912.);
    let p = 1.0
        + f * (std::f32::consts::LN_2
            + f * (0.240_226_5
                + f * (0.055_504_11
                    + f * (0.009_618_129 + f * (0.001_333_355_8 + f * 0.000_154_035_3)))));
    let whole = shifted.to_bits().wrapping_sub(0x4b40_0000);
    f32::from_bits(whole.wrapping_add(127) << 23) * p
}

/// Rotary embedding of `[batch, time, heads * width]`, returned as
/// `[batch, heads, time, width]`; halves are paired as the Llama weights of
/// Hugging Face pair them.
#[derive(Clone)]
pub(crate) struct Rope {
    pub(crate) heads: usize,
    pub(crate) width: usize,
    pub(crate) time: usize,
    /// `[time, width / 2]` each.
    pub(crate) cos: Arc<Vec<f32>>,
    pub(crate) sin: Arc<Vec<f32>>,
    /// The gradient: rotate back, and exchange the dimensions back.
    pub(crate) inverse: bool,
}

impl CustomOp1 for Rope {
    fn name(&self) -> &'static str {
        "rope"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = values(storage, layout)?;
        let (heads, width, time) = (self.heads, self.width, self.time);
        let batch = x.len() / (heads * width * time);
        let half = width / 2;
        let mut out = vec![0_f32; x.len()];
        for b in 0..batch {
            for t in 0..time {
                let (cos, sin) = (&self.cos[t * half..][..half], &self.sin[t * half..][..half]);
                for h in 0..heads {
                    let split = ((b * time + t) * heads + h) * width;
                    let joined = ((b * heads + h) * time + t) * width;
                    let (from, to) = if self.inverse {
                        (joined, split)
                    } else {
                        (split, joined)
                    };
                    let (x1, x2) = x[from..from + width].split_at(half);
                    let (y1, y2) = out[to..to + width].split_at_mut(half);
                    for i in 0..half {
                        let sin = if self.inverse { -sin[i] } else { sin[i] };
                        y1[i] = x1[i] * cos[i] - x2[i] * sin;
                        y2[i] = x1[i] * sin + x2[i] * cos[i];
                    }
                }
            }
        }
        let shape = if self.inverse {
            Shape::from((batch, time, heads * width))
        } else {
            Shape::from((batch, heads, time, width))
        };
        Ok((CpuStorage::F32(out), shape))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let back = Self {
            inverse: true,
            ..self.clone()
        };
        Ok(Some(grad.contiguous()?.apply_op1_no_bwd(&back)?))
    }
}

/// Softmax of `scale * scores` over what a position may see: from the start of
/// its own document up to itself. Scores are `[batch, heads, time, time]`.
pub(crate) struct CausalSoftmax {
    pub(crate) scale: f32,
    pub(crate) heads: usize,
    pub(crate) time: usize,
    /// For each `[batch, time]` the position where its document starts.
    pub(crate) starts: Arc<Vec<usize>>,
}

impl CausalSoftmax {
    fn window(&self, row: usize) -> (usize, usize) {
        let t = row % self.time;
        let batch = row / self.time / self.heads;
        (self.starts[batch * self.time + t], t + 1)
    }
}

impl CustomOp1 for CausalSoftmax {
    fn name(&self) -> &'static str {
        "causal-softmax"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let scores = values(storage, layout)?;
        let mut out = vec![0_f32; scores.len()];
        let rows = scores
            .chunks_exact(self.time)
            .zip(out.chunks_exact_mut(self.time));
        for (row, (x, y)) in rows.enumerate() {
            let (from, to) = self.window(row);
            let (x, y) = (&x[from..to], &mut y[from..to]);
            let max = x.iter().fold(f32::NEG_INFINITY, |m, x| m.max(*x));
            let mut sum = 0_f32;
            for (x, y) in x.iter().zip(y.iter_mut()) {
                *y = exp((x - max) * self.scale);
            }
            for y in y.iter() {
                sum += y;
            }
            let inverse = sum.recip();
            y.iter_mut().for_each(|y| *y *= inverse);
        }
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let dx = with_values(res, |p| {
            with_values(grad, |grad| {
                let mut dx = vec![0_f32; p.len()];
                let time = self.time;
                for row in 0..p.len() / time {
                    let (from, to) = self.window(row);
                    let (from, to) = (row * time + from, row * time + to);
                    let (p, g) = (&p[from..to], &grad[from..to]);
                    let dot: f32 = p.iter().zip(g).map(|(p, g)| p * g).sum();
                    for ((d, p), g) in dx[from..to].iter_mut().zip(p).zip(g) {
                        *d = self.scale * p * (g - dot);
                    }
                }
                Ok(dx)
            })
        })?;
        Ok(Some(like(res, dx)?))
    }
}

/// The cross-entropy of `[rows, vocabulary]` logits against one target each,
/// as two sums: weighted, and over the rows of weight 1 alone. Only the first
/// carries a gradient.
pub(crate) struct CrossEntropy {
    pub(crate) targets: Arc<Vec<u32>>,
    pub(crate) weights: Arc<Vec<f32>>,
}

impl CustomOp1 for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let logits = values(storage, layout)?;
        let width = logits.len() / self.targets.len();
        let (mut weighted, mut full) = (0_f64, 0_f64);
        let rows = logits.chunks_exact(width).zip(self.targets.iter());
        for ((row, target), weight) in rows.zip(self.weights.iter()) {
            let max = row.iter().fold(f32::NEG_INFINITY, |m, x| m.max(*x));
            let sum: f32 = row.iter().map(|x| exp(x - max)).sum();
            let loss = f64::from(sum.ln() + max - row[*target as usize]);
            weighted += loss * f64::from(*weight);
            full += if *weight == 1.0 { loss } else { 0.0 };
        }
        let sums = vec![weighted as f32, full as f32];
        Ok((CpuStorage::F32(sums), Shape::from(2)))
    }

    fn bwd(&self, logits: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let grad = grad.to_vec1::<f32>()?[0];
        let dx = with_values(logits, |logits| {
            let width = logits.len() / self.targets.len();
            let mut dx = Vec::with_capacity(logits.len());
            let rows = logits.chunks_exact(width).zip(self.targets.iter());
            for ((row, target), weight) in rows.zip(self.weights.iter()) {
                let start = dx.len();
                let max = row.iter().fold(f32::NEG_INFINITY, |m, x| m.max(*x));
                dx.extend(row.iter().map(|x| exp(x - max)));
                let scale = grad * weight / dx[start..].iter().sum::<f32>();
                dx[start..].iter_mut().for_each(|x| *x *= scale);
                dx[start + *target as usize] -= grad * weight;
            }
            Ok(dx)
        })?;
        Ok(Some(like(logits, dx)?))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn exp_is_close() {
        for i in -8000..8000 {
            let x = i as f32 / 100.0;
            assert!((super::exp(x) / x.exp() - 1.0).abs() < 1e-5, "{x}");
        }
    }
}
