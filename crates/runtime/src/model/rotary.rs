//! Rotary position embedding (Su et al., 2021, <https://arxiv.org/abs/2104.09864>). For example,
//! with heads of 64 dimensions the halves turn dimensions 0 and 32 together, and neighbours 0 and
//! 1.

use candle_core::{Device, Result, Tensor};
use candle_nn::rotary_emb::{rope, rope_i};

/// Which dimensions of a head are turned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairing {
    /// `i` and `i + width / 2`, as in the files of Hugging Face.
    Halves,
    /// `2 i` and `2 i + 1`, as in GGUF files of Llama.
    Neighbours,
}

/// Cosines and sines of the positions reached so far; the table doubles when
/// it is too short, because contexts can be far longer than texts.
#[derive(Clone, Debug)]
pub(super) struct Rotary {
    frequencies: Vec<f32>,
    /// The factor of cosines and sines.
    magnitude: f64,
    pairing: Pairing,
    most: usize,
    table: Option<(Tensor, Tensor)>,
    length: usize,
    device: Device,
}

/// Positions that a table has at first.
const FIRST: usize = 512;

impl Rotary {
    pub(super) fn new(
        frequencies: Vec<f32>,
        magnitude: f64,
        pairing: Pairing,
        most: usize,
        device: &Device,
    ) -> Self {
        Self {
            frequencies,
            magnitude,
            pairing,
            most,
            table: None,
            length: 0,
            device: device.clone(),
        }
    }

    /// Cosines and sines, `[count, width / 2]` each, of the positions from
    /// `position` on.
    pub(super) fn angles(&mut self, position: usize, count: usize) -> Result<(Tensor, Tensor)> {
        let end = position + count;
        if end > self.length || self.table.is_none() {
            let length = end.max(self.length * 2).max(FIRST).min(self.most.max(end));
            let half = self.frequencies.len();
            let angles = (0..length).flat_map(|at| {
                self.frequencies
                    .iter()
                    .map(move |frequency| at as f32 * frequency)
            });
            let angles =
                Tensor::from_vec(angles.collect::<Vec<f32>>(), (length, half), &self.device)?;
            let (mut cos, mut sin) = (angles.cos()?, angles.sin()?);
            if self.magnitude != 1.0 {
                (cos, sin) = ((cos * self.magnitude)?, (sin * self.magnitude)?);
            }
            self.table = Some((cos, sin));
            self.length = length;
        }
        match &self.table {
            Some((cos, sin)) => Ok((
                cos.narrow(0, position, count)?,
                sin.narrow(0, position, count)?,
            )),
            None => candle_core::bail!("the table of angles is missing"),
        }
    }

    /// Turns `[heads, tokens, width]`: its first dimensions, where not all are.
    pub(super) fn turn(&self, x: &Tensor, (cos, sin): (&Tensor, &Tensor)) -> Result<Tensor> {
        let (turned, width) = (2 * self.frequencies.len(), x.dim(2)?);
        if turned < width {
            let first = self.turn_all(&x.narrow(2, 0, turned)?.contiguous()?, (cos, sin))?;
            return Tensor::cat(&[&first, &x.narrow(2, turned, width - turned)?], 2);
        }
        self.turn_all(x, (cos, sin))
    }

    fn turn_all(&self, x: &Tensor, (cos, sin): (&Tensor, &Tensor)) -> Result<Tensor> {
        let x = x.unsqueeze(0)?;
        let turned = match self.pairing {
            Pairing::Halves => rope(&x, cos, sin)?,
            Pairing::Neighbours => rope_i(&x, cos, sin)?,
        };
        turned.squeeze(0)
    }
}
