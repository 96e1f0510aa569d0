//! The ways in which the models of a family write calls, each in a few words: the mask accepts them, and the reader
//! reads what was meant, at once and in pieces. What is cut off or broken can be finished under no mask.

use families::{Calls, Family};
use response_parser::{ResponseTemplate, Turn};
use serde_json::{Value, json};
use structural_tags::{Count, ResponseFormat};

use super::formats::{called, streamed};
use super::vocabulary;

/// A tool with arguments of several types.
fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "book", "parameters": {
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "nights": {"type": "integer"},
            "extra": {"type": "object"},
            "late": {"type": "boolean"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}
        }
    }}}])
}

/// Outputs of a family, each with the arguments of its calls.
fn outputs(family: Family) -> Vec<(&'static str, Value)> {
    let ulm = || json!([{"place": "Ulm"}]);
    let two = || json!([{"place": "Ulm"}, {"place": "10115"}]);
    match family {
        Family::HERMES => vec![
            (
                "<tool_call>\n{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}\n</tool_call>",
                ulm(),
            ),
            (
                "Well.<tool_call>{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}</tool_call><tool_call>{\"name\":\"book\",\"arguments\":{\"place\":\"10115\"}}</tool_call>",
                two(),
            ),
        ],
        Family::QWEN3_CODER => vec![
            (
                "<tool_call>\n<function=book>\n<parameter=place>\nUlm\n</parameter>\n</function>\n</tool_call>",
                ulm(),
            ),
            (
                "<tool_call><function=book><parameter=place>Ulm</parameter></function></tool_call>",
                ulm(),
            ),
            (
                "<tool_call>\n<function=book>\n<parameter=late>\nFalse\n</parameter>\n<parameter=nights>\n2\n</parameter>\n</function>\n</tool_call>",
                json!([{"late": false, "nights": 2}]),
            ),
            (
                "<tool_call>\n<function=book>\n<parameter=note>\nby the river\n</parameter>\n</function>\n</tool_call>",
                json!([{"note": "by the river"}]),
            ),
            (
                "<tool_call>\n<function=book>\n<parameter=note>\nnull\n</parameter>\n</function>\n</tool_call>",
                json!([{"note": null}]),
            ),
        ],
        Family::GLM4 => vec![
            (
                "\n<think>Hm.</think>\n<tool_call>book\n<arg_key>place</arg_key>\n<arg_value>Ulm</arg_value>\n</tool_call>",
                ulm(),
            ),
            ("<tool_call>book</tool_call>Done.", json!([{}])),
        ],
        Family::GLM4_7 => vec![
            (
                "<think>Hm.</think><tool_call>book<arg_key>place</arg_key><arg_value>Ulm</arg_value></tool_call>",
                ulm(),
            ),
            (
                "<tool_call>book\n<arg_key>nights</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
                json!([{"nights": 2}]),
            ),
        ],
        Family::GEMMA4 => vec![
            (
                "<|tool_call>call:book{place:<|\"|>Ulm<|\"|>}<tool_call|>",
                ulm(),
            ),
            (
                "<|tool_call>call:book{place:<|\"|>Ulm<|\"|>,nights:2,late:true,extra:{tags:[1, <|\"|>x<|\"|>]}}<tool_call|> Done.",
                json!([{"place": "Ulm", "nights": 2, "late": true, "extra": {"tags": [1, "x"]}}]),
            ),
            (
                "<|tool_call>call:book{extra:{a:1},late:true,nights:2,place:<|\"|>Ulm<|\"|>}<tool_call|>",
                json!([{"place": "Ulm", "nights": 2, "late": true, "extra": {"a": 1}}]),
            ),
        ],
        Family::HARMONY => vec![
            (
                " to=functions.book<|channel|>commentary <|constrain|>json<|message|>{\"place\": \"Ulm\"}",
                ulm(),
            ),
            (
                " to=functions.book<|channel|>commentary json<|message|>{\"place\": \"Ulm\"}",
                ulm(),
            ),
            (
                "<|channel|>commentary to=functions.book<|message|>{\"place\": \"Ulm\"}",
                ulm(),
            ),
            (
                "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.book<|constrain|>json<|message|>{\"place\": \"Ulm\"}",
                ulm(),
            ),
            (
                "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant to=functions.book<|channel|>analysis<|message|>{\"place\": \"Ulm\"}<|call|><|start|>assistant<|channel|>final<|message|>Done.",
                ulm(),
            ),
        ],
        Family::LLAMA3 => vec![
            (
                "{\"name\": \"book\", \"parameters\": {\"place\": \"Ulm\"}}",
                ulm(),
            ),
            (
                "{\"type\": \"function\", \"name\": \"book\", \"parameters\": {\"place\": \"Ulm\"}}",
                ulm(),
            ),
            (
                "<|python_tag|>{\"name\": \"book\", \"parameters\": {\"place\": \"Ulm\"}}",
                ulm(),
            ),
        ],
        Family::MISTRAL => vec![
            (
                "[TOOL_CALLS][{\"arguments\": {\"place\": \"Ulm\"}, \"name\": \"book\"}]",
                ulm(),
            ),
            (
                "[TOOL_CALLS] [{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}, {\"name\": \"book\", \"arguments\": {\"place\": \"10115\"}}]",
                two(),
            ),
        ],
        Family::MISTRAL_V11 => vec![
            ("[TOOL_CALLS]book[ARGS]{\"place\": \"Ulm\"}", ulm()),
            (
                "[TOOL_CALLS]book[CALL_ID]a1B2c3D4e[ARGS]{\"place\": \"Ulm\"}[TOOL_CALLS]book[ARGS]{\"place\": \"10115\"}",
                two(),
            ),
        ],
        Family::DEEPSEEK_V3 => vec![(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>book\n```json\n{\"place\": \"Ulm\"}\n```<｜tool▁call▁end｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>book\n```json\n{\"place\": \"10115\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            two(),
        )],
        Family::DEEPSEEK_V3_1 => vec![(
            "Well.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>book<｜tool▁sep｜>{\"place\": \"Ulm\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            ulm(),
        )],
        Family::DEEPSEEK_V3_2 => vec![(
            "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"book\">\n<｜DSML｜parameter name=\"place\" string=\"true\">Ulm</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            ulm(),
        )],
        Family::DEEPSEEK_V4 => vec![(
            "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"book\">\n<｜DSML｜parameter name=\"place\" string=\"true\">Ulm</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"book\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
            json!([{"place": "Ulm"}, {}]),
        )],
        Family::DEEPSEEK_V4_1 => vec![(
            "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"book\">\n<｜DSML｜ parameter name=\"nights\" string=\"false\">2</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
            json!([{"nights": 2}]),
        )],
        Family::KIMI_K2 => vec![
            (
                "Well. <|tool_calls_section_begin|><|tool_call_begin|>functions.book:0 <|tool_call_argument_begin|>{\"place\": \"Ulm\"}<|tool_call_end|><|tool_calls_section_end|>",
                ulm(),
            ),
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>book:0<|tool_call_argument_begin|>{\"place\": \"Ulm\"}<|tool_call_end|><|tool_calls_section_end|>",
                ulm(),
            ),
        ],
        Family::KIMI_K3 => vec![(
            "<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>Well.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"book\" index=\"1\"<|sep|><|open|>argument key=\"place\" type=\"string\"<|sep|>Ulm<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
            ulm(),
        )],
        Family::MINIMAX_M2 => vec![(
            "<minimax:tool_call>\n<invoke name=\"book\">\n<parameter name=\"place\">Ulm</parameter>\n</invoke>\n</minimax:tool_call>",
            ulm(),
        )],
        Family::SEED_OSS => vec![(
            "<seed:think>Hm.</seed:think>\n<seed:tool_call>\n<function=book>\n<parameter=place>Ulm</parameter>\n</function>\n</seed:tool_call>",
            ulm(),
        )],
        Family::STEP3 => vec![(
            "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"book\"><steptml:parameter name=\"place\">Ulm</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
            ulm(),
        )],
        Family::MINICPM5 => vec![(
            "<function name=\"book\"><param name=\"place\">Ulm</param></function>",
            ulm(),
        )],
        Family::DOTS => vec![(
            "<dots_function_call>\n<invoke name=\"book\">\n<parameter name=\"place\">Ulm</parameter>\n</invoke>\n</dots_function_call>",
            ulm(),
        )],
        Family::LING3 => vec![(
            "<think>Hm.</think><tool_call>book<arg_key>place</arg_key><arg_value>Ulm</arg_value></tool_call>",
            ulm(),
        )],
        Family::LAGUNA => vec![(
            "<tool_call>book\n<arg_key>place</arg_key>\n<arg_value>Ulm</arg_value>\n</tool_call>",
            ulm(),
        )],
        Family::HY_V3 => vec![(
            "<tool_calls>\n<tool_call>book<tool_sep>\n<arg_key>place</arg_key>\n<arg_value>Ulm</arg_value>\n</tool_call>\n</tool_calls>",
            ulm(),
        )],
        Family::HY_V4 => vec![(
            "<tool_calls><tool_call>book<arg_key>place</arg_key><arg_value>Ulm</arg_value></tool_call></tool_calls>",
            ulm(),
        )],
        Family::K2_HORIZON => vec![(
            "<ifm|tool_calls><ifm|tool_call>book<ifm|arg_key>place</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>Ulm</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
            ulm(),
        )],
        Family::GRANITE => vec![(
            "<|tool_call|> [{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}]",
            ulm(),
        )],
        Family::GRANITE_20B_FC => vec![(
            "<function_call> {\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}<function_call> {\"name\": \"book\", \"arguments\": {\"place\": \"10115\"}}",
            two(),
        )],
        Family::HUNYUAN_A13B | Family::JAMBA => vec![(
            "<tool_calls>[{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}, {\"name\": \"book\", \"arguments\": {\"place\": \"10115\"}}]</tool_calls>",
            two(),
        )],
        Family::NEMOTRON => vec![(
            "<think>Hm.</think><TOOLCALL>[{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}]</TOOLCALL>",
            ulm(),
        )],
        Family::PHI4_MINI_JSON => vec![(
            "functools[{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}]",
            ulm(),
        )],
        Family::PHI4_MINI => vec![(
            "<|tool_call|>[{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}]<|/tool_call|>",
            ulm(),
        )],
        Family::COHERE => vec![(
            "<|START_ACTION|>[\n{\"tool_call_id\": \"0\", \"tool_name\": \"book\", \"parameters\": {\"place\": \"Ulm\"}}\n]<|END_ACTION|>",
            ulm(),
        )],
        Family::LONGCAT => vec![(
            "<longcat_tool_call>\n{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}\n</longcat_tool_call>",
            ulm(),
        )],
        Family::INTERNLM => vec![(
            "Well.<|action_start|><|plugin|>\n{\"name\": \"book\", \"parameters\": {\"place\": \"Ulm\"}}<|action_end|>",
            ulm(),
        )],
        Family::GIGACHAT3 => vec![
            (
                "Well.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}",
                ulm(),
            ),
            (
                "<|function_call|>{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}",
                ulm(),
            ),
        ],
        Family::PLAMO3 => vec![(
            "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>book<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{\"place\": \"Ulm\"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
            ulm(),
        )],
        Family::INKLING => vec![(
            "<|message_model|><|content_text|>Well.<|end_message|><|message_model|><|content_invoke_tool_json|>{\"name\": \"book\", \"args\": {\"place\": \"Ulm\"}}<|end_message|>",
            ulm(),
        )],
        Family::PYTHONIC | Family::LLAMA4 | Family::GEMMA_PYTHONIC => vec![
            ("[book(place='Ulm')]", ulm()),
            ("[book(place=\"Ulm\"), book(place='10115')]", two()),
            (
                "[book(place='Ulm\\'s \\\"Spatzen\\\"', late=True, note=None, extra={'a': [1, False], \"b\": 'x'})]",
                json!([{"place": "Ulm's \"Spatzen\"", "late": true, "note": null, "extra": {"a": [1, false], "b": "x"}}]),
            ),
        ],
        Family::LFM2 => vec![
            (
                "Well.<|tool_call_start|>[book(place=\"Ulm\")]<|tool_call_end|>Done.",
                ulm(),
            ),
            (
                "<|tool_call_start|>[book(place='Ulm'), book(place='10115')]<|tool_call_end|>",
                two(),
            ),
        ],
        Family::OLMO3 => vec![(
            "<function_calls>\nbook(place=\"Ulm\")\nbook(place=\"10115\")\n</function_calls>",
            two(),
        )],
        Family::XLAM => vec![(
            "[{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}, {\"name\": \"book\", \"arguments\": {\"place\": \"10115\"}}]",
            two(),
        )],
        Family::APERTUS => vec![(
            "<|inner_prefix|>Hm.<|inner_suffix|><|tools_prefix|>[{\"book\": {\"place\": \"Ulm\"}}, {\"book\": {\"place\": \"10115\"}}]<|tools_suffix|>",
            two(),
        )],
        Family::FUNCTIONGEMMA => vec![(
            "<start_function_call>call:book{place:<escape>Ulm<escape>,nights:2}<end_function_call>",
            json!([{"place": "Ulm", "nights": 2}]),
        )],
        Family::MINIMAX_M1 => vec![
            (
                "<think>Hm.</think><tool_calls>\n{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}\n</tool_calls>",
                ulm(),
            ),
            (
                "Well.<tool_calls>\n{\"name\": \"book\", \"arguments\": {\"place\": \"Ulm\"}}\n{\"name\": \"book\", \"arguments\": {\"place\": \"10115\"}}\n</tool_calls>",
                two(),
            ),
        ],
        Family::FUNCTIONARY => vec![
            ("<function=book>{\"place\": \"Ulm\"}</function>", ulm()),
            (
                "<function=book>{\"place\": \"Ulm\"}</function><function=book>{\"place\": \"10115\"}</function>",
                two(),
            ),
        ],
        _ => Vec::new(),
    }
}

/// Families that write as the named one does, and say so in their files.
const AS_ANOTHER: [&str; 6] = [
    "ernie4.5",
    "granite4",
    "llama4-json",
    "mimo",
    "smollm3",
    "step3.5",
];

/// Families of which masks are refused.
fn is_refused(family: Family) -> bool {
    matches!(family.writes().calls, Calls::Refused(_))
}

#[test]
fn a_family_is_bound_to_its_own_spellings() {
    let vocabulary = vocabulary(&[], &[]);
    let tools = tools();
    let mut wrong: Vec<String> = Vec::new();
    for family in Family::all().filter(|family| !is_refused(*family)) {
        let outputs = outputs(family);
        if outputs.is_empty() {
            assert!(AS_ANOTHER.contains(&family.name()), "{family} has no case");
            continue;
        }
        let format = ResponseFormat::named(family)
            .and_then(|format| format.with_tools(tools.as_array().unwrap()))
            .unwrap()
            .with_calls(Count::AT_LEAST_ONE);
        let automaton = format.compile(&vocabulary).unwrap();
        let template = ResponseTemplate::of_family(family).unwrap();
        let turn = Turn::after("").with_tools(&tools);
        for (output, arguments) in outputs {
            if !automaton.is_match(output.as_bytes()) {
                wrong.push(format!("{family} refuses {output:?}"));
                continue;
            }
            let expected: Vec<(Value, Value)> = arguments
                .as_array()
                .unwrap()
                .iter()
                .map(|arguments| (json!("book"), arguments.clone()))
                .collect();
            let mut readings = vec![template.parse_turn(&turn, output).map(|read| called(&read))];
            readings.extend([1, 5].map(|piece| streamed(&template, &turn, output, piece)));
            for read in readings {
                match read {
                    Ok(read) if read == expected => {}
                    Ok(read) => wrong.push(format!("{family} reads {read:?} of {output:?}")),
                    Err(error) => wrong.push(format!("{family}: {error}: {output:?}")),
                }
            }
            // Cut off inside of the last value, it is no answer.
            let call = output.trim_end_matches("Done.");
            let last = call.rfind(['m', '5', '2', 'e', 'l', 'x']).unwrap();
            if automaton.is_match(&call.as_bytes()[..last]) && !call.ends_with("message|>") {
                wrong.push(format!("{family} admits {:?}", &call[..last]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A declared string stands as it is, whatever it looks like.
#[test]
fn a_string_that_looks_like_json_is_written_bare() {
    let vocabulary = vocabulary(&[], &[]);
    let tools = tools();
    let format = ResponseFormat::named(Family::QWEN3_CODER)
        .and_then(|format| format.with_tools(tools.as_array().unwrap()))
        .unwrap();
    let automaton = format.compile(&vocabulary).unwrap();
    let call = |key: &str, value: &str| {
        let text = format!(
            "<tool_call>\n<function=book>\n<parameter={key}>\n{value}\n</parameter>\n</function>\n</tool_call>"
        );
        automaton.is_match(text.as_bytes())
    };
    for value in [
        "10115",
        "true",
        "null",
        "1e5",
        "{\"a\": 1}",
        "\"q\"",
        "",
        "a\nb",
    ] {
        assert!(call("place", value), "{value:?}");
    }
    assert!(call("nights", "3") && !call("nights", "three") && !call("nights", "\"3\""));
    assert!(call("late", "True") && call("late", "true") && !call("late", "TRUE"));
}

/// Arguments come in any order where they are few, and each at most once.
#[test]
fn arguments_come_in_any_order_and_once() {
    let vocabulary = vocabulary(&[], &[]);
    let tools = tools();
    for (family, call) in [
        (
            Family::GEMMA4,
            "<|tool_call>call:book{nights:2,late:true}<tool_call|>",
        ),
        (
            Family::GEMMA4,
            "<|tool_call>call:book{late:true,nights:2}<tool_call|>",
        ),
        (
            Family::GLM4_7,
            "<tool_call>book<arg_key>late</arg_key><arg_value>true</arg_value><arg_key>nights</arg_key><arg_value>2</arg_value></tool_call>",
        ),
    ] {
        let format = ResponseFormat::named(family)
            .and_then(|format| format.with_tools(tools.as_array().unwrap()))
            .unwrap()
            .with_calls(Count::ONE);
        let automaton = format.compile(&vocabulary).unwrap();
        assert!(automaton.is_match(call.as_bytes()), "{call}");
        let twice = match family {
            Family::GEMMA4 => call.replace("late:true", "late:true,late:true"),
            _ => call.replace("nights", "late").replace(">2<", ">true<"),
        };
        assert!(!automaton.is_match(twice.as_bytes()), "{twice}");
    }
}

/// A tool that says nothing of its arguments takes any, as the family writes them.
#[test]
fn a_tool_without_properties_takes_any_arguments() {
    let vocabulary = vocabulary(&[], &[]);
    let tools = json!([{"name": "calc", "parameters": {"type": "object"}}]);
    let turn = Turn::after("").with_tools(&tools);
    let cases = [
        (
            Family::KIMI_K3,
            "<|open|>tools<|sep|><|open|>call tool=\"calc\" index=\"1\"<|sep|><|open|>argument key=\"x\" type=\"number\"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
            json!({"x": 1}),
        ),
        (
            Family::QWEN3_CODER,
            "<tool_call>\n<function=calc>\n<parameter=x>\none and two\n</parameter>\n</function>\n</tool_call>",
            json!({"x": "one and two"}),
        ),
    ];
    for (family, output, arguments) in cases {
        let format = ResponseFormat::named(family)
            .and_then(|format| format.with_tools(tools.as_array().unwrap()))
            .unwrap()
            .with_calls(Count::ONE);
        let automaton = format.compile(&vocabulary).unwrap();
        assert!(automaton.is_match(output.as_bytes()), "{family}");
        assert!(!automaton.is_match(output.replace("calc", "other").as_bytes()));
        let template = ResponseTemplate::of_family(family).unwrap();
        let message = template.parse_turn(&turn, output).unwrap();
        assert_eq!(called(&message), [(json!("calc"), arguments)], "{family}");
    }
}
