//! The families of open chat models, and the form in which each writes reasoning, content and tool
//! calls.
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
//! | `sources` | where the form is published: chat templates, documents |
//! | `vllm` | the names of vLLM's tool parsers for the family, to which [`Family::by_name`] answers, too |
//! | `marks` | sets of texts by which a chat template is recognised: all of `all`, none of `none` |
//! | `template` | the response template by which texts are read; a name stands for the template of that family, and `{"of", "patch"}` for one that differs from it by a merge patch (RFC 7396) |
//! | `writes` | how a turn is written, which masks are made of ([`Writes`]); a name stands for that of that family |
//! | `presets` | the models of XGrammar's structural tags that write so ([`Preset`]) |

mod presets;
mod recognise;
mod writes;

use std::collections::BTreeMap;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value as Json;

pub use presets::{Begun, Must, Preset, Together, Tools};
use recognise::Marks;
pub use recognise::Unrecognised;
pub use writes::{
    Argument, Between, Body, CallObject, Calls, Choice, Content, Each, Form, Notation, Order,
    Reasoning, Spelling, Writes,
};

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
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    vllm: Vec<String>,
    #[serde(default)]
    marks: Vec<Marks>,
    template: Json,
    writes: OwnOrOthers,
    #[serde(default)]
    presets: BTreeMap<String, Preset>,
}

/// A family's own way to write, or the name of the family that writes so.
#[derive(Debug)]
enum OwnOrOthers {
    As(String),
    Own(Box<Writes>),
}

/// By hand, because an untagged enum would not say what is wrong with a file.
impl<'de> Deserialize<'de> for OwnOrOthers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<OwnOrOthers, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::String(name) => Ok(OwnOrOthers::As(name)),
            own => serde_json::from_value(own)
                .map(OwnOrOthers::Own)
                .map_err(serde::de::Error::custom),
        }
    }
}

impl Family {
    /// All families, in the order of their names.
    pub fn all() -> impl ExactSizeIterator<Item = Family> + Clone {
        (0..SOURCES.len()).map(Family)
    }

    /// The family of that name, or with the parser of that name in vLLM.
    ///
    /// ```
    /// use families::Family;
    ///
    /// assert_eq!(Family::by_name("openai"), Some(Family::HARMONY));
    /// ```
    #[must_use]
    pub fn by_name(name: &str) -> Option<Family> {
        let is_own = |family: &Family| family.name() == name;
        let is_of_vllm = |family: &Family| family.vllm().iter().any(|known| known == name);
        Family::all()
            .find(is_own)
            .or_else(|| Family::all().find(is_of_vllm))
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

    /// Addresses at which the family's form is published.
    #[must_use]
    pub fn sources(self) -> &'static [String] {
        &self.told().sources
    }

    /// The names of vLLM's tool parsers for the family.
    #[must_use]
    pub fn vllm(self) -> &'static [String] {
        &self.told().vllm
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
        /// The templates, read once because each look-up returns a reference.
        static READ: OnceLock<Vec<Json>> = OnceLock::new();
        &READ.get_or_init(|| Family::all().map(Family::resolved).collect())[self.0]
    }

    /// The template, those that it refers to put in their places.
    fn resolved(self) -> Json {
        match &self.told().template {
            Json::String(other) => Family::named(other).resolved(),
            Json::Object(own) if own.contains_key("of") => {
                let other = own["of"].as_str().unwrap_or_default();
                let mut template = Family::named(other).resolved();
                merge(&mut template, own.get("patch").unwrap_or(&Json::Null));
                template
            }
            own => own.clone(),
        }
    }

    /// Returns the form in which the family's models write a turn.
    ///
    /// ```
    /// use families::{Calls, Family};
    ///
    /// assert!(matches!(Family::HERMES.writes().calls, Calls::Each(_)));
    /// ```
    #[must_use]
    pub fn writes(self) -> &'static Writes {
        match &self.told().writes {
            OwnOrOthers::Own(own) => own,
            OwnOrOthers::As(other) => Family::named(other).writes(),
        }
    }

    /// The family of a name that stands in a data file; a test has tried each.
    fn named(name: &str) -> Family {
        Family::by_name(name).unwrap_or_else(|| unreachable!("no family {name:?}"))
    }

    fn told(self) -> &'static Told {
        /// The data files, read once because they are in the program.
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

/// Changes a value by a merge patch (RFC 7396). Recursion is as deep as the patch, which is of a data file.
fn merge(value: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Json::Object(serde_json::Map::new());
    }
    let Json::Object(value) = value else { return };
    for (key, change) in patch {
        if change.is_null() {
            value.remove(key);
        } else {
            merge(value.entry(key.as_str()).or_insert(Json::Null), change);
        }
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
/// assert!(error.to_string().starts_with("there is no family \"qwen\"; there are apertus, cohere, "));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_complete() {
        for family in Family::all() {
            assert!(!family.sources().is_empty(), "{family}: no sources");
            assert!(family.template()["fields"].is_object(), "{family}");
            let _ = family.writes();
            assert_eq!(Family::by_name(family.name()), Some(family));
        }
    }

    /// The names of vLLM 0.32 but for `hf`, which is whatever the model's folder says.
    #[test]
    fn names_of_vllm_are_answered() {
        let names = [
            "apertus",
            "cohere_command3",
            "cohere_command4",
            "deepseek_v3",
            "deepseek_v31",
            "deepseek_v32",
            "deepseek_v4",
            "deepseek_v41",
            "dots",
            "ernie45",
            "functiongemma",
            "gemma4",
            "gigachat3",
            "glm45",
            "glm47",
            "granite",
            "granite-20b-fc",
            "granite4",
            "hermes",
            "hunyuan_a13b",
            "hy_v3",
            "hy_v4",
            "inkling",
            "internlm",
            "jamba",
            "k2_horizon",
            "kimi_k2",
            "kimi_k3",
            "ling3",
            "llama3_json",
            "llama4_json",
            "llama4_pythonic",
            "lfm2",
            "pythonic",
            "longcat",
            "mimo",
            "minicpm5",
            "minimax_m2",
            "minimax_m3",
            "mistral",
            "muse_glimmer",
            "olmo3",
            "openai",
            "phi4_mini_json",
            "plamo3",
            "poolside_v1",
            "qwen3_coder",
            "qwen3_json",
            "qwen3_xml",
            "seed_oss",
            "step3",
            "step3p5",
            "xlam",
        ];
        for name in names {
            assert!(Family::by_name(name).is_some(), "{name}");
        }
        let mut all: Vec<&String> = Family::all().flat_map(Family::vllm).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "a name is of two families");
    }

    #[test]
    fn patches_change_what_they_name() {
        let mut value = serde_json::json!({"a": {"b": 1, "c": 2}, "d": 3});
        let patch = serde_json::json!({"a": {"b": [4], "c": null}, "e": {"f": 5}});
        merge(&mut value, &patch);
        assert_eq!(
            value,
            serde_json::json!({"a": {"b": [4]}, "d": 3, "e": {"f": 5}})
        );
        let granite = Family::GRANITE4.template();
        let hermes = Family::HERMES.template();
        assert_eq!(
            granite["fields"]["tool_calls"],
            hermes["fields"]["tool_calls"]
        );
        assert_ne!(granite["start_anchor"], hermes["start_anchor"]);
    }
}
