//! A pattern of a schema. For example, `^(a|b)$` is asked for its texts once, and they are kept.

use std::sync::{Arc, OnceLock};

use crate::language::char_dfa::automata::Matcher;
use crate::language::pattern::{Pattern, PatternError};

/// A condition of a pattern, `None` where it is too large, and whether it is wanted.
type Condition = (Option<Matcher>, bool);

/// A pattern of a schema, with answers about it that were given before.
#[derive(Clone, Debug)]
pub struct PatternEntry {
    /// The pattern as it is written.
    pub source: String,
    /// The pattern as it was read, or the reason why it cannot be.
    pub pattern: Result<Pattern, PatternError>,
    /// Each condition of the pattern and whether it is wanted, once a text was asked
    /// about.
    matchers: OnceLock<Arc<[Condition]>>,
    /// All texts of the pattern, if they are few, once that was asked.
    texts: OnceLock<Option<Arc<[String]>>>,
}

/// The most texts of a pattern that are listed: with more, an `enum` is no better than the pattern,
/// because its texts share no states.
const FEW_TEXTS: usize = 16;

impl PatternEntry {
    pub(crate) fn new(source: &str) -> PatternEntry {
        PatternEntry {
            source: source.to_owned(),
            pattern: Pattern::parse(source),
            matchers: OnceLock::new(),
            texts: OnceLock::new(),
        }
    }

    /// The texts of the pattern, where they are few: `^(a|b)$` is as good as an `enum`.
    pub(crate) fn texts(&self) -> Option<&Arc<[String]>> {
        let find = || {
            let plain = self.pattern.as_ref().ok()?.plain()?;
            Some(plain.texts(FEW_TEXTS)?.into())
        };
        self.texts.get_or_init(find).as_ref()
    }

    /// Tells whether a text satisfies the pattern; one that cannot be read holds nowhere.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let Ok(pattern) = &self.pattern else {
            return false;
        };
        let matchers = self.matchers.get_or_init(|| {
            let all = pattern.conditions().iter();
            all.map(|(re, want)| (Matcher::new(re).ok(), *want))
                .collect()
        });
        let holds = |matcher: &Option<Matcher>| matcher.as_ref().is_some_and(|m| m.matches(text));
        matchers
            .iter()
            .all(|(matcher, want)| holds(matcher) == *want)
    }

    /// Forgets what was made to ask about texts.
    pub(crate) fn forget(&mut self) {
        self.matchers.take();
        self.texts.take();
    }
}
