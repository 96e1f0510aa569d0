//! Runs golden cases of the reference implementations, and the official JSON Schema suite. For
//! example, a response schema's golden case passes if the value that this crate reads equals the
//! recorded one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use schema_regex::Documents;
use serde_json::Value;
use tokenmold_benches::answers::{self, Outcome};
use tokenmold_benches::cases;
use tokenmold_benches::chat_template;
use tokenmold_benches::engines::{self, AdditionalMembers, PropertyOrder, Setup};
use tokenmold_benches::golden::{self, Tally};
use tokenmold_benches::grammars;
use tokenmold_benches::parent::{Limits, Worker};
use tokenmold_benches::spell::byte_vocabulary;
use tokenmold_benches::store;
use tokenmold_benches::structural_tag;
use tokenmold_benches::suite::{self, Answer, Counts};
use tokenmold_benches::tool_calls::{self, Verdict};
use tokenmold_benches::worker::{self, Message, Plan};

/// Runs a file of cases and prints each that fails, with what was expected and what was got.
///
/// Ends with 0 if all pass, 1 if some fail, 2 for a kind of cases that is not supported or a
/// wrong command line. The last line is `N passed, N failed`.
#[derive(Parser, Debug)]
struct Arguments {
    /// The kind of the cases.
    kind: Kind,

    /// The cases, a JSON object a line. For json-schema also a folder of schemas with texts, as
    /// SchemaStore's is laid out.
    file: PathBuf,

    /// For json-schema: an engine to ask (default: our own). May be given several times;
    /// the last line then sums all engines up.
    #[arg(long = "engine")]
    engines: Vec<String>,

    /// For json-schema with a folder: documents that references may lead to, each by its `$id`
    /// and by that URI and its path below the folder. May be given several times.
    #[arg(long, value_name = "[URI=]FOLDER")]
    documents: Vec<String>,

    /// Be the process of that engine.
    #[arg(long, hide = true)]
    worker: Option<String>,

    /// Take `format` for an assertion, in that process.
    #[arg(long, hide = true)]
    assert_formats: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Response schemas, against transformers 5.0.
    ResponseSchema,
    /// Response templates, against transformers 5.23.
    ResponseTemplate,
    /// Chat templates.
    ChatTemplate,
    /// AgentScope's text parsers, against agentscope 0.1.6.
    Agentscope,
    /// The official JSON Schema test suite.
    JsonSchema,
    /// Structural tags as servers exchange them, against XGrammar 0.2.8.
    StructuralTag,
    /// Grammars of all dialects, against their own readers.
    Grammar,
    /// Recorded outputs of models with tools, read by their families.
    ToolCalls,
    /// Small cases from public bug reports.
    Answers,
}

/// The most that a case of the suite may cost: generous, because a case that runs into a limit
/// counts as wrong.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(20),
    memory: 8 << 30,
};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(name) = &arguments.worker {
        return work(name, &arguments);
    }
    if !arguments.documents.is_empty() && !arguments.file.is_dir() {
        eprintln!("conformance: --documents is for json-schema with a folder");
        return ExitCode::from(2);
    }
    if !arguments.engines.is_empty() && arguments.kind != Kind::JsonSchema {
        eprintln!("conformance: --engine is for json-schema");
        return ExitCode::from(2);
    }
    let tally = match arguments.kind {
        kind @ (Kind::ResponseSchema | Kind::ResponseTemplate | Kind::Agentscope) => {
            golden_cases(&arguments.file, kind)
        }
        Kind::JsonSchema => {
            let names = match arguments.engines.as_slice() {
                [] => vec!["tokenmold".to_owned()],
                names => names.to_vec(),
            };
            if let Some(name) = names.iter().find(|n| !engines::NAMES.contains(&n.as_str())) {
                let known = engines::NAMES.join(", ");
                eprintln!("conformance: no engine {name} is compiled in; there are {known}");
                return ExitCode::from(2);
            }
            match arguments.file.is_dir() {
                true => folder(&arguments, &names),
                false => json_schema(&arguments.file, &names),
            }
        }
        Kind::ChatTemplate => chat_template(&arguments.file),
        Kind::StructuralTag => structural_tags(&arguments.file),
        Kind::Grammar => grammar_cases(&arguments.file),
        Kind::ToolCalls => recorded(&arguments.file),
        Kind::Answers => reported(&arguments.file),
    };
    match tally {
        Ok(tally) => {
            println!("{} passed, {} failed", tally.passed, tally.failed);
            ExitCode::from(u8::from(tally.failed > 0))
        }
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs grammars and their texts.
fn grammar_cases(file: &Path) -> Result<Tally, String> {
    let cases = grammars::read(file)?;
    let (tally, texts) = grammars::run(&cases, |difference| println!("{difference}"));
    println!(
        "texts: {} right, {} wrong accepts, {} wrong refusals, {} otherwise where it is disputed; \
         {} of grammars that are refused ({} by the name of what is not supported)",
        texts.right,
        texts.wrong_accepts,
        texts.wrong_refusals,
        texts.disputed,
        texts.of_refused,
        texts.refused
    );
    println!(
        "of the {} cases whose grammars use nothing that is refused by name: {} passed, {} failed",
        cases.len() - texts.refused,
        tally.passed,
        tally.failed - texts.refused
    );
    Ok(tally)
}

/// Runs golden cases of a kind and prints those that differ.
fn golden_cases(file: &Path, kind: Kind) -> Result<Tally, String> {
    let records = golden::read(file)?;
    let whole = golden::whole_templates(&records);
    let template = |record: &Value| {
        let base = record["base"].as_str().and_then(|base| whole.get(base));
        golden::response_template_case(record, base.copied())
    };
    let case: &dyn Fn(&Value) -> Option<golden::Difference> = match kind {
        Kind::ResponseTemplate => &template,
        Kind::Agentscope => &golden::agentscope_case,
        _ => &golden::response_schema_case,
    };
    Ok(golden::run(&records, case, &mut |difference| {
        println!("{}", difference.id);
        println!("  expected {}", difference.expected);
        println!("  got      {}", difference.got);
    }))
}

fn chat_template(file: &Path) -> Result<Tally, String> {
    let ran = chat_template::chat_template(file, &mut |difference| {
        println!("{}", difference.id);
        println!("  expected {}", difference.expected);
        println!("  got      {}", difference.got);
    });
    let (tally, families) = ran?;
    let mut models = Tally::default();
    for (family, of_family) in &families {
        println!(
            "{family:12} {:>4} passed, {:>3} failed",
            of_family.passed, of_family.failed
        );
        if chat_template::is_of_a_model(family) {
            models.passed += of_family.passed;
            models.failed += of_family.failed;
        }
    }
    println!(
        "templates of models: {} passed, {} failed",
        models.passed, models.failed
    );
    Ok(tally)
}

/// Runs recorded outputs and sums them up by family; what is right but for blanks has failed.
fn recorded(file: &Path) -> Result<Tally, String> {
    let families = tool_calls::run(file, &mut |difference| {
        let verdict = difference.verdict;
        println!("{} ({}): {verdict}", difference.id, difference.check);
        println!("  expected {}", difference.expected);
        println!("  got      {}", difference.got);
    })?;
    let mut tally = Tally::default();
    println!(
        "{:14} {:>6} {:>7} {:>6}",
        "family", "right", "blanks", "wrong"
    );
    for (family, counts) in &families {
        let tool_calls::Counts {
            right,
            blanks,
            wrong,
        } = counts;
        println!("{family:14} {right:>6} {blanks:>7} {wrong:>6}");
        tally.passed += right;
        tally.failed += blanks + wrong;
    }
    Ok(tally)
}

/// Runs cases from bug reports, prints those that are not right and says why the rest was not run.
fn reported(file: &Path) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut blanks = 0;
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for record in golden::read(file)? {
        match answers::run(&record) {
            Outcome::NotRun(why) => *left.entry(why).or_default() += 1,
            Outcome::Read {
                verdict,
                expected,
                got,
            } => {
                let id = record["id"].as_str().unwrap_or("(no id)");
                if let Some(family) = answers::elsewhere(id) {
                    println!("{id}: read by {family}");
                }
                tally.count(verdict != Verdict::Wrong);
                blanks += usize::from(verdict == Verdict::Blanks);
                if verdict != Verdict::Right {
                    println!("{id}: {verdict}");
                    println!("  expected {expected}");
                    println!("  got      {got}");
                }
            }
        }
    }
    for (why, count) in &left {
        println!("not run: {count} ({why})");
    }
    println!("of the passed ones {blanks} are right but for blanks");
    Ok(tally)
}

/// Runs cases of structural tags; disputed ones are counted with the others, and told apart.
fn structural_tags(file: &Path) -> Result<Tally, String> {
    let groups = structural_tag::run(file, &mut |difference| {
        println!("{}", difference.id);
        println!("  expected {}", difference.expected);
        println!("  got      {}", difference.got);
        if let Some(why) = &difference.disputed {
            println!("  disputed: {why}");
        }
    })?;
    let mut tally = Tally::default();
    let mut disputed = 0;
    for (group, outcome) in &groups {
        println!(
            "{group:24} {:>4} passed, {:>3} failed, of these {:>2} disputed",
            outcome.passed, outcome.failed, outcome.disputed
        );
        tally.passed += outcome.passed;
        tally.failed += outcome.failed;
        disputed += outcome.disputed;
    }
    println!("of the failed ones {disputed} have answers that are disputed");
    Ok(tally)
}

fn json_schema(file: &Path, names: &[String]) -> Result<Tally, String> {
    let cases = cases::read(file)?;
    let mut tally = Tally::default();
    for name in names {
        let (mut required, mut optional) = (Counts::default(), Counts::default());
        let asserts: [OsString; 1] = ["--assert-formats".into()];
        let (mut plain, mut asserting) = (child(file, name, &[]), child(file, name, &asserts));
        let mut ask = |case: &cases::Case, task: &worker::Task| {
            let asserts = suite::asserts_formats(case);
            if asserts {
                asserting.run(task)
            } else {
                plain.run(task)
            }
        };
        let files = suite::run(&cases, &mut ask, &mut |case, answers| {
            let counts = if case.optional {
                &mut optional
            } else {
                &mut required
            };
            for (i, (test, answer)) in case.tests.iter().zip(answers).enumerate() {
                counts.add(answer);
                tally.count(*answer == Answer::Right);
                let expected = if test.valid { "accepted" } else { "rejected" };
                let got = match answer {
                    Answer::Right => continue,
                    Answer::Wrong { accepted: true } => "accepted".to_owned(),
                    Answer::Wrong { accepted: false } => "rejected".to_owned(),
                    Answer::Refused(reason) => {
                        format!("refused: {}", reason.lines().next().unwrap_or_default())
                    }
                };
                println!("{} text {i}: {}", case.id, test.text);
                println!("  expected {expected}");
                println!("  got      {got}");
            }
        })?;
        let width = files.keys().map(String::len).max().unwrap_or(0).max(8);
        println!("{name}");
        println!(
            "  {:width$}  {:>6} {:>6} {:>8}",
            "file", "right", "wrong", "refused"
        );
        let all = [
            ("required".to_owned(), required),
            ("optional".to_owned(), optional),
        ];
        for (file, counts) in files.into_iter().chain(all) {
            let Counts {
                right,
                wrong,
                refused,
            } = counts;
            println!("  {file:width$}  {right:>6} {wrong:>6} {refused:>8}");
        }
        let percent = 100.0 * required.right as f64 / required.total().max(1) as f64;
        println!(
            "  required: {} of {} right ({percent:.1} %)",
            required.right,
            required.total()
        );
    }
    Ok(tally)
}

/// Runs the schemas of a folder with their texts: `format` is an assertion there, members may
/// come in any order, and the texts are spelt without blanks.
fn folder(arguments: &Arguments, names: &[String]) -> Result<Tally, String> {
    let read = store::read(&arguments.file)?;
    let other: Vec<String> = read
        .other
        .iter()
        .map(|(ending, n)| format!("{n} {ending}"))
        .collect();
    if !other.is_empty() {
        println!("not asked: texts that are no JSON ({})", other.join(", "));
    }
    let mut further: Vec<OsString> = vec!["--assert-formats".into()];
    for documents in &arguments.documents {
        further.extend(["--documents".into(), documents.into()]);
    }
    let mut tally = Tally::default();
    for name in names {
        let mut worker = child(&arguments.file, name, &further);
        let report = store::run(
            &read.cases,
            &mut |task| worker.run(task),
            &mut |case, test, answer| {
                let got = match answer {
                    Answer::Wrong { accepted: true } => "accepted",
                    _ => "rejected",
                };
                let shown: String = test.text.chars().take(200).collect();
                println!("{} {got}: {shown}", case.id);
            },
        )?;
        println!("{name}");
        let mut reasons: Vec<_> = report.refused.iter().collect();
        reasons.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
        for (reason, files) in reasons {
            let shown: Vec<&str> = files.iter().take(4).map(String::as_str).collect();
            println!("  {:>4}  {reason}  [{}]", files.len(), shown.join(", "));
        }
        let percent = 100.0 * report.compiled as f64 / read.cases.len() as f64;
        println!(
            "  {} of {} schemas compile ({percent:.1} %)",
            report.compiled,
            read.cases.len()
        );
        for (what, counts) in [("valid", report.valid), ("invalid", report.invalid)] {
            let Counts {
                right,
                wrong,
                refused,
            } = counts;
            println!(
                "  {what:8} {right:>5} right, {wrong:>4} wrong, {refused:>4} of refused schemas"
            );
            tally.passed += right;
            tally.failed += wrong + refused;
        }
    }
    Ok(tally)
}

/// Reads folders of documents, each behind the URI below which it is known.
fn documents(given: &[String]) -> Result<Documents, String> {
    let mut documents = Documents::default();
    for one in given {
        let (uri, folder) = match one.split_once('=') {
            Some((uri, folder)) if uri.contains(':') => (Some(uri), folder),
            _ => (None, one.as_str()),
        };
        let read = documents.insert_folder(Path::new(folder), uri);
        read.map_err(|e| format!("--documents: {e}"))?;
    }
    Ok(documents)
}

/// A process of that engine, which may be ended.
fn child(file: &Path, name: &str, further: &[OsString]) -> Worker {
    let (file, name, further) = (file.to_owned(), name.to_owned(), further.to_vec());
    let command = move || {
        let program = std::env::current_exe().unwrap_or_else(|_| "conformance".into());
        let mut command = Command::new(program);
        command
            .arg("json-schema")
            .arg(&file)
            .args(["--worker", &name])
            .args(&further);
        command
    };
    Worker::new(command, LIMITS)
}

/// The child's side.
fn work(name: &str, arguments: &Arguments) -> ExitCode {
    // Panics are told to the parent, which counts them.
    std::panic::set_hook(Box::new(|_| {}));
    let vocabulary = byte_vocabulary();
    let words = vocabulary.width().div_ceil(32);
    let setup = documents(&arguments.documents).map(|documents| Setup {
        vocabulary,
        property_order: PropertyOrder::Any,
        additional_members: AdditionalMembers::Open,
        assert_formats: arguments.assert_formats,
        suite: Some(arguments.file.clone()).filter(|file| file.is_file()),
        documents,
    });
    let engine = setup.and_then(|setup| engines::engine(name, &setup));
    let engine = match engine {
        Ok(engine) => engine,
        Err(reason) => {
            println!(
                "{}",
                serde_json::to_string(&Message::Fatal(reason)).unwrap_or_default()
            );
            return ExitCode::from(1);
        }
    };
    // Verdicts alone are wanted: no pass is made for further times.
    let plan = Plan {
        words,
        seed: 0,
        checked_per_mille: 0,
        limit: Duration::ZERO,
    };
    let served = worker::serve(
        engine.as_ref(),
        &plan,
        std::io::stdin().lock(),
        std::io::stdout().lock(),
    );
    ExitCode::from(u8::from(served.is_err()))
}
