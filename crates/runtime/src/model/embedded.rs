//! The tiny model inside the library: the project's own, two million
//! parameters, so that everything can be tried and tested without a network.
//!
//! It has learned to answer requests with objects of a schema shown to it, and to call tools, in
//! the wording of its training text. It copies and converts; it knows nothing. Its making and its
//! quality are described in `docs/TINY_MODEL.md`.
//!
//! For example, asked to ship to Hana Novak it answers with an object that has her name, under the
//! mask of [`DEMO_SCHEMA`].

use serde_json::Value;

use crate::chat::chatml;
use crate::gpu::DeviceChoice;
use crate::model::LoadedModel;
use crate::{Error, model};

/// The model's shape, in the form of any model's folder, so that the same reader reads it.
const CONFIG: &[u8] = include_bytes!("../../model/config.json");
/// The tokenizer, as `tokenizer.json`.
const TOKENIZER: &[u8] = include_bytes!("../../model/tokenizer.json");
/// The tokens that end a text, as `generation_config.json`.
const GENERATION: &[u8] = include_bytes!("../../model/generation_config.json");
/// The names of special tokens and the chat template, as `tokenizer_config.json`.
const TOKENIZER_CONFIG: &[u8] = include_bytes!("../../model/tokenizer_config.json");
/// The weights, as one file of safetensors.
const WEIGHTS: &[u8] = include_bytes!("../../model/model.safetensors");

/// Loads the model. Takes some milliseconds and 8 MB.
///
/// # Errors
///
/// None, as long as the files inside are those of the repository.
///
/// ```
/// use tokenmold::model::Model as _;
///
/// let loaded = tokenmold::embedded::load()?;
/// assert_eq!(loaded.model.vocabulary_width(), loaded.tokenizer.vocabulary().width());
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub fn load() -> Result<LoadedModel, Error> {
    load_on(DeviceChoice::Cpu)
}

/// Loads the model on a device.
///
/// # Errors
///
/// As [`DeviceChoice::open`].
pub fn load_on(device: DeviceChoice) -> Result<LoadedModel, Error> {
    model::from_bytes(
        CONFIG,
        TOKENIZER,
        GENERATION,
        TOKENIZER_CONFIG,
        WEIGHTS,
        device,
    )
}

/// A schema of the kind that the model was trained on.
pub const DEMO_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "customer": {"type": "string"},
    "items": {"type": "array", "items": {"type": "string"}},
    "quantity": {"type": "integer", "minimum": 1, "maximum": 99},
    "priority": {"enum": ["low", "normal", "high", "urgent"]},
    "deliver_on": {"type": "string", "format": "date"},
    "paid": {"type": "boolean"}
  },
  "required": ["customer", "items", "quantity", "priority", "deliver_on", "paid"],
  "additionalProperties": false
}"#;

/// A request for [`DEMO_SCHEMA`]. Its names are not in the training text. The model alone leaves a
/// key out; under the mask it gets all of them right. It is the demonstration because it shows
/// both.
pub const DEMO_REQUEST: &str = "Please ship to Hana Novak, deliver on 14 March 2027, not paid yet, 7 pieces, items Helmet, Umbrella and Violin and normal priority.";

/// The prompt that asks the model for an object of `schema`.
///
/// ```
/// use serde_json::json;
///
/// let prompt = tokenmold::embedded::object_prompt(&json!({"type": "object"}), "Vera is 41.");
/// assert!(prompt.ends_with("<|im_start|>assistant\n"));
/// ```
pub fn object_prompt(schema: &Value, request: &str) -> String {
    chatml::prompt(&chatml::schema_system(schema), request)
}

/// The prompt that asks the model for a call of one of `tools`, each an
/// object with `name` and `parameters`, a schema. It answers
/// `<tool_call>{"name":...,"arguments":{...}}</tool_call>`.
pub fn tools_prompt(tools: &[Value], request: &str) -> String {
    chatml::prompt(&chatml::tools_system(tools), request)
}
