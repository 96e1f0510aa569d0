//! From formats to the graph of parts.
//!
//! For example, `{"type": "tag", "begin": "<a>", ..}` becomes a sequence of three nodes.

use std::sync::Arc;

use foldhash::HashMap;
use fsm_index::{ByteAutomaton, ByteDfa, TokenId, TokenKind, Vocabulary};
use grammar::{Config, Dialect, Grammar, GrammarAutomaton};
use schema_regex::automaton::SchemaAutomaton;

use super::format::limits::TagLimits;
use super::format::{
    End, Few, Format, JsonFormat, Mark, Style, TagFormat, TokenName, TokenRef, at, malformed,
    refused, rewritten, schema,
};
use super::xml;
use crate::Error;
use crate::build::{Node, RunNode, build_with_rules, dfa, special_names};
use crate::machine::TagAutomaton;

/// The most parts, because classes of characters are numbered by parts in 16 bits.
const MOST_PARTS: usize = 65_000;

/// The bytes of automata of regular expressions behind which no further one is made, because a
/// second makes some four times as many.
const REGEX_BYTES: usize = 32 << 20;

/// The automaton of a format.
pub(super) fn compile(
    format: &Format,
    limits: &TagLimits,
    vocabulary: &Vocabulary,
) -> Result<TagAutomaton, Error> {
    let mut lowering = Lowering {
        limits,
        vocabulary,
        rules: Vec::new(),
        known: Compiled::default(),
    };
    let node = lowering.node(format, &Enclosing::default())?;
    let names = special_names(vocabulary, false);
    build_with_rules(
        &node,
        &lowering.rules,
        &names,
        limits.max_parts.min(MOST_PARTS),
    )
}

struct Lowering<'a> {
    limits: &'a TagLimits,
    vocabulary: &'a Vocabulary,
    /// Values that nest in themselves.
    rules: Vec<Node>,
    known: Compiled,
}

/// The automata that were compiled for formats, so that equal ones share it: their parts then are equal, too.
#[derive(Default)]
struct Compiled {
    /// By schema and how it is written.
    json: HashMap<String, Arc<SchemaAutomaton>>,
    regexes: HashMap<String, Arc<ByteDfa>>,
    /// The bytes of their automata.
    regex_bytes: usize,
    grammars: HashMap<String, Arc<GrammarAutomaton>>,
}

/// The nearest tag around a format.
#[derive(Clone, Default)]
struct Enclosing {
    /// Its ends, those that are strings and not empty.
    ends: Vec<String>,
    /// Its end, if that is a token.
    token: Option<String>,
}

impl Lowering<'_> {
    fn node(&mut self, format: &Format, around: &Enclosing) -> Result<Node, Error> {
        Ok(match format {
            Format::Const(text) => Node::text(text.clone()),
            Format::Text {
                excludes,
                max_tokens,
                max_chars,
            } => text(excludes.iter().chain(&around.ends), *max_tokens, *max_chars),
            Format::Json(json) => match json.style {
                Style::Json => self.json(json)?,
                _ => xml::node(json, self.limits, &mut self.rules)?,
            },
            Format::Regex { pattern, at } => self.regex(pattern, at)?,
            Format::Grammar { text, at } => self.grammar(text, at)?,
            Format::Sequence(all) => {
                let all = all.iter().map(|one| self.node(one, around));
                Node::sequence(all.collect::<Result<_, Error>>()?)
            }
            Format::Or(all) => {
                let all = all.iter().map(|one| self.node(one, around));
                Node::one_of(all.collect::<Result<_, Error>>()?)
            }
            Format::Optional(one) => self.node(one, around)?.times(0, Some(1)),
            Format::Plus(one) => self.node(one, around)?.times(1, None),
            Format::Star(one) => self.node(one, around)?.times(0, None),
            Format::At(at, one) => Node::At(at.clone(), Box::new(self.node(one, around)?)),
            Format::Repeat {
                least,
                most,
                content,
            } => {
                self.check_count((*least).max(most.unwrap_or(0)))?;
                let content = self.node(content, around)?;
                content.times(*least as usize, most.map(|most| most as usize))
            }
            Format::Tag(tag) => self.tag(tag, None)?,
            Format::Separated {
                tags,
                separator,
                count,
            } => self.separated(tags, separator, *count)?,
            Format::Triggered {
                triggers,
                tags,
                excludes,
                count,
            } => self.triggered(triggers, tags, excludes, *count, around)?,
            Format::Dispatch {
                rules,
                again,
                excludes,
            } => {
                let triggers = self.text_rules(rules, around)?;
                Node::Run(Box::new(RunNode {
                    triggers,
                    again: *again,
                    utf8: false,
                    ..RunNode::without(excludes.iter().cloned())
                }))
            }
            Format::Token(token) => Node::Special(self.token(token)?),
            Format::ExcludeToken(excluded) => {
                let excluded = self.excluded(excluded, around.token.as_ref())?;
                self.tokens(excluded, 1, Some(1))
            }
            Format::AnyTokens { most: Some(0), .. } => Node::nothing(),
            Format::AnyTokens { excluded, most } => {
                let excluded = self.excluded(excluded, around.token.as_ref())?;
                self.tokens(excluded, 0, *most)
            }
            Format::TokenTriggered {
                triggers,
                tags,
                excluded,
                count,
            } => self.token_triggered(triggers, tags, excluded, *count, around)?,
            Format::TokenDispatch {
                rules,
                again,
                excluded,
            } => {
                let mut out = self.excluded(excluded, None)?;
                let then = self.token_rules(rules, &out, around)?;
                out.extend(then.iter().map(|(name, _)| name.clone()));
                let free = self.tokens(out, 0, None);
                let then = then
                    .into_iter()
                    .map(|(name, node)| Node::Seq(vec![Node::Special(name), node]));
                let then = Node::Alt(then.collect());
                around_tokens(free, then, Few::default(), *again)
            }
        })
    }

    fn json(&mut self, json: &JsonFormat) -> Result<Node, Error> {
        let JsonFormat {
            schema,
            style: _,
            any_order,
            max_space,
            excludes,
            at: _,
        } = json;
        let key = format!("{any_order} {max_space:?} {excludes:?} {schema}");
        let automaton = match self.known.json.get(&key) {
            Some(known) => known.clone(),
            None => Arc::new(schema::automaton(json, self.limits)?),
        };
        self.known.json.insert(key, automaton.clone());
        Ok(Node::Json(automaton, Vec::new()))
    }

    fn regex(&mut self, pattern: &str, at: &str) -> Result<Node, Error> {
        let dfa = match self.known.regexes.get(pattern) {
            Some(known) => known.clone(),
            None if self.known.regex_bytes > REGEX_BYTES => {
                let most = REGEX_BYTES >> 20;
                return Err(refused(
                    at,
                    format!(
                        "the regular expressions before it have more than {most} MiB of states"
                    ),
                ));
            }
            None => Arc::new(regex(pattern, at)?),
        };
        self.known.regex_bytes += match self.known.regexes.contains_key(pattern) {
            true => 0,
            false => dfa.memory(),
        };
        self.known.regexes.insert(pattern.to_owned(), dfa.clone());
        Ok(Node::Dfa(dfa))
    }

    fn grammar(&mut self, text: &str, at: &str) -> Result<Node, Error> {
        let automaton = match self.known.grammars.get(text) {
            Some(known) => known.clone(),
            None => Arc::new(grammar(text, &self.limits.grammar, at)?),
        };
        self.known
            .grammars
            .insert(text.to_owned(), automaton.clone());
        Ok(Node::Grammar(automaton))
    }

    fn check_count(&self, counted: u32) -> Result<(), Error> {
        let most = self.limits.max_repeat;
        if counted > most {
            return Err(Error::new(
                crate::ErrorKind::Constraint,
                format!(
                    "a repeat counts to {counted}; the limit is {most} (TagLimits::max_repeat)"
                ),
            ));
        }
        Ok(())
    }

    /// Tags one after another, with a text between them.
    fn separated(
        &mut self,
        tags: &[TagFormat],
        separator: &str,
        count: Few,
    ) -> Result<Node, Error> {
        let tags = self.tags(tags.iter())?;
        let tags = match count.stop_after_first {
            true => tags,
            false => Node::many(tags, separator),
        };
        Ok(match count.at_least_one {
            true => tags,
            false => Node::optional(tags),
        })
    }

    /// The texts that begin a rule of a dispatch, each with what may follow it.
    fn text_rules(
        &mut self,
        rules: &[(String, Format)],
        around: &Enclosing,
    ) -> Result<Vec<(Vec<u8>, Node)>, Error> {
        let mut triggers: Vec<(Vec<u8>, Node)> = Vec::new();
        for (pattern, then) in rules {
            let node = self.node(then, around)?;
            let mut known = triggers.iter_mut();
            match known.find(|(known, _)| *known == pattern.as_bytes()) {
                Some((_, Node::Alt(all))) => all.push(node),
                _ => triggers.push((pattern.as_bytes().to_vec(), Node::Alt(vec![node]))),
            }
        }
        Ok(triggers)
    }

    /// The tokens that begin a rule of a dispatch, each with what follows it; those that may not
    /// come are left out.
    fn token_rules(
        &mut self,
        rules: &[(TokenRef, Format)],
        excluded: &[String],
        around: &Enclosing,
    ) -> Result<Vec<(String, Node)>, Error> {
        let mut then = Vec::new();
        for (token, rule) in rules {
            let name = self.token(token)?;
            let node = self.node(rule, around)?;
            if !excluded.contains(&name) {
                then.push((name, node));
            }
        }
        Ok(then)
    }

    /// A tag; without what a trigger has spelt already of its beginning, if there is one.
    fn tag(&mut self, tag: &TagFormat, trigger: Option<&str>) -> Result<Node, Error> {
        let begin = match &tag.begin {
            Mark::Text(text) => {
                let rest = trigger.and_then(|trigger| text.strip_prefix(trigger));
                Node::text(rest.unwrap_or(text))
            }
            Mark::Token(token) => Node::Special(self.token(token)?),
        };
        let (end, around) = match &tag.end {
            End::Texts(texts) => {
                let ends = texts.iter().filter(|text| !text.is_empty());
                let around = Enclosing {
                    ends: ends.cloned().collect(),
                    token: None,
                };
                (Node::Alt(texts.iter().map(Node::text).collect()), around)
            }
            End::Token(token) => {
                let name = self.token(token)?;
                let around = Enclosing {
                    ends: Vec::new(),
                    token: Some(name.clone()),
                };
                (Node::Special(name), around)
            }
        };
        let content = self.node(&tag.content, &around)?;
        Ok(Node::Seq(vec![begin, content, end]))
    }

    fn tags<'t>(&mut self, tags: impl Iterator<Item = &'t TagFormat>) -> Result<Node, Error> {
        let tags: Result<Vec<Node>, Error> = tags.map(|tag| self.tag(tag, None)).collect();
        Ok(Node::one_of(tags?))
    }

    fn triggered(
        &mut self,
        triggers: &[String],
        tags: &[TagFormat],
        excludes: &[String],
        count: Few,
        around: &Enclosing,
    ) -> Result<Node, Error> {
        let mut then = Vec::new();
        for trigger in triggers {
            let mut mine = Vec::new();
            for tag in tags {
                if matches!(&tag.begin, Mark::Text(begin) if begin.starts_with(trigger)) {
                    mine.push(self.tag(tag, Some(trigger))?);
                }
            }
            if !mine.is_empty() {
                then.push((trigger.as_bytes().to_vec(), Node::one_of(mine)));
            }
        }
        Ok(Node::Run(Box::new(RunNode {
            triggers: then,
            again: !count.stop_after_first,
            begins: count.at_least_one,
            utf8: false,
            ..RunNode::without(excludes.iter().chain(&around.ends).cloned())
        })))
    }

    fn token_triggered(
        &mut self,
        triggers: &[TokenRef],
        tags: &[TagFormat],
        excluded: &[TokenRef],
        count: Few,
        around: &Enclosing,
    ) -> Result<Node, Error> {
        let mut names = Vec::new();
        for trigger in triggers {
            names.push(self.token(trigger)?);
        }
        let mut used = vec![false; names.len()];
        let mut then = Vec::new();
        let mut out = self.excluded(excluded, around.token.as_ref())?;
        for tag in tags {
            let Mark::Token(begin) = &tag.begin else {
                return Err(malformed(
                    &format!("{}/begin", tag.at),
                    "a tag that a token triggers begins with a token",
                ));
            };
            let name = self.token(begin)?;
            let mut mine = (0..names.len()).filter(|at| names[*at] == name);
            match (mine.next(), mine.next()) {
                (Some(one), None) => used[one] = true,
                (None, _) => return Err(malformed(&tag.at, "no trigger is the tag's beginning")),
                _ => return Err(malformed(&tag.at, "more than one trigger is its beginning")),
            }
            let node = self.tag(tag, None)?;
            then.push((name, node));
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            return Err(malformed(
                &triggers[unused].at,
                "no tag begins with this trigger",
            ));
        }
        // A trigger that is excluded is not reached by free tokens.
        let is_met = |name: &String| count.at_least_one || !out.contains(name);
        let then: Vec<Node> = then
            .iter()
            .filter(|(name, _)| is_met(name))
            .map(|(_, node)| node.clone())
            .collect();
        out.extend(names);
        let free = self.tokens(out, 0, None);
        Ok(around_tokens(
            free,
            Node::Alt(then),
            count,
            !count.stop_after_first,
        ))
    }

    fn tokens(&self, mut excluded: Vec<String>, least: u32, most: Option<u32>) -> Node {
        excluded.sort_unstable();
        excluded.dedup();
        // The text that is appended when one token more is needed.
        let texts = self.vocabulary.texts().map(|(_, bytes)| bytes);
        let filler = texts.filter(|bytes| !bytes.is_empty()).min_by_key(|bytes| {
            let is_plain = bytes.iter().all(|byte| byte.is_ascii_graphic());
            (!is_plain, bytes.len())
        });
        Node::Tokens {
            excluded,
            least,
            most,
            filler: filler.unwrap_or_default().into(),
        }
    }

    fn excluded(&self, tokens: &[TokenRef], end: Option<&String>) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = Vec::new();
        for token in tokens {
            names.push(self.token(token)?);
        }
        names.extend(end.cloned());
        Ok(names)
    }

    /// The name of a special token.
    fn token(&self, token: &TokenRef) -> Result<String, Error> {
        let vocabulary = self.vocabulary;
        let known = |name: &str| vocabulary.special(name);
        let id = match &token.name {
            TokenName::Text(name) if known(name).is_some() => return Ok(name.clone()),
            TokenName::Text(name) => {
                let mut texts = vocabulary.texts();
                match texts.find(|(_, bytes)| *bytes == name.as_bytes()) {
                    Some((id, _)) => id,
                    None => {
                        return Err(malformed(
                            &token.at,
                            format!("the vocabulary has no token {name:?}"),
                        ));
                    }
                }
            }
            TokenName::Id(id) => TokenId::new(*id),
        };
        let name = vocabulary
            .token_name(id)
            .and_then(|name| std::str::from_utf8(name).ok());
        match (vocabulary.kind(id), name) {
            (TokenKind::Absent, _) => Err(malformed(
                &token.at,
                format!("the vocabulary has no token {id}"),
            )),
            (TokenKind::Special | TokenKind::End, Some(name)) if known(name) == Some(id) => {
                Ok(name.to_owned())
            }
            _ => Err(refused(
                &token.at,
                format!(
                    "token {id} is text in this vocabulary, or has another token's name: formats \
                     of tokens know special tokens alone; make it one when the vocabulary is built"
                ),
            )),
        }
    }
}

/// Free text without some strings, of so many tokens and characters at most.
fn text<'t>(
    excludes: impl Iterator<Item = &'t String>,
    max_tokens: Option<u32>,
    max_chars: Option<u32>,
) -> Node {
    if max_tokens == Some(0) || max_chars == Some(0) {
        return Node::nothing();
    }
    Node::Run(Box::new(RunNode {
        max_tokens,
        max_chars,
        ..RunNode::without(excludes.cloned())
    }))
}

/// A text that matches a regular expression as formats write it.
fn regex(pattern: &str, place: &str) -> Result<ByteDfa, Error> {
    let translated = rewritten(pattern)
        .map_err(|what| malformed(place, format!("the regex {pattern:?}: {what}")))?;
    dfa(&translated).map_err(|error| at(place, error))
}

/// The automaton of a grammar in XGrammar's EBNF. In a tag special tokens are the tag's own.
fn grammar(text: &str, config: &Config, place: &str) -> Result<GrammarAutomaton, Error> {
    let automaton = Grammar::compile(text, Dialect::Ebnf, config)
        .map_err(|error| malformed(place, format!("the grammar: {error}")))?;
    match automaton.parts().special_names.names {
        [] => Ok(automaton),
        names => {
            let names = names.join(", ");
            Err(refused(
                place,
                format!("special tokens in a grammar ({names}): write formats of tokens beside it"),
            ))
        }
    }
}

/// Free tokens, and what tokens among them lead to.
fn around_tokens(free: Node, then: Node, count: Few, again: bool) -> Node {
    match (count.at_least_one, again) {
        (true, true) => Node::many(Node::Seq(vec![then, free]), ""),
        (true, false) => then,
        (false, true) => {
            let more = Node::many(Node::Seq(vec![then, free.clone()]), "");
            Node::Seq(vec![free, Node::optional(more)])
        }
        (false, false) => Node::Seq(vec![free, Node::optional(then)]),
    }
}
