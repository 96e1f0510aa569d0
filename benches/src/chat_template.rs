//! Golden cases of chat templates: what transformers rendered, or why it did not. For example, `{{
//! messages[0].content }}{{ eos_token }}` with the message `a` and the token `.` must render `a.`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use serde_json::{Map, Value};
use tokenmold::chat::{Chat, ChatTemplate, ChatTemplates, Ending, Moment, Rendered};
use tokenmold::{Error, ErrorKind};

use crate::golden::{Difference, Tally};

/// The results of each kind of template.
pub type Families = BTreeMap<String, Tally>;

/// Runs a file of golden cases; each difference is handed to `differs`. Also says how the
/// cases of each family of templates went; families whose name begins with `own` or `x` are
/// not templates of models.
///
/// # Errors
///
/// The file cannot be read, or a line is no case.
pub fn chat_template(
    path: &Path,
    differs: &mut dyn FnMut(Difference),
) -> Result<(Tally, Families), String> {
    let place = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("{place}: {e}"))?;
    let mut tally = Tally::default();
    let mut families = Families::new();
    for (i, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| format!("{place}: {e}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let record: Value =
            serde_json::from_str(&line).map_err(|e| format!("{place}: line {}: {e}", i + 1))?;
        let difference = chat_template_case(&record);
        tally.count(difference.is_none());
        let id = record["id"].as_str().unwrap_or_default();
        let family = id.split(['/', '_']).next().unwrap_or_default();
        let family = families.entry(family.to_owned()).or_default();
        family.count(difference.is_none());
        if let Some(difference) = difference {
            differs(difference);
        }
    }
    Ok((tally, families))
}

/// Tells whether a family of cases is of templates that models are published with.
pub fn is_of_a_model(family: &str) -> bool {
    !["own", "x", "multi", "seed"].contains(&family)
}

/// Runs one golden case.
pub fn chat_template_case(record: &Value) -> Option<Difference> {
    let got = render(record);
    let spans = |rendered: &Rendered| {
        let spans = rendered.spans.iter().map(|s| vec![s.start, s.end]);
        Value::from_iter(spans)
    };
    let agrees = match (&got, record["expected"].as_str()) {
        (Ok(rendered), Some(expected)) => {
            let spans_agree =
                record["want_spans"] != true || spans(rendered) == record["generation_spans"];
            rendered.text == expected && spans_agree
        }
        (Err(error), None) => same_error(record, error),
        _ => false,
    };
    let shown = |text: &str, spans: &Value| match spans {
        Value::Null => format!("{text:?}"),
        spans => format!("{text:?} with spans {spans}"),
    };
    (!agrees).then(|| Difference {
        id: record["id"].as_str().unwrap_or("(no id)").to_owned(),
        expected: match record["expected"].as_str() {
            Some(text) => shown(text, &record["generation_spans"]),
            None => format!("{} {:?}", record["error_type"], record["error"]),
        },
        got: match &got {
            Ok(rendered) if record["want_spans"] == true => shown(&rendered.text, &spans(rendered)),
            Ok(rendered) => shown(&rendered.text, &Value::Null),
            Err(error) => format!("{:?}: {error}", error.kind()),
        },
    })
}

/// Texts of errors are the reference's where it chose them; those of its interpreter are not.
fn same_error(record: &Value, error: &Error) -> bool {
    let expected = record["error"].as_str().unwrap_or_default();
    let line = record["error_line"].as_u64();
    if line.is_some() && error.line().map(|line| line as u64) != line {
        return false;
    }
    match record["error_kind"].as_str() {
        Some("raise_exception") => error.said() == Some(expected),
        Some("api") if record["error_type"] == "ValueError" => error.to_string() == expected,
        Some("syntax") => error.kind() == ErrorKind::TemplateSyntax,
        _ => true,
    }
}

fn render(record: &Value) -> Result<Rendered, Error> {
    let empty = Vec::new();
    let list = |name: &str| record.get(name).and_then(Value::as_array);
    let mut chat = Chat::new(list("messages").unwrap_or(&empty));
    if let Some(tools) = list("tools") {
        chat = chat.with_tools(tools);
    }
    if let Some(documents) = list("documents") {
        chat = chat.with_documents(documents);
    }
    if let Some(name) = record["chosen_template_name"].as_str() {
        chat = chat.with_template(name);
    }
    if let Some(now) = record["now"].as_str().and_then(Moment::parse) {
        chat = chat.with_now(now);
    }
    let continues = match &record["continue_final_message"] {
        Value::Bool(true) => Some(record["continue_field"].as_str().unwrap_or("content")),
        Value::String(field) => Some(field.as_str()),
        _ => None,
    };
    let asks = record["add_generation_prompt"] == true;
    if let Some(field) = continues {
        chat = chat.with_ending(Ending::Continue(field));
        if asks {
            chat = chat.with_variable("add_generation_prompt", true);
        }
    } else if asks {
        chat = chat.with_ending(Ending::GenerationPrompt);
    }
    let mut special_tokens = Map::new();
    for (name, value) in record["kwargs"].as_object().into_iter().flatten() {
        match name.ends_with("_token") && value.is_string() {
            true => {
                special_tokens.insert(name.clone(), value.clone());
            }
            false => chat = chat.with_variable(name.clone(), value.clone()),
        }
    }
    if record["api"] == "render" {
        for (name, value) in special_tokens {
            chat = chat.with_variable(name, value);
        }
        let source = record["template"].as_str().unwrap_or_default();
        return ChatTemplate::new(source)?.render(&chat);
    }
    let templates = ChatTemplates::from_json(&record["template"])?;
    templates.with_special_tokens(special_tokens).apply(&chat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wrong_answer_is_a_difference() {
        let record = |expected: &str| {
            json!({
                "id": "x", "api": "apply", "template": "{{ messages[0].content }}{{ eos_token }}",
                "messages": [{"role": "user", "content": "a"}], "kwargs": {"eos_token": "."},
                "expected": expected,
            })
        };
        assert_eq!(chat_template_case(&record("a.")), None);
        let difference = chat_template_case(&record("b.")).unwrap();
        assert_eq!(
            (difference.expected.as_str(), difference.got.as_str()),
            ("\"b.\"", "\"a.\"")
        );
        let raising = |said: &str| {
            json!({
                "id": "x", "api": "apply", "template": "{{ raise_exception('no') }}",
                "messages": [{"role": "user"}],
                "error": said, "error_kind": "raise_exception", "error_type": "TemplateError",
            })
        };
        assert_eq!(chat_template_case(&raising("no")), None);
        assert!(chat_template_case(&raising("yes")).is_some());
    }
}
