//! The engines that are measured, behind one trait. For example, `engine("tokenmold", &setup)`
//! compiles schemas by this project's own automaton.

#[cfg(feature = "peers")]
pub mod llguidance;
#[cfg(feature = "peers")]
pub mod outlines_core;
pub mod spelling;
pub mod tags;
pub mod tokenmold;

use fsm_index::{MaskBuffer, Vocabulary};
use serde_json::Value;

/// A maker of masks: compiles schemas for one vocabulary, on any number of threads.
pub trait Engine: Sync {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// The engine does not support the schema, and says why.
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String>;

    /// Begins texts that are led together: a row for each of `rows`, which says the schema of
    /// its text by the place in `schemas`.
    ///
    /// # Errors
    ///
    /// The engine does not support a schema, or has no batches.
    fn batch(&self, schemas: &[Value], rows: &[usize]) -> Result<Box<dyn Batch>, String> {
        let _ = (schemas, rows);
        Err("the engine has no batches".to_owned())
    }
}

/// A compiled schema, which any number of texts may use one after the other.
pub trait Constraint: Send {
    /// The beginning of a text.
    ///
    /// # Errors
    ///
    /// The engine gives up.
    fn session(&self) -> Result<Box<dyn Session + '_>, String>;

    /// The same compiled schema for another thread, in the way that the engine means for
    /// that.
    fn for_another_thread(&self) -> Box<dyn Constraint>;
}

/// Texts that are led together, a row for each.
pub trait Batch {
    /// Begins another text in a row, under the schema of that place.
    ///
    /// # Errors
    ///
    /// The engine gives up.
    fn begin(&mut self, row: usize, schema: usize) -> Result<(), String>;

    /// Writes the masks of all rows one after the other, in equal parts of `words`, on the
    /// threads of the current rayon pool.
    ///
    /// # Errors
    ///
    /// The engine gives up.
    fn masks(&mut self, words: &mut [u32]) -> Result<(), String>;

    /// Takes a token in a row.
    ///
    /// # Errors
    ///
    /// The token may not come here, or the engine gives up.
    fn advance(&mut self, row: usize, token: u32) -> Result<(), String>;
}

/// One text under a constraint.
pub trait Session {
    /// Writes which tokens may come next. The buffer is the harness's: all texts are
    /// led with one, and an engine may find in it what was written there last.
    ///
    /// # Errors
    ///
    /// The engine gives up.
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String>;

    /// Takes a token.
    ///
    /// # Errors
    ///
    /// The token may not come here, or the engine gives up.
    fn advance(&mut self, token: u32) -> Result<(), String>;

    /// Tells whether the text may end here.
    fn is_accepting(&mut self) -> bool;

    /// The mask again, by trying every token on its own; `None` if the engine has no such
    /// slow way.
    fn brute_force(&mut self) -> Option<Vec<u32>> {
        None
    }
}

/// Which order of properties our own engine asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PropertyOrder {
    /// The order of the schema.
    #[default]
    Schema,
    /// Any order.
    Any,
}

/// Which members our own engine admits beside those that a schema lists, where it says nothing
/// of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum AdditionalMembers {
    /// Any: the letter of JSON Schema.
    #[default]
    Open,
    /// None: what programs that generate ask for.
    Closed,
}

/// The parts that an engine is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The tokens.
    pub vocabulary: Vocabulary,
    /// For our own engine.
    pub property_order: PropertyOrder,
    /// For our own engine.
    pub additional_members: AdditionalMembers,
    /// True if our own engine takes `format` for an assertion; peers have their own mind.
    pub assert_formats: bool,
    /// The file of the official suite that is asked, for our own engine: `1.0` is then an
    /// integer, the file's name says the draft, references lead into the folder `remotes`
    /// beside it, and a schema that nothing satisfies is taken.
    pub suite: Option<std::path::PathBuf>,
    /// Documents that references may lead to, for our own engine.
    pub documents: schema_regex::Documents,
}

impl Setup {
    /// As engines are measured: properties in the schema's order, objects as they are written,
    /// formats asserted.
    pub fn measured(vocabulary: Vocabulary) -> Setup {
        Setup {
            vocabulary,
            property_order: PropertyOrder::Schema,
            additional_members: AdditionalMembers::Open,
            assert_formats: true,
            suite: None,
            documents: schema_regex::Documents::default(),
        }
    }
}

/// The names of the engines that are compiled in, our own first. It comes first because tables
/// compare the others with it.
pub const NAMES: &[&str] = &[
    "tokenmold",
    #[cfg(feature = "peers")]
    "llguidance",
    #[cfg(feature = "peers")]
    "outlines-core",
];

/// The engines that mask batches and share schemas among threads.
pub const SERVING: &[&str] = &[
    "tokenmold",
    #[cfg(feature = "peers")]
    "llguidance",
];

/// Makes the engine of that name.
///
/// # Errors
///
/// There is none, it is not compiled in, or it cannot be made from this vocabulary.
pub fn engine(name: &str, setup: &Setup) -> Result<Box<dyn Engine>, String> {
    match name {
        "tokenmold" => Ok(Box::new(tokenmold::Tokenmold::new(setup)?)),
        tags::BARE => Ok(Box::new(tokenmold::Tokenmold::as_in_tags(setup)?)),
        #[cfg(feature = "peers")]
        "llguidance" => Ok(Box::new(llguidance::LlGuidance::new(setup)?)),
        #[cfg(feature = "peers")]
        "outlines-core" => Ok(Box::new(outlines_core::OutlinesCore::new(setup)?)),
        #[cfg(not(feature = "peers"))]
        "llguidance" | "outlines-core" => Err(format!(
            "{name} is not compiled in; build with --features peers"
        )),
        _ => {
            if let Some(engine) = tags::Tags::new(name, setup) {
                return Ok(Box::new(engine));
            }
            if let Some(engine) = spelling::engine(name, setup)? {
                return Ok(Box::new(engine));
            }
            Err(format!(
                "there is no engine {name}; there are {}",
                NAMES.join(", ")
            ))
        }
    }
}
