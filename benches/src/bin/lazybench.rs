//! Measures the masks of a lazy index over an automaton with a stack: computed and remembered, by
//! kind of state, beside one walk over the whole vocabulary. For example, the row "free string" has
//! the times of masks inside of a JSON string without a limit.

#[path = "../../../crates/fsm-index/tests/all/json_like/mod.rs"]
mod json_like;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use fsm_index::{
    Config, Dfa, Fill, Guide, Index, IndexConfig, JSON_TEXT, PlainText, TextRuns, TokenId,
    Vocabulary,
};
use json_like::{At, JsonLike, State};
use tokenmold_benches::cases;
use tokenmold_benches::program;
use tokenmold_benches::spell::Speller;
use tokenmold_benches::stats::Summary;

/// Measures masks of an automaton like that of a JSON schema: nested without bound, with free
/// and limited strings, patterns, enums and numbers.
///
/// `cold` masks come from an index that remembers nothing but how the vocabulary is cut;
/// `cached` ones from one that was asked for all of them before. Both are lent, not copied.
/// A tokenizer that lacks bytes is measured with these filled in, too, with ratios.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`.
    #[arg(long)]
    tokenizer: PathBuf,

    /// Cases, as for `maskbench`: their valid texts are walked through too.
    #[arg(long)]
    cases: Option<PathBuf>,

    /// Texts by chance.
    #[arg(long, default_value_t = 10_000)]
    walks: usize,

    /// Tokens of each, at most.
    #[arg(long, default_value_t = 40)]
    tokens: usize,
}

fn main() -> ExitCode {
    program::end("lazybench", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let path = arguments.tokenizer.display();
    let json = std::fs::read(&arguments.tokenizer).map_err(|e| format!("{path}: {e}"))?;
    let vocabulary = Vocabulary::from_tokenizer_json(&json).map_err(|e| format!("{path}: {e}"))?;
    let texts = texts(arguments, &vocabulary, &json)?;
    let found = column(&path.to_string(), &vocabulary, &texts)?;
    let missing = vocabulary.missing_bytes().len();
    if missing > 0 {
        let filled = vocabulary.with_all_bytes().map_err(|e| e.to_string())?;
        let name = format!("{path}, with {missing} bytes filled in");
        let whole = column(&name, &filled, &texts)?;
        println!("\n{path} / the same with {missing} bytes filled in");
        for (name, (lacks, whole)) in ["cold", "cached"].into_iter().zip(found.iter().zip(&whole)) {
            println!(
                "{name:<15} avg {:.2} p50 {:.2} p99 {:.2}",
                lacks.avg / whole.avg,
                lacks.p50 / whole.p50,
                lacks.p99 / whole.p99
            );
        }
    }
    Ok(())
}

/// Measures the masks of texts in one vocabulary, cold and cached.
fn column(
    name: &str,
    vocabulary: &Vocabulary,
    texts: &[Vec<TokenId>],
) -> Result<[Summary; 2], String> {
    let start = Instant::now();
    vocabulary.prepare(JSON_TEXT);
    let automaton = JsonLike::default();
    vocabulary.prepare(automaton.class(fsm_index::ClassId(1)));
    println!("\n{name}: cut by two classes in {:.1?}", start.elapsed());

    let walk = whole_walk(vocabulary)?;
    let own = own_walk(vocabulary)?;
    println!(
        "one walk over the whole vocabulary: {walk:.0} us by a table, {own:.0} us by this automaton"
    );
    let lazily = |max_row_bytes| {
        let config = IndexConfig {
            fill: Fill::Lazy,
            max_row_bytes,
            ..IndexConfig::default()
        };
        Index::lazy(automaton.clone(), vocabulary, &config)
            .map(Arc::new)
            .map_err(|e| e.to_string())
    };
    let (cold, cached) = (lazily(0)?, lazily(1 << 30)?);
    let mut times: [BTreeMap<&str, Vec<f64>>; 2] = Default::default();
    for round in 0..3 {
        for text in texts {
            match round {
                0 => measure(&cold, text, Some(&mut times[0])),
                1 => measure(&cached, text, None),
                _ => measure(&cached, text, Some(&mut times[1])),
            }
        }
    }
    let mut names = ["cold", "cached"].into_iter();
    let summaries = times.map(|times| {
        println!(
            "\n{:<15} {:>9} {:>8} {:>8} {:>8} {:>8}  us",
            names.next().unwrap_or_default(),
            "masks",
            "p50",
            "p99",
            "p99.9",
            "max"
        );
        let mut all = Vec::new();
        for (kind, times) in times {
            all.extend_from_slice(&times);
            line(kind, times);
        }
        let all = line("all", all);
        println!(
            "p99 is 1/{:.0} of a whole walk by a table and 1/{:.0} of one by this automaton; the \
             longest {:.2} and {:.2} of one",
            walk / all.p99,
            own / all.p99,
            all.max / walk,
            all.max / own
        );
        all
    });
    let stats = cached.stats();
    println!(
        "\nremembered: {} rows, {} KiB",
        stats.rows,
        stats.row_bytes / 1024
    );
    Ok(summaries)
}

fn line(name: &str, times: Vec<f64>) -> Summary {
    let s = Summary::new(times);
    println!(
        "{name:<15} {:>9} {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
        s.count, s.p50, s.p99, s.p999, s.max
    );
    s
}

/// A walk that nearly every token survives, over the table of a small automaton: the median
/// of some, in microseconds.
fn whole_walk(vocabulary: &Vocabulary) -> Result<f64, String> {
    let config = Config::default();
    let dfa = Dfa::new(r#"([^"\\\x00-\x1F]|\\.)*""#).map_err(|e| e.to_string())?;
    let dfa = dfa.to_bytes(&config).map_err(|e| e.to_string())?;
    let forgetful = IndexConfig {
        fill: Fill::Lazy,
        text_runs: TextRuns::Never,
        max_row_bytes: 0,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::build(dfa, vocabulary, &forgetful).map_err(|e| e.to_string())?);
    let times = (0..51).map(|_| {
        let mut guide = Guide::new(index.clone());
        let start = Instant::now();
        guide.mask().unwrap();
        start.elapsed().as_secs_f64() * 1e6
    });
    Ok(Summary::new(times.collect()).p50)
}

/// The same by this automaton, in a free string.
fn own_walk(vocabulary: &Vocabulary) -> Result<f64, String> {
    let forgetful = IndexConfig {
        fill: Fill::Lazy,
        text_runs: TextRuns::Never,
        max_row_bytes: 0,
        ..IndexConfig::default()
    };
    let index = Index::lazy(JsonLike::default(), vocabulary, &forgetful);
    let index = Arc::new(index.map_err(|e| e.to_string())?);
    let quote = vocabulary.texts().find(|t| t.1 == b"\"").map(|t| t.0);
    let times = (0..11).map(|_| {
        let mut guide = Guide::new(index.clone());
        if let Some(quote) = quote {
            guide.advance(quote).map_err(|e| e.to_string())?;
        }
        let start = Instant::now();
        guide.mask().unwrap();
        Ok(start.elapsed().as_secs_f64() * 1e6)
    });
    Ok(Summary::new(times.collect::<Result<_, String>>()?).p50)
}

/// The valid texts of the cases, as their tokenizer cuts them, and texts by chance, which
/// begin where each kind of state is near.
fn texts(
    arguments: &Arguments,
    vocabulary: &Vocabulary,
    tokenizer: &[u8],
) -> Result<Vec<Vec<TokenId>>, String> {
    let mut texts = Vec::new();
    if let Some(path) = &arguments.cases {
        let speller = Speller::from_tokenizer_json(tokenizer, vocabulary)?;
        for case in cases::read(path)? {
            for test in case.tests.iter().filter(|test| test.valid) {
                let tokens = speller.spell(&test.text).into_iter().flatten();
                texts.push(tokens.map(TokenId::new).collect());
            }
        }
        println!("{} valid texts", texts.len());
    }
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(JsonLike::default(), vocabulary, &config).map_err(|e| e.to_string())?;
    let index = Arc::new(index);
    let names = [
        "",
        "{\"free\": \"",
        "{\"short\": \"",
        "{\"long\":\"",
        "[{\"code\":\"",
        "{\"kind\":\"",
        "{\"count\":",
        "{\"x\":{\"",
    ];
    let mut chance = 1u64;
    for walk in 0..arguments.walks {
        let mut guide = Guide::new(index.clone());
        let mut text = Vec::new();
        for byte in names[walk % names.len()].bytes() {
            let token = vocabulary.texts().find(|t| t.1 == [byte]).map(|t| t.0);
            text.extend(token);
        }
        for &token in &text {
            guide.advance(token).map_err(|e| e.to_string())?;
        }
        for _ in 0..arguments.tokens {
            let allowed: Vec<TokenId> = guide.mask().unwrap().iter().collect();
            chance = chance.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let Some(&token) = allowed.get((chance >> 33) as usize % allowed.len().max(1)) else {
                break;
            };
            guide.advance(token).map_err(|e| e.to_string())?;
            text.push(token);
        }
        texts.push(text);
    }
    Ok(texts)
}

/// Asks for the mask before each token, as far as the automaton takes the text.
fn measure(
    index: &Arc<Index<JsonLike>>,
    text: &[TokenId],
    mut times: Option<&mut BTreeMap<&'static str, Vec<f64>>>,
) {
    let mut guide = Guide::new(index.clone());
    for &token in text {
        let kind = kind(guide.state());
        let start = Instant::now();
        guide.mask().unwrap();
        let time = start.elapsed().as_secs_f64() * 1e6;
        if let Some(times) = &mut times {
            times.entry(kind).or_default().push(time);
        }
        if guide.advance(token).is_err() {
            return;
        }
    }
}

fn kind(state: &State) -> &'static str {
    match state.at {
        At::Key(..) => "key",
        At::Text(u32::MAX, _) | At::Escape(u32::MAX) => "free string",
        At::Text(..) | At::Escape(_) => "limited string",
        At::Code(_) => "pattern",
        At::Word(_) => "enum",
        At::Number(_) => "number",
        _ => "structure",
    }
}
