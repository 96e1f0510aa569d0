//! Measures masks of the grammars of programming languages under `tests/data/languages`, each with
//! a program of its own: the time and the visited nodes of each mask, over a real vocabulary. For
//! example:
//!
//! ```console
//! cargo run --release -p grammar --example languages -- tokenizer.json [NAME ..] [--slowest 10] [--times 5]
//! ```
//!
//! `--walk-work` sets the limit `max_walk_work` of grammars.
//!
//! `--times` runs each program so often, with nothing remembered from before, and says the least time
//! of each mask: on a machine that others use, too, that is nearest to what it takes.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId, TokenKind, Vocabulary};
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
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--slowest" => slowest = arguments.next().ok_or("how many?")?.parse()?,
            "--times" => times = arguments.next().ok_or("how many?")?.parse()?,
            "--walk-work" => {
                config.max_walk_work = arguments.next().ok_or("how much?")?.parse()?;
            }
            _ => names.push(argument),
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/languages");
    if names.is_empty() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "lark") {
                names.extend(
                    path.file_stem()
                        .map(|name| name.to_string_lossy().into_owned()),
                );
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
    for name in &names {
        let (grammar, dialect) = read(&folder.join(name))?;
        let program = std::fs::read(folder.join(format!("{name}.txt")))?;
        let tokens = spell(&program, &texts).map_err(|error| format!("{name}: {error}"))?;
        if tokens.is_empty() {
            return Err(format!("{name}.txt is empty").into());
        }
        let measured = || {
            measure((&grammar, dialect), &program, &tokens, &vocabulary, &config)
                .map_err(|error| format!("{name}: {error}"))
        };
        let mut run = measured()?;
        for _ in 1..times {
            run = run.least(&measured()?);
        }
        show(name, &run, &program, slowest);
    }
    Ok(())
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

/// Leads a program token by token.
fn measure(
    (text, dialect): (&str, Dialect),
    program: &[u8],
    tokens: &[TokenId],
    vocabulary: &Vocabulary,
    config: &Config,
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
    let mut masks = Vec::new();
    let mut at = 0;
    for &token in tokens {
        let before = index.stats().nodes_visited;
        let begun = Instant::now();
        let mask = guide.mask()?;
        let micros = micros(begun);
        masks.push(Measured {
            micros,
            nodes: index.stats().nodes_visited - before,
            at,
        });
        if !mask.allows(token) {
            let from = String::from_utf8_lossy(&program[at..]).into_owned();
            return Err(format!("refused before {from:?}").into());
        }
        guide.advance(token)?;
        at += vocabulary.token_bytes(token).map_or(1, <[u8]>::len);
    }
    if !guide.is_accepting() {
        return Err("not at an end behind the program".into());
    }
    Ok(Run { compile, masks })
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
