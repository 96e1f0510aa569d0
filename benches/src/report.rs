//! The findings of a run of `maskbench`, as a table and as JSON. For example, the row of an engine
//! has its passing cases, wrong accepts, and masks at the 99th percentile.

use serde::Serialize;

use crate::parent::Outcome;
use crate::ratios::{Cases, Ratio};
use crate::stats::Summary;
use crate::worker::{Times, Verdict};

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The tokenizer's file.
    pub tokenizer: String,
    /// The width of its masks, in bits.
    pub vocabulary: usize,
    /// The file of cases.
    pub file: String,
    /// The number of cases that it has.
    pub cases_in_file: usize,
    /// Chooses the cases of a sample, and the positions that are checked.
    pub seed: u64,
    /// Time that a case may take.
    pub limit_seconds: f64,
    /// Memory that a child may take.
    pub memory_gb: f64,
    /// The options of this project's own engine.
    pub property_order: String,
    /// The same.
    pub additional_members: String,
    /// Threads of the machine.
    pub threads: usize,
    /// One for each engine.
    pub engines: Vec<EngineReport>,
    /// Every further engine's times over the first one's.
    pub ratios: Vec<Ratio>,
}

/// The results of one engine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EngineReport {
    /// The engine.
    pub name: String,
    /// Cases that were run.
    pub cases: usize,
    /// Cases of which every valid text was accepted and every invalid one was not.
    pub passing: usize,
    /// Cases whose schema was refused.
    pub refused: usize,
    /// Cases of which a valid text was rejected.
    pub valid_rejected: usize,
    /// Cases of which an invalid text was accepted.
    pub invalid_accepted: usize,
    /// Cases without a verdict within the time limit.
    pub timeouts: usize,
    /// Cases in which the child died or used too much memory.
    pub crashes: usize,
    /// Crashes for too much memory; they are among `crashes`.
    pub memory_exceeded: usize,
    /// Cases in which a mask differed from brute force or from `advance`.
    pub mask_mismatches: usize,
    /// Positions at which every bit was compared with brute force.
    pub positions_checked: usize,
    /// Texts of the cases that were judged.
    pub texts: usize,
    /// Masks that were computed in the shared pass.
    pub tokens: usize,
    /// Passing cases of all.
    pub pass_rate: f64,
    /// Cases that have both a valid and an invalid text.
    pub cases_both: usize,
    /// Passing cases among those.
    pub passing_both: usize,
    /// Passing cases of those that have both.
    pub pass_rate_both: f64,
    /// Invalid texts of judged cases.
    pub invalid_texts: usize,
    /// Invalid texts that were accepted.
    pub wrong_accepts: usize,
    /// Accepted invalid texts of all invalid texts of judged cases.
    pub wrong_accepts_per_text: f64,
    /// Masks in the shared pass: a schema compiled once, its texts one after the other.
    pub mask_us: Summary,
    /// Steps in the shared pass.
    pub advance_us: Summary,
    /// Compiling.
    pub compile_us: Summary,
    /// Compiling and the first mask.
    pub first_mask_us: Summary,
    /// The schema compiled for each text.
    pub cold: Pass,
    /// The schema's texts once more.
    pub warm: Pass,
    /// Cases of which not every text was walked cold and warm within the limit.
    pub incomplete: usize,
    /// Why the engine stopped before the last case, if it did.
    pub aborted: Option<String>,
    /// The cases that do not pass.
    pub failures: Vec<Failure>,
    /// The times of each case that was taken.
    #[serde(skip)]
    pub by_case: Cases,
}

/// The times of one pass.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pass {
    /// Masks.
    pub mask_us: Summary,
    /// Steps.
    pub advance_us: Summary,
}

/// A case that does not pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The case.
    pub id: String,
    /// `refused`, `valid_rejected`, `invalid_accepted`, `timeout`, `memory`, `crash` or
    /// `mask_mismatch`.
    pub what: &'static str,
    /// The engine's message, or the text.
    pub detail: String,
}

/// Collects the outcomes of one engine.
#[derive(Debug, Default)]
pub struct Collector {
    report: EngineReport,
    shared: Times,
    cold: Times,
    warm: Times,
    compile_ns: Vec<u64>,
    first_mask_ns: Vec<u64>,
}

impl Collector {
    /// For an engine of that name.
    pub fn new(name: &str) -> Collector {
        let report = EngineReport {
            name: name.to_owned(),
            ..EngineReport::default()
        };
        Collector {
            report,
            ..Collector::default()
        }
    }

    /// Adds a case; `valid` says what its texts are.
    pub fn add(&mut self, id: &str, valid: &[bool], outcome: Outcome) {
        let both = valid.contains(&true) && valid.contains(&false);
        self.report.cases += 1;
        self.report.cases_both += usize::from(both);
        let failure = match outcome {
            Outcome::TimedOut => {
                self.report.timeouts += 1;
                Some(("timeout", String::new()))
            }
            Outcome::OutOfMemory => {
                self.report.crashes += 1;
                self.report.memory_exceeded += 1;
                Some(("memory", String::new()))
            }
            Outcome::Crashed(text) => {
                self.report.crashes += 1;
                Some(("crash", text))
            }
            Outcome::Judged(verdict, extra) => {
                match extra {
                    None => self.report.incomplete += 1,
                    Some(extra) => {
                        let case = self.report.by_case.entry(id.to_owned()).or_default();
                        case.cold_mask.clone_from(&extra.cold.mask_ns);
                        case.warm_mask.clone_from(&extra.warm.mask_ns);
                        self.report.incomplete += usize::from(!extra.complete);
                        self.cold.append(extra.cold);
                        self.warm.append(extra.warm);
                    }
                }
                self.judge(id, valid, *verdict)
            }
        };
        match failure {
            None => {
                self.report.passing += 1;
                self.report.passing_both += usize::from(both);
            }
            Some((what, detail)) => {
                self.report.failures.push(Failure {
                    id: id.to_owned(),
                    what,
                    detail,
                });
            }
        }
    }

    fn judge(
        &mut self,
        id: &str,
        valid: &[bool],
        verdict: Verdict,
    ) -> Option<(&'static str, String)> {
        if let Some(reason) = verdict.refused {
            self.report.by_case.remove(id);
            self.report.refused += 1;
            return Some(("refused", reason));
        }
        self.compile_ns.push(verdict.compile_ns);
        self.first_mask_ns.push(verdict.first_mask_ns);
        self.report.tokens += verdict.times.mask_ns.len();
        let case = self.report.by_case.entry(id.to_owned()).or_default();
        case.first_mask.push(verdict.first_mask_ns);
        case.mask.clone_from(&verdict.times.mask_ns);
        case.advance.clone_from(&verdict.times.advance_ns);
        self.shared.append(verdict.times);
        self.report.positions_checked += verdict.checked;
        self.report.texts += valid.len();
        let texts = || valid.iter().zip(&verdict.accepted).enumerate();
        let rejected = texts().find(|(_, (valid, accepted))| **valid && !**accepted);
        let accepted = texts().find(|(_, (valid, accepted))| !**valid && **accepted);
        self.report.invalid_texts += valid.iter().filter(|valid| !**valid).count();
        self.report.wrong_accepts += texts().filter(|(_, (v, a))| !**v && **a).count();
        self.report.valid_rejected += usize::from(rejected.is_some());
        self.report.invalid_accepted += usize::from(accepted.is_some());
        self.report.mask_mismatches += usize::from(verdict.mismatch.is_some());
        if let Some(what) = verdict.mismatch {
            return Some(("mask_mismatch", what));
        }
        if let Some((text, _)) = accepted {
            return Some(("invalid_accepted", format!("text {text}")));
        }
        let (text, _) = rejected?;
        let reason = verdict
            .gave_up
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        Some(("valid_rejected", format!("text {text}{reason}")))
    }

    /// Notes that the engine stopped early.
    pub fn abort(&mut self, reason: String) {
        self.report.aborted = Some(reason);
    }

    /// Cases so far, and passing ones.
    pub fn progress(&self) -> (usize, usize) {
        (self.report.cases, self.report.passing)
    }

    /// The report.
    pub fn finish(mut self) -> EngineReport {
        let report = &mut self.report;
        report.pass_rate = rate(report.passing, report.cases);
        report.pass_rate_both = rate(report.passing_both, report.cases_both);
        report.wrong_accepts_per_text = rate(report.wrong_accepts, report.invalid_texts);
        report.mask_us = Summary::of_nanoseconds(&self.shared.mask_ns);
        report.advance_us = Summary::of_nanoseconds(&self.shared.advance_ns);
        report.compile_us = Summary::of_nanoseconds(&self.compile_ns);
        report.first_mask_us = Summary::of_nanoseconds(&self.first_mask_ns);
        report.cold = Pass::new(&self.cold);
        report.warm = Pass::new(&self.warm);
        self.report
    }
}

impl Pass {
    fn new(times: &Times) -> Pass {
        Pass {
            mask_us: Summary::of_nanoseconds(&times.mask_ns),
            advance_us: Summary::of_nanoseconds(&times.advance_ns),
        }
    }
}

impl Times {
    fn append(&mut self, mut other: Times) {
        self.mask_ns.append(&mut other.mask_ns);
        self.advance_ns.append(&mut other.advance_ns);
    }
}

fn rate(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// The table: a line a figure, a column an engine.
pub fn table(engines: &[EngineReport]) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |name: &str, cell: &dyn Fn(&EngineReport) -> String| {
        rows.push((name.to_owned(), engines.iter().map(cell).collect()));
    };
    row("", &|e| e.name.clone());
    row("cases", &|e| e.cases.to_string());
    row("passing", &|e| {
        format!("{} ({:.1} %)", e.passing, e.pass_rate * 100.0)
    });
    row("refused at compile", &|e| e.refused.to_string());
    row("valid rejected", &|e| e.valid_rejected.to_string());
    row("invalid accepted", &|e| e.invalid_accepted.to_string());
    row("time-outs", &|e| e.timeouts.to_string());
    row("crashes", &|e| match e.memory_exceeded {
        0 => e.crashes.to_string(),
        memory => format!("{} ({memory} memory)", e.crashes),
    });
    row("mask differs", &|e| match e.positions_checked {
        0 => "not checked".to_owned(),
        checked => format!("{} of {checked} positions", e.mask_mismatches),
    });
    row("passing, both kinds of text", &|e| {
        format!(
            "{} of {} ({:.1} %)",
            e.passing_both,
            e.cases_both,
            e.pass_rate_both * 100.0
        )
    });
    row("wrong accepts", &|e| {
        let percent = e.wrong_accepts_per_text * 100.0;
        format!(
            "{} of {} texts ({percent:.2} %)",
            e.wrong_accepts, e.invalid_texts
        )
    });
    row("tokens", &|e| e.tokens.to_string());
    type Part = (&'static str, fn(&Summary) -> f64);
    type Figure = (&'static str, fn(&EngineReport) -> &Summary);
    let figures: [Figure; 8] = [
        ("mask us", |e| &e.mask_us),
        ("advance us", |e| &e.advance_us),
        ("compile us", |e| &e.compile_us),
        ("compile + first mask us", |e| &e.first_mask_us),
        ("cold mask us", |e| &e.cold.mask_us),
        ("warm mask us", |e| &e.warm.mask_us),
        ("cold advance us", |e| &e.cold.advance_us),
        ("warm advance us", |e| &e.warm.advance_us),
    ];
    for (name, figure) in figures {
        let parts: [Part; 8] = [
            ("avg", |s| s.avg),
            ("p25", |s| s.p25),
            ("p50", |s| s.p50),
            ("p75", |s| s.p75),
            ("p90", |s| s.p90),
            ("p99", |s| s.p99),
            ("p99.9", |s| s.p999),
            ("max", |s| s.max),
        ];
        for (part, of) in parts {
            row(&format!("{name} {part}"), &|e| match figure(e).count {
                0 => "-".to_owned(),
                _ => number(of(figure(e))),
            });
        }
    }
    row("cases not walked cold and warm", &|e| {
        e.incomplete.to_string()
    });
    let name_width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..engines.len())
        .map(|i| {
            rows.iter()
                .map(|(_, cells)| cells[i].len())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for (name, cells) in rows {
        let mut line = format!("{name:name_width$}");
        for (cell, width) in cells.iter().zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for engine in engines {
        if let Some(reason) = &engine.aborted {
            out.push_str(&format!("{} stopped early: {reason}\n", engine.name));
        }
    }
    out
}

/// A figure with three significant digits, or all of a whole number.
fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
