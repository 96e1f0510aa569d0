//! Expressions in the syntax of the `regex` crate as nondeterministic automata. For example, `a|b`
//! becomes a split with two ways.

use std::collections::HashMap;

use fsm_tables::{
    Builder, Look, MATCH, Meter, Nfa, NfaId, STATE_BYTES, SetId, Shape, State, Syntax, set_bytes,
};
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{self, Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

use super::{Costs, Symbols};
use crate::{Error, ErrorKind};

/// Parses `pattern` and builds its automaton. The cost is charged before it is spent: a pattern of
/// a few bytes can stand for billions of states.
pub(crate) fn compile(pattern: &str, costs: &mut Costs<'_>) -> Result<Nfa, Error> {
    costs.pattern(pattern.len())?;
    let looks = Looks::of(pattern);
    let (hir, looks) = translate(looks, costs)?;
    let mut patterns = Patterns {
        classes: HashMap::new(),
        looks,
        looked: HashMap::new(),
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

/// A pattern of which look-arounds are groups with names: `regex-syntax` reads none.
struct Looks {
    text: String,
    /// The beginning of the names; no other group's name does.
    prefix: String,
    /// The places at which the names were put, and the number of bytes by which the pattern grew
    /// each time.
    grown: Vec<(usize, usize)>,
}

/// The signs of look-arounds, and the letters by which their groups are named, because
/// `regex-syntax` reads groups alone.
const LOOKS: [(&str, char, Look); 4] = [
    ("?=", 'a', Look::Ahead),
    ("?!", 'n', Look::NotAhead),
    ("?<=", 'b', Look::Behind),
    ("?<!", 'x', Look::NotBehind),
];

impl Looks {
    fn of(pattern: &str) -> Looks {
        let mut prefix = "look".to_owned();
        while pattern.contains(&prefix) {
            prefix.push('_');
        }
        Looks {
            text: pattern.to_owned(),
            prefix,
            grown: Vec::new(),
        }
    }

    /// Gives the group a name that begins at a span, if it is a look-around.
    fn name(&mut self, span: &ast::Span) -> Option<()> {
        let (from, to) = (span.start.offset, span.end.offset);
        let opens = self.text.get(from..to)?;
        let look = LOOKS.iter().find(|look| opens.ends_with(look.0))?;
        let name = format!("(?P<{}{}{}>", self.prefix, look.1, self.grown.len());
        self.grown.push((from, name.len() - opens.len()));
        self.text.replace_range(from..to, &name);
        Some(())
    }

    /// The look-around that a group is.
    fn look(&self, group: &hir::Capture) -> Option<Look> {
        let name = group.name.as_deref()?.strip_prefix(&*self.prefix)?;
        let look = LOOKS.iter().find(|look| name.starts_with(look.1))?;
        Some(look.2)
    }

    #[cold]
    fn syntax_error(&self, what: String, span: &ast::Span) -> Error {
        let at = span.start.offset;
        let before = self.grown.iter().filter(|(from, _)| *from < at);
        syntax_error(what, at - before.map(|(_, by)| by).sum::<usize>())
    }
}

/// The pattern without its syntax.
fn translate(mut looks: Looks, costs: &mut Costs<'_>) -> Result<(Hir, Looks), Error> {
    let config = costs.config;
    let ast = loop {
        let mut parser = ast::parse::ParserBuilder::new()
            .nest_limit(config.nest_limit)
            .build();
        match parser.parse(&looks.text) {
            Ok(ast) => break ast,
            Err(e) if *e.kind() == ast::ErrorKind::UnsupportedLookAround => {
                // It is read once more for each.
                costs.pattern_again(looks.text.len())?;
                if looks.name(e.span()).is_none() {
                    return Err(looks.syntax_error(e.kind().to_string(), e.span()));
                }
            }
            Err(e) => return Err(looks.syntax_error(e.kind().to_string(), e.span())),
        }
    };
    let finder = Finder {
        ignores_case: false,
        costs,
    };
    ast::visit(&ast, finder)?;
    let hir = hir::translate::TranslatorBuilder::new()
        .utf8(config.symbols == Symbols::Chars)
        .build()
        .translate(&looks.text, &ast)
        .map_err(|e| looks.syntax_error(e.kind().to_string(), e.span()))?;
    Ok((hir, looks))
}

#[cold]
fn syntax_error(what: String, offset: usize) -> Error {
    Error::at(
        ErrorKind::Syntax,
        offset,
        format!("bad regular expression at byte {offset}: {what}"),
    )
}

/// Charges for what takes far more memory than its name.
struct Finder<'a, 'c> {
    /// True if case is ignored here, or was somewhere before.
    ignores_case: bool,
    costs: &'a mut Costs<'c>,
}

/// The bytes of the ranges of a class of Unicode at most, because no property has more of them.
const CLASS_BYTES: usize = 800 * size_of::<(u32, u32)>();

/// The bytes of the ranges of `\d` and `\s`, because these have fewer.
const SMALL_CLASS_BYTES: usize = 80 * size_of::<(u32, u32)>();

/// The steps for the ranges of a class of Unicode: many, because a class as `\w` has hundreds of
/// ranges.
const CLASS_STEPS: usize = 1_000;

/// The steps for finding the other cases of a range of many letters: many, because the table of
/// cases has some thousand entries.
const CASES_STEPS: usize = 12_000;

/// The bytes that a part of an expression takes beside its characters, and so does a letter that
/// stands for its other cases too, because steps to find them are charged, as well.
const NODE_BYTES: usize = 250;
/// The steps for a node of the pattern's tree: some, because it is translated and later dropped.
const LETTER_STEPS: usize = 25;

/// The bytes that a letter that stands for itself takes, because it joins its neighbours.
const LITERAL_BYTES: usize = 60;

/// The least number of characters of a range that is charged as a class: smaller ones cost what
/// their text does, other cases included, because most have none or one.
const WIDE: u32 = 256;

impl Finder<'_, '_> {
    fn charge(&mut self, steps: usize, bytes: usize) -> Result<(), Error> {
        self.costs.work(steps)?;
        self.costs.hold(bytes)
    }

    fn wide_class(&mut self) -> Result<(), Error> {
        let steps = match self.ignores_case {
            true => CASES_STEPS,
            false => CLASS_STEPS,
        };
        self.charge(steps, CLASS_BYTES)
    }

    fn perl_class(&mut self, kind: &ast::ClassPerlKind) -> Result<(), Error> {
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
    type Err = Error;

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Error> {
        use ast::AssertionKind as K;
        let flags = match ast {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => group.flags(),
            _ => None,
        };
        let set = |flag| flags.is_some_and(|f| f.flag_state(flag) == Some(true));
        self.ignores_case |= set(ast::Flag::CaseInsensitive);
        match ast {
            Ast::Assertion(a) => match a.kind {
                K::StartLine | K::EndLine | K::StartText | K::EndText => Ok(()),
                _ => self.wide_class(),
            },
            Ast::ClassUnicode(_) => self.wide_class(),
            Ast::ClassPerl(class) => self.perl_class(&class.kind),
            Ast::Literal(_) if !self.ignores_case => self.charge(1, LITERAL_BYTES),
            _ => self.charge(LETTER_STEPS, NODE_BYTES),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Error> {
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

    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), Error> {
        self.wide_class()
    }
}

/// The reader of the parts of a pattern.
struct Patterns {
    /// The sets of classes that were met: a repetition meets its own again and again. They
    /// are told apart by where they lie.
    classes: HashMap<*const Class, SetId>,
    looks: Looks,
    /// The beginnings of the classes that boundaries look for.
    looked: HashMap<Beside, NfaId>,
}

/// The condition of a boundary on the characters beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Beside {
    LineFeed,
    Return,
    AsciiWord,
    Word,
}

/// The bytes that the place of a class takes, because it is kept in a map.
const CLASS_PLACE_BYTES: usize = 32;

type Building<'b, 'c> = Builder<'b, Costs<'c>>;

impl<'c> Syntax<Costs<'c>> for Patterns {
    type Expression = Hir;

    fn shape<'e>(&self, of: &'e Hir) -> Shape<'e, Hir> {
        match of.kind() {
            HirKind::Empty => Shape::Concat(&[]),
            HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => Shape::Leaf,
            HirKind::Capture(capture) => match self.looks.look(capture) {
                Some(look) => Shape::Look {
                    look,
                    of: &capture.sub,
                },
                None => Shape::Group(&capture.sub),
            },
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
            HirKind::Look(hir::Look::Start) => builder.push(State::AtStart(next)),
            HirKind::Look(hir::Look::End) => builder.push(State::AtEnd(next)),
            HirKind::Look(look) => self.add_boundary(builder, *look, next),
            // The others have parts, or none because they are empty.
            _ => Ok(next),
        }
    }
}

impl Patterns {
    /// An end of a line or of a word: one of some ways, each of them looks side by side.
    fn add_boundary(
        &mut self,
        builder: &mut Building<'_, '_>,
        look: hir::Look,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        use Beside::{AsciiWord, LineFeed, Return, Word};
        use Look::{Ahead, Behind, NotAhead, NotBehind};
        use hir::Look as H;
        let word = match look {
            H::WordAscii | H::WordAsciiNegate | H::WordStartAscii | H::WordEndAscii => AsciiWord,
            H::WordStartHalfAscii | H::WordEndHalfAscii => AsciiWord,
            _ => Word,
        };
        let ways: &[&[(Look, Beside)]] = match look {
            H::Start | H::End => &[],
            H::StartLF => &[&[(Behind, LineFeed)]],
            H::EndLF => &[&[(Ahead, LineFeed)]],
            H::StartCRLF => &[
                &[(Behind, LineFeed)],
                &[(Behind, Return), (NotAhead, LineFeed)],
            ],
            H::EndCRLF => &[
                &[(Ahead, Return)],
                &[(Ahead, LineFeed), (NotBehind, Return)],
            ],
            H::WordAscii | H::WordUnicode => &[
                &[(Behind, Word), (NotAhead, Word)],
                &[(NotBehind, Word), (Ahead, Word)],
            ],
            H::WordAsciiNegate | H::WordUnicodeNegate => &[
                &[(Behind, Word), (Ahead, Word)],
                &[(NotBehind, Word), (NotAhead, Word)],
            ],
            H::WordStartAscii | H::WordStartUnicode => &[&[(NotBehind, Word), (Ahead, Word)]],
            H::WordEndAscii | H::WordEndUnicode => &[&[(Behind, Word), (NotAhead, Word)]],
            H::WordStartHalfAscii | H::WordStartHalfUnicode => &[&[(NotBehind, Word)]],
            H::WordEndHalfAscii | H::WordEndHalfUnicode => &[&[(NotAhead, Word)]],
        };
        let mut all = match look {
            H::Start | H::StartLF | H::StartCRLF => Some(builder.push(State::AtStart(next))?),
            H::End | H::EndLF | H::EndCRLF => Some(builder.push(State::AtEnd(next))?),
            _ => None,
        };
        for way in ways {
            let mut at = next;
            for &(look, beside) in way.iter().rev() {
                let beside = if beside == Word { word } else { beside };
                let begin = self.beside(builder, beside)?;
                at = builder.look(look, begin, at)?;
            }
            all = Some(match all {
                Some(others) => builder.push(State::Split(at, others))?,
                None => at,
            });
        }
        Ok(all.unwrap_or(next))
    }

    /// Returns the beginning of a character that a boundary looks for.
    fn beside(&mut self, builder: &mut Building<'_, '_>, beside: Beside) -> Result<NfaId, Error> {
        if let Some(&known) = self.looked.get(&beside) {
            return Ok(known);
        }
        let ranges: &[(char, char)] = match beside {
            Beside::LineFeed => &[('\n', '\n')],
            Beside::Return => &[('\r', '\r')],
            Beside::AsciiWord | Beside::Word => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        };
        let range = |r: &(char, char)| ClassUnicodeRange::new(r.0, r.1);
        let mut class = ClassUnicode::new(ranges.iter().map(range));
        if beside == Beside::Word
            && let Ok(parsed) = regex_syntax::parse(r"\w")
            && let HirKind::Class(Class::Unicode(word)) = parsed.kind()
        {
            class = word.clone();
        }
        let found = builder.found()?;
        let begin = match builder.meter().config.symbols {
            Symbols::Bytes => add_spelt_class(builder, &class, found)?,
            Symbols::Chars => {
                let ranges = class.iter().map(|r| (r.start() as u32, r.end() as u32));
                builder.symbol(ranges.collect(), found)?
            }
        };
        self.looked.insert(beside, begin);
        Ok(begin)
    }

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
