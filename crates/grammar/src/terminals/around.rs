//! Terminals that look around themselves, and those with lazy quantifiers.
//!
//! For example `/\/\*(?!\*)(.|\n)*?\*\//` is a comment that no second star begins, and it ends at
//! its first end. Such a terminal is read in its text: an automaton over what comes before it, a
//! mark, the lexeme, another mark, and what comes behind it. Looks see over the marks. So it is
//! told exactly what a lexeme wants of the text around it: nothing, mostly, since what is looked
//! at lies inside of it. Symbols are classes of characters, so that `\w` costs no more than a
//! letter.

use fsm_tables::{Alphabet, Builder, MATCH, Rest, State, Symbols};
use regex_syntax::hir::{self, Hir, HirKind};

use super::context::Context;
use super::edges::{Edges, look, parsed};
use super::lexeme::lexeme;
use super::parts::{Mark, Part, PartReader};
use super::symbols::{Counted, Symbolic};
use crate::error::{Error, ErrorKind};
use crate::terminals::regular::Re;
use crate::terminals::table::{Table, TableLimits};

/// Says whether an expression has no looks, and no lazy quantifiers that count.
fn is_plain(hir: &Hir, edges: Edges) -> bool {
    match hir.kind() {
        HirKind::Look(look) => matches!(look, hir::Look::Start | hir::Look::End),
        HirKind::Capture(group) => look(group).is_none() && is_plain(&group.sub, edges),
        HirKind::Repetition(of) => (of.greedy || !edges.prefer()) && is_plain(&of.sub, edges),
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().all(|hir| is_plain(hir, edges))
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => true,
    }
}

/// Says whether a language is none of its parts alone: it has an expression with looks or with
/// lazy quantifiers. Operands of `&` and `~` are languages of their own.
pub(crate) fn looks_around(re: &Re, edges: Edges) -> bool {
    match re {
        Re::Pattern(pattern) => {
            /// The signs of looks and lazy quantifiers, because patterns without them need not be
            /// read.
            const SIGNS: [&str; 9] = [
                "(?P<look.",
                r"\b",
                r"\B",
                "*?",
                "+?",
                "??",
                "}?",
                "(?m",
                "m:",
            ];
            SIGNS.iter().any(|sign| pattern.text().contains(sign))
                && parsed(pattern.text()).is_ok_and(|hir| !is_plain(&hir, edges))
        }
        Re::Seq(all) | Re::Alt(all) | Re::Each(all) => all.iter().any(|re| looks_around(re, edges)),
        Re::Repeat(of, _, _) => looks_around(of, edges),
        Re::Empty | Re::And(_) | Re::Not(_) | Re::First(_) | Re::Closed(_) | Re::Substring(_) => {
            false
        }
    }
}

/// The automaton of a terminal that looks around itself. It takes what Python's `re` would
/// match, as long as no longer lexeme of it is there.
///
/// # Errors
///
/// The text that it looks at lies where `edges` has nothing, more than the next character has to be
/// known, or it exceeds a limit.
pub(crate) fn table(re: &Re, limits: TableLimits, edges: Edges) -> Result<Table, Error> {
    let mut reader = PartReader::new(edges);
    let each = match re {
        Re::Each(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    let parts = each.iter().map(|re| reader.language(re));
    let parts = parts.collect::<Result<Vec<Part>, Error>>()?;
    let mut meter = Counted::new(limits);
    let (alphabet, members) = Alphabet::new(Symbols::Chars, Rest::AsMet, &reader.sets, &mut meter)?;
    let ranges = |members: Vec<u32>| members.into_iter().map(|class| (class, class)).collect();
    let symbols = &Symbolic {
        sets: members.into_iter().map(ranges).collect(),
        classes: alphabet.len() as u32,
    };
    let mut builder = Builder::new(&mut meter);
    let behind = symbols.any(&mut builder, MATCH)?;
    let end = builder.symbol(vec![symbols.mark(Mark::End)], behind)?;
    let mut bodies = None;
    for part in &parts {
        let body = match part.has_lazy() {
            false => builder.expression(&mut &*symbols, part, end)?,
            true => {
                if part.has_empty_loop() {
                    let message = "a lazy quantifier stands beside a repetition of what may be \
                                   empty: repeat what is not empty";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                let mut own = Counted::new(limits);
                let mut lexeme = Builder::new(&mut own);
                let start = lexeme.expression(&mut &*symbols, part, MATCH)?;
                let lexeme = lexeme.finish(start);
                builder.preferred(&lexeme, Symbols::Chars, end)?
            }
        };
        bodies = Some(match bodies {
            Some(others) => builder.push(State::Split(others, body))?,
            None => body,
        });
    }
    let body = bodies.unwrap_or(end);
    let begin = builder.symbol(vec![symbols.mark(Mark::Begin)], body)?;
    let start = symbols.any(&mut builder, begin)?;
    let nfa = builder.finish(start);
    let (known, members) = Alphabet::new(Symbols::Chars, Rest::AsMet, nfa.sets(), &mut meter)?;
    let read = nfa.determinize(known.len(), &members, &mut meter)?;
    let read = read.minimized(&mut meter)?;
    let all = (0..symbols.classes + 2).map(|symbol| known.class_of(symbol).unwrap_or(0));
    let context = Context::new(read.over(&all.collect::<Vec<u32>>()), alphabet);
    lexeme(&context, &mut meter, edges)
}
