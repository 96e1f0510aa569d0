//! The weights that rows of activations meet: matrices in 32 or 16 bits or
//! quantised, tables of embeddings, and norms.
//!
//! Activations are 32-bit floats everywhere. Matrices in 16 bits are widened a
//! few rows at a time, in a processor's own cache, so that a product reads half
//! as much memory as in 32 bits and loses nothing: it is the product of the
//! values that the file holds.

use candle_core::quantized::QMatMul;
use candle_core::{CpuStorage, DType, Module, Result, Storage, Tensor};
use candle_nn::ops::rms_norm;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

/// A matrix, rows by columns.
#[derive(Clone, Debug)]
pub(super) enum Matrix {
    /// In 32-bit floats, or quantised.
    Plain(QMatMul),
    /// In 16-bit floats.
    Half(Tensor),
}

/// Values of a matrix that are widened together: 256 kB as 32-bit floats.
const WIDENED: usize = 1 << 16;

impl Matrix {
    /// The matrix as it is, if it is one of floats in 16 or 32 bits.
    pub(super) fn of_floats(tensor: Tensor) -> Self {
        match tensor.dtype() {
            DType::F16 | DType::BF16 => Matrix::Half(tensor),
            _ => Matrix::Plain(QMatMul::Tensor(tensor)),
        }
    }

    /// `x`, `[tokens, columns]`, times the transposed matrix: `[tokens, rows]`.
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let matrix = match self {
            Matrix::Plain(matrix) => return matrix.forward(x),
            Matrix::Half(matrix) => matrix,
        };
        let (rows, columns) = matrix.dims2()?;
        let together = (WIDENED / columns.max(1)).clamp(1, rows.max(1));
        let starts: Vec<usize> = (0..rows).step_by(together).collect();
        let parts = starts.into_par_iter().map(|from| {
            let part = matrix.narrow(0, from, together.min(rows - from))?;
            x.matmul(&widened(&part)?.t()?)
        });
        let parts: Vec<Tensor> = parts.collect::<Result<_>>()?;
        Tensor::cat(&parts, 1)
    }
}

/// The same values as 32-bit floats. As candle's conversion, but many values at once:
/// a shift, or the processor's own instruction.
fn widened(part: &Tensor) -> Result<Tensor> {
    let (storage, layout) = part.storage_and_layout();
    let values = match (&*storage, layout.contiguous_offsets()) {
        (Storage::Cpu(CpuStorage::BF16(values)), Some((from, to))) => values[from..to]
            .iter()
            .map(|value| f32::from_bits(u32::from(value.to_bits()) << 16))
            .collect(),
        (Storage::Cpu(CpuStorage::F16(values)), Some((from, to))) => {
            let mut wide = vec![0.0; to - from];
            values[from..to].convert_to_f32_slice(&mut wide);
            wide
        }
        _ => return part.to_dtype(DType::F32),
    };
    Tensor::from_vec(values, part.shape(), part.device())
}

#[derive(Clone, Debug)]
pub(super) enum Embedding {
    /// Floats.
    Plain(Tensor),
    Quantised(QMatMul),
}

impl Embedding {
    /// The rows of these tokens.
    pub(super) fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        match self {
            Self::Plain(table) => table.index_select(tokens, 0)?.to_dtype(DType::F32),
            Self::Quantised(table) => table.embedding(tokens),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: Matrix,
    pub(super) bias: Option<Tensor>,
}

impl Linear {
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Norm {
    weight: Tensor,
    epsilon: f32,
}

impl Norm {
    /// `less_one` says that the weight is stored less one.
    pub(super) fn new(
        weight: Tensor,
        epsilon: f32,
        less_one: bool,
    ) -> std::result::Result<Self, crate::Error> {
        let weight = match less_one {
            true => (weight + 1.0)?,
            false => weight,
        };
        Ok(Self { weight, epsilon })
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        rms_norm(x, &self.weight, self.epsilon)
    }
}
