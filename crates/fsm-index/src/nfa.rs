//! Thompson's construction (Ken Thompson, "Regular Expression Search
//! Algorithm", CACM 11(6), 1968) over sets of symbols instead of bytes: a
//! Unicode class is one transition, so a counted repetition of it costs one
//! state a repetition.

use std::collections::HashMap;

use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

use crate::dfa::{Config, Symbols};
use crate::{Error, ErrorKind};

/// Inclusive ranges of symbols (code points or bytes), sorted and disjoint.
pub(crate) type Ranges = Box<[(u32, u32)]>;

/// A number into [`Nfa::sets`].
pub(crate) type SetId = u32;

/// A number into [`Nfa::states`].
pub(crate) type NfaId = u32;

#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Takes a symbol of the set.
    Symbol { set: SetId, next: NfaId },
    /// Goes both ways without taking a symbol.
    Split(NfaId, NfaId),
    /// Passes only before the first symbol.
    AtStart(NfaId),
    /// Passes only after the last symbol.
    AtEnd(NfaId),
    /// Accepts.
    Match,
}

#[derive(Debug)]
pub(crate) struct Nfa {
    pub(crate) states: Vec<State>,
    pub(crate) sets: Vec<Ranges>,
    pub(crate) start: NfaId,
}

/// Parses `pattern` and builds its automaton.
pub(crate) fn compile(pattern: &str, config: &Config) -> Result<Nfa, Error> {
    let ast = ast::parse::ParserBuilder::new()
        .nest_limit(config.nest_limit)
        .build()
        .parse(pattern)
        .map_err(|e| syntax_error(e.kind().to_string(), *e.span()))?;
    if let Some(span) = find_unsupported(&ast) {
        let text = &pattern[span.start.offset..span.end.offset];
        return Err(Error::at(
            ErrorKind::Unsupported,
            span.start.offset,
            format!(
                "`{text}` at byte {} looks at its neighbours, which a token mask cannot wait for; \
                 only the anchors `^`, `$`, `\\A` and `\\z` are supported",
                span.start.offset
            ),
        ));
    }
    let hir = regex_syntax::hir::translate::TranslatorBuilder::new()
        .utf8(config.symbols == Symbols::Chars)
        .build()
        .translate(pattern, &ast)
        .map_err(|e| syntax_error(e.kind().to_string(), *e.span()))?;
    let mut builder = Builder {
        states: vec![State::Match],
        sets: Vec::new(),
        ids: HashMap::new(),
        config,
    };
    let start = builder.hir(&hir, 0)?;
    Ok(Nfa {
        states: builder.states,
        sets: builder.sets,
        start,
    })
}

#[cold]
fn syntax_error(what: String, span: ast::Span) -> Error {
    let offset = span.start.offset;
    Error::at(
        ErrorKind::Syntax,
        offset,
        format!("bad regular expression at byte {offset}: {what}"),
    )
}

/// The first assertion that is not a plain anchor.
fn find_unsupported(ast: &Ast) -> Option<ast::Span> {
    struct Finder {
        multi_line: Option<ast::Span>,
    }
    impl ast::Visitor for Finder {
        type Output = ();
        type Err = ast::Span;

        fn finish(self) -> Result<(), ast::Span> {
            Ok(())
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), ast::Span> {
            use ast::AssertionKind as K;
            let flags = match ast {
                Ast::Flags(set) => Some(&set.flags),
                Ast::Group(group) => group.flags(),
                _ => None,
            };
            if flags.is_some_and(|f| f.flag_state(ast::Flag::MultiLine) == Some(true)) {
                self.multi_line = Some(*ast.span());
            }
            match ast {
                Ast::Assertion(a) => match a.kind {
                    K::StartLine | K::EndLine if self.multi_line.is_none() => Ok(()),
                    K::StartText | K::EndText => Ok(()),
                    _ => Err(a.span),
                },
                _ => Ok(()),
            }
        }
    }
    ast::visit(ast, Finder { multi_line: None }).err()
}

struct Builder<'a> {
    states: Vec<State>,
    sets: Vec<Ranges>,
    ids: HashMap<Ranges, SetId>,
    config: &'a Config,
}

impl Builder<'_> {
    fn push(&mut self, state: State) -> Result<NfaId, Error> {
        if self.states.len() >= self.config.max_nfa_states {
            return Err(Error::limit(
                "max_nfa_states",
                "states",
                self.config.max_nfa_states,
            ));
        }
        self.states.push(state);
        Ok(self.states.len() as NfaId - 1)
    }

    fn symbol(&mut self, ranges: Vec<(u32, u32)>, next: NfaId) -> Result<NfaId, Error> {
        let ranges: Ranges = ranges.into();
        let set = match self.ids.get(&ranges) {
            Some(&id) => id,
            None => {
                let id = self.sets.len() as SetId;
                self.sets.push(ranges.clone());
                self.ids.insert(ranges, id);
                id
            }
        };
        self.push(State::Symbol { set, next })
    }

    /// The state that matches `hir` and goes on at `next`. Building from the
    /// end forwards leaves nothing to patch. The depth of the recursion is
    /// what the parser's nest limit let through.
    fn hir(&mut self, hir: &Hir, next: NfaId) -> Result<NfaId, Error> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => self.literal(&literal.0, next),
            HirKind::Class(class) => self.class(class, next),
            HirKind::Look(Look::Start) => self.push(State::AtStart(next)),
            HirKind::Look(Look::End) => self.push(State::AtEnd(next)),
            HirKind::Look(look) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the assertion {look:?} looks at its neighbours and is not supported"),
            )),
            HirKind::Repetition(r) => self.repetition(&r.sub, r.min, r.max, next),
            HirKind::Capture(capture) => self.hir(&capture.sub, next),
            HirKind::Concat(parts) => {
                let mut at = next;
                for part in parts.iter().rev() {
                    at = self.hir(part, at)?;
                }
                Ok(at)
            }
            HirKind::Alternation(parts) => {
                let mut at = None;
                for part in parts.iter().rev() {
                    let one = self.hir(part, next)?;
                    at = Some(match at {
                        Some(rest) => self.push(State::Split(one, rest))?,
                        None => one,
                    });
                }
                Ok(at.unwrap_or(next))
            }
        }
    }

    fn repetition(
        &mut self,
        sub: &Hir,
        min: u32,
        max: Option<u32>,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let mut at = next;
        match max {
            None => {
                let split = self.push(State::Split(next, next))?;
                let body = self.hir(sub, split)?;
                self.states[split as usize] = State::Split(body, next);
                at = split;
            }
            Some(max) => {
                for _ in min..max {
                    let body = self.hir(sub, at)?;
                    if body == at {
                        break; // It matches the empty text alone, however often.
                    }
                    // Every way out goes straight to `next`, which keeps
                    // closures small however large the count is.
                    at = self.push(State::Split(body, next))?;
                }
            }
        }
        for _ in 0..min {
            let body = self.hir(sub, at)?;
            if body == at {
                break;
            }
            at = body;
        }
        Ok(at)
    }

    fn literal(&mut self, bytes: &[u8], next: NfaId) -> Result<NfaId, Error> {
        let mut at = next;
        match (self.config.symbols, std::str::from_utf8(bytes)) {
            (Symbols::Chars, Ok(text)) => {
                for c in text.chars().rev() {
                    at = self.symbol(vec![(c as u32, c as u32)], at)?;
                }
            }
            (Symbols::Chars, Err(_)) => return Err(not_text()),
            (Symbols::Bytes, _) => {
                for &b in bytes.iter().rev() {
                    at = self.symbol(vec![(b.into(), b.into())], at)?;
                }
            }
        }
        Ok(at)
    }

    fn class(&mut self, class: &Class, next: NfaId) -> Result<NfaId, Error> {
        match (class, self.config.symbols) {
            (Class::Unicode(class), Symbols::Chars) => {
                let ranges = class.iter().map(|r| (r.start() as u32, r.end() as u32));
                self.symbol(ranges.collect(), next)
            }
            (Class::Bytes(class), Symbols::Chars) => {
                if !class.is_ascii() {
                    return Err(not_text());
                }
                let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
                self.symbol(ranges.collect(), next)
            }
            (Class::Bytes(class), Symbols::Bytes) => {
                let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
                self.symbol(ranges.collect(), next)
            }
            (Class::Unicode(class), Symbols::Bytes) => {
                let mut ways = None;
                for range in class.iter() {
                    for sequence in Utf8Sequences::new(range.start(), range.end()) {
                        let one = self.utf8(&sequence, next)?;
                        ways = Some(match ways {
                            Some(rest) => self.push(State::Split(one, rest))?,
                            None => one,
                        });
                    }
                }
                match ways {
                    Some(state) => Ok(state),
                    None => self.symbol(Vec::new(), next),
                }
            }
        }
    }

    fn utf8(&mut self, sequence: &Utf8Sequence, next: NfaId) -> Result<NfaId, Error> {
        let mut at = next;
        for range in sequence.as_slice().iter().rev() {
            at = self.symbol(vec![(range.start.into(), range.end.into())], at)?;
        }
        Ok(at)
    }
}

#[cold]
fn not_text() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the pattern matches bytes that are not UTF-8 text; compile it with `Symbols::Bytes`",
    )
}
