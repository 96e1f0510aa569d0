//! Alternatives that begin with the same text begin once.
//!
//! For example, of a thousand texts from `0` to `999` ten beginnings are waited for, and not a
//! thousand: `1` leads to those that begin with it.

use super::build::Node;

/// The fewest alternatives that are put together, because each of a few can be waited for.
const MANY: usize = 8;

/// The most texts behind each other that beginnings are cut into, because nodes nest so deep.
const DEPTH: usize = 16;

/// A text, and what follows it.
struct Headed {
    head: String,
    rest: Vec<Node>,
}

impl Node {
    /// One of some nodes.
    pub(super) fn one_of(nodes: Vec<Node>) -> Node {
        if nodes.len() < MANY {
            return Node::Alt(nodes);
        }
        let mut headed = Vec::new();
        let mut others = Vec::new();
        for node in nodes {
            match node.headed() {
                Ok(node) => headed.push(node),
                Err(node) => others.push(node),
            }
        }
        headed.sort_by(|one, other| one.head.cmp(&other.head));
        together(headed, DEPTH, &mut others);
        Node::Alt(others)
    }

    /// Takes the text off with which the node begins; the node itself where there is none.
    fn headed(self) -> Result<Headed, Node> {
        match self {
            Node::Text(head) => Ok(Headed {
                head,
                rest: Vec::new(),
            }),
            Node::Seq(mut nodes) => match nodes.first_mut() {
                Some(Node::Text(head)) => Ok(Headed {
                    head: std::mem::take(head),
                    rest: nodes.split_off(1),
                }),
                _ => Err(Node::Seq(nodes)),
            },
            other => Err(other),
        }
    }
}

/// Adds nodes that begin with a text, which are in order; those that begin with one character
/// together. Recursion is as deep as `depth` says.
fn together(mut headed: Vec<Headed>, depth: usize, out: &mut Vec<Node>) {
    while let Some(last) = headed.last() {
        let first_char = |one: &Headed| one.head.chars().next();
        let begin = first_char(last);
        let is_like = |one: &Headed| first_char(one) == begin;
        let from = headed.len() - headed.iter().rev().take_while(|one| is_like(one)).count();
        let mut group = headed.split_off(from);
        let [first, .., end] = group.as_slice() else {
            out.extend(group.into_iter().map(Headed::node));
            continue;
        };
        if begin.is_none() || depth == 0 {
            out.extend(group.into_iter().map(Headed::node));
            continue;
        }
        // In order, the first and the last have the least in common.
        let alike = first.head.bytes().zip(end.head.bytes());
        let alike = alike.take_while(|(one, other)| one == other).count();
        let alike = first.head.floor_char_boundary(alike);
        let begin = first.head[..alike].to_owned();
        for one in &mut group {
            one.head.drain(..alike);
        }
        let mut inside = Vec::new();
        together(group, depth - 1, &mut inside);
        out.push(Node::Seq(vec![Node::Text(begin), Node::Alt(inside)]));
    }
}

impl Headed {
    fn node(self) -> Node {
        let mut nodes = vec![Node::Text(self.head)];
        nodes.extend(self.rest);
        Node::Seq(nodes)
    }
}
