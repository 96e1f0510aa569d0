//! From the tree to the machine's instructions. For example, `a|b` becomes a choice between two
//! characters, with a jump behind the first.

use regex_syntax::hir::ClassUnicode;

use super::program::{Inst, NONE, Program, Repetition, SetRun};
use crate::pyre::syntax::class::{self, Category, CharSet, Dialect};
use crate::pyre::syntax::tree::{Assertion, Behind, Node, Repeat, RepeatKind, Tree};

impl Program {
    pub(in crate::pyre) fn new(tree: &Tree) -> Program {
        let mut compiler = InstCompiler {
            insts: Vec::new(),
            sets: Vec::new(),
            loops: 0,
            marks: 0,
            look_behinds: 0,
            quiet: Vec::new(),
        };
        compiler.node(&tree.root);
        compiler.push(Inst::Match);
        let first = first_set(&tree.root).map(|class| CharSet::new(&class));
        Program {
            anchored: matches!(compiler.insts[0], Inst::Assert(Assertion::Start)),
            insts: compiler.insts,
            sets: compiler.sets,
            groups: tree.names.len(),
            loops: compiler.loops,
            marks: compiler.marks,
            first,
            word: CharSet::new(&class::category(Category::Word, tree.dialect, false, false)),
            ascii_word: CharSet::new(&class::category(Category::Word, tree.dialect, true, false)),
            empty_is_no_edge: tree.dialect == Dialect::Regex,
            quiet: compiler.quiet,
        }
    }
}

/// A set that holds the first character of every match, unless a match can be empty or its
/// first character cannot be told.
pub(in crate::pyre) fn first_set(node: &Node) -> Option<ClassUnicode> {
    match node {
        Node::Char(c) => {
            let mut class = ClassUnicode::empty();
            class.push(regex_syntax::hir::ClassUnicodeRange::new(*c, *c));
            Some(class)
        }
        Node::Set(class) => Some(class.clone()),
        Node::Group(_, node) | Node::Atomic(node) => first_set(node),
        Node::Concat(nodes) => {
            let mut nodes = nodes.iter();
            // A node that consumes nothing says nothing about the first character.
            let node = nodes.find(|node| !matches!(node, Node::Anchor(_) | Node::Look { .. }))?;
            first_set(node)
        }
        Node::Alternate(nodes) => {
            let mut all = ClassUnicode::empty();
            for node in nodes {
                all.union(&first_set(node)?);
            }
            Some(all)
        }
        Node::Repeat(repeat) if repeat.min > 0 => first_set(&repeat.node),
        Node::Repeat(_)
        | Node::Anchor(_)
        | Node::Look { .. }
        | Node::Keep
        | Node::Backref(..)
        | Node::Conditional { .. } => None,
    }
}

struct InstCompiler {
    insts: Vec<Inst>,
    sets: Vec<CharSet>,
    loops: usize,
    marks: usize,
    /// The number of look-behinds that the node at work is in.
    look_behinds: usize,
    quiet: Vec<bool>,
}

impl InstCompiler {
    fn set(&mut self, class: &ClassUnicode) -> usize {
        let set = CharSet::new(class);
        if let Some(known) = self.sets.iter().position(|known| *known == set) {
            return known;
        }
        self.sets.push(set);
        self.sets.len() - 1
    }

    fn mark(&mut self) -> usize {
        self.marks += 1;
        self.marks - 1
    }

    fn push(&mut self, inst: Inst) -> usize {
        self.insts.push(inst);
        self.quiet.push(self.look_behinds > 0);
        self.insts.len() - 1
    }

    /// Appends the node's instructions. Recursion is bounded by the parser's nesting limit.
    fn node(&mut self, node: &Node) {
        match node {
            Node::Char(c) => {
                self.push(Inst::Char(*c));
            }
            Node::Set(class) => {
                let set = self.set(class);
                self.push(Inst::Set(set));
            }
            Node::Anchor(anchor) => {
                self.push(Inst::Assert(*anchor));
            }
            Node::Group(group, node) => {
                self.push(Inst::Save(*group as u32 * 2));
                self.node(node);
                self.push(Inst::Save(*group as u32 * 2 + 1));
            }
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Alternate(nodes) => self.alternate(nodes),
            Node::Repeat(repeat) => self.repeat(repeat),
            Node::Look {
                behind,
                negated,
                node,
            } => {
                let mark = self.mark();
                self.push(Inst::Mark(mark));
                let split = negated.then(|| self.push(Inst::Split(0, 0)));
                let outer = self.look_behinds;
                match behind {
                    // A look-ahead in a look-behind may read behind its place.
                    None => self.look_behinds = 0,
                    Some(_) => self.look_behinds += 1,
                }
                match behind {
                    None => self.node(node),
                    Some(Behind { least, most }) if Some(*least) == *most => {
                        self.push(Inst::Back(*least));
                        self.node(node);
                    }
                    Some(Behind { least, most }) => {
                        self.push(Inst::BackFrom {
                            least: *least as u32,
                            most: most.map_or(NONE, |most| most as u32),
                        });
                        self.node(node);
                        self.push(Inst::AtMark(mark));
                    }
                }
                self.look_behinds = outer;
                match split {
                    None => {
                        self.push(Inst::CommitAt(mark));
                    }
                    Some(split) => {
                        self.push(Inst::Reject(mark));
                        self.insts[split] = Inst::Split(split + 1, self.insts.len());
                    }
                }
            }
            Node::Backref(group, fold) => {
                self.push(Inst::Backref(*group, *fold));
            }
            Node::Conditional { group, yes, no } => {
                let test = self.push(Inst::IfGroup(*group, 0));
                self.node(yes);
                let jump = self.push(Inst::Jump(0));
                self.insts[test] = Inst::IfGroup(*group, self.insts.len());
                self.node(no);
                self.insts[jump] = Inst::Jump(self.insts.len());
            }
            Node::Keep => {
                self.push(Inst::Save(0));
            }
            Node::Atomic(node) => {
                let mark = self.mark();
                self.push(Inst::Mark(mark));
                self.node(node);
                self.push(Inst::Commit(mark));
            }
        }
    }

    fn alternate(&mut self, nodes: &[Node]) {
        let mut jumps = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            if i + 1 == nodes.len() {
                self.node(node);
                break;
            }
            let split = self.push(Inst::Split(0, 0));
            self.node(node);
            jumps.push(self.push(Inst::Jump(0)));
            self.insts[split] = Inst::Split(split + 1, self.insts.len());
        }
        for jump in jumps {
            self.insts[jump] = Inst::Jump(self.insts.len());
        }
    }

    fn repeat(&mut self, repeat: &Repeat) {
        let (min, max) = (repeat.min, repeat.max.unwrap_or(NONE));
        let one = match &repeat.node {
            Node::Set(class) => Some(self.set(class)),
            Node::Char(c) => {
                let mut class = ClassUnicode::empty();
                class.push(regex_syntax::hir::ClassUnicodeRange::new(*c, *c));
                Some(self.set(&class))
            }
            _ => None,
        };
        let run = one.map(|set| SetRun { set, min, max });
        let run = match repeat.kind {
            RepeatKind::Greedy => run.map(Inst::Run),
            RepeatKind::Lazy => run.map(Inst::LazyRun),
            RepeatKind::Possessive => None,
        };
        if let Some(run) = run {
            self.push(run);
            return;
        }
        let register = self.loops;
        self.loops += 1;
        self.push(Inst::LoopEnter(register));
        let again = self.insts.len();
        let bounds = |exit| Repetition {
            register,
            min,
            max,
            exit,
        };
        match repeat.kind {
            RepeatKind::Greedy => {
                let test = self.push(Inst::Jump(0));
                self.node(&repeat.node);
                self.push(Inst::Jump(again));
                let exit = self.insts.len();
                self.insts[test] = Inst::Loop(bounds(exit));
            }
            RepeatKind::Lazy => {
                let test = self.push(Inst::Jump(0));
                self.push(Inst::LoopTake(register));
                self.node(&repeat.node);
                self.push(Inst::Jump(again));
                let exit = self.insts.len();
                self.insts[test] = Inst::LazyLoop(bounds(exit));
            }
            RepeatKind::Possessive => {
                // Each iteration is atomic, and drops the choice of leaving before it.
                let mark = self.mark();
                self.push(Inst::Mark(mark));
                let test = self.push(Inst::Jump(0));
                self.node(&repeat.node);
                self.push(Inst::Commit(mark));
                self.push(Inst::Jump(again));
                let exit = self.insts.len();
                self.insts[test] = Inst::Loop(bounds(exit));
            }
        }
    }
}
