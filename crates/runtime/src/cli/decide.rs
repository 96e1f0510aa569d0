//! The probabilities of all values of a rule. For example, `tokenmold decide --regex 'yes|no' --prompt
//! 'Is it so?'`.

use serde_json::json;
use tokenmold::chat::chatml;
use tokenmold::fsm_index::ProbabilityLimits;
use tokenmold::generate::{Prompt, Session};

use super::compiled::Compiled;
use super::model::ModelArgs;
use super::rule::{RULES, RuleArgs};
use super::schema::{SchemaOptions, Use};
use super::{Failure, Notes, Output};

/// Arguments of `tokenmold decide`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("rule").args(RULES).required(true))]
pub(crate) struct DecideArgs {
    /// The request to the model.
    #[arg(long, value_name = "TEXT")]
    prompt: String,

    /// Give the prompt to the model as it is, without the marks of a chat.
    #[arg(long)]
    raw: bool,

    #[command(flatten)]
    bound: RuleArgs,

    /// The most values that the rule may accept.
    #[arg(long, value_name = "N", default_value_t = ProbabilityLimits::default().max_values)]
    max_values: usize,

    /// The most steps that the model takes behind the prompt.
    #[arg(long, value_name = "N", default_value_t = ProbabilityLimits::default().max_steps)]
    max_steps: usize,

    #[command(flatten)]
    options: SchemaOptions,

    #[command(flatten)]
    model: ModelArgs,
}

/// A value is printed with its share of the probability of all of them, the likeliest first. A
/// schema's values are spelt in as many ways as its white space has; `--whitespace compact` leaves
/// one.
pub(crate) fn run(args: &DecideArgs, notes: Notes) -> Result<Output, Failure> {
    let Some(rule) = args.bound.rule(&args.options, Use::Generate)? else {
        return Err(Failure::new(format!(
            "one of --{} is needed",
            RULES.join(", --")
        )));
    };
    let mut loaded = args.model.load(notes)?;
    let prompt = match args.raw || loaded.chat.is_empty() {
        true => Prompt::Text(args.prompt.clone()),
        false => {
            let system = rule.schema().map(chatml::schema_system);
            let turns = [json!({"role": "user", "content": args.prompt})];
            let written = loaded.chat.prompt(system.as_deref(), &[], &turns);
            Prompt::Chat(written.map_err(|error| Failure::new(error.to_string()))?)
        }
    };
    let compiled = Compiled::new(&rule.automaton, loaded.tokenizer.vocabulary())?;
    let mut limits = ProbabilityLimits::default();
    limits.max_values = args.max_values;
    limits.max_steps = args.max_steps;
    let mut guide = compiled.constraint.guide();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let found = session.probabilities(&prompt, &mut *guide, &limits);
    let found = found.map_err(|error| Failure::new(error.to_string()))?;
    let lines = found
        .values
        .iter()
        .map(|value| format!("{:8.4} %  {}\n", 100.0 * value.probability, value.text));
    Ok(Output {
        text: lines.collect(),
        notes: format!(
            "{} values, {} steps of the model behind the prompt; each is within {:.0e}\n",
            found.values.len(),
            found.steps,
            found.unknown.max(limits.tolerance)
        ),
        json: json!(found),
        ..Output::default()
    })
}
