//! Masks written into logits, against a slow oracle, bit for bit.
#![cfg(feature = "models")]

use candle_core::{DType, Device, Tensor};
use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tokenmold::ErrorKind;
use tokenmold::masking::{BatchMasks, mask_logits};

/// What a text of a batch asks for.
#[derive(Clone, Debug)]
enum Text {
    Free,
    Masked(Vec<u32>),
    SameAs(usize),
}

/// The bits of a tensor's values, row after row.
fn bits(tensor: &Tensor) -> Vec<u32> {
    let flat = tensor.flatten_all().unwrap();
    // Every value of the small types is one of the large; NaNs keep being NaNs.
    let wide = flat.to_dtype(DType::F32).unwrap();
    let wide = wide.to_vec1::<f32>().unwrap();
    wide.into_iter().map(f32::to_bits).collect()
}

/// Logits of all magnitudes, with what is no number among them.
fn logits(seed: u64, shape: (usize, usize), dtype: DType) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values = (0..shape.0 * shape.1).map(|_| match rng.random_range(0..20) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => -0.0,
        _ => rng.random_range(-30.0..30.0f32),
    });
    let values: Vec<f32> = values.collect();
    let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
    tensor.to_dtype(dtype).unwrap()
}

/// One value at a time.
fn oracle(before: &[u32], width: usize, vocabulary: usize, texts: &[Text]) -> Vec<u32> {
    let mask_of = |mut at: usize| loop {
        match &texts[at] {
            Text::Free => return None,
            Text::Masked(words) => return Some(words.clone()),
            Text::SameAs(other) => at = *other,
        }
    };
    let mut after = before.to_vec();
    for (text, row) in after.chunks_mut(width).enumerate() {
        let words = mask_of(text);
        for (token, value) in row.iter_mut().enumerate() {
            let allowed = match &words {
                None => true,
                Some(words) => words
                    .get(token / 32)
                    .is_some_and(|word| word >> (token % 32) & 1 == 1),
            };
            if token >= vocabulary || !allowed {
                *value = f32::NEG_INFINITY.to_bits();
            }
        }
    }
    after
}

fn masks(vocabulary: usize, texts: &[Text]) -> BatchMasks {
    let mut masks = BatchMasks::new(vocabulary).unwrap();
    for (number, text) in texts.iter().enumerate() {
        let at = match text {
            Text::Free => masks.push_unmasked(),
            Text::Masked(words) => masks.push(words).unwrap(),
            Text::SameAs(other) => masks.push_same_as(*other).unwrap(),
        };
        assert_eq!(at, number);
    }
    masks
}

/// Words of which many allow all or nothing.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX), any::<u32>()]
}

fn batch() -> impl Strategy<Value = (usize, usize, Vec<Text>)> {
    (1usize..200, 0usize..70, 1usize..6).prop_flat_map(|(vocabulary, padding, count)| {
        let words = vocabulary.div_ceil(32);
        let text = prop_oneof![
            1 => Just(Text::Free),
            4 => prop::collection::vec(word(), 0..=words + 1).prop_map(Text::Masked),
            1 => (0..count).prop_map(Text::SameAs),
        ];
        let texts = prop::collection::vec(text, count).prop_map(|mut texts| {
            for (at, text) in texts.iter_mut().enumerate() {
                if matches!(text, Text::SameAs(other) if *other >= at) {
                    *text = Text::Free;
                }
            }
            texts
        });
        (Just(vocabulary), Just(vocabulary + padding), texts)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn equal_to_the_oracle_bit_for_bit((vocabulary, width, texts) in batch(), seed: u64) {
        let masks = masks(vocabulary, &texts);
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let tensor = logits(seed, (texts.len(), width), dtype);
            let wanted = oracle(&bits(&tensor), width, vocabulary, &texts);
            mask_logits(&tensor, &masks).unwrap();
            prop_assert_eq!(bits(&tensor), wanted, "{:?}", dtype);
        }
    }
}

#[test]
fn a_part_of_a_larger_tensor_is_masked_alone() {
    let whole = Tensor::zeros((3, 40), DType::F32, &Device::Cpu).unwrap();
    let mut masks = BatchMasks::new(40).unwrap();
    masks.push(&[0xF, 0]).unwrap();
    mask_logits(&whole.narrow(0, 1, 1).unwrap(), &masks).unwrap();
    let forbidden = |row: &Vec<f32>| row.iter().filter(|v| v.is_infinite()).count();
    let rows = whole.to_vec2::<f32>().unwrap();
    assert_eq!(rows.iter().map(forbidden).collect::<Vec<_>>(), [0, 36, 0]);

    let one = Tensor::zeros(40, DType::F32, &Device::Cpu).unwrap();
    mask_logits(&one, &masks).unwrap();
    assert_eq!(forbidden(&one.to_vec1().unwrap()), 36);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut masks = BatchMasks::new(10).unwrap();
    masks.push(&[1]).unwrap();
    let refused = |tensor: Tensor| mask_logits(&tensor, &masks).unwrap_err();
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, &Device::Cpu).unwrap();
    for (tensor, message) in [
        (zeros(&[2, 10], DType::F32), "for logits of 2 texts"),
        (zeros(&[1, 9], DType::F32), "9 wide"),
        (zeros(&[1, 1, 10], DType::F32), "[1, 1, 10]"),
        (zeros(&[1, 20], DType::F32).t().unwrap(), "20 texts"),
    ] {
        let error = refused(tensor);
        assert_eq!(error.kind(), ErrorKind::VocabularyMismatch);
        assert!(error.to_string().contains(message), "{error}");
    }
    let strided = zeros(&[10, 2], DType::F32).t().unwrap();
    let strided = strided.narrow(0, 0, 1).unwrap();
    assert!(refused(strided).to_string().contains("contiguous"));
    let error = refused(zeros(&[1, 10], DType::F64));
    assert_eq!(error.kind(), ErrorKind::Model);
    assert!(error.to_string().contains("F64"), "{error}");
    assert!(BatchMasks::new(0).is_err());
    assert!(masks.clone().push_same_as(1).is_err());
}
