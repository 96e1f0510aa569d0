//! Reads the `pattern` keyword: an ECMA-262 regular expression that is searched
//! for in the decoded string.
//!
//! The text is rewritten in the dialect of `regex-syntax` (whose classes would
//! otherwise mean something else: `\d` is ASCII in ECMA-262, `\s` has its own
//! list, `[` and `&&` are plain inside a class), read by it, and brought to an
//! expression over whole strings: anchors are resolved by position, the rest of
//! a search becomes "any text" on either side. Lookahead is understood at the
//! very beginning of a pattern, where it is an intersection or a difference;
//! other look-around, word boundaries and back references are refused by name.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::language::re::Re;

/// Why a pattern cannot be used, with the byte offset in the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    pub(crate) offset: usize,
    pub(crate) reason: String,
}

impl PatternError {
    fn new(offset: usize, reason: impl Into<String>) -> Self {
        PatternError {
            offset,
            reason: reason.into(),
        }
    }
}

/// A pattern: all of these conditions hold for the whole string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) source: String,
    /// The string matches `main`, each positive look and no negative one.
    pub(crate) main: Re,
    pub(crate) looks: Vec<(Re, bool)>,
}

/// The longest pattern that is read, in bytes.
const MAX_PATTERN_BYTES: usize = 20_000;

/// The largest pattern, its counts written out, in characters.
const MAX_PATTERN_STATES: usize = 100_000;

impl Pattern {
    pub(crate) fn parse(source: &str) -> Result<Pattern, PatternError> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::new(
                MAX_PATTERN_BYTES,
                format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"),
            ));
        }
        let mut rest = source;
        let mut offset = 0;
        let mut anchored = false;
        let mut looks = Vec::new();
        loop {
            if let Some(after) = rest.strip_prefix('^')
                && after.starts_with("(?")
                && (after[2..].starts_with('=') || after[2..].starts_with('!'))
            {
                anchored = true;
                rest = after;
                offset += 1;
            }
            let positive = match rest.get(..3) {
                Some("(?=") => true,
                Some("(?!") => false,
                _ => break,
            };
            if !anchored {
                break;
            }
            let Some(end) = matching_paren(rest) else {
                break;
            };
            // A lookahead under a quantifier, or one alternative among
            // several, is not a condition on the whole string.
            if rest[end + 1..].starts_with(['*', '+', '?', '{'])
                || has_top_level_bar(&rest[end + 1..])
            {
                break;
            }
            let inner = &rest[3..end];
            let re = search_language(&format!("^(?:{inner})"))
                .map_err(|e| PatternError::new(offset + e.offset.saturating_sub(1), e.reason))?;
            looks.push((re, positive));
            rest = &rest[end + 1..];
            offset += end + 1;
        }
        let text = if anchored && !looks.is_empty() {
            format!("^(?:{rest})")
        } else {
            source.to_owned()
        };
        let main = search_language(&text).map_err(|e| {
            let at = if looks.is_empty() {
                e.offset
            } else {
                offset + e.offset.saturating_sub(4)
            };
            PatternError::new(at.min(source.len()), e.reason)
        })?;
        let size = looks.iter().fold(main.expanded_size(), |n, (re, _)| {
            n.saturating_add(re.expanded_size())
        });
        if size > MAX_PATTERN_STATES {
            return Err(PatternError::new(
                0,
                format!(
                    "with its counts written out the pattern has more than {MAX_PATTERN_STATES} characters; lower the counts"
                ),
            ));
        }
        Ok(Pattern {
            source: source.to_owned(),
            main,
            looks,
        })
    }

    /// The expression, where there is no lookahead.
    pub(crate) fn plain(&self) -> Option<&Re> {
        self.looks.is_empty().then_some(&self.main)
    }
}

/// The index of the parenthesis that closes the one at the start of `text`.
fn matching_paren(text: &str) -> Option<usize> {
    scan_groups(text, |depth, b, _| depth == 0 && b == b')')
}

fn has_top_level_bar(text: &str) -> bool {
    scan_groups(text, |depth, b, _| depth == 0 && b == b'|').is_some()
}

/// Walks over a pattern, escapes and classes skipped, and answers where
/// `found(depth after the byte, byte, index)` first holds.
fn scan_groups(text: &str, found: impl Fn(i32, u8, usize) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut in_class, mut i) = (0, false, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => {
                i += 2;
                continue;
            }
            b'[' if !in_class => in_class = true,
            b']' if in_class => in_class = false,
            b'(' if !in_class => depth += 1,
            b')' if !in_class => depth -= 1,
            _ => {}
        }
        if !in_class && found(depth, bytes[i], i) {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// The texts that `source` matches as a whole.
#[cfg(feature = "automaton")]
pub(crate) fn whole(source: &str) -> Result<Re, PatternError> {
    search_language(&format!("^(?:{source})$"))
}

/// The strings in which `source` is found.
fn search_language(source: &str) -> Result<Re, PatternError> {
    let rewritten = Rewriter {
        source,
        bytes: source.as_bytes(),
        at: 0,
        out: String::new(),
    }
    .run()?;
    let hir = ParserBuilder::new()
        .nest_limit(120)
        .build()
        .parse(&rewritten)
        .map_err(|e| {
            PatternError::new(
                0,
                format!("the pattern is not a regular expression: {}", reason_of(&e)),
            )
        })?;
    let parts = anchored_parts(&hir, 0)?;
    Ok(Re::alt(parts.into_iter().map(|p| {
        let before = if p.start { Re::Empty } else { Re::any() };
        let after = if p.end { Re::Empty } else { Re::any() };
        absorb(Re::concat([before, p.body, after]))
    })))
}

/// `.*x*` at an end of a search is `.*`: a part that may be empty and any text
/// beside it are any text.
fn absorb(re: Re) -> Re {
    let Re::Concat(mut parts) = re else { return re };
    let any = Re::any();
    if parts.first() == Some(&any) {
        while parts.len() > 1 && parts[1].nullable() {
            parts.remove(1);
        }
    }
    if parts.last() == Some(&any) {
        while parts.len() > 1 && parts[parts.len() - 2].nullable() {
            parts.remove(parts.len() - 2);
        }
    }
    // `.*x+` is `.*x`: one turn of the loop is enough beside any text.
    let n = parts.len();
    if n > 1
        && parts[0] == any
        && let Re::Repeat(inner, min, _) = &parts[1]
    {
        parts[1] = inner.as_ref().clone().repeat(*min, Some(*min));
    }
    if n > 1
        && parts[n - 1] == any
        && let Re::Repeat(inner, min, _) = &parts[n - 2]
    {
        parts[n - 2] = inner.as_ref().clone().repeat(*min, Some(*min));
    }
    if parts.len() == 1 && parts[0] == any {
        return any;
    }
    Re::concat(parts)
}

fn reason_of(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(e) => e.kind().to_string(),
        regex_syntax::Error::Translate(e) => e.kind().to_string(),
        _ => "it cannot be read".to_owned(),
    }
}

/// A part of a search: what it matches, and whether it is tied to the ends of
/// the string.
#[derive(Clone)]
struct Part {
    start: bool,
    body: Re,
    end: bool,
}

impl Part {
    const EMPTY: Part = Part {
        start: false,
        body: Re::Empty,
        end: false,
    };
}

/// The most turns of a loop with anchors that is counted.
const MAX_ANCHORED_TURNS: u32 = 8;

const MAX_PARTS: usize = 200;
const MAX_NESTING: usize = 200;

fn anchored_parts(hir: &Hir, depth: usize) -> Result<Vec<Part>, PatternError> {
    if depth > MAX_NESTING {
        return Err(PatternError::new(0, "the pattern is nested too deeply"));
    }
    if hir.properties().look_set().is_empty() {
        return Ok(vec![Part {
            start: false,
            body: convert(hir, depth)?,
            end: false,
        }]);
    }
    match hir.kind() {
        HirKind::Look(Look::Start) => Ok(vec![Part {
            start: true,
            ..Part::EMPTY
        }]),
        HirKind::Look(Look::End) => Ok(vec![Part {
            end: true,
            ..Part::EMPTY
        }]),
        HirKind::Look(_) => Err(PatternError::new(
            0,
            "this kind of boundary is not supported",
        )),
        HirKind::Capture(capture) => anchored_parts(&capture.sub, depth + 1),
        HirKind::Alternation(subs) => {
            let mut out = Vec::new();
            for sub in subs {
                out.extend(anchored_parts(sub, depth + 1)?);
            }
            Ok(out)
        }
        HirKind::Concat(subs) => {
            let mut out = vec![Part::EMPTY];
            for sub in subs {
                let next = anchored_parts(sub, depth + 1)?;
                let mut joined = Vec::new();
                for a in &out {
                    for b in &next {
                        joined.extend(join(a, b));
                    }
                }
                if joined.len() > MAX_PARTS {
                    return Err(PatternError::new(
                        0,
                        "the pattern has too many combinations of anchors",
                    ));
                }
                out = joined;
            }
            Ok(out)
        }
        HirKind::Repetition(rep) if rep.max == Some(1) && rep.min == 0 => {
            let mut out = anchored_parts(&rep.sub, depth + 1)?;
            out.push(Part::EMPTY);
            Ok(out)
        }
        HirKind::Repetition(rep) => {
            let turn = merged(anchored_parts(&rep.sub, depth + 1)?);
            if rep.max.unwrap_or(rep.min) > MAX_ANCHORED_TURNS {
                return Err(PatternError::new(
                    0,
                    format!(
                        "an anchor inside a repetition of more than {MAX_ANCHORED_TURNS} turns is not supported"
                    ),
                ));
            }
            let mut out = vec![Part::EMPTY];
            for _ in 0..rep.min {
                out = both(&out, &turn);
            }
            match rep.max {
                None => out = both(&out, &any_turns(&turn)),
                Some(max) => {
                    let mut maybe = turn;
                    maybe.push(Part::EMPTY);
                    for _ in rep.min..max {
                        out = both(&out, &maybe);
                    }
                }
            }
            Ok(out)
        }
        _ => Err(PatternError::new(0, "this anchor is not supported")),
    }
}

/// Any number of turns of a loop. What is tied to the start of the string is in the first
/// turn that matches any text, and what is tied to its end in the last one: turns that
/// match nothing demand more than going without them.
fn any_turns(turn: &[Part]) -> Vec<Part> {
    let free = turn.iter().filter(|part| !part.start && !part.end);
    let loops = Part {
        body: Re::alt(free.map(|part| part.body.clone())).repeat(0, None),
        ..Part::EMPTY
    };
    let mut out = vec![loops.clone()];
    for first in turn.iter().filter(|part| part.start) {
        out.extend(join(first, &loops));
    }
    let tied_to_end = turn.iter().filter(|part| part.end && !part.start);
    let before = out.clone();
    for last in tied_to_end {
        out.extend(before.iter().filter_map(|part| join(part, last)));
    }
    merged(out)
}

/// All of some parts before all of others.
fn both(before: &[Part], after: &[Part]) -> Vec<Part> {
    let joined = before
        .iter()
        .flat_map(|a| after.iter().filter_map(|b| join(a, b)));
    merged(joined.collect())
}

/// The parts that are tied alike as one: four at most.
fn merged(parts: Vec<Part>) -> Vec<Part> {
    let mut out = Vec::new();
    for (start, end) in [(false, false), (true, false), (false, true), (true, true)] {
        let alike = parts.iter().filter(|p| p.start == start && p.end == end);
        let body = Re::alt(alike.map(|part| part.body.clone()));
        if body != Re::Never {
            out.push(Part { start, body, end });
        }
    }
    out
}

/// One part after the other: what stands before `^` or after `$` is empty.
fn join(a: &Part, b: &Part) -> Option<Part> {
    let mut first = a.body.clone();
    let mut second = b.body.clone();
    if b.start {
        if !first.nullable() {
            return None;
        }
        first = Re::Empty;
    }
    if a.end {
        if !second.nullable() {
            return None;
        }
        second = Re::Empty;
    }
    Some(Part {
        start: a.start || b.start,
        body: Re::concat([first, second]),
        end: a.end || b.end,
    })
}

fn convert(hir: &Hir, depth: usize) -> Result<Re, PatternError> {
    if depth > MAX_NESTING {
        return Err(PatternError::new(0, "the pattern is nested too deeply"));
    }
    Ok(match hir.kind() {
        HirKind::Empty => Re::Empty,
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => Re::literal(text),
            Err(_) => return Err(PatternError::new(0, "the pattern is not over characters")),
        },
        HirKind::Class(Class::Unicode(class)) => Re::class(class.clone()),
        HirKind::Class(Class::Bytes(class)) => match class.to_unicode_class() {
            Some(class) => Re::class(class),
            None => return Err(PatternError::new(0, "the pattern is not over characters")),
        },
        HirKind::Look(_) => return Err(PatternError::new(0, "this anchor is not supported here")),
        HirKind::Repetition(rep) => convert(&rep.sub, depth + 1)?.repeat(rep.min, rep.max),
        HirKind::Capture(capture) => convert(&capture.sub, depth + 1)?,
        HirKind::Concat(subs) => {
            let parts: Result<Vec<Re>, _> = subs.iter().map(|s| convert(s, depth + 1)).collect();
            Re::concat(parts?)
        }
        HirKind::Alternation(subs) => {
            let parts: Result<Vec<Re>, _> = subs.iter().map(|s| convert(s, depth + 1)).collect();
            Re::alt(parts?)
        }
    })
}

/// ECMA-262 white space and line terminators: what `\s` is.
const SPACE: &str = r"\t\n\x0B\x0C\r\x20\u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";

struct Rewriter<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    out: String,
}

impl Rewriter<'_> {
    fn run(mut self) -> Result<String, PatternError> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => self.out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
                '{' => self.brace(),
                '}' | ']' => self.push_literal(c),
                '*' | '+' | '?' | '|' | ')' | '^' | '$' => {
                    self.out.push(c);
                    // Possessive and doubled quantifiers are errors in
                    // ECMA-262; regex-syntax would read them as nested.
                    if matches!(c, '*' | '+' | '?') {
                        self.lazy();
                        if matches!(self.peek(), Some('*' | '+' | '?')) {
                            return Err(PatternError::new(
                                self.at,
                                "the pattern is not a regular expression: nothing to repeat",
                            ));
                        }
                    }
                }
                _ => self.push_literal(c),
            }
        }
        Ok(self.out)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    /// A lazy quantifier has the same language as the greedy one.
    fn lazy(&mut self) {
        if self.peek() == Some('?') {
            self.at += 1;
        }
    }

    fn push_literal(&mut self, c: char) {
        if c.is_alphanumeric() || (!c.is_ascii() && !c.is_control()) {
            self.out.push(c);
        } else {
            self.out.push_str(&format!("\\u{{{:X}}}", u32::from(c)));
        }
    }

    /// `{2,3}` is a count; any other brace is plain (ECMA-262, annex B).
    fn brace(&mut self) {
        let rest = &self.source[self.at..];
        if let Some(end) = rest.find('}') {
            let inner = &rest[..end];
            let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            let is_count = match inner.split_once(',') {
                Some((a, b)) => digits(a) && (b.is_empty() || digits(b)),
                None => digits(inner),
            };
            if is_count {
                self.out.push('{');
                self.out.push_str(inner);
                self.out.push('}');
                self.at += end + 1;
                self.lazy();
                return;
            }
        }
        self.push_literal('{');
    }

    fn group(&mut self) -> Result<(), PatternError> {
        let start = self.at - 1;
        let rest = &self.source[self.at..];
        let refuse = |name: &str| {
            Err(PatternError::new(
                start,
                format!("{name} cannot be expressed; rewrite the pattern without it"),
            ))
        };
        if rest.starts_with("?:") {
            self.at += 2;
        } else if rest.starts_with("?=") || rest.starts_with("?!") {
            return refuse("a lookahead that is not at the beginning");
        } else if rest.starts_with("?<=") || rest.starts_with("?<!") {
            return refuse("a lookbehind");
        } else if rest.starts_with("?<") || rest.starts_with("?P<") {
            let Some(end) = rest.find('>') else {
                return Err(PatternError::new(
                    start,
                    "the pattern is not a regular expression: unclosed group name",
                ));
            };
            self.at += end + 1;
        } else if rest.starts_with('?') {
            return Err(PatternError::new(
                start,
                "this kind of group is not part of ECMA-262",
            ));
        }
        self.out.push_str("(?:");
        Ok(())
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<(), PatternError> {
        let start = self.at - 1;
        let Some(c) = self.next() else {
            return Err(PatternError::new(
                start,
                "the pattern ends with a backslash",
            ));
        };
        match c {
            'd' => self.out.push_str(if in_class { "0-9" } else { "[0-9]" }),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str(if in_class {
                "0-9A-Za-z_"
            } else {
                "[0-9A-Za-z_]"
            }),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => {
                if in_class {
                    self.out.push_str(SPACE);
                } else {
                    self.out.push_str(&format!("[{SPACE}]"));
                }
            }
            'S' => self.out.push_str(&format!("[^{SPACE}]")),
            'b' if in_class => self.push_literal('\u{8}'),
            'b' | 'B' => {
                return Err(PatternError::new(
                    start,
                    format!(
                        "the word boundary \\{c} cannot be expressed; rewrite the pattern without it"
                    ),
                ));
            }
            // Not ECMA-262, but written for the ends of a string.
            'A' if !in_class => self.out.push('^'),
            'Z' | 'z' if !in_class => self.out.push('$'),
            't' => self.push_literal('\t'),
            'n' => self.push_literal('\n'),
            'r' => self.push_literal('\r'),
            'f' => self.push_literal('\u{c}'),
            'v' => self.push_literal('\u{b}'),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => self.push_literal('\0'),
            '0' => return Err(PatternError::new(start, "octal escapes are not supported")),
            '1'..='9' => {
                return Err(PatternError::new(
                    start,
                    format!("the back reference \\{c} cannot be expressed"),
                ));
            }
            'k' if self.peek() == Some('<') => {
                return Err(PatternError::new(
                    start,
                    "a named back reference cannot be expressed",
                ));
            }
            'c' => match self.peek() {
                Some(l) if l.is_ascii_alphabetic() => {
                    self.at += 1;
                    self.push_literal(char::from((l as u8) & 0x1F));
                }
                _ => {
                    self.push_literal('\\');
                    self.push_literal('c');
                }
            },
            'x' => match self.hex(2) {
                Some(n) => self.push_code(n, start)?,
                None => self.push_literal('x'),
            },
            'u' => self.unicode_escape(start)?,
            'p' | 'P' => self.property(c, start)?,
            _ => self.push_literal(c),
        }
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.source.get(self.at..self.at + digits)?;
        if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let n = u32::from_str_radix(text, 16).ok()?;
        self.at += digits;
        Some(n)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<(), PatternError> {
        if self.bytes.get(self.at) == Some(&b'{') {
            let rest = &self.source[self.at + 1..];
            let code = rest
                .find('}')
                .and_then(|end| u32::from_str_radix(&rest[..end], 16).ok().map(|n| (n, end)));
            return match code {
                Some((n, end)) => {
                    self.at += end + 2;
                    self.push_code(n, start)
                }
                None => Err(PatternError::new(
                    start,
                    "the escape \\u{...} is not a code point",
                )),
            };
        }
        let Some(high) = self.hex(4) else {
            self.push_literal('u');
            return Ok(());
        };
        if (0xD800..0xDC00).contains(&high) && self.source[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            if let Some(low) = self.hex(4)
                && (0xDC00..0xE000).contains(&low)
            {
                return self.push_code(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), start);
            }
            self.at = before;
        }
        self.push_code(high, start)
    }

    fn push_code(&mut self, n: u32, start: usize) -> Result<(), PatternError> {
        match char::from_u32(n) {
            Some(c) => {
                self.push_literal(c);
                Ok(())
            }
            None => Err(PatternError::new(start, "a lone surrogate is no character")),
        }
    }

    fn property(&mut self, c: char, start: usize) -> Result<(), PatternError> {
        let rest = &self.source[self.at..];
        if !rest.starts_with('{') {
            self.push_literal(c);
            return Ok(());
        }
        let Some(end) = rest.find('}') else {
            return Err(PatternError::new(
                start,
                "the property escape is not closed",
            ));
        };
        self.out.push('\\');
        self.out.push(c);
        self.out.push_str(&rest[..=end]);
        self.at += end + 1;
        Ok(())
    }

    /// A bracketed class. Inside, only `\`, `]`, `-` and a first `^` are
    /// special.
    fn class(&mut self) -> Result<(), PatternError> {
        let start = self.at - 1;
        let negated = self.peek() == Some('^');
        if negated {
            self.at += 1;
        }
        if self.peek() == Some(']') {
            self.at += 1;
            self.out.push_str(if negated {
                r"[\u{0}-\u{10FFFF}]"
            } else {
                r"[^\u{0}-\u{10FFFF}]"
            });
            return Ok(());
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        // Each member is written apart, so that `\d-x` and the like mean what
        // annex B says: the hyphen is plain beside a class.
        while let Some((low, single)) = self.class_atom(start)? {
            if self.peek() == Some('-') && self.bytes.get(self.at + 1).is_some_and(|&b| b != b']') {
                self.at += 1;
                let Some((high, high_single)) = self.class_atom(start)? else {
                    break;
                };
                if single && high_single {
                    self.out.push_str(&low);
                    self.out.push('-');
                    self.out.push_str(&high);
                } else {
                    self.out.push_str(&low);
                    self.out.push_str("\\-");
                    self.out.push_str(&high);
                }
            } else {
                self.out.push_str(&low);
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// One member of a class in the target dialect, and whether it is a single
    /// character; `None` at the closing bracket.
    fn class_atom(&mut self, start: usize) -> Result<Option<(String, bool)>, PatternError> {
        let Some(c) = self.next() else {
            return Err(PatternError::new(
                start,
                "the pattern is not a regular expression: unclosed character class",
            ));
        };
        let before = self.out.len();
        let mut single = true;
        match c {
            ']' => return Ok(None),
            '\\' => {
                single = !matches!(
                    self.peek(),
                    Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P')
                );
                self.escape(true)?;
            }
            _ => self.push_literal(c),
        }
        let text = self.out.split_off(before);
        Ok(Some((text, single)))
    }
}

#[cfg(test)]
mod tests {
    use crate::language::automata::matches;
    use crate::language::pattern::Pattern;
    use crate::language::re::{CharSet, char_set, set_contains};

    fn space_set() -> CharSet {
        char_set(&[
            ('\t', '\r'),
            (' ', ' '),
            ('\u{A0}', '\u{A0}'),
            ('\u{1680}', '\u{1680}'),
            ('\u{2000}', '\u{200A}'),
            ('\u{2028}', '\u{2029}'),
            ('\u{202F}', '\u{202F}'),
            ('\u{205F}', '\u{205F}'),
            ('\u{3000}', '\u{3000}'),
            ('\u{FEFF}', '\u{FEFF}'),
        ])
    }

    fn check(pattern: &str, good: &[&str], bad: &[&str]) {
        let p = Pattern::parse(pattern).unwrap();
        let holds = |text: &str| {
            matches(&p.main, text).unwrap()
                && p.looks
                    .iter()
                    .all(|(re, yes)| matches(re, text).unwrap() == *yes)
        };
        for text in good {
            assert!(holds(text), "{pattern} should match {text:?}");
        }
        for text in bad {
            assert!(!holds(text), "{pattern} should not match {text:?}");
        }
    }

    #[test]
    fn searches_and_anchors() {
        check("b", &["abc", "b"], &["", "ac"]);
        check("^b", &["bc"], &["ab"]);
        check("b$", &["ab"], &["ba", "b\n"]);
        check("^a|b$", &["ax", "xb"], &["xa", "bx"]);
        check("^(?:a|b)$", &["a", "b"], &["ab", ""]);
        check("(^a|b)c", &["ac", "xbc"], &["xac"]);
        check("^$", &[""], &["a"]);
        check("a^", &[], &["a", "^"]);
        check("x?^a", &["ab"], &["xa"]);
        check("(a$)?", &["", "zzz", "a"], &[]);
        check("", &["", "x"], &[]);
    }

    #[test]
    fn anchors_in_loops_hold_in_one_turn() {
        check(
            r"^(\/?((\.{2})|([a-z0-9\-]*))($|\/))*$",
            &["", "/", "a/b", "/a/../b-1", "..", "a//"],
            &["a b", "...", "/a/.b"],
        );
        let mut texts = vec![String::new()];
        for length in 0..5 {
            let longer = texts.iter().filter(|text| text.len() == length);
            let longer = longer.flat_map(|text| ["a", "b"].map(|c| format!("{text}{c}")));
            let longer: Vec<String> = longer.collect();
            texts.extend(longer);
        }
        let patterns = [
            "^(a|b$)*$",
            "(^a|b)*c?$",
            "^(?:^a|b|a$)+$",
            "(?:^a|b$){2}",
            "^(?:(?:a|$)(?:^|b)){0,3}$",
            "(?:a$|^b|^$){1,}",
            "^(?:b(?:a$)*)*$",
            "^(?:(?:^|a)b)*$",
            "a(?:$|b(?:$|a)){1,2}",
            "(?:^(?:a|b$)*b)+$",
        ];
        for pattern in patterns {
            let ours = Pattern::parse(pattern).unwrap();
            let theirs = regex_automata::meta::Regex::new(pattern).unwrap();
            for text in &texts {
                let expected = theirs.is_match(text.as_str());
                assert_eq!(
                    matches(&ours.main, text).unwrap(),
                    expected,
                    "{pattern} {text:?}"
                );
            }
        }
    }

    #[test]
    fn reads_the_ecma_dialect() {
        check(r"^\d$", &["7"], &["\u{663}"]);
        check(r"^\w$", &["_"], &["é"]);
        check(r"^\s$", &["\u{FEFF}", "\u{2003}"], &["\u{85}", "a"]);
        check(r"^.$", &["é", "\u{85}"], &["\n", "\u{2028}", ""]);
        check(r"^[^]$", &["\n", "x"], &[""]);
        check(r"^\/\-\cA\x41\u0042\u{43}$", &["/-\u{1}ABC"], &[]);
        check(r"^[\w-.]+$", &["a-.9"], &["a b"]);
        check(r"^[a&&b[]+$", &["a&b["], &["c"]);
        check(r"^a{,3}${x}", &[], &["aaa"]);
        check(r"^a{,3}$", &["a{,3}"], &["aa"]);
        check(r"^(?<year>\d{4})??$", &["2020", ""], &["20"]);
        check(r"^\ud83d\ude00$", &["\u{1F600}"], &[]);
        check(r"^\p{Lu}+$", &["AÉ"], &["a"]);
        check(r"^[\d-x]+$", &["1-x"], &["w"]);
        check(r"]}", &["]}"], &["]"]);
    }

    #[test]
    fn leading_lookaheads_are_conditions() {
        check(r"^(?!foo$).*$", &["fo", "fooo", ""], &["foo"]);
        check(
            r"^(?=.*\d)(?=.*[a-z])[a-z\d]{2,4}$",
            &["a1", "1aa"],
            &["aa", "11", "a1!"],
        );
        check(r"^(?!-)[a-z-]+$", &["a-"], &["-a"]);
    }

    #[test]
    fn refuses_by_name() {
        for (pattern, offset) in [(r"a\bc", 1), (r"(a)\1", 3), ("a(?=b)", 1), ("(?<=a)b", 0)] {
            assert_eq!(
                Pattern::parse(pattern).unwrap_err().offset,
                offset,
                "{pattern}"
            );
        }
        for pattern in [
            "(",
            "[a",
            "a**",
            "*",
            "a\\",
            "(?i)a",
            "[b-a]",
            "(?:a{1000}){1000}",
        ] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn space_is_the_same_everywhere() {
        let p = Pattern::parse(r"^\s$").unwrap();
        for c in (0..0x1_0000).filter_map(char::from_u32) {
            let inside = set_contains(&space_set(), c);
            if inside || c < '\u{3100}' {
                assert_eq!(matches(&p.main, &c.to_string()).unwrap(), inside, "{c:?}");
            }
        }
    }
}
