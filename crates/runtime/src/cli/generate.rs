use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenmold::chat::{ChatTemplates, chatml};
use tokenmold::constraint::Constraint;
use tokenmold::fsm_index::{Config, Fill, Guide, Index, IndexConfig, IndexStats, Vocabulary};
use tokenmold::generate::{
    Event, Explanations, Finish, Flow, ForcedTokens, Generation, Probabilities, Prompt, Request,
    Session, TokenBudget,
};
use tokenmold::grammar::GrammarAutomaton;
use tokenmold::schema_regex::automaton::SchemaAutomaton;
use tokenmold::tags::TagAutomaton;
use tokenmold::tokenizer::Tokenizer;
use tokenmold::tools::read_response;

use super::grammar::Notation;
use super::model::{ModelArgs, SamplingArgs, write_chat};
use super::schema::{Rule, SchemaOptions, read_rule};
use super::speech::{Form, Speech, read_tools, write_chat_with_tools};
use super::style::{Paint, Style};
use super::trace;
use super::{Failure, Format, Output, Verdict, write_out};

/// Arguments of `tokenmold generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the model is asked.
    #[arg(long, value_name = "TEXT")]
    prompt: String,

    /// What the model is told before that. Default: the schema, if there is one.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// Give the prompt to the model as it is, without the marks of a chat.
    #[arg(long)]
    raw: bool,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    notation: Notation,

    #[command(flatten)]
    message: MessageArgs,

    #[command(flatten)]
    options: SchemaOptions,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    sampling: SamplingArgs,

    /// Most tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: usize,

    /// Draw such that the text is complete within the most tokens; refuse if
    /// even the shortest does not fit.
    #[arg(long, conflicts_with = "no_mask")]
    fit: bool,

    /// Least tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_tokens: usize,

    /// End the text where this one begins. May be given several times.
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,

    /// Let the model say what it likes: to see what the mask is for.
    #[arg(long)]
    no_mask: bool,

    /// Ask the model for every token, also where only one text can follow.
    #[arg(long)]
    no_forced: bool,

    /// Write what happens at each step to this file, as JSON lines; `tokenmold
    /// view` makes a page of them.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Print the N most probable tokens before and after the mask, as a table.
    #[arg(long, value_name = "N", default_value_t = 0)]
    show_probabilities: usize,
}

/// What binds the output, if anything.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Source {
    /// A file with a JSON Schema that the output must obey.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// A regular expression that the whole output must match.
    #[arg(long, value_name = "REGEX")]
    regex: Option<String>,

    /// A file with a grammar that the whole output must obey.
    #[arg(long, value_name = "FILE")]
    grammar: Option<PathBuf>,
}

/// What the output is as a message. With any of these it is bound by the format,
/// read with it, and printed as a message.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Messages")]
struct MessageArgs {
    /// A file with tools that the model may call: a list of objects with `name`,
    /// `description` and `parameters` (a JSON Schema), bare or as
    /// `{"function": {...}}`. A schema or regular expression binds what is no call.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// How the model writes calls and reasoning, by the name of a ready-made
    /// format. Default: what the markers in its chat template tell.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// The same by a file with a response template.
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    response_template: Option<PathBuf>,
}

impl MessageArgs {
    /// Where it is said how the model writes, if messages are wanted.
    fn form<'a>(&'a self, templates: &'a ChatTemplates) -> Option<Form<'a>> {
        match (&self.format, &self.response_template) {
            (Some(name), _) => Some(Form::Named(name)),
            (None, Some(file)) => Some(Form::Template(file)),
            (None, None) => self.tools.as_ref().map(|_| Form::Own(templates)),
        }
    }
}

/// How many most probable tokens a trace lists for each step.
const TRACED_PROBABILITIES: usize = 5;

pub(crate) fn run(args: &Args, format: Format) -> Result<Output, Failure> {
    let mut loaded = args.model.load()?;
    let Source {
        schema,
        regex,
        grammar,
    } = &args.source;
    let rule = match grammar {
        Some(path) => Some(Rule::Grammar(args.notation.compile(path)?)),
        None => read_rule(schema.as_deref(), regex.as_deref(), &args.options)?,
    };
    let tools = match &args.message.tools {
        Some(file) => read_tools(file)?,
        None => Vec::new(),
    };
    let schema = rule.as_ref().and_then(Rule::schema).cloned();
    let user = [json!({"role": "user", "content": args.prompt})];
    let prompt = match args.raw || loaded.chat.is_empty() {
        true => Prompt::Text(args.prompt.clone()),
        false => {
            let system = match (&args.system, &schema) {
                (Some(system), _) => Some(system.clone()),
                (None, Some(schema)) => Some(chatml::schema_system(schema)),
                (None, None) => None,
            };
            let written = match tools.is_empty() {
                true => write_chat(&loaded.chat, &[], system.as_deref(), &user),
                false => write_chat_with_tools(&loaded.chat, &tools, system.as_deref(), &user),
            };
            Prompt::Chat(
                written
                    .map_err(|error| Failure::new(format!("{error}; `--raw` goes without it")))?,
            )
        }
    };
    let written = match &prompt {
        Prompt::Text(text) | Prompt::Chat(text) => text.clone(),
        Prompt::Tokens(_) => String::new(),
    };
    let speech = match args.message.form(&loaded.chat) {
        Some(form) => {
            let (rule, options) = (rule.as_ref(), &args.options);
            Some(Speech::new(form, &user, &tools, rule, options, &written)?)
        }
        None => None,
    };
    let compiled = match (&speech, &rule) {
        _ if args.no_mask => None,
        (Some(speech), _) => Some(Compiled::of_tags(
            |vocabulary| speech.format.compile(vocabulary),
            &loaded.tokenizer,
        )?),
        (None, Some(rule)) => Some(Compiled::new(rule, &loaded.tokenizer)?),
        (None, None) => None,
    };
    let traced = args.trace.is_some();
    let listed = match traced {
        true => args.show_probabilities.max(TRACED_PROBABILITIES),
        false => args.show_probabilities,
    };
    let request = Request::new(prompt)
        .with_explanations(match traced {
            true => Explanations::Give,
            false => Explanations::Omit,
        })
        .with_max_tokens(args.max_tokens)
        .with_sampling(args.sampling.config())
        .with_show_probabilities(listed)
        .with_min_tokens(args.min_tokens)
        .with_stop_strings(args.stop.iter().cloned())
        .with_budget(match args.fit {
            true => TokenBudget::Complete,
            false => TokenBudget::Cut,
        })
        .with_forced(match args.no_forced {
            true => ForcedTokens::Draw,
            false => ForcedTokens::Append,
        });
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let mut screen = Screen::new(format, Marks::Colour, &loaded.tokenizer);
    screen.tables = args.show_probabilities > 0;
    let mut guide = compiled.as_ref().map(Compiled::guide);
    let generation = session
        .generate(
            &request,
            guide.as_deref_mut().map(|guide| guide as _),
            &mut |event| screen.show(event),
        )
        .map_err(|e| Failure::new(e.to_string()))?;
    if let Some(path) = &args.trace {
        let mut source = match (&schema, &args.source.regex) {
            (Some(schema), _) => json!({"schema": schema}),
            (None, Some(regex)) => json!({"regex": regex}),
            (None, None) => match &args.source.grammar {
                Some(path) => json!({"grammar": path}),
                None => json!({}),
            },
        };
        if !tools.is_empty() {
            source["tools"] = json!(tools);
        }
        trace::write(path, &args.prompt, source, &screen.steps, &generation)?;
    }
    // A text that was left because nobody reads it is no wrong answer of the model.
    screen.check()?;
    let mut text = format!("{}\n", screen.end());
    let mut json = describe(
        &generation,
        compiled.as_ref(),
        std::mem::take(&mut screen.steps),
    );
    if let Some(speech) = &speech {
        let said = loaded.tokenizer.decode_with_structure(&generation.tokens);
        let message = read_response(&speech.template, &written, &tools, &said)
            .map_err(|error| Failure::of("the answer", error))?;
        text += &format!("{message:#}\n");
        json["message"] = message;
    }
    let mut notes = figures(&generation, compiled.as_ref());
    if schema.is_some() && compiled.is_some() {
        // How much is forced depends on it.
        let style = args.options.style();
        notes += &format!("style: {style}\n");
        json["constraint"]["whitespace"] = json!(style);
    }
    Ok(Output {
        text,
        notes,
        json,
        verdict: Verdict::Good,
    })
}

/// A constraint ready for a model's vocabulary, with what it cost.
pub(crate) struct Compiled {
    index: Bound,
    pub(crate) time: Duration,
}

/// What a rule became for a vocabulary.
enum Bound {
    Schema(Arc<Index<SchemaAutomaton>>),
    Regex(Arc<Index>),
    Tags(Arc<Index<TagAutomaton>>),
    Grammar(Arc<Index<GrammarAutomaton>>),
}

impl Compiled {
    pub(crate) fn new(rule: &Rule, tokenizer: &Tokenizer) -> Result<Compiled, Failure> {
        let start = Instant::now();
        let vocabulary = tokenizer.vocabulary();
        let lazy = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let fail = |e| Failure::of("the constraint", e);
        let index = match rule {
            Rule::Schema(automaton, _) => {
                let automaton = SchemaAutomaton::clone(automaton);
                let index = Index::lazy(automaton, vocabulary, &lazy);
                Bound::Schema(Arc::new(index.map_err(fail)?))
            }
            Rule::Regex(regex) => {
                let config = Config::default();
                let index = Index::with_config(regex, vocabulary, &config, &lazy);
                Bound::Regex(Arc::new(index.map_err(fail)?))
            }
            Rule::Grammar(automaton) => {
                let index = Index::lazy(automaton.clone(), vocabulary, &lazy);
                Bound::Grammar(Arc::new(index.map_err(fail)?))
            }
        };
        Ok(Compiled {
            index,
            time: start.elapsed(),
        })
    }

    /// Of structural tags.
    pub(crate) fn of_tags(
        compile: impl FnOnce(&Vocabulary) -> Result<TagAutomaton, tokenmold::tags::Error>,
        tokenizer: &Tokenizer,
    ) -> Result<Compiled, Failure> {
        let start = Instant::now();
        let vocabulary = tokenizer.vocabulary();
        let lazy = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let automaton = compile(vocabulary).map_err(|e| Failure::new(e.to_string()))?;
        let index = Index::lazy(automaton, vocabulary, &lazy);
        let index = index.map_err(|e| Failure::of("the constraint", e))?;
        Ok(Compiled {
            index: Bound::Tags(Arc::new(index)),
            time: start.elapsed(),
        })
    }

    /// The states of a regular expression's automaton or of a grammar's parser, the nodes of
    /// a schema's automaton, or the parts of structural tags.
    pub(crate) fn size(&self) -> (usize, &'static str) {
        match &self.index {
            Bound::Schema(index) => (index.automaton().nodes(), "nodes"),
            Bound::Regex(index) => (index.automaton().state_count(), "states"),
            Bound::Tags(index) => (index.automaton().parts(), "parts"),
            Bound::Grammar(index) => (index.automaton().parser_states(), "states"),
        }
    }

    pub(crate) fn guide(&self) -> Box<dyn Constraint> {
        match &self.index {
            Bound::Schema(index) => Box::new(Guide::new(index.clone())),
            Bound::Regex(index) => Box::new(Guide::new(index.clone())),
            Bound::Tags(index) => Box::new(Guide::new(index.clone())),
            Bound::Grammar(index) => Box::new(Guide::new(index.clone())),
        }
    }

    fn stats(&self) -> IndexStats {
        match &self.index {
            Bound::Schema(index) => index.stats(),
            Bound::Regex(index) => index.stats(),
            Bound::Tags(index) => index.stats(),
            Bound::Grammar(index) => index.stats(),
        }
    }
}

/// How forced tokens are told from those that the model chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// By colour alone; without colours the text stays as it is.
    Colour,
    /// By colour, or by brackets without colours.
    Always,
}

/// Writes tokens as they come.
pub(crate) struct Screen<'t> {
    format: Format,
    marks: Marks,
    style: Style,
    in_forced: bool,
    /// Whether each token gets a table of its own instead of a running text.
    tables: bool,
    tokenizer: &'t Tokenizer,
    /// What machines get of each token.
    pub(crate) steps: Vec<Value>,
    /// Why nothing more can be shown.
    failed: Option<Failure>,
}

impl<'t> Screen<'t> {
    pub(crate) fn new(format: Format, marks: Marks, tokenizer: &'t Tokenizer) -> Self {
        Screen {
            format,
            marks,
            style: Style::for_stdout(),
            in_forced: false,
            tables: false,
            tokenizer,
            steps: Vec::new(),
            failed: None,
        }
    }

    /// Writes a piece of text, if there is still someone to read it.
    fn write(&mut self, text: &str) -> Flow {
        match write_out(text) {
            Ok(()) => Flow::Continue,
            Err(failure) => {
                self.failed = Some(failure);
                Flow::Stop
            }
        }
    }

    /// Whether all that was shown could be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) -> Flow {
        let token = match event {
            Event::Token(token) => token,
            Event::Rest(text) if self.format == Format::Text => {
                return self.write(text);
            }
            _ => return Flow::Continue,
        };
        let mut step = json!({ "token": token.token, "text": token.text, "forced": token.forced });
        if let Some(probabilities) = &token.probabilities {
            step["before"] = self.list(&probabilities.before);
            step["after"] = self.list(&probabilities.after);
        }
        if let Some(place) = &token.place {
            step["state"] = json!(place.state);
            step["at"] = json!(place.locations);
        }
        if let Some(explanation) = &token.explanation {
            let completion = explanation.completion.as_deref();
            step["allowed"] = json!(explanation.allowed);
            step["fitting"] = json!(explanation.fitting);
            step["of"] = json!(explanation.width);
            step["likeliest"] = self.list(&[explanation.likeliest])[0].take();
            step["refused"] = json!(explanation.refused);
            step["completion"] = json!(completion.map(String::from_utf8_lossy));
        }
        self.steps.push(step);
        if self.format == Format::Json {
            return Flow::Continue;
        }
        let shown = match (&token.probabilities, token.forced) {
            (Some(probabilities), _) if self.tables => self.table(token.token, probabilities),
            (None, true) if self.tables => {
                let text = self
                    .style
                    .paint(Paint::Forced, self.tokenizer.describe(token.token));
                format!("forced {text}\n")
            }
            (_, true) => self.style.paint(Paint::Forced, token.text),
            (_, false) => token.text.to_owned(),
        };
        let bracket = self.bracket(token.forced && !(self.tables && token.probabilities.is_some()));
        self.write(&format!("{bracket}{shown}"))
    }

    /// The bracket that begins or ends a run of forced tokens, if brackets are
    /// the marks.
    fn bracket(&mut self, forced: bool) -> &'static str {
        let brackets = self.marks == Marks::Always && !self.style.has_colour();
        match (std::mem::replace(&mut self.in_forced, forced), forced) {
            (false, true) if brackets => "«",
            (true, false) if brackets => "»",
            _ => "",
        }
    }

    /// What is left to print once the text has ended.
    pub(crate) fn end(&mut self) -> &'static str {
        self.bracket(false)
    }

    fn list(&self, tokens: &[tokenmold::sampling::Probability]) -> Value {
        let one = |p: &tokenmold::sampling::Probability| {
            json!({
                "token": p.token,
                "text": self.tokenizer.describe(p.token),
                "logit": p.logit,
                "probability": p.probability,
            })
        };
        tokens.iter().map(one).collect()
    }

    /// The most probable tokens of a step, side by side.
    fn table(&self, chosen: u32, probabilities: &Probabilities) -> String {
        let cell = |p: Option<&tokenmold::sampling::Probability>| match p {
            Some(p) => {
                let text = self.tokenizer.describe(p.token);
                format!("{:>6.1}%  {:<18}", p.probability * 100.0, cut(&text, 18))
            }
            None => " ".repeat(27),
        };
        let chosen = cut(&self.tokenizer.describe(chosen), 40);
        let heading = format!("chosen {chosen:<20}    before the mask              after the mask");
        let mut table = format!("{}\n", self.style.paint(Paint::Heading, heading));
        let rows = probabilities.before.len().max(probabilities.after.len());
        for i in 0..rows {
            let before = probabilities.before.get(i);
            let kept =
                before.is_some_and(|b| probabilities.after.iter().any(|a| a.token == b.token));
            let paint = if kept { Paint::Good } else { Paint::Bad };
            table += &format!(
                "{:27}    {}  {}\n",
                "",
                self.style.paint(paint, cell(before)),
                cell(probabilities.after.get(i)).trim_end()
            );
        }
        table
    }
}

/// At most `width` characters of `text`.
fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// How it ended and what it cost, for people.
pub(crate) fn figures(generation: &Generation, compiled: Option<&Compiled>) -> String {
    let timings = &generation.timings;
    let forced = generation.forced.iter().filter(|&&f| f).count();
    let mut lines = vec![format!(
        "{}: {} tokens ({forced} forced) in {:.0?}, {:.0} tokens a second; {} model steps, prompt of {} tokens in {:.0?}",
        ending(generation),
        generation.tokens.len(),
        timings.total.saturating_sub(timings.prefill),
        generation.tokens_per_second(),
        generation.steps,
        generation.prompt_tokens,
        timings.prefill,
    )];
    if let Some(compiled) = compiled {
        let stats = compiled.stats();
        let each = timings.mask / u32::try_from(generation.masks.max(1)).unwrap_or(u32::MAX);
        let (size, unit) = compiled.size();
        lines.push(format!(
            "constraint: compiled in {:.1?}, {size} {unit}; {} masks of {:.1?} on average, {} distinct rows of {} bytes in all",
            compiled.time, generation.masks, each, stats.rows, stats.row_bytes,
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn ending(generation: &Generation) -> &'static str {
    match (generation.finish, generation.complete) {
        (Finish::Length, false) => "incomplete (max_tokens reached)",
        (Finish::Context, false) => "incomplete (the model's context is full)",
        (_, false) => "incomplete",
        (Finish::Length, true) => "max_tokens reached",
        (_, true) => "complete",
    }
}

pub(crate) fn describe(
    generation: &Generation,
    compiled: Option<&Compiled>,
    steps: Vec<Value>,
) -> Value {
    let timings = &generation.timings;
    let mut described = json!({
        "text": generation.text,
        "value": serde_json::from_str::<Value>(&generation.text).ok(),
        "complete": generation.complete,
        "finish": format!("{:?}", generation.finish),
        "prompt_tokens": generation.prompt_tokens,
        "tokens": steps,
        "forced_tokens": generation.forced.iter().filter(|&&forced| forced).count(),
        "model_steps": generation.steps,
        "tokens_per_second": generation.tokens_per_second(),
        "seconds": {
            "prefill": timings.prefill.as_secs_f64(),
            "forward": timings.forward.as_secs_f64(),
            "mask": timings.mask.as_secs_f64(),
            "advance": timings.advance.as_secs_f64(),
            "sampling": timings.sampling.as_secs_f64(),
            "total": timings.total.as_secs_f64(),
        },
    });
    if let Some(compiled) = compiled {
        let stats = compiled.stats();
        described["constraint"] = json!({
            "compile_seconds": compiled.time.as_secs_f64(),
            compiled.size().1: compiled.size().0,
            "masks": generation.masks,
            "rows": stats.rows,
            "row_bytes": stats.row_bytes,
        });
    }
    described
}
