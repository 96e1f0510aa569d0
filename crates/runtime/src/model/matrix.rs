//! The weights that rows of activations meet: matrices in 32 or 16 bits or
//! quantised, tables of embeddings, and norms.
//!
//! Activations are 32-bit floats everywhere. Matrices in 16 bits are widened as they
//! are read, a few rows at a time where there are many tokens, so that a product reads
//! half as much memory as in 32 bits and loses nothing: it is the product of the values
//! that the file holds.
//!
//! Quantised matrices meet a step of a few tokens as they are, with activations of 8 bits. The many rows of
//! a prompt meet their values in 32-bit floats, widened once for all of its rows: that is several times
//! faster, and nothing is rounded. The rows of one text decide, so that what stands beside it does not change
//! its numbers.
//!
//! For example, a matrix that is stored as bf16 is multiplied as if it were of 32-bit floats, with
//! half of the bytes read.

use std::borrow::Cow;
use std::sync::Arc;

use candle_core::quantized::{QMatMul, QStorage, QTensor};
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

    /// `x`, `[tokens, columns]`, times the transposed matrix: `[tokens, rows]`. `texts` are the numbers of
    /// tokens of the texts in it, one behind the other.
    pub(super) fn forward(&self, x: &Tensor, texts: &[usize]) -> Result<Tensor> {
        match self {
            Matrix::Plain(QMatMul::QTensor(matrix))
                if x.device().is_cpu() && texts.iter().any(|tokens| *tokens >= MANY) =>
            {
                by_texts(x, texts, matrix)
            }
            Matrix::Plain(matrix) => matrix.forward(x),
            Matrix::Half(matrix) => match dots::product(x, matrix)? {
                Some(product) => Ok(product),
                None => by_parts(x, <[usize; 2]>::from(matrix.dims2()?), |from, count| {
                    matrix.narrow(0, from, count)?.to_dtype(DType::F32)
                }),
            },
        }
    }
}

/// The least tokens of one text for which a quantised matrix is widened: it pays from 8 on, and drafts of the usual length,
/// which are read together, are left as they are, because they must say what tokens say that are read one by one.
const MANY: usize = 32;

/// The product with a quantised matrix: of texts with many tokens each by itself with a widened one, of
/// those between them as it is.
fn by_texts(x: &Tensor, texts: &[usize], matrix: &Arc<QTensor>) -> Result<Tensor> {
    let bytes = matrix.data()?;
    let (rows, columns) = matrix.shape().dims2()?;
    let row = bytes.len() / rows.max(1);
    let widened = |from: usize, count: usize| {
        let part = Cow::Borrowed(&bytes[from * row..(from + count) * row]);
        let storage = QStorage::from_data(part, &Device::Cpu, matrix.dtype())?;
        QTensor::new(storage, (count, columns))?.dequantize(&Device::Cpu)
    };
    let as_it_is = QMatMul::QTensor(matrix.clone());
    let is_many = |tokens: &usize| *tokens >= MANY;
    let mut products = Vec::new();
    let mut from = 0;
    for alike in texts.chunk_by(|one, other| !is_many(one) && !is_many(other)) {
        let tokens: usize = alike.iter().sum();
        let own = x.narrow(0, from, tokens)?;
        from += tokens;
        products.push(match alike.iter().any(is_many) {
            true => by_parts(&own, [rows, columns], widened)?,
            false => as_it_is.forward(&own.contiguous()?)?,
        });
    }
    match products.as_slice() {
        [one] => Ok(one.clone()),
        _ => Tensor::cat(&products, 0),
    }
}

/// The product by parts of the matrix, which are widened and stay in a core's own
/// cache: `part` has so many of its rows from one on.
fn by_parts(
    x: &Tensor,
    [rows, columns]: [usize; 2],
    part: impl Fn(usize, usize) -> Result<Tensor> + Sync,
) -> Result<Tensor> {
    let together = (WIDENED / columns.max(1)).clamp(1, rows.max(1));
    let starts: Vec<usize> = (0..rows).step_by(together).collect();
    let parts = starts.into_par_iter().map(|from| {
        let part = part(from, together.min(rows - from))?;
        x.matmul(&part.t()?)
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
    /// As [`Matrix::forward`].
    pub(super) fn forward(&self, x: &Tensor, texts: &[usize]) -> Result<Tensor> {
        let y = self.weight.forward(x, texts)?;
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

#[cfg(test)]
mod tests {
    use candle_core::quantized::GgmlDType;

    use super::*;

    fn numbers(rows: usize, columns: usize, seed: u32) -> Tensor {
        let value = |at: u32| ((at ^ seed).wrapping_mul(2_654_435_761) >> 8) as f32 / 8e6 - 1.0;
        let values: Vec<f32> = (0..(rows * columns) as u32).map(value).collect();
        Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
    }

    /// A text's products are the same to the bit alone and beside others; those of many tokens are of the widened
    /// matrix, those of few as the library has them.
    #[test]
    fn the_rows_of_a_text_decide_how_a_quantised_matrix_is_met() {
        let columns = 64;
        let rows = WIDENED / columns + 7;
        for dtype in [GgmlDType::Q4_0, GgmlDType::Q4_1, GgmlDType::Q8_0] {
            let values = numbers(rows, columns, 3);
            let quantised = Arc::new(QTensor::quantize(&values, dtype).unwrap());
            let wide = quantised.dequantize(&Device::Cpu).unwrap();
            let library = QMatMul::QTensor(quantised.clone());
            let matrix = Matrix::Plain(QMatMul::QTensor(quantised));
            let texts = [1, MANY, 2, 3, MANY + 5, MANY - 1];
            let x = numbers(texts.iter().sum(), columns, 9);
            let together = matrix.forward(&x, &texts).unwrap();
            assert_eq!(together.dims2().unwrap(), (x.dims2().unwrap().0, rows));
            let mut from = 0;
            for count in texts {
                let own = x.narrow(0, from, count).unwrap().contiguous().unwrap();
                let beside = together.narrow(0, from, count).unwrap();
                from += count;
                let alone = matrix.forward(&own, &[count]).unwrap();
                let values = |of: &Tensor| of.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert_eq!(values(&beside), values(&alone), "{dtype:?}: {count}");
                let wanted = match count >= MANY {
                    true => own.matmul(&wide.t().unwrap()).unwrap(),
                    false => library.forward(&own).unwrap(),
                };
                let far = (alone - wanted).unwrap().abs().unwrap().max_all().unwrap();
                assert!(far.to_scalar::<f32>().unwrap() < 1e-4, "{dtype:?}: {count}");
            }
        }
    }
}
