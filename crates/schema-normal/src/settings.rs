//! The object `x-tokenmold` at the root of a schema: options that the schema
//! chooses by itself.
//!
//! For example, `{"x-tokenmold": {"whitespace": "compact"}, "type": "array"}` overrides the
//! whitespace of the caller.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::options::{
    AdditionalMembers, AnyValue, Caps, Escapes, Formats, IntegerSpelling, OneOf, Options,
    PropertyOrder, Recursion, Whitespace,
};

/// The keyword, named after the project because no vocabulary of JSON Schema has it.
pub(crate) const NAME: &str = "x-tokenmold";

/// The place of the keyword, at the root because it holds for the whole schema.
const POINTER: &str = "/x-tokenmold";

/// The deepest nesting that a schema may ask for, because others than its author pay for it.
const MAX_NESTING: u64 = 1_000;
/// The most levels that a schema may ask to unroll, because each multiplies the expression.
const MAX_UNROLLED: u64 = 16;
/// The most digits of numbers that a schema may ask for: each takes as many states as the
/// automaton of the numbers has.
const MAX_DIGITS: u64 = 1_000;

/// The options that a schema may choose: no bounds on work, because these protect from the schema.
const MEMBERS: &[&str] = &[
    "whitespace",
    "escapes",
    "integers",
    "propertyOrder",
    "additionalMembers",
    "formats",
    "oneOf",
    "nesting",
    "recursion",
    "anyValue",
    "caps",
];

/// The caps that a schema may choose, as `Caps` has them.
const MEMBERS_OF_CAPS: &[&str] = &[
    "length",
    "items",
    "depth",
    "digits",
    "members",
    "nameLength",
];

/// The settings that the schema chose, read without an error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides(Option<Value>);

impl Overrides {
    /// Reads the object; each error has the pointer of the member at fault.
    pub(crate) fn read(value: &Value) -> Result<Overrides, Error> {
        choose(value, &mut Options::default())?;
        Ok(Overrides(Some(value.clone())))
    }

    /// The options of the host with what the schema chose.
    pub(crate) fn over(&self, options: &Options) -> Options {
        let mut out = options.clone();
        if let Some(value) = &self.0 {
            let chosen = choose(value, &mut out);
            debug_assert!(chosen.is_ok(), "it was read before");
        }
        out
    }
}

/// Sets the options that an object chooses.
fn choose(value: &Value, out: &mut Options) -> Result<(), Error> {
    let Some(map) = value.as_object() else {
        return Err(bad(POINTER, format!("`{NAME}` must be an object")));
    };
    for (name, value) in map {
        let at = &format!("{POINTER}/{}", json_tree::pointer::escape(name));
        match name.as_str() {
            "whitespace" => out.whitespace = whitespace(at, value)?,
            "escapes" => out.escapes = choice(at, value, &Escapes::NAMED)?,
            "integers" => out.integers = choice(at, value, &IntegerSpelling::NAMED)?,
            "propertyOrder" => {
                let choices = [
                    ("schema", PropertyOrder::Schema),
                    ("any", PropertyOrder::Any),
                ];
                out.property_order = choice(at, value, &choices)?;
            }
            "additionalMembers" => {
                let choices = [
                    ("open", AdditionalMembers::Open),
                    ("closed", AdditionalMembers::Closed),
                ];
                out.additional_members = choice(at, value, &choices)?;
            }
            "formats" => out.formats = choice(at, value, &Formats::NAMED)?,
            "oneOf" => out.one_of = choice(at, value, &OneOf::NAMED)?,
            "nesting" => out.max_nesting = number(at, value, MAX_NESTING)? as usize,
            "recursion" if value == "refuse" => out.recursion = Recursion::Refuse,
            "recursion" => {
                let levels = number(at, value, MAX_UNROLLED)?;
                out.recursion = Recursion::Unroll(levels as u32);
            }
            "anyValue" if value == "refuse" => out.any_value = AnyValue::Refuse,
            "anyValue" => {
                let levels = number(at, value, MAX_UNROLLED)?;
                out.any_value = AnyValue::Depth(levels as u32);
            }
            "caps" => choose_caps(value, &mut out.caps)?,
            _ => return Err(unknown(at, name, NAME, MEMBERS)),
        }
    }
    Ok(())
}

/// Sets the caps that an object chooses; `null` takes one away.
fn choose_caps(value: &Value, out: &mut Caps) -> Result<(), Error> {
    let pointer = format!("{POINTER}/caps");
    let Some(map) = value.as_object() else {
        return Err(bad(&pointer, "`caps` must be an object"));
    };
    for (name, value) in map {
        let at = &format!("{pointer}/{}", json_tree::pointer::escape(name));
        let cap = |most| match value {
            Value::Null => Ok(None),
            _ => number(at, value, most).map(Some),
        };
        match name.as_str() {
            "length" => out.length = cap(u64::from(u32::MAX))?,
            "items" => out.items = cap(u64::from(u32::MAX))?,
            "depth" => out.depth = cap(MAX_NESTING)?.map(|n| n as u32),
            "digits" => out.digits = cap(MAX_DIGITS)?.map(|n| n as u32),
            "members" => out.members = cap(u64::from(u32::MAX))?,
            "nameLength" => out.name_length = cap(u64::from(u32::MAX))?,
            _ => return Err(unknown(at, name, "caps", MEMBERS_OF_CAPS)),
        }
    }
    Ok(())
}

#[cold]
fn bad(pointer: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, pointer, message)
}

fn unknown(at: &str, name: &str, of: &str, members: &[&str]) -> Error {
    bad(
        at,
        format!(
            "`{of}` has no member `{name}`; its members are {}",
            members.join(", ")
        ),
    )
}

fn choice<T: Clone>(at: &str, value: &Value, choices: &[(&str, T)]) -> Result<T, Error> {
    let found = choices.iter().find(|(name, _)| value == name);
    found.map(|(_, choice)| choice.clone()).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(n, _)| format!("\"{n}\"")).collect();
        bad(at, format!("must be one of {}", names.join(", ")))
    })
}

fn number(at: &str, value: &Value, most: u64) -> Result<u64, Error> {
    let found = value.as_u64().filter(|n| *n <= most);
    found.ok_or_else(|| bad(at, format!("must be a whole number, 0 to {most}")))
}

fn whitespace(at: &str, value: &Value) -> Result<Whitespace, Error> {
    let found = match value {
        Value::String(text) => match text.as_str() {
            "compact" => Some(Whitespace::Compact),
            "single" => Some(Whitespace::SingleSpace),
            "spaced" => Some(Whitespace::Spaced),
            "flexible" => Some(Whitespace::flexible()),
            other => other
                .strip_prefix("any:")
                .and_then(|n| n.parse().ok())
                .map(Whitespace::Bounded),
        },
        Value::Object(map) if map.len() == 1 => map
            .get("pattern")
            .and_then(Value::as_str)
            .map(|p| Whitespace::Pattern(p.to_owned())),
        _ => None,
    };
    found.ok_or_else(|| {
        bad(
            at,
            "must be \"compact\", \"single\", \"spaced\", \"flexible\", \"any:N\" or {\"pattern\": a regular expression}",
        )
    })
}
