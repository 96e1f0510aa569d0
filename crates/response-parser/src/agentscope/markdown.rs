//! Fenced blocks of Markdown. For example, a block that begins with three backquotes and `json` and
//! holds `[1, 2]` is read as that list.

use serde_json::{Value as Json, json};

use super::model::DataModel;
use super::{Keys, Parsed, Part, TextParser, first_block, no_text, python, to_json};
use crate::error::{Error, ErrorKind};
use crate::json;
use crate::value::Unrepresentable;
use crate::value::Value;

/// The opening fence, as AgentScope writes it.
const JSON_BEGIN: &str = "```json";
/// The closing fence, as Markdown writes it.
const END: &str = "```";

/// The text that an instruction shows between the fences.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Hint {
    /// A placeholder of the parser's.
    #[default]
    Placeholder,
    /// This text.
    Text(String),
    /// This value, as JSON.
    Value(Json),
}

impl From<&str> for Hint {
    fn from(text: &str) -> Hint {
        Hint::Text(text.to_owned())
    }
}

impl From<Json> for Hint {
    fn from(value: Json) -> Hint {
        match value {
            Json::String(text) => Hint::Text(text),
            value => Hint::Value(value),
        }
    }
}

impl Hint {
    fn show(&self, placeholder: &str) -> String {
        match self {
            Hint::Placeholder => placeholder.to_owned(),
            Hint::Text(text) => text.clone(),
            Hint::Value(value) => python::dumps(value),
        }
    }
}

/// JSON of any type in a block that is fenced as `json`. Missing fences are put in.
///
/// ```
/// use response_parser::agentscope::{JsonObject, TextParser};
/// use serde_json::json;
///
/// let parser = JsonObject::new();
/// assert_eq!(parser.parse("Sure.\n```json\n[1, 2]\n```")?.value, json!([1, 2]));
/// let repaired = parser.parse("[1, 2]")?;
/// assert_eq!(repaired.value, json!([1, 2]));
/// assert!(repaired.repaired.is_some());
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct JsonObject {
    hint: Hint,
    unrepresentable: Unrepresentable,
}

impl JsonObject {
    /// A parser with a placeholder as its hint.
    #[must_use]
    pub fn new() -> JsonObject {
        JsonObject::default()
    }

    /// Sets what the instruction shows between the fences.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> JsonObject {
        self.hint = hint.into();
        self
    }

    /// Says what to make of values that JSON cannot hold; refused unless told.
    #[must_use]
    pub fn with_unrepresentable(mut self, unrepresentable: Unrepresentable) -> JsonObject {
        self.unrepresentable = unrepresentable;
        self
    }
}

/// The text with its fences put in where they are missing, and the place of the body.
fn fenced(text: &str) -> (Option<String>, (usize, usize)) {
    let missing = match first_block(text, JSON_BEGIN, END) {
        Ok(body) => return (None, body),
        Err(missing) => missing,
    };
    let mut repaired = String::with_capacity(text.len() + JSON_BEGIN.len() + END.len() + 1);
    if missing.begin {
        repaired.push_str(JSON_BEGIN);
        repaired.push('\n');
    }
    repaired.push_str(text);
    if missing.end {
        repaired.push_str(END);
    }
    // The closing fence may have been what is now the opening fence's neighbour.
    let body = first_block(&repaired, JSON_BEGIN, END);
    let length = repaired.len();
    (Some(repaired), body.unwrap_or((length, length)))
}

/// Decodes the body of a block.
fn decode(text: &str, (from, to): (usize, usize)) -> Result<Value<'_>, Error> {
    let body = &text[from..to];
    json::decode(body).map_err(|error| {
        let raw = format!("{JSON_BEGIN}{body}{END}");
        let detail = python::json_error(body, &error);
        let message = format!(
            "The content between {JSON_BEGIN} and {END} MUST be a JSON object.When parsing \"{raw}\", an error occurred: {detail}"
        );
        Error::bare(ErrorKind::JsonParsing, message)
            .at_offset(Some(from + error.offset))
            .with_raw(&raw)
    })
}

impl TextParser for JsonObject {
    fn parse<'t>(&self, text: impl Into<Option<&'t str>>) -> Result<Parsed, Error> {
        let text = text.into().ok_or_else(no_text)?;
        let (repaired, body) = fenced(text);
        let value = decode(repaired.as_deref().unwrap_or(text), body)
            .and_then(|value| to_json(value, self.unrepresentable.beyond()));
        match value {
            Ok(value) => Ok(Parsed { value, repaired }),
            Err(error) => Err(error.with_repaired(repaired)),
        }
    }

    fn format_instruction(&self) -> Result<String, Error> {
        let hint = self.hint.show("{your_json_object}");
        Ok(format!(
            "You should respond a json object in a json fenced code block as follows:\n{JSON_BEGIN}\n{hint}\n{END}"
        ))
    }

    fn shape(&self) -> Option<Vec<Part>> {
        Some(fenced_json(json!({})))
    }
}

fn fenced_json(schema: Json) -> Vec<Part> {
    vec![
        Part::Literal(format!("{JSON_BEGIN}\n")),
        Part::Json(schema),
        Part::Literal(format!("\n{END}")),
    ]
}

/// A JSON dictionary in a block that is fenced as `json`, with keys it must have or a model
/// it must obey.
///
/// ```
/// use response_parser::agentscope::{JsonDict, TextParser};
///
/// let parser = JsonDict::new().with_required_keys(["speak"]);
/// let error = parser.parse("```json\n{}\n```").unwrap_err();
/// assert!(error.feedback().contains("Missing required field speak"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct JsonDict {
    hint: Hint,
    model: Option<DataModel>,
    required_keys: Vec<String>,
    keys: Keys,
    unrepresentable: Unrepresentable,
}

impl JsonDict {
    /// A parser with a placeholder as its hint, and no required keys.
    #[must_use]
    pub fn new() -> JsonDict {
        JsonDict::default()
    }

    /// Sets what the instruction shows between the fences.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> JsonDict {
        self.hint = hint.into();
        self
    }

    /// Sets the model that the dictionary must obey; the instruction shows its schema.
    ///
    /// ```
    /// use response_parser::agentscope::{DataModel, JsonDict, TextParser};
    /// use serde_json::json;
    ///
    /// let model = DataModel::new("Count", json!({
    ///     "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]
    /// }))?;
    /// let parsed = JsonDict::new().with_model(model).parse("```json\n{\"n\": \"7\"}\n```")?;
    /// assert_eq!(parsed.value, json!({"n": 7}));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn with_model(mut self, model: DataModel) -> JsonDict {
        self.model = Some(model);
        self
    }

    /// Sets keys that the dictionary must have, at its top level.
    #[must_use]
    pub fn with_required_keys<K: Into<String>>(
        mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> JsonDict {
        self.required_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which keys go where.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> JsonDict {
        self.keys = keys;
        self
    }

    /// Says what to make of values that JSON cannot hold; refused unless told.
    #[must_use]
    pub fn with_unrepresentable(mut self, unrepresentable: Unrepresentable) -> JsonDict {
        self.unrepresentable = unrepresentable;
        self
    }

    /// Which keys go where.
    #[must_use]
    pub fn selection(&self) -> &Keys {
        &self.keys
    }

    fn read(&self, text: &str, body: (usize, usize)) -> Result<Json, Error> {
        let value = decode(text, body)?;
        if !matches!(value, Value::Object(_)) {
            let class = python::class(&value);
            let message =
                format!("A JSON dictionary object is wanted, but got <class '{class}'> instead.");
            return Err(Error::bare(ErrorKind::JsonType, message).with_raw(text));
        }
        let value = match &self.model {
            None => value,
            Some(model) => model
                .validate(value)
                .map_err(|message| Error::bare(ErrorKind::JsonParsing, message).with_raw(text))?,
        };
        let value = to_json(value, self.unrepresentable.beyond())?;
        let missing: Vec<&str> = self
            .required_keys
            .iter()
            .map(String::as_str)
            .filter(|key| value.get(key).is_none())
            .collect();
        match missing.as_slice() {
            [] => Ok(value),
            list => {
                let plural = if list.len() > 1 { "s" } else { "" };
                let message = format!(
                    "Missing required field{plural} {} in the JSON dictionary object.",
                    enumerate(list)
                );
                Err(Error::bare(ErrorKind::RequiredFieldNotFound, message).with_raw(text))
            }
        }
    }
}

/// `a`, `a and b`, `a, b, and c`.
fn enumerate(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [all @ .., last] => format!("{}, and {last}", all.join(", ")),
    }
}

impl TextParser for JsonDict {
    fn parse<'t>(&self, text: impl Into<Option<&'t str>>) -> Result<Parsed, Error> {
        let text = text.into().ok_or_else(no_text)?;
        let (repaired, body) = fenced(text);
        match self.read(repaired.as_deref().unwrap_or(text), body) {
            Ok(value) => Ok(Parsed { value, repaired }),
            Err(error) => Err(error.with_repaired(repaired)),
        }
    }

    fn format_instruction(&self) -> Result<String, Error> {
        let hint = match &self.model {
            None => self.hint.show("{your_json_dictionary}"),
            Some(_) => "{a_JSON_dictionary}".to_owned(),
        };
        let mut out = format!(
            "Respond a JSON dictionary in a markdown's fenced code block as follows:\n{JSON_BEGIN}\n{hint}\n{END}"
        );
        if let Some(model) = &self.model {
            out.push_str("\nThe generated JSON dictionary MUST follow this schema: \n");
            out.push_str(&python_compat::repr(model.schema()));
        }
        Ok(out)
    }

    fn shape(&self) -> Option<Vec<Part>> {
        let schema = match &self.model {
            Some(model) => model.schema().clone(),
            None => json!({"type": "object", "required": self.required_keys}),
        };
        Some(fenced_json(schema))
    }
}

/// Code in a block that is fenced as its language.
///
/// ```
/// use response_parser::agentscope::{CodeBlock, TextParser};
///
/// let parsed = CodeBlock::new("rust").parse("Here:\n```rust\nfn f() {}\n```")?;
/// assert_eq!(parsed.value, "\nfn f() {}\n");
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodeBlock {
    language: String,
    hint: Hint,
}

impl CodeBlock {
    /// A parser for code in `language`, the word after the opening fence.
    #[must_use]
    pub fn new(language: impl Into<String>) -> CodeBlock {
        CodeBlock {
            language: language.into(),
            hint: Hint::Placeholder,
        }
    }

    /// Sets what the instruction shows between the fences.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> CodeBlock {
        self.hint = hint.into();
        self
    }

    fn begin(&self) -> String {
        format!("```{}", self.language)
    }
}

impl TextParser for CodeBlock {
    fn parse<'t>(&self, text: impl Into<Option<&'t str>>) -> Result<Parsed, Error> {
        let text = text.into().ok_or_else(no_text)?;
        let begin = self.begin();
        let (from, to) =
            first_block(text, &begin, END).map_err(|missing| missing.error(text, &begin, END))?;
        Ok(Parsed {
            value: text[from..to].into(),
            repaired: None,
        })
    }

    fn format_instruction(&self) -> Result<String, Error> {
        let language = &self.language;
        let hint = self.hint.show(&format!("${{your_{language}_code}}"));
        let instruction = format!(
            "You should generate {language} code in a {language} fenced code block as follows: \n```{language}\n{hint}\n{END}"
        );
        Ok(crate::scalar::trim(&instruction).to_owned())
    }

    fn shape(&self) -> Option<Vec<Part>> {
        Some(vec![
            Part::Literal(self.begin() + "\n"),
            Part::TextWithout(END.to_owned()),
            Part::Literal(format!("\n{END}")),
        ])
    }
}
