//! The arguments that name a language that is regular: a schema with its options, or a regular
//! expression. For example, `--schema person.json --whitespace compact --property-order any`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::ValueEnum;
use serde_json::Value;
use tokenmold::schema_regex::ledger::Entry;
use tokenmold::schema_regex::{
    self, AdditionalMembers, AnyValue, Caps, Documents, Escapes, Formats, IntegerSpelling, OneOf,
    ParseOptions, PropertyOrder, Recursion, Schema, Settings, UnknownKeywords, Whitespace,
};

use super::{Failure, read, without_mark};

/// The options by which a schema is read and compiled.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Schema options")]
pub(crate) struct SchemaOptions {
    /// White space between JSON's tokens: `compact`, `single` (at most one
    /// blank after `,` and `:`), `spaced` (one there), `flexible` (blanks, or a
    /// line break and an indentation), or `any:N` (any, at most N characters at
    /// each place).
    #[arg(long, value_name = "STYLE", default_value = "single", value_parser = whitespace)]
    whitespace: Whitespace,

    /// A regular expression for the white space between JSON's tokens.
    #[arg(long, value_name = "REGEX", conflicts_with = "whitespace")]
    whitespace_pattern: Option<String>,

    /// Let the object `x-tokenmold` at the root of the schema override these
    /// options.
    #[arg(long)]
    schema_settings: bool,

    /// A folder of documents that references may lead to, each by its `$id` and by `URI` and its
    /// path below the folder; without a URI by where it lies beside the schema's file. Nothing is
    /// ever fetched. May be given several times.
    #[arg(long, value_name = "[URI=]FOLDER", value_parser = folder_of_documents)]
    documents: Vec<FolderOfDocuments>,

    /// The documents in these folders.
    #[arg(skip)]
    read: OnceLock<Documents>,

    /// The order in which properties may come.
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = Order::Schema)]
    property_order: Order,

    /// In a regular expression: unroll recursive references to this depth
    /// instead of refusing them.
    #[arg(long, value_name = "N")]
    recursion_depth: Option<u32>,

    /// In a regular expression: how deeply values may nest that the schema
    /// leaves unrestricted.
    #[arg(long, value_name = "N")]
    any_depth: Option<u32>,

    /// True if an object that lists `properties` has further members where its schema does not
    /// speak of them. Texts are generated with `closed` unless told, and checked and explained with
    /// `open`, the letter of JSON Schema.
    #[arg(long, value_name = "POLICY", value_enum)]
    additional_members: Option<Further>,

    /// The effect of `format`.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = FormatPolicy::Assert)]
    formats: FormatPolicy,

    /// The number of its schemas that a value must meet for `oneOf`.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Meets::Exclusive)]
    one_of: Meets,

    /// The treatment of keywords that no draft has.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Unknown::Ignore)]
    unknown_keywords: Unknown,

    /// Allow every escape that JSON allows in strings.
    #[arg(long)]
    all_escapes: bool,

    /// The spelling of integers.
    #[arg(long, value_name = "SPELLING", value_enum, default_value_t = Integers::Plain)]
    integers: Integers,

    #[command(flatten)]
    limits: SchemaLimits,

    /// Cap strings that the schema leaves without a bound, in characters.
    #[arg(long, value_name = "N")]
    cap_length: Option<u64>,

    /// Cap arrays that the schema leaves without a bound, in items.
    #[arg(long, value_name = "N")]
    cap_items: Option<u64>,

    /// Cap the nesting of values that may nest without end, in levels.
    #[arg(long, value_name = "N")]
    cap_depth: Option<u32>,

    /// Cap the digits of numbers that may have any number of them.
    #[arg(long, value_name = "N")]
    cap_digits: Option<u32>,

    /// Cap the members of objects that may have some that the schema does not name.
    #[arg(long, value_name = "N")]
    cap_members: Option<u64>,

    /// Cap the names of members that the schema does not name, in characters.
    #[arg(long, value_name = "N")]
    cap_name_length: Option<u64>,
}

/// A folder of documents, and the URI below which they are known.
#[derive(Clone, Debug)]
struct FolderOfDocuments {
    uri: Option<String>,
    folder: PathBuf,
}

/// Reads `URI=FOLDER`, or a folder alone.
fn folder_of_documents(given: &str) -> Result<FolderOfDocuments, String> {
    let (uri, folder) = match given.split_once('=') {
        Some((uri, folder)) if uri.contains(':') => (Some(uri.to_owned()), folder),
        _ => (None, given),
    };
    let folder = PathBuf::from(folder);
    match folder.is_dir() {
        true => Ok(FolderOfDocuments { uri, folder }),
        false => Err(format!("{} is no folder", folder.display())),
    }
}

/// Limits of the compilation of a schema. An error names the one that is exceeded.
#[derive(Clone, Debug, Default, clap::Args)]
struct SchemaLimits {
    /// The most alternatives at one place of the schema, once `anyOf`, `oneOf` and the like
    /// are distributed over what stands beside them [default: 2000].
    #[arg(long, value_name = "N")]
    max_alternatives: Option<usize>,

    /// The most states of the automaton of a string or number [default: 2000].
    #[arg(long, value_name = "N")]
    max_automaton_states: Option<usize>,

    /// The most steps of a compilation, about a microsecond each [default: 500000].
    #[arg(long, value_name = "N")]
    max_schema_steps: Option<usize>,

    /// The deepest nesting of subschemas [default: 128].
    #[arg(long, value_name = "N")]
    max_depth: Option<usize>,

    /// The most levels of arrays and objects in a value [default: 127].
    #[arg(long, value_name = "N")]
    max_nesting: Option<usize>,

    /// The most subschemas [default: 200000].
    #[arg(long, value_name = "N")]
    max_nodes: Option<usize>,

    /// The longest regular expression, in bytes [default: 4000000].
    #[arg(long, value_name = "N")]
    max_regex_bytes: Option<usize>,
}

/// The flag of an option that a message names.
fn flag(option: &str) -> String {
    let name = match option {
        "any_value" => "any-depth",
        "recursion" => "recursion-depth",
        "escapes" => "all-escapes",
        "caps" => "cap-..",
        // An agent's steps are something else.
        "max_steps" => "max-schema-steps",
        other => return format!("`--{}`", other.replace('_', "-")),
    };
    format!("`--{name}`")
}

/// A message that names options by their flags.
pub(crate) fn told(message: &str) -> String {
    schema_regex::in_words_of(message, flag)
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Integers {
    /// Without a fraction.
    Plain,
    /// Without a fraction, or with one of zeros.
    ZeroFraction,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Further {
    /// It may have any.
    Open,
    /// It has none.
    Closed,
}

/// The purpose that a schema is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// To say of texts, or of the schema itself, what JSON Schema says.
    Check,
    /// To have a model write texts.
    Generate,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    /// That of the schema.
    Schema,
    /// Any (not in a regular expression).
    Any,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatPolicy {
    /// Known formats are enforced, unknown ones are annotations.
    Assert,
    /// All formats are annotations.
    Annotate,
    /// Known formats are enforced, unknown ones refused.
    Strict,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Meets {
    /// Exactly one.
    Exclusive,
    /// One or more, as `anyOf`.
    Any,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Unknown {
    /// They are annotations.
    Ignore,
    /// The schema is refused.
    Refuse,
}

fn whitespace(text: &str) -> Result<Whitespace, String> {
    match text {
        "compact" => Ok(Whitespace::Compact),
        "single" => Ok(Whitespace::SingleSpace),
        "spaced" => Ok(Whitespace::Spaced),
        "flexible" => Ok(Whitespace::flexible()),
        _ => text
            .strip_prefix("any:")
            .and_then(|n| n.parse().ok())
            .map(Whitespace::Bounded)
            .ok_or_else(|| {
                "expected `compact`, `single`, `spaced`, `flexible` or `any:N`".to_owned()
            }),
    }
}

impl SchemaOptions {
    /// The same with members in any order.
    pub(crate) fn with_any_order(&self) -> Self {
        SchemaOptions {
            property_order: Order::Any,
            ..self.clone()
        }
    }

    /// The same with any white space of a pretty printer.
    pub(crate) fn with_any_blanks(&self) -> Self {
        SchemaOptions {
            whitespace: Whitespace::flexible(),
            whitespace_pattern: None,
            ..self.clone()
        }
    }

    /// The style of white space, in words.
    pub(crate) fn style(&self) -> String {
        if let Some(pattern) = &self.whitespace_pattern {
            return format!("white space {pattern}");
        }
        match &self.whitespace {
            Whitespace::Compact => "no white space".to_owned(),
            Whitespace::SingleSpace => "a blank or none after `,` and `:`".to_owned(),
            Whitespace::Spaced => "a blank after `,` and `:`".to_owned(),
            Whitespace::Bounded(most) => format!("at most {most} of any white space"),
            other => format!("{other:?}"),
        }
    }

    /// Reads a schema with all the digits that its text has, and its value.
    pub(crate) fn read_schema(&self, path: &Path) -> Result<(Schema, Value), Failure> {
        let bytes = read(path)?;
        let text = std::str::from_utf8(without_mark(&bytes))
            .map_err(|e| Failure::new(format!("{} is not JSON: {e}", path.display())))?;
        let json = serde_json::from_str(text)
            .map_err(|e| Failure::new(format!("{} is not JSON: {e}", path.display())))?;
        let schema = self
            .parse(text, Some(path))
            .map_err(|e| Failure::of(path.display(), e))?;
        Ok((schema, json))
    }

    /// The documents that references may lead to.
    fn documents(&self) -> Result<&Documents, String> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let mut documents = Documents::default();
        for FolderOfDocuments { uri, folder } in &self.documents {
            let read = documents.insert_folder(folder, uri.as_deref());
            read.map_err(|e| format!("--documents: {e}"))?;
        }
        Ok(self.read.get_or_init(|| documents))
    }

    /// Refuses documents where schemas are compiled with others.
    pub(crate) fn without_documents(&self, why: &str) -> Result<(), Failure> {
        match self.documents.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(format!("--documents has no use here: {why}"))),
        }
    }

    /// Reads a schema that was found in a file, or stands in other JSON.
    pub(crate) fn parse(&self, text: &str, found: Option<&Path>) -> Result<Schema, String> {
        let mut reading = self.reading()?;
        if !self.documents.is_empty()
            && let Some(place) = found.and_then(|path| path.canonicalize().ok())
        {
            reading = reading.with_base_uri(schema_regex::file_uri(&place));
        }
        schema_regex::parse_str_with(text, &reading).map_err(|e| e.to_string())
    }

    /// Returns the options by which schemas are read.
    pub(crate) fn reading(&self) -> Result<ParseOptions, String> {
        let settings = match self.schema_settings {
            true => Settings::Follow,
            false => Settings::Ignore,
        };
        let mut reading = ParseOptions::default().with_settings(settings);
        if let Some(most) = self.limits.max_nodes {
            reading = reading.with_max_nodes(most);
        }
        if !self.documents.is_empty() {
            reading = reading.with_documents(self.documents()?.clone());
        }
        Ok(reading)
    }

    pub(crate) fn options(&self, used: Use) -> schema_regex::Options {
        let options = match used {
            Use::Check => schema_regex::Options::default(),
            Use::Generate => schema_regex::Options::for_generation(),
        };
        let mut options = options.with_whitespace(self.whitespace.clone());
        if let Some(pattern) = &self.whitespace_pattern {
            options = options.with_whitespace(Whitespace::Pattern(pattern.clone()));
        }
        if let Some(depth) = self.recursion_depth {
            options = options.with_recursion(Recursion::Unroll(depth));
        }
        if let Some(depth) = self.any_depth {
            options = options.with_any_value(AnyValue::Depth(depth));
        }
        options = options.with_property_order(match self.property_order {
            Order::Schema => PropertyOrder::Schema,
            Order::Any => PropertyOrder::Any,
        });
        if let Some(further) = self.additional_members {
            options = options.with_additional_members(match further {
                Further::Open => AdditionalMembers::Open,
                Further::Closed => AdditionalMembers::Closed,
            });
        }
        if self.all_escapes {
            options = options.with_escapes(Escapes::All);
        }
        let limits = &self.limits;
        let set = |option: &mut usize, limit: Option<usize>| *option = limit.unwrap_or(*option);
        set(&mut options.max_alternatives, limits.max_alternatives);
        set(
            &mut options.max_automaton_states,
            limits.max_automaton_states,
        );
        set(&mut options.max_steps, limits.max_schema_steps);
        set(&mut options.max_depth, limits.max_depth);
        set(&mut options.max_nesting, limits.max_nesting);
        set(&mut options.max_regex_bytes, limits.max_regex_bytes);
        options = options.with_integers(match self.integers {
            Integers::Plain => IntegerSpelling::Plain,
            Integers::ZeroFraction => IntegerSpelling::ZeroFraction,
        });
        options = options.with_one_of(match self.one_of {
            Meets::Exclusive => OneOf::Exclusive,
            Meets::Any => OneOf::Any,
        });
        options = options.with_unknown_keywords(match self.unknown_keywords {
            Unknown::Ignore => UnknownKeywords::Ignore,
            Unknown::Refuse => UnknownKeywords::Refuse,
        });
        let mut caps = Caps::default();
        caps.length = self.cap_length;
        caps.items = self.cap_items;
        caps.depth = self.cap_depth;
        caps.digits = self.cap_digits;
        caps.members = self.cap_members;
        caps.name_length = self.cap_name_length;
        options.with_caps(caps).with_formats(match self.formats {
            FormatPolicy::Assert => Formats::Assert,
            FormatPolicy::Annotate => Formats::Annotate,
            FormatPolicy::Strict => Formats::Strict,
        })
    }
}

/// A language: `--schema` or `--regex`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Language {
    #[command(flatten)]
    source: LanguageSource,

    #[command(flatten)]
    options: SchemaOptions,
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct LanguageSource {
    /// A file with a JSON Schema, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// A regular expression in the syntax of Rust's `regex` crate.
    #[arg(long, value_name = "REGEX")]
    regex: Option<String>,
}

/// The regular expression that `--schema` or `--regex` gives, if one of them is
/// there, and the fate of each keyword of the schema.
fn read_source(
    schema: Option<&Path>,
    regex: Option<&str>,
    options: &SchemaOptions,
) -> Result<(Option<String>, Vec<Entry>), Failure> {
    let Some(path) = schema else {
        return Ok((regex.map(str::to_owned), Vec::new()));
    };
    let (schema, _) = options.read_schema(path)?;
    let options = options.options(Use::Check);
    let regex = schema_regex::to_regex(&schema, &options);
    let regex = regex.map_err(|e| Failure::of(path.display(), e))?;
    Ok((Some(regex), schema.ledger(&options)))
}

impl Language {
    /// The regular expression, and the fate of each keyword of the schema that it came from.
    pub(crate) fn read(&self) -> Result<(String, Vec<Entry>), Failure> {
        let LanguageSource { schema, regex } = &self.source;
        match read_source(schema.as_deref(), regex.as_deref(), &self.options)? {
            (Some(regex), entries) => Ok((regex, entries)),
            (None, _) => Err(Failure::new("neither --schema nor --regex is given")),
        }
    }
}
