//! Schemas, templates and chat templates in a model's folder, where Hugging Face keeps them. For
//! example, `response_schema` is a member of the folder's `tokenizer_config.json`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind};
use crate::template::ResponseTemplate;
use crate::{ResponseSchema, ResponseSchemaBuilder};
use families::Family;

/// The file that holds them, as `transformers` saves a tokenizer.
const FILE: &str = "tokenizer_config.json";

/// The largest file that is read, in bytes: several times those of real tokenizers, because a wrong
/// folder must not fill the memory.
const MAX_FILE: u64 = 64 << 20;

impl ResponseSchema {
    /// The schema of the model in `folder`: `response_schema` in its `tokenizer_config.json`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotInModel`] where there is none, [`ErrorKind::ModelFile`] where the file
    /// cannot be read; otherwise as [`ResponseSchema::new`].
    ///
    /// ```
    /// use response_parser::ResponseSchema;
    /// use serde_json::json;
    ///
    /// # let folder = std::env::temp_dir().join(format!("response-parser-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # std::fs::write(folder.join("tokenizer_config.json"), "{}").unwrap();
    /// ResponseSchema::new(&json!({"type": "string"}))?.save_to_model_dir(&folder)?;
    /// let schema = ResponseSchema::from_model_dir(&folder)?;
    /// assert_eq!(schema.parse("Hello.")?, "Hello.");
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn from_model_dir(folder: impl AsRef<Path>) -> Result<ResponseSchema, Error> {
        ResponseSchemaBuilder::default().build(&read(folder.as_ref(), "response_schema")?)
    }

    /// Writes the schema into the `tokenizer_config.json` of `folder`, whose other entries
    /// stay; makes the file if there is none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ModelFile`] where the file cannot be read or written.
    pub fn save_to_model_dir(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        write(folder.as_ref(), "response_schema", self.json())
    }
}

impl ResponseTemplate {
    /// The template of the model in `folder`: `response_template` in its
    /// `tokenizer_config.json`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotInModel`] where there is none, [`ErrorKind::ModelFile`] where the file
    /// cannot be read; otherwise as [`ResponseTemplate::new`].
    pub fn from_model_dir(folder: impl AsRef<Path>) -> Result<ResponseTemplate, Error> {
        ResponseTemplate::new(&read(folder.as_ref(), "response_template")?)
    }

    /// Writes the template into the `tokenizer_config.json` of `folder`, whose other entries
    /// stay; makes the file if there is none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ModelFile`] where the file cannot be read or written; [`ErrorKind::TemplateLoad`] for a template in
    /// the extended language, which others that read the folder do not know.
    pub fn save_to_model_dir(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        ResponseTemplate::new(self.json())?;
        write(folder.as_ref(), "response_template", self.json())
    }
}

/// The family of the model in `folder`, by its chat template: the file `chat_template.jinja`, or `chat_template` in
/// `tokenizer_config.json`.
///
/// # Errors
///
/// [`ErrorKind::NotInModel`] where there is no chat template, or its marks are not those of one family,
/// [`ErrorKind::ModelFile`] where a file cannot be read.
pub fn family_of_model_dir(folder: impl AsRef<Path>) -> Result<Family, Error> {
    let folder = folder.as_ref();
    let file = folder.join("chat_template.jinja");
    let chat_template = match file.exists() {
        true => text(&file)?,
        false => match config(folder)?.remove("chat_template") {
            Some(Json::String(template)) => template,
            // Several, each with a name: any of them has the markers.
            Some(Json::Array(templates)) => templates
                .iter()
                .filter_map(|entry| entry.get("template")?.as_str())
                .collect::<Vec<_>>()
                .join("\n"),
            _ => return Err(missing(folder, "chat_template")),
        },
    };
    Family::of_chat_template(&chat_template).map_err(|error| {
        let message = format!("{}: {error}", folder.display());
        Error::bare(ErrorKind::NotInModel, message)
    })
}

fn missing(folder: &Path, key: &str) -> Error {
    let other = match key {
        "response_schema" => "; a response_template, or a ready-made format, may do",
        "response_template" => "; a response_schema, or a ready-made format, may do",
        _ => "",
    };
    let message = format!(
        "there is no {key} in {}{other}",
        folder.join(FILE).display()
    );
    Error::bare(ErrorKind::NotInModel, message)
}

fn read(folder: &Path, key: &str) -> Result<Json, Error> {
    match config(folder)?.remove(key) {
        None | Some(Json::Null) => Err(missing(folder, key)),
        Some(json) => Ok(json),
    }
}

fn config(folder: &Path) -> Result<Map<String, Json>, Error> {
    let file = folder.join(FILE);
    match serde_json::from_str(&text(&file)?) {
        Ok(Json::Object(config)) => Ok(config),
        Ok(_) => Err(bad(&file, "is no JSON object")),
        Err(error) => Err(bad(&file, &format!("is not JSON: {error}"))),
    }
}

fn text(file: &Path) -> Result<String, Error> {
    let size = std::fs::metadata(file)
        .map_err(|error| bad(file, &error.to_string()))?
        .len();
    if size > MAX_FILE {
        return Err(bad(file, &format!("is larger than {MAX_FILE} bytes")));
    }
    std::fs::read_to_string(file).map_err(|error| bad(file, &error.to_string()))
}

fn bad(file: &Path, what: &str) -> Error {
    Error::bare(ErrorKind::ModelFile, format!("{}: {what}", file.display()))
}

/// Sets an entry. The new file replaces the old one in one step.
fn write(folder: &Path, key: &str, json: &Json) -> Result<(), Error> {
    let file = folder.join(FILE);
    let mut config = match file.exists() {
        true => config(folder)?,
        false => Map::new(),
    };
    config.insert(key.to_owned(), json.clone());
    let text = format!("{:#}\n", Json::Object(config));
    let fresh: PathBuf = folder.join(format!(".{FILE}.{}", std::process::id()));
    let written = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, &file));
    written.map_err(|error| {
        // The old file is as it was; a fresh one that stays behind does no harm.
        let _ = std::fs::remove_file(&fresh);
        bad(&file, &error.to_string())
    })
}
