//! `Compiler`: constraints of one vocabulary, remembered within a bound of bytes. For example, a
//! schema that was compiled before is found by its description, and the one that was used longest
//! ago goes first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grammar::Dialect;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::constraint::{Compiled, Constraint};
use crate::error::{detached, of_kind};
use crate::json;
use crate::pool::available_threads;
use crate::vocabulary::Vocabulary;

/// The bytes that a compiler remembers unless it is told otherwise, because a few hundred schemas
/// take that many.
const CACHE_BYTES: usize = 256 << 20;

/// The part of the bytes that the rows of one constraint take at most, because one must not
/// displace all others.
const SHARE: usize = 8;

/// Compiles constraints for one vocabulary, and remembers them within a bound of bytes.
#[pyclass(frozen, subclass, module = "tokenmold")]
pub(crate) struct Compiler {
    vocabulary: Py<Vocabulary>,
    threads: usize,
    cache_bytes: usize,
    cache: Mutex<Cache>,
}

/// Constraints by their descriptions; those that were asked for longest ago go first.
#[derive(Default)]
struct Cache {
    entries: HashMap<String, Entry>,
    bytes: usize,
    clock: u64,
    hits: u64,
    misses: u64,
}

struct Entry {
    compiled: Arc<Compiled>,
    /// The bytes that it took when it was looked at last.
    bytes: usize,
    /// When it was asked for last.
    used: u64,
}

impl Cache {
    /// A constraint that is remembered. Its bytes are counted anew.
    fn get(&mut self, key: &str, most: usize) -> Option<Arc<Compiled>> {
        self.clock += 1;
        let Some(entry) = self.entries.get_mut(key) else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        entry.used = self.clock;
        let bytes = entry.compiled.memory();
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        let compiled = entry.compiled.clone();
        self.shrink(most);
        Some(compiled)
    }

    fn insert(&mut self, key: String, compiled: Arc<Compiled>, most: usize) {
        let bytes = compiled.memory() + key.len();
        let used = self.clock;
        self.bytes += bytes;
        let entry = Entry {
            compiled,
            bytes,
            used,
        };
        if let Some(before) = self.entries.insert(key, entry) {
            self.bytes -= before.bytes;
        }
        self.shrink(most);
    }

    /// Forgets what was asked for longest ago until the rest fits. O(entries) for each that
    /// goes, each of which took longer to compile.
    fn shrink(&mut self, most: usize) {
        if self.bytes <= most {
            return;
        }
        // Rows have grown since they were counted, perhaps.
        self.bytes = 0;
        for entry in self.entries.values_mut() {
            entry.bytes = entry.compiled.memory();
            self.bytes += entry.bytes;
        }
        while self.bytes > most {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some(entry) = self.entries.remove(&key) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

impl Compiler {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        // Each change leaves the map whole.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, py: Python<'_>, description: Value) -> PyResult<Constraint> {
        let key = description.to_string();
        if let Some(compiled) = self.cache().get(&key, self.cache_bytes) {
            return Ok(Constraint { compiled });
        }
        let vocabulary = self.vocabulary.clone_ref(py);
        let most = (self.cache_bytes / SHARE).max(1 << 20);
        let compiled = detached(py, || Compiled::new(description, vocabulary, most))?;
        // Once: what is remembered was told.
        let notices = compiled.notices();
        if !notices.is_empty() {
            let log = py
                .import("logging")?
                .call_method1("getLogger", ("tokenmold",))?;
            for notice in notices {
                log.call_method1("warning", ("schema: %s", notice))?;
            }
        }
        let compiled = Arc::new(compiled);
        self.cache().insert(key, compiled.clone(), self.cache_bytes);
        Ok(Constraint { compiled })
    }
}

#[pymethods]
impl Compiler {
    #[new]
    #[pyo3(signature = (vocabulary, *, threads = None, cache_bytes = CACHE_BYTES))]
    fn new(
        py: Python<'_>,
        vocabulary: Py<Vocabulary>,
        threads: Option<usize>,
        cache_bytes: usize,
    ) -> PyResult<Compiler> {
        let threads = threads.unwrap_or_else(available_threads);
        if threads == 0 {
            return Err(of_kind("bad_option", "a compiler has one thread at least"));
        }
        let tokens = &vocabulary.get().tokens;
        detached(py, || {
            tokens.prepare(fsm_index::JSON_TEXT);
            Ok(())
        })?;
        Ok(Compiler {
            vocabulary,
            threads,
            cache_bytes,
            cache: Mutex::default(),
        })
    }

    /// The vocabulary.
    #[getter]
    fn vocabulary(&self, py: Python<'_>) -> Py<Vocabulary> {
        self.vocabulary.clone_ref(py)
    }

    /// Returns the number of threads that `submit_*` compiles on.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the number of bytes that are remembered at most.
    #[getter]
    fn cache_bytes(&self) -> usize {
        self.cache_bytes
    }

    /// Returns the state of the cache: `entries`, `bytes`, and how often there were `hits` and
    /// `misses`.
    #[getter]
    fn cache_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let cache = self.cache();
        let info = PyDict::new(py);
        info.set_item("entries", cache.entries.len())?;
        info.set_item("bytes", cache.bytes)?;
        info.set_item("hits", cache.hits)?;
        info.set_item("misses", cache.misses)?;
        Ok(info)
    }

    /// Forgets everything. Constraints that are in use live on.
    fn cache_clear(&self) {
        *self.cache() = Cache::default();
    }

    /// `options` are the JSON of an object.
    fn _json_schema(&self, py: Python<'_>, schema: &str, options: &str) -> PyResult<Constraint> {
        let mut description = options_of(options)?;
        description["kind"] = "json_schema".into();
        description["schema"] = schema.into();
        self.compile(py, description)
    }

    fn _regex(&self, py: Python<'_>, pattern: &str) -> PyResult<Constraint> {
        self.compile(py, json!({"kind": "regex", "pattern": pattern}))
    }

    fn _choice(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Constraint> {
        self.compile(py, json!({"kind": "choice", "texts": texts}))
    }

    /// Without a dialect it is the one that the text looks like. `options` are the JSON of an
    /// object.
    fn _grammar(
        &self,
        py: Python<'_>,
        text: &str,
        dialect: Option<&str>,
        options: &str,
    ) -> PyResult<Constraint> {
        let dialect = dialect.unwrap_or_else(|| Dialect::guess(text).name());
        let mut description = options_of(options)?;
        description["kind"] = "grammar".into();
        description["text"] = text.into();
        description["dialect"] = dialect.into();
        self.compile(py, description)
    }

    fn _structural_tag(&self, py: Python<'_>, tag: &str, options: &str) -> PyResult<Constraint> {
        let mut description = options_of(options)?;
        description["kind"] = "structural_tag".into();
        description["tag"] = tag.into();
        self.compile(py, description)
    }

    /// `format` is the JSON of a name or of a response template, `options` that of an object.
    fn _response_format(
        &self,
        py: Python<'_>,
        format: &str,
        options: &str,
    ) -> PyResult<Constraint> {
        let format = json::parse(format, "the format")?;
        let mut description = options_of(options)?;
        description["kind"] = "response_format".into();
        description["format"] = format;
        self.compile(py, description)
    }
}

fn options_of(text: &str) -> PyResult<Value> {
    let options = json::parse(text, "the options")?;
    match options.is_object() {
        true => Ok(options),
        false => Err(of_kind("invalid", "the options are an object")),
    }
}
