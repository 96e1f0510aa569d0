//! Response templates: what they read, and that no cut changes it.

use proptest::prelude::*;
use response_parser::{ErrorKind, Event, ResponseTemplate, Turn};
use serde_json::{Value, json};

/// Templates that make every part of the machine work, some of them hostile to cutting.
fn templates() -> Vec<Value> {
    let field = |fields: Value| json!({"start_anchor": "[A]", "fields": fields});
    vec![
        field(json!({
            "thinking": {"open": "<think>", "close": "</think>"},
            "calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                "content_args": {"allow_non_json": true}},
            "content": {"close": "<end>"}
        })),
        field(json!({"x": {"open": ["<", "<<x>>"], "close": ">"}})),
        field(json!({"c": {"close_pattern": "<e>|$"}})),
        field(json!({"x": {"open_pattern": "abc|b", "close": "</x>"}, "c": {}})),
        field(json!({"x": {"open_pattern": "<a.*?!>|b", "close": "</x>"}, "c": {}})),
        field(json!({"x": {"open": "<x>", "close_pattern": "</x>(?:<end>)?"}, "c": {}})),
        field(json!({"x": {"open": "<x>", "close_pattern": "</x>(?!!)\\s*"}, "c": {}})),
        field(
            json!({"x": {"open_pattern": "<x(?P<n>=)?>?", "close_pattern": "</(?P<n>x)?(?P<m>!*)>", "repeats": true,
            "transform": {"n": "{n}", "m": "{m}"}}, "c": {}}),
        ),
        field(json!({"x": {"open_pattern": "(?=[\\s\\S]*?</x>)", "close": "</x>"}, "c": {}})),
        field(
            json!({"x": {"open_pattern": "\\b<(?P<n>\\w)\\s*=?", "close_pattern": "\\s*>",
            "repeats": true, "transform": {"n": "{n}", "c": "{content}"}},
            "c": {"repeats": true, "join": "|"}}),
        ),
        field(
            json!({"x": {"open_pattern": "<(\\w)\\1>|(\\()?x(?(1)\\))", "close_pattern": "\\n|$"},
            "c": {"close_pattern": "(?m)a$"}}),
        ),
        field(
            json!({"x": {"open_pattern": "(?:^|<x>\\s*)", "close_pattern": "<(?:/x|end)>"},
            "c": {"repeats": true}}),
        ),
        field(
            json!({"x": {"open_pattern": "(?<=\\n\\s*)<|a++b", "close_pattern": "(?i)</?X>"},
            "y": {"open": "<x>", "close": "</x>", "content": "kv-lines",
                "content_args": {"kv_sep": "="}}}),
        ),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<think>",
        "</think>",
        "<call>",
        "</call>",
        "<end>",
        "<x>",
        "</x>",
        "<<x>>",
        "<",
        ">",
        "a",
        "b",
        "abc",
        "x",
        "(x)",
        "<aa>",
        "<a",
        "!>",
        "<e>",
        "\n",
        " ",
        "!",
        "{\"k\": [1]}",
        "\"",
        "{",
        "k=v",
        "é",
        "</X>",
        "[A]",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// Merged events and the message, or the kind of the error.
fn outcome(
    template: &ResponseTemplate,
    prefix: &str,
    chunks: &[&str],
) -> Result<(Vec<Event>, Value), ErrorKind> {
    let mut events = Vec::new();
    let run = |events: &mut Vec<Event>| {
        let mut stream = template.stream_with(&Turn::after(prefix), events)?;
        for chunk in chunks {
            stream.feed_into(chunk, events)?;
        }
        let finished = stream.finish()?;
        events.extend(finished.events);
        Ok(finished.message)
    };
    run(&mut events)
        .map(|message| (Event::merge(events), message))
        .map_err(|error: response_parser::Error| error.kind())
}

/// `text` cut at every place where `cuts` says so.
fn cut<'t>(text: &'t str, cuts: &[bool]) -> Vec<&'t str> {
    let mut chunks = Vec::new();
    let mut from = 0;
    for (place, cut) in text
        .char_indices()
        .map(|(place, _)| place)
        .zip(cuts.iter().cycle())
    {
        if *cut {
            chunks.push(&text[from..place]);
            from = place;
        }
    }
    chunks.push(&text[from..]);
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_cut_changes_the_answer(
        text in text(),
        prefix in prop_oneof![3 => Just(String::new()), 1 => text()],
        cuts in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        for json in templates() {
            let template = ResponseTemplate::new(&json).unwrap();
            let whole = outcome(&template, &prefix, &[&text]);
            let cut = outcome(&template, &prefix, &cut(&text, &cuts));
            prop_assert_eq!(&cut, &whole, "{}", json);
            let each: Vec<String> = text.chars().map(String::from).collect();
            let each: Vec<&str> = each.iter().map(String::as_str).collect();
            prop_assert_eq!(&outcome(&template, &prefix, &each), &whole, "{}", json);
            let message = template.parse_turn(&Turn::after(&prefix), &text);
            prop_assert_eq!(
                message.map_err(|e| e.kind()),
                whole.map(|(_, message)| message),
                "{}", json
            );
        }
    }

    #[test]
    fn never_panics(
        text in any::<String>(),
        anchors in prop::collection::vec("[<>()|*?+.a-c\\\\P:=!$^\\[\\]]{1,8}", 4),
        args in prop::sample::select(vec![
            json!({}), json!({"strip": false}), json!({"tag_pattern": "(?P<key>.)"}),
            json!({"string_delims": [["<", ">"], ["a", "a"]], "unquoted_keys": true}),
            json!({"kv_sep": "a", "line_sep": "<", "value_parser": {"name": "int"}}),
            json!({"value_parser": {"name": "json", "args": {"allow_non_json": true}},
                "tag_pattern": "(?P<key>[a-z])(?P<value>.*?)<", "merge_duplicates": true}),
        ]),
        content in prop::sample::select(vec!["text", "int", "bool", "float", "json", "xml-inline", "kv-lines", "python-call-list"]),
    ) {
        let json = json!({"start_anchor_pattern": anchors[0], "fields": {
            "x": {"open_pattern": anchors[1], "close_pattern": anchors[2], "content": content,
                "content_args": args, "repeats": true},
            "c": {"close_pattern": anchors[3]}
        }});
        if let Ok(template) = ResponseTemplate::new(&json) {
            let mixed = format!("<ab>{text}a<b>=c{text}<a");
            let _ = template.parse(&mixed);
            let _ = outcome(&template, &mixed, &[&text, &mixed]);
        }
    }
}

#[track_caller]
fn message(template: &Value, turn: &Turn<'_>, text: &str) -> Value {
    ResponseTemplate::new(template)
        .unwrap()
        .parse_turn(turn, text)
        .unwrap()
}

#[test]
fn the_prompt_may_open_a_region() {
    let template = json!({"start_anchor": "<|assistant|>", "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {}
    }});
    assert_eq!(
        message(
            &template,
            &Turn::after("<|user|>Hi<|assistant|>\n<think>\n"),
            "Hm.</think>Yes."
        ),
        json!({"thinking": "Hm.", "content": "Yes."})
    );
}

#[test]
fn arguments_are_cast_by_the_schemas_of_the_tools() {
    let template = json!({"start_anchor": "[A]", "fields": {"calls": {
        "open_pattern": "<call=(?P<name>\\w+)>", "close": "</call>", "repeats": true,
        "content": "xml-inline",
        "content_args": {"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</\\1>"},
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}, "raw": "{content}"}
    }}});
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {"properties": {
        "n": {"type": "integer"}, "ok": {"type": ["boolean", "null"]},
        "o": {"anyOf": [{"type": "object"}, {"type": "string"}]}, "s": {"type": "string"}
    }}}}]);
    let arguments = json!({"n": 3, "ok": null, "o": {"a": [1]}, "s": "5", "other": "7"});
    assert_eq!(
        message(
            &template,
            &Turn::after("").with_tools(&tools),
            "<call=f><n> 3 </n><ok>null</ok><o>{\"a\": [1]}</o><s>5</s><other>7</other></call>"
        ),
        json!({"calls": [{
            "type": "function",
            "function": {"name": "f", "arguments": arguments},
            "raw": arguments
        }]})
    );
}

#[test]
fn a_turn_without_a_prefix_is_refused() {
    let template = json!({"start_anchor": "[A]", "fields": {"c": {}}});
    let template = ResponseTemplate::new(&template).unwrap();
    let error = template.stream(&Turn::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PrefixRequired);
}

#[test]
fn events_before_a_failure_are_kept_and_the_stream_is_over() {
    let template = json!({"start_anchor": "[A]", "fields": {
        "n": {"open": "<n>", "close": "</n>", "content": "int"}, "c": {}
    }});
    let template = ResponseTemplate::new(&template).unwrap();
    let mut stream = template.stream(&Turn::after("")).unwrap();
    let mut events = Vec::new();
    let error = stream.feed_into("ab<n>five</n>", &mut events).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IntInvalid);
    assert_eq!(error.offset(), Some(5));
    assert_eq!(events.len(), 5);
    assert_eq!(stream.feed("x").unwrap_err().kind(), ErrorKind::IntInvalid);
    assert_eq!(stream.finish().unwrap_err().kind(), ErrorKind::IntInvalid);
}

#[test]
fn a_region_that_never_gets_on_is_an_error() {
    let template = json!({"start_anchor": "[A]", "fields": {
        "x": {"open_pattern": "(?=a)", "close_pattern": "(?=a)"}
    }});
    let template = ResponseTemplate::new(&template).unwrap();
    assert_eq!(
        template.parse("ba b").unwrap_err().kind(),
        ErrorKind::NoProgress
    );
    assert_eq!(template.parse("bb").unwrap(), json!({}));
}

#[test]
fn messages() {
    let with = |field: Value| json!({"start_anchor": "[A]", "fields": {"x": field}});
    let mut out = String::new();
    for template in [
        json!([]),
        json!({"start_anchor": "[A]"}),
        json!({"fields": {"x": {}}}),
        json!({"fields": {"x": {}}, "start_anchor": "[A]", "begin": 1}),
        json!({"version": 2, "fields": {"x": {}}, "start_anchor": "[A]"}),
        json!({"fields": {"x": {}, "y": {}}, "start_anchor": "[A]"}),
        with(json!({"open": []})),
        with(json!({"open": "<", "open_pattern": "<"})),
        with(json!({"open_pattern": "<(?P<n>a)"})),
        with(json!({"open_pattern": "<(a"})),
        with(json!({"open_pattern": "a(?R)?b"})),
        with(json!({"open_pattern": "(?:ab){e<=1}"})),
        with(json!({"content": "yaml"})),
        with(json!({"content": "xml-inline"})),
        with(json!({"content": "kv-lines", "content_args": {"kv_sep": ""}})),
        with(json!({"join": "a"})),
        with(json!({"transform": ["a {content}"]})),
        with(json!({"transform_each": true})),
    ] {
        let error = ResponseTemplate::new(&template).expect_err(&template.to_string());
        out.push_str(&format!("{template}\n    {}: {error}\n", error.kind()));
    }
    for (template, text) in [
        (with(json!({"content": "json"})), "{\"a\": }"),
        (with(json!({"content": "float"})), "1.x"),
        (with(json!({"transform": "{content.a}"})), "b"),
        (with(json!({"transform": "{name}"})), "b"),
        (
            with(json!({"content": "json", "transform": "{content}", "transform_each": true})),
            "{}",
        ),
        (
            with(json!({"content": "json", "repeats": true, "join": " "})),
            "5",
        ),
        (with(json!({"optional": false, "open": "<"})), "b"),
        (with(json!({"content": "json"})), "[1e400]"),
    ] {
        let template = ResponseTemplate::new(&template).unwrap();
        let error = template.parse(text).expect_err(text);
        out.push_str(&format!("{text}\n    {}: {error}\n", error.kind()));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn arguments_show_while_they_come() {
    let template = json!({"start_anchor": "[A]", "fields": {
        "calls": {"open_pattern": "<call=(?P<name>\\w+)>", "close": "</call>", "repeats": true,
            "content": "json", "transform": {"name": "{name}", "arguments": "{content}"}},
        "content": {}
    }});
    let template = ResponseTemplate::new(&template).unwrap();
    let mut stream = template.stream(&Turn::after("")).unwrap();
    let mut shown = Vec::new();
    for chunk in [
        "Hm. <ca",
        "ll=f> {\"ci",
        "ty\": \"Os",
        "lo\", \"n\": 1",
        "2",
        "}</ca",
        "ll>",
        "<call=g>[",
        "]</call>",
    ] {
        stream.feed(chunk).unwrap();
        shown.push(stream.partial().map(|partial| {
            assert_eq!(partial.field(), "calls");
            json!([partial.capture("name"), partial.value()])
        }));
    }
    assert_eq!(
        json!(shown),
        json!([
            null,
            ["f", {}],
            ["f", {"city": "Os"}],
            ["f", {"city": "Oslo", "n": 1}],
            ["f", {"city": "Oslo", "n": 12}],
            ["f", {"city": "Oslo", "n": 12}],
            null,
            ["g", []],
            null
        ])
    );
}

#[test]
fn partial_values_of_a_long_argument_cost_linear_time() {
    let template = json!({"start_anchor": "[A]", "fields": {
        "calls": {"open": "<call>", "close": "</call>", "content": "json"}
    }});
    let template = ResponseTemplate::new(&template).unwrap();
    let mut stream = template.stream(&Turn::after("")).unwrap();
    stream.feed("<call>{\"a\": \"").unwrap();
    for _ in 0..200_000 {
        stream.feed("token").unwrap();
        assert!(stream.partial().is_some());
    }
    stream.feed("\"}</call>").unwrap();
    assert_eq!(
        stream.finish().unwrap().message["calls"]["a"]
            .as_str()
            .map(str::len),
        Some(1_000_000)
    );
}

#[test]
fn hostile_texts_cost_linear_time_or_hit_a_limit() {
    let field = |fields: Value| json!({"start_anchor": "[A]", "fields": fields});
    let tags = json!({"open": "<x>", "close": "</x>", "content": "xml-inline",
        "content_args": {"tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)</\1>"}});
    for (template, text) in [
        // A look-ahead that never ends, and one that is asked at every place.
        (
            field(json!({"x": {"open_pattern": r"(?=[\s\S]*?</x>)", "close": "</x>"}, "c": {}})),
            "<".repeat(1 << 20),
        ),
        (
            field(json!({"x": {"open_pattern": r"<(?=[\s\S]*?</x>)", "close": "</x>"}, "c": {}})),
            "<".repeat(1 << 18),
        ),
        // An opening that never ends.
        (
            field(json!({"x": {"open_pattern": "<a.*?>!", "close": "</x>"}, "c": {}})),
            "<a>".repeat(1 << 18),
        ),
        (
            field(json!({"x": tags})),
            format!("<x>{}</x>", "<a>".repeat(1 << 16)),
        ),
        // Strings that never end, of escaped quotes.
        (
            field(
                json!({"x": {"open": "<x>", "close": "</x>", "content": "json",
                "content_args": {"unquoted_keys": true, "allow_non_json": true}}}),
            ),
            format!(
                "<x>{}{}</x>",
                "\"\\\n".repeat(1 << 16),
                "\"\\".repeat(1 << 20)
            ),
        ),
        (
            field(json!({"x": {"open": "<x>", "close": "</x>", "content": "json"}})),
            format!("<x>{}</x>", "[".repeat(1 << 20)),
        ),
    ] {
        let template = ResponseTemplate::new(&template).unwrap();
        let whole = template.parse(&text).map_err(|error| error.kind());
        let mut stream = template.stream(&Turn::after("")).unwrap();
        let chunks = text
            .as_bytes()
            .chunks(4)
            .map(|chunk| std::str::from_utf8(chunk).unwrap());
        let fed = chunks.map(|chunk| stream.feed(chunk)).find_map(Result::err);
        let streamed = match fed {
            Some(error) => Err(error),
            None => stream.finish().map(|finished| finished.message),
        };
        let streamed = streamed.map_err(|error| error.kind());
        for outcome in [&whole, &streamed] {
            let limits = [ErrorKind::RegexBudget, ErrorKind::DepthLimit];
            assert!(
                outcome
                    .as_ref()
                    .map_or_else(|kind| limits.contains(kind), |_| true),
                "{outcome:?}"
            );
        }
    }
}
