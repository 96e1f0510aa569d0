//! Checks and measures what runs on a GPU, for machines that have one.
//!
//! `scripts/build-cuda-tests` builds it, and `scripts/run-cuda-tests` runs it
//! within ten minutes; `--own-kernels` leaves out what needs more of CUDA than this
//! project's kernels, for `scripts/check-cuda-launch`. First the kernels against the CPU, to the bit; then the
//! mask kernel's share of the card's own copy bandwidth, and what a step costs
//! with masks from the device, from the host, and without.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candle_core::{CudaDevice, DType, Device, Tensor};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tokenmold::fsm_index::{Guide, Index, TokenId, Vocabulary};
use tokenmold::gpu::{DeviceChoice, DeviceSampler, ResidentDecoder, ResidentText, UploadedMasks};
use tokenmold::masking::{BatchMasks, mask_logits};
use tokenmold::model::{Model, Transformer};
use tokenmold::sampling::{Sampler, SamplingConfig};
use tokenmold::tokenizer::Surround;
use tokenmold::{Error, embedded};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const WIDTH: usize = 128_256;
const TYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gpu: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let device = DeviceChoice::Cuda(0).open()?;
    let Device::Cuda(cuda) = &device else {
        return Err("the device is no GPU".into());
    };
    println!("GPU: {}", cuda.cuda_stream().context().name()?);
    let vocabulary = vocabulary()?;
    masks_agree(&device)?;
    draws_agree(&device)?;
    decoding_agrees(&device, &vocabulary)?;
    if std::env::args().any(|argument| argument == "--own-kernels") {
        println!("all checks of our own kernels passed");
        return Ok(());
    }
    the_model_decodes(&device)?;
    bandwidth(&device, cuda)?;
    steps(&device, &vocabulary)?;
    println!("all checks passed");
    Ok(())
}

/// The 256 bytes and words of letters, digits and punctuation, as wide as Llama 3's
/// vocabulary, and the same every time.
fn vocabulary() -> Result<Vocabulary> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let alphabet = b"etaoinshrdlucmfwypvbgkjqxz0123456789  \",:{}-";
    while words.len() < WIDTH - 1 {
        let length = rng.random_range(2..10);
        let word = (0..length).map(|_| alphabet[rng.random_range(0..alphabet.len())]);
        words.push(word.collect());
    }
    let tokens = words
        .iter()
        .zip(0..)
        .map(|(word, id)| (word, TokenId::new(id)));
    Ok(Vocabulary::new(tokens, [TokenId::new(WIDTH as u32 - 1)])?)
}

fn random_logits(rng: &mut ChaCha8Rng, batch: usize, width: usize) -> Result<Tensor> {
    let values = (0..batch * width).map(|_| match rng.random_range(0..200) {
        0 => f32::NEG_INFINITY,
        1 => f32::NAN,
        2..20 => rng.random_range(-6..7) as f32,
        _ => (0..4).map(|_| rng.random_range(-3.0..3.0f32)).sum(),
    });
    let values: Vec<f32> = values.collect();
    Ok(Tensor::from_vec(values, (batch, width), &Device::Cpu)?)
}

fn random_masks(rng: &mut ChaCha8Rng, batch: usize, vocabulary: usize) -> Result<BatchMasks> {
    let mut masks = BatchMasks::new(vocabulary)?;
    for text in 0..batch {
        match rng.random_range(0..5) {
            0 => {
                masks.push_unmasked();
            }
            1 if text > 0 => {
                masks.push_same_as(rng.random_range(0..text))?;
            }
            kind => {
                let words = (0..vocabulary.div_ceil(32)).map(|_| match rng.random_range(0..8) {
                    0 => u32::MAX,
                    1..4 => 0,
                    _ if kind == 2 => 0,
                    _ => rng.random(),
                });
                masks.push(&words.collect::<Vec<u32>>())?;
            }
        }
    }
    Ok(masks)
}

/// The bits of a tensor's values.
fn bits(tensor: &Tensor) -> Result<Vec<u32>> {
    let flat = tensor.to_device(&Device::Cpu)?.flatten_all()?;
    let values = flat.to_dtype(DType::F32)?.to_vec1::<f32>()?;
    Ok(values.into_iter().map(f32::to_bits).collect())
}

fn masks_agree(device: &Device) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut cases = 0;
    for round in 0..150 {
        let (batch, vocabulary) = match round {
            0..6 => (8, WIDTH - rng.random_range(0..40)),
            _ => (rng.random_range(1..9), rng.random_range(1..5000)),
        };
        let width = vocabulary + [0, 1, 8, 64][rng.random_range(0..4)];
        let masks = random_masks(&mut rng, batch, vocabulary)?;
        let logits = random_logits(&mut rng, batch, width)?;
        for dtype in TYPES {
            let here = logits.to_dtype(dtype)?;
            let there = here.to_device(device)?;
            let again = there.copy()?;
            mask_logits(&here, &masks)?;
            mask_logits(&there, &masks)?;
            UploadedMasks::new(device, &masks)?.apply(&again)?;
            let wanted = bits(&here)?;
            if bits(&there)? != wanted || bits(&again)? != wanted {
                return Err(format!("masks differ: {dtype:?} {batch} x {width}").into());
            }
            cases += 1;
        }
    }
    println!("masks: {cases} batches equal to the CPU's, bit for bit");
    Ok(())
}

fn random_config(rng: &mut ChaCha8Rng) -> SamplingConfig {
    let temperature = [0.0, 0.4, 1.0, 1.8][rng.random_range(0..4)];
    let mut config = SamplingConfig::with_temperature(temperature, rng.random());
    config.top_k = [0, 0, 1, 5, 60, 2000][rng.random_range(0..6)];
    config.top_p = [1.0, 1.0, 0.95, 0.6][rng.random_range(0..4)];
    config.min_p = [0.0, 0.0, 0.02, 0.5][rng.random_range(0..4)];
    config
}

fn draws_agree(device: &Device) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut tokens = 0;
    for round in 0..120 {
        let vocabulary = match round {
            0..12 => WIDTH,
            _ => rng.random_range(1..6000),
        };
        let width = vocabulary + [0, 7, 64][rng.random_range(0..3)];
        let batch = rng.random_range(1..9);
        let configs: Vec<SamplingConfig> = (0..batch).map(|_| random_config(&mut rng)).collect();
        let mut here = DeviceSampler::new(&Device::Cpu, &configs, vocabulary, width)?;
        let mut there = DeviceSampler::new(device, &configs, vocabulary, width)?;
        for step in 0..5 {
            let masks = random_masks(&mut rng, batch, vocabulary)?;
            let logits = random_logits(&mut rng, batch, width)?.to_dtype(TYPES[round % 3])?;
            here.upload(&masks)?;
            there.upload(&masks)?;
            let wanted = here.draw(&logits)?;
            let found = there.draw(&logits.to_device(device)?)?;
            if found != wanted {
                return Err(format!("draws differ in step {step}: {configs:?}").into());
            }
            let rows = logits.to_dtype(DType::F32)?.to_vec2::<f32>()?;
            for (text, config) in configs
                .iter()
                .enumerate()
                .filter(|c| c.1.temperature == 0.0)
            {
                let mut sampler = Sampler::new(config.clone())?;
                let greedy = sampler.sample(&rows[text][..vocabulary], masks.mask(text), &[]);
                if found[text] != greedy.ok() {
                    return Err("a greedy token is not that of the CPU sampler".into());
                }
            }
            tokens += batch;
        }
    }
    println!("draws: {tokens} tokens equal to the CPU twin's; greedy ones to the sampler's");
    Ok(())
}

const PATTERNS: [&str; 3] = [
    r#"\{"name": "[^"\\\x00-\x1F]{0,40}", "age": [0-9]{1,3}, "tags": \["[a-z]+"(, "[a-z]+")*\]\}"#,
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}",
    r".{0,400}",
];

/// Constraints of which no text is over while steps are timed.
const LONG_PATTERNS: [&str; 3] = [
    r#"[^"\\]{4000}"#,
    r#"(\{"id": [0-9]{1,9}, "name": "[a-z ]{5,40}"\}, ){100}end"#,
    r"[0-9, -]{3000}",
];

fn indexes(patterns: &[&str], vocabulary: &Vocabulary) -> Result<Vec<Arc<Index>>> {
    let indexes = patterns
        .iter()
        .map(|pattern| Ok(Arc::new(Index::new(pattern, vocabulary)?)));
    indexes.collect()
}

/// Texts under the constraints in turn.
fn texts(indexes: &[Arc<Index>], batch: usize, sampling: &SamplingConfig) -> Vec<ResidentText> {
    let text = |at: usize| {
        let mut sampling = sampling.clone();
        sampling.seed = at as u64;
        let index = Some(indexes[at % indexes.len()].clone());
        ResidentText { index, sampling }
    };
    (0..batch).map(text).collect()
}

fn decoding_agrees(device: &Device, vocabulary: &Vocabulary) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let indexes = indexes(&PATTERNS, vocabulary)?;
    let mut sampling = SamplingConfig::with_temperature(1.0, 0);
    sampling.top_p = 0.97;
    let mut texts = texts(&indexes, 7, &sampling);
    texts.push(ResidentText {
        index: None,
        sampling,
    });
    let mut here = ResidentDecoder::new(&Device::Cpu, vocabulary, WIDTH, &texts, 20)?;
    let mut there = ResidentDecoder::new(device, vocabulary, WIDTH, &texts, 20)?;
    let mut tokens = 0;
    for step in 0..60 {
        let logits = random_logits(&mut rng, texts.len(), WIDTH)?;
        let wanted = here.step(&logits)?.to_vec1::<u32>()?;
        let found = there.step(&logits.to_device(device)?)?.to_vec1::<u32>()?;
        if found != wanted {
            return Err(format!("step {step}: {found:?}, and the CPU has {wanted:?}").into());
        }
        if here.room() == 0 {
            let taken = there.take()?;
            if taken != here.take()? {
                return Err("the blocks of tokens differ".into());
            }
            tokens += taken.iter().map(Vec::len).sum::<usize>();
        }
    }
    println!("resident: {tokens} tokens equal to the CPU twin's, accepted by guides");
    Ok(())
}

/// The embedded model, decoding on the GPU under resident constraints.
fn the_model_decodes(device: &Device) -> Result<()> {
    let loaded = embedded::load_on(DeviceChoice::Cuda(0))?;
    let vocabulary = loaded.tokenizer.vocabulary();
    let patterns = [
        r#"\{"name":"[^"\\]{1,12}","age":[0-9]{1,2}\}"#,
        "[0-9]{4}-[01][0-9]-[0-3][0-9]",
    ];
    let prompt = "Note about Vera Hale, is 41 years old.";
    let prompt = loaded.tokenizer.encode(prompt, Surround::Add)?;
    let mut texts = Vec::new();
    for pattern in patterns {
        let index = Some(Arc::new(Index::new(pattern, vocabulary)?));
        texts.push(ResidentText {
            index,
            sampling: SamplingConfig::greedy(),
        });
    }
    let mut both = Vec::new();
    let cpu = embedded::load()?;
    for (model, device) in [(&loaded.model, device), (&cpu.model, &Device::Cpu)] {
        let mut models: Vec<Transformer> = texts.iter().map(|_| model.fork()).collect();
        let mut logits = Vec::new();
        for model in &mut models {
            logits.extend(model.forward(&prompt, 0)?);
        }
        let width = model.vocabulary_width();
        let logits = Tensor::from_vec(logits, (texts.len(), width), device)?;
        let mut decoder = ResidentDecoder::new(device, vocabulary, width, &texts, 8)?;
        let mut forward = |fed: &Tensor| -> std::result::Result<Tensor, Error> {
            Transformer::forward_fed(&mut models, fed)
        };
        both.push(decoder.decode(logits, &mut forward, 60)?);
    }
    // The models' sums are taken in other orders, so that a close choice may differ.
    let same = both[0] == both[1];
    println!(
        "model: {} texts decoded on the GPU; same as on the CPU: {same}",
        texts.len()
    );
    Ok(())
}

/// The average time of a call, with the device waited for at the end alone.
fn average(device: &Device, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    for _ in 0..3 {
        call()?;
    }
    device.synchronize()?;
    let began = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    device.synchronize()?;
    Ok(began.elapsed() / calls)
}

/// A kind of masks: its name, how often the logits are moved, and how a word comes
/// about.
type Kind = (&'static str, f64, fn(&mut ChaCha8Rng) -> u32);

fn bandwidth(device: &Device, cuda: &CudaDevice) -> Result<()> {
    const BATCH: usize = 256;
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    println!("\nmask kernel, batch {BATCH} x {WIDTH}: bytes read and written over time");
    for dtype in TYPES {
        let logits = Tensor::randn(0f32, 1.0, (BATCH, WIDTH), device)?.to_dtype(dtype)?;
        let bytes = BATCH * WIDTH * dtype.size_in_bytes();
        let from = cuda.alloc_zeros::<u8>(bytes)?;
        let mut to = cuda.alloc_zeros::<u8>(bytes)?;
        let copy = average(device, 100, || Ok(cuda.memcpy_dtod(&from, &mut to)?))?;
        let rate = |moved: f64, time: Duration| moved / time.as_secs_f64() / 1e9;
        let copied = rate(2.0 * bytes as f64, copy);
        println!(
            "{:4}  copy               {:8.1} us {copied:7.0} GB/s",
            dtype.as_str(),
            micros(copy)
        );
        // A mixed mask moves all logits twice; one that forbids all, once.
        let kinds: [Kind; 2] = [
            ("mixed words", 2.0, RngExt::random),
            ("all forbidden", 1.0, |_| 0),
        ];
        for (name, times, word) in kinds {
            let mut masks = BatchMasks::new(WIDTH)?;
            for _ in 0..BATCH {
                let words = (0..WIDTH.div_ceil(32)).map(|_| word(&mut rng));
                masks.push(&words.collect::<Vec<u32>>())?;
            }
            let masks = UploadedMasks::new(device, &masks)?;
            let time = average(device, 100, || Ok(masks.apply(&logits)?))?;
            let moved = times * bytes as f64 + (BATCH * WIDTH / 8) as f64;
            let reached = rate(moved, time);
            println!(
                "{:4}  {name:18} {:8.1} us {reached:7.0} GB/s, {:.0} % of the copy's",
                dtype.as_str(),
                micros(time),
                100.0 * reached / copied
            );
        }
    }
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// What a step costs beside the model: logits are there, tokens are wanted.
fn steps(device: &Device, vocabulary: &Vocabulary) -> Result<()> {
    const STEPS: usize = 200;
    let indexes = indexes(&LONG_PATTERNS, vocabulary)?;
    let mut filtered = SamplingConfig::with_temperature(0.8, 0);
    (filtered.top_k, filtered.top_p) = (50, 0.95);
    let plain = SamplingConfig::with_temperature(0.8, 0);
    println!("\na step of f16 logits x {WIDTH}, us:");
    println!("batch  sampling             free  resident  host mask  host logits");
    for batch in [1, 16, 64, 256] {
        let logits = Tensor::randn(0f32, 3.0, (batch, WIDTH), device)?.to_dtype(DType::F16)?;
        for (name, sampling) in [
            ("greedy", &SamplingConfig::greedy()),
            ("temperature", &plain),
            ("top-k, top-p", &filtered),
        ] {
            let bound = texts(&indexes, batch, sampling);
            let free: Vec<ResidentText> = bound
                .iter()
                .map(|text| ResidentText {
                    index: None,
                    ..text.clone()
                })
                .collect();
            let resident = |texts: &[ResidentText]| -> Result<Duration> {
                let mut decoder =
                    ResidentDecoder::new(device, vocabulary, WIDTH, texts, STEPS + 3)?;
                average(device, STEPS as u32, || {
                    decoder.step(&logits).map(drop).map_err(Into::into)
                })
            };
            let (free, bound_time) = (resident(&free)?, resident(&bound)?);
            println!(
                "{batch:5}  {name:14} {:10.1} {:9.1} {:10.1} {:12.1}",
                micros(free),
                micros(bound_time),
                micros(with_host_masks(device, &logits, vocabulary, &bound)?),
                micros(with_host_logits(&logits, &bound)?),
            );
        }
    }
    Ok(())
}

/// Masks of guides on the host, uploaded, and draws on the device.
fn with_host_masks(
    device: &Device,
    logits: &Tensor,
    vocabulary: &Vocabulary,
    texts: &[ResidentText],
) -> Result<Duration> {
    let configs: Vec<SamplingConfig> = texts.iter().map(|text| text.sampling.clone()).collect();
    let mut sampler = DeviceSampler::new(device, &configs, WIDTH, WIDTH)?;
    let mut guides = guides(texts);
    let mut masks = BatchMasks::new(vocabulary.width())?;
    average(device, 60, || {
        masks.clear();
        for guide in &mut guides {
            masks.push(guide.mask()?.words())?;
        }
        sampler.upload(&masks)?;
        let tokens = sampler.draw(logits)?;
        advance(&mut guides, tokens, texts)
    })
}

/// Logits copied to the host and drawn from there.
fn with_host_logits(logits: &Tensor, texts: &[ResidentText]) -> Result<Duration> {
    let mut guides = guides(texts);
    let samplers = texts.iter().map(|text| Sampler::new(text.sampling.clone()));
    let mut samplers: Vec<Sampler> = samplers.collect::<std::result::Result<_, _>>()?;
    average(&Device::Cpu, 10, || {
        let rows = logits.to_dtype(DType::F32)?.to_vec2::<f32>()?;
        let mut tokens = Vec::new();
        for ((row, guide), sampler) in rows.iter().zip(&mut guides).zip(&mut samplers) {
            tokens.push(sampler.sample(row, Some(guide.mask()?.words()), &[]).ok());
        }
        advance(&mut guides, tokens, texts)
    })
}

fn guides(texts: &[ResidentText]) -> Vec<Guide> {
    let indexes = texts.iter().filter_map(|text| text.index.clone());
    indexes.map(Guide::new).collect()
}

/// Takes the tokens; texts that end begin anew.
fn advance(guides: &mut [Guide], tokens: Vec<Option<u32>>, texts: &[ResidentText]) -> Result<()> {
    for ((guide, token), text) in guides.iter_mut().zip(tokens).zip(texts) {
        match (token, &text.index) {
            (Some(token), _) if !guide.is_finished() => guide.advance(TokenId::new(token))?,
            (_, Some(index)) => *guide = Guide::new(index.clone()),
            _ => {}
        }
    }
    Ok(())
}
