//! Files of cases: a schema and texts that it accepts or not. For example, the line `{"id": "a",
//! "schema": {"type": "integer"}, "tests": [{"valid": true, "text": "12"}]}`.

use std::io::BufRead;
use std::path::Path;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of a file of cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its name, unique in the file.
    pub id: String,
    /// Outside what the draft requires (the official suite only).
    #[serde(default)]
    pub optional: bool,
    /// The schema.
    pub schema: Value,
    /// The texts.
    #[serde(default)]
    pub tests: Vec<Test>,
}

/// A text, and whether the schema accepts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// True if the text is valid.
    pub valid: bool,
    /// The text.
    pub text: String,
}

/// Reads a file of cases, one JSON object a line.
///
/// # Errors
///
/// The file cannot be read, or a line is no case; the message has its number.
pub fn read(path: &Path) -> Result<Vec<Case>, String> {
    let place = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("{place}: {e}"))?;
    let mut cases = Vec::new();
    for (i, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| format!("{place}: {e}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let case = serde_json::from_str(&line);
        cases.push(case.map_err(|e| format!("{place}: line {}: {e}", i + 1))?);
    }
    Ok(cases)
}

/// `count` of the cases, chosen by a shuffle that depends on `seed` alone.
pub fn sample(mut cases: Vec<Case>, count: usize, seed: u64) -> Vec<Case> {
    cases.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    cases.truncate(count);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> Vec<Case> {
        let case = |i: usize| Case {
            id: i.to_string(),
            optional: false,
            schema: Value::Bool(true),
            tests: Vec::new(),
        };
        (0..count).map(case).collect()
    }

    #[test]
    fn a_sample_depends_on_the_seed_alone() {
        assert_eq!(sample(numbered(50), 10, 1), sample(numbered(50), 10, 1));
        assert_ne!(sample(numbered(50), 10, 1), sample(numbered(50), 10, 2));
        assert_eq!(sample(numbered(5), 10, 1).len(), 5);
        // A larger sample contains the smaller one.
        assert_eq!(
            sample(numbered(50), 20, 1)[..10],
            sample(numbered(50), 10, 1)
        );
    }

    #[test]
    fn lines_are_named_in_errors() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "{\"id\": \"a\", \"schema\": true}\n\n{\"id\": 5}\n",
        )
        .unwrap();
        let error = read(file.path()).unwrap_err();
        assert!(error.contains("line 3"), "{error}");
        assert!(read(Path::new("no such file")).is_err());
    }
}
