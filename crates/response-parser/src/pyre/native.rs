//! Patterns that `regex-automata` can run, in linear time, with Python's answers.
//!
//! The tree becomes that crate's own intermediate form. Three things differ and are bridged:
//!
//! - `$` also means "before a final line feed". In a text that does not end in one it is the
//!   very end. In a text that does, a `$` with nothing after it may eat the line feed, if an
//!   empty group before it remembers where the match really ended.
//! - Word boundaries differ where a text has certain marks and joiners; such texts are left
//!   to the other machine.
//! - Look-around, back-references, atomic groups, conditionals and repeated items that may be
//!   empty are left to the other machine as well.
//!
//! For example, `a$` on `a` followed by a line feed matches before the line feed, as in Python.

use regex_automata::meta::{self, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{self, Class, Hir, Look};

use super::syntax::tree::{Assertion, Node, RepeatKind, Tree};

/// The most bytes that one compiled pattern may take; larger ones run on the other machine, because
/// counted repetitions are written out here and counted there.
const SIZE_LIMIT: usize = 10 << 20;

/// The meaning of `$`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dollar {
    /// The very end: for texts that do not end in a line feed.
    End,
    /// The end or the final line feed, eaten.
    EatNewline,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Native {
    regex: Regex,
    /// For each of Python's groups, ours; a group that cannot take part has none.
    groups: Vec<Option<usize>>,
    /// Empty groups that mark where the match really ends.
    ends: Vec<usize>,
}

impl Native {
    /// Compiles the tree, or returns `None` if this machine cannot give Python's answers.
    pub(super) fn new(tree: &Tree, dollar: Dollar) -> Option<Native> {
        if tree.shared_names {
            return None;
        }
        let mut lowering = Lowering {
            dollar,
            next: 1,
            groups: vec![None; tree.names.len()],
            ends: Vec::new(),
        };
        lowering.groups[0] = Some(0);
        let hir = lowering.node(&tree.root, true)?;
        let config = meta::Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .nfa_size_limit(Some(SIZE_LIMIT))
            .onepass_size_limit(Some(1 << 20))
            .hybrid_cache_capacity(2 << 20);
        let regex = meta::Builder::new()
            .configure(config)
            .build_from_hir(&hir)
            .ok()?;
        Some(Native {
            regex,
            groups: lowering.groups,
            ends: lowering.ends,
        })
    }

    /// The leftmost match that starts at `from` or later; its groups go to `slots`.
    pub(super) fn search(
        &self,
        text: &str,
        from: usize,
        captures: &mut Option<Captures>,
        slots: &mut Vec<Option<(usize, usize)>>,
    ) -> bool {
        let captures = captures.get_or_insert_with(|| self.regex.create_captures());
        self.regex
            .search_captures(&Input::new(text).range(from..), captures);
        self.groups(captures, slots)
    }

    /// Returns the start and the end of the leftmost match from `from` on. Cheaper than its groups.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        if self.ends.is_empty() {
            let found = self.regex.search(&Input::new(text).range(from..))?;
            return Some((found.start(), found.end()));
        }
        let mut groups = Vec::new();
        self.search(text, from, &mut None, &mut groups);
        groups.first().copied().flatten()
    }

    /// The match that starts at `from` exactly; its groups go to `slots`.
    pub(super) fn match_at(
        &self,
        text: &str,
        from: usize,
        slots: &mut Vec<Option<(usize, usize)>>,
    ) -> bool {
        let mut captures = self.regex.create_captures();
        let input = Input::new(text).range(from..).anchored(Anchored::Yes);
        self.regex.search_captures(&input, &mut captures);
        self.groups(&captures, slots)
    }

    fn groups(&self, captures: &Captures, slots: &mut Vec<Option<(usize, usize)>>) -> bool {
        if !captures.is_match() {
            return false;
        }
        let span = |group: usize| captures.get_group(group).map(|span| (span.start, span.end));
        slots.clear();
        slots.extend(self.groups.iter().map(|group| group.and_then(span)));
        if let (Some(end), Some(Some(whole))) = (
            self.ends.iter().find_map(|&group| span(group)),
            slots.first_mut(),
        ) {
            whole.1 = end.0;
        }
        true
    }
}

struct Lowering {
    dollar: Dollar,
    next: usize,
    groups: Vec<Option<usize>>,
    ends: Vec<usize>,
}

impl Lowering {
    /// `tail`: nothing is matched or captured after the end of this node.
    fn node(&mut self, node: &Node, tail: bool) -> Option<Hir> {
        Some(match node {
            Node::Char(c) => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Node::Set(class) => Hir::class(Class::Unicode(class.clone())),
            Node::Anchor(anchor) => return self.anchor(*anchor, tail),
            Node::Group(group, node) => {
                let index = self.next;
                self.next += 1;
                self.groups[*group] = Some(index);
                let sub = Box::new(self.node(node, false)?);
                let name = None;
                Hir::capture(hir::Capture {
                    index: u32::try_from(index).ok()?,
                    name,
                    sub,
                })
            }
            Node::Concat(nodes) => {
                let last = nodes.len().saturating_sub(1);
                let lowered = nodes.iter().enumerate();
                let lowered = lowered.map(|(i, node)| self.node(node, tail && i == last));
                Hir::concat(lowered.collect::<Option<_>>()?)
            }
            Node::Alternate(nodes) => {
                let lowered = nodes.iter().map(|node| self.node(node, tail));
                Hir::alternation(lowered.collect::<Option<_>>()?)
            }
            Node::Repeat(repeat) => {
                let once = repeat.max.is_some_and(|max| max <= 1);
                if repeat.kind == RepeatKind::Possessive || !once && repeat.node.is_nullable() {
                    return None;
                }
                let sub = Box::new(self.node(&repeat.node, tail && once)?);
                if repeat.max == Some(0) {
                    // The groups inside keep their numbers and never take part.
                    return None;
                }
                Hir::repetition(hir::Repetition {
                    min: repeat.min,
                    max: repeat.max,
                    greedy: repeat.kind == RepeatKind::Greedy,
                    sub,
                })
            }
            Node::Look { .. }
            | Node::Backref(..)
            | Node::Conditional { .. }
            | Node::Atomic(_)
            | Node::Keep => return None,
        })
    }

    fn anchor(&mut self, anchor: Assertion, tail: bool) -> Option<Hir> {
        Some(match anchor {
            Assertion::Start => Hir::look(Look::Start),
            Assertion::End => Hir::look(Look::End),
            Assertion::LineStart => Hir::look(Look::StartLF),
            Assertion::LineEnd => Hir::look(Look::EndLF),
            Assertion::Word { ascii: false } => Hir::look(Look::WordUnicode),
            Assertion::NotWord { ascii: false } => Hir::look(Look::WordUnicodeNegate),
            Assertion::Word { ascii: true } => Hir::look(Look::WordAscii),
            Assertion::NotWord { ascii: true } => return None,
            Assertion::EndOrFinalNewline if self.dollar == Dollar::End => Hir::look(Look::End),
            Assertion::EndOrFinalNewline if tail => {
                let index = self.next;
                self.next += 1;
                self.ends.push(index);
                let sub = Box::new(Hir::empty());
                let mark = Hir::capture(hir::Capture {
                    index: u32::try_from(index).ok()?,
                    name: None,
                    sub,
                });
                let newline = Hir::concat(vec![Hir::literal(*b"\n"), Hir::look(Look::End)]);
                Hir::concat(vec![
                    mark,
                    Hir::alternation(vec![Hir::look(Look::End), newline]),
                ])
            }
            Assertion::EndOrFinalNewline => return None,
        })
    }
}
