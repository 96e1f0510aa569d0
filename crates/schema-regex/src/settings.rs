//! The object `x-tokenmold` at the root of a schema: options that the schema
//! chooses by itself.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::options::{
    AnyValue, Caps, Escapes, Formats, IntegerSpelling, OpenObjects, Options, PropertyOrder,
    Recursion, Whitespace,
};

/// The keyword.
pub(crate) const NAME: &str = "x-tokenmold";

const POINTER: &str = "/x-tokenmold";

/// The deepest nesting that a schema may ask for.
const MAX_NESTING: u64 = 1_000;
/// The most levels that a schema may ask to unroll.
const MAX_UNROLLED: u64 = 16;

const MEMBERS: &[&str] = &[
    "whitespace",
    "escapes",
    "integers",
    "propertyOrder",
    "openObjects",
    "formats",
    "nesting",
    "recursion",
    "anyValue",
    "caps",
];

/// What the schema chose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    whitespace: Option<Whitespace>,
    escapes: Option<Escapes>,
    integers: Option<IntegerSpelling>,
    property_order: Option<PropertyOrder>,
    open_objects: Option<OpenObjects>,
    formats: Option<Formats>,
    nesting: Option<usize>,
    recursion: Option<Recursion>,
    any_value: Option<AnyValue>,
    max_length: Option<Option<u64>>,
    max_items: Option<Option<u64>>,
    max_depth: Option<Option<u32>>,
}

impl Overrides {
    /// Reads the object; each error has the pointer of the member at fault.
    pub(crate) fn read(value: &Value) -> Result<Overrides, Error> {
        let Some(map) = value.as_object() else {
            return Err(bad(POINTER, format!("`{NAME}` must be an object")));
        };
        let mut out = Overrides::default();
        for (name, value) in map {
            let at = &format!("{POINTER}/{}", crate::error::escape_token(name));
            match name.as_str() {
                "whitespace" => out.whitespace = Some(whitespace(at, value)?),
                "escapes" => {
                    out.escapes = Some(choice(
                        at,
                        value,
                        &[
                            ("shortest", Escapes::Shortest),
                            ("standard", Escapes::Standard),
                            ("all", Escapes::All),
                        ],
                    )?);
                }
                "integers" => {
                    out.integers = Some(choice(
                        at,
                        value,
                        &[
                            ("plain", IntegerSpelling::Plain),
                            ("zero-fraction", IntegerSpelling::ZeroFraction),
                        ],
                    )?);
                }
                "propertyOrder" => {
                    out.property_order = Some(choice(
                        at,
                        value,
                        &[
                            ("schema", PropertyOrder::Schema),
                            ("any", PropertyOrder::Any),
                        ],
                    )?);
                }
                "openObjects" => {
                    out.open_objects = Some(choice(
                        at,
                        value,
                        &[("open", OpenObjects::Open), ("closed", OpenObjects::Closed)],
                    )?);
                }
                "formats" => {
                    out.formats = Some(choice(
                        at,
                        value,
                        &[
                            ("assert", Formats::Assert),
                            ("annotate", Formats::Annotate),
                            ("strict", Formats::Strict),
                        ],
                    )?);
                }
                "nesting" => out.nesting = Some(number(at, value, MAX_NESTING)? as usize),
                "recursion" if value == "refuse" => out.recursion = Some(Recursion::Refuse),
                "recursion" => {
                    let levels = number(at, value, MAX_UNROLLED)?;
                    out.recursion = Some(Recursion::Unroll(levels as u32));
                }
                "anyValue" if value == "refuse" => out.any_value = Some(AnyValue::Refuse),
                "anyValue" => {
                    let levels = number(at, value, MAX_UNROLLED)?;
                    out.any_value = Some(AnyValue::Depth(levels as u32));
                }
                "caps" => out.read_caps(value)?,
                _ => return Err(unknown(at, name, NAME, MEMBERS)),
            }
        }
        Ok(out)
    }

    fn read_caps(&mut self, value: &Value) -> Result<(), Error> {
        let pointer = format!("{POINTER}/caps");
        let Some(map) = value.as_object() else {
            return Err(bad(&pointer, "`caps` must be an object"));
        };
        for (name, value) in map {
            let at = &format!("{pointer}/{}", crate::error::escape_token(name));
            let cap = |most| match value {
                Value::Null => Ok(None),
                _ => number(at, value, most).map(Some),
            };
            match name.as_str() {
                "maxLength" => self.max_length = Some(cap(u64::from(u32::MAX))?),
                "maxItems" => self.max_items = Some(cap(u64::from(u32::MAX))?),
                "maxDepth" => self.max_depth = Some(cap(MAX_NESTING)?.map(|n| n as u32)),
                _ => {
                    return Err(unknown(
                        at,
                        name,
                        "caps",
                        &["maxLength", "maxItems", "maxDepth"],
                    ));
                }
            }
        }
        Ok(())
    }

    /// The options of the host with what the schema chose.
    pub(crate) fn over(&self, options: &Options) -> Options {
        let mut out = options.clone();
        fn set<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(value) = from {
                *to = value.clone();
            }
        }
        set(&mut out.whitespace, &self.whitespace);
        set(&mut out.escapes, &self.escapes);
        set(&mut out.integers, &self.integers);
        set(&mut out.property_order, &self.property_order);
        set(&mut out.open_objects, &self.open_objects);
        set(&mut out.formats, &self.formats);
        set(&mut out.max_nesting, &self.nesting);
        set(&mut out.recursion, &self.recursion);
        set(&mut out.any_value, &self.any_value);
        let Caps {
            max_length,
            max_items,
            max_depth,
        } = &mut out.caps;
        set(max_length, &self.max_length);
        set(max_items, &self.max_items);
        set(max_depth, &self.max_depth);
        out
    }
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
            "must be \"compact\", \"single\", \"flexible\", \"any:N\" or {\"pattern\": a regular expression}",
        )
    })
}
