//! The calls of EBNF: for example `Regex("[a-z]+")`, `Substring(..)`, `TagDispatch(..)`.

use crate::dialects::ast::Expr;
use crate::dialects::ebnf::EbnfParser;
use crate::error::Error;
use crate::patterns::{Reading, translate};

/// An argument's value.
#[derive(Clone, Debug)]
enum Argument {
    Text(String),
    Number(u32),
    Bool(bool),
    Name(String),
    Tuple(Vec<Argument>),
}

impl EbnfParser<'_> {
    /// A call, behind its name.
    pub(crate) fn call(&mut self, name: &str, at: usize) -> Result<Expr, Error> {
        let (plain, named) = self.arguments()?;
        match name {
            "Regex" => self.regex(&plain, &named, at),
            "Substring" => {
                let chunks = plain.into_iter().map(|value| match value {
                    Argument::Text(text) => Ok(text),
                    _ => self.r.fail_at(at, "`Substring` takes strings"),
                });
                let chunks = chunks.collect::<Result<_, _>>()?;
                Ok(Expr::Substring { chunks, at })
            }
            "TagDispatch" => self.dispatch(plain, &named, at),
            "Token" => {
                let numbers = plain.iter().map(|value| match value {
                    Argument::Number(number) => Ok(number.to_string()),
                    _ => self
                        .r
                        .fail_at(at, "`Token` takes the numbers of special tokens"),
                });
                let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
                self.r.numbered_tokens(&numbers.join(","), at)
            }
            "ExcludeToken" | "TokenTagDispatch" => {
                let format = match name {
                    "ExcludeToken" => "exclude_token",
                    _ => "token_dispatch",
                };
                self.r.refuse_any_token(at, [name, "Token(128010)", format])
            }
            _ => self.r.fail_at(at, format!("unknown macro `{name}`")),
        }
    }

    #[allow(clippy::type_complexity)]
    fn arguments(&mut self) -> Result<(Vec<Argument>, Vec<(String, Argument)>), Error> {
        let (mut plain, mut named) = (Vec::new(), Vec::new());
        self.r.take("(");
        loop {
            self.space(true);
            let at = self.r.at;
            if let Some(name) = self.name() {
                self.space(true);
                if self.r.take("=") {
                    self.space(true);
                    let value = self.value()?;
                    named.push((name, value));
                } else {
                    self.r.at = at;
                    plain.push(self.value()?);
                }
            } else {
                plain.push(self.value()?);
            }
            self.space(true);
            if self.r.ends(")")? {
                return Ok((plain, named));
            }
        }
    }

    fn value(&mut self) -> Result<Argument, Error> {
        match self.r.peek() {
            Some('"') => self.literal().map(Argument::Text),
            Some('(') => {
                self.r.enter()?;
                self.r.next();
                let mut values = Vec::new();
                loop {
                    self.space(true);
                    if self.r.take(")") {
                        self.r.leave();
                        return Ok(Argument::Tuple(values));
                    }
                    values.push(self.value()?);
                    self.space(true);
                    if !self.r.take(",") && self.r.peek() != Some(')') {
                        return self.r.expected("`,` or `)`");
                    }
                }
            }
            Some(c) if c.is_ascii_digit() => self.r.count().map(Argument::Number),
            _ => match self.name() {
                Some(name) if name == "true" => Ok(Argument::Bool(true)),
                Some(name) if name == "false" => Ok(Argument::Bool(false)),
                Some(name) => Ok(Argument::Name(name)),
                None => self.r.expected("a value"),
            },
        }
    }

    fn regex(
        &mut self,
        plain: &[Argument],
        named: &[(String, Argument)],
        at: usize,
    ) -> Result<Expr, Error> {
        let [Argument::Text(pattern)] = plain else {
            return self.r.fail_at(at, "`Regex` takes one string");
        };
        let mut flags = None;
        let mut in_json = false;
        for (name, value) in named {
            match (name.as_str(), value) {
                ("flags", Argument::Text(text)) => flags = Some(text.clone()),
                ("json_string", Argument::Bool(is)) => in_json = *is,
                _ => {
                    return self.r.fail_at(
                        at,
                        format!(
                            "`Regex` takes `flags=\"..\"` and `json_string=true`, not `{name}`"
                        ),
                    );
                }
            }
        }
        // Without flags a dot takes a line break, too.
        let flags = flags.unwrap_or_else(|| "s".to_owned());
        if let Some(flag) = flags.chars().find(|&c| !"isu".contains(c)) {
            return self
                .r
                .fail_at(at, format!("unknown flag `{flag}` of a regular expression"));
        }
        let pattern =
            translate(pattern, &flags, Reading::Ascii).map_err(|error| self.r.place(error, at))?;
        let regex = Expr::Regex { pattern, at };
        Ok(match in_json {
            // The characters that may stand in a JSON string as they are.
            true => {
                let within = Expr::Regex {
                    pattern: r#"(?s:[^"\\\x00-\x1F]*)"#.to_owned(),
                    at,
                };
                Expr::And(vec![regex, within])
            }
            false => regex,
        })
    }

    fn dispatch(
        &mut self,
        plain: Vec<Argument>,
        named: &[(String, Argument)],
        at: usize,
    ) -> Result<Expr, Error> {
        let wrong = "`TagDispatch` takes pairs `(\"tag\", rule)`";
        let mut tags = Vec::new();
        for value in plain {
            match value {
                Argument::Tuple(pair) => match &pair[..] {
                    [Argument::Text(tag), Argument::Name(rule)] if !tag.is_empty() => {
                        tags.push((tag.clone(), rule.clone()));
                    }
                    _ => return self.r.fail_at(at, wrong),
                },
                _ => return self.r.fail_at(at, wrong),
            }
        }
        let (mut loops, mut excludes) = (true, Vec::new());
        for (name, value) in named {
            match (name.as_str(), value) {
                ("loop_after_dispatch", Argument::Bool(is)) => loops = *is,
                ("excludes", Argument::Tuple(texts)) => {
                    for text in texts {
                        match text {
                            Argument::Text(text) if !text.is_empty() => excludes.push(text.clone()),
                            _ => return self.r.fail_at(at, "`excludes` takes strings"),
                        }
                    }
                }
                _ => {
                    return self.r.fail_at(
                        at,
                        format!("`TagDispatch` has no option `{name}` of this form"),
                    );
                }
            }
        }
        Ok(Expr::Dispatch {
            tags,
            loops,
            excludes,
            at,
        })
    }
}
