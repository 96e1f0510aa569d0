//! What masking logits costs on this machine's CPU, beside copying them.
//!
//! `cargo run --release --example masking`: for batches of 1, 16 and 256 texts
//! over 128,256 tokens, three types of logits and four kinds of masks. `GB/s` is
//! the size of the logits over the time of a call; `copy` is the same for a copy
//! of logits of that size from one place to another, in the same run. The time is
//! the median of many calls.

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{DType, Device, Tensor};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tokenmold::masking::{BatchMasks, mask_logits};

const VOCABULARY: usize = 128_256;

/// Kinds of masks: names and how a word comes about.
type Kind = (&'static str, fn(&mut ChaCha8Rng) -> u32);

const KINDS: [Kind; 4] = [
    ("all allowed", |_| u32::MAX),
    ("one word in 500 allows", |rng| {
        match rng.random_range(0..500) {
            0 => rng.random(),
            _ => 0,
        }
    }),
    ("one word in 20 forbids", |rng| {
        match rng.random_range(0..20) {
            0 => rng.random(),
            _ => u32::MAX,
        }
    }),
    ("every word is mixed", RngExt::random),
];

/// The median time of a call.
fn median(mut call: impl FnMut()) -> Duration {
    let began = Instant::now();
    let mut times = Vec::new();
    while times.len() < 7 || (began.elapsed() < Duration::from_millis(400) && times.len() < 2000) {
        let began = Instant::now();
        call();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    println!(
        "batch  type  {:24}        us    GB/s   of the copy's",
        "mask"
    );
    for batch in [1, 16, 256] {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let logits = Tensor::randn(0f32, 1.0, (batch, VOCABULARY), &Device::Cpu)?;
            let logits = logits.to_dtype(dtype)?;
            let bytes = batch * VOCABULARY * dtype.size_in_bytes();
            let from = vec![1u8; bytes];
            let mut to = vec![0u8; bytes];
            let rate = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e9;
            let copy = median(|| black_box(&mut to).copy_from_slice(black_box(&from)));
            let show = |what: &str, time: Duration| {
                let share = rate(time) / rate(copy);
                println!(
                    "{batch:5}  {:4}  {what:24} {:9.1} {:7.1} {share:9.2}",
                    dtype.as_str(),
                    time.as_secs_f64() * 1e6,
                    rate(time)
                );
            };
            show("copy", copy);
            for (name, word) in KINDS {
                let mut masks = BatchMasks::new(VOCABULARY)?;
                for _ in 0..batch {
                    let words = (0..VOCABULARY.div_ceil(32)).map(|_| word(&mut rng));
                    masks.push(&words.collect::<Vec<u32>>())?;
                }
                let mut failed = None;
                let time = median(|| failed = mask_logits(black_box(&logits), &masks).err());
                if let Some(error) = failed {
                    return Err(error.into());
                }
                show(name, time);
            }
        }
    }
    Ok(())
}
