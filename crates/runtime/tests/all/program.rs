//! The `tokenmold` program, as a person or a script meets it.
#![cfg(feature = "cli")]

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Files, PERSON, run, tokenizer};

#[test]
fn help_is_for_learning() {
    let help = run(&["--help"], "");
    assert_eq!(help.code, Some(0));
    for command in [
        "generate",
        "agent",
        "regex",
        "explain",
        "index",
        "fsm",
        "template",
        "parse",
        "check",
        "completions",
        "man",
    ] {
        assert!(help.out.contains(command), "{command}");
        let one = run(&[command, "--help"], "");
        assert_eq!(one.code, Some(0));
        assert!(one.out.contains("Usage: tokenmold"), "{command}");
    }
    insta::assert_snapshot!(help.out);
}

#[test]
#[cfg(not(feature = "cuda"))]
fn a_device_that_the_build_lacks_is_refused_by_name() {
    let gpu = run(&["generate", "--prompt", "x", "--device", "cuda:1"], "");
    assert_eq!(gpu.code, Some(1));
    assert!(gpu.err.contains("cuda:1"), "{}", gpu.err);
    assert!(gpu.err.contains("--features cuda"), "{}", gpu.err);
    let none = run(&["generate", "--prompt", "x", "--device", "tpu"], "");
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("`tpu` is no device"), "{}", none.err);
}

#[test]
fn exit_codes_tell_bad_usage_from_bad_input() {
    assert_eq!(run(&["fsm"], "").code, Some(2));
    assert_eq!(run(&["no-such-command"], "").code, Some(2));
    assert_eq!(
        run(
            &["generate", "--prompt", "x", "--schema", "a", "--regex", "b"],
            ""
        )
        .code,
        Some(2)
    );
    assert_eq!(run(&["index", "--tokenizer", "x"], "").code, Some(2));
    assert_eq!(run(&["fsm", "--regex", "a("], "").code, Some(1));
}

#[test]
fn without_a_command_the_whole_job_is_shown() {
    let shown = run(&[], "");
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    for part in [
        "A schema goes in",
        "without the mask",
        "with the mask",
        "valid by the schema",
        "states",
        "masks",
    ] {
        assert!(shown.out.contains(part), "{part} in {}", shown.out);
    }
    assert!(shown.out.contains('«'), "forced tokens are marked");
    let shown = run(&["--json"], "").json();
    let answer = shown["with_mask"]["value"].clone();
    assert_eq!(
        shown["message"],
        json!({ "role": "assistant", "content": answer })
    );
    let validator = jsonschema::validator_for(&shown["schema"]).unwrap();
    assert!(validator.is_valid(&answer), "{answer}");
    assert_eq!(shown["with_mask"]["complete"], true);
}

#[test]
fn a_schema_prints_as_a_regular_expression() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let ran = run(
        &["regex", "--schema", &schema, "--whitespace", "compact"],
        "",
    );
    assert_eq!(ran.code, Some(0));
    let dfa = tokenmold::fsm_index::Dfa::new(ran.out.trim_end()).unwrap();
    assert!(dfa.accepts(r#"{"name":"Ada","age":36}"#));
    assert!(!dfa.accepts(r#"{"name":"","age":36}"#) && !dfa.accepts(r#"{"name":"Ada","age":151}"#));
    let again = run(&["--json", "regex", "--schema", "-"], PERSON).json();
    assert_eq!(
        again["ledger"][0],
        json!({"pointer": "/type", "keyword": "type", "status": "enforced"})
    );
    let ledger = run(&["regex", "--ledger", "--schema", &schema], "");
    assert!(
        ledger.out.contains("/properties/name/maxLength"),
        "{}",
        ledger.out
    );
}

#[test]
fn an_automaton_is_shown_and_traced() {
    let traced = run(&["fsm", "--regex", "A[0-9]+", "--input", "A42"], "");
    let table = ["fsm", "--regex", "A[0-9]+", "--input", "A42", "--table"];
    let shown = run(&table, "");
    assert_eq!(shown.code, Some(0));
    assert!(shown.out.ends_with(&format!("\n\n{}", traced.out)));
    assert_eq!(traced.out.lines().count(), 4);
    insta::assert_snapshot!(shown.out);
    let refused = run(&["fsm", "--regex", "A[0-9]+", "--input", "A4x"], "");
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.contains("refused at byte 2"), "{}", refused.out);
    let dot = run(&["fsm", "--regex", "A[0-9]+", "--dot"], "");
    assert!(dot.out.starts_with("digraph"), "{}", dot.out);
    let json = run(
        &["--json", "fsm", "--regex", "A[0-9]+", "--input", "Ax"],
        "",
    )
    .json();
    assert_eq!(json["trace"]["stopped_at"], 1);
    assert_eq!(json["states"][1]["next"], json!({"[0-9]": 2}));
}

#[test]
fn an_index_is_built_and_saved() {
    let files = Files::new();
    let (schema, out) = (files.put("person.json", PERSON), files.put("index", ""));
    let args = [
        "--json",
        "index",
        "--schema",
        &schema,
        "--tokenizer",
        &tokenizer(),
        "--out",
        &out,
    ];
    let built = run(&args, "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!(built.json()["saved_bytes"], bytes.len());
    let json = std::fs::read(tokenizer()).unwrap();
    let vocabulary = tokenmold::fsm_index::Vocabulary::from_tokenizer_json(&json).unwrap();
    let index = tokenmold::fsm_index::Index::from_bytes(&bytes, &vocabulary).unwrap();
    assert_eq!(built.json()["rows"], index.stats().rows);
}

#[test]
fn check_says_where_and_why_a_text_is_refused() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let tokenizer = tokenizer();
    let args = [
        "--json",
        "check",
        "--schema",
        &schema,
        "--tokenizer",
        &tokenizer,
    ];
    let good = run(&args, "{\"name\": \"Zoë\", \"age\": 7}\n");
    assert_eq!(
        (good.code, &good.json()["accepted"]),
        (Some(0), &json!(true))
    );
    let bad = run(&args, r#"{"name": "Ada", "age": 151}"#);
    assert_eq!(bad.code, Some(1));
    let why = bad.json();
    assert_eq!(
        (&why["offset"], &why["pointer"]),
        (&json!(25), &json!("/age"))
    );
    let short = run(&args, r#"{"name": "Ada""#);
    assert_eq!((short.code, &short.json()["offset"]), (Some(1), &json!(14)));
    let text = run(&args[1..], "{\"name\": 5}");
    assert!(
        text.out.contains("at \"/name\" of the value"),
        "{}",
        text.out
    );
    // Bytes that no tokenizer writes are followed one by one.
    let regex = run(
        &["check", "--regex", "(?s-u:.)+", "--tokenizer", &tokenizer],
        "x",
    );
    assert_eq!(regex.code, Some(1), "a pattern of bytes is refused by name");
}

/// A schema that no regular expression can say, with a keyword of each kind.
const ORDER: &str = r#"{
    "x-tokenmold": {"caps": {"length": 40}},
    "title": "An order",
    "type": "object",
    "properties": {
        "id": {"type": "integer", "format": "uint32"},
        "when": {"type": "string", "format": "date-time"},
        "note": {"type": "string", "format": "friendly"},
        "items": {"type": "array", "uniqueItems": true, "items": {"type": "string", "maxLength": 8}}
    },
    "required": ["id"],
    "additionalProperties": false
}"#;

#[test]
fn explain_shows_what_becomes_of_each_keyword() {
    let files = Files::new();
    let order = files.put("order.json", ORDER);
    let own = ["explain", "--schema-settings", "--schema", &order];
    let shown = run(&own, "");
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    insta::assert_snapshot!("explain_an_accepted_schema", shown.out);
    let json = run(&["--json", "explain", "--schema", &order], "").json();
    assert_eq!(json["accepted"], json!(true));
    assert_eq!(
        json["regex_error"]["pointer"],
        "/properties/items/uniqueItems"
    );
    let bad = files.put(
        "bad.json",
        r#"{"properties": {"a": {"type": "string", "not": {"format": "idn-hostname"}}, "b": {"pattern": "(a)\\1"}}}"#,
    );
    let shown = run(&["explain", "--schema", &bad], "");
    assert_eq!(shown.code, Some(1));
    insta::assert_snapshot!("explain_a_refused_schema", shown.out);
    let elsewhere = ["explain", "--schema", &order, "--providers"];
    let shown = run(&elsewhere, "");
    insta::assert_snapshot!("explain_names_what_providers_take", shown.out);
    let json = run(&[&["--json"], &elsewhere[..]].concat(), "").json();
    assert_eq!(json["providers"][1]["provider"]["id"], "anthropic");
    let wrong = files.put("wrong.json", r#"{"x-tokenmold": {"whitespaces": 1}}"#);
    let shown = run(&["explain", "--schema-settings", "--schema", &wrong], "");
    assert_eq!(shown.code, Some(1));
    assert!(
        shown.err.contains("/x-tokenmold/whitespaces"),
        "{}",
        shown.err
    );
}

/// References into a folder: by URI, by `$id`, and beside the schema's own file.
#[test]
fn references_lead_into_folders_of_documents() {
    let files = Files::new();
    let unit = files.put(
        "unit.json",
        r#"{"$id": "https://own.example/unit", "enum": ["m"]}"#,
    );
    let folder = Path::new(&unit).parent().unwrap().display().to_string();
    let explain = |schema: &str, further: &[&str]| {
        run(&[&["explain", "--schema", schema], further].concat(), "")
    };
    let by_uri = files.put("a.json", r#"{"$ref": "https://a.example/unit"}"#);
    let alone = explain(&by_uri, &[]);
    assert_eq!(alone.code, Some(1));
    assert!(alone.out.contains("`--documents`"), "{}", alone.out);
    let below = format!("https://a.example={folder}");
    assert_eq!(explain(&by_uri, &["--documents", &below]).code, Some(0));
    let missing = explain(&by_uri, &["--documents", &folder]);
    assert!(missing.out.contains("`--documents`"), "{}", missing.out);
    for reference in ["unit.json", "https://own.example/unit"] {
        let schema = files.put("b.json", &format!(r#"{{"$ref": "{reference}"}}"#));
        let shown = explain(&schema, &["--documents", &folder]);
        assert_eq!(shown.code, Some(0), "{reference}: {}", shown.out);
    }
    let none = explain(&by_uri, &["--documents", "no-such-folder"]);
    assert!(none.err.contains("is no folder"), "{}", none.err);
    files.put("broken.json", "{");
    let broken = explain(&by_uri, &["--documents", &folder]);
    assert!(broken.err.contains("broken.json"), "{}", broken.err);
}

#[test]
fn schemas_are_read_as_switches_say() {
    let files = Files::new();
    let several =
        r#"{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}], "titel": "n"}"#;
    let schema = files.put("schema.json", several);
    let tokenizer = tokenizer();
    let check = |further: &[&str]| {
        let args = ["check", "--schema", &schema, "--tokenizer", &tokenizer];
        run(&[&args[..], further].concat(), "7")
    };
    assert_eq!(check(&[]).code, Some(1));
    assert_eq!(check(&["--one-of", "any"]).code, Some(0));
    let shown = run(&["explain", "--schema", &schema, "--one-of", "any"], "");
    assert!(
        shown
            .out
            .contains("loosened: taken as `anyOf`, as `--one-of` asks"),
        "{}",
        shown.out
    );
    let strict = check(&["--unknown-keywords", "refuse"]);
    assert_ne!(strict.code, Some(0));
    assert!(
        strict
            .err
            .contains("did you mean `title`?; `--unknown-keywords` has it ignored"),
        "{}",
        strict.err
    );
}

#[test]
fn check_follows_the_rules_of_generate() {
    let files = Files::new();
    let order = files.put("order.json", ORDER);
    let tokenizer = tokenizer();
    let args = [
        "check",
        "--schema",
        &order,
        "--schema-settings",
        "--tokenizer",
        &tokenizer,
    ];
    let good = run(&args, r#"{"id": 7, "items": ["a", "b"]}"#);
    assert_eq!(good.code, Some(0), "{}{}", good.out, good.err);
    insta::assert_snapshot!("check_notes_what_is_not_as_written", good.err);
    let twice = run(&args, r#"{"id": 7, "items": ["a", "a"]}"#);
    assert_eq!(twice.code, Some(1));
    assert!(
        twice.out.contains("at \"/items/1\" of the value"),
        "{}",
        twice.out
    );
    let large = run(&args, r#"{"id": 4294967296}"#);
    assert_eq!(large.code, Some(1));
    // Any order, where it is asked for.
    let swapped = r#"{"items": [], "id": 1}"#;
    assert_eq!(run(&args, swapped).code, Some(1));
    let any = [&args[..], &["--property-order", "any"]].concat();
    assert_eq!(run(&any, swapped).code, Some(0));
}

#[test]
fn parse_reads_a_message_back() {
    let files = Files::new();
    let schema = files.put(
        "response.json",
        r#"{"type": "object", "properties": {
            "role": {"const": "assistant"},
            "thinking": {"type": "string", "x-regex": "<think>\\s*(.*?)\\s*</think>"},
            "tool_calls": {"type": "array", "x-regex-iterator": "<tool_call>(.*?)</tool_call>",
                "items": {"x-parser": "json"}}}}"#,
    );
    let text = "<think>\nwarm?\n</think><tool_call>{\"name\": \"weather\"}</tool_call>";
    let parsed = run(&["parse", "--response-schema", &schema], text);
    assert_eq!(parsed.code, Some(0), "{}", parsed.err);
    assert_eq!(
        parsed.json(),
        json!({"role": "assistant", "thinking": "warm?", "tool_calls": [{"name": "weather"}]})
    );
    let bad = run(
        &["parse", "--response-schema", &schema],
        "<tool_call>{</tool_call>",
    );
    assert_eq!(bad.code, Some(1));
    assert!(
        bad.err.contains("/properties/tool_calls/items"),
        "{}",
        bad.err
    );
}

#[test]
fn generate_obeys_a_schema_whatever_the_seed() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let validator = jsonschema::validator_for(&serde_json::from_str(PERSON).unwrap()).unwrap();
    for seed in ["1", "2", "3"] {
        let args = [
            "--json",
            "generate",
            "--schema",
            &schema,
            "--prompt",
            "Tove Marsk is 41 years old.",
            "--temperature",
            "1.5",
            "--top-p",
            "0.95",
            "--seed",
            seed,
        ];
        let (one, two) = (run(&args, "").json(), run(&args, "").json());
        assert_eq!(one["text"], two["text"], "a seed gives one text");
        assert_eq!(one["complete"], true);
        assert!(validator.is_valid(&one["value"]), "{}", one["text"]);
    }
}

#[test]
fn generate_marks_what_is_incomplete_and_shows_probabilities() {
    let args = [
        "--json",
        "generate",
        "--regex",
        "[a-z]{50}",
        "--prompt",
        "x",
        "--max-tokens",
        "3",
        "--budget",
        "cut",
    ];
    let cut = run(&args, "").json();
    assert_eq!(
        (&cut["complete"], &cut["finish"]),
        (&json!(false), &json!("Length"))
    );
    let table = run(
        &[
            "generate",
            "--regex",
            "(yes|no)",
            "--prompt",
            "x",
            "--show-probabilities",
            "2",
        ],
        "",
    );
    assert_eq!(table.code, Some(0), "{}", table.err);
    assert!(table.out.contains("before the mask"), "{}", table.out);
    let free = run(
        &[
            "--json",
            "generate",
            "--regex",
            "(yes|no)",
            "--prompt",
            "x",
            "--no-mask",
            "--max-tokens",
            "4",
        ],
        "",
    );
    assert!(free.json()["constraint"].is_null());
}

#[test]
fn bad_input_is_told_by_name() {
    let files = Files::new();
    let not_json = files.put("schema.json", "{\"type\": ");
    let refused = files.put(
        "refused.json",
        r#"{"properties": {"a": {"type": "array", "uniqueItems": true}}, "type": "object"}"#,
    );
    let wordpiece = files.put(
        "wordpiece.json",
        r#"{"model": {"type": "WordPiece", "vocab": {}}}"#,
    );
    let poor = files.put(
        "poor.json",
        r#"{"model": {"type": "BPE", "vocab": {"a": 0}}, "decoder": {"type": "ByteLevel"}}"#,
    );
    let person = files.put("person.json", PERSON);
    let long = "word ".repeat(3000);
    let tokenizer = tokenizer();
    let folder = files.0.path().display().to_string();
    let cases: [(&[&str], &str); 8] = [
        (&["regex", "--schema", &not_json], "is not JSON"),
        (
            &["regex", "--schema", "no-such-file.json"],
            "no-such-file.json",
        ),
        (
            &["regex", "--schema", &refused],
            "#/properties/a/uniqueItems",
        ),
        (
            &["index", "--schema", &person, "--tokenizer", &wordpiece],
            "WordPiece",
        ),
        (
            &["index", "--schema", &person, "--tokenizer", &poor],
            "no tokens for the bytes",
        ),
        (
            &["index", "--schema", &person, "--tokenizer", &person],
            "tokenizer.json",
        ),
        (&["generate", "--prompt", &long], "context"),
        (
            &["generate", "--prompt", "x", "--model", &folder],
            "config.json",
        ),
    ];
    for (args, part) in cases {
        let ran = run(args, "");
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.out);
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(part),
            "{args:?}: {}",
            ran.err
        );
        let json = run(&[&["--json"], args].concat(), "").json();
        assert!(json["error"].as_str().unwrap().contains(part), "{json}");
    }
    let ran = run(&["index", "--regex", "a|é", "--tokenizer", &tokenizer], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_chat_is_bound_and_unbound_as_it_goes() {
    let folder = Files::new();
    let schema = folder.put("person.json", PERSON);
    let lines = format!(
        "/schema {schema}\nZoe, 12, Paris\n/prompt\n/undo\n/regex (yes|no)\nIs it?\n/regex off\n\
         /max none\n/nope\n/help\n/quit\nnever read\n"
    );
    let ran = run(&["chat", "--system", "Be brief."], &lines);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains(r#"{"name":"Zoe","age":12}"#),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("<|im_start|>system\nBe brief.\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("/schema FILE"));
    assert!(!ran.out.contains("never read"));
    let said = format!(
        "answers are JSON of {schema}\nthe last question and what came of it are forgotten\n\
         answers match (yes|no)\nanswers are free\n"
    );
    let errors = "error: /max wants a number of tokens\nerror: there is no /nope; /help lists what there is\n";
    assert_eq!(ran.err, said + errors);
    let quiet = run(&["chat", "--quiet", "--system", "Be brief."], &lines);
    assert_eq!(quiet.err, errors);
    let ran = run(&["chat", "--json"], &lines);
    let messages = ran.json()["messages"].as_array().unwrap().clone();
    assert_eq!(messages.len(), 2);
    assert!(["yes", "no"].contains(&messages[1]["content"].as_str().unwrap()));
}

#[test]
fn a_chat_calls_tools_that_obey_their_schemas() {
    let folder = Files::new();
    let tools = folder.put(
        "tools.json",
        r#"[{"name": "convert", "description": "Converts.", "parameters": {
            "type": "object",
            "properties": {"amount": {"type": "integer", "minimum": 1, "maximum": 99},
                           "unit": {"enum": ["metres", "miles"]}},
            "required": ["amount", "unit"], "additionalProperties": false}}]"#,
    );
    let lines = format!("/tools {tools}\n/tools\n12 miles, please\n/prompt\n");
    let ran = run(&["chat"], &lines);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "the model may call convert\n");
    assert!(ran.out.contains("Call one of these tools:"), "{}", ran.out);
    let ran = run(
        &["chat", "--json", "--tools", &tools],
        "12 miles, please\n19.3\n",
    );
    let json = ran.json();
    let messages = json["messages"].as_array().unwrap();
    let calls = messages[1]["tool_calls"].as_array().unwrap();
    let function = &calls[0]["function"];
    assert_eq!(function["name"], "convert");
    let amount = function["arguments"]["amount"].as_u64().unwrap();
    assert!((1..=99).contains(&amount), "{json:#}");
    assert_eq!(messages[2]["role"], "tool");
    assert_eq!(messages[2]["content"], "19.3");
    assert_eq!(messages[3]["role"], "assistant");

    // A call that must come is all of the answer.
    for choice in ["required", "convert"] {
        let asked = [
            "--json",
            "generate",
            "--tools",
            &tools,
            "--tool-choice",
            choice,
            "--prompt",
            "Hello there.",
        ];
        let ran = run(&asked, "");
        let json = ran.json();
        let call = &json["message"]["tool_calls"][0]["function"];
        assert_eq!(call["name"], "convert", "{json:#}");
        let content = json["message"]["content"].as_str().unwrap_or_default();
        assert_eq!(content.trim(), "", "{json:#}");
    }
    let none = [
        "--json",
        "generate",
        "--tools",
        &tools,
        "--tool-choice",
        "none",
        "--prompt",
        "12 miles, please",
    ];
    let ran = run(&none, "");
    assert!(
        ran.json()["message"].get("tool_calls").is_none(),
        "{}",
        ran.out
    );
    let unknown = [
        "generate",
        "--tools",
        &tools,
        "--tool-choice",
        "weather",
        "--prompt",
        "x",
    ];
    let ran = run(&unknown, "");
    let why = "there is no tool \"weather\"";
    assert!(ran.code == Some(1) && ran.err.contains(why), "{}", ran.err);
    let ran = run(
        &["generate", "--tool-choice", "required", "--prompt", "x"],
        "",
    );
    assert!(
        ran.code == Some(1) && ran.err.contains("--tools"),
        "{}",
        ran.err
    );

    let wrong = folder.put("wrong.json", r#"[{"name": "a b"}]"#);
    let ran = run(&["chat", "--tools", &wrong], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("\"a b\" cannot be offered"), "{}", ran.err);
    let ran = run(&["chat", "--tools", &tools, "--format", "gemma"], "");
    assert!(ran.err.contains("its calls cannot be bound"), "{}", ran.err);
    let ran = run(&["chat", "--tools", &tools, "--format", "nope"], "");
    assert!(
        ran.err.contains("there is no family \"nope\""),
        "{}",
        ran.err
    );
}

/// What a system's turn would say goes before the first request where a template
/// knows no such turn; with tools too.
#[test]
fn a_template_without_a_systems_turn_is_told_of_tools_all_the_same() {
    let (folder, config) = Files::with_model();
    let raises = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% for message";
    folder.put(
        "tokenizer_config.json",
        &config.replace("{% for message", raises),
    );
    let tools = folder.put(
        "tools.json",
        r#"[{"name": "ping", "parameters": {"type": "object", "additionalProperties": false}}]"#,
    );
    let folder = folder.0.path().display().to_string();
    let ran = run(
        &[
            "chat",
            "--model",
            &folder,
            "--tools",
            &tools,
            "--format",
            "hermes",
            "--max-tokens",
            "30",
            "--quiet",
        ],
        "Ping, please\n/prompt\n",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "");
    assert!(
        ran.out
            .contains("<|im_start|>user\nCall one of these tools:"),
        "{}",
        ran.out
    );
}

/// The template of a model that reasons opens the reasoning, and this one never
/// closes it: the budget does, and the answer behind it is bound.
#[test]
fn a_chat_reasons_before_its_bound_answer() {
    let (folder, config) = Files::with_model();
    let config = config.replace("assistant\\n{% endif", "assistant\\n<think>\\n{% endif");
    assert!(config.contains("<think>"));
    folder.put("tokenizer_config.json", &config);
    let folder = folder.0.path().display().to_string();
    let lines = "/regex yes|no\nIs it so?\n/regex off\nIs it?\n";
    let ran = run(
        &["chat", "--json", "--model", &folder, "--max-tokens", "40"],
        lines,
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let messages = ran.json()["messages"].as_array().unwrap().clone();
    assert_eq!(messages.len(), 4, "{messages:?}");
    let answer = &messages[1];
    assert!(
        ["yes", "no"].contains(&answer["content"].as_str().unwrap()),
        "{answer}"
    );
    assert!(
        answer["reasoning_content"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{answer}"
    );
    assert!(
        messages[3]["reasoning_content"].is_string(),
        "{}",
        messages[3]
    );
}

#[test]
fn a_generation_with_tools_is_read_as_a_message() {
    let folder = Files::new();
    let tools = folder.put(
        "tools.json",
        r#"[{"name": "convert", "description": "Converts.", "parameters": {
            "type": "object",
            "properties": {"amount": {"type": "integer", "minimum": 1, "maximum": 99},
                           "unit": {"enum": ["metres", "miles"]}},
            "required": ["amount", "unit"], "additionalProperties": false}}]"#,
    );
    let asked = |own: &[&str]| {
        let common = ["generate", "--prompt", "12 miles, please"];
        run(&[&common[..], own].concat(), "")
    };
    let ran = asked(&["--tools", &tools, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let json = ran.json();
    assert_eq!(json["complete"], true);
    let function = &json["message"]["tool_calls"][0]["function"];
    assert_eq!(function["name"], "convert", "{json:#}");
    let amount = function["arguments"]["amount"].as_u64().unwrap();
    assert!((1..=99).contains(&amount), "{json:#}");
    // For people the message comes behind the text.
    let ran = asked(&["--tools", &tools]);
    let (_, message) = ran.out.split_once("\n{").unwrap();
    let message: Value = serde_json::from_str(&format!("{{{message}")).unwrap();
    assert_eq!(message, json["message"]);

    // The same by a response template of one's own.
    let template = folder.put(
        "template.json",
        &json!({
            "start_anchor": "<|im_start|>assistant\n",
            "defaults": {"role": "assistant"},
            "fields": {
                "tool_calls": {
                    "open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                    "transform": {"type": "function", "function": {
                        "name": "{content.tool}", "arguments": "{content.input}"}},
                },
                "content": {},
            },
        })
        .to_string(),
    );
    let schema = folder.put("person.json", PERSON);
    let own = ["--response-template", &template, "--json"];
    let ran = asked(&[&own[..], &["--schema", &schema]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let content = ran.json()["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let person: Value = serde_json::from_str(&content).unwrap();
    assert!(person["age"].is_u64(), "{person}");

    // Without the mask it is read all the same.
    let ran = run(
        &[
            "generate",
            "--prompt",
            "Hello",
            "--no-mask",
            "--max-tokens",
            "5",
            "--format",
            "hermes",
            "--json",
        ],
        "",
    );
    assert_eq!(ran.json()["message"]["role"], "assistant", "{}", ran.out);
    let ran = asked(&["--format", "nope"]);
    assert!(
        ran.err.contains("there is no family \"nope\""),
        "{}",
        ran.err
    );
    let ran = asked(&["--tools", &schema]);
    assert!(ran.err.contains("is not a list of tools"), "{}", ran.err);
    assert_eq!(asked(&["--dtype", "f64"]).code, Some(2));
}

#[test]
fn a_text_is_fitted_and_stopped() {
    let folder = Files::new();
    let schema = folder.put("person.json", PERSON);
    let common = [
        "generate",
        "--schema",
        &schema,
        "--prompt",
        "Zoe, 12, Paris",
        "--json",
    ];
    let fitted = run(&[&common[..], &["--max-tokens", "40"]].concat(), "");
    assert_eq!(fitted.json()["complete"], true, "{}", fitted.out);
    let tight = run(&[&common[..], &["--max-tokens", "3"]].concat(), "");
    assert_eq!(tight.code, Some(1));
    let error = tight.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("the shortest text takes"), "{error}");
    let stopped = run(&[&common[..], &["--stop", "age"]].concat(), "");
    assert_eq!(stopped.json()["text"], r#"{"name":"Zoe",""#);
    assert_eq!(stopped.json()["complete"], false);
}

#[test]
fn a_trace_is_written_and_made_a_page_of() {
    let folder = Files::new();
    let schema = folder.put("person.json", PERSON);
    let trace = folder.0.path().join("trace.jsonl").display().to_string();
    let prompt = "Zoe </script><b>, 12, Paris";
    let args = [
        "generate", "--schema", &schema, "--prompt", prompt, "--trace", &trace,
    ];
    let ran = run(&args, "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains("before the mask"), "{}", ran.out);
    let lines: Vec<Value> = std::fs::read_to_string(&trace)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["prompt"], prompt);
    let (last, steps) = lines[1..].split_last().unwrap();
    assert_eq!(last["complete"], true);
    let text: String = steps
        .iter()
        .filter_map(|step| step["text"].as_str())
        .collect();
    assert_eq!(json!(text), last["text"]);
    for step in steps {
        assert!(step["state"].is_string(), "{step}");
        assert!(!step["at"].as_array().unwrap().is_empty(), "{step}");
    }
    for step in steps.iter().filter(|step| step["forced"] == false) {
        let allowed = step["allowed"].as_u64().unwrap();
        assert!(0 < allowed && allowed < step["of"].as_u64().unwrap());
        assert!(step["completion"].is_string());
        // What the model alone would have said is refused if it is not said
        // and greedy drawing is asked for.
        let differs = step["likeliest"]["token"] != step["token"];
        assert_eq!(step["refused"].is_string(), differs, "{step}");
    }
    let page = run(&["view", &trace], "");
    assert_eq!(page.code, Some(0), "{}", page.err);
    let html = std::fs::read_to_string(page.out.trim()).unwrap();
    assert!(html.contains("<h1>tokenmold <span>trace</span></h1>"));
    assert_eq!(html.matches("</script>").count(), 1);
    assert!(!html.contains("/*TRACE*/"));
    let bad = folder.put("bad.jsonl", "{}");
    assert_eq!(run(&["view", &bad], "").code, Some(1));
}
