//! Tools from Rust types and from schemas: what models are shown of them, and
//! what happens when they call them.

#![cfg(feature = "tools")]

use std::collections::HashMap;
use std::convert::Infallible;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenmold::chat::{Chat, ChatTemplates};
use tokenmold::response_parser;
use tokenmold::tools::{Tool, ToolCall, Tools, read_response};

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Basic {
    /// Width in metres
    w: f64,
    /// Height in metres
    h: f64,
}

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Defaults {
    /// Who to greet
    name: String,
    /// How often
    #[serde(default = "two")]
    times: i64,
    /// Shout?
    #[serde(default)]
    loud: bool,
}

fn two() -> i64 {
    2
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, non_snake_case)]
struct Unicode {
    /// 도시 이름 (예: "대전")
    도시: String,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Choices {
    /// What to brew (choices: ["tea", " coffee "])
    drink: String,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct ChoicesInts {
    /// Slot (Choices: [1, 2, 3])
    n: i64,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct ChoicesNotLast {
    /// One of (choices: ["tea"]) only
    drink: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OnOff {
    On,
    Off,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Literal {
    /// Mode
    m: OnOff,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Optional {
    /// A
    a: Option<i64>,
    /// B
    b: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum IntOrText {
    Int(i64),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum IntOrFloat {
    Int(i64),
    Float(f64),
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Union {
    /// A
    a: IntOrText,
    /// B
    b: Option<IntOrFloat>,
    /// C
    #[serde(default)]
    c: Vec<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum IntsOrText {
    Ints(Vec<i64>),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct UnionComplex {
    /// A
    a: IntsOrText,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Containers {
    /// A
    a: Vec<String>,
    /// B
    b: HashMap<String, i32>,
    /// C
    c: (i64, String),
    /// D
    d: Vec<HashMap<String, Vec<f32>>>,
    /// E
    e: HashMap<String, Value>,
    /// G
    g: Vec<Value>,
    /// H
    h: Value,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Multiline {
    /// first line
    /// continues here
    /// note: with a colon
    a: i64,
    /// second
    b: i64,
}

fn tool<A>(name: &str, description: &str) -> Tool
where
    A: for<'de> Deserialize<'de> + JsonSchema,
{
    Tool::new(name, description, |_: A| Ok::<_, Infallible>(()))
}

/// The Rust counterparts of Python functions of the golden cases, by id.
fn counterparts() -> Vec<(&'static str, Tool)> {
    vec![
        (
            "basic",
            tool::<Basic>("area", "Area of a rectangle.")
                .with_returns::<f64>("The area in square metres"),
        ),
        ("no_args", tool::<NoArgs>("tick", "Advance the clock.")),
        (
            "defaults",
            tool::<Defaults>("greet", "Say hello\non two lines."),
        ),
        ("unicode", tool::<Unicode>("날씨", "날씨를 알려준다 ☀️")),
        ("choices", tool::<Choices>("brew", "Brew.")),
        ("choices_ints", tool::<ChoicesInts>("pick", "Pick.")),
        ("choices_not_last", tool::<ChoicesNotLast>("brew", "Brew.")),
        ("literal", tool::<Literal>("mode", "Set.")),
        ("optional", tool::<Optional>("f", "F.")),
        ("union", tool::<Union>("f", "F.")),
        ("union_complex", tool::<UnionComplex>("f", "F.")),
        ("containers", tool::<Containers>("f", "F.")),
        ("multiline_arg_doc", tool::<Multiline>("f", "F.")),
    ]
}

#[test]
fn tools_are_shown_in_the_usual_shape() {
    let shown: Vec<String> = counterparts()
        .iter()
        .map(|(id, tool)| {
            let parameters = &tool.definition()["function"]["parameters"];
            format!("{id}: {parameters}")
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_shape_is_the_reference_s() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no data");
        return;
    };
    let path = std::path::Path::new(&folder).join("goldens/tool-schema-functions.jsonl");
    let golden: HashMap<String, Value> = std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            (
                record["id"].as_str().unwrap().to_owned(),
                record["schema"].clone(),
            )
        })
        .collect();
    for (id, tool) in counterparts() {
        let definition = tool.definition();
        assert_eq!(definition, golden[id], "{id}");
        // Templates print keys in order.
        assert_eq!(definition.to_string(), golden[id].to_string(), "{id}");
    }
}

#[test]
fn what_is_enforced_is_the_type_itself() {
    let optional = tool::<Optional>("f", "F.");
    let parameters = optional.parameters();
    let validator = jsonschema::validator_for(parameters).unwrap();
    assert!(validator.is_valid(&json!({"a": null, "b": "x"})));
    assert!(!validator.is_valid(&json!({"a": "x"})));
    let brew = tool::<Choices>("brew", "Brew.");
    let validator = jsonschema::validator_for(brew.parameters()).unwrap();
    assert!(validator.is_valid(&json!({"drink": "coffee"})));
    assert!(!validator.is_valid(&json!({"drink": "milk"})));
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    value: i64,
    #[serde(default)]
    children: Vec<Tree>,
}

impl Tree {
    fn sum(&self) -> i64 {
        self.value + self.children.iter().map(Tree::sum).sum::<i64>()
    }
}

fn tools() -> Tools {
    let from_schema = Tool::from_schema(
        "echo",
        "Say it again.",
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        |arguments| match arguments.get("text") {
            Some(text) => Ok(text.clone()),
            None => Err("text is missing"),
        },
    );
    Tools::from_iter([
        Tool::new("sum", "Sum of a tree.", |tree: Tree| {
            Ok::<_, String>(tree.sum())
        }),
        Tool::new("fail", "Fails.", |_: NoArgs| Err::<(), _>("out of order")),
        from_schema,
    ])
}

#[test]
fn a_type_inside_itself_is_referred_to() {
    let tools = tools();
    let parameters = tools.get("sum").unwrap().parameters();
    let validator = jsonschema::validator_for(parameters).unwrap();
    assert!(validator.is_valid(&json!({"value": 1, "children": [{"value": 2}]})));
    assert!(!validator.is_valid(&json!({"value": 1, "children": [{"valu": 2}]})));
}

#[test]
fn calls_are_dispatched_and_errors_go_back_to_the_model() {
    let tools = tools();
    let content = |call: Value| tools.run(&call)["content"].as_str().unwrap().to_owned();
    let call = json!({"name": "sum", "arguments": {"value": 1, "children": [{"value": 41}]}});
    assert_eq!(content(call), "42");
    // Arguments may come as JSON in a text.
    let call = json!({"function": {"name": "sum", "arguments": "{\"value\": 5}"}});
    assert_eq!(content(call), "5");
    let said: Vec<String> = [
        json!({"name": "echo", "arguments": {"text": "hello"}}),
        json!({"name": "echo"}),
        json!({"name": "sum", "arguments": {"value": "x"}}),
        json!({"name": "sum", "arguments": "{"}),
        json!({"name": "fail", "arguments": null}),
        json!({"name": "nope", "arguments": {}}),
        json!({"arguments": {}}),
    ]
    .into_iter()
    .map(content)
    .collect();
    insta::assert_snapshot!(said.join("\n"));
    let answer = tools.run(&json!({"id": "a1", "type": "function", "function": {"name": "fail"}}));
    assert_eq!(answer["tool_call_id"], "a1");
    assert_eq!(answer["role"], "tool");
    let message = json!({"tool_calls": [{"name": "a"}, {}]});
    let calls = ToolCall::all_of(&message);
    assert_eq!(calls.len(), 2);
    assert!(calls[0].is_ok() && calls[1].is_err());
}

#[test]
fn tools_render_into_templates() {
    let tools = tools();
    let templates = ChatTemplates::from_source(
        "{% for tool in tools %}{{ tool.function.name }}: \
         {{ tool.function.parameters.required | default([]) | join(', ') }}\n{% endfor %}",
    );
    let (definitions, messages) = (tools.definitions(), [json!({"role": "user"})]);
    let chat = Chat::new(&messages).with_tools(&definitions);
    assert_eq!(
        templates.apply(&chat).unwrap().text,
        "sum: value\nfail: \necho: text\n"
    );
}

/// Casting what was written as text takes nothing from what was right.
/// What was written before the answer is no part of it, whether or not the template
/// knows where the answer begins.
#[test]
fn a_prompt_is_no_part_of_the_message() {
    let template =
        response_parser::ResponseTemplate::of_family(response_parser::Family::HERMES).unwrap();
    for prompt in [
        "",
        "Say hello.",
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    ] {
        let message = read_response(&template, prompt, &[], "Hello!").unwrap();
        assert_eq!(message["content"], "Hello!", "{prompt}");
    }
    let begun = "<|im_start|>assistant\n<think>\nHm";
    let message = read_response(&template, begun, &[], ".</think>Yes").unwrap();
    assert_eq!(message["reasoning_content"], "Hm.");
    assert_eq!(message["content"], "Yes");
}

#[test]
fn calls_that_obey_their_schemas_are_read_so() {
    let template = tokenmold::response_parser::ResponseTemplate::of_family(
        tokenmold::response_parser::Family::HERMES,
    )
    .unwrap();
    // A property's schema, and values of it that casting would change.
    let cases = [
        (
            json!({"type": ["integer", "string"], "enum": ["5", 6]}),
            json!("5"),
        ),
        (
            json!({"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 2}]}),
            json!("1"),
        ),
        (
            json!({"anyOf": [{"type": "boolean"}, {"const": "true"}]}),
            json!("true"),
        ),
        (
            json!({"type": ["null", "string"], "minLength": 1}),
            json!("null"),
        ),
        (
            json!({"type": ["number", "string"], "not": {"type": "number"}}),
            json!("1e3"),
        ),
        (
            json!({"type": ["integer", "string"], "maximum": 10}),
            json!("11"),
        ),
        (
            json!({"type": ["object", "string"], "required": ["a"]}),
            json!("{}"),
        ),
        (
            json!({"type": ["array", "string"], "minItems": 1}),
            json!("[]"),
        ),
        (json!({"type": "string"}), json!("17")),
        (
            json!({"type": ["integer", "array"], "items": {"type": "string"}}),
            json!(["1", "2"]),
        ),
    ];
    let mut restored = 0;
    for (schema, value) in cases {
        let parameters = json!({"type": "object", "properties": {"x": schema}});
        let valid = jsonschema::validator_for(&parameters).unwrap();
        let tools =
            [json!({"type": "function", "function": {"name": "f", "parameters": parameters}})];
        let call = json!({"name": "f", "arguments": {"x": value}});
        let text = format!("Well.<tool_call>{call}</tool_call>");
        let read = tokenmold::tools::read_response(&template, "", &tools, &text).unwrap();
        let arguments = &read["tool_calls"][0]["function"]["arguments"];
        if valid.is_valid(&json!({"x": value})) {
            assert!(
                valid.is_valid(arguments),
                "{value} of {schema} is read as {arguments}"
            );
            restored += usize::from(arguments["x"] == value);
        }
        assert_eq!(read["content"], "Well.");
    }
    assert!(restored >= 7, "{restored}");
    // What was written as text and is not right so is cast.
    let tools = [json!({"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}})];
    let text = r#"<tool_call>{"name": "f", "arguments": {"x": "5"}}</tool_call>"#;
    let read = tokenmold::tools::read_response(&template, "", &tools, text).unwrap();
    assert_eq!(
        read["tool_calls"][0]["function"]["arguments"],
        json!({"x": 5})
    );
}
