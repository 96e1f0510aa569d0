//! The compiled form of tags: parts, and the junctions between them, which nothing changes.
//!
//! For example, `<a>` before JSON and `</a>` behind it are three parts with a junction before each
//! of them and one at the end.

use fsm_index::{ByteSet, JSON_TEXT};

use super::covers::Covers;
use super::markers::ROOT;
use super::parts::{Body, Part, Thread};

/// Compiled tags.
#[derive(Debug)]
pub(super) struct Graph {
    parts: Vec<Part>,
    junctions: Vec<Junction>,
    start: u32,
    specials: Vec<Box<str>>,
    names: Names,
    has_borders: bool,
    has_grammars: bool,
    unsure: Vec<Box<[u8]>>,
    covers: Covers,
    /// By kind, the first part of it.
    likes: Vec<u32>,
}

/// The names of special tokens that may stand as text.
#[derive(Debug)]
pub(super) struct Names {
    /// By name, ascending.
    pub(super) all: Vec<Name>,
    pub(super) bytes: Vec<NameByte>,
    pub(super) longest: usize,
    /// The characters that they have.
    pub(super) chars: Vec<u32>,
    /// True if characters of a string of JSON are among them alone.
    pub(super) are_json_text: bool,
    /// True if one begins like JSON outside of strings.
    pub(super) look_like_json: bool,
    /// The bytes with which they begin, where they are all that special tokens can be.
    pub(super) heads: Option<ByteSet>,
}

/// The name of a special token, which may stand as text.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: Box<[u8]>,
    pub(super) special: u32,
}

/// A byte of names, in a trie in the order of its texts.
#[derive(Debug)]
pub(super) struct NameByte {
    pub(super) byte: u8,
    /// The number of bytes before it.
    pub(super) depth: u32,
    /// The special token whose name ends here.
    pub(super) special: Option<u32>,
    /// The first byte that is not behind this one.
    pub(super) skip: u32,
}

/// The most rules that are open inside of each other, because threads begin by calls in calls.
pub(super) const MAX_OPEN_RULES: u32 = 128;

/// The parts and tokens that may follow: reached through empty parts too.
#[derive(Clone, Debug, Default)]
pub(super) struct Junction {
    pub(super) parts: Vec<u32>,
    /// A special token, and the junction behind it.
    pub(super) specials: Vec<(u32, u32)>,
    /// A rule that begins here, and the junction behind it.
    pub(super) calls: Vec<(u32, u32)>,
    /// True if the rule may end here.
    pub(super) returns: bool,
    /// The number of rules that must be opened from here on, inside of each other, at least.
    pub(super) needs: u32,
    /// The rest in words that mean the same in every automaton, if it is one text and then the end.
    pub(super) tail: Option<Box<[u32]>>,
    /// True if the text may end here.
    pub(super) end: bool,
    /// Bytes and special tokens of a shortest text from here.
    pub(super) distance: u64,
    pub(super) best: Best,
}

/// The first step of a shortest text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Best {
    #[default]
    End,
    Part(u32),
    Special(u32),
    Call(u32),
    Return,
}

impl Graph {
    pub(super) fn new(
        parts: Vec<Part>,
        junctions: Vec<Junction>,
        start: u32,
        specials: Vec<Box<str>>,
        names: Vec<Name>,
        covers: Covers,
    ) -> Graph {
        let mut likes = Vec::new();
        for (number, part) in (0..).zip(&parts) {
            let kind = part.kind as usize;
            if kind >= likes.len() {
                likes.resize(kind + 1, u32::MAX);
            }
            likes[kind] = number.min(likes[kind]);
        }
        let has_borders = |part: &Part| match &part.body {
            Body::Run(run) => run.max_tokens.is_some(),
            Body::Tokens(_) => true,
            _ => false,
        };
        let is_grammar = |part: &Part| matches!(part.body, Body::Grammar(_));
        let is_structure = |part: &Part| matches!(part.body, Body::Tokens(_));
        let is_text_alone =
            junctions.iter().all(|at| at.specials.is_empty()) && !parts.iter().any(is_structure);
        let mut names = Names::of(names);
        names.heads = names.heads.filter(|_| is_text_alone);
        Graph {
            unsure: unsure_of(&parts),
            has_borders: parts.iter().any(has_borders),
            has_grammars: parts.iter().any(is_grammar),
            parts,
            junctions,
            start,
            specials,
            names,
            covers,
            likes,
        }
    }

    #[inline]
    pub(super) fn part(&self, part: u32) -> &Part {
        &self.parts[part as usize]
    }

    /// Returns the first part that is equal to one, what follows it aside.
    pub(super) fn like(&self, part: u32) -> u32 {
        self.likes[self.part(part).kind as usize]
    }

    /// Returns the parts that cover others.
    #[inline]
    pub(super) fn covers(&self) -> &Covers {
        &self.covers
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the only one of some threads, if it stands in a text of an inner automaton that is
    /// spelt as it is.
    #[inline]
    pub(super) fn solo_of(&self, threads: &[Thread]) -> Option<(Thread, &Body)> {
        let [thread] = threads else {
            return None;
        };
        let body = &self.part(thread.part).body;
        let is_alone = match body {
            Body::Json(json) => json.is_plain() && thread.guard == ROOT && thread.extra == 0,
            Body::Grammar(_) => true,
            _ => false,
        };
        is_alone.then_some((*thread, body))
    }

    #[inline]
    pub(super) fn junction(&self, junction: u32) -> &Junction {
        &self.junctions[junction as usize]
    }

    /// Returns the number of junctions.
    pub(super) fn junction_count(&self) -> u32 {
        self.junctions.len() as u32
    }

    /// Returns the junction at which a text begins.
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    /// Returns the names of all special tokens.
    pub(super) fn specials(&self) -> &[Box<str>] {
        &self.specials
    }

    /// Returns the special tokens whose names may stand as text.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Tells whether it matters where tokens begin and end.
    pub(super) fn has_borders(&self) -> bool {
        self.has_borders
    }

    /// Tells whether a part is of a grammar.
    pub(super) fn has_grammars(&self) -> bool {
        self.has_grammars
    }

    /// Returns texts of which a token that has one in it must be read.
    pub(super) fn unsure(&self) -> &[Box<[u8]>] {
        &self.unsure
    }
}

impl Names {
    /// Makes the tables of names, which are in order.
    fn of(all: Vec<Name>) -> Names {
        let firsts = all.iter().filter_map(|name| name.text.first().copied());
        let firsts: Vec<u8> = firsts.collect();
        let chars = chars_of(&all);
        let is_json_text = |c: u32| JSON_TEXT.iter().any(|&(from, to)| (from..=to).contains(&c));
        let begins_json = |byte: &u8| b" \t\r\n{}[],:\"+-.0123456789eEtrufalsn".contains(byte);
        Names {
            heads: Some(ByteSet::of(&firsts)),
            bytes: bytes_of(&all),
            longest: all.iter().map(|name| name.text.len()).max().unwrap_or(0),
            are_json_text: chars.iter().all(|c| is_json_text(*c)),
            chars,
            look_like_json: firsts.iter().any(begins_json),
            all,
        }
    }
}

/// Returns what tokens have in them of which only reading them tells that they may come.
fn unsure_of(parts: &[Part]) -> Vec<Box<[u8]>> {
    let mut all: Vec<Box<[u8]>> = Vec::new();
    for part in parts {
        if let Body::Json(json) = &part.body
            && json.is_plain()
        {
            all.extend(json.unsure.iter().cloned());
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the trie of some names, which are in order.
fn bytes_of(names: &[Name]) -> Vec<NameByte> {
    let mut out: Vec<NameByte> = Vec::new();
    let mut before: &[u8] = &[];
    // The bytes that lead to the last one.
    let mut open: Vec<usize> = Vec::new();
    for name in names {
        let like = name.text.iter().zip(before).take_while(|(a, b)| a == b);
        let like = like.count();
        for closed in open.drain(like..) {
            out[closed].skip = out.len() as u32;
        }
        for (depth, &byte) in name.text.iter().enumerate().skip(like) {
            open.push(out.len());
            out.push(NameByte {
                byte,
                depth: depth as u32,
                special: None,
                skip: 0,
            });
        }
        if let Some(last) = open.last() {
            out[*last].special = Some(name.special);
        }
        before = &name.text;
    }
    for closed in open {
        out[closed].skip = out.len() as u32;
    }
    out
}

/// Returns the characters of some names.
fn chars_of(names: &[Name]) -> Vec<u32> {
    let texts = names
        .iter()
        .map(|name| String::from_utf8_lossy(&name.text).into_owned());
    let mut chars: Vec<u32> = texts
        .flat_map(|text| text.chars().map(u32::from).collect::<Vec<u32>>())
        .collect();
    chars.sort_unstable();
    chars.dedup();
    chars
}
