//! Weights that are moved to a device as they are read. For example, a layer's `q_proj` is read
//! from the file, moved to `cuda:0`, and its copy on the host is dropped.

use std::sync::Arc;

use candle_core::quantized::{QMatMul, QStorage, QTensor};
use candle_core::{DType, Device, Tensor};

use super::matrix::{Embedding, Matrix};
use super::rotary::Pairing;
use super::weights::Source;
use crate::Error;

/// A source whose weights are on a device that is not the CPU.
///
/// Matrices of floats become 32-bit ones there, so that products are those of
/// the values in the file; quantised ones stay as they are, but for the table of
/// embeddings, whose rows are looked up as floats.
pub(super) struct OnDevice<'a> {
    pub(super) source: &'a mut dyn Source,
    pub(super) device: &'a Device,
}

impl OnDevice<'_> {
    fn floats(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        // Sixteen bits travel as such.
        let there = tensor.to_device(self.device)?;
        Ok(there.to_dtype(DType::F32)?)
    }

    fn quantised(&self, tensor: &QTensor) -> Result<Arc<QTensor>, Error> {
        let storage = QStorage::from_data(tensor.data()?, self.device, tensor.dtype())?;
        Ok(Arc::new(QTensor::new(storage, tensor.shape())?))
    }

    fn product(&self, matrix: &QMatMul) -> Result<QMatMul, Error> {
        Ok(match matrix {
            QMatMul::QTensor(tensor) => QMatMul::from_arc(self.quantised(tensor)?)?,
            QMatMul::Tensor(tensor) | QMatMul::TensorF16(tensor) => {
                QMatMul::Tensor(self.floats(tensor)?)
            }
        })
    }
}

impl Source for OnDevice<'_> {
    fn pairing(&self) -> Pairing {
        self.source.pairing()
    }

    fn stores_norms_less_one(&self) -> bool {
        self.source.stores_norms_less_one()
    }

    fn embedding(&mut self, name: &str, shape: [usize; 2]) -> Result<Embedding, Error> {
        let table = match self.source.embedding(name, shape)? {
            Embedding::Plain(table) => table,
            Embedding::Quantised(QMatMul::QTensor(table)) => table.dequantize(&Device::Cpu)?,
            Embedding::Quantised(QMatMul::Tensor(table) | QMatMul::TensorF16(table)) => table,
        };
        Ok(Embedding::Plain(self.floats(&table)?))
    }

    fn matrix(&mut self, name: &str, shape: [usize; 2]) -> Result<Matrix, Error> {
        Ok(match self.source.matrix(name, shape)? {
            Matrix::Plain(matrix) => Matrix::Plain(self.product(&matrix)?),
            Matrix::Half(matrix) => Matrix::Plain(QMatMul::Tensor(self.floats(&matrix)?)),
        })
    }

    fn vector(&mut self, name: &str, width: usize) -> Result<Tensor, Error> {
        let vector = self.source.vector(name, width)?;
        self.floats(&vector)
    }
}
