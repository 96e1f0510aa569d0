//! Thompson's construction (Ken Thompson, "Regular Expression Search
//! Algorithm", CACM 11(6), 1968) over sets of symbols instead of bytes: a
//! Unicode class is one transition, so a counted repetition of it costs one
//! state a repetition.

use std::collections::HashMap;

use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

use crate::regex::dfa::{Costs, Symbols};
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

/// Parses `pattern` and builds its automaton. What that costs is charged before it is
/// spent: a pattern of a few bytes can stand for billions of states.
pub(crate) fn compile(pattern: &str, costs: &mut Costs<'_>) -> Result<Nfa, Error> {
    costs.pattern(pattern.len())?;
    let hir = translate(pattern, costs)?;
    let mut builder = Builder {
        states: vec![State::Match],
        sets: Vec::new(),
        ids: HashMap::new(),
        classes: HashMap::new(),
        costs,
    };
    let start = builder.build(&hir)?;
    let (states, sets) = (builder.states, builder.sets);
    drop(hir);
    // The pattern's own form is gone; states and sets stay.
    let kept = states.len() * STATE_BYTES + sets.iter().map(|s| set_bytes(s.len())).sum::<usize>();
    costs.keep(kept);
    Ok(Nfa {
        states,
        sets,
        start,
    })
}

/// What a state takes: lists grow to twice their length.
const STATE_BYTES: usize = 2 * size_of::<State>();

/// What a set of so many ranges takes, here and in the map by which it is found.
fn set_bytes(ranges: usize) -> usize {
    2 * ranges * size_of::<(u32, u32)>() + 80
}

/// The pattern without its syntax.
fn translate(pattern: &str, costs: &mut Costs<'_>) -> Result<Hir, Error> {
    let config = costs.config;
    let ast = ast::parse::ParserBuilder::new()
        .nest_limit(config.nest_limit)
        .build()
        .parse(pattern)
        .map_err(|e| syntax_error(e.kind().to_string(), *e.span()))?;
    let finder = Finder {
        multi_line: false,
        ignores_case: false,
        costs,
    };
    match ast::visit(&ast, finder) {
        Ok(()) => {}
        Err(Found::Costs(error)) => return Err(error),
        Err(Found::Unsupported(span)) => {
            let text = &pattern[span.start.offset..span.end.offset];
            return Err(Error::at(
                ErrorKind::Unsupported,
                span.start.offset,
                format!(
                    "`{}` at byte {} looks at its neighbours, which a token mask cannot wait for; \
                     only the anchors `^`, `$`, `\\A` and `\\z` are supported",
                    crate::error::excerpt(text),
                    span.start.offset
                ),
            ));
        }
    }
    regex_syntax::hir::translate::TranslatorBuilder::new()
        .utf8(config.symbols == Symbols::Chars)
        .build()
        .translate(pattern, &ast)
        .map_err(|e| syntax_error(e.kind().to_string(), *e.span()))
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

/// Looks for assertions that are no plain anchors, and charges for the classes that take
/// far more memory than their names.
struct Finder<'a, 'c> {
    multi_line: bool,
    /// Whether case is ignored here, or was somewhere before.
    ignores_case: bool,
    costs: &'a mut Costs<'c>,
}

/// Why a pattern is not translated.
enum Found {
    Unsupported(ast::Span),
    Costs(Error),
}

/// What a class of Unicode takes in ranges at most: no property has more of them.
const CLASS_BYTES: usize = 800 * size_of::<(u32, u32)>();

/// What `\d` and `\s` take.
const SMALL_CLASS_BYTES: usize = 80 * size_of::<(u32, u32)>();

/// Steps for the ranges of a class of Unicode.
const CLASS_STEPS: usize = 1_000;

/// Steps for finding the other cases of a range of many letters.
const CASES_STEPS: usize = 12_000;

/// What a part of an expression takes beside its characters, and so does a letter that
/// stands for its other cases too; and the steps to find them.
const NODE_BYTES: usize = 250;
const LETTER_STEPS: usize = 25;

/// What a letter that stands for itself takes: it joins its neighbours.
const LITERAL_BYTES: usize = 60;

/// Ranges of fewer characters cost what their text does, other cases included.
const WIDE: u32 = 256;

impl Finder<'_, '_> {
    fn charge(&mut self, steps: usize, bytes: usize) -> Result<(), Found> {
        let charged = self.costs.work(steps);
        let charged = charged.and_then(|()| self.costs.hold(bytes));
        charged.map_err(Found::Costs)
    }

    fn wide_class(&mut self) -> Result<(), Found> {
        let steps = match self.ignores_case {
            true => CASES_STEPS,
            false => CLASS_STEPS,
        };
        self.charge(steps, CLASS_BYTES)
    }

    fn perl_class(&mut self, kind: &ast::ClassPerlKind) -> Result<(), Found> {
        match kind {
            ast::ClassPerlKind::Word => self.wide_class(),
            // Neither digits nor blanks have other cases.
            ast::ClassPerlKind::Digit | ast::ClassPerlKind::Space => {
                self.charge(CLASS_STEPS, SMALL_CLASS_BYTES)
            }
        }
    }
}

impl ast::Visitor for Finder<'_, '_> {
    type Output = ();
    type Err = Found;

    fn finish(self) -> Result<(), Found> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Found> {
        use ast::AssertionKind as K;
        let flags = match ast {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => group.flags(),
            _ => None,
        };
        let set = |flag| flags.is_some_and(|f| f.flag_state(flag) == Some(true));
        self.multi_line |= set(ast::Flag::MultiLine);
        self.ignores_case |= set(ast::Flag::CaseInsensitive);
        match ast {
            Ast::Assertion(a) => match a.kind {
                K::StartLine | K::EndLine if !self.multi_line => Ok(()),
                K::StartText | K::EndText => Ok(()),
                _ => Err(Found::Unsupported(a.span)),
            },
            Ast::ClassUnicode(_) => self.wide_class(),
            Ast::ClassPerl(class) => self.perl_class(&class.kind),
            Ast::Literal(_) if !self.ignores_case => self.charge(1, LITERAL_BYTES),
            _ => self.charge(LETTER_STEPS, NODE_BYTES),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Found> {
        match item {
            ast::ClassSetItem::Unicode(_) => self.wide_class(),
            ast::ClassSetItem::Perl(class) => self.perl_class(&class.kind),
            ast::ClassSetItem::Literal(_) if self.ignores_case => {
                self.charge(LETTER_STEPS, NODE_BYTES)
            }
            ast::ClassSetItem::Range(range)
                if self.ignores_case && range.end.c as u32 - range.start.c as u32 >= WIDE =>
            {
                self.wide_class()
            }
            // Negated in Unicode, and then with its other cases.
            ast::ClassSetItem::Bracketed(class) if self.ignores_case && class.negated => {
                self.wide_class()
            }
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), Found> {
        self.wide_class()
    }
}

struct Builder<'a, 'c> {
    states: Vec<State>,
    sets: Vec<Ranges>,
    ids: HashMap<Ranges, SetId>,
    /// The sets of classes that were met: a repetition meets its own again and again. They
    /// are told apart by where they lie.
    classes: HashMap<*const Class, SetId>,
    costs: &'a mut Costs<'c>,
}

/// What is to be done with an expression when a part of it is built.
enum Open<'h> {
    /// The parts before it are built.
    Concat(&'h [Hir]),
    /// So are the alternatives before it, each of which goes on at `next`.
    Alternation {
        before: &'h [Hir],
        next: NfaId,
        behind: Option<NfaId>,
    },
    /// It was the body of a loop.
    Loop { split: NfaId, copies: Copies<'h> },
    /// It was a copy of a repetition.
    Copies(Copies<'h>),
}

/// The copies of a repetition that are yet to be built, from the last to the first: those
/// that may be left out come behind those that must be there.
struct Copies<'h> {
    sub: &'h Hir,
    optional: u32,
    needed: u32,
    /// What follows all of them.
    next: NfaId,
    /// What follows the next one.
    at: NfaId,
}

/// How far an expression is.
enum Begun<'h> {
    /// This part of it is to be built, and goes on there.
    Part(&'h Hir, NfaId),
    /// It is built, and begins here.
    Whole(NfaId),
}

impl<'h> Copies<'h> {
    /// The next copy, if there is one.
    fn begin(self, open: &mut Vec<Open<'h>>) -> Begun<'h> {
        if self.optional == 0 && self.needed == 0 {
            return Begun::Whole(self.at);
        }
        let part = Begun::Part(self.sub, self.at);
        open.push(Open::Copies(self));
        part
    }
}

/// What it takes to remember where a class lies.
const CLASS_PLACE_BYTES: usize = 32;

impl Builder<'_, '_> {
    fn push(&mut self, state: State) -> Result<NfaId, Error> {
        let config = self.costs.config;
        if self.states.len() >= config.max_nfa_states {
            return Err(Error::limit(
                "max_nfa_states",
                "states",
                config.max_nfa_states,
            ));
        }
        self.costs.work(1)?;
        self.costs.hold(STATE_BYTES)?;
        self.states.push(state);
        Ok(self.states.len() as NfaId - 1)
    }

    fn symbol(&mut self, ranges: Vec<(u32, u32)>, next: NfaId) -> Result<NfaId, Error> {
        let set = self.set(ranges)?;
        self.push(State::Symbol { set, next })
    }

    fn set(&mut self, ranges: Vec<(u32, u32)>) -> Result<SetId, Error> {
        self.costs.work(ranges.len())?;
        let ranges: Ranges = ranges.into();
        if let Some(&id) = self.ids.get(&ranges) {
            return Ok(id);
        }
        self.costs.hold(set_bytes(ranges.len()))?;
        let id = self.sets.len() as SetId;
        self.sets.push(ranges.clone());
        self.ids.insert(ranges, id);
        Ok(id)
    }

    /// The state that matches `hir` and goes on at acceptance. Building from the end
    /// forwards leaves nothing to patch. What is open lies in a list, so that no thread's
    /// stack is too small for a pattern that nests.
    fn build(&mut self, hir: &Hir) -> Result<NfaId, Error> {
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut one = (hir, 0);
        loop {
            let mut built = match self.begin(one.0, one.1, &mut open)? {
                Begun::Part(part, next) => {
                    one = (part, next);
                    continue;
                }
                Begun::Whole(state) => state,
            };
            one = loop {
                let Some(outer) = open.pop() else {
                    return Ok(built);
                };
                match self.go_on(outer, built, &mut open)? {
                    Begun::Part(part, next) => break (part, next),
                    Begun::Whole(state) => built = state,
                }
            };
        }
    }

    /// Builds `hir` if it has no parts, and otherwise says which is built first.
    fn begin<'h>(
        &mut self,
        hir: &'h Hir,
        next: NfaId,
        open: &mut Vec<Open<'h>>,
    ) -> Result<Begun<'h>, Error> {
        // Parts that match nothing but the empty text make no state, and take time.
        self.costs.work(1)?;
        let state = match hir.kind() {
            HirKind::Empty => next,
            HirKind::Literal(literal) => self.literal(&literal.0, next)?,
            HirKind::Class(class) => self.class(class, next)?,
            HirKind::Look(Look::Start) => self.push(State::AtStart(next))?,
            HirKind::Look(Look::End) => self.push(State::AtEnd(next))?,
            HirKind::Look(look) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("the assertion {look:?} looks at its neighbours and is not supported"),
                ));
            }
            HirKind::Capture(capture) => return Ok(Begun::Part(&capture.sub, next)),
            HirKind::Concat(parts) => return self.go_on(Open::Concat(parts), next, open),
            HirKind::Alternation(parts) => return self.alternative(parts, next, None, open),
            HirKind::Repetition(r) => {
                let mut copies = Copies {
                    sub: &r.sub,
                    optional: 0,
                    needed: r.min,
                    next,
                    at: next,
                };
                let Some(max) = r.max else {
                    let split = self.push(State::Split(next, next))?;
                    copies.at = split;
                    open.push(Open::Loop { split, copies });
                    return Ok(Begun::Part(&r.sub, split));
                };
                copies.optional = max.saturating_sub(r.min);
                return Ok(copies.begin(open));
            }
        };
        Ok(Begun::Whole(state))
    }

    /// Goes on with an expression of which a part is built.
    fn go_on<'h>(
        &mut self,
        outer: Open<'h>,
        built: NfaId,
        open: &mut Vec<Open<'h>>,
    ) -> Result<Begun<'h>, Error> {
        match outer {
            Open::Concat(parts) => Ok(match parts.split_last() {
                None => Begun::Whole(built),
                Some((last, before)) => {
                    open.push(Open::Concat(before));
                    Begun::Part(last, built)
                }
            }),
            Open::Alternation {
                before,
                next,
                behind,
            } => {
                let state = match behind {
                    Some(rest) => self.push(State::Split(built, rest))?,
                    None => built,
                };
                self.alternative(before, next, Some(state), open)
            }
            Open::Loop { split, copies } => {
                self.states[split as usize] = State::Split(built, copies.next);
                Ok(copies.begin(open))
            }
            Open::Copies(mut copies) => {
                // A copy that begins where it ends matches the empty text alone, however
                // often it is repeated.
                let empty = built == copies.at;
                if copies.optional > 0 {
                    copies.optional = if empty { 0 } else { copies.optional - 1 };
                    if !empty {
                        // Every way out goes straight to `next`, which keeps closures
                        // small however large the count is.
                        copies.at = self.push(State::Split(built, copies.next))?;
                    }
                } else {
                    copies.needed = if empty { 0 } else { copies.needed - 1 };
                    copies.at = built;
                }
                Ok(copies.begin(open))
            }
        }
    }

    /// The last of the alternatives `before`; those behind it begin at `behind`.
    fn alternative<'h>(
        &mut self,
        before: &'h [Hir],
        next: NfaId,
        behind: Option<NfaId>,
        open: &mut Vec<Open<'h>>,
    ) -> Result<Begun<'h>, Error> {
        let Some((last, before)) = before.split_last() else {
            return Ok(Begun::Whole(behind.unwrap_or(next)));
        };
        open.push(Open::Alternation {
            before,
            next,
            behind,
        });
        Ok(Begun::Part(last, next))
    }

    fn literal(&mut self, bytes: &[u8], next: NfaId) -> Result<NfaId, Error> {
        let mut at = next;
        match (self.costs.config.symbols, std::str::from_utf8(bytes)) {
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
        if let (Class::Unicode(class), Symbols::Bytes) = (class, self.costs.config.symbols) {
            return self.spelt_class(class, next);
        }
        let set = match self.classes.get(&std::ptr::from_ref(class)) {
            Some(&set) => set,
            None => {
                let ranges: Vec<(u32, u32)> = match class {
                    Class::Unicode(class) => {
                        let ranges = class.iter();
                        ranges.map(|r| (r.start() as u32, r.end() as u32)).collect()
                    }
                    Class::Bytes(class)
                        if self.costs.config.symbols == Symbols::Chars && !class.is_ascii() =>
                    {
                        return Err(not_text());
                    }
                    Class::Bytes(class) => {
                        let ranges = class.iter();
                        ranges.map(|r| (r.start().into(), r.end().into())).collect()
                    }
                };
                let set = self.set(ranges)?;
                self.costs.hold(CLASS_PLACE_BYTES)?;
                self.classes.insert(class, set);
                set
            }
        };
        self.push(State::Symbol { set, next })
    }

    /// A class of characters, spelt in bytes.
    fn spelt_class(&mut self, class: &ClassUnicode, next: NfaId) -> Result<NfaId, Error> {
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
