//! Python regular expressions: read, checked, and run on one of three machines.
//!
//! Most patterns run on `regex-automata` in time linear in the text; where the text arrives piece
//! by piece, on a linear machine of our own. Patterns with look-around, back-references and the
//! like run on a backtracking machine of our own under a budget of steps; so do the few texts for
//! which the first machine's answer would not be Python's. Which machine runs never changes an
//! answer.
//!
//! A general backtracking crate was not taken because Python differs from all of them
//! (conditionals, possessive loops whose iterations are atomic, loops over empty items, "an
//! empty match may follow a match but not an empty one"), and because a budget in
//! backtracks does not bound the work between two of them.
//!
//! For example, `<think>(.*?)</think>` runs on `regex-automata`, and `(a|b)\1` on the backtracking
//! machine.

mod backtrack;
mod native;
mod replace;
mod scan;
mod split;
pub(crate) mod syntax;
#[cfg(test)]
mod tests;
mod threads;

use std::fmt;
use std::sync::OnceLock;

use regex_automata::util::captures::Captures;

use backtrack::{Memory, Program};
use native::{Dollar, Native};
use split::Split;
use syntax::tree::{Assertion, Node, RepeatKind, Tree};
use threads::Threads;

pub(crate) use backtrack::Exhausted;
pub(crate) use replace::Substitution;
pub(crate) use scan::{Found, Scanner};
pub(crate) use syntax::class::{Dialect, is_word};
pub(crate) use syntax::tree::SyntaxError;

/// The steps of the backtracking machine that one call may take: this many, and [`STEPS_PER_BYTE`]
/// for each byte of the text. They take well below a second, because a server's thread is held so
/// long.
pub(crate) const STEPS: u64 = 1 << 24;

/// The steps for each byte, beside [`STEPS`], so that long texts under harmless patterns do not run
/// out of them.
pub(crate) const STEPS_PER_BYTE: u64 = 64;

/// Work that searches for one match after another may do on the linear machine, in bytes looked at
/// in the worst case, before the backtracking machine with its budget takes over. A single search
/// is linear, but a sequence of them need not be. That is why there is a limit: because each search
/// may look at the whole rest.
const LINEAR_WORK: u64 = 1 << 30;

/// The spans of a match: the whole, then each group that took part.
pub(crate) type Groups = Vec<Option<(usize, usize)>>;

/// A compiled pattern.
pub(crate) struct Pattern {
    tree: Tree,
    needs: Needs,
    /// Runs the pattern on texts that do not end in a line feed, or on all.
    plain: OnceLock<Option<Native>>,
    /// Runs it on texts that end in a line feed.
    newline: OnceLock<Option<Native>>,
    program: OnceLock<Program>,
    threads: OnceLock<Option<Threads>>,
    split: OnceLock<Option<Box<Split>>>,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern")
            .field("names", &self.tree.names)
            .finish_non_exhaustive()
    }
}

/// The facts that a pattern looks at beyond its own characters.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    dollar: bool,
    word_edge: bool,
    /// At one place a longer match may come after an empty one in order of preference.
    longer_after_empty: bool,
}

impl Pattern {
    /// Reads `pattern`. The machines are built when first used.
    pub(crate) fn new(pattern: &str, dialect: Dialect) -> Result<Pattern, SyntaxError> {
        Ok(Pattern::from_tree(syntax::parse(pattern, dialect)?))
    }

    /// Any of the texts, the first in the list that fits.
    pub(crate) fn literals<'l>(literals: impl IntoIterator<Item = &'l str>) -> Pattern {
        let literal = |text: &str| Node::Concat(text.chars().map(Node::Char).collect());
        let mut nodes: Vec<Node> = literals.into_iter().map(literal).collect();
        let root = match nodes.len() {
            1 => nodes.swap_remove(0),
            _ => Node::Alternate(nodes),
        };
        Pattern::from_tree(Tree {
            root,
            names: vec![None],
            dialect: Dialect::Regex,
            shared_names: false,
        })
    }

    fn from_tree(tree: Tree) -> Pattern {
        let mut needs = Needs::default();
        survey(&tree.root, &mut needs);
        Pattern {
            tree,
            needs,
            plain: OnceLock::new(),
            newline: OnceLock::new(),
            program: OnceLock::new(),
            threads: OnceLock::new(),
            split: OnceLock::new(),
        }
    }

    /// The first match in `text` that starts at `from` or later.
    pub(crate) fn search_from(&self, text: &str, from: usize) -> Result<Option<Groups>, Exhausted> {
        let mut matches = self.matches(text);
        matches.at = from;
        matches.next_match()
    }

    /// Returns the place of the first match in `text` that starts at `from` or later.
    pub(crate) fn find_from(
        &self,
        text: &str,
        from: usize,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        match self.native(text) {
            Some(native) => Ok(native.find(text, from)),
            None => {
                let groups = self.search_from(text, from)?;
                Ok(groups.and_then(|groups| groups.first().copied().flatten()))
            }
        }
    }

    /// The match in `text` that starts at `from` exactly.
    pub(crate) fn match_at(&self, text: &str, from: usize) -> Result<Option<Groups>, Exhausted> {
        let mut groups = Groups::new();
        let found = match self.native(text) {
            Some(native) => native.match_at(text, from, &mut groups),
            None => {
                let mut steps = STEPS + STEPS_PER_BYTE * text.len() as u64;
                let mut memory = Memory::default();
                let program = self.program();
                program.match_at(text, from, &mut memory, &mut steps, &mut groups)?
            }
        };
        Ok(found.then_some(groups))
    }

    /// The name of each group; entry 0 is the whole match.
    pub(crate) fn names(&self) -> &[Option<String>] {
        &self.tree.names
    }

    /// The first match in `text`.
    pub(crate) fn search(&self, text: &str) -> Result<Option<Groups>, Exhausted> {
        self.matches(text).next_match()
    }

    /// All matches in `text`, as `re.finditer` gives them.
    pub(crate) fn matches<'p, 't>(&'p self, text: &'t str) -> Matches<'p, 't> {
        Matches {
            pattern: self,
            text,
            native: self.native(text),
            split: self.split(),
            at: 0,
            after_empty: false,
            done: false,
            work: 0,
            steps: STEPS + STEPS_PER_BYTE * text.len() as u64,
            captures: None,
            memory: Memory::default(),
        }
    }

    /// `text` with all matches replaced, as `re.sub` does. Fails with `None` as soon as the
    /// result is longer than `limit` bytes.
    pub(crate) fn replace(
        &self,
        template: &Substitution,
        text: &str,
        limit: usize,
    ) -> Result<Option<String>, Exhausted> {
        let mut out = String::new();
        let mut copied = 0;
        let mut matches = self.matches(text);
        while let Some(groups) = matches.next_match()? {
            let Some(Some((from, to))) = groups.first().copied() else {
                break;
            };
            out.push_str(&text[copied..from]);
            template.expand(text, &groups, &mut out);
            copied = to;
            if out.len() > limit {
                return Ok(None);
            }
        }
        out.push_str(&text[copied..]);
        Ok((out.len() <= limit).then_some(out))
    }

    /// The linear machine, if its answers for `text` are Python's.
    fn native(&self, text: &str) -> Option<&Native> {
        let pythons = self.tree.dialect == Dialect::Re;
        if self.needs.word_edge
            && pythons
            && (text.is_empty() || !syntax::class::word_boundaries_agree(text))
        {
            return None;
        }
        if self.needs.dollar && text.ends_with('\n') {
            let newline = || Native::new(&self.tree, Dollar::EatNewline);
            self.newline.get_or_init(newline).as_ref()
        } else {
            self.plain
                .get_or_init(|| Native::new(&self.tree, Dollar::End))
                .as_ref()
        }
    }

    /// The machine for texts that grow, if it can run the pattern.
    fn threads(&self) -> Option<&Threads> {
        self.threads
            .get_or_init(|| Threads::new(&self.tree))
            .as_ref()
    }

    /// The way through two searches, if the pattern has the form.
    fn split(&self) -> Option<&Split> {
        let split = || Split::new(&self.tree).map(Box::new);
        self.split.get_or_init(split).as_deref()
    }

    fn program(&self) -> &Program {
        self.program.get_or_init(|| Program::new(&self.tree))
    }
}

/// The matches of a pattern in a text, one after the other.
///
/// After a match the search goes on at its end. An empty match there is allowed unless the
/// match before was empty and at the same place.
pub(crate) struct Matches<'p, 't> {
    pattern: &'p Pattern,
    text: &'t str,
    native: Option<&'p Native>,
    split: Option<&'p Split>,
    at: usize,
    after_empty: bool,
    done: bool,
    work: u64,
    steps: u64,
    captures: Option<Captures>,
    memory: Memory,
}

impl Matches<'_, '_> {
    pub(crate) fn next_match(&mut self) -> Result<Option<Groups>, Exhausted> {
        if self.done {
            return Ok(None);
        }
        let mut groups = Groups::new();
        if !self.search(&mut groups)? {
            self.done = true;
            return Ok(None);
        }
        if let Some(Some((from, to))) = groups.first().copied() {
            self.at = to;
            self.after_empty = from == to;
        }
        Ok(Some(groups))
    }

    fn search(&mut self, groups: &mut Groups) -> Result<bool, Exhausted> {
        let bar_empty = self.after_empty;
        if let Some(native) = self.native
            && self.work < LINEAR_WORK
            && !(bar_empty && self.pattern.needs.longer_after_empty)
        {
            let mut from = self.at;
            // A match of such a pattern is never empty.
            if let Some(split) = self.split {
                match split.search(self.text, from, &mut self.work, groups)? {
                    Some(found) => return Ok(found),
                    // If it finds nothing once, it need not look again.
                    None => self.split = None,
                }
            }
            if bar_empty {
                // Every match here is empty, so the next one starts further on.
                let Some(c) = self.text[from..].chars().next() else {
                    return Ok(false);
                };
                from += c.len_utf8();
            }
            self.work += (self.text.len() - from) as u64;
            return Ok(native.search(self.text, from, &mut self.captures, groups));
        }
        let program = self.pattern.program();
        program.search(
            self.text,
            self.at,
            bar_empty,
            &mut self.memory,
            &mut self.steps,
            groups,
        )
    }
}

/// Notes what the node needs.
fn survey(node: &Node, needs: &mut Needs) {
    match node {
        Node::Char(_) | Node::Set(_) => {}
        Node::Anchor(Assertion::EndOrFinalNewline) => needs.dollar = true,
        Node::Anchor(Assertion::Word { .. } | Assertion::NotWord { .. }) => needs.word_edge = true,
        Node::Anchor(_) => {}
        Node::Group(_, node) => survey(node, needs),
        Node::Concat(nodes) => nodes.iter().for_each(|node| survey(node, needs)),
        Node::Alternate(nodes) => {
            let last = nodes.len() - 1;
            needs.longer_after_empty |= nodes[..last].iter().any(Node::is_nullable);
            nodes.iter().for_each(|node| survey(node, needs));
        }
        Node::Repeat(repeat) => {
            needs.longer_after_empty |=
                repeat.kind != RepeatKind::Greedy || repeat.node.is_nullable();
            survey(&repeat.node, needs);
        }
        Node::Keep => needs.longer_after_empty = true,
        Node::Look { node, .. } | Node::Atomic(node) => {
            needs.longer_after_empty = true;
            survey(node, needs);
        }
        Node::Backref(..) => needs.longer_after_empty = true,
        Node::Conditional { yes, no, .. } => {
            needs.longer_after_empty = true;
            survey(yes, needs);
            survey(no, needs);
        }
    }
}
