//! The tokens that have something in them. For example, of `"a"`, `a,b` and `[,` the last two have
//! a comma.

use super::TokenTable;

/// Texts and bytes that tokens can have in them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Having {
    /// A text.
    Text(Box<[u8]>),
    /// These bytes in this order.
    InOrder(Box<[u8]>),
    /// A byte so often, or oftener.
    Often(u8, usize),
    /// One of these texts.
    OneOf(Box<[Box<[u8]>]>),
}

impl Having {
    /// Returns the bytes of which a token must have one for it, at least.
    fn bytes(&self) -> &[u8] {
        match self {
            Having::Text(bytes) | Having::InOrder(bytes) => bytes,
            Having::Often(_, 0) | Having::OneOf(_) => &[],
            Having::Often(byte, _) => std::slice::from_ref(byte),
        }
    }

    fn is_in(&self, token: &[u8]) -> bool {
        match self {
            Having::Text(text) => token.windows(text.len().max(1)).any(|part| part == &**text),
            Having::InOrder(order) => {
                let mut bytes = token.iter();
                order.iter().all(|byte| bytes.any(|b| b == byte))
            }
            Having::Often(byte, times) => token.iter().filter(|&b| b == byte).count() >= *times,
            Having::OneOf(texts) => {
                let least = texts
                    .iter()
                    .map(|text| text.len())
                    .min()
                    .unwrap_or(usize::MAX);
                token.windows(least.max(1)).enumerate().any(|(at, window)| {
                    let mut texts = texts.iter().filter(|text| text.first() == window.first());
                    texts.any(|text| token[at..].starts_with(text))
                })
            }
        }
    }
}

/// ASCII's punctuation marks: they stand in few tokens, and in most of what is looked for in them.
/// So there is a list of tokens for each mark, because a short list is quickly searched.
pub(super) const MARKS: [u8; 32] = {
    let mut marks = [0; 32];
    let (mut byte, mut at) = (0u8, 0);
    while byte < 0x80 {
        if byte.is_ascii_punctuation() {
            marks[at] = byte;
            at += 1;
        }
        byte += 1;
    }
    marks
};

impl TokenTable {
    /// The tokens that have something in them: looked for in the few that have one of its
    /// [`MARKS`], where there is one, and otherwise in all.
    pub(crate) fn find_having(&self, what: &Having) -> Box<[u32]> {
        let has = |token: &u32| what.is_in(self.raw(*token));
        match self.marked(what.bytes()) {
            Some(marked) => marked.iter().copied().filter(has).collect(),
            None => self.texts().map(|t| t.0.get()).filter(has).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;
    use crate::Vocabulary;

    #[test]
    fn tokens_are_looked_for_where_their_marks_are() {
        let words = [
            "\"a\"", "a,b", "[,", ",[", "\\n", "ab", "\"\"\"", ":{}", "a\":\"b",
        ];
        let tokens = words.iter().zip((0..).map(TokenId::new));
        let vocabulary = Vocabulary::new(tokens, [TokenId::new(99)]).unwrap();
        let text = |text: &str| Having::Text(text.as_bytes().into());
        let in_order = |text: &str| Having::InOrder(text.as_bytes().into());
        for (what, found) in [
            (text("\"a\""), vec![0]),
            (text("a"), vec![0, 1, 5, 8]),
            (text("\":\""), vec![8]),
            (in_order("[,"), vec![2]),
            (in_order("ab"), vec![1, 5, 8]),
            (in_order("\"b"), vec![8]),
            (Having::Often(0x22, 1), vec![0, 6, 8]),
            (Having::Often(0x22, 3), vec![6]),
            (Having::Often(0x22, 0), (0..9).collect()),
            (Having::Often(b'n', 1), vec![4]),
        ] {
            assert_eq!(*vocabulary.find_having(&what), *found, "{what:?}");
        }
    }
}
