//! Decodes given texts under given schemas, with our engine and its peers, and measures. For
//! example, `{"type": "integer"}` and the text `12` make a mask before `12` and one before the end,
//! for each engine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, ValueEnum};
use tokenmold_benches::cases::{self, Case};
use tokenmold_benches::engines::{self, AdditionalMembers, PropertyOrder, Setup};
use tokenmold_benches::parent::{Limits, Worker};
use tokenmold_benches::program;
use tokenmold_benches::ratios;
use tokenmold_benches::report::{Collector, EngineReport, Report, table};
use tokenmold_benches::spell::Speller;
use tokenmold_benches::worker::{self, Task};

/// Walks texts under schemas token by token and measures masks, engine by engine.
///
/// Each engine runs in a process of its own, which is ended when a case exceeds the time or
/// the memory that it may take. A case passes when every valid text is accepted and every
/// invalid one is not.
#[derive(Parser, Debug)]
struct Arguments {
    /// A `tokenizer.json`; every engine gets the same tokens.
    #[arg(long)]
    tokenizer: PathBuf,

    /// Cases, one a line: {"id", "schema", "tests": [{"valid", "text"}]}.
    #[arg(long, required_unless_present = "worker")]
    cases: Option<PathBuf>,

    /// An engine to run (default: all that are compiled in), or NAME=PROGRAM for one that is a
    /// program of its own, told what this one tells its own. May be given several times.
    #[arg(long = "engine")]
    engines: Vec<String>,

    /// The use that the schemas are put to. `tags` runs our own engine on them bare, their JSON
    /// written as structural tags have it, and inside of tags as model families write calls.
    /// `spelling` runs our own engine with each style of white space, where bytes are missing in
    /// the tokenizer and where they are filled in, and prints ratios of these two (of a tokenizer
    /// that lacks no byte, the tokens with rare control characters are left out).
    #[arg(long, value_enum, default_value_t = Kind::Schemas)]
    kind: Kind,

    /// Only so many cases, chosen by a shuffle (of tags and spelling: 200).
    #[arg(long)]
    sample: Option<usize>,

    /// Seeds the shuffle and the choice of the positions that are checked.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Time that a case may take, in seconds.
    #[arg(long, default_value_t = 20.0)]
    limit_seconds: f64,

    /// Memory that an engine's process may take, in GiB.
    #[arg(long, default_value_t = 8.0)]
    memory_gb: f64,

    /// The order of properties that our own engine accepts.
    #[arg(long, value_enum, default_value_t = PropertyOrder::Schema)]
    property_order: PropertyOrder,

    /// The members beside those that a schema lists that our own engine accepts, where the
    /// schema says nothing of them.
    #[arg(long, value_enum, default_value_t = AdditionalMembers::Open)]
    additional_members: AdditionalMembers,

    /// Also write the report as JSON.
    #[arg(long)]
    report: Option<PathBuf>,

    /// Be the process of that engine.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Answers.
    Schemas,
    /// Arguments of tools.
    Tags,
    /// Answers, in a vocabulary that lacks bytes.
    Spelling,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.worker {
        Some(name) => work(&arguments, name),
        None => lead(&arguments),
    };
    program::end("maskbench", result)
}

/// The child's side.
fn work(arguments: &Arguments, name: &str) -> Result<ExitCode, String> {
    let engine = || {
        let setup = Setup {
            vocabulary: program::vocabulary(&arguments.tokenizer)?,
            property_order: arguments.property_order,
            additional_members: arguments.additional_members,
            assert_formats: true,
            suite: None,
            documents: schema_regex::Documents::default(),
        };
        let engine = engines::engine(name, &setup)?;
        Ok((engine, setup.vocabulary.width().div_ceil(32)))
    };
    worker::work(engine, arguments.seed, arguments.limit_seconds)?;
    Ok(ExitCode::SUCCESS)
}

/// The parent's side.
fn lead(arguments: &Arguments) -> Result<ExitCode, String> {
    let own: &[&str] = match arguments.kind {
        Kind::Schemas => engines::NAMES,
        Kind::Tags => &engines::tags::NAMES,
        Kind::Spelling => &engines::spelling::NAMES,
    };
    let names = match arguments.engines.as_slice() {
        [] => own.iter().map(|name| (*name).to_owned()).collect(),
        names => names.to_vec(),
    };
    let is_known =
        |name: &str| name.contains('=') || engines::NAMES.contains(&name) || own.contains(&name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let message = format!("no engine {unknown} is compiled in; there are");
        return Err(format!("{message} {}", engines::NAMES.join(", ")));
    }
    let file = arguments.cases.as_deref().unwrap_or(Path::new(""));
    let all = cases::read(file)?;
    let cases_in_file = all.len();
    let of_own = (arguments.kind != Kind::Schemas).then_some(200);
    let chosen = match arguments.sample.or(of_own) {
        Some(count) => cases::sample(all, count, arguments.seed),
        None => all,
    };
    let (mut vocabulary, mut speller) = program::vocabulary_and_speller(&arguments.tokenizer)?;
    if arguments.kind == Kind::Spelling {
        vocabulary = engines::spelling::lacking(&vocabulary)?;
        speller = speller.over(&vocabulary);
    }
    let tasks = chosen
        .into_iter()
        .map(|case| task(&speller, case))
        .collect::<Vec<_>>();

    let mut report = Report {
        tokenizer: arguments.tokenizer.display().to_string(),
        vocabulary: vocabulary.width(),
        file: file.display().to_string(),
        cases_in_file,
        seed: arguments.seed,
        limit_seconds: arguments.limit_seconds,
        memory_gb: arguments.memory_gb,
        property_order: format!("{:?}", arguments.property_order).to_lowercase(),
        additional_members: format!("{:?}", arguments.additional_members).to_lowercase(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        engines: Vec::new(),
        ratios: Vec::new(),
    };
    for name in &names {
        report.engines.push(run(arguments, name, &tasks)?);
    }
    print!("{}", table(&report.engines));
    // Engines of spelling come in pairs; all others are compared with the first one.
    let groups = match arguments.kind {
        Kind::Spelling => report.engines.chunks(2),
        Kind::Schemas | Kind::Tags => report.engines.chunks(report.engines.len().max(1)),
    };
    for group in groups {
        let [first, others @ ..] = group else {
            continue;
        };
        for other in others {
            let found = ratios::ratios(&first.by_case, &other.by_case, arguments.seed);
            print!("\n{}", ratios::table(&first.name, &other.name, &found));
            report.ratios.extend(found);
        }
    }
    program::write_report(arguments.report.as_deref(), &report)?;
    let broken = |e: &EngineReport| e.aborted.is_some() || e.mask_mismatches > 0;
    Ok(if report.engines.iter().any(broken) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// A case with its texts as tokens, and what the texts are.
fn task(speller: &Speller, case: Case) -> (Task, Vec<bool>) {
    let mut task = Task {
        id: case.id,
        schema: case.schema,
        texts: Vec::new(),
    };
    let mut valid = Vec::new();
    for (i, test) in case.tests.into_iter().enumerate() {
        match speller.spell(&test.text) {
            Some(tokens) => {
                task.texts.push(tokens);
                valid.push(test.valid);
            }
            None => eprintln!(
                "{}: the vocabulary cannot spell text {i}; left out",
                task.id
            ),
        }
    }
    (task, valid)
}

/// Runs all cases on one engine. The results so far are reported even if the engine stops early.
fn run(
    arguments: &Arguments,
    name: &str,
    tasks: &[(Task, Vec<bool>)],
) -> Result<EngineReport, String> {
    let limits = Limits {
        time: worker::limit(arguments.limit_seconds)?,
        memory: (arguments.memory_gb * (1u64 << 30) as f64) as u64,
    };
    let (name, program) = match name.split_once('=') {
        Some((name, program)) => (name, PathBuf::from(program)),
        None => {
            let own = std::env::current_exe();
            (
                name,
                own.map_err(|e| format!("this program's own path: {e}"))?,
            )
        }
    };
    let order = format!("{:?}", arguments.property_order).to_lowercase();
    let further = match arguments.additional_members {
        AdditionalMembers::Open => None,
        AdditionalMembers::Closed => Some(("--additional-members", "closed".to_owned())),
    };
    let line: Vec<String> = [
        ("--worker", name.to_owned()),
        ("--tokenizer", arguments.tokenizer.display().to_string()),
        ("--seed", arguments.seed.to_string()),
        ("--limit-seconds", arguments.limit_seconds.to_string()),
        ("--property-order", order),
    ]
    .into_iter()
    .chain(further)
    .flat_map(|(key, value)| [key.to_owned(), value])
    .collect();
    let mut worker = Worker::new(
        move || {
            let mut command = Command::new(&program);
            command.args(&line);
            command
        },
        limits,
    );
    let mut collector = Collector::new(name);
    for (i, (task, valid)) in tasks.iter().enumerate() {
        match worker.run(task) {
            Ok(outcome) => collector.add(&task.id, valid, outcome),
            Err(reason) => {
                eprintln!("{name}: {reason}");
                collector.abort(reason);
                break;
            }
        }
        if (i + 1) % 100 == 0 || i + 1 == tasks.len() {
            let (cases, passing) = collector.progress();
            eprintln!(
                "{name}: {cases} of {} cases, {passing} passing",
                tasks.len()
            );
        }
    }
    Ok(collector.finish())
}
