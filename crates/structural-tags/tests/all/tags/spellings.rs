//! The ways in which the models of a family write calls, a page each in `tests/families`: the mask accepts them, and the
//! reader reads what was meant, at once and in pieces. What is cut off or broken can be finished under no mask.
//!
//! For example, `hermes.md` has a block `text` with an output and, behind `Calls:`, the arguments of its calls.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use case_pages::{Label, Page};
use families::{Calls, Content, Family};
use response_parser::{ResponseTemplate, Turn};
use serde_json::{Value, json};
use structural_tags::{Beside, Count, ResponseFormat};

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

/// The lines that stand before a page's blocks: an output, and the arguments of its calls, one a line.
const LABELS: [Label; 2] = [("", "text"), ("Calls:", "json")];

fn pages() -> Vec<Page> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/families");
    case_pages::pages(folder.as_ref(), &LABELS)
}

fn family_of(page: &Page) -> Option<Family> {
    Family::by_name(page.name().strip_suffix(".md")?)
}

#[test]
fn each_family_has_a_page() {
    let pages: Vec<Option<Family>> = pages().iter().map(family_of).collect();
    assert!(!pages.contains(&None), "a page names no family");
    for family in Family::all().filter(|family| !is_refused(*family)) {
        let is_as_another = AS_ANOTHER.contains(&family.name());
        assert_eq!(pages.contains(&Some(family)), !is_as_another, "{family}");
    }
}

#[test]
fn the_readme_counts_the_families() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let said = std::fs::read_to_string(path).unwrap();
    let row = said
        .lines()
        .find(|line| line.starts_with("| model families"))
        .unwrap();
    let number = format!("**{}**", Family::all().count());
    assert!(row.contains(&number), "{number}: {row}");
}

#[test]
fn a_family_is_bound_to_its_own_spellings() {
    let vocabulary = vocabulary(&[], &[]);
    let tools = tools();
    case_pages::run(pages(), |page, scenario, found| {
        let family = family_of(page).unwrap();
        let format = ResponseFormat::named(family)
            .and_then(|format| format.with_tools(tools.as_array().unwrap()))
            .unwrap()
            .with_calls(Count::AT_LEAST_ONE);
        let automaton = format.compile(&vocabulary).unwrap();
        let template = ResponseTemplate::of_family(family).unwrap();
        let turn = Turn::after("").with_tools(&tools);
        let output = case_pages::plain(&scenario.text("text", "").unwrap());
        let expected: Vec<(Value, Value)> = scenario
            .text("json", "Calls:")
            .unwrap()
            .lines()
            .map(|arguments| (json!("book"), serde_json::from_str(arguments).unwrap()))
            .collect();
        found.count(1);
        if !automaton.is_match(output.as_bytes()) {
            return found.add(scenario.line, "the mask refuses it", None);
        }
        let mut readings = vec![
            template
                .parse_turn(&turn, &output)
                .map(|read| called(&read)),
        ];
        readings.extend([1, 5].map(|piece| streamed(&template, &turn, &output, piece)));
        for read in readings {
            match read {
                Ok(read) if read == expected => {}
                Ok(read) => found.add(scenario.line, format!("read as {read:?}"), None),
                Err(error) => found.add(scenario.line, error.to_string(), None),
            }
        }
        // Cut off inside of the last value, it is no answer.
        let call = output.trim_end_matches("Done.");
        let last = call.rfind(['m', '5', '2', 'e', 'l', 'x']).unwrap();
        if automaton.is_match(&call.as_bytes()[..last]) && !call.ends_with("message|>") {
            let message = format!("the mask admits {:?}", &call[..last]);
            found.add(scenario.line, message, None);
        }
    });
}

/// Calls are all of an answer here: each page's outputs without content are admitted, with the line feeds that a template
/// may write before them, and those with content are refused.
#[test]
fn a_required_call_is_all_of_an_answer() {
    let vocabulary = vocabulary(&[], &[]);
    let tools = tools();
    let (alone, with_content) = (AtomicUsize::new(0), AtomicUsize::new(0));
    case_pages::run(pages(), |page, scenario, found| {
        let family = family_of(page).unwrap();
        let format = ResponseFormat::named(family)
            .and_then(|format| format.with_tools(tools.as_array().unwrap()))
            .unwrap()
            .with_calls(Count::AT_LEAST_ONE)
            .with_beside(Beside::Nothing);
        let automaton = format.compile(&vocabulary).unwrap();
        let template = ResponseTemplate::of_family(family).unwrap();
        let turn = Turn::after("").with_tools(&tools);
        let output = case_pages::plain(&scenario.text("text", "").unwrap());
        let read = template.parse_turn(&turn, &output).unwrap();
        let said = |name: &str| {
            read[name]
                .as_str()
                .is_some_and(|text| !text.trim().is_empty())
        };
        found.count(1);
        let is_alone = !said("content");
        if automaton.is_match(output.as_bytes()) != is_alone {
            let message = format!(
                "content is {}, and the mask says otherwise",
                read["content"]
            );
            return found.add(scenario.line, message, None);
        }
        if !is_alone {
            with_content.fetch_add(1, Relaxed);
            return;
        }
        alone.fetch_add(1, Relaxed);
        let thinks = read
            .as_object()
            .unwrap()
            .keys()
            .any(|name| ["reasoning_content", "thinking"].contains(&&**name));
        if thinks || family.writes().content != Some(Content::Bare) {
            return;
        }
        let call = output.trim_start_matches('\n');
        for before in ["", "\n", "\n\n"] {
            if !automaton.is_match(format!("{before}{call}").as_bytes()) {
                found.add(scenario.line, format!("not behind {before:?}"), None);
            }
        }
        for before in ["\n\n\n", "Let me look.", "Let me look.\n\n"] {
            if automaton.is_match(format!("{before}{call}").as_bytes()) {
                found.add(scenario.line, format!("also behind {before:?}"), None);
            }
        }
    });
    let (alone, with_content) = (alone.into_inner(), with_content.into_inner());
    assert!(alone > 60 && with_content > 5, "{alone}, {with_content}");
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
