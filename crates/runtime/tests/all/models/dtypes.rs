//! Matrices in 16 bits give what the same values give in 32.

use std::collections::HashMap;

use candle_core::{DType, Tensor};
use tokenmold::ErrorKind;
use tokenmold::model::{Dtype, LoadOptions, Model, load_with};

use super::families::*;

/// The logits of a family whose file holds these weights.
fn logits(family: Family, weights: &HashMap<String, Tensor>, dtype: Dtype) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), &config(family), weights);
    let options = LoadOptions::default().with_dtype(dtype);
    let mut model = load_with(folder.path(), options).unwrap().model;
    model.forward(&TOKENS[..7], 0).unwrap();
    model.forward(&TOKENS[7..], 7).unwrap()
}

fn stored_in(family: Family, dtype: DType) -> HashMap<String, Tensor> {
    let all = weights(family).into_iter();
    all.map(|(name, tensor)| (name, tensor.to_dtype(dtype).unwrap()))
        .collect()
}

/// The values of the file are what is computed with: nothing is lost by keeping
/// them in 16 bits.
#[test]
fn weights_as_stored_give_the_logits_of_their_values_in_32_bits() {
    for family in ALL {
        for dtype in [DType::F16, DType::BF16] {
            let stored = stored_in(family, dtype);
            let halves = logits(family, &stored, Dtype::AsStored);
            let wide = logits(family, &stored, Dtype::F32);
            let distance = distance(&halves, &wide);
            assert!(distance < 1e-4, "{} {dtype:?}: {distance}", family.name);
        }
    }
}

/// Rounding weights to 16 bits moves the logits by little, and as if the file had
/// been rounded.
#[test]
fn weights_are_rounded_on_demand() {
    for family in ALL {
        let exact = logits(family, &weights(family), Dtype::F32);
        let largest = exact.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        let kept = logits(family, &weights(family), Dtype::AsStored);
        assert_eq!(exact, kept);
        for (dtype, stored, most) in [
            (Dtype::F16, DType::F16, 0.02),
            (Dtype::Bf16, DType::BF16, 0.15),
        ] {
            let rounded = logits(family, &weights(family), dtype);
            let error = distance(&exact, &rounded) / largest;
            assert!(
                error > 0.0 && error < most,
                "{} {dtype:?}: {error}",
                family.name
            );
            // Vectors stay in 32 bits, which a file in 16 has not.
            let vectors = weights(family).into_iter().filter(|(_, t)| t.rank() == 1);
            let mut file = stored_in(family, stored);
            file.extend(vectors);
            let as_stored = logits(family, &file, Dtype::AsStored);
            assert_eq!(rounded, as_stored);
        }
    }
}

#[test]
fn values_that_f16_cannot_hold_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut weights = weights(LLAMA);
    let name = "model.layers.1.mlp.down_proj.weight";
    let wide = (weights[name].clone() * 1e6).unwrap();
    weights.insert(name.to_owned(), wide);
    write_folder(folder.path(), &config(LLAMA), &weights);
    let load = |dtype| load_with(folder.path(), LoadOptions::default().with_dtype(dtype));
    let error = load(Dtype::F16).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Weights);
    let message = error.to_string();
    assert!(message.contains(name), "{message}");
    assert!(message.contains("which f16 cannot hold"), "{message}");
    assert!(load(Dtype::Bf16).is_ok());
}

#[test]
fn names_name_each() {
    let all = Dtype::NAMES.map(|name| Dtype::by_name(name).unwrap());
    assert_eq!(all, [Dtype::AsStored, Dtype::F32, Dtype::F16, Dtype::Bf16]);
    assert_eq!(Dtype::by_name("f64"), None);
}
