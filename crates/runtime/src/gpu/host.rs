//! The kernels, compiled for the host and run there, against their twins, the
//! masking operation, the CPU sampler and guides.
//!
//! `kernels/host` holds what the kernels use of CUDA for a C++ compiler of the
//! machine (`CXX`, or `c++`); where there is none these tests say so and pass.

use std::cell::RefCell;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::kernels::{
    Argument, Backend, DeviceMasks, Draws, Floats, Image, Kernel, Launch, Shape, States, mask,
};
use super::parameters::Parameters;
use super::twin;
use crate::Error;
use crate::gpu::masking::{BatchMasks, mask_logits};
use crate::sampling::{Sampler, SamplingConfig};

/// The program that runs the kernels; none without a compiler.
fn program() -> Option<&'static PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        // Kept until the tests end.
        let folder = tempfile::tempdir().unwrap().keep();
        let program = folder.join("kernels");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/host/main.cpp");
        let compiled = Command::new(&compiler)
            .args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-o"])
            .args([&program, &PathBuf::from(source)])
            .output();
        match compiled {
            Err(_) => None,
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{compiler:?}: {said}");
                Some(program)
            }
        }
    });
    if program.is_none() {
        eprintln!("skipped: there is no C++ compiler to run the kernels on the host");
    }
    program.as_ref()
}

/// A process that runs kernels.
struct Host {
    child: RefCell<(Child, BufWriter<ChildStdin>, BufReader<ChildStdout>)>,
    /// Words of each memory.
    sizes: RefCell<Vec<usize>>,
}

impl Host {
    fn new() -> Option<Host> {
        let mut child = Command::new(program()?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = BufWriter::new(child.stdin.take().unwrap());
        let output = BufReader::new(child.stdout.take().unwrap());
        Some(Host {
            child: RefCell::new((child, input, output)),
            sizes: RefCell::default(),
        })
    }

    fn send(&self, words: impl IntoIterator<Item = u32>) {
        let input = &mut self.child.borrow_mut().1;
        for word in words {
            input.write_all(&word.to_ne_bytes()).unwrap();
        }
    }

    fn write(&self, memory: u32, words: &[u32]) {
        self.send([2, memory, words.len() as u32]);
        self.send(words.iter().copied());
    }

    /// Logits as words: two of the 16-bit types to a word.
    fn logits(&self, values: &[f32], floats: Floats) -> u32 {
        self.filled(&packed(values, floats)).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let (child, ..) = self.child.get_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Backend for Host {
    type Memory = u32;

    fn zeroed(&self, words: usize) -> Result<u32, Error> {
        self.send([1, words as u32]);
        self.sizes.borrow_mut().push(words);
        Ok(self.sizes.borrow().len() as u32 - 1)
    }

    fn filled(&self, words: &[u32]) -> Result<u32, Error> {
        let memory = self.zeroed(words.len())?;
        self.write(memory, words);
        Ok(memory)
    }

    fn read(&self, memory: &u32) -> Result<Vec<u32>, Error> {
        self.send([3, *memory]);
        let mut child = self.child.borrow_mut();
        child.1.flush().unwrap();
        let mut bytes = vec![0; self.sizes.borrow()[*memory as usize] * 4];
        child.2.read_exact(&mut bytes).expect("the kernels ran");
        let words = bytes.as_chunks::<4>().0.iter();
        Ok(words.map(|word| u32::from_ne_bytes(*word)).collect())
    }

    fn launch(&self, launch: &Launch<'_, u32>) -> Result<(), Error> {
        let Launch {
            kernel,
            grid,
            threads,
            arguments,
        } = launch;
        self.send([4, kernel.number() as u32, grid.0, grid.1, *threads]);
        self.send([arguments.len() as u32]);
        for argument in arguments {
            match argument {
                Argument::Word(word) => self.send([0, *word]),
                Argument::Memory(memory) => self.send([1, **memory]),
            }
        }
        Ok(())
    }
}

/// A value as it is in a type, and its bits there.
fn stored(value: f32, floats: Floats) -> (f32, u32) {
    match floats {
        Floats::F32 => (value, value.to_bits()),
        Floats::F16 => {
            let value = half::f16::from_f32(value);
            (value.to_f32(), value.to_bits().into())
        }
        Floats::BF16 => {
            let value = half::bf16::from_f32(value);
            (value.to_f32(), value.to_bits().into())
        }
    }
}

/// Values as words of memory: two of the 16-bit types to a word.
fn packed(values: &[f32], floats: Floats) -> Vec<u32> {
    let bits = values.iter().map(|&value| stored(value, floats).1);
    match floats {
        Floats::F32 => bits.collect(),
        _ => {
            let bits: Vec<u32> = bits.collect();
            let words = bits.chunks(2);
            words
                .map(|two| two[0] | two.get(1).copied().unwrap_or(0) << 16)
                .collect()
        }
    }
}

/// The values that a memory holds.
fn unpacked(words: &[u32], floats: Floats, count: usize) -> Vec<u32> {
    match floats {
        Floats::F32 => words[..count].to_vec(),
        _ => {
            let halves = words.iter().flat_map(|word| [word & 0xFFFF, word >> 16]);
            halves.take(count).collect()
        }
    }
}

const ALL: [Floats; 3] = [Floats::F32, Floats::F16, Floats::BF16];

/// Logits as models give them, with ties and what is no number among them.
fn some_logits(rng: &mut ChaCha8Rng, count: usize, floats: Floats) -> Vec<f32> {
    if rng.random_range(0..4) == 0 {
        // Hardly anything but ties.
        return (0..count).map(|_| rng.random_range(0..2) as f32).collect();
    }
    let scale = [0.5f32, 4.0, 12.0][rng.random_range(0..3)];
    let odd = [0, 30][rng.random_range(0..2)];
    let one = |rng: &mut ChaCha8Rng| match rng.random_range(0..1000) {
        at if at < odd / 3 => f32::NAN,
        at if at < odd => f32::NEG_INFINITY,
        at if at < 100 => (rng.random_range(-3..4) as f32) * 0.5 * scale,
        _ => {
            // Nearly a normal distribution.
            let sum: f32 = (0..4).map(|_| rng.random_range(-1.0..1.0f32)).sum();
            sum * scale
        }
    };
    let values = (0..count).map(|_| stored(one(rng), floats).0);
    values.collect()
}

/// Masks of all kinds for a batch.
fn some_masks(rng: &mut ChaCha8Rng, batch: usize, vocabulary: usize) -> BatchMasks {
    let mut masks = BatchMasks::new(vocabulary).unwrap();
    for text in 0..batch {
        let kind = rng.random_range(0..6);
        if kind == 0 {
            masks.push_unmasked();
        } else if kind == 1 && text > 0 {
            masks.push_same_as(rng.random_range(0..text)).unwrap();
        } else {
            let words =
                (0..vocabulary.div_ceil(32)).map(|_| match (kind, rng.random_range(0..8)) {
                    (2, 1..) | (_, 0) => 0,
                    (3, _) | (_, 1) => u32::MAX,
                    (_, 2) => 1 << rng.random_range(0..32),
                    _ => rng.random(),
                });
            let words: Vec<u32> = words.collect();
            masks.push(&words).unwrap();
        }
    }
    masks
}

/// The masks as memory of a device.
fn uploaded(host: &Host, masks: &BatchMasks) -> (u32, u32) {
    (
        host.filled(masks.words()).unwrap(),
        host.filled(masks.rows()).unwrap(),
    )
}

#[test]
fn the_order_of_kernels_is_that_of_the_host() {
    let table = include_str!("../../kernels/host/kernels.h");
    let table = table.split("KERNELS[] = {").nth(1).unwrap();
    let table = table.split("};").next().unwrap();
    let names: Vec<&str> = table
        .split("KERNEL(")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert_eq!(names, Kernel::NAMES);
    assert_eq!(
        Kernel::NAMES[Kernel::Choose(Floats::BF16).number()],
        "choose_bf16"
    );
    assert_eq!(Kernel::NAMES[Kernel::LayOut.number()], "lay_out");
}

/// The mask kernel against the operation on the CPU, which is tested against
/// an oracle of its own.
#[test]
fn masks_are_those_of_the_cpu_bit_for_bit() {
    let Some(host) = Host::new() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for round in 0..60 {
        let floats = ALL[round % 3];
        let batch = rng.random_range(1..4);
        let vocabulary = match round {
            0..3 => 20_000,
            _ => rng.random_range(1..700),
        };
        // Widths that are and are not whole vectors.
        let width = vocabulary + [0, 1, 8, 37][rng.random_range(0..4)];
        let masks = some_masks(&mut rng, batch, vocabulary);
        let values = some_logits(&mut rng, batch * width, floats);
        let logits = host.logits(&values, floats);
        let (words, rows) = uploaded(&host, &masks);
        let shape = Shape {
            batch,
            width,
            vocabulary,
        };
        let device_masks = DeviceMasks {
            words: &words,
            rows: &rows,
        };
        mask(&host, &logits, floats, shape, &device_masks).unwrap();

        let tensor = candle_core::Tensor::from_vec(
            values.clone(),
            (batch, width),
            &candle_core::Device::Cpu,
        );
        let tensor = tensor.unwrap();
        mask_logits(&tensor, &masks).unwrap();
        let wanted = tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let wanted: Vec<u32> = wanted
            .into_iter()
            .map(|value| stored(value, floats).1)
            .collect();
        let found = unpacked(&host.read(&logits).unwrap(), floats, batch * width);
        assert_eq!(found, wanted, "{floats:?} {shape:?}");
    }
}

/// Parameters of all kinds.
fn some_parameters(rng: &mut ChaCha8Rng) -> SamplingConfig {
    let mut config = SamplingConfig::with_temperature(
        [0.0, 0.3, 1.0, 1.7][rng.random_range(0..4)],
        rng.random(),
    );
    config.top_k = [0, 0, 1, 2, 7, 50, 100_000][rng.random_range(0..7)];
    config.top_p = [1.0, 1.0, 0.95, 0.5, 0.01][rng.random_range(0..5)];
    config.min_p = [0.0, 0.0, 0.05, 0.6, 1.0][rng.random_range(0..5)];
    config
}

/// One batch drawn several times by kernels and twin; the tokens agree.
fn compare_draws(host: &Host, rng: &mut ChaCha8Rng, floats: Floats, shape: Shape, threads: u32) {
    let Shape {
        batch,
        width,
        vocabulary,
    } = shape;
    let masks = some_masks(rng, batch, vocabulary);
    let configs: Vec<SamplingConfig> = (0..batch).map(|_| some_parameters(rng)).collect();
    let mut parameters: Vec<Parameters> = configs
        .iter()
        .map(|config| Parameters::new(config).unwrap())
        .collect();
    let words: Vec<u32> = parameters.iter().flat_map(|p| p.words()).collect();
    let mut draws = Draws::new(host, shape, &words).unwrap();
    draws.threads = threads;
    let tokens = host.zeroed(batch).unwrap();
    let (mask_words, rows) = uploaded(host, &masks);
    let device_masks = DeviceMasks {
        words: &mask_words,
        rows: &rows,
    };
    for _ in 0..2 {
        let values = some_logits(rng, batch * width, floats);
        let logits = host.logits(&values, floats);
        draws
            .draw(host, &logits, floats, &device_masks, &tokens)
            .unwrap();
        let found = host.read(&tokens).unwrap();
        for (text, row) in values.chunks(width).enumerate() {
            let row = &row[..vocabulary];
            let mask = masks.mask(text);
            let wanted = twin::draw(row, mask, &mut parameters[text]);
            let found = (found[text] != u32::MAX).then_some(found[text]);
            assert_eq!(found, wanted, "{floats:?} {shape:?} {:?}", configs[text]);
            if configs[text].temperature == 0.0 {
                let mut sampler = Sampler::new(configs[text].clone()).unwrap();
                assert_eq!(found, sampler.sample(row, mask, &[]).ok());
            }
        }
    }
}

#[test]
fn draws_are_those_of_the_twin() {
    let Some(host) = Host::new() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for round in 0..54 {
        let vocabulary = match round % 9 {
            0 => rng.random_range(1..40),
            1 => rng.random_range(4000..9000),
            _ => rng.random_range(40..2500),
        };
        let shape = Shape {
            batch: rng.random_range(1..5),
            width: vocabulary + [0, 3, 64][rng.random_range(0..3)],
            vocabulary,
        };
        // Whatever the size of a block, the tokens are the same.
        compare_draws(
            &host,
            &mut rng,
            ALL[round % 3],
            shape,
            [32, 64, 128][round % 3],
        );
    }
    let shape = Shape {
        batch: 2,
        width: 128_256,
        vocabulary: 128_256,
    };
    compare_draws(&host, &mut rng, Floats::BF16, shape, 512);
}

/// Pearson's statistic of counts against probabilities, with its degrees of
/// freedom; classes that are expected less than five times are put together.
fn chi_square(counts: &[usize], odds: &[f64]) -> (f64, usize) {
    let total: usize = counts.iter().sum();
    let (mut statistic, mut classes) = (0.0, 0);
    let (mut rare, mut rarely) = (0.0, 0);
    for (&count, &odds) in counts.iter().zip(odds) {
        let expected = odds * total as f64;
        if expected == 0.0 {
            assert_eq!(count, 0, "a token was drawn that cannot be");
        } else if expected < 5.0 {
            rare += expected;
            rarely += count;
        } else {
            statistic += (count as f64 - expected).powi(2) / expected;
            classes += 1;
        }
    }
    if rare > 1.0 {
        statistic += (rarely as f64 - rare).powi(2) / rare;
        classes += 1;
    }
    (statistic, classes - 1)
}

/// Returns the value that a statistic exceeds once in a million times, by Wilson and Hilferty's
/// approximation.
fn limit(freedom: usize) -> f64 {
    let freedom = freedom.max(1) as f64;
    freedom * (1.0 - 2.0 / (9.0 * freedom) + 4.753 * (2.0 / (9.0 * freedom)).sqrt()).powi(3)
}

/// The distribution of the CPU's sampler, as it tells it to those that check a
/// draft.
fn odds_of(config: &SamplingConfig, logits: &[f32], mask: Option<&[u32]>) -> Vec<f64> {
    let mut sampler = Sampler::new(config.clone()).unwrap();
    let proposal = sampler.propose(logits, mask, &[]).unwrap();
    let tokens = 0..logits.len() as u32;
    tokens.map(|token| proposal.odds_of(token)).collect()
}

#[test]
fn the_twin_draws_as_the_cpu_sampler_does() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for round in 0..12 {
        let logits: Vec<f32> = (0..60).map(|_| rng.random_range(-3.0..3.0f32)).collect();
        let masked = [rng.random::<u32>() | 1, rng.random::<u32>()];
        let mask = (round % 3 > 0).then_some(&masked[..]);
        let mut config = SamplingConfig::with_temperature([0.5, 1.0, 2.0][round % 3], round as u64);
        config.top_k = [0, 9][round / 2 % 2];
        config.top_p = [1.0, 0.8][round / 4 % 2];
        config.min_p = [0.0, 0.1][round / 3 % 2];
        let odds = odds_of(&config, &logits, mask);
        let mut parameters = Parameters::new(&config).unwrap();
        let mut counts = vec![0; logits.len()];
        for _ in 0..20_000 {
            counts[twin::draw(&logits, mask, &mut parameters).unwrap() as usize] += 1;
        }
        let (statistic, freedom) = chi_square(&counts, &odds);
        assert!(
            statistic < limit(freedom),
            "{round}: {statistic} {freedom} {config:?}"
        );
    }
}

#[test]
fn the_kernels_draw_as_the_cpu_sampler_does() {
    let Some(host) = Host::new() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let row: Vec<f32> = (0..45).map(|_| rng.random_range(-2.0..2.0f32)).collect();
    let mask = [0xF7FF_7EFF, 0x1EFF];
    for (top_k, top_p, min_p) in [(0, 1.0, 0.0), (20, 0.9, 0.05)] {
        let mut config = SamplingConfig::with_temperature(0.9, 0);
        (config.top_k, config.top_p, config.min_p) = (top_k, top_p, min_p);
        // Texts side by side, each with a seed of its own.
        let shape = Shape {
            batch: 50,
            width: 45,
            vocabulary: 45,
        };
        let mut masks = BatchMasks::new(45).unwrap();
        masks.push(&mask).unwrap();
        for _ in 1..shape.batch {
            masks.push_same_as(0).unwrap();
        }
        let words = (0..shape.batch as u64).flat_map(|seed| {
            let config = SamplingConfig {
                seed,
                ..config.clone()
            };
            Parameters::new(&config).unwrap().words()
        });
        let words: Vec<u32> = words.collect();
        let mut draws = Draws::new(&host, shape, &words).unwrap();
        draws.threads = 32;
        let logits = host.logits(&row.repeat(shape.batch), Floats::F32);
        let (words, rows) = uploaded(&host, &masks);
        let device_masks = DeviceMasks {
            words: &words,
            rows: &rows,
        };
        let tokens = host.zeroed(shape.batch).unwrap();
        let mut counts = vec![0; 45];
        for _ in 0..20 {
            draws
                .draw(&host, &logits, Floats::F32, &device_masks, &tokens)
                .unwrap();
            for token in host.read(&tokens).unwrap() {
                counts[token as usize] += 1;
            }
        }
        let odds = odds_of(&config, &row, Some(&mask));
        let (statistic, freedom) = chi_square(&counts, &odds);
        assert!(statistic < limit(freedom), "{statistic} {freedom}");
    }
}

#[cfg(feature = "embedded")]
mod constraints;
