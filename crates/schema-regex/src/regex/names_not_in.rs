//! The names of members that are not declared.
//!
//! For example, of the declared names `a` and `ab` the names `b` and `ac` are left, and more.

use std::collections::BTreeMap;
use std::rc::Rc;

use schema_normal::budget::Limit;
use schema_normal::options::Escapes;
use schema_normal::{Error, ErrorKind};

use crate::regex::string::Language;
use crate::regex::{Printer, spell};

#[derive(Default)]
struct Trie {
    end: bool,
    children: BTreeMap<char, Trie>,
}

impl Trie {
    /// A name that left the trie, up to the first raw ASCII character outside
    /// it.
    fn departures(&self, out: &mut String) {
        out.push_str("(?:[^\\x00-\\x1F\"\\\\\\x{80}-\\x{10FFFF}");
        for c in self.children.keys() {
            spell_in_class(*c, out);
        }
        out.push(']');
        for (c, child) in &self.children {
            out.push('|');
            out.push_str(&spell::string_content(&c.to_string(), Escapes::Shortest));
            child.departures(out);
        }
        out.push(')');
    }

    /// The prefixes of all names, the empty one and whole names included.
    fn prefixes(&self, out: &mut String) {
        if self.children.is_empty() {
            return;
        }
        out.push_str("(?:");
        for (i, (c, child)) in self.children.iter().enumerate() {
            if i > 0 {
                out.push('|');
            }
            out.push_str(&spell::string_content(&c.to_string(), Escapes::Shortest));
            child.prefixes(out);
        }
        out.push_str(")?");
    }

    /// The prefixes that are no names. Pushes nothing where there is none and
    /// answers whether it pushed.
    fn proper(&self, out: &mut String) -> bool {
        let mut ways: Vec<String> = Vec::new();
        for (c, child) in &self.children {
            let mut text = spell::string_content(&c.to_string(), Escapes::Shortest);
            if child.proper(&mut text) {
                ways.push(text);
            }
        }
        match (self.end, ways.is_empty()) {
            (true, true) => false,
            (false, true) => true,
            (end, false) => {
                out.push_str("(?:");
                out.push_str(&ways.join("|"));
                out.push_str(if end { ")" } else { ")?" });
                true
            }
        }
    }
}

fn spell_in_class(c: char, out: &mut String) {
    if "[]^-&~\\".contains(c) {
        out.push('\\');
    }
    out.push(c);
}

impl Printer<'_> {
    /// A quoted string that is none of these.
    ///
    /// A name leaves the trie of the listed ones at a raw ASCII character that
    /// the trie lacks there, or at any other character (none of which is in the
    /// trie), or ends inside. Saying the three apart keeps the text small: the
    /// long class of characters beyond ASCII and escapes stands there once, and
    /// not at each node of the trie.
    pub(super) fn name_not_in(&mut self, names: &[String]) -> Result<Rc<str>, Error> {
        if names.is_empty() {
            return Ok(self.any_string().into());
        }
        let mut key: Vec<String> = names.to_vec();
        key.sort_unstable();
        key.dedup();
        if let Some(known) = self.names.get(&key) {
            return Ok(known.clone());
        }
        self.work(key.iter().map(|name| spell::cost(name)).sum())?;
        let plain = self.options.escapes != Escapes::All
            && key.iter().all(|n| {
                n.chars()
                    .all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\')
                    && n.len() <= 200
            });
        let text = if plain {
            let mut trie = Trie::default();
            for name in &key {
                let mut at = &mut trie;
                for c in name.chars() {
                    at = at.children.entry(c).or_default();
                }
                at.end = true;
            }
            let mut departures = String::new();
            trie.departures(&mut departures);
            let mut prefixes = String::new();
            trie.prefixes(&mut prefixes);
            let other = spell::beyond_raw_ascii(self.options.escapes);
            let mut out = format!("\"(?:(?:{departures}|{prefixes}(?:{other})){}*", self.char);
            let mut proper = String::new();
            if trie.proper(&mut proper) {
                out.push('|');
                out.push_str(&proper);
            }
            out.push_str(")\"");
            out
        } else {
            let limit = Limit::new(self.options.max_automaton_states, self.normaliser.budget());
            match Language::NotIn(key.clone()).into_re(limit) {
                Some(re) => self.string_of(&re),
                None => {
                    return Err(Error::new(
                        ErrorKind::Refused,
                        self.here(),
                        "the names that further properties must not have need too large an expression; say `additionalProperties: false`",
                    ));
                }
            }
        };
        let text = self.checked(text)?;
        self.names.insert(key, text.clone());
        Ok(text)
    }
}
