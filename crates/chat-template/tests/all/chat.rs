//! What templates are given and what they print; where they are kept.

use chat_template::{
    Chat, ChatTemplate, ChatTemplates, ControlTokens, Ending, ErrorKind, Handling, Numbers, exact,
};
use serde_json::{Map, Value, json};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[test]
fn a_generation_block_in_a_macro_is_refused_for_training_only() {
    let source = "{% macro say(m) %}: {% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}\
        {% for m in messages %}<{{ m.role }}>{{ say(m) }}{% endfor %}";
    let templates = ChatTemplates::from_source(source);
    let messages = [user("a"), assistant("b")];
    let rendered = templates.apply(&Chat::new(&messages)).unwrap();
    assert_eq!(rendered.text, "<user>: a<assistant>: b");
    let error = rendered.generated().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chat);
    assert!(error.to_string().contains("macro"), "{error}");
}

#[test]
fn templates_are_kept_with_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tokenizer_config.json");
    std::fs::write(
        &config,
        r#"{"model_max_length": 5, "bos_token": {"content": "<s>"}, "eos_token": null,
            "extra_special_tokens": {"image_token": "<img>"}, "chat_template": "old"}"#,
    )
    .unwrap();
    let messages = [user("x")];
    let tools = [json!({"name": "f"})];
    let chat = Chat::new(&messages);
    let mut templates = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(templates.apply(&chat).unwrap().text, "old");
    assert_eq!(templates.names(), Vec::<&str>::new());

    templates.set(
        None,
        "{{ bos_token }}{{ image_token }}{{ eos_token is defined }}",
    );
    templates.set(Some("tool_use"), "{{ tools | length }}\n\n");
    assert_eq!(templates.names(), ["default", "tool_use"]);
    templates.save(folder.path()).unwrap();
    let left: Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    assert_eq!(left.get("chat_template"), None);
    assert_eq!(left["model_max_length"], 5);
    let additional = folder.path().join("additional_chat_templates");
    assert!(folder.path().join("chat_template.jinja").is_file());
    assert!(additional.join("tool_use.jinja").is_file());

    let read = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(read.apply(&chat).unwrap().text, "<s><img>False");
    let with_tools = chat.clone().with_tools(&tools);
    assert_eq!(read.apply(&with_tools).unwrap().text, "1\n");
    let named = chat.clone().with_template("tool_use").with_tools(&[]);
    assert_eq!(read.apply(&named).unwrap().text, "0\n");

    // A template that is gone leaves no file behind.
    ChatTemplates::from_source("only")
        .save(folder.path())
        .unwrap();
    assert!(!additional.join("tool_use.jinja").exists());
    let read = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(read.apply(&chat).unwrap().text, "only");

    let odd = ChatTemplates::from_named([("../evil", "x")]);
    assert_eq!(
        odd.save(folder.path()).unwrap_err().kind(),
        ErrorKind::Config
    );
    let malformed = ChatTemplates::from_json(&json!(5));
    assert_eq!(malformed.unwrap_err().kind(), ErrorKind::Config);
}

#[test]
fn errors_name_the_line() {
    let messages = [user("x")];
    let chat = Chat::new(&messages);
    let message = |source: &str| {
        let template = ChatTemplate::new(source);
        let error = template.and_then(|t| t.render(&chat)).unwrap_err();
        format!("{:?} {:?}: {error}", error.kind(), error.line())
    };
    insta::assert_snapshot!(
        [
            "a\n{% if x %}",
            "a\n\n{{ 'b }}",
            "{% for x in y %}\n{% endif %}",
            "a\n{{ x | nope }}",
            "{# a\ncomment #}\n{{ messages[0].tool_calls[0].name }}",
            "{%- for m in messages -%}\n\n  {{- m.content + 1 -}}\n{%- endfor -%}",
            "{% macro a(x) %}\n{{ x.y.z }}\n{% endmacro %}\n\n{{ a(1) }}",
            "\n{{ raise_exception('Roles must alternate') }}",
            "{{ messages.append(1) }}",
            "{{ 'x' * 99999999999 }}",
            "{% set x = [\n1,\n2] %}\n{{ x.y.z }}",
            "{{ undefined_function(1) }}",
        ]
        .map(message)
        .join("\n")
    );
}

#[test]
fn a_chat_may_bring_variables_and_its_template() {
    let messages = [
        user("x"),
        json!({"role": "assistant", "content": null, "reasoning": "r"}),
    ];
    let mut special = Map::new();
    special.insert("bos_token".into(), "<s>".into());
    let templates = ChatTemplates::none().with_special_tokens(special);
    let error = templates.apply(&Chat::new(&messages)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chat);
    let chat = Chat::new(&messages)
        .with_template("{# reasoning #}{{ bos_token }}{{ flag }}{{ messages[1] | tojson }}")
        .with_variable("flag", true);
    assert_eq!(
        templates.apply(&chat).unwrap().text,
        r#"<s>True{"thinking": "r", "role": "assistant", "reasoning": "r", "reasoning_content": "r"}"#
    );
    let chat = chat
        .with_variable("bos_token", "!")
        .with_ending(Ending::Continue("reasoning"));
    assert_eq!(
        templates.apply(&chat).unwrap().text,
        r#"!True{"thinking": "rCONTINUE_FINAL_MESSAGE_TAG ", "role": "assistant", "reasoning": "rCONTINUE_FINAL_MESSAGE_TAG ", "reasoning_content": "r"#
    );
}

#[test]
fn python_is_followed_where_jinja_is_silent() {
    let messages = [user("x")];
    let chat = Chat::new(&messages)
        .with_variable("n", 5)
        .with_variable("f", 2.5)
        .with_variable("d", json!({"a": 1}))
        .with_variable("dd", json!([{"k": 2, "v": 1}, {"k": 1}]));
    let render = |source: &str| ChatTemplate::new(source).and_then(|t| t.render(&chat));
    let same = [
        (
            "{{ n.real }} {{ n.imag }} {{ f.imag }} {{ n.denominator }} {{ true.real }}",
            "5 0 0.0 1 1",
        ),
        (
            "{{ n.bit_length() }} {{ f.is_integer() }} {{ (2.0).is_integer() }}",
            "3 False True",
        ),
        (
            "{{ f is divisibleby 2 }} {{ 4.0 is divisibleby(2) }}",
            "False True",
        ),
        ("{{ '{a}!'.format_map(d) }}", "1!"),
        (
            "{{ dd | sort(attribute='x') | map(attribute='k') | list }}",
            "[2, 1]",
        ),
        ("{{ [1, 2] | truncate(5) }}", "[1, 2]"),
    ];
    for (source, expected) in same {
        assert_eq!(render(source).unwrap().text, expected, "{source}");
    }
    let fails = [
        "{{ f[:2] }}",
        "{{ [] in d }}",
        "{{ n | indent }}",
        "{{ n | wordwrap }}",
        "{{ n | truncate }}",
        "{{ dd | sort(attribute='v') }}",
        "{{ (-3) ** 0.5 }}",
        "{{ n.is_integer() }}",
    ];
    for source in fails {
        let error = render(source).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed, "{source}: {error}");
    }
}

/// One template is rendered by many threads.
#[test]
fn templates_are_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let template = shared(
        ChatTemplate::new("{% set n = namespace(v=1) %}{{ n.v }}{{ messages | length }}").unwrap(),
    );
    let messages = [user("x")];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let rendered = template.render(&Chat::new(&messages)).unwrap();
                assert_eq!(rendered.text, "11");
            });
        }
    });
}

/// What the way over another engine could not do: names that a macro finds when it is called,
/// arguments beyond its parameters, defaults for missing arguments alone, comparisons in
/// chains of any length.
#[test]
fn macros_and_scopes_are_jinjas() {
    let messages = [user("x")];
    let chat = Chat::new(&messages).with_variable("l", json!([1, 2, 3]));
    let render = |source: &str| ChatTemplate::new(source).and_then(|t| t.render(&chat));
    for (source, expected) in [
        (
            "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
            "2",
        ),
        (
            "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, b=3) }}",
            "1(2,){'b': 3}",
        ),
        (
            "{% macro m(a=1, b=a) %}{{ a }}{{ b }}|{% endmacro %}{{ m() }}{{ m(2) }}{{ m(missing) }}",
            "11|22||",
        ),
        (
            "{% macro m() %}[{{ caller(5) }}]{% endmacro %}{% call(n) m() %}{{ n }}{% endcall %}",
            "[5]",
        ),
        (
            "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
            "FalseTrue",
        ),
        (
            "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = 9 %}{% endfor %}{{ x }}",
            "1111",
        ),
        (
            "{% set n = namespace(v=0) %}{% for i in l if n.v < 2 %}{% set n.v = i %}{{ i }}{% endfor %}",
            "12",
        ),
        (
            "{% for i in l %}{% with %}{% if i == 2 %}{% continue %}{% endif %}{% endwith %}{{ i }}{% endfor %}",
            "13",
        ),
        (
            "{% for a in [[1, [2]], [3]] recursive %}{% if a is sequence %}<{{ loop(a) }}>{% else %}{{ a }}@{{ loop.depth }}{% endif %}{% endfor %}",
            "<1@2<2@3>><3@2>",
        ),
        (
            "{{ 1 < 2 < 3 < 4 < 5 < 6 == 6 }}{{ 1 < 3 < 2 }}",
            "TrueFalse",
        ),
        (
            "{{ range(10)[2:8:3] }}{{ {1: 'a', 2.0: 'b'}[1.0] }}{{ {True: 'c'}[1] }}",
            "range(2, 8, 3)ac",
        ),
        ("{{ [1, 2] | slice(2, 0) | list }}", "[[1, 0], [2, 0]]"),
        ("{% macro m() %}{% endmacro %}{{ m }}", "<Macro 'm'>"),
        (
            "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}",
            "123",
        ),
    ] {
        assert_eq!(render(source).unwrap().text, expected, "{source}");
    }
    for source in [
        "{% macro m() %}{% endmacro %}{{ m(1) }}",
        "{% macro m() %}{% endmacro %}{{ m(a=1) }}",
        "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}",
        "{% set a, b = [1, 2, 3] %}",
        "{% filter length %}abc{% endfilter %}",
        "{{ {[]: 1} }}",
        "{{ l() }}",
    ] {
        let error = render(source).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed, "{source}: {error}");
    }
}

#[test]
fn special_tokens_are_saved_with_the_templates() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tokenizer_config.json");
    let tokens = json!({"bos_token": "<s>", "extra_special_tokens": {"image_start": "<i>"}});
    let templates = ChatTemplates::from_source("{{ bos_token }}{{ image_start }}")
        .with_special_tokens(tokens.as_object().unwrap().clone());
    templates.save(folder.path()).unwrap();
    let read = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(read.special_tokens(), templates.special_tokens());
    let messages = [json!({"role": "user", "content": "Hi"})];
    assert_eq!(read.apply(&Chat::new(&messages)).unwrap().text, "<s><i>");

    // What is there already and says the same stays as it is written.
    let own = r#"{"bos_token": {"content": "<s>", "lstrip": true}, "extra_special_tokens": {"image_start": "<i>"}}"#;
    std::fs::write(&config, own).unwrap();
    templates.save(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(&config).unwrap(), own);

    // Without special tokens no configuration is made.
    let bare = tempfile::tempdir().unwrap();
    ChatTemplates::from_source("x").save(bare.path()).unwrap();
    assert!(!bare.path().join("tokenizer_config.json").exists());
}

#[test]
fn errors_name_what_is_undefined() {
    let messages = [json!({"role": "user"})];
    for (template, name) in [
        ("{{ messages[0].content + 'x' }}", "messages[0].content"),
        ("{{ 'x' + messages[0].content }}", "messages[0].content"),
        (
            "{{ 'a' + 'b' + messages[0].content + 'c' }}",
            "messages[0].content",
        ),
        ("{{ messages[0].content < 3 }}", "messages[0].content"),
        ("{{ 1 < 2 < limit }}", "limit"),
        ("{{ limit * 2 }}", "limit"),
        ("{{ -limit }}", "limit"),
    ] {
        let templates = ChatTemplates::from_source(template);
        let error = templates.apply(&Chat::new(&messages)).unwrap_err();
        let said = error.to_string();
        assert!(
            said.ends_with(&format!("is undefined: `{name}`")),
            "{template}: {said}"
        );
    }
}

/// A chat's integers keep their digits, however many, and what JSON cannot hold at all prints
/// as Python prints it. Real maps that look like the spelling of such numbers stay maps.
#[test]
fn numbers_beyond_json_are_the_same_in_the_prompt() {
    let render = |content: &str| {
        let text = format!(r#"[{{"role": "user", "content": {content}}}]"#);
        let messages = exact::read(&text).unwrap();
        let chat = Chat::new(messages.as_array().unwrap()).with_numbers(Numbers::Exact);
        let template = "{{ messages[0].content }} {{ messages[0].content | tojson }}";
        let rendered = ChatTemplate::new(template).unwrap().render(&chat);
        rendered
            .map(|rendered| rendered.text)
            .map_err(|error| error.to_string())
    };
    // Python: json.loads, str, json.dumps.
    for (content, expected) in [
        (
            "12345678901234567890123",
            "12345678901234567890123 12345678901234567890123",
        ),
        (
            "[-98765432109876543210, 1e400]",
            "[-98765432109876543210, inf] [-98765432109876543210, Infinity]",
        ),
        (
            "[NaN, Infinity, -Infinity, -1E+999]",
            "[nan, inf, -inf, -inf] [NaN, Infinity, -Infinity, -Infinity]",
        ),
        (
            "[18446744073709551615, -9223372036854775808, 0, -0, 1.5, 1e5]",
            "[18446744073709551615, -9223372036854775808, 0, 0, 1.5, 100000.0] [18446744073709551615, -9223372036854775808, 0, 0, 1.5, 100000.0]",
        ),
        (
            r#""NaN 99999999999999999999 \" -1""#,
            r#"NaN 99999999999999999999 " -1 "NaN 99999999999999999999 \" -1""#,
        ),
        (
            r#"{"$bigint": "5"}"#,
            r#"{'$bigint': '5'} {"$bigint": "5"}"#,
        ),
        (
            r#"{"\u0024float" : "NaN"}"#,
            r#"{'$float': 'NaN'} {"$float": "NaN"}"#,
        ),
        (
            r#"{"$$bigint": "5", "$$$float": 99999999999999999999}"#,
            r#"{'$$bigint': '5', '$$$float': 99999999999999999999} {"$$bigint": "5", "$$$float": 99999999999999999999}"#,
        ),
        (
            r#"{"$bigints": "5", "$": 1}"#,
            r#"{'$bigints': '5', '$': 1} {"$bigints": "5", "$": 1}"#,
        ),
    ] {
        assert_eq!(render(content).as_deref(), Ok(expected), "{content}");
    }
    let long = "9".repeat(60);
    assert_eq!(
        render(&format!(r#"{{"a/b": [{long}]}}"#)).unwrap_err(),
        "the chat, at /messages/0/content/a~1b/0: an integer has more than 127 bits"
    );
    for wrong in [
        "[nan]",
        "[01]",
        "[-]",
        "[1.]",
        "[NaNs]",
        "[+1]",
        r#"["a]"#,
        "[00000000000000000000001]",
    ] {
        assert!(exact::read(wrong).is_err(), "{wrong}");
    }
    // Nobody asked for it: maps are maps.
    let messages = [json!({"role": "user", "content": {"$bigint": "5"}})];
    let template = ChatTemplate::new("{{ messages[0].content }}").unwrap();
    assert_eq!(
        template.render(&Chat::new(&messages)).unwrap().text,
        "{'$bigint': '5'}"
    );
}

/// A user who writes `<|im_end|>` ends no turn (huggingface/transformers#47822): not in a
/// message, a tool, a document or a variable, nor by a token within a token. The template's own
/// tokens, and the special tokens that it is given, stay.
#[test]
fn control_tokens_of_users_are_refused_or_broken() {
    let templates = ChatTemplates::from_source(
        "{{ bos_token }}<|im_start|>{{ messages[0].content }}{{ (messages[0].parts or [{}])[0]['a/b'] }}\
         {{ (tools or [{}])[0].name }}{{ (documents or [{}])[0].text }}{{ mode }}<|im_end|>",
    )
    .with_special_tokens(Map::from_iter([(
        "bos_token".to_owned(),
        json!("<|im_start|>"),
    )]));
    let tokens = ["<|im_start|>", "<|im_end|>", ""];
    let refuse = ControlTokens::new(tokens, Handling::Refuse);
    let split = ControlTokens::new(tokens, Handling::Break);
    let clean = [json!({"role": "user", "content": "<|im_", "parts": [{"a/b": "<|im_end|"}]})];
    let tools = [json!({"name": "<|im_end|>"})];
    let documents = [json!({"text": "x<|im_<|im_end|>"})];
    let text = |chat: Chat<'_>, tokens| {
        let rendered = templates.apply(&chat.with_control_tokens(tokens));
        rendered.map(|r| r.text).map_err(|e| e.to_string())
    };
    let expected = "<|im_start|><|im_start|><|im_<|im_end|<|im_end|>";
    assert_eq!(text(Chat::new(&clean), &refuse).as_deref(), Ok(expected));
    assert_eq!(text(Chat::new(&clean), &split).as_deref(), Ok(expected));
    let chat = Chat::new(&clean)
        .with_tools(&tools)
        .with_documents(&documents)
        .with_variable("mode", "<|im_start|>");
    assert_eq!(
        text(chat.clone(), &split).as_deref(),
        Ok(
            "<|im_start|><|im_start|><|im_<|im_end|<\u{200b}|im_end|>x<|im_<\u{200b}|im_end|>\
            <\u{200b}|im_start|><|im_end|>"
        )
    );
    assert_eq!(
        text(chat, &refuse).unwrap_err(),
        "the chat, at /tools/0/name: the text has the control token \"<|im_end|>\""
    );
    let bad = [json!({"role": "user", "content": "", "parts": [{"a/b": "<|im_end|>"}]})];
    assert_eq!(
        text(Chat::new(&bad), &refuse).unwrap_err(),
        "the chat, at /messages/0/parts/0/a~1b: the text has the control token \"<|im_end|>\""
    );
    // What is to be continued is found again.
    let last = [json!({"role": "user", "content": "a<|im_end|>"})];
    let chat = Chat::new(&last).with_ending(Ending::Continue("content"));
    assert_eq!(
        text(chat, &split).as_deref(),
        Ok("<|im_start|><|im_start|>a<\u{200b}|im_end|>")
    );
    let short = ControlTokens::new(["#"], Handling::Break);
    let hash = [json!({"role": "user", "content": "#"})];
    assert!(text(Chat::new(&hash), &short).is_err());
}
