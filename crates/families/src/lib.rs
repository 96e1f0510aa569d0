//! How the families of open chat models write reasoning, content and tool calls.
//!
//! One data file a family, in `data/`: the parser (`response-parser`), the masks (`structural-tags`) and the program read it, and
//! none of them has a table of its own. A family is added by its file alone, whose name is the family's.
//!
//! For example, `data/hermes.json` says that a call is JSON between `<tool_call>` and `</tool_call>`, and that a chat
//! template with `<|im_start|>` and `<|im_end|>` and without marks of other families is of it:
//!
//! ```
//! use families::Family;
//!
//! let chat_template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
//! assert_eq!(Family::of_chat_template(chat_template)?, Family::HERMES);
//! # Ok::<(), families::Unrecognised>(())
//! ```
//!
//! | member of a file | meaning |
//! |---|---|
//! | `about` | one line: which models, and how they write a call |
//! | `marks` | sets of texts by which a chat template is recognised: all of `all`, none of `none` |
//! | `template` | the response template by which texts are read |

mod recognise;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value as Json;

use recognise::Marks;
pub use recognise::Unrecognised;

include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// A family of models that write alike.
///
/// ```
/// use families::Family;
///
/// assert_eq!(Family::by_name("hermes"), Some(Family::HERMES));
/// assert!(Family::all().all(|family| Family::by_name(family.name()) == Some(family)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Family(usize);

/// A data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    about: String,
    marks: Vec<Marks>,
    template: Json,
}

impl Family {
    /// All families, in the order of their names.
    pub fn all() -> impl ExactSizeIterator<Item = Family> + Clone {
        (0..SOURCES.len()).map(Family)
    }

    /// The family of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Family> {
        Family::all().find(|family| family.name() == name)
    }

    /// The family's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        SOURCES[self.0].0
    }

    /// One line on the family: which models, and how they write a call.
    #[must_use]
    pub fn about(self) -> &'static str {
        &self.told().about
    }

    /// The response template by which the family's texts are read.
    ///
    /// ```
    /// use families::Family;
    ///
    /// assert_eq!(Family::HERMES.template()["defaults"]["role"], "assistant");
    /// ```
    #[must_use]
    pub fn template(self) -> &'static Json {
        &self.told().template
    }

    fn told(self) -> &'static Told {
        static READ: OnceLock<Vec<Told>> = OnceLock::new();
        let read = READ.get_or_init(|| {
            let read = |(name, text): &(&str, &str)| {
                serde_json::from_str(text).unwrap_or_else(|error| unreachable!("{name}: {error}"))
            };
            SOURCES.iter().map(read).collect()
        });
        &read[self.0]
    }
}

/// The family's name.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Family({})", self.name())
    }
}

/// By the family's name, as [`Family::by_name`].
///
/// ```
/// use families::Family;
///
/// assert_eq!("qwen3-coder".parse::<Family>()?, Family::QWEN3_CODER);
/// let error = "qwen".parse::<Family>().unwrap_err();
/// assert!(error.to_string().starts_with("there is no family \"qwen\"; there are cohere, "));
/// # Ok::<(), families::UnknownFamily>(())
/// ```
impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(name: &str) -> Result<Family, UnknownFamily> {
        Family::by_name(name).ok_or_else(|| UnknownFamily(name.to_owned()))
    }
}

/// A name that is no family's; its message lists those that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFamily(String);

impl fmt::Display for UnknownFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Family::all().map(Family::name).collect();
        let UnknownFamily(name) = self;
        write!(
            f,
            "there is no family {name:?}; there are {}",
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownFamily {}

/// As its name.
impl serde::Serialize for Family {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// By its name.
impl<'de> Deserialize<'de> for Family {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Family, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}
