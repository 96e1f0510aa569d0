//! Expressions in the syntax of the `regex` crate as nondeterministic automata.

use std::collections::HashMap;

use fsm_tables::{
    Builder, MATCH, Meter, Nfa, NfaId, STATE_BYTES, SetId, Shape, State, Syntax, set_bytes,
};
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

use crate::regex::dfa::{Costs, Symbols};
use crate::{Error, ErrorKind};

/// Parses `pattern` and builds its automaton. What that costs is charged before it is
/// spent: a pattern of a few bytes can stand for billions of states.
pub(crate) fn compile(pattern: &str, costs: &mut Costs<'_>) -> Result<Nfa, Error> {
    costs.pattern(pattern.len())?;
    let hir = translate(pattern, costs)?;
    let mut patterns = Patterns {
        classes: HashMap::new(),
    };
    let mut builder = Builder::new(costs);
    let start = builder.expression(&mut patterns, &hir, MATCH)?;
    let nfa = builder.finish(start);
    drop(hir);
    // The pattern's own form is gone; states and sets stay.
    let sets = nfa.sets().iter().map(|set| set_bytes(set.len()));
    let kept = nfa.states().len() * STATE_BYTES + sets.sum::<usize>();
    costs.keep(kept);
    Ok(nfa)
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

/// How the parts of a pattern are read.
struct Patterns {
    /// The sets of classes that were met: a repetition meets its own again and again. They
    /// are told apart by where they lie.
    classes: HashMap<*const Class, SetId>,
}

/// What it takes to remember where a class lies.
const CLASS_PLACE_BYTES: usize = 32;

type Building<'b, 'c> = Builder<'b, Costs<'c>>;

impl<'c> Syntax<Costs<'c>> for Patterns {
    type Expression = Hir;

    fn shape<'e>(&self, of: &'e Hir) -> Shape<'e, Hir> {
        match of.kind() {
            HirKind::Empty => Shape::Concat(&[]),
            HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => Shape::Leaf,
            HirKind::Capture(capture) => Shape::Group(&capture.sub),
            HirKind::Concat(parts) => Shape::Concat(parts),
            HirKind::Alternation(parts) => Shape::Alternation(parts),
            HirKind::Repetition(r) => Shape::Repeat {
                of: &r.sub,
                min: r.min,
                max: r.max,
            },
        }
    }

    fn leaf(
        &mut self,
        builder: &mut Building<'_, 'c>,
        leaf: &Hir,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        match leaf.kind() {
            HirKind::Literal(literal) => add_literal(builder, &literal.0, next),
            HirKind::Class(class) => self.add_class(builder, class, next),
            HirKind::Look(Look::Start) => builder.push(State::AtStart(next)),
            HirKind::Look(Look::End) => builder.push(State::AtEnd(next)),
            HirKind::Look(look) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the assertion {look:?} looks at its neighbours and is not supported"),
            )),
            // The others have parts, or none because they are empty.
            _ => Ok(next),
        }
    }
}

impl Patterns {
    fn add_class(
        &mut self,
        builder: &mut Building<'_, '_>,
        class: &Class,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let symbols = builder.meter().config.symbols;
        if let (Class::Unicode(class), Symbols::Bytes) = (class, symbols) {
            return add_spelt_class(builder, class, next);
        }
        let set = match self.classes.get(&std::ptr::from_ref(class)) {
            Some(&set) => set,
            None => {
                let ranges: Vec<(u32, u32)> = match class {
                    Class::Unicode(class) => {
                        let ranges = class.iter();
                        ranges.map(|r| (r.start() as u32, r.end() as u32)).collect()
                    }
                    Class::Bytes(class) if symbols == Symbols::Chars && !class.is_ascii() => {
                        return Err(not_text());
                    }
                    Class::Bytes(class) => {
                        let ranges = class.iter();
                        ranges.map(|r| (r.start().into(), r.end().into())).collect()
                    }
                };
                let set = builder.set(ranges)?;
                builder.meter().hold(CLASS_PLACE_BYTES)?;
                self.classes.insert(class, set);
                set
            }
        };
        builder.push(State::Symbol { set, next })
    }
}

fn add_literal(builder: &mut Building<'_, '_>, bytes: &[u8], next: NfaId) -> Result<NfaId, Error> {
    let mut at = next;
    match (builder.meter().config.symbols, std::str::from_utf8(bytes)) {
        (Symbols::Chars, Ok(text)) => {
            for c in text.chars().rev() {
                at = builder.symbol(vec![(c as u32, c as u32)], at)?;
            }
        }
        (Symbols::Chars, Err(_)) => return Err(not_text()),
        (Symbols::Bytes, _) => {
            for &b in bytes.iter().rev() {
                at = builder.symbol(vec![(b.into(), b.into())], at)?;
            }
        }
    }
    Ok(at)
}

/// A class of characters, spelt in bytes.
fn add_spelt_class(
    builder: &mut Building<'_, '_>,
    class: &ClassUnicode,
    next: NfaId,
) -> Result<NfaId, Error> {
    let mut ways = None;
    for range in class.iter() {
        for sequence in Utf8Sequences::new(range.start(), range.end()) {
            let one = add_utf8(builder, &sequence, next)?;
            ways = Some(match ways {
                Some(rest) => builder.push(State::Split(one, rest))?,
                None => one,
            });
        }
    }
    match ways {
        Some(state) => Ok(state),
        None => builder.symbol(Vec::new(), next),
    }
}

fn add_utf8(
    builder: &mut Building<'_, '_>,
    sequence: &Utf8Sequence,
    next: NfaId,
) -> Result<NfaId, Error> {
    let ranges = sequence.as_slice().iter().rev();
    ranges.copied().try_fold(next, |at, range| {
        builder.symbol(vec![(range.start.into(), range.end.into())], at)
    })
}

#[cold]
fn not_text() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the pattern matches bytes that are not UTF-8 text; compile it with `Symbols::Bytes`",
    )
}
