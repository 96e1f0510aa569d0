//! Grammars in the `tokenmold` program.
#![cfg(feature = "cli")]

use serde_json::Value;

use crate::common::{Files, Ran, run, tokenizer};

const SUMS: &str = "start: sum\nsum: sum \"+\" atom | atom\natom: NUMBER | \"(\" sum \")\"\n\
                    NUMBER: /[0-9]+/\n%ignore \" \"\n";

fn json(args: &[&str], stdin: &str) -> Value {
    let all: Vec<&str> = ["--json"].iter().chain(args).copied().collect();
    run(&all, stdin).json()
}

#[test]
fn explain_says_which_alternatives_have_begun() {
    let files = Files::new();
    let sums = files.put("sums.lark", SUMS);
    let Ran { code, out, err } = run(&["explain", "--grammar", &sums, "--input", "1 + (2"], "");
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("atom (line 3): \"(\" \u{2022} sum \")\""),
        "{out}"
    );
    assert!(out.contains("in NUMBER"), "{out}");
    let Ran { code, out, .. } = run(&["explain", "--grammar", &sums, "--input", "1 + )"], "");
    assert_eq!(code, Some(1));
    assert!(out.contains("byte 4 may not come"), "{out}");
    let said = json(&["explain", "--grammar", &sums, "--input", "1+"], "");
    assert_eq!(said["dialect"], "lark");
    assert_eq!(said["place"]["taken"], 2);
    assert_eq!(said["place"]["ends"], false);
    let expected = said["place"]["expected"].as_array().unwrap();
    assert!(expected.contains(&"NUMBER".into()), "{expected:?}");
    // The same text in another notation.
    let said = json(&["explain", "--grammar", &sums, "--dialect", "gbnf"], "");
    assert_eq!(said["accepted"], false);
    assert_eq!(said["error"]["line"], 1);
    let Ran { code, err, .. } = run(&["explain", "--grammar", &sums, "--dialect", "yacc"], "");
    assert_eq!(code, Some(1), "{err}");
}

#[test]
fn the_help_and_the_endings_of_files_name_each_dialect() {
    let files = Files::new();
    let Ran { out: help, .. } = run(&["explain", "--help"], "");
    for dialect in tokenmold::grammar::Dialect::ALL {
        assert!(help.contains(&format!("`{dialect}`")), "{dialect}: {help}");
        let path = files.put(&format!("sums.{dialect}"), SUMS);
        let said = json(&["explain", "--grammar", &path], "");
        assert_eq!(said["dialect"], dialect.name());
    }
}

#[test]
fn explain_says_that_nothing_but_the_end_may_come() {
    let files = Files::new();
    let comment = files.put("comment.lark", "start: /\\{#([^#]|#+[^#}])*#+\\}/\n");
    let explain = ["explain", "--grammar", &comment, "--input"];
    let Ran { code, out, err } = run(&[&explain[..], &["{# x #}"]].concat(), "");
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("\nmay come: the end\n"), "{out}");
    let Ran { out, .. } = run(&[&explain[..], &["{# x"]].concat(), "");
    assert!(out.contains("\nmay come: /"), "{out}");
}

#[test]
fn check_follows_a_text_under_a_grammar() {
    let files = Files::new();
    let sums = files.put("sums.lark", SUMS);
    let tokenizer = tokenizer();
    let check = ["check", "--grammar", &sums, "--tokenizer", &tokenizer];
    let Ran { code, out, err } = run(&check, "1 + (2)\n");
    assert_eq!(code, Some(0), "{out}{err}");
    let Ran { code, out, .. } = run(&check, "1 + (2\n");
    assert_eq!(code, Some(1));
    assert!(
        out.contains("refused at byte 6") && out.contains("may come"),
        "{out}"
    );
    let digits = files.put("digits.regex", "[0-9]+\n");
    let Ran { code, out, err } = run(
        &["check", "--grammar", &digits, "--tokenizer", &tokenizer],
        "2026\n",
    );
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn limits_of_grammars_are_set_by_name() {
    let files = Files::new();
    let doubled = files.put("doubled.gbnf", "root ::= s\ns ::= s \"ab\" s | [a-z]\n");
    let explain = |limits: &[&str]| {
        let all: Vec<&str> = ["explain", "--grammar", &doubled]
            .iter()
            .chain(limits)
            .copied()
            .collect();
        run(&all, "")
    };
    assert_eq!(explain(&[]).code, Some(0));
    let raised = [
        "--grammar-limit",
        "max_work=90000000",
        "--grammar-limit",
        "max_walk_work=1000000",
    ];
    assert_eq!(explain(&raised).code, Some(0));
    let Ran { code, out, .. } = explain(&["--grammar-limit", "max_walk_work=1"]);
    assert_eq!(code, Some(1));
    assert!(
        out.contains("(limit `max_walk_work`); `--grammar-limit NAME=N` raises it"),
        "{out}"
    );
    for wrong in ["max_walk=1", "max_work=many", "max_work"] {
        let Ran { code, err, .. } = explain(&["--grammar-limit", wrong]);
        assert_eq!(code, Some(2), "{err}");
    }
    let tokenizer = tokenizer();
    let check = ["check", "--grammar", &doubled, "--tokenizer", &tokenizer];
    let Ran { code, err, .. } = run(
        &[&check[..], &["--grammar-limit", "max_work=1"]].concat(),
        "a",
    );
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("doubled.gbnf") && err.contains("`max_work`"),
        "{err}"
    );
}

#[test]
fn generate_obeys_a_grammar() {
    let files = Files::new();
    let text = "root ::= \"[\" (name (\",\" name)*)? \"]\"\nname ::= \"a\" | \"(\" name \")\"\n";
    let lists = files.put("lists.gbnf", text);
    let base = ["generate", "--grammar", &lists, "--prompt", "names"];
    for seed in ["1", "2", "3"] {
        let mut args = base.to_vec();
        args.extend(["--temperature", "2", "--seed", seed, "--max-tokens", "30"]);
        let Ran { code, out, err } = run(&args, "");
        assert_eq!(code, Some(0), "{err}");
        let grammar = tokenmold::grammar::Grammar::from_gbnf(text).unwrap();
        assert!(grammar.accepts(out.trim_end()), "{out}");
    }
}

#[test]
fn a_rule_says_the_temperature_of_its_tokens() {
    let files = Files::new();
    let calm = files.put(
        "calm.lark",
        "start: word\nword[temperature=0.0]: /[a-z]{12}/\n",
    );
    let hot = files.put("hot.lark", "start: word\nword: /[a-z]{12}/\n");
    let words = |grammar: &str| -> Vec<String> {
        let word = |seed: &str| {
            let draw = ["--temperature", "50", "--seed", seed];
            let generate = ["generate", "--grammar", grammar, "--prompt", "a word"];
            let Ran { code, out, err } = run(&[&generate[..], &draw].concat(), "");
            assert_eq!(code, Some(0), "{err}");
            out
        };
        ["1", "2", "3"].map(word).into()
    };
    let (calm, hot) = (words(&calm), words(&hot));
    assert!(calm.iter().all(|word| *word == calm[0]), "{calm:?}");
    assert!(hot.iter().any(|word| *word != hot[0]), "{hot:?}");
}
