//! Weights from safetensors files or a GGUF file. For example,
//! `model.layers.0.self_attn.q_proj.weight` is `blk.0.attn_q.weight` in a GGUF file.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::safetensors::{Load, SliceSafetensors};
use candle_core::{DType, Device, Tensor};
use serde_json::Value;

use super::load::LoadOptions;
use super::matrix::{Embedding, Matrix};
use super::rotary::Pairing;
use crate::error::first_line;
use crate::{Error, ErrorKind};

/// Which weights are quantised in memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WeightFormat {
    /// Quantised weights as they are, except that Q4_1, Q5_0, Q5_1 and Q8_1, which have no vector
    /// code on the CPU, become Q8_0: up to 1.8 times the memory, several times the speed.
    #[default]
    Fast,
    /// Quantised weights exactly as they are (but those four as Q8_0 if a row has an odd number of
    /// blocks, which their code does not take).
    AsStored,
    /// None; everything becomes 32-bit floats, whatever [`Dtype`] says.
    Float32,
    /// Every matrix: in 8-bit blocks of 32 values with one scale.
    Q8_0,
}

/// In which floats matrices are kept that are not quantised. Vectors are always 32-bit floats, and
/// so is all that is computed: a product with a matrix in 16 bits is that with the same values in
/// 32, up to the order of a sum. The cost of 16 bits is their rounding, if the file has more.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Dtype {
    /// `f16` and `bf16` as they are, everything else in 32 bits.
    #[default]
    #[serde(rename = "stored")]
    AsStored,
    /// 32 bits.
    F32,
    /// 16 bits, 11 of them for the fraction: values up to 65504. Weights beyond
    /// are refused.
    F16,
    /// 16 bits, 8 of them for the fraction, with the range of 32.
    Bf16,
}

impl Dtype {
    /// The names by which [`Dtype::by_name`] knows them.
    pub const NAMES: [&str; 4] = ["stored", "f32", "f16", "bf16"];

    /// The one of that name, if there is one.
    ///
    /// ```
    /// use tokenmold::model::Dtype;
    ///
    /// assert_eq!(Dtype::by_name("bf16"), Some(Dtype::Bf16));
    /// assert_eq!(Dtype::by_name("f8"), None);
    /// ```
    pub fn by_name(name: &str) -> Option<Dtype> {
        let all = [Dtype::AsStored, Dtype::F32, Dtype::F16, Dtype::Bf16];
        let at = Dtype::NAMES.iter().position(|known| *known == name)?;
        all.get(at).copied()
    }

    /// A matrix of floats as it is kept.
    fn keep(self, name: &str, place: &str, tensor: &Tensor) -> Result<Tensor, Error> {
        let dtype = match (self, tensor.dtype()) {
            (Dtype::AsStored, stored @ (DType::F16 | DType::BF16)) => stored,
            (Dtype::AsStored | Dtype::F32, _) => DType::F32,
            (Dtype::F16, _) => DType::F16,
            (Dtype::Bf16, _) => DType::BF16,
        };
        if dtype == DType::F16 && tensor.dtype() != DType::F16 && tensor.elem_count() > 0 {
            let largest = tensor.to_dtype(DType::F32)?.abs()?.max_all()?;
            let largest = largest.to_scalar::<f32>()?;
            if largest.is_finite() && largest >= F16_LIMIT {
                return Err(Error::new(
                    ErrorKind::Weights,
                    format!(
                        "{place}: tensor `{name}` has a value of {largest}, which f16 cannot hold; \
                         use bf16 or f32"
                    ),
                ));
            }
        }
        Ok(tensor.to_dtype(dtype)?)
    }
}

/// The least value that is infinite in `f16`: 65520, because it is rounded up from 65504, the
/// largest one.
const F16_LIMIT: f32 = 65520.0;

/// Gives weights by the names of Hugging Face, checking their shapes.
pub(super) trait Source {
    fn pairing(&self) -> Pairing;
    /// Tells whether weights of normalisation are stored less one, in the families that add one.
    fn stores_norms_less_one(&self) -> bool;
    /// The table of `{name}.weight`.
    fn embedding(&mut self, name: &str, shape: [usize; 2]) -> Result<Embedding, Error>;
    /// The matrix `{name}.weight`, rows by columns.
    fn matrix(&mut self, name: &str, shape: [usize; 2]) -> Result<Matrix, Error>;
    fn vector(&mut self, name: &str, width: usize) -> Result<Tensor, Error>;
}

#[cold]
fn missing(name: &str, place: &str) -> Error {
    Error::new(
        ErrorKind::Weights,
        format!("{place}: tensor `{name}` is missing"),
    )
}

fn check_shape(name: &str, place: &str, found: &[usize], wanted: &[usize]) -> Result<(), Error> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Weights,
        format!(
            "{place}: tensor `{name}` has shape {found:?}; the configuration makes it {wanted:?}"
        ),
    ))
}

fn quantise(tensor: &Tensor) -> Result<Matrix, Error> {
    let quantised = QTensor::quantize(&tensor.to_dtype(DType::F32)?, GgmlDType::Q8_0)?;
    Ok(Matrix::Plain(QMatMul::from_qtensor(quantised)?))
}

/// Tensors of safetensors files: vectors as 32-bit floats, matrices as the options
/// say.
pub(super) struct Safetensors {
    tensors: HashMap<String, Tensor>,
    place: String,
    options: LoadOptions,
}

impl Safetensors {
    /// Reads `model.safetensors`, or the shards that
    /// `model.safetensors.index.json` names, one shard in memory at a time.
    /// `read` is told how many files were read, and of how many.
    pub(super) fn open(
        folder: &Path,
        options: LoadOptions,
        read: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, Error> {
        let single = folder.join("model.safetensors");
        let index = folder.join("model.safetensors.index.json");
        let (files, place) = if single.is_file() {
            (vec![single.clone()], single)
        } else if index.is_file() {
            (shards(&index)?, index)
        } else {
            return Err(Error::new(
                ErrorKind::Weights,
                format!(
                    "{}: neither model.safetensors nor model.safetensors.index.json is here",
                    folder.display()
                ),
            ));
        };
        let mut tensors = HashMap::new();
        for (done, file) in files.iter().enumerate() {
            read(done, files.len());
            let bytes = super::read(file)?;
            read_tensors(&bytes, &file.display().to_string(), options, &mut tensors)?;
        }
        read(files.len(), files.len());
        Ok(Self {
            tensors,
            place: place.display().to_string(),
            options,
        })
    }

    /// Reads one file's bytes.
    #[cfg(feature = "embedded")]
    pub(super) fn from_bytes(
        bytes: &[u8],
        place: &str,
        options: LoadOptions,
    ) -> Result<Self, Error> {
        let mut tensors = HashMap::new();
        read_tensors(bytes, place, options, &mut tensors)?;
        Ok(Self {
            tensors,
            place: place.to_owned(),
            options,
        })
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor, Error> {
        let tensor = self
            .tensors
            .get(name)
            .ok_or_else(|| missing(name, &self.place))?;
        check_shape(name, &self.place, tensor.dims(), shape)?;
        Ok(tensor.clone())
    }
}

/// The files that an index names, each once. All must be there.
fn shards(index: &Path) -> Result<Vec<PathBuf>, Error> {
    let place = index.display();
    let malformed = |what: &str| Error::new(ErrorKind::Weights, format!("{place}: {what}"));
    let json: Value = serde_json::from_slice(&super::read(index)?).map_err(|error| {
        Error::with_source(ErrorKind::Weights, format!("{place}: {error}"), error)
    })?;
    let map = json
        .get("weight_map")
        .and_then(Value::as_object)
        .ok_or_else(|| malformed("`weight_map` is missing"))?;
    // The first tensor of each shard, to say what a missing one takes along.
    let mut names: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for (tensor, file) in map {
        let file = file
            .as_str()
            .ok_or_else(|| malformed("`weight_map` holds something else than file names"))?;
        if Path::new(file).components().count() != 1 || file.contains("..") {
            return Err(malformed(&format!(
                "`{file}` is not the name of a file in this folder"
            )));
        }
        names.entry(file).or_insert((tensor, 0)).1 += 1;
    }
    let folder = index.parent().unwrap_or(Path::new(""));
    let total = names.len();
    let mut files = Vec::new();
    for (file, (tensor, count)) in names {
        let path = folder.join(file);
        if !path.is_file() {
            return Err(Error::new(
                ErrorKind::Weights,
                format!(
                    "{}: this shard, one of {total}, is missing; it holds {count} tensors, `{tensor}` among them",
                    path.display()
                ),
            ));
        }
        files.push(path);
    }
    Ok(files)
}

fn read_tensors(
    bytes: &[u8],
    place: &str,
    options: LoadOptions,
    tensors: &mut HashMap<String, Tensor>,
) -> Result<(), Error> {
    let malformed = |error: candle_core::Error| {
        let message = format!("{place}: not a safetensors file: {}", first_line(&error));
        Error::with_source(ErrorKind::Weights, message, error)
    };
    let file = SliceSafetensors::new(bytes).map_err(malformed)?;
    for (name, view) in file.tensors() {
        let tensor = view.load(&Device::Cpu).map_err(malformed)?;
        let kept = match tensor.rank() {
            2 => options.dtype().keep(&name, place, &tensor)?,
            _ => tensor.to_dtype(DType::F32)?,
        };
        tensors.insert(name, kept);
    }
    Ok(())
}

impl Source for Safetensors {
    fn pairing(&self) -> Pairing {
        Pairing::Halves
    }

    fn stores_norms_less_one(&self) -> bool {
        true
    }

    fn embedding(&mut self, name: &str, shape: [usize; 2]) -> Result<Embedding, Error> {
        Ok(Embedding::Plain(
            self.get(&format!("{name}.weight"), &shape)?,
        ))
    }

    fn matrix(&mut self, name: &str, shape: [usize; 2]) -> Result<Matrix, Error> {
        let tensor = self.get(&format!("{name}.weight"), &shape)?;
        if self.options.weights == WeightFormat::Q8_0 && shape[1].is_multiple_of(32) {
            return quantise(&tensor);
        }
        Ok(Matrix::of_floats(tensor))
    }

    fn vector(&mut self, name: &str, width: usize) -> Result<Tensor, Error> {
        self.get(name, &[width])
    }
}

/// Tensors of a GGUF file, read when asked for.
pub(super) struct Gguf<'a> {
    pub(super) content: &'a Content,
    pub(super) file: BufReader<File>,
    pub(super) place: String,
    pub(super) options: LoadOptions,
    pub(super) pairing: Pairing,
    /// True if each part is normalised before and after.
    pub(super) four_norms: bool,
    /// A tied embedding is asked for twice and shall be in memory once.
    pub(super) embedding: Option<Matrix>,
}

/// A part's name in a GGUF file, as llama.cpp writes it, by its name in files of Hugging Face.
const GGUF_NAMES: [(&str, &str); 15] = [
    ("input_layernorm", "attn_norm"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("self_attn.qkv_proj", "attn_qkv"),
    ("mlp.gate_up_proj", "ffn_up"),
    ("post_attention_layernorm", "ffn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

/// `four_norms` tells what the norm after attention is: there are two more, or
/// it is the one before the feed-forward part.
fn gguf_name(name: &str, four_norms: bool) -> String {
    match name {
        "model.embed_tokens.weight" => return "token_embd.weight".to_owned(),
        "model.norm.weight" => return "output_norm.weight".to_owned(),
        "lm_head.weight" => return "output.weight".to_owned(),
        _ => {}
    }
    let parts = name
        .strip_prefix("model.layers.")
        .and_then(|rest| rest.split_once('.'));
    let Some((layer, part)) = parts else {
        return name.to_owned();
    };
    if four_norms && part == "post_attention_layernorm.weight" {
        return format!("blk.{layer}.post_attention_norm.weight");
    }
    for (from, to) in GGUF_NAMES {
        if let Some(kind) = part.strip_prefix(from) {
            return format!("blk.{layer}.{to}{kind}");
        }
    }
    name.to_owned()
}

impl Gguf<'_> {
    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Arc<QTensor>, Error> {
        let name = gguf_name(name, self.four_norms);
        let info = self
            .content
            .tensor_infos
            .get(&name)
            .ok_or_else(|| missing(&name, &self.place))?;
        check_shape(&name, &self.place, info.shape.dims(), shape)?;
        let tensor = info
            .read(
                &mut self.file,
                self.content.tensor_data_offset,
                &Device::Cpu,
            )
            .map_err(|error| {
                let message = format!("{}: tensor `{name}`: {}", self.place, first_line(&error));
                Error::with_source(ErrorKind::Weights, message, error)
            })?;
        let slow = matches!(
            tensor.dtype(),
            GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1 | GgmlDType::Q8_1
        );
        let columns = shape.last().copied().unwrap_or(0);
        let requantise = match self.options.weights {
            WeightFormat::Fast => slow,
            WeightFormat::Q8_0 => tensor.dtype() != GgmlDType::Q8_0,
            // Products with these formats take blocks of 32 in twos.
            WeightFormat::AsStored => slow && !columns.is_multiple_of(64),
            WeightFormat::Float32 => false,
        };
        if requantise && shape.len() == 2 && columns.is_multiple_of(32) {
            let floats = tensor.dequantize(&Device::Cpu)?;
            return Ok(Arc::new(QTensor::quantize(&floats, GgmlDType::Q8_0)?));
        }
        Ok(Arc::new(tensor))
    }

    /// A matrix as the options say.
    fn kept(&mut self, name: &str, shape: [usize; 2]) -> Result<Matrix, Error> {
        let tensor = self.read(&format!("{name}.weight"), &shape)?;
        let stored = match (self.options.weights, tensor.dtype()) {
            (WeightFormat::Float32, _) | (_, GgmlDType::F32) => DType::F32,
            (_, GgmlDType::F16) => DType::F16,
            (_, GgmlDType::BF16) => DType::BF16,
            _ => return Ok(Matrix::Plain(QMatMul::from_arc(tensor)?)),
        };
        let floats = tensor.dequantize(&Device::Cpu)?.to_dtype(stored)?;
        let kept = self.options.dtype().keep(name, &self.place, &floats)?;
        Ok(Matrix::of_floats(kept))
    }
}

impl Source for Gguf<'_> {
    fn pairing(&self) -> Pairing {
        self.pairing
    }

    fn stores_norms_less_one(&self) -> bool {
        false
    }

    fn embedding(&mut self, name: &str, shape: [usize; 2]) -> Result<Embedding, Error> {
        let table = self.kept(name, shape)?;
        self.embedding = Some(table.clone());
        Ok(match table {
            Matrix::Half(table) | Matrix::Plain(QMatMul::Tensor(table)) => Embedding::Plain(table),
            Matrix::Plain(table) => Embedding::Quantised(table),
        })
    }

    fn matrix(&mut self, name: &str, shape: [usize; 2]) -> Result<Matrix, Error> {
        match (&self.embedding, name) {
            (Some(table), "model.embed_tokens") => Ok(table.clone()),
            _ => self.kept(name, shape),
        }
    }

    fn vector(&mut self, name: &str, width: usize) -> Result<Tensor, Error> {
        Ok(self.read(name, &[width])?.dequantize(&Device::Cpu)?)
    }
}
