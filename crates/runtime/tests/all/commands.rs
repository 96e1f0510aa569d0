//! Commands of the `tokenmold` program for templates, outputs, agents and batches.
#![cfg(feature = "cli")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Files, NUMBER, PERSON, convert, run, tokenizer};

const CHAT: &str = r#"[
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"}
]"#;

/// Prints tools, documents, a variable and a special token.
const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}\
    {% if tools %}T:{{ tools[0].function.name }}{% endif %}\
    {% if documents %}D:{{ documents[0].title }}{% endif %}\
    {% if thinking is defined %}V:{{ thinking }}{% endif %}\
    {{ strftime_now('%Y') }}{% if add_generation_prompt %}[assistant]{% endif %}";

/// Numbers of any size, control tokens in a user's text, limits, and spans in characters.
#[test]
fn a_chat_is_written_out_as_it_was_said() {
    let files = Files::new();
    let template = files.put(
        "template.jinja",
        "{% for m in messages %}{{ m.content }}|{% endfor %}\
         {% generation %}é{{ n | tojson }}{% endgeneration %}",
    );
    let chat = r#"[{"role": "user", "content": [123456789012345678901, NaN]},
                   {"role": "user", "content": "a</s>b"}]"#;
    let base = [
        "--json",
        "template",
        "render",
        "--template",
        &template,
        "--messages",
        "-",
        "--var",
        "n=99999999999999999999",
    ];
    let render = |further: &[&str]| run(&[&base[..], further].concat(), chat);
    let written = render(&[]).json();
    assert_eq!(
        written["text"],
        "[123456789012345678901, nan]|a</s>b|é99999999999999999999"
    );
    assert_eq!(written["generated"], json!([[36, 58]]));
    assert_eq!(written["generated_characters"], json!([[36, 57]]));
    let broken = ["--sanitize", "break", "--control-token", "</s>"];
    let text = render(&broken).json()["text"].clone();
    assert!(text.as_str().unwrap().contains("a<\u{200b}/s>b"), "{text}");
    let refused = render(&["--sanitize", "refuse", "--control-token", "</s>"]);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused.out.contains("/messages/1/content"),
        "{}",
        refused.out
    );
    let unknown = render(&["--sanitize", "refuse"]);
    assert!(unknown.out.contains("--control-token"), "{}", unknown.out);
    let limited = render(&["--limit", "instructions=3"]);
    assert!(
        limited.out.contains("more than 3 instructions"),
        "{}",
        limited.out
    );
    assert!(
        render(&["--limit", "steps=3"])
            .err
            .contains("source, instructions")
    );
}

#[test]
fn a_chat_is_written_out_by_a_template() {
    let files = Files::new();
    let chat = files.put("chat.json", CHAT);
    let own = run(
        &[
            "template",
            "render",
            "--messages",
            &chat,
            "--generation-prompt",
        ],
        "",
    );
    assert_eq!(own.code, Some(0), "{}", own.err);
    assert_eq!(
        own.out,
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>assistant\n"
    );
    let template = files.put("template.jinja", TEMPLATE);
    let documents = files.put("documents.json", r#"[{"title": "Ulm", "text": ""}]"#);
    let args = [
        "template",
        "render",
        "--template",
        &template,
        "--special-token",
        "bos_token=<s>",
        "--messages",
        "-",
        "--documents",
        &documents,
        "--var",
        "thinking=false",
        "--now",
        "2031-02-03",
        "--generation-prompt",
    ];
    let whole = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "ping"}}],
    });
    let ran = run(&args, &whole.to_string());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "<s>[user]HiT:pingD:UlmV:False2031[assistant]");
    let json = run(&[&["--json"], &args[..]].concat(), &whole.to_string()).json();
    assert_eq!(json["text"], ran.out);

    // The last message left open.
    let open = ["template", "render", "--messages", &chat, "--continue-last"];
    assert!(run(&open, "").out.ends_with("<|im_start|>assistant\nHello"));

    // As tokens: what they stand for is the text.
    let tokens = [
        "--json",
        "template",
        "render",
        "--messages",
        &chat,
        "--tokens",
    ];
    let json = run(&tokens, "").json();
    let bytes = fs::read(tokenizer()).unwrap();
    let read = tokenmold::tokenizer::Tokenizer::from_json(&bytes).unwrap();
    let numbers: Vec<u32> = serde_json::from_value(json["tokens"].clone()).unwrap();
    assert_eq!(json["text"], read.decode_with_structure(&numbers));
    let none = run(
        &[
            "template",
            "render",
            "--template",
            &template,
            "--messages",
            &chat,
            "--tokens",
        ],
        "",
    );
    assert!(none.err.contains("--tokenizer"), "{}", none.err);

    let broken = files.put("broken.jinja", "\n{% if %}");
    let ran = run(
        &[
            "template",
            "render",
            "--template",
            &broken,
            "--messages",
            &chat,
        ],
        "",
    );
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("line 2"), "{}", ran.err);
}

#[test]
fn templates_are_listed_and_saved_with_their_special_tokens() {
    let files = Files::new();
    let (one, two) = (
        files.put("one.jinja", "1{{ bos_token }}"),
        files.put("two.jinja", "2{% if tools %}T{% endif %}"),
    );
    let folder = files.0.path().join("model").display().to_string();
    let (one, two) = (format!("default={one}"), format!("tool_use={two}"));
    let saved = run(
        &[
            "template",
            "save",
            "--template",
            &one,
            "--template",
            &two,
            "--special-token",
            "bos_token=<s>",
            "--out",
            &folder,
        ],
        "",
    );
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    let listed = run(&["--json", "template", "list", "--model", &folder], "").json();
    assert_eq!(listed["special_tokens"], json!({"bos_token": "<s>"}));
    let templates = listed["templates"].as_array().unwrap();
    assert_eq!(templates.len(), 2);
    assert_eq!(
        (&templates[1]["name"], &templates[1]["tools"]),
        (&json!("tool_use"), &json!(true))
    );
    let chat = files.put("chat.json", CHAT);
    let render = [
        "template",
        "render",
        "--model",
        &folder,
        "--messages",
        &chat,
    ];
    assert_eq!(run(&render, "").out, "1<s>");
    let named = [&render[..], &["--name", "tool_use"]].concat();
    assert_eq!(run(&named, "").out, "2");
    let unknown = run(&[&render[..], &["--name", "rag"]].concat(), "");
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown.err.contains("there are default, tool_use"),
        "{}",
        unknown.err
    );
    let text = run(&["template", "list"], "");
    assert!(text.out.contains("answers as hermes"), "{}", text.out);
}

#[test]
fn outputs_are_read_by_formats_and_templates() {
    let files = Files::new();
    let said = "<think>\nhm\n</think>ok<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": \"3\"}}</tool_call>";
    let message = |arguments: Value| {
        json!({
            "role": "assistant",
            "reasoning_content": "hm",
            "content": "ok",
            "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": arguments}}],
        })
    };
    let read = run(&["parse", "--format", "hermes"], said);
    assert_eq!(read.json(), message(json!({"n": "3"})));
    let tools = files.put(
        "tools.json",
        r#"[{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]"#,
    );
    let file = files.put("output.txt", said);
    let cast = run(
        &["parse", "--format", "hermes", "--tools", &tools, &file],
        "",
    );
    assert_eq!(cast.json(), message(json!({"n": 3})), "{}", cast.err);

    // A prompt that has opened the reasoning.
    let prompt = files.put("prompt.txt", "<|im_start|>assistant\n<think>\n");
    let rest = said.strip_prefix("<think>\n").unwrap();
    let after = run(&["parse", "--format", "hermes", "--prompt", &prompt], rest);
    assert_eq!(after.json(), message(json!({"n": "3"})));

    let events = run(&["parse", "--format", "hermes", "--events"], said);
    assert_eq!(events.code, Some(0), "{}", events.err);
    let lines: Vec<Value> = events
        .out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(
        lines[0],
        json!({"type": "region_open", "field": "reasoning_content"})
    );
    assert_eq!(lines.last().unwrap()["message"], message(json!({"n": "3"})));

    // A template of one's own, in a file and in a model's folder.
    let template = json!({
        "start_anchor": "<a>",
        "defaults": {"role": "assistant"},
        "fields": {"thinking": {"open": "[", "close": "]"}, "content": {}},
    });
    let own = files.put("template.json", &template.to_string());
    let config = json!({"tokenizer_class": "T", "response_template": template});
    files.put("tokenizer_config.json", &config.to_string());
    let folder = files.0.path().display().to_string();
    for args in [["--response-template", &own], ["--model", &folder]] {
        let read = run(&["parse", args[0], args[1]], "[a]b");
        assert_eq!(
            read.json(),
            json!({"role": "assistant", "thinking": "a", "content": "b"})
        );
    }
    let unknown = run(&["parse", "--format", "hermess"], "");
    assert!(
        unknown.err.contains("there are apertus, "),
        "{}",
        unknown.err
    );
}

/// The input came back as a text, as if a configuration without a schema were one.
#[test]
fn a_configuration_without_a_schema_is_refused() {
    let files = Files::new();
    let (folder, _) = Files::with_model();
    let bare = files.put(
        "tokenizer_config.json",
        r#"{"tokenizer_class": "T", "chat_template": ""}"#,
    );
    let ran = run(&["parse", "--response-schema", &bare], "text");
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    for part in [
        "tokenizer_config.json",
        "without a `response_schema`",
        "--format ",
        "|hermes|",
    ] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    let other = files.put("other.json", r#"{"response_template": {"fields": {}}}"#);
    let ran = run(&["parse", "--response-schema", &other], "text");
    assert!(ran.err.contains("--response-template"), "{}", ran.err);
    let folder = folder.0.path().display().to_string();
    assert_eq!(run(&["parse", "--model", &folder], "x").code, Some(1));
    let schema = files.put(
        "schema.json",
        r#"{"type": "string", "x-regex": "a(.)", "maxLength": 0}"#,
    );
    let args = ["parse", "--response-schema", &schema];
    assert_eq!(run(&args, "ab").out, "\"b\"\n");
    let validated = run(&[&args[..], &["--validate"]].concat(), "ab");
    assert_eq!(validated.code, Some(1), "{}", validated.out);
}

/// A release that does not read what is given is refused by name, and so is one for a family.
#[test]
fn releases_are_those_of_schemas_or_of_templates() {
    let files = Files::new();
    let template = files.put(
        "template.json",
        r#"{"start_anchor": "<|assistant|>", "fields": {"call": {
            "open": "<call>", "close_pattern": "</call (?P<name>\\w+)>",
            "transform": {"name": "{name}", "input": "{content}"}}}}"#,
    );
    let read = ["parse", "--response-template", &template];
    let text = "<call>x</call f>";
    let wanted = json!({"call": {"name": "f", "input": "x"}});
    assert_eq!(run(&read, text).json(), wanted);
    let new = [&read[..], &["--release", "5.24"]].concat();
    assert_eq!(run(&new, text).json(), wanted);
    let old = run(&[&read[..], &["--release", "5.23"]].concat(), text);
    assert_eq!(old.code, Some(1), "{}", old.out);
    let of_schemas = run(&[&read[..], &["--release", "5.12"]].concat(), text);
    assert!(
        of_schemas.err.contains("is 5.23 or 5.24"),
        "{}",
        of_schemas.err
    );
    let schema = files.put("schema.json", r#"{"type": "object", "x-parser": "json"}"#);
    let read = ["parse", "--response-schema", &schema, "--release"];
    let with = |release| run(&[&read[..], &[release]].concat(), r#"{"a": 1}"#);
    assert_eq!(with("5.0").json(), json!({}));
    assert_eq!(with("5.12").json(), json!({"a": 1}));
    assert!(with("5.24").err.contains("is 5.0 or 5.12"));
    let unknown = with("6.0");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("6.0"), "{}", unknown.err);
    let family = run(&["parse", "--format", "hermes", "--release", "5.24"], text);
    assert_eq!(family.code, Some(2), "{}", family.out);
}

#[test]
fn text_parsers_read_and_instruct() {
    let files = Files::new();
    let json = ["parse", "--agentscope", "markdown-json"];
    let good = run(&json, "Sure.\n```json\n[1, 2]\n```");
    assert_eq!(good.json(), json!([1, 2]));
    let keys = ["--required-key", "thought", "--required-key", "speak"];
    let lacks = run(&[&json[..], &keys].concat(), "```json\n{\"thought\": \"\"}");
    assert_eq!(lacks.code, Some(1));
    assert_eq!(
        lacks.err,
        "error: RequiredFieldNotFoundError: Missing required field speak in the JSON dictionary object.\n"
    );
    let model = files.put(
        "model.json",
        r#"{"title": "M", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#,
    );
    let modelled = [&json[..], &["--data-model", &model]].concat();
    assert_eq!(
        run(&modelled, "```json\n{\"n\": \"7\"}\n```").json(),
        json!({"n": 7})
    );
    assert_eq!(run(&modelled, "```json\n{}\n```").code, Some(1));

    let tags = [
        "parse",
        "--agentscope",
        "tags",
        "--tag",
        "thought=[T]...[/T]",
        "--json-tag",
        "n=<n>...</n>",
    ];
    assert_eq!(
        run(&tags, "[T]Hm.[/T] <n>3</n>").json(),
        json!({"thought": "Hm.", "n": 3})
    );
    let missing = run(&tags, "[T]Hm.[/T]");
    assert!(missing.err.contains("TagNotFoundError"), "{}", missing.err);
    let told = run(&[&tags[..], &["--instruction"]].concat(), "");
    assert!(told.out.contains("[T]...[/T]\n<n>...</n>"), "{}", told.out);

    let regex = ["parse", "--agentscope", "regex"];
    assert_eq!(
        run(&regex, "<a>1</a><b>x</b>").json(),
        json!({"a": 1, "b": "x"})
    );
    let parts = run(
        &[
            &regex[..],
            &["--content-keys", "a", "--metadata-keys", "b,a"],
        ]
        .concat(),
        "<a>1</a><b>x</b>",
    );
    assert_eq!(parts.json()["content"], 1);
    assert_eq!(parts.json()["metadata"], json!({"b": "x", "a": 1}));

    let wrong = run(&[&regex[..], &["--tag", "a=<a>...</a>"]].concat(), "");
    assert_eq!(
        (wrong.code, wrong.err.as_str()),
        (Some(1), "error: --tag goes with --agentscope tags\n")
    );
    let code = run(
        &[
            "parse",
            "--agentscope",
            "markdown-code",
            "--language",
            "rust",
        ],
        "```rust\nfn f() {}\n```",
    );
    assert_eq!(code.json(), json!("\nfn f() {}\n"));
}

#[test]
fn the_automaton_of_a_schema_is_traced_without_its_table() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let text = r#"{"name":"Ada", "age":36}"#;
    let ran = run(&["fsm", "--schema", &schema, "--input", text], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), text.len() + 1);
    let refused = run(&["fsm", "--schema", &schema, "--input", r#"{"name":5"#], "");
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.contains("refused at byte 8"), "{}", refused.out);
}

#[test]
fn a_saved_index_binds_and_checks() {
    let files = Files::new();
    let tokenizer = tokenizer();
    let saved = files.0.path().join("saved.index").display().to_string();
    let args = [
        "index",
        "--regex",
        "(yes|no)!",
        "--tokenizer",
        &tokenizer,
        "--out",
        &saved,
    ];
    let built = run(&args, "");
    assert_eq!((built.code, built.err.as_str()), (Some(0), ""));
    // In a pipe only who asks is told how far it has come.
    let told = run(&[&args[..], &["--progress"]].concat(), "");
    let lines: Vec<&str> = told.err.lines().collect();
    let n = lines.len();
    let last = format!("building the index: {n} of {n} rows");
    assert!(n > 3 && lines.contains(&last.as_str()), "{}", told.err);
    let quiet = run(&[&args[..], &["--progress", "--quiet"]].concat(), "");
    assert_eq!(quiet.err, "");
    let check = ["check", "--index", &saved, "--tokenizer", &tokenizer];
    assert_eq!(run(&check, "yes!").code, Some(0));
    assert_eq!(run(&check, "yes?").code, Some(1));
    let said = run(
        &[
            "generate",
            "--index",
            &saved,
            "--prompt",
            "Is it so?",
            "--quiet",
        ],
        "",
    );
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(
        ["yes!\n", "no!\n"].contains(&said.out.as_str()),
        "{}",
        said.out
    );
    // The text is what standard input is for.
    let twice = ["check", "--schema", "-", "--tokenizer", &tokenizer];
    let twice = run(&twice, PERSON);
    assert_eq!(twice.code, Some(1));
    assert!(twice.err.contains("wanted twice"), "{}", twice.err);
    let none = run(&["check", "--tokenizer", &tokenizer], "x");
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("--schema <FILE>"), "{}", none.err);
    let other = files.put("no.index", "no index");
    let ran = run(&["generate", "--index", &other, "--prompt", "x"], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("no.index"), "{}", ran.err);
}

#[test]
fn a_prompt_may_come_from_elsewhere_and_the_result_go_there() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let common = ["generate", "--schema", &schema];
    let asked = "Zoe, 12, Paris";
    let direct = run(&[&common[..], &["--prompt", asked]].concat(), "");
    assert!(direct.err.starts_with("complete: "), "{}", direct.err);
    let piped = run(
        &[&common[..], &["--prompt", "-", "--quiet"]].concat(),
        &format!("{asked}\n"),
    );
    assert_eq!(
        (piped.out.as_str(), piped.err.as_str()),
        (direct.out.as_str(), "")
    );
    let chat = files.put(
        "chat.json",
        &json!([{"role": "user", "content": asked}]).to_string(),
    );
    let out = files.0.path().join("answer.json").display().to_string();
    let ran = run(
        &[&common[..], &["--messages", &chat, "--out", &out]].concat(),
        "",
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert_eq!(fs::read_to_string(&out).unwrap(), direct.out);

    // Read as a message by a response schema.
    let response = files.put(
        "response.json",
        r#"{"type": "object", "properties": {"role": {"const": "assistant"}, "content": {"x-parser": "json"}}}"#,
    );
    let read = [
        &common[..],
        &["--prompt", asked, "--response-schema", &response, "--json"],
    ]
    .concat();
    let json = run(&read, "").json();
    assert_eq!(json["message"]["content"], json["value"]);
    assert_eq!(json["message"]["role"], "assistant");

    // One of them there must be, and only one.
    assert_eq!(run(&common, "").code, Some(2));
    let both = ["--prompt", "x", "--messages", &chat];
    assert_eq!(run(&[&common[..], &both].concat(), "").code, Some(2));
}

#[test]
fn incomplete_output_has_an_exit_code_of_its_own() {
    let args = [
        "generate",
        "--regex",
        "[a-z]{50}",
        "--prompt",
        "x",
        "--max-tokens",
        "3",
        "--quiet",
    ];
    // By default a text is not begun that cannot be complete in time.
    let refused = run(&args, "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("--max-tokens") && refused.err.contains("--budget cut"),
        "{}",
        refused.err
    );
    let args = [&args[..], &["--budget", "cut"]].concat();
    let cut = run(&args, "");
    assert_eq!(cut.code, Some(3));
    assert!(
        cut.err
            .starts_with("error: the output is incomplete: it came to 3 tokens"),
        "{}",
        cut.err
    );
    let json = run(&[&["--json"], &args[..]].concat(), "");
    assert_eq!(
        (json.code, &json.json()["complete"]),
        (Some(3), &json!(false))
    );
    // Free text that was cut lacks its end, too.
    let free = [
        "generate",
        "--prompt",
        "x",
        "--min-tokens",
        "2",
        "--max-tokens",
        "2",
    ];
    assert_eq!(run(&free, "").code, Some(3));
}

#[test]
fn sampling_out_of_range_is_refused_by_name() {
    for (option, value, why) in [
        ("--temperature", "-1", "finite and at least 0"),
        ("--temperature", "NaN", "finite and at least 0"),
        ("--top-p", "-0.5", "above 0 and at most 1"),
        ("--top-p", "0", "above 0 and at most 1"),
        ("--min-p", "1.5", "from 0 to 1"),
        ("--repetition-penalty", "-1", "finite and above 0"),
        ("--frequency-penalty", "2.5", "from -2 to 2"),
        ("--presence-penalty", "-3", "from -2 to 2"),
        ("--top-k", "-3", "at least 0"),
        ("--seed", "-1", "at least 0"),
    ] {
        let ran = run(&["generate", "--prompt", "x", option, value], "");
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.err);
        assert!(
            ran.err.contains(option) && ran.err.contains(why),
            "{}",
            ran.err
        );
    }
}

/// With penalties a model that repeats itself does so less, and with those that change nothing as before.
#[test]
fn penalties_count_what_was_said() {
    let said = |more: &[&str]| {
        let plain = [
            "--json",
            "generate",
            "--raw",
            "--prompt",
            "one one one one",
            "--max-tokens",
            "40",
            "--min-tokens",
            "40",
        ];
        let ran = run(&[&plain, more].concat(), "");
        let tokens = ran.json()["tokens"].as_array().unwrap().clone();
        let different: std::collections::HashSet<_> = tokens
            .iter()
            .map(|token| token["token"].to_string())
            .collect();
        (different.len(), ran.json()["text"].clone())
    };
    let (plain, tokens) = said(&[]);
    let nothing = [
        "--frequency-penalty",
        "0",
        "--presence-penalty",
        "0",
        "--repetition-penalty",
        "1",
    ];
    assert_eq!(said(&nothing).1, tokens);
    let (more, _) = said(&["--frequency-penalty", "2", "--presence-penalty", "2"]);
    assert!(more > plain, "{more} and {plain} different tokens");
}

#[test]
fn a_batch_answers_line_by_line() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let lines = [
        r#"{"prompt": "Zoe, 12, Paris"}"#,
        r#"{"id": "b", "prompt": "Is it?", "regex": "(yes|no)"}"#,
        "",
        r#"{"messages": [{"role": "user", "content": "Ada, 36"}], "schema": {"type": "integer", "minimum": 1, "maximum": 9}}"#,
    ];
    let text = lines.join("\n");
    let args = [
        "generate", "--schema", &schema, "--batch", "-", "--lanes", "2",
    ];
    let ran = run(&args, &text);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "3 complete, 0 incomplete, 0 failed\n");
    let results: Vec<Value> = ran
        .out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let ids: Vec<&Value> = results.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("b"), &json!(4)]);
    let alone = run(
        &[
            "--json",
            "generate",
            "--schema",
            &schema,
            "--prompt",
            "Zoe, 12, Paris",
        ],
        "",
    );
    assert_eq!(results[0]["text"], alone.json()["text"]);
    assert!(["yes", "no"].contains(&results[1]["text"].as_str().unwrap()));
    assert!((1..=9).contains(&results[2]["value"].as_u64().unwrap()));
    let quiet = run(&[&args[..], &["--quiet"]].concat(), &text);
    assert_eq!((quiet.out, quiet.err.as_str()), (ran.out, ""));

    // What is wrong with one line is told in its place.
    let out = files.0.path().join("out.jsonl").display().to_string();
    let wrong = [
        "nonsense",
        r#"{"promt": "x"}"#,
        r#"{"prompt": "x", "schema": {"type": "nothing"}}"#,
        r#"{"prompt": "x", "regex": "[a-z]{40}", "max_tokens": 3}"#,
        lines[1],
    ];
    let ran = run(&[&args[..], &["--out", &out]].concat(), &wrong.join("\n"));
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    let written = fs::read_to_string(&out).unwrap();
    let results: Vec<Value> = written
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    for (result, part) in results.iter().zip(["not JSON", "`promt`", "nothing"]) {
        assert!(result["error"].as_str().unwrap().contains(part), "{result}");
    }
    let refused = results[3]["error"].as_str().unwrap();
    assert!(refused.contains("the shortest text takes"), "{refused}");
    assert_eq!(results[4]["complete"], true);
    let cut = run(&[&args[..], &["--budget", "cut"]].concat(), wrong[3]);
    assert_eq!(cut.code, Some(3), "{}", cut.err);
}

#[test]
fn messages_name_the_flags_of_the_program() {
    let files = Files::new();
    let wide = files.put(
        "wide.json",
        r#"{"anyOf": [{"const": "a"}, {"const": "b"}]}"#,
    );
    let refused = run(
        &["explain", "--schema", &wide, "--max-alternatives", "1"],
        "",
    );
    let said = format!("{}{}", refused.err, refused.out);
    assert!(said.contains("raise `--max-alternatives`"), "{said}");
    assert!(!said.contains("Options::"), "{said}");
    let states = files.put(
        "states.json",
        r#"{"type": "string", "pattern": "^(ab|c){9}$"}"#,
    );
    let args = ["regex", "--schema", &states, "--max-regex-bytes", "5"];
    let refused = run(&args, "");
    assert!(
        refused.err.contains("`--max-regex-bytes`"),
        "{}",
        refused.err
    );
    let whole = files.put("whole.json", "\u{FEFF}{\"type\": \"integer\"}");
    let args = ["explain", "--schema", &whole, "--integers", "zero-fraction"];
    assert_eq!(run(&args, "").code, Some(0));
    let early = files.put(
        "early.json",
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "prefixItems": [{"type": "null"}]}"#,
    );
    let said = run(
        &[
            "generate",
            "--schema",
            &early,
            "--prompt",
            "x",
            "--max-tokens",
            "9",
        ],
        "",
    );
    assert!(
        said.err
            .starts_with("warning: #/prefixItems: no keyword of draft 7, but of later drafts\n"),
        "{}",
        said.err
    );
}

#[test]
fn misspelt_keywords_are_asked_about() {
    let files = Files::new();
    let slip = files.put(
        "slip.json",
        r#"{"type": "object", "properties": {"a": {"type": "string", "max_length": 3}}, "x-mine": 1, "required": ["a"]}"#,
    );
    let shown = run(&["explain", "--schema", &slip], "");
    assert!(
        shown.out.contains(
            "#/properties/a/max_length  annotation; unknown, did you mean `maxLength`?\n"
        ),
        "{}",
        shown.out
    );
    assert_eq!(shown.out.matches("did you mean").count(), 1);
    let said = run(
        &[
            "generate",
            "--schema",
            &slip,
            "--prompt",
            "x",
            "--max-tokens",
            "30",
        ],
        "",
    );
    assert!(
        said.err.starts_with(
            "warning: #/properties/a/max_length: unknown, did you mean `maxLength`?\n"
        ),
        "{}",
        said.err
    );
    // Where a slip makes a schema empty, the refusal says so too.
    let empty = files.put(
        "empty.json",
        r#"{"type": "object", "propertys": {"a": {}}, "required": ["a"], "additionalProperties": false}"#,
    );
    let refused = run(&["generate", "--schema", &empty, "--prompt", "x"], "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("did you mean `properties`?"),
        "{}",
        refused.err
    );
}

#[test]
#[cfg(unix)]
fn an_agent_runs_commands_and_answers_with_a_value() {
    let files = Files::new();
    let seen = files.0.path().join("seen").display().to_string();
    let tools = files.put(
        "tools.json",
        &convert(&[
            "sh",
            "-c",
            "cat >> \"$0\"; echo \"$1 of $2\"",
            &seen,
            "{amount}",
            "{unit}",
        ])
        .to_string(),
    );
    let answer = files.put("answer.json", NUMBER);
    let common = [
        "agent",
        "--tools",
        &tools,
        "--prompt",
        "Please convert 12 miles to metres.",
        "--max-tokens",
        "150",
    ];
    let structured = [
        &["--json"],
        &common[..],
        &["--schema", &answer, "--max-steps", "6"],
    ]
    .concat();
    let ran = run(&structured, "");
    let json = ran.json();
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.out);
    assert_eq!(ran.code == Some(0), json["ended"] == "finished", "{json:#}");
    if json["ended"] == "finished" {
        assert!(
            json["metadata"]["number"].as_u64().unwrap() <= 99,
            "{json:#}"
        );
    }
    // Each call went to the command, and what it printed came back.
    let messages = json["messages"].as_array().unwrap();
    let results: Vec<&str> = messages
        .iter()
        .filter(|m| m["role"] == "tool" && m["name"] == "convert")
        .map(|m| m["content"].as_str().unwrap())
        .collect();
    assert!(!results.is_empty(), "{json:#}");
    let given = fs::read_to_string(Path::new(&seen)).unwrap();
    assert_eq!(given.lines().count(), results.len());
    for (given, result) in given.lines().zip(&results) {
        let given: Value = serde_json::from_str(given).unwrap();
        let expected = format!("{} of {}", given["amount"], given["unit"].as_str().unwrap());
        assert_eq!(*result, expected);
    }
    // For people the steps are told as they come.
    let told = run(&[&common[..], &["--max-steps", "1"]].concat(), "");
    assert!(told.err.contains("-> convert {"), "{}", told.err);
}

#[test]
#[cfg(unix)]
fn what_goes_wrong_with_a_tool_is_told_the_model() {
    let files = Files::new();
    let with = |command: Value| {
        let tools = json!([{"name": "ping", "command": command}]);
        let tools = files.put("tools.json", &tools.to_string());
        let args = [
            "--json",
            "agent",
            "--tools",
            &tools,
            "--prompt",
            "Please ping.",
            "--max-steps",
            "1",
            "--max-tokens",
            "60",
            "--tool-timeout",
            "1",
            "--format",
            "hermes",
        ];
        run(&args, "")
    };
    for (command, part) in [
        (
            json!("echo no luck >&2; exit 3"),
            "Error: exit status: 3: no luck",
        ),
        (
            json!(["no-such-program-at-all"]),
            "Error: the command cannot be started",
        ),
        (json!(["sleep", "20"]), "Error: it took longer than 1 s"),
    ] {
        let json = with(command.clone()).json();
        let messages = json["messages"].as_array().unwrap();
        let result = messages
            .iter()
            .find(|m| m["role"] == "tool" && m["name"] == "ping");
        let result = result.unwrap_or_else(|| panic!("{json:#}"));
        assert!(
            result["content"].as_str().unwrap().starts_with(part),
            "{result}"
        );
    }
    let none = with(json!([]));
    assert_eq!(none.code, Some(1));
    assert!(
        none.json()["error"]
            .as_str()
            .unwrap()
            .contains("ping has no `command`")
    );
}

#[test]
fn shells_and_man_know_the_program() {
    for (shell, part) in [
        ("bash", "_tokenmold()"),
        ("zsh", "#compdef tokenmold"),
        ("fish", "complete -c tokenmold"),
    ] {
        let ran = run(&["completions", shell], "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(
            ran.out.contains(part) && ran.out.contains("show-probabilities"),
            "{shell}"
        );
    }
    assert_eq!(run(&["completions", "nosh"], "").code, Some(2));
    let page = run(&["man"], "");
    assert!(page.out.contains(".TH tokenmold 1"), "{}", page.out);
    let files = Files::new();
    let folder = files.0.path().join("man");
    let ran = run(&["man", "--out", &folder.display().to_string()], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = fs::read_to_string(folder.join("tokenmold-template-render.1")).unwrap();
    assert!(page.contains("generation\\-prompt"), "{page}");
}

/// Ctrl-C ends the answer at hand, and the chat goes on.
#[test]
#[cfg(unix)]
fn an_interrupt_stops_the_answer_and_not_the_chat() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(["chat", "--max-tokens", "900"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::with_capacity(1, child.stdout.take().unwrap());
    stdin.write_all(b"/regex [a-z]{450}\nGo on\n").unwrap();
    // Nobody waits for ever for a program that does not answer.
    let id = child.id().to_string();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let wait = std::time::Duration::from_secs(60);
        if ended.recv_timeout(wait) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &id]).status();
        }
    });
    // The answer has begun.
    let mut first = [0; 4];
    stdout.read_exact(&mut first).unwrap();
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    stdin.write_all(b"/regex done\nAnd now?\n/quit\n").unwrap();
    let mut rest = Vec::new();
    for line in stdout.lines() {
        rest.push(line.unwrap());
    }
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    drop(done);
    assert!(said.contains("stopped; the chat goes on"), "{said}");
    assert!(rest[0].len() < 446, "{rest:?}");
    assert_eq!(rest.last().unwrap(), "done");
}

#[test]
fn tokens_that_look_alike_are_told_apart() {
    let table = [
        "generate",
        "--prompt",
        "Zoe, 12",
        "--show-probabilities",
        "40",
        "--max-tokens",
        "3",
    ];
    let ran = run(&table, "");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let mut tables = 0;
    for table in ran.out.split("chosen ").skip(1) {
        // The column before the mask.
        let cells = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split('%').nth(1));
        let cells: Vec<&str> = cells
            .map(|cell| cell.get(..20).unwrap_or(cell).trim())
            .collect();
        let mut apart = cells.clone();
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), cells.len(), "{table}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{table}");
        tables += cells.len();
    }
    assert!(tables >= 40, "{}", ran.out);
}

#[test]
fn what_a_newcomer_stumbled_over_is_said_where_it_happens() {
    let files = Files::new();
    let schema = files.put("person.json", PERSON);
    let tokenizer = tokenizer();
    let check = |text: &str| {
        run(
            &["check", "--schema", &schema, "--tokenizer", &tokenizer],
            text,
        )
    };
    for (text, how) in [
        (r#"{"age":3,"name":"Ada"}"#, "--property-order any"),
        (
            "{\n  \"name\": \"Ada\",\n  \"age\": 3\n}",
            "--whitespace flexible",
        ),
        (
            "{\n  \"age\": 3,\n  \"name\": \"Ada\"\n}",
            "--property-order any --whitespace flexible",
        ),
    ] {
        let ran = check(text);
        assert_eq!(ran.code, Some(1), "{text}");
        assert!(
            ran.out.ends_with(&format!("{how}\n")),
            "{text}: {}",
            ran.out
        );
    }
    assert!(!check(r#"{"age":3}"#).out.contains("--"));

    // A trace that cannot be written is told before the model is asked.
    let nowhere = [
        "generate",
        "--prompt",
        "x",
        "--model",
        "no-such-model",
        "--trace",
        "no/such/folder/t.jsonl",
    ];
    let ran = run(&nowhere, "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("no/such/folder"), "{}", ran.err);

    // What an expression leaves out of its schema.
    let any = files.put("any.json", r#"{"type": "object", "required": ["a"]}"#);
    let ran = run(&["regex", "--schema", &any, "--any-depth", "1"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("narrowed"), "{}", ran.err);

    // A schema that does not fit binds without being shown.
    let long = json!({"type": "object", "description": "word ".repeat(600), "properties": {"n": {"type": "integer", "maximum": 9}},
        "required": ["n"], "additionalProperties": false});
    let long = files.put("long.json", &long.to_string());
    let ran = run(
        &[
            "generate",
            "--schema",
            &long,
            "--prompt",
            "A number.",
            "--max-tokens",
            "20",
        ],
        "",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("is not shown to the model"), "{}", ran.err);
}
