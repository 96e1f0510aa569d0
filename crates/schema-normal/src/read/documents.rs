//! Documents that references may lead to: by URI, in memory, and never fetched. For example
//! `{"$ref": "https://example.com/unit.json"}` is followed once the host hands that document over.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use json_tree::pointer::percent_decode;
use serde_json::Value;

use crate::error::Error;
use crate::options::Draft;
use crate::read::json_text::{self, Digits, Read};
use crate::read::uri::{address, without_fragment};

/// Documents that references may lead to, by URI. Cloning costs a counter; nothing is ever
/// fetched.
///
/// A document is found by the URI that it is given under and by its own `$id`, and a resource
/// inside of it by that one's `$id`. A URI that leads nowhere is tried with `.json` behind it. Each
/// document is read by the draft that its `$schema` names, or else by the schema's. A document
/// costs nothing but its memory until a reference leads to it.
///
/// ```
/// use schema_regex::{Documents, ParseOptions, parse_with};
/// use serde_json::json;
///
/// let mut documents = Documents::default();
/// documents.insert_str("https://example.com/unit.json", r#"{"enum": ["metres", "miles"]}"#)?;
/// let reading = ParseOptions::default().with_documents(documents);
/// let schema = json!({"$ref": "https://example.com/unit"});
/// assert_eq!(parse_with(&schema, &reading)?.locations(), 2);
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Documents(Arc<Vec<Document>>);

/// A document with its URI.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) uri: String,
    pub(super) read: Read,
    /// Its text, if it was given as one.
    pub(super) text: Option<String>,
}

impl Documents {
    /// Adds a document. The URI is an absolute one, or one to which relative references of a
    /// schema lead that has neither an `$id` nor a [`crate::read::parse_options::ParseOptions::with_base_uri`].
    ///
    /// Numbers of a `Value` may have been rounded; [`crate::read::parse_options::ParseOptions::with_rounded`] says what becomes
    /// of them.
    pub fn insert(&mut self, uri: impl Into<String>, document: Value) {
        self.add(uri.into(), Read::of(document), None);
    }

    /// Adds a document by its text, with all the digits of its numbers.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or nests more than 512 deep.
    pub fn insert_str(&mut self, uri: impl Into<String>, document: &str) -> Result<(), Error> {
        let read = json_text::read(document, json_text::MAX_NESTING)?;
        self.add(uri.into(), read, Some(document.to_owned()));
        Ok(())
    }

    /// Adds every file of a folder, and of the folders inside of it, of which the name ends in
    /// `.json`. Its URI is `uri` and its path below the folder; without a `uri` that is the folder's
    /// own `file:` URI. Links to folders are not followed. Returns how many files there were.
    ///
    /// ```no_run
    /// use schema_regex::Documents;
    ///
    /// let mut documents = Documents::default();
    /// documents.insert_folder("schemas".as_ref(), Some("https://json.schemastore.org/"))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The folder, or a file, cannot be read or is not JSON; the message has its name.
    pub fn insert_folder(&mut self, folder: &Path, uri: Option<&str>) -> std::io::Result<usize> {
        let named = |path: &Path, kind, e: &dyn std::fmt::Display| {
            std::io::Error::new(kind, format!("{}: {e}", path.display()))
        };
        let failed = |path: &Path, e: std::io::Error| named(path, e.kind(), &e);
        let base = match uri {
            Some(uri) if uri.ends_with('/') => uri.to_owned(),
            Some(uri) => format!("{uri}/"),
            None => {
                let folder = folder.canonicalize().map_err(|e| failed(folder, e))?;
                format!("{}/", file_uri(&folder))
            }
        };
        let mut files: Vec<PathBuf> = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(&next).map_err(|e| failed(&next, e))? {
                let entry = entry.map_err(|e| failed(&next, e))?;
                let path = entry.path();
                if entry.file_type().map_err(|e| failed(&path, e))?.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "json") && path.is_file()
                {
                    files.push(path);
                }
            }
        }
        // The order of a folder is the file system's.
        files.sort();
        for path in &files {
            let text = std::fs::read_to_string(path).map_err(|e| failed(path, e))?;
            let below = path.strip_prefix(folder).unwrap_or(path);
            let invalid = std::io::ErrorKind::InvalidData;
            self.insert_str(format!("{base}{}", below_as_uri(below)), &text)
                .map_err(|e| named(path, invalid, &e))?;
        }
        Ok(files.len())
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, uri: String, read: Read, text: Option<String>) {
        Arc::make_mut(&mut self.0).push(Document { uri, read, text });
    }

    pub(super) fn get(&self, number: usize) -> &Document {
        &self.0[number]
    }

    /// The numbers of documents by the URIs that lead to their roots, percent-decoded. The first
    /// one of a URI counts, and the URI that a document was given under before any `$id`.
    pub(super) fn addresses(&self) -> HashMap<String, usize> {
        let mut out = HashMap::with_capacity(2 * self.0.len());
        for (number, document) in self.0.iter().enumerate() {
            let given = percent_decode(&address(&document.uri, "")).into_owned();
            out.entry(given).or_insert(number);
        }
        for (number, document) in self.0.iter().enumerate() {
            let value = &document.read.value;
            let draft = Draft::declared(value).unwrap_or(Draft::Draft202012);
            let own = draft.own_id(value).map_or("", without_fragment);
            let own = percent_decode(&address(&document.uri, own)).into_owned();
            if let Entry::Vacant(vacant) = out.entry(own) {
                vacant.insert(number);
            }
        }
        out
    }

    /// The digits of numbers that values do not keep.
    pub(super) fn digits(&self) -> Digits {
        self.0
            .iter()
            .flat_map(|document| document.read.digits())
            .collect()
    }
}

impl PartialEq for Documents {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Document, other: &Document| {
            one.uri == other.uri && one.text == other.text && one.read.value == other.read.value
        };
        Arc::ptr_eq(&self.0, &other.0)
            || (self.len() == other.len()
                && self
                    .0
                    .iter()
                    .zip(&*other.0)
                    .all(|(one, other)| same(one, other)))
    }
}

impl Eq for Documents {}

/// A document by its URI and text.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Written {
    uri: String,
    text: String,
}

#[cfg(feature = "serde")]
impl serde::Serialize for Documents {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|document| Written {
            uri: document.uri.clone(),
            text: match &document.text {
                Some(text) => text.clone(),
                None => document.read.value.to_string(),
            },
        }))
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Documents {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut documents = Documents::default();
        for one in <Vec<Written> as serde::Deserialize>::deserialize(deserializer)? {
            let read = documents.insert_str(one.uri, &one.text);
            read.map_err(serde::de::Error::custom)?;
        }
        Ok(documents)
    }
}

/// The `file:` URI of an absolute path (RFC 8089).
///
/// ```
/// assert_eq!(schema_regex::file_uri("/srv/my schemas/a.json".as_ref()), "file:///srv/my%20schemas/a.json");
/// ```
pub fn file_uri(path: &Path) -> String {
    let path = below_as_uri(path);
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{path}")
}

/// A path with `/` between its parts, percent-encoded (RFC 3986, section 2).
fn below_as_uri(path: &Path) -> String {
    let mut out = String::new();
    for byte in path
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
        .bytes()
    {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' | b'+' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
