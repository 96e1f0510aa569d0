//! Python's two ways of formatting text, `%` and `str.format`, with the values of templates. For
//! example, `'%s-%d' % ('a', 7)` and `'{}-{:02d}'.format('a', 7)`.

use python_compat::format::{self, Braces, FormatError, MAX_WIDTH, Percent, Spec};
use python_compat::number;

use super::callable::Arguments;
use super::operators::cut;
use super::value::{SequenceKind, TextKind, Value};
use super::{
    Fault, Render, charge, charge_printing, defined, limit_error, markup, operators, type_error,
};

#[cold]
fn wrong(error: FormatError) -> Fault {
    match error {
        FormatError::Wrong(message) => type_error(message),
        _ => limit_error(format!("a field is wider than {MAX_WIDTH} characters")),
    }
}

/// `text % arguments`, of a text of that kind. Markup escapes what it is given, and makes
/// numbers of texts.
pub(crate) fn percent(
    render: &mut Render,
    text: &str,
    kind: TextKind,
    arguments: &Value,
) -> Result<String, Fault> {
    let markup = kind == TextKind::Markup;
    let mut positional = match arguments {
        Value::Sequence(s) if matches!(s.kind, SequenceKind::Tuple | SequenceKind::Group) => {
            s.items.iter()
        }
        other => std::slice::from_ref(other).iter(),
    };
    let named = match arguments {
        Value::Dict(dict) => Some(dict),
        _ => None,
    };
    // A mapping need not be used up.
    let may_be_left = match arguments {
        Value::Dict(_) | Value::Undefined => true,
        Value::Sequence(s) => matches!(s.kind, SequenceKind::List | SequenceKind::Range { .. }),
        _ => false,
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(piece) = format::next_percent(&mut rest).map_err(wrong)? {
        let directive = match piece {
            Percent::Field(directive) => directive,
            Percent::Text(text) => {
                out.push_str(text);
                continue;
            }
            _ => continue,
        };
        let value = match directive.name {
            Some(name) => {
                let dict = named.ok_or_else(|| type_error("format requires a mapping"))?;
                let found = dict.get(name);
                found.ok_or_else(|| type_error(format!("KeyError: '{name}'")))?
            }
            None => positional
                .next()
                .ok_or_else(|| type_error("not enough arguments for format string"))?,
        };
        charge_printing(render, value)?;
        charge(render, directive.spec.cost())?;
        let kind = directive.kind;
        let wants_number = || type_error(format!("%{kind} format: a real number is required"));
        let piece = match kind {
            's' if markup => directive.text(&markup::escaped(value)),
            's' => directive.text(&value.str()),
            'r' | 'a' if markup => directive.text(&markup::escape(&python_compat::repr(value))),
            'r' | 'a' => directive.text(&python_compat::repr(value)),
            // The stand-in for the value in markup has `__int__` and `__float__`, no more.
            'x' | 'X' | 'o' | 'c' if markup => return Err(wants_number()),
            'd' | 'i' | 'u' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G'
                if markup && value.as_str().is_some() =>
            {
                let text = value.as_str().unwrap_or_default();
                match "diu".contains(kind) {
                    true => {
                        let read = number::integer(text, 10).ok_or_else(wants_number)?;
                        let whole = read.to_i128();
                        directive.integer(whole.ok_or_else(too_long)?)
                    }
                    false => directive.float(number::float(text).ok_or_else(wants_number)?),
                }
            }
            'd' | 'i' | 'u' => match (value.integer(), value.float()) {
                (Some(number), _) => directive.integer(number),
                (None, Some(number)) if number.is_finite() => {
                    let whole = cut(number).ok_or_else(too_long)?;
                    directive.integer(whole)
                }
                _ => return Err(wants_number()),
            },
            'x' | 'X' | 'o' => directive.integer(value.integer().ok_or_else(wants_number)?),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                directive.float(value.float().ok_or_else(wants_number)?)
            }
            'c' => match (value, value.integer()) {
                (Value::Text(text), _) if text.chars().count() == 1 => directive.character(text),
                (_, Some(code)) => directive.code_point(code).map_err(wrong)?,
                _ => return Err(type_error("%c requires int or char")),
            },
            other => {
                return Err(type_error(format!(
                    "unsupported format character '{other}'"
                )));
            }
        };
        out.push_str(&piece);
    }
    if positional.next().is_some() && !may_be_left {
        return Err(type_error(
            "not all arguments converted during string formatting",
        ));
    }
    Ok(out)
}

#[cold]
fn too_long() -> Fault {
    limit_error("a number has more than 127 bits")
}

/// `text.format(arguments)`, of a text of that kind.
pub(crate) fn braces(
    render: &mut Render,
    text: &str,
    kind: TextKind,
    arguments: &Arguments,
) -> Result<String, Fault> {
    let mut next = 0;
    let mut out = String::new();
    let mut rest = text;
    while let Some(piece) = format::next_braces(&mut rest).map_err(wrong)? {
        let (name, conversion, spec) = match piece {
            Braces::Field {
                name,
                conversion,
                spec,
            } => (name, conversion, spec),
            Braces::Text(text) => {
                out.push_str(text);
                continue;
            }
            _ => continue,
        };
        let mut value = lookup(arguments, name, &mut next)?;
        let mut spec = spec.to_owned();
        if let (Some(open), Some(close)) = (spec.find('{'), spec.find('}'))
            && open < close
        {
            let inner = lookup(arguments, &spec[open + 1..close], &mut next)?;
            charge_printing(render, &inner)?;
            spec.replace_range(open..=close, &inner.str());
        }
        charge_printing(render, &value)?;
        match conversion {
            None => {}
            Some("r" | "a") => value = Value::from(python_compat::repr(&value)),
            Some("s") => value = Value::from(value.str()),
            Some(other) => {
                return Err(type_error(format!(
                    "Unknown conversion specifier '{other}'"
                )));
            }
        }
        out.push_str(&markup::field(render, kind, &value, &spec)?);
    }
    Ok(out)
}

/// The value that a field names: `0.name[key]`.
fn lookup(arguments: &Arguments, field: &str, next: &mut usize) -> Result<Value, Fault> {
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let (first, mut path) = field.split_at(end);
    let value = if first.is_empty() {
        *next += 1;
        arguments.positional.get(*next - 1)
    } else if let Ok(at) = first.parse::<usize>() {
        arguments.positional.get(at)
    } else {
        let named = arguments.named.iter().find(|(name, _)| &**name == first);
        named.map(|(_, value)| value)
    };
    let Some(value) = value else {
        return Err(type_error(match first.is_empty() {
            true => "Replacement index out of range for positional args tuple".to_owned(),
            false => format!("KeyError: '{first}'"),
        }));
    };
    let mut value = value.clone();
    while !path.is_empty() {
        if let Some(after) = path.strip_prefix('[') {
            let Some((key, after)) = after.split_once(']') else {
                return Err(type_error("Missing ']' in format string"));
            };
            let key = match key.parse::<i128>() {
                Ok(at) => Value::from(at),
                Err(_) => Value::from(key),
            };
            value = operators::path(&value, &key)?;
            path = after;
        } else {
            let after = path.strip_prefix('.').unwrap_or(path);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            defined(&value)?;
            value = operators::attribute(&value, &after[..end]);
            path = &after[end..];
        }
    }
    Ok(value)
}

/// `format(value, spec)`.
pub(crate) fn with_spec(render: &mut Render, value: &Value, spec: &str) -> Result<String, Fault> {
    if spec.is_empty() {
        return Ok(value.str());
    }
    let spec = Spec::parse(spec).map_err(wrong)?;
    charge(render, spec.cost())?;
    let laid_out = match (value, value.integer()) {
        (Value::Text(text), _) => spec.text(text),
        (_, Some(number)) => spec.integer(number, value.type_name()),
        (Value::Float(number), _) => spec.float(*number),
        _ => {
            return Err(type_error(format!(
                "unsupported format string passed to {}.__format__",
                value.type_name()
            )));
        }
    };
    laid_out.map_err(wrong)
}
