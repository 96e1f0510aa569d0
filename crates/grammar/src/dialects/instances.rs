//! Rules that stand for many: templates of Lark, and rules with a number as their parameter. Each use
//! becomes a rule of its own, once. For example, of `pair{x}: x "," x` the use `pair{NUMBER}` becomes
//! the rule ``pair{NUMBER}``, and of `a::_: "a" a::incr(_) %if lt(_, 2)` the use `a::0` becomes the rules
//! `a::0`, `a::1` and `a::2`.
//!
//! They are written out rather than kept as states of the parser, as llguidance does: a parser by a
//! table has all its rules at hand, and a number of 64 bits has few values in what people write.

use std::collections::{HashMap, HashSet};

use crate::dialects::ast::{Arguments, Expr, Parameters, Rule, Template, Tree};
use crate::error::{Error, ErrorKind};

/// The steps that one part of an instance costs, because it takes some hundred bytes: with the default
/// limit they stay below 100 MiB.
const STEPS_OF_A_PART: usize = 40;

/// The values of the parameters inside of one instance.
enum Values {
    /// The rule has none.
    None,
    Named(HashMap<String, Expr>),
    Number(u64),
}

/// Writes out all uses of templates in a tree.
///
/// # Errors
///
/// Names and numbers of arguments that do not fit, and `max_work`.
pub(crate) fn write_out(tree: &mut Tree, text: &str, max_work: usize) -> Result<(), Error> {
    let templates = std::mem::take(&mut tree.templates);
    let by_name = templates.iter().map(|one| (one.name.as_str(), one));
    let mut writer = Writer {
        templates: by_name.collect(),
        text,
        known: HashSet::new(),
        open: Vec::new(),
        made: Vec::new(),
        max_work,
        work: 0,
    };
    if writer.templates.is_empty() && !tree.has_uses {
        return Ok(());
    }
    for rule in &mut tree.rules {
        let body = std::mem::replace(&mut rule.body, Expr::Empty);
        rule.body = writer
            .expr(&body, &Values::None)
            .map_err(|error| error.in_rule(&rule.name))?;
    }
    while let Some((name, template, values)) = writer.open.pop() {
        let body = writer
            .expr(&template.body, &values)
            .map_err(|error| error.in_rule(&template.name))?;
        writer.made.push(Rule {
            name,
            at: template.at,
            body,
            kind: template.kind.clone(),
            host: template.host.clone(),
        });
    }
    for rule in writer.made {
        tree.by_name.insert(rule.name.clone(), tree.rules.len());
        tree.rules.push(rule);
    }
    Ok(())
}

struct Writer<'t> {
    templates: HashMap<&'t str, &'t Template>,
    text: &'t str,
    /// The instances by template and arguments.
    known: HashSet<String>,
    /// Instances whose bodies are still to be written.
    open: Vec<(String, &'t Template, Values)>,
    made: Vec<Rule>,
    max_work: usize,
    work: usize,
}

impl Writer<'_> {
    fn fail<T>(&self, at: usize, message: String) -> Result<T, Error> {
        Err(Error::new(ErrorKind::Name, message).at(self.text, at))
    }

    /// Writes out the uses in an expression; the parameters are replaced by their values.
    fn expr(&mut self, expr: &Expr, values: &Values) -> Result<Expr, Error> {
        self.work += STEPS_OF_A_PART;
        if self.work > self.max_work {
            let what = "steps to write out templates and parametric rules";
            return Err(Error::limit("max_work", what, self.max_work));
        }
        let mut all = |parts: &[Expr]| -> Result<Vec<Expr>, Error> {
            parts.iter().map(|part| self.expr(part, values)).collect()
        };
        Ok(match expr {
            Expr::Seq(parts) => Expr::Seq(all(parts)?),
            Expr::Alt(parts) => Expr::Alt(all(parts)?),
            Expr::And(parts) => Expr::And(all(parts)?),
            Expr::Not(of) => Expr::Not(Box::new(self.expr(of, values)?)),
            Expr::Repeat { of, min, max } => self.expr(of, values)?.repeat(*min, *max),
            Expr::If { condition, of } => match values {
                Values::Number(own) if condition.holds(*own) => self.expr(of, values)?,
                // An alternative that takes nothing.
                Values::Number(_) => Expr::Class(Vec::new()),
                _ => {
                    return Err(Error::new(
                        ErrorKind::Syntax,
                        "`%if` asks for the parameter of a rule that has none: write `::_` behind its name",
                    ));
                }
            },
            Expr::Name { name, at } => {
                if let Values::Named(given) = values
                    && let Some(given) = given.get(name)
                {
                    self.work += format!("{given:?}").len();
                    return Ok(given.clone());
                }
                if let Some(template) = self.templates.get(name.as_str()) {
                    let (what, how) = match template.parameters {
                        Parameters::Named(_) => ("a template", format!("{name}{{..}}")),
                        Parameters::Number => ("a parametric rule", format!("{name}::0")),
                    };
                    return self.fail(*at, format!("`{name}` is {what}: write `{how}`"));
                }
                expr.clone()
            }
            Expr::Use {
                name,
                arguments,
                at,
            } => self.instance(name, arguments, *at, values)?,
            _ => expr.clone(),
        })
    }

    /// Returns the name of the instance that a use stands for; its body is written later, so that
    /// rules may use themselves.
    fn instance(
        &mut self,
        name: &str,
        arguments: &Arguments,
        at: usize,
        values: &Values,
    ) -> Result<Expr, Error> {
        // A parameter may be the name of a template.
        let name = match values {
            Values::Named(given) => match given.get(name) {
                Some(Expr::Name { name, .. }) => name,
                Some(_) => return self.fail(at, format!("`{name}` is no name of a template")),
                None => name,
            },
            _ => name,
        };
        let Some(&template) = self.templates.get(name) else {
            return self.fail(
                at,
                format!("`{name}` is no template, and takes no arguments"),
            );
        };
        let (key, values) = match (&template.parameters, arguments) {
            (Parameters::Named(names), Arguments::Given(given)) => {
                if names.len() != given.len() {
                    let (takes, has) = (names.len(), given.len());
                    let message = format!("`{name}` takes {takes} arguments, and has {has}");
                    return self.fail(at, message);
                }
                let given: Vec<Expr> = given
                    .iter()
                    .map(|part| match part {
                        // A template is handed on by its name.
                        Expr::Name { name, .. } if self.templates.contains_key(&**name) => {
                            Ok(part.clone())
                        }
                        _ => self.expr(part, values),
                    })
                    .collect::<Result<_, _>>()?;
                let all: Vec<String> = given.iter().map(Expr::to_string).collect();
                let mut key = format!("{name}{{{}}}", all.join(", "));
                // Two schemas are shown alike.
                for place in given.iter().flat_map(Expr::values) {
                    key.push_str(&format!("@{place}"));
                }
                (
                    key,
                    Values::Named(names.iter().cloned().zip(given).collect()),
                )
            }
            (Parameters::Number, Arguments::Number(number)) => {
                let own = match values {
                    Values::Number(own) => Some(*own),
                    _ => None,
                };
                let Some(number) = number.value(own) else {
                    let message = format!(
                        "`{name}::..` asks for the parameter of a rule that has none: write a number"
                    );
                    return self.fail(at, message);
                };
                (format!("{name}::{number}"), Values::Number(number))
            }
            (Parameters::Named(_), _) => {
                return self.fail(at, format!("`{name}` is a template: write `{name}{{..}}`"));
            }
            (Parameters::Number, _) => {
                let message = format!("`{name}` is a parametric rule: write `{name}::0`");
                return self.fail(at, message);
            }
        };
        self.work += key.len();
        if self.known.insert(key.clone()) {
            self.open.push((key.clone(), template, values));
        }
        Ok(Expr::Name { name: key, at })
    }
}
