//! Lists the longest masks and the slowest compiles of our engine, and what they were busy with.
//! For example, a mask behind `{"a": "` whose row was computed, with the nodes that it visited and
//! the schema's JSON Pointer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fsm_index::{Fill, Guide, Index, IndexConfig, IndexStats, JSON_TEXT, MaskBuffer, TokenId};
use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use serde_json::Value;
use tokenmold_benches::cases::Case;
use tokenmold_benches::cause;
use tokenmold_benches::engines::PropertyOrder;
use tokenmold_benches::program::{self, Chosen};
use tokenmold_benches::stats::{Longest, Stopwatch};

/// Walks the texts of cases as far as they are allowed, each case compiled once, and lists the
/// worst of what was measured: masks with the nodes of the vocabulary's trie that they visited
/// and the place in the schema, steps with their token, compiles with the keyword without which
/// they are fastest. Time in which the system ran something else does not count.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`.
    #[arg(long)]
    tokenizer: PathBuf,

    #[command(flatten)]
    chosen: Chosen,

    /// The length of each list.
    #[arg(long, default_value_t = 20)]
    list: usize,

    /// The most masks of one case (default: any number), so that one case does not fill the list.
    #[arg(long)]
    each: Option<usize>,

    /// The order of properties that is accepted.
    #[arg(long, value_enum, default_value_t = PropertyOrder::Schema)]
    property_order: PropertyOrder,

    /// Masks that take longer than this, in microseconds, are the tail, which is told by kind.
    #[arg(long, default_value_t = 300)]
    tail_us: u64,

    /// Time after which the texts of a case are left, in seconds; the case is named.
    #[arg(long, default_value_t = 10)]
    limit_seconds: u64,
}

/// A mask of the list.
struct Mask {
    nodes: u64,
    case: String,
    /// Its place among all masks of its case, from 0.
    number: usize,
    /// The last characters of the text.
    behind: String,
    /// The place in the schema's grammar that is read, in words.
    state: String,
    /// The JSON Pointer of what the text must satisfy here, and what the schema says there.
    pointer: String,
    said: String,
}

/// A step of the list.
struct Step {
    case: String,
    token: String,
    behind: String,
    state: String,
}

/// The masks of the tail at places of one kind.
#[derive(Default)]
struct Tail {
    masks: usize,
    cases: BTreeSet<usize>,
    time: Duration,
    longest: Duration,
    nodes: u64,
}

/// A compile of the list.
struct Compile {
    read: Duration,
    nodes: usize,
    case: usize,
}

/// The source of a mask's row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// The guide had it already, or the index remembered it.
    Index,
    /// The vocabulary keeps it for all schemas that have it.
    Vocabulary,
    /// It was computed, perhaps without a visit to any node: from parts that are known.
    Computed,
}

impl Source {
    const ALL: [Source; 3] = [Source::Index, Source::Vocabulary, Source::Computed];

    /// From what an index has counted before a mask and behind it.
    fn between(before: &IndexStats, after: &IndexStats) -> Source {
        if after.rows_computed > before.rows_computed {
            Source::Computed
        } else if after.rows_common > before.rows_common {
            Source::Vocabulary
        } else {
            Source::Index
        }
    }

    fn name(self) -> &'static str {
        match self {
            Source::Index => "index",
            Source::Vocabulary => "vocabulary",
            Source::Computed => "computed",
        }
    }
}

/// The masks of one kind.
#[derive(Default)]
struct Kind {
    masks: usize,
    time: Duration,
    nodes: u64,
}

fn main() -> ExitCode {
    program::end("worst", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (vocabulary, speller) = program::vocabulary_and_speller(&arguments.tokenizer)?;
    vocabulary.prepare(JSON_TEXT);
    let cases = arguments.chosen.read()?;
    let limit = Duration::from_secs(arguments.limit_seconds);
    let mut kinds: BTreeMap<(&str, Source), Kind> = BTreeMap::new();
    let mut masks: Longest<Mask> = Longest::new(arguments.list);
    let mut compiles: Longest<Compile> = Longest::new(arguments.list);
    let mut steps: Longest<Step> = Longest::new(arguments.list);
    let mut tails: BTreeMap<String, Tail> = BTreeMap::new();
    let tail = Duration::from_micros(arguments.tail_us);
    let order = match arguments.property_order {
        PropertyOrder::Schema => schema_regex::PropertyOrder::Schema,
        PropertyOrder::Any => schema_regex::PropertyOrder::Any,
    };
    let options = Options::default().with_property_order(order);
    for (at, case) in cases.iter().enumerate() {
        let Some((read, build, automaton)) = compile(&case.schema, &options) else {
            continue;
        };
        let nodes = automaton.nodes();
        compiles.offer(read + build, || Compile {
            read,
            nodes,
            case: at,
        });
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, &vocabulary, &config).map_err(|e| e.to_string())?;
        let index = Arc::new(index);
        let begun = Instant::now();
        let mut buffer = MaskBuffer::new(vocabulary.width());
        let mut number = 0;
        let mut of_case: Longest<Mask> = Longest::new(arguments.each.unwrap_or(arguments.list));
        let texts = case.tests.iter();
        'texts: for tokens in texts.filter_map(|test| speller.spell(&test.text)) {
            let mut guide = Guide::new(Arc::clone(&index));
            let mut text: Vec<u8> = Vec::new();
            for token in tokens {
                if begun.elapsed() > limit {
                    println!("{}: left after {limit:?}", case.id);
                    break 'texts;
                }
                let before = index.stats();
                let start = Stopwatch::start();
                guide.write_mask(&mut buffer).unwrap();
                let time = start.elapsed();
                let after = index.stats();
                let nodes = after.nodes_visited - before.nodes_visited;
                let source = Source::between(&before, &after);
                let place = place(&format!("{:?}", guide.state()));
                let kind = kinds.entry((place, source)).or_default();
                kind.masks += 1;
                kind.time += time;
                kind.nodes += nodes;
                of_case.offer(time, || mask(case, number, nodes, &text, &index, &guide));
                number += 1;
                if time > tail {
                    let place = index.automaton().location(guide.state());
                    let kind = cause::place(&case.schema, &place.state, &place.locations);
                    let tail = tails.entry(kind).or_default();
                    tail.masks += 1;
                    tail.cases.insert(at);
                    tail.time += time;
                    tail.longest = tail.longest.max(time);
                    tail.nodes += nodes;
                }
                let state = guide.state().clone();
                let start = Stopwatch::start();
                if guide.advance(TokenId::new(token)).is_err() {
                    break;
                }
                steps.offer(start.elapsed(), || Step {
                    case: case.id.clone(),
                    token: tail_of(vocabulary.token_bytes(TokenId::new(token)).unwrap_or(b"")),
                    behind: tail_of(&text),
                    state: index.automaton().location(&state).state,
                });
                text.extend(vocabulary.token_bytes(TokenId::new(token)).unwrap_or(b""));
            }
        }
        for (time, mask) in of_case.into_sorted() {
            masks.offer(time, || mask);
        }
    }
    print_kinds(&kinds);
    print_tails(&tails, tail);
    print_masks(masks);
    print_steps(steps);
    print_compiles(compiles, &cases, &options);
    Ok(())
}

/// The time to read a schema and to build its automaton, if it is taken.
fn compile(schema: &Value, options: &Options) -> Option<(Duration, Duration, SchemaAutomaton)> {
    let begun = Stopwatch::start();
    let schema = schema_regex::parse(schema).ok()?;
    let read = begun.elapsed();
    let begun = Stopwatch::start();
    let automaton = SchemaAutomaton::compile(schema, options).ok()?;
    Some((read, begun.elapsed(), automaton))
}

fn mask(
    case: &Case,
    number: usize,
    nodes: u64,
    text: &[u8],
    index: &Index<SchemaAutomaton>,
    guide: &Guide<SchemaAutomaton>,
) -> Mask {
    let place = index.automaton().location(guide.state());
    let pointer = place.locations.first().cloned().unwrap_or_default();
    let more = match place.locations.len() {
        0 | 1 => String::new(),
        several => format!(" and {} more", several - 1),
    };
    Mask {
        nodes,
        case: case.id.clone(),
        number,
        behind: tail_of(text),
        state: place.state,
        said: cause::said(&case.schema, &pointer),
        pointer: format!("#{pointer}{more}"),
    }
}

/// The last characters of a text, on one line.
fn tail_of(text: &[u8]) -> String {
    let from = text.len().saturating_sub(32);
    String::from_utf8_lossy(&text[from..])
        .escape_debug()
        .collect()
}

/// The kinds of places, as states show themselves.
const PLACES: [&str; 7] = ["Value", "Unit", "Number", "String", "Key", "Gap", "End"];

/// Returns the kind of place that a state is at, from its `Debug` form.
fn place(state: &str) -> &'static str {
    PLACES
        .into_iter()
        .find(|place| state.starts_with(&format!("State {{ top: {place}")))
        .unwrap_or("?")
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn print_kinds(kinds: &BTreeMap<(&str, Source), Kind>) {
    let count: usize = kinds.values().map(|kind| kind.masks).sum();
    let total: f64 = kinds.values().map(|kind| us(kind.time)).sum();
    println!(
        "{count} masks, {:.2} us on average",
        total / count.max(1) as f64
    );
    println!(
        "place      row from         masks   share of time      avg us   nodes avg     ns a node"
    );
    for place in PLACES {
        for source in Source::ALL {
            let Some(kind) = kinds.get(&(place, source)) else {
                continue;
            };
            let time = us(kind.time);
            let a_node = match kind.nodes {
                0 => "-".to_owned(),
                nodes => format!("{:.1}", 1e3 * time / nodes as f64),
            };
            println!(
                "{place:10} {:10} {:11} {:14.1}% {:11.2} {:11.0} {a_node:>13}",
                source.name(),
                kind.masks,
                100.0 * time / total,
                time / kind.masks as f64,
                kind.nodes as f64 / kind.masks as f64,
            );
        }
    }
}

fn print_tails(tails: &BTreeMap<String, Tail>, over: Duration) {
    let mut tails: Vec<(&String, &Tail)> = tails.iter().collect();
    tails.sort_by_key(|(_, tail)| std::cmp::Reverse(tail.time));
    println!("\nmasks over {} us, by what is read", us(over));
    println!("   masks   cases   total us  longest us       nodes  kind");
    for (kind, tail) in tails {
        println!(
            "{:8} {:7} {:10.0} {:11.0} {:11}  {kind}",
            tail.masks,
            tail.cases.len(),
            us(tail.time),
            us(tail.longest),
            tail.nodes,
        );
    }
}

fn print_steps(steps: Longest<Step>) {
    println!("\n     step us  case; state; the token; what the text ends with before it");
    for (time, step) in steps.into_sorted() {
        println!(
            "{:12.1}  {}; {}; {}; {}",
            us(time),
            step.case,
            step.state,
            step.token,
            step.behind
        );
    }
}

fn print_masks(masks: Longest<Mask>) {
    println!(
        "\n     mask us     nodes   nth  case; state; place: what the schema says there; what the text ends with"
    );
    for (time, mask) in masks.into_sorted() {
        println!(
            "{:12.1} {:9} {:5}  {}; {}; {}: {}; {}",
            us(time),
            mask.nodes,
            mask.number,
            mask.case,
            mask.state,
            mask.pointer,
            mask.said,
            mask.behind
        );
    }
}

fn print_compiles(compiles: Longest<Compile>, cases: &[Case], options: &Options) {
    println!(
        "\n  compile us   read us     nodes     bytes  case; how long it takes again, and without all keywords of a name"
    );
    for (time, compile) in compiles.into_sorted() {
        let case = &cases[compile.case];
        println!(
            "{:12.1} {:9.1} {:9} {:9}  {}; {}",
            us(time),
            us(compile.read),
            compile.nodes,
            case.schema.to_string().len(),
            case.id,
            blamed(&case.schema, options)
        );
    }
}

/// The keywords without which a schema compiles in at most 7/10 of the time, the first three.
fn blamed(schema: &Value, options: &Options) -> String {
    // The shorter of two times, so that one interruption does not clear a keyword.
    let least = |schema: &Value| {
        let time = || compile(schema, options).map(|(read, build, _)| us(read + build));
        Some(time()?.min(time()?))
    };
    let Some(whole) = least(schema) else {
        return String::new();
    };
    let mut times: Vec<(f64, String)> = cause::keywords(schema)
        .into_iter()
        .filter_map(|(keyword, count)| {
            let time = least(&cause::without(schema, &keyword))?;
            let told = format!("{time:.0} us without `{keyword}` ({count})");
            (time <= 0.7 * whole).then_some((time, told))
        })
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = times.into_iter().take(3).map(|(_, told)| told);
    let told: Vec<String> = std::iter::once(format!("{whole:.0} us again"))
        .chain(told)
        .collect();
    told.join(", ")
}
