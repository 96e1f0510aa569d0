//! AdamW (Loshchilov and Hutter, 2019, <https://arxiv.org/abs/1711.05101>)
//! whose moments can be saved, so that a run can be stopped and taken up again.

use std::collections::BTreeMap;

use candle_core::{Result, Tensor, Var};

/// First and second moments by weight.
#[derive(Default)]
pub(crate) struct AdamW {
    pub(crate) moments: BTreeMap<String, (Vec<f32>, Vec<f32>)>,
    pub(crate) step: usize,
}

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.98;
const DECAY: f32 = 0.05;

impl AdamW {
    /// One step down `gradients`, whose joint norm is first clipped to `clip`.
    /// Returns the norm before clipping. Norm weights do not decay.
    pub(crate) fn step(
        &mut self,
        weights: &BTreeMap<String, Var>,
        gradients: &BTreeMap<String, Vec<f32>>,
        rate: f32,
        clip: f32,
    ) -> Result<f32> {
        self.step += 1;
        let squares = gradients.values().flatten();
        let norm = squares.map(|g| f64::from(g * g)).sum::<f64>().sqrt() as f32;
        let scale = if norm > clip { clip / norm } else { 1.0 };
        let bias1 = 1.0 - BETA1.powi(self.step as i32);
        let bias2 = 1.0 - BETA2.powi(self.step as i32);
        for (name, var) in weights {
            let gradient = &gradients[name];
            let decay = if var.rank() > 1 {
                1.0 - rate * DECAY
            } else {
                1.0
            };
            let mut values = var.flatten_all()?.to_vec1::<f32>()?;
            let (m, v) = self
                .moments
                .entry(name.clone())
                .or_insert_with(|| (vec![0.0; values.len()], vec![0.0; values.len()]));
            for i in 0..values.len() {
                let g = gradient[i] * scale;
                m[i] = BETA1 * m[i] + (1.0 - BETA1) * g;
                v[i] = BETA2 * v[i] + (1.0 - BETA2) * g * g;
                let change = (m[i] / bias1) / ((v[i] / bias2).sqrt() + 1e-8);
                values[i] = values[i] * decay - rate * change;
            }
            var.set(&Tensor::from_vec(values, var.shape(), var.device())?)?;
        }
        Ok(norm)
    }
}
