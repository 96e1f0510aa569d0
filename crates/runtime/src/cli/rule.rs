//! What an output must obey, and the arguments that name it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokenmold::grammar::GrammarAutomaton;
use tokenmold::schema_regex::Schema;
use tokenmold::schema_regex::automaton::SchemaAutomaton;

use super::grammar::Notation;
use super::schema::{SchemaOptions, Use};
use super::{Failure, ledger};

/// What binds a text, if anything: one of these at most.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleArgs {
    #[command(flatten)]
    source: RuleSource,

    #[command(flatten)]
    notation: Notation,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct RuleSource {
    /// A file with a JSON Schema that the text must obey, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// A regular expression, in the syntax of Rust's `regex` crate, that the whole text
    /// must match.
    #[arg(long, value_name = "REGEX")]
    regex: Option<String>,

    /// An index that `tokenmold index --out` saved for the same tokenizer.
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,

    /// A file with a grammar that the whole text must obey, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    grammar: Option<PathBuf>,
}

/// The arguments of [`RuleArgs`], for a command that needs one of them.
pub(crate) const RULES: [&str; 4] = ["schema", "regex", "index", "grammar"];

impl RuleArgs {
    /// What the arguments name, read and compiled; none without them.
    pub(crate) fn rule(&self, options: &SchemaOptions, used: Use) -> Result<Option<Rule>, Failure> {
        let RuleSource {
            schema,
            regex,
            index,
            grammar,
        } = &self.source;
        match (index, grammar) {
            (Some(file), _) => Ok(Some(Rule::Saved(file.clone()))),
            (None, Some(file)) => {
                let (automaton, text) = self.notation.compile(file)?;
                Ok(Some(Rule::Grammar(automaton, text)))
            }
            (None, None) => read_rule(schema.as_deref(), regex.as_deref(), options, used),
        }
    }
}

/// What an output must obey.
pub(crate) enum Rule {
    /// A schema, compiled, and as it was written.
    Schema(Box<SchemaAutomaton>, Value),
    /// A regular expression for the whole.
    Regex(String),
    /// A saved index.
    Saved(PathBuf),
    /// A grammar for the whole, compiled, and as it was written.
    Grammar(GrammarAutomaton, String),
}

impl Rule {
    /// The schema as it was written.
    pub(crate) fn schema(&self) -> Option<&Value> {
        match self {
            Rule::Schema(_, schema) => Some(schema),
            Rule::Regex(_) | Rule::Grammar(..) | Rule::Saved(_) => None,
        }
    }

    /// What is written of it in a trace.
    pub(crate) fn described(&self) -> Value {
        match self {
            Rule::Schema(_, schema) => json!({ "schema": schema }),
            Rule::Regex(regex) => json!({ "regex": regex }),
            Rule::Saved(file) => json!({ "index": file }),
            Rule::Grammar(_, text) => json!({ "grammar": text }),
        }
    }

    /// What to say of keywords that look misspelt, a line each.
    pub(crate) fn warnings(&self) -> String {
        match self {
            Rule::Schema(automaton, _) => ledger::warnings(&automaton.ledger()),
            Rule::Regex(_) | Rule::Grammar(..) | Rule::Saved(_) => String::new(),
        }
    }
}

/// The rule that `--schema` or `--regex` gives, if one of them is there.
pub(crate) fn read_rule(
    schema: Option<&Path>,
    regex: Option<&str>,
    options: &SchemaOptions,
    used: Use,
) -> Result<Option<Rule>, Failure> {
    let Some(path) = schema else {
        return Ok(regex.map(|regex| Rule::Regex(regex.to_owned())));
    };
    let (schema, json) = options.read_schema(path)?;
    compiled(schema, options, used)
        .map(|automaton| Some(Rule::Schema(Box::new(automaton), json)))
        .map_err(|e| Failure::of(path.display(), e))
}

/// Compiles a schema. Where that fails, keywords that look misspelt may be why.
fn compiled(schema: Schema, options: &SchemaOptions, used: Use) -> Result<SchemaAutomaton, String> {
    let (automaton, entries) = SchemaAutomaton::explain(schema, &options.options(used));
    automaton.map_err(|error| {
        let warnings = ledger::warnings(&entries);
        let lines = std::iter::once(error.to_string());
        let lines = lines.chain(warnings.lines().map(str::to_owned));
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// The rule of a schema that stands in other JSON, for a text that is generated.
pub(crate) fn rule_of(json: &Value, options: &SchemaOptions) -> Result<Rule, Failure> {
    let schema = options.parse(&json.to_string(), None);
    schema
        .and_then(|schema| compiled(schema, options, Use::Generate))
        .map(|automaton| Rule::Schema(Box::new(automaton), json.clone()))
        .map_err(|e| Failure::of("the schema", e))
}
