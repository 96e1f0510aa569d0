//! The golden cases, where they are at hand.

#[path = "../../../examples/conformance/cases.rs"]
#[allow(unreachable_pub)]
mod cases;

use std::path::PathBuf;

/// What differs by design, at most so many of the cases whose answer is not disputed:
/// references that lead out of the document, and the spellings that
/// `docs/CONFORMANCE.md` lists. A tag that starts to differ shows here.
const DIFFERENT: usize = 8;

#[test]
fn golden_cases() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no folder of checking data");
        return;
    };
    let file = PathBuf::from(data).join("goldens/structural-tags-dev.jsonl");
    if !file.exists() {
        eprintln!("skipped: {} is not there", file.display());
        return;
    }
    let mut shown = Vec::new();
    let groups = cases::run(&file, &mut |difference| {
        if difference.disputed.is_none() {
            shown.push(format!(
                "{}: expected {}, got {}",
                difference.id, difference.expected, difference.got
            ));
        }
    })
    .unwrap();
    let failed: usize = groups.values().map(|o| o.failed - o.disputed).sum();
    let passed: usize = groups.values().map(|o| o.passed).sum();
    assert!(passed > 3_000, "{passed} passed");
    assert!(
        failed <= DIFFERENT,
        "{failed} differ:\n{}",
        shown.join("\n")
    );
}
