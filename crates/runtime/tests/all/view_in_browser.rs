//! The page of `tokenmold view` in a real browser: it is opened in headless
//! Chromium, stepped through by clicks and keys, and what it then shows is
//! compared with the trace.
//!
//! `cargo test --test all view_in_browser -- --nocapture`; the browser is
//! `TOKENMOLD_BROWSER`, or the first of the usual names on the path. Without one
//! the test says that it skips.

#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::browser::browser;

fn tokenmold(arguments: &[&str]) {
    let program = env!("CARGO_BIN_EXE_tokenmold");
    let ran = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {said}");
}

/// Steps through the page as a person would, and leaves in it what it saw.
const VISITOR: &str = r##"<script>
const seen = [];
const look = (how) => {
  const rows = {
    state: document.getElementById("reading").textContent,
    token: document.querySelector("#step .token").title,
    said: document.getElementById("step").textContent,
    refused: document.querySelector("#step [data-row=refused]")?.textContent,
  };
  const marked = [...document.querySelectorAll("#text [data-step]")].findIndex((token) => token.ariaSelected === "true");
  const odds = [...document.querySelectorAll(".odds tr[data-token]")].map((line) => ({
    token: +line.dataset.token, chosen: "chosen" in line.dataset, out: line.className === "out",
    widths: [...line.querySelectorAll(".meter i")].map((bar) => parseFloat(bar.style.width)),
  }));
  const kinds = Object.fromEntries([...document.querySelectorAll("[data-kind]")].map((e) => [e.dataset.kind, +e.textContent.split(" ").at(-1)]));
  const here = [...document.querySelectorAll("#where [data-here]")].map((place) => place.textContent);
  seen.push({how, odds, kinds, here, where: document.getElementById("count").textContent, marked, rows});
};
const key = (name) => document.getElementById("text").dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
look("opened");
document.getElementById("on").click();
look("on");
key("ArrowRight");
look("right");
key("ArrowLeft");
look("left");
document.getElementById("back").click();
look("back");
document.getElementById("back").click();
look("back at the beginning");
key("End");
look("end");
document.getElementById("on").click();
look("on at the end");
const all = [];
document.querySelectorAll("#text [data-step]").forEach((token) => { token.click(); look("click"); all.push(token.textContent); });
const result = document.createElement("pre");
result.id = "seen";
result.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({
  seen, text: all, about: document.getElementById("about").textContent,
  constraint: document.getElementById("where").textContent, wide: document.documentElement.scrollWidth > window.innerWidth,
}))));
document.body.append(result);
</script>
</html>"##;

/// The page's document after its scripts have run.
fn open(browser: &Path, page: &Path, profile: &Path) -> String {
    let dumped = profile.join("dumped.html");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .stdout(std::fs::File::create(&dumped).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{}: {status}", browser.display());
            return std::fs::read_to_string(dumped).unwrap();
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("{} did not end within 90 seconds", browser.display());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_trace_can_be_stepped_through() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no browser is here; install Chromium, or set TOKENMOLD_BROWSER");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| folder.path().join(name).display().to_string();
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "city": {"anyOf": [{"enum": ["Paris", "Rome"]}, {"type": "null"}]},
        },
        "required": ["name", "age", "city"],
        "additionalProperties": false,
    });
    std::fs::write(put("schema.json"), schema.to_string()).unwrap();
    let prompt = "Zoe </script><b>, 12, \"Paris\"";
    tokenmold(&[
        "generate",
        "--schema",
        &put("schema.json"),
        "--prompt",
        prompt,
        "--trace",
        &put("trace.jsonl"),
        "--max-tokens",
        "60",
    ]);
    tokenmold(&["view", &put("trace.jsonl"), "--out", &put("page.html")]);
    let trace = std::fs::read_to_string(put("trace.jsonl")).unwrap();
    let lines: Vec<Value> = trace
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let steps = &lines[1..lines.len() - 1];

    let page = std::fs::read_to_string(put("page.html")).unwrap();
    // The icon, which is in the page, names the language of drawings.
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    assert!(
        !elsewhere.contains("http://") && !elsewhere.contains("https://"),
        "the page stands alone"
    );
    let visited = page.replace("</html>", VISITOR);
    std::fs::write(put("visited.html"), visited).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let document = open(&browser, Path::new(&put("visited.html")), profile.path());
    let (_, result) = document
        .split_once("<pre id=\"seen\">")
        .expect("the scripts ran through");
    let (result, _) = result.split_once("</pre>").unwrap();
    let result = decode_base64(result);
    let result: Value = serde_json::from_slice(&result).unwrap();

    assert!(result["about"].as_str().unwrap().contains(prompt));
    assert_eq!(result["wide"], false, "the page is wider than the window");
    assert!(
        result["constraint"]
            .as_str()
            .unwrap()
            .contains("\"maximum\": 150")
    );
    let text = result["text"].as_array().unwrap();
    assert_eq!(text.len(), steps.len());
    let seen = result["seen"].as_array().unwrap();
    let (stepped, clicked) = seen.split_at(8);
    let last = steps.len() - 1;
    for (view, at) in stepped.iter().zip([0, 1, 2, 1, 0, 0, last, last]) {
        let how = &view["how"];
        assert_eq!(view["marked"], at, "{how}");
        assert_eq!(
            view["where"],
            format!("step {} of {}", at + 1, steps.len()),
            "{how}"
        );
    }
    let mut refused = 0;
    for (at, (view, step)) in clicked.iter().zip(steps).enumerate() {
        assert_eq!(view["marked"], at);
        let rows = &view["rows"];
        assert_eq!(rows["state"], step["state"], "{step}");
        assert_eq!(rows["token"], format!("token {}", step["token"]));
        if step["forced"] == false {
            let allowed = format!("{} of {} tokens are allowed", step["allowed"], step["of"]);
            assert!(rows["said"].as_str().unwrap().contains(&allowed));
        }
        see_odds(view, step);
        // The place in the schema is marked in the schema itself.
        let marked = view["here"].as_array().unwrap();
        let places = step["at"].as_array().unwrap();
        let found = places
            .iter()
            .filter_map(|at| schema.pointer(at.as_str().unwrap()));
        let mut found: Vec<&Value> = found.collect();
        for here in marked {
            let here: Value = serde_json::from_str(here.as_str().unwrap()).unwrap();
            let at = found.iter().position(|place| **place == here);
            found.remove(at.expect("only places of the step are marked"));
        }
        assert!(found.is_empty(), "{step}");
        if step["refused"].is_string() {
            refused += 1;
            assert_eq!(rows["refused"], step["refused"]);
        }
    }
    let places: Vec<&Value> = steps
        .iter()
        .flat_map(|step| step["at"].as_array().unwrap())
        .collect();
    for pointer in ["/properties/name", "/properties/age"] {
        assert!(places.contains(&&json!(pointer)), "{places:?}");
    }
    eprintln!(
        "{}: {} steps clicked through, {refused} of them with a refused token",
        browser.display(),
        steps.len()
    );
}

/// The lines of a grammar are marked whose rules have begun.
#[test]
fn the_place_in_a_grammar_is_shown() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no browser is here; install Chromium, or set TOKENMOLD_BROWSER");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| folder.path().join(name).display().to_string();
    let grammar = "root ::= \"(\" root \")\" | word\nword ::= [a-z] [0-9] word?\n";
    std::fs::write(put("nested.gbnf"), grammar).unwrap();
    tokenmold(&[
        "generate",
        "--grammar",
        &put("nested.gbnf"),
        "--prompt",
        "x",
        "--max-tokens",
        "12",
        "--trace",
        &put("trace.jsonl"),
    ]);
    tokenmold(&["view", &put("trace.jsonl"), "--out", &put("page.html")]);
    let trace = std::fs::read_to_string(put("trace.jsonl")).unwrap();
    let steps: Vec<Value> = trace
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["token"].is_number())
        .collect();
    let page = std::fs::read_to_string(put("page.html")).unwrap();
    std::fs::write(put("visited.html"), page.replace("</html>", VISITOR)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let document = open(&browser, Path::new(&put("visited.html")), profile.path());
    let (_, result) = document
        .split_once("<pre id=\"seen\">")
        .expect("the scripts ran through");
    let result = decode_base64(result.split_once("</pre>").unwrap().0);
    let result: Value = serde_json::from_slice(&result).unwrap();
    assert_eq!(
        result["constraint"].as_str().unwrap().trim(),
        grammar.trim()
    );
    let clicked = &result["seen"].as_array().unwrap()[8..];
    let mut marked = 0;
    for (view, step) in clicked.iter().zip(&steps) {
        let here: Vec<&str> = view["here"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap().trim())
            .collect();
        for (at, line) in (1..).zip(grammar.lines()) {
            let named = format!("(line {at})");
            let places = step["at"].as_array().unwrap();
            let begun = places
                .iter()
                .any(|at| at.as_str().unwrap().contains(&named));
            // A group without a line is shown at the rule that comes next in it.
            let next = places.iter().any(|at| at.as_str().unwrap().contains("• "));
            assert!(here.contains(&line) == begun || next && !begun, "{step}");
        }
        marked += here.len();
    }
    assert!(marked > 0, "no line was ever marked");
}

/// Reads the page of `tokenmold explain --html` as a person would.
const READER: &str = r##"<script>
const read = [...document.querySelectorAll("#ledger [data-pointer]")].map((row) => {
  row.querySelector("button").click();
  const name = [...document.querySelectorAll("#where [data-key]")].find((name) => name.dataset.key === row.dataset.pointer);
  return {pointer: row.dataset.pointer, status: row.querySelector("[data-status]").dataset.status, slip: name && "slip" in name.dataset,
          why: document.getElementById("why").textContent, colour: name && getComputedStyle(name).color};
});
const result = document.createElement("pre");
result.id = "seen";
result.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({
  read, schema: document.getElementById("where").textContent, verdict: document.getElementById("verdict").textContent,
}))));
document.body.append(result);
</script>
</html>"##;

#[test]
fn a_schema_is_shown_with_what_becomes_of_its_keywords() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no browser is here; install Chromium, or set TOKENMOLD_BROWSER");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| folder.path().join(name).display().to_string();
    let schema = json!({
        "title": "</script><b>",
        "type": "object",
        "properties": {"a/b": {"type": "string", "format": "friendly", "max_length": 3}},
        "additionalProperties": false,
    });
    std::fs::write(put("schema.json"), schema.to_string()).unwrap();
    tokenmold(&[
        "explain",
        "--schema",
        &put("schema.json"),
        "--html",
        &put("page.html"),
    ]);
    let page = std::fs::read_to_string(put("page.html")).unwrap();
    std::fs::write(put("read.html"), page.replace("</html>", READER)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let document = open(&browser, Path::new(&put("read.html")), profile.path());
    let (_, result) = document
        .split_once("<pre id=\"seen\">")
        .expect("the scripts ran through");
    let result = decode_base64(result.split_once("</pre>").unwrap().0);
    let result: Value = serde_json::from_slice(&result).unwrap();
    let shown: Value = serde_json::from_str(result["schema"].as_str().unwrap()).unwrap();
    assert_eq!(shown, schema);
    let verdict = result["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Accepted. Keywords: "), "{verdict}");
    let read = result["read"].as_array().unwrap();
    let of = |pointer: &str| {
        read.iter()
            .find(|entry| entry["pointer"] == pointer)
            .unwrap()
    };
    assert_eq!(of("/type")["status"], "enforced");
    assert_eq!(of("/title")["status"], "annotation");
    assert_ne!(of("/type")["colour"], of("/title")["colour"]);
    let slip = of("/properties/a~1b/max_length");
    assert_eq!(
        (&slip["slip"], &of("/title")["slip"]),
        (&json!(true), &json!(false))
    );
    assert!(
        slip["why"]
            .as_str()
            .unwrap()
            .contains("did you mean maxLength?"),
        "{slip}"
    );
}

/// The bars and kinds of a step are those of the trace, a row for each token.
fn see_odds(view: &Value, step: &Value) {
    let rows = view["odds"].as_array().unwrap();
    let none = Vec::new();
    let list = |name: &str| step[name].as_array().unwrap_or(&none).clone();
    let (before, after) = (list("before"), list("after"));
    let of = |list: &[Value], token: &Value| {
        let found = list.iter().find(|one| one["token"] == *token);
        found.map(|one| 100.0 * one["probability"].as_f64().unwrap())
    };
    let mut tokens: Vec<&Value> = before
        .iter()
        .chain(&after)
        .map(|one| &one["token"])
        .collect();
    tokens.sort_by_key(|token| token.as_u64());
    tokens.dedup();
    assert_eq!(rows.len(), tokens.len(), "{step}");
    for row in rows {
        let (was, is) = (of(&before, &row["token"]), of(&after, &row["token"]));
        assert_eq!(row["out"], is.is_none(), "{row}");
        assert_eq!(row["chosen"], row["token"] == step["token"], "{row}");
        for (width, share) in row["widths"].as_array().unwrap().iter().zip([was, is]) {
            let off = width.as_f64().unwrap() - share.unwrap_or(0.0);
            assert!(off.abs() < 0.01, "{row}: {share:?}");
        }
    }
    if let Some(kinds) = step["kinds"].as_object() {
        let shown = view["kinds"].as_object().unwrap();
        let there = kinds.iter().filter(|(_, count)| **count != 0);
        assert!(
            there
                .clone()
                .all(|(kind, count)| shown.get(kind) == Some(count)),
            "{view}"
        );
        assert_eq!(there.count(), shown.len());
        let sum: u64 = kinds.values().filter_map(Value::as_u64).sum();
        assert_eq!(json!(sum), step["allowed"]);
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim().bytes().filter(|byte| *byte != b'=');
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for digit in digits {
        let value = DIGITS.iter().position(|d| *d == digit).unwrap() as u32;
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
