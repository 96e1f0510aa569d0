//! Instructions, as valgrind counts them: the same on a busy machine as on an idle one. For
//! example, `--toggle-collect=a::b` counts the instructions inside of `a::b` alone.

use std::path::Path;
use std::process::Command;

/// The arguments by which `callgrind` counts each call of a function by itself; what the calls
/// cost comes one after another in `file`. (Of several functions version 3.19 counts none.)
pub fn callgrind(name: &str, file: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--combine-dumps=yes"]);
    command.arg("--dump-line=no");
    command.arg(format!("--toggle-collect={name}"));
    command.arg(format!("--dump-after={name}"));
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command
}

/// The instructions of each call, in order, from what `callgrind` wrote. The last part, which
/// is of no call, is left out.
///
/// # Errors
///
/// A line of totals has no number; the message has its place.
pub fn calls(written: &str) -> Result<Vec<u64>, String> {
    let totals = written
        .lines()
        .enumerate()
        .filter_map(|(at, line)| Some((at, line.strip_prefix("totals:")?)));
    let mut calls: Vec<u64> = totals
        .map(|(at, total)| {
            let total = total.trim().parse();
            total.map_err(|e| format!("line {}: {e}", at + 1))
        })
        .collect::<Result<_, _>>()?;
    calls.pop();
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_a_call() {
        let part =
            |total: u64| format!("part: 1\nevents: Ir\nfn=(1) a\n0 {total}\ntotals: {total}\n");
        let written: String = [7, 90, 0].map(part).concat();
        assert_eq!(calls(&written), Ok(vec![7, 90]));
        assert_eq!(calls(""), Ok(vec![]));
        assert!(calls("a\ntotals: x\n").unwrap_err().contains("line 2"));
    }

    #[test]
    fn a_function_is_counted_and_then_told() {
        let command = callgrind("a::b", Path::new("out"));
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        assert!(arguments.contains(&"--toggle-collect=a::b".into()));
        assert!(arguments.contains(&"--dump-after=a::b".into()));
    }
}
