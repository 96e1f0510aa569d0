//! The `Markup` of `markupsafe`: for example, markup escapes the text that it is joined with.
//!
//! For example, `('<b>%s</b>' | safe) % '<'` is `<b>&lt;</b>`, and `'<' + ('<b>' | safe)` is
//! `&lt;<b>`. `~` and `join` of Jinja make plain text without escaping, since chat templates are
//! run without `autoescape`.

use super::callable::Arguments;
use super::value::{self, SequenceKind, Text, TextKind, Value};
use super::{Fault, ITEM, Render, charge, format, items_of, made, made_of, text_methods};
use python_compat::text::{self, split_space};

/// `markupsafe.escape`: the text of a value, escaped unless it is markup.
pub(crate) fn escaped(value: &Value) -> String {
    match value {
        Value::Text(text) if text.is_markup() => text.to_string(),
        other => escape(&other.str()),
    }
}

/// A text with the five characters replaced that mean something in HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// `+` of two texts.
pub(crate) fn add(render: &mut Render, a: &Text, b: &Text) -> Result<Value, Fault> {
    charge(render, a.len() + b.len())?;
    let escape_other = |text: &Text| -> String {
        match text.is_markup() {
            true => text.to_string(),
            false => escape(text),
        }
    };
    match a.is_markup() || b.is_markup() {
        false => Ok(Value::from([&**a, &**b].concat())),
        true => made_of(render, TextKind::Markup, escape_other(a) + &escape_other(b)),
    }
}

/// Methods that markup has beside those of texts.
pub(crate) const METHODS: [&str; 2] = ["escape", "striptags"];

/// The method of markup that `args` are named after.
pub(crate) fn method(
    render: &mut Render,
    receiver: &Text,
    mut args: Arguments,
) -> Result<Value, Fault> {
    let escape_at = |render: &mut Render, args: &mut Arguments, at: usize| {
        let Some(argument) = args.positional.get_mut(at) else {
            return Ok(());
        };
        let text = escaped(argument);
        charge(render, text.len())?;
        *argument = TextKind::Markup.of(text);
        Ok::<(), Fault>(())
    };
    let name = args.name.clone();
    match &*name {
        "escape" => {
            let [value] = args.bind_all(["s"])?;
            return made_of(render, TextKind::Markup, escaped(&value));
        }
        "striptags" => {
            args.bind::<0>([])?;
            return striptags(render, receiver);
        }
        "format" | "format_map" => {}
        "replace" | "ljust" | "rjust" | "center" => escape_at(render, &mut args, 1)?,
        "join" => {
            let [items] = args.bind_all(["iterable"])?;
            let items = items_of(render, &items)?;
            let mut texts = Vec::with_capacity(items.len());
            for item in &items {
                texts.push(made_of(render, TextKind::Markup, escaped(item))?);
            }
            args = Arguments {
                name: name.clone(),
                positional: vec![value::list(texts)?],
                named: Vec::new(),
            };
        }
        _ => {}
    }
    let made = text_methods::plain_text(render, receiver, args)?;
    marked(made)
}

/// The texts of a result, or of its items, as markup.
fn marked(value: Value) -> Result<Value, Fault> {
    match value {
        Value::Text(text) => Ok(TextKind::Markup.of(text.shared().clone())),
        Value::Sequence(parts)
            if matches!(parts.kind, SequenceKind::List | SequenceKind::Tuple) =>
        {
            let items = parts.items.iter().cloned().map(marked);
            value::sequence(parts.kind, items.collect::<Result<_, _>>()?)
        }
        other => Ok(other),
    }
}

/// The text of a field of `format`, in a text of that kind.
pub(crate) fn field(
    render: &mut Render,
    kind: TextKind,
    value: &Value,
    spec: &str,
) -> Result<String, Fault> {
    match (kind, value) {
        (TextKind::Plain, _) => format::with_spec(render, value, spec),
        (TextKind::Markup, Value::Text(text)) if text.is_markup() => match spec {
            "" => Ok(text.to_string()),
            _ => Err(super::type_error(
                "Unsupported format specification for Markup.",
            )),
        },
        _ => Ok(escape(&format::with_spec(render, value, spec)?)),
    }
}

/// The text without tags and entities.
pub(crate) fn striptags(render: &mut Render, text: &str) -> Result<Value, Fault> {
    charge(render, text::word_count(text).saturating_mul(ITEM / 2))?;
    made(render, without_tags(text))
}

fn without_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let comment = rest[at..].starts_with("<!--");
        let close = if comment { "-->" } else { ">" };
        let Some(end) = rest[at..].find(close) else {
            break;
        };
        out.push_str(&rest[..at]);
        rest = &rest[at + end + close.len()..];
    }
    out.push_str(rest);
    let words: Vec<&str> = split_space(&out, None);
    let joined = words.join(" ");
    joined
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}
