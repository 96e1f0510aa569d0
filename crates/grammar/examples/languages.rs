//! Measures masks of the grammars of programming languages under `tests/data/languages`, each with
//! a program of its own: the time and the visited nodes of each mask, over a real vocabulary. For
//! example:
//!
//! ```console
//! cargo run --release -p grammar --example languages -- tokenizer.json [NAME ..] [--slowest 10] [--times 5]
//! ```
//!
//! `--walk-work` sets the limit `max_walk_work` of grammars. `--folder` names another folder with such
//! files: `NAME.lark` (or the name of another dialect) and `NAME.txt`; what is wrong with one is printed,
//! and the others go on. `--check 5` compares each fifth mask with trying every token of the vocabulary
//! (`brute_force_mask`, some 30 ms each).
//!
//! `--times` runs each program so often, with nothing remembered from before, and says the least time
//! of each mask: on a machine that others use, too, that is nearest to what it takes.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, TokenKind, TokenMask, Vocabulary,
    brute_force_mask,
};
use grammar::{Config, Dialect, Grammar, GrammarAutomaton};

/// One mask.
struct Measured {
    micros: f64,
    nodes: u64,
    /// The bytes of the program before it.
    at: usize,
}

struct Run {
    compile: f64,
    masks: Vec<Measured>,
}

impl Run {
    /// The least time of each mask.
    fn least(mut self, other: &Run) -> Run {
        self.compile = self.compile.min(other.compile);
        for (mask, other) in self.masks.iter_mut().zip(&other.masks) {
            mask.micros = mask.micros.min(other.micros);
        }
        self
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let tokenizer = arguments.next().ok_or("a tokenizer.json is needed")?;
    let mut slowest = 0;
    let mut times = 1;
    let mut names = Vec::new();
    let mut config = Config::default();
    let mut folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/languages");
    let mut check = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--slowest" => slowest = arguments.next().ok_or("how many?")?.parse()?,
            "--times" => times = arguments.next().ok_or("how many?")?.parse()?,
            "--walk-work" => {
                config.max_walk_work = arguments.next().ok_or("how much?")?.parse()?;
            }
            "--folder" => folder = arguments.next().ok_or("which folder?")?.into(),
            "--check" => check = Some(arguments.next().ok_or("how often?")?.parse()?),
            _ => names.push(argument),
        }
    }
    if names.is_empty() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "txt") {
                let name = path.file_stem().unwrap_or_default();
                names.push(name.to_string_lossy().into_owned());
            }
        }
        names.sort();
    }
    let vocabulary = Vocabulary::from_tokenizer_json(&std::fs::read(tokenizer)?)?;
    // A server's vocabulary has met schemas before.
    vocabulary.prepare(fsm_index::JSON_TEXT);
    let all = vocabulary.texts();
    let all = all.filter(|(token, _)| vocabulary.kind(*token) == TokenKind::Text);
    let texts: HashMap<&[u8], TokenId> = all.map(|(token, bytes)| (bytes, token)).collect();
    println!(
        "{:12} {:>9} {:>6} {:>7} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "language",
        "compile",
        "masks",
        "first",
        "average",
        "p50",
        "p90",
        "p99",
        "worst",
        "nodes",
        "most"
    );
    let mut failed = 0;
    for name in &names {
        let program = std::fs::read(folder.join(format!("{name}.txt")))?;
        let run = spell(&program, &texts).and_then(|tokens| {
            let (grammar, dialect) = read(&folder.join(name))?;
            let parts = (&vocabulary, &config);
            let mut run = measure((&grammar, dialect), &program, &tokens, parts, check)?;
            for _ in 1..times {
                let again = measure((&grammar, dialect), &program, &tokens, parts, None)?;
                run = run.least(&again);
            }
            Ok(run)
        });
        match run {
            Ok(run) => show(name, &run, &program, slowest),
            Err(error) => {
                println!("{name}: {error}");
                failed += 1;
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} failed", names.len()).into()),
    }
}

/// Reads the grammar of a name, in the dialect that its file ends with.
fn read(name: &Path) -> Result<(String, Dialect), Box<dyn Error>> {
    for dialect in Dialect::ALL {
        let file = name.with_added_extension(dialect.name());
        if file.exists() {
            return Ok((std::fs::read_to_string(file)?, dialect));
        }
    }
    Err(format!("no grammar of {}", name.display()).into())
}

/// Leads a program token by token, and compares each so manieth mask with trying every token.
fn measure(
    (text, dialect): (&str, Dialect),
    program: &[u8],
    tokens: &[TokenId],
    (vocabulary, config): (&Vocabulary, &Config),
    check: Option<usize>,
) -> Result<Run, Box<dyn Error>> {
    let begun = Instant::now();
    let automaton = Grammar::compile(text, dialect, config)?;
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton, vocabulary, &config)?);
    let compile = micros(begun);
    let mut guide: Guide<GrammarAutomaton> = Guide::new(index.clone());
    let mut state = index.automaton().start();
    let mut scratch = index.automaton().scratch();
    let mut masks = Vec::new();
    let mut at = 0;
    for (number, &token) in tokens.iter().enumerate() {
        let before = index.stats().nodes_visited;
        let begun = Instant::now();
        let mask = guide.mask()?;
        let micros = micros(begun);
        masks.push(Measured {
            micros,
            nodes: index.stats().nodes_visited - before,
            at,
        });
        if check.is_some_and(|every| number % every == 0) {
            let tried = brute_force_mask(index.automaton(), &state, vocabulary);
            compare(mask, &tried, vocabulary).map_err(|error| {
                let from = String::from_utf8_lossy(&program[at..]).into_owned();
                format!("before {from:?}: {error}")
            })?;
        }
        if !mask.allows(token) {
            let from = String::from_utf8_lossy(&program[at..]).into_owned();
            return Err(format!("refused before {from:?}").into());
        }
        guide.advance(token)?;
        let bytes = vocabulary
            .token_bytes(token)
            .ok_or("a token has no bytes")?;
        if check.is_some() {
            let advanced = index.automaton().advance(&mut state, bytes, &mut scratch);
            advanced.map_err(|at| format!("{bytes:?} is refused at byte {at}"))?;
        }
        at += bytes.len();
    }
    if !guide.is_accepting() {
        return Err("not at an end behind the program".into());
    }
    Ok(Run { compile, masks })
}

/// Says which tokens a mask has that trying each does not find, or the other way round.
fn compare(
    mask: &TokenMask,
    tried: &TokenMask,
    vocabulary: &Vocabulary,
) -> Result<(), Box<dyn Error>> {
    let only = |some: &TokenMask, other: &TokenMask| -> Vec<String> {
        let only = some.iter().filter(|&token| !other.allows(token));
        let bytes = only.map(|token| vocabulary.token_bytes(token).unwrap_or(b"(special)"));
        bytes
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    };
    let [more, less] = [only(mask, tried), only(tried, mask)];
    if more.is_empty() && less.is_empty() {
        return Ok(());
    }
    let few = |tokens: &[String]| format!("{} {:?}", tokens.len(), &tokens[..tokens.len().min(5)]);
    Err(format!(
        "the mask has {} too many, {} too few",
        few(&more),
        few(&less)
    )
    .into())
}

fn micros(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}

/// Spells a program, the longest token each time.
fn spell(program: &[u8], texts: &HashMap<&[u8], TokenId>) -> Result<Vec<TokenId>, Box<dyn Error>> {
    let most = texts.keys().map(|bytes| bytes.len()).max().unwrap_or(0);
    let mut tokens = Vec::new();
    let mut rest = program;
    while !rest.is_empty() {
        let mut lengths = (1..=rest.len().min(most)).rev();
        let longest = lengths.find_map(|length| Some((texts.get(&rest[..length])?, length)));
        let (token, length) = longest.ok_or("the vocabulary cannot spell it")?;
        tokens.push(*token);
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn show(name: &str, run: &Run, program: &[u8], slowest: usize) {
    let mut times: Vec<f64> = run.masks.iter().map(|mask| mask.micros).collect();
    let average = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    let quantile = |q: f64| times[((times.len() - 1) as f64 * q).round() as usize];
    let nodes: u64 = run.masks.iter().map(|mask| mask.nodes).sum();
    let most = run.masks.iter().map(|mask| mask.nodes).max().unwrap_or(0);
    println!(
        "{name:12} {:9.0} {:6} {:7.0} {average:7.1} {:7.1} {:8.1} {:8.0} {:8.0} {:8} {most:8}",
        run.compile,
        times.len(),
        run.masks[0].micros,
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(1.0),
        nodes / times.len() as u64,
    );
    let mut order: Vec<&Measured> = run.masks.iter().collect();
    order.sort_by(|a, b| b.micros.total_cmp(&a.micros));
    for mask in order.into_iter().take(slowest) {
        let from = mask.at.saturating_sub(40);
        let before = String::from_utf8_lossy(&program[from..mask.at]);
        println!(
            "    {:8.0} us {:8} nodes behind {before:?}",
            mask.micros, mask.nodes
        );
    }
}
