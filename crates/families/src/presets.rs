//! The models of XGrammar's `get_model_structural_tag`, and how each writes: the member `presets` of a data file.
//!
//! For example, `"presets": {"qwen_3": {"call": ["<tool_call>\n{\"name\": \"{name}\", \"arguments\": ", "}\n</tool_call>"],
//! "calls": {"each": "<tool_call>"}, "behind_reasoning": "\n\n"}}` is of the file `hermes.json`.

use serde::Deserialize;

use crate::Family;

/// The form in which a model writes, for a structural tag.
///
/// ```
/// use families::{Family, Preset};
///
/// let (family, preset) = Preset::by_name("llama").unwrap();
/// assert_eq!(family, Family::LLAMA3);
/// assert_eq!(preset.call.0, "{\"name\": \"{name}\", \"parameters\": ");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The marks of reasoning; none for a model that does not reason.
    #[serde(default)]
    pub think: Option<(String, String)>,
    /// The side that writes the first mark of reasoning.
    #[serde(default)]
    pub begun: Begun,
    /// A text behind the reasoning.
    #[serde(default)]
    pub behind_reasoning: String,
    /// Texts that stand in place of the reasoning where it is disabled.
    #[serde(default)]
    pub without_reasoning: Vec<String>,
    /// Texts that reasoning does not have, where it must come and where it may; for those that are missing
    /// [`Preset::closed_without_calls`] stands in.
    #[serde(default)]
    pub closed_in_reasoning: (Option<Vec<String>>, Option<Vec<String>>),
    /// A text that may stand alone in place of reasoning that may come.
    #[serde(default)]
    pub in_place_of_reasoning: Option<String>,
    /// Texts that stand nowhere around calls.
    #[serde(default)]
    pub closed: Vec<String>,
    /// Texts that stand nowhere where no call may come; [`Preset::closed`] if they are missing.
    #[serde(default)]
    pub closed_without_calls: Option<Vec<String>>,
    /// Texts that arguments do not have.
    #[serde(default)]
    pub closed_in_arguments: Vec<String>,
    /// The `style` of the arguments' schema.
    #[serde(default = "json_style")]
    pub style: String,
    /// The texts before and behind the arguments; `{name}` stands for the tool's name.
    pub call: (String, String),
    /// A text before the arguments with a number before it.
    #[serde(default)]
    pub numbered: Option<String>,
    /// The way in which calls stand together.
    pub calls: Together,
    /// The tools that the model takes.
    #[serde(default)]
    pub tools: Tools,
}

fn json_style() -> String {
    "json".to_owned()
}

/// The side that writes the first mark of reasoning, where that is enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begun {
    /// The prompt.
    #[default]
    ByPrompt,
    /// The model.
    ByModel,
}

/// The tools that a model takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tools {
    /// Functions; tools of the provider's own are left out.
    #[default]
    Functions,
    /// Functions; tools of the provider's own are refused.
    FunctionsAlone,
    /// Functions and tools of the provider's own.
    All,
}

/// The way in which calls stand together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Together {
    /// Each alone; the text that begins it.
    Each(String),
    /// All between two marks.
    Wrapped {
        /// The text that begins them.
        trigger: String,
        /// The mark before them.
        begin: String,
        /// The mark behind them.
        end: String,
        /// A text between two.
        #[serde(default)]
        separator: String,
        /// The form of calls that must come.
        must: Must,
    },
    /// As messages in channels.
    Harmony,
    /// As elements that close.
    KimiK3,
}

/// The form of calls that must come.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Must {
    /// The marks are one tag with the only call.
    Joined,
    /// The marks are a tag around the calls.
    Nested,
    /// The marks are texts, with another one before them.
    Texts(String),
}

impl Preset {
    /// The model of that name, and its family.
    #[must_use]
    pub fn by_name(name: &str) -> Option<(Family, &'static Preset)> {
        Family::all().find_map(|family| Some((family, family.told().presets.get(name)?)))
    }

    /// The names of all models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Family::all().flat_map(|family| family.told().presets.keys().map(String::as_str))
    }

    /// The texts that stand nowhere where no call may come.
    #[must_use]
    pub fn closed_without_calls(&self) -> &[String] {
        self.closed_without_calls.as_ref().unwrap_or(&self.closed)
    }
}
