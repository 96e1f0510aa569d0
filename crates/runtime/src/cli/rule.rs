//! The rule that an output must obey, and the arguments that name it. For example, `--regex
//! '[0-9]{4}'`, or `--schema person.json` with `--whitespace compact`.

use std::path::{Path, PathBuf};

use constraint::Automaton;
use serde_json::{Value, json};
use tokenmold::schema_regex::Schema;
use tokenmold::schema_regex::automaton::SchemaAutomaton;

use super::grammar::Notation;
use super::schema::{SchemaOptions, Use};
use super::{Failure, ledger};

/// The rule that binds a text, if any: one of these at most.
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

/// The arguments of [`RuleArgs`], for a command that needs one of them. They are named once,
/// because the group of arguments and the message of a missing one both list them.
pub(crate) const RULES: [&str; 4] = ["schema", "regex", "index", "grammar"];

impl RuleArgs {
    /// Returns the rule that the arguments name, read and compiled; none without them.
    pub(crate) fn rule(&self, options: &SchemaOptions, used: Use) -> Result<Option<Rule>, Failure> {
        let RuleSource {
            schema,
            regex,
            index,
            grammar,
        } = &self.source;
        match (index, grammar) {
            (Some(file), _) => Ok(Some(Rule {
                automaton: Automaton::Saved(file.clone()),
                written: json!({ "index": file }),
            })),
            (None, Some(file)) => {
                let (automaton, text) = self.notation.compile(file)?;
                Ok(Some(Rule {
                    automaton: automaton.into(),
                    written: json!({ "grammar": text }),
                }))
            }
            (None, None) => read_rule(schema.as_deref(), regex.as_deref(), options, used),
        }
    }
}

/// A rule that an output must obey, with its text.
pub(crate) struct Rule {
    pub(crate) automaton: Automaton,
    /// One member, by which a trace names it: `schema`, `regex`, `index` or `grammar`.
    written: Value,
}

impl Rule {
    /// A regular expression for the whole.
    pub(crate) fn regex(regex: &str) -> Rule {
        Rule {
            automaton: Automaton::Regex(regex.to_owned()),
            written: json!({ "regex": regex }),
        }
    }

    fn schema_as(automaton: SchemaAutomaton, schema: Value) -> Rule {
        Rule {
            automaton: automaton.into(),
            written: json!({ "schema": schema }),
        }
    }

    /// The schema as it was written.
    pub(crate) fn schema(&self) -> Option<&Value> {
        self.written.get("schema")
    }

    /// Returns the text of the rule as a trace has it.
    pub(crate) fn described(&self) -> Value {
        self.written.clone()
    }

    /// Returns the warnings about keywords that look misspelt, a line each.
    pub(crate) fn warnings(&self) -> String {
        ledger::warnings(&self.automaton.ledger())
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
        return Ok(regex.map(Rule::regex));
    };
    let (schema, json) = options.read_schema(path)?;
    compiled(schema, options, used)
        .map(|automaton| Some(Rule::schema_as(automaton, json)))
        .map_err(|e| Failure::of(path.display(), e))
}

/// Compiles a schema. If that fails, keywords that look misspelt may be why.
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
        .map(|automaton| Rule::schema_as(automaton, json.clone()))
        .map_err(|e| Failure::of("the schema", e))
}
