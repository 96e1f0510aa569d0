//! The weights that rows of activations meet: matrices in 32 or 16 bits or
//! quantised, tables of embeddings, and norms.
//!
//! Activations are 32-bit floats everywhere. Matrices in 16 bits are widened as they
//! are read, a few rows at a time where there are many tokens, so that a product reads
//! half as much memory as in 32 bits and loses nothing: it is the product of the values
//! that the file holds.
//!
//! For example, a matrix that is stored as bf16 is multiplied as if it were of 32-bit floats, with
//! half of the bytes read.

use candle_core::quantized::QMatMul;
use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::ops::rms_norm;
use rayon::prelude::*;

use super::dots;

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
        match self {
            Matrix::Plain(matrix) => matrix.forward(x),
            Matrix::Half(matrix) => match dots::product(x, matrix)? {
                Some(product) => Ok(product),
                None => by_parts(x, matrix),
            },
        }
    }
}

/// The product by parts of the matrix, which are widened and stay in a core's own
/// cache.
fn by_parts(x: &Tensor, matrix: &Tensor) -> Result<Tensor> {
    let (rows, columns) = matrix.dims2()?;
    let together = (WIDENED / columns.max(1)).clamp(1, rows.max(1));
    let starts: Vec<usize> = (0..rows).step_by(together).collect();
    let parts = starts.into_par_iter().map(|from| {
        let part = matrix.narrow(0, from, together.min(rows - from))?;
        x.matmul(&part.to_dtype(DType::F32)?.t()?)
    });
    let parts: Vec<Tensor> = parts.collect::<Result<_>>()?;
    Tensor::cat(&parts, 1)
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

    /// Returns the device of the matrix.
    pub(super) fn device(&self) -> &Device {
        self.weight.device()
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        rms_norm(x, &self.weight, self.epsilon)
    }
}
