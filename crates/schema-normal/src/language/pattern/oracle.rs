//! Patterns that look around, beside a matcher that tries all ways, and beside Node where it
//! is installed.

use std::io::Write;
use std::process::{Command, Stdio};

use fsm_tables::Look;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::language::char_dfa::CharDfa;
use crate::language::char_dfa::automata::Matcher;
use crate::language::pattern::Pattern;
use crate::language::re::Re;

#[derive(Clone, Debug)]
enum Node {
    /// A piece of source that matches one of these characters of [`ALPHABET`].
    One(&'static str, &'static str),
    Start,
    End,
    Boundary,
    NoBoundary,
    Concat(Vec<Node>),
    Alternation(Vec<Node>),
    Repeat(Box<Node>, usize, Option<usize>, &'static str),
    Look(Look, Box<Node>),
    /// Flags: case is ignored, lines have ends, the dot is all.
    Group(&'static str, Box<Node>),
}

const ALPHABET: [char; 5] = ['a', 'B', '_', '-', '\n'];

const ONES: [(&str, &str); 9] = [
    ("a", "a"),
    ("B", "B"),
    ("b", ""),
    ("[aB]", "aB"),
    ("[^a]", "B_-\n"),
    (".", "aB_-"),
    (r"\w", "aB_"),
    (r"[^\w-]", "\n"),
    (r"\P{Lu}", "a_-\n"),
];

const LOOKS: [(Look, &str); 4] = [
    (Look::Ahead, "(?="),
    (Look::NotAhead, "(?!"),
    (Look::Behind, "(?<="),
    (Look::NotBehind, "(?<!"),
];

impl Node {
    fn source(&self) -> String {
        let all = |parts: &[Node]| parts.iter().map(Node::source).collect::<Vec<_>>();
        match self {
            Node::One(source, _) => (*source).to_owned(),
            Node::Start => "^".to_owned(),
            Node::End => "$".to_owned(),
            Node::Boundary => r"\b".to_owned(),
            Node::NoBoundary => r"\B".to_owned(),
            Node::Concat(parts) => format!("(?:{})", all(parts).concat()),
            Node::Alternation(parts) => format!("(?:{})", all(parts).join("|")),
            Node::Repeat(of, min, max, lazy) => {
                let max = max.map_or(String::new(), |max| max.to_string());
                format!("(?:{}){{{min},{max}}}{lazy}", of.source())
            }
            Node::Look(look, of) => {
                let open = LOOKS.iter().find(|known| known.0 == *look).unwrap();
                format!("{}{})", open.1, of.source())
            }
            Node::Group(flags, of) => format!("(?{flags}:{})", of.source()),
        }
    }

    /// Says whether `then` holds at an end of a match that begins at a place: all are tried.
    fn matches(
        &self,
        text: &[char],
        at: usize,
        flags: &str,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        let is_word = |c: Option<&char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_');
        let boundary =
            is_word(at.checked_sub(1).and_then(|at| text.get(at))) != is_word(text.get(at));
        let line_end = |c: Option<&char>| flags.contains('m') && c == Some(&'\n');
        match self {
            Node::One(source, chars) => {
                let holds = |c: &char| match (*source, flags.contains('i')) {
                    ("a", true) => *c == 'a',
                    ("b" | "B", true) => *c == 'B',
                    (r"\P{Lu}", true) => true,
                    (".", _) if flags.contains('s') => true,
                    _ => chars.contains(*c),
                };
                text.get(at).is_some_and(holds) && then(at + 1)
            }
            Node::Start => (at == 0 || line_end(text.get(at.wrapping_sub(1)))) && then(at),
            Node::End => (at == text.len() || line_end(text.get(at))) && then(at),
            Node::Boundary => boundary && then(at),
            Node::NoBoundary => !boundary && then(at),
            Node::Concat(parts) => match parts.split_first() {
                None => then(at),
                Some((first, rest)) => first.matches(text, at, flags, &mut |at| {
                    Node::Concat(rest.to_vec()).matches(text, at, flags, then)
                }),
            },
            Node::Alternation(parts) => parts.iter().any(|p| p.matches(text, at, flags, then)),
            Node::Repeat(of, min, max, lazy) => {
                if *min == 0 && then(at) {
                    return true;
                }
                if *max == Some(0) {
                    return false;
                }
                let max = max.map(|max| max - 1);
                let rest = Node::Repeat(of.clone(), min.saturating_sub(1), max, lazy);
                of.matches(text, at, flags, &mut |end| {
                    (end > at || *min > 0) && rest.matches(text, end, flags, then)
                })
            }
            Node::Look(look, of) => {
                let ahead = || of.matches(text, at, flags, &mut |_| true);
                let mut begins = 0..=at;
                let mut behind =
                    || begins.any(|from| of.matches(text, from, flags, &mut |end| end == at));
                let holds = match look {
                    Look::Ahead => ahead(),
                    Look::NotAhead => !ahead(),
                    Look::Behind => behind(),
                    Look::NotBehind => !behind(),
                };
                holds && then(at)
            }
            Node::Group(own, of) => {
                let (on, off) = own.split_once('-').unwrap_or((own, ""));
                let kept = flags.chars().filter(|c| !off.contains(*c));
                let flags: String = kept.chain(on.chars()).collect();
                of.matches(text, at, &flags, then)
            }
        }
    }
}

fn pattern(flags: u32) -> impl Strategy<Value = Node> {
    let one = prop::sample::select(&ONES[..]).prop_map(|(source, chars)| Node::One(source, chars));
    let leaf = prop_oneof![
        8 => one,
        1 => Just(Node::Start),
        1 => Just(Node::End),
        1 => Just(Node::Boundary),
        1 => Just(Node::NoBoundary),
    ];
    leaf.prop_recursive(4, 14, 3, move |inner| {
        let many = prop::collection::vec(inner.clone(), 1..4);
        let look = prop::sample::select(&LOOKS[..]);
        let counts = (
            0usize..3,
            prop::option::of(0usize..3),
            prop::sample::select(&["", "?"][..]),
        );
        let group = prop::sample::select(&["i", "m", "s", "-i", "im-s"][..]);
        prop_oneof![
            4 => many.clone().prop_map(Node::Concat),
            3 => many.prop_map(Node::Alternation),
            3 => (inner.clone(), counts).prop_map(|(of, (min, more, lazy))| {
                Node::Repeat(Box::new(of), min, more.map(|more| min + more), lazy)
            }),
            4 => (look, inner.clone()).prop_map(|((look, _), of)| Node::Look(look, Box::new(of))),
            flags => (group, inner).prop_map(|(flags, of)| Node::Group(flags, Box::new(of))),
        ]
    })
}

/// All texts of up to so many characters.
fn texts(most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..most {
        let to = all.len();
        for at in from..to {
            all.extend(ALPHABET.map(|c| format!("{}{c}", all[at])));
        }
        from = to;
    }
    all
}

/// Answers about texts, by the automaton and by following all ways.
struct Ours {
    conditions: Vec<(Matcher, bool)>,
    dfa: CharDfa,
}

impl Ours {
    fn new(source: &str) -> Ours {
        let pattern = Pattern::parse(source).unwrap_or_else(|e| panic!("{source}: {}", e.reason));
        let all = pattern.conditions().iter();
        let all: Vec<(&Re, bool)> = all.map(|(re, want)| (re, *want)).collect();
        let matcher = |(re, want): &(&Re, bool)| (Matcher::new(re).unwrap(), *want);
        Ours {
            conditions: all.iter().map(matcher).collect(),
            dfa: CharDfa::new(&all, 50_000).unwrap(),
        }
    }

    fn holds(&self, text: &str) -> bool {
        let mut all = self.conditions.iter();
        let holds = all.all(|(matcher, want)| matcher.matches(text) == *want);
        let state = self.dfa.run(text);
        let read = state != crate::language::char_dfa::DEAD && self.dfa.accepts(state);
        assert_eq!(read, holds, "{text:?}");
        holds
    }
}

proptest! {
    #[test]
    fn patterns_are_what_trying_all_ways_finds(node in pattern(2)) {
        let source = node.source();
        let ours = Ours::new(&source);
        for text in texts(4) {
            let chars: Vec<char> = text.chars().collect();
            let found = (0..=chars.len()).any(|at| node.matches(&chars, at, "", &mut |_| true));
            prop_assert_eq!(ours.holds(&text), found, "{} {:?}", source, text);
        }
    }
}

/// The number of patterns that are tried beside Node, because one process reads all of them.
const BESIDE_NODE: usize = 400;

#[test]
fn patterns_are_what_node_finds() {
    let mut runner = TestRunner::new(Config::default());
    let fresh = |_| pattern(0).new_tree(&mut runner).unwrap().current().source();
    let generated: Vec<String> = (0..BESIDE_NODE).map(fresh).collect();
    let written = [
        r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?)$",
        r"\bB\b",
        r"(?<!-)$",
        r"^(?:(?!B).)*$",
        r"a(?=B|$)",
        r"(?<=^|-)a",
        r"\A",
        r"\Z",
        r"\z",
        r"[\w-_]",
        r"(?=a)*B",
        r"^a{,2}$",
        r"\p{Lu}",
        r"\P{L}",
        r"^\p{Script=Latin}+$",
        r"a{1}?",
        r"(?<![^a])B",
        r"(?<=(?<!a)B)_",
        r"(?<=a(?=B).)-",
        r"(?=(?<=a)-)",
    ];
    let patterns = written.map(str::to_owned).into_iter().chain(generated);
    let patterns: Vec<String> = patterns.collect();
    let texts = texts(3);
    // With the flag, and without it where that is an error.
    let script = r#"
        const [patterns, texts] = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const read = (p) => { try { return new RegExp(p, "u") } catch { return new RegExp(p) } };
        const found = (p) => texts.map((t) => read(p).test(t) ? "1" : "0").join("");
        console.log(patterns.map(found).join("\n"));
    "#;
    let node = Command::new("node")
        .args(["-e", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        eprintln!("skipped: node is not installed");
        return;
    };
    let asked = serde_json::to_string(&(&patterns, &texts)).unwrap();
    node.stdin
        .take()
        .unwrap()
        .write_all(asked.as_bytes())
        .unwrap();
    let answer = node.wait_with_output().unwrap();
    assert!(answer.status.success());
    let answer = String::from_utf8(answer.stdout).unwrap();
    assert_eq!(answer.lines().count(), patterns.len());
    for (pattern, found) in patterns.iter().zip(answer.lines()) {
        let ours = Ours::new(pattern);
        for (text, found) in texts.iter().zip(found.chars()) {
            assert_eq!(ours.holds(text), found == '1', "{pattern} {text:?}");
        }
    }
}
