//! The harness finds what is wrong with an engine, whatever it is.

use std::process::Command;
use std::time::Duration;

use fsm_index::MaskBuffer;
use serde_json::{Value, json};
use tokenmold_benches::engines::{
    AdditionalMembers, Constraint, Engine, PropertyOrder, Session, Setup, engine,
};
use tokenmold_benches::parent::{Limits, Outcome, Worker};
use tokenmold_benches::report::{Collector, table};
use tokenmold_benches::spell::{Speller, byte_vocabulary};
use tokenmold_benches::worker::{Extra, Plan, Task, Times, Verdict, measure, serve};

const WORDS: usize = 257usize.div_ceil(32);

fn plan() -> Plan {
    Plan {
        words: WORDS,
        seed: 1,
        checked_per_mille: 1000,
        limit: Duration::from_secs(20),
    }
}

fn ours() -> Box<dyn Engine> {
    let setup = Setup {
        vocabulary: byte_vocabulary(),
        property_order: PropertyOrder::Schema,
        additional_members: AdditionalMembers::Open,
        assert_formats: true,
        suite: None,
        documents: schema_regex::Documents::default(),
    };
    engine("tokenmold", &setup).unwrap()
}

/// A case of one valid and one invalid text.
fn task() -> Task {
    let schema = json!({
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": false
    });
    let speller = Speller::longest_match(&byte_vocabulary());
    let texts = [r#"{"ok": true}"#, r#"{"ok": 5}"#].map(|text| speller.spell(text).unwrap());
    Task {
        id: "ok".to_owned(),
        schema,
        texts: texts.to_vec(),
    }
}

fn judge(engine: &dyn Engine) -> (Verdict, Extra) {
    let mut verdict = None;
    let extra = measure(engine, &plan(), &task(), &mut |v| verdict = Some(v));
    (verdict.unwrap(), extra)
}

/// An engine that does to ours what `tamper` says.
struct Tampered {
    inner: Box<dyn Engine>,
    tamper: Tamper,
}

#[derive(Clone, Copy, PartialEq)]
enum Tamper {
    AllowAll,
    OneWrongBit,
    RefuseLate,
    RejectAll,
    Panic,
}

struct TamperedConstraint(Box<dyn Constraint>, Tamper);

struct TamperedSession<'c>(Box<dyn Session + 'c>, Tamper, usize);

impl Engine for Tampered {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        assert!(self.tamper != Tamper::Panic, "as the test wants it");
        Ok(Box::new(TamperedConstraint(
            self.inner.compile(schema)?,
            self.tamper,
        )))
    }
}

impl Constraint for TamperedConstraint {
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        Ok(Box::new(TamperedSession(self.0.session()?, self.1, 0)))
    }

    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(TamperedConstraint(self.0.for_another_thread(), self.1))
    }
}

impl Session for TamperedSession<'_> {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        self.0.mask(buffer)?;
        match self.1 {
            Tamper::AllowAll => buffer.words_mut().fill(u32::MAX),
            // The bit of a token that no text here has.
            Tamper::OneWrongBit if self.2 == 3 => buffer.words_mut()[0] ^= 1 << 7,
            _ => {}
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        self.2 += 1;
        match self.1 {
            Tamper::AllowAll => Ok(()),
            Tamper::RefuseLate if self.2 == 5 => Err("no further".into()),
            _ => self.0.advance(token),
        }
    }

    fn is_accepting(&mut self) -> bool {
        self.1 == Tamper::AllowAll || self.1 != Tamper::RejectAll && self.0.is_accepting()
    }

    fn brute_force(&mut self) -> Option<Vec<u32>> {
        if self.1 == Tamper::AllowAll {
            None
        } else {
            self.0.brute_force()
        }
    }
}

fn tampered(tamper: Tamper) -> Tampered {
    Tampered {
        inner: ours(),
        tamper,
    }
}

#[test]
fn our_engine_passes() {
    let (verdict, extra) = judge(ours().as_ref());
    assert_eq!((verdict.refused, verdict.mismatch), (None, None));
    assert_eq!(verdict.accepted, [true, false]);
    // `{"ok": true}` has 12 bytes; the other text is refused at its 7th (index 7 begins it).
    assert_eq!(verdict.times.mask_ns.len(), 12 + 8);
    assert_eq!(verdict.times.advance_ns.len(), 12 + 7);
    assert_eq!(verdict.checked, 20);
    assert!(extra.complete);
    assert_eq!(
        (extra.cold.mask_ns.len(), extra.warm.mask_ns.len()),
        (20, 20)
    );
}

#[test]
fn an_engine_that_allows_everything_accepts_what_is_invalid() {
    let (verdict, _) = judge(&tampered(Tamper::AllowAll));
    assert_eq!(verdict.accepted, [true, true]);
    let mut collector = Collector::new("fake");
    collector.add(
        "ok",
        &[true, false],
        Outcome::Judged(Box::new(verdict), None),
    );
    let report = collector.finish();
    assert_eq!(
        (
            report.passing,
            report.invalid_accepted,
            report.wrong_accepts
        ),
        (0, 1, 1)
    );
    assert_eq!(report.wrong_accepts_per_text, 1.0);
    assert_eq!(report.failures[0].what, "invalid_accepted");
}

#[test]
fn one_wrong_bit_is_found() {
    let (verdict, _) = judge(&tampered(Tamper::OneWrongBit));
    let what = verdict.mismatch.clone().unwrap();
    assert!(
        what.contains("text 1, token 3: the mask has token 7 allowed"),
        "{what}"
    );
    let mut collector = Collector::new("fake");
    collector.add(
        "ok",
        &[true, false],
        Outcome::Judged(Box::new(verdict), None),
    );
    let report = collector.finish();
    assert_eq!((report.passing, report.mask_mismatches), (0, 1));
}

#[test]
fn a_mask_that_allows_what_advance_refuses_is_a_mismatch() {
    let (verdict, _) = judge(&tampered(Tamper::RefuseLate));
    assert!(
        verdict
            .mismatch
            .unwrap()
            .contains("refused by advance: no further")
    );
}

#[test]
fn an_engine_that_never_accepts_rejects_what_is_valid() {
    let (verdict, _) = judge(&tampered(Tamper::RejectAll));
    let mut collector = Collector::new("fake");
    collector.add(
        "ok",
        &[true, false],
        Outcome::Judged(Box::new(verdict), None),
    );
    let report = collector.finish();
    assert_eq!(
        (
            report.passing,
            report.valid_rejected,
            report.invalid_accepted
        ),
        (0, 1, 0)
    );
}

#[test]
fn a_panic_is_told_and_ends_the_child() {
    let line = serde_json::to_string(&task()).unwrap();
    let input = format!("{line}\n{line}\n");
    let mut output = Vec::new();
    serve(
        &tampered(Tamper::Panic),
        &plan(),
        input.as_bytes(),
        &mut output,
    )
    .unwrap();
    let output = String::from_utf8(output).unwrap();
    assert_eq!(
        output,
        "\"Ready\"\n{\"Panicked\":\"as the test wants it\"}\n"
    );
    let mut output = Vec::new();
    serve(ours().as_ref(), &plan(), input.as_bytes(), &mut output).unwrap();
    assert_eq!(String::from_utf8(output).unwrap().lines().count(), 5);
    assert!(serve(ours().as_ref(), &plan(), &b"no task\n"[..], Vec::new()).is_err());
}

fn shell(script: &'static str, time_ms: u64, memory: u64) -> Worker {
    let command = move || {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    };
    Worker::new(
        command,
        Limits {
            time: Duration::from_millis(time_ms),
            memory,
        },
    )
}

#[test]
fn a_child_is_ended_at_its_limits() {
    let task = task();
    let plenty = u64::MAX;
    let mut slow = shell("echo '\"Ready\"'; read line; exec sleep 60", 200, plenty);
    assert_eq!(slow.run(&task), Ok(Outcome::TimedOut));
    // The next case gets a new child.
    assert_eq!(slow.run(&task), Ok(Outcome::TimedOut));
    let mut large = shell("echo '\"Ready\"'; read line; exec sleep 60", 60_000, 1);
    if cfg!(target_os = "linux") {
        assert_eq!(large.run(&task), Ok(Outcome::OutOfMemory));
    }
    let mut dying = shell("echo '\"Ready\"'; read line; exit 3", 60_000, plenty);
    assert_eq!(
        dying.run(&task),
        Ok(Outcome::Crashed("exit status: 3".into()))
    );
    let mut never = shell("echo '{\"Fatal\":\"no vocabulary\"}'", 60_000, plenty);
    assert_eq!(never.run(&task), Err("no vocabulary".into()));
    assert!(shell("exit 1", 60_000, plenty).run(&task).is_err());
}

#[test]
fn what_fails_after_the_verdict_costs_times_only() {
    let script = r#"echo '"Ready"'; read line
        echo '{"Verdict":{"refused":null,"accepted":[true],"gave_up":null,"mismatch":null,"checked":0,"compile_ns":5,"first_mask_ns":6,"times":{"mask_ns":[],"advance_ns":[]}}}'
        exec sleep 60"#;
    let outcome = shell(script, 300, u64::MAX).run(&task()).unwrap();
    assert!(matches!(outcome, Outcome::Judged(verdict, None) if verdict.accepted == [true]));
}

/// A run of made-up outcomes, the same every time.
fn collected() -> Collector {
    let times = |from: u64| Times {
        mask_ns: (0..100).map(|i| (from + i) * 1000).collect(),
        advance_ns: vec![500, 1500],
    };
    let judged = |accepted: &[bool]| {
        let verdict = Verdict {
            accepted: accepted.to_vec(),
            checked: 3,
            compile_ns: 2_000_000,
            first_mask_ns: 2_500_000,
            times: times(1),
            ..Verdict::default()
        };
        let extra = Extra {
            cold: times(10),
            warm: times(0),
            complete: true,
        };
        Outcome::Judged(Box::new(verdict), Some(Box::new(extra)))
    };
    let refused = Verdict {
        refused: Some("not: no".into()),
        ..Verdict::default()
    };
    let mut collector = Collector::new("made-up");
    collector.add("passes", &[true, false], judged(&[true, false]));
    collector.add("no texts", &[], judged(&[]));
    collector.add("wrong", &[true, false], judged(&[true, true]));
    collector.add("rejects", &[true], judged(&[false]));
    collector.add("refused", &[true], Outcome::Judged(Box::new(refused), None));
    collector.add("late", &[false], Outcome::TimedOut);
    collector.add("large", &[false], Outcome::OutOfMemory);
    collector.add("dead", &[true, false], Outcome::Crashed("signal: 6".into()));
    collector
}

#[test]
fn the_report_has_its_shape() {
    let report = collected().finish();
    insta::assert_json_snapshot!(report);
}

#[test]
fn the_table_has_its_shape() {
    let mut aborted = collected();
    aborted.abort("the child does not get ready".into());
    insta::assert_snapshot!(table(&[collected().finish(), aborted.finish()]));
}
