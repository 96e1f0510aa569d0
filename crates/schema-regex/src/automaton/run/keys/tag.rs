//! The first words of the parts of a key.
//!
//! For example, [`Tag::FreeString`] begins the key of a place inside of a free string.

/// The first word of a part of a key. Each says what the words behind it are, so that two
/// keys that are alike mean the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tag {
    /// A string that is free: how much of a character was read.
    FreeString,
    /// A string of which only the length counts: how many characters must and may come.
    CountedString,
    /// A number of an automaton that all schemas have.
    CommonNumber,
    /// Before a value, or with [`Tag::Printed`] a value of which nothing was read.
    Value,
    /// In `null`, `false` or `true`.
    Unit,
    /// In a number.
    Number,
    /// In a string.
    String,
    /// In the name of a member.
    Key,
    /// Between the tokens of JSON.
    Gap,
    /// Behind a member or an item.
    Behind,
    /// Before a further name.
    BeforeFurther,
    /// Before the colon and the value of a member.
    Colon,
    /// Behind the whole value.
    End,
    /// All of an array or object that is open.
    Frame,
    /// The effect of an open object on tokens.
    Object,
    /// The effect of an open array on tokens.
    Array,
    /// No array or object is open any more.
    Bottom,
    /// A common key with fingerprints in it, and the fingerprint of the dialect.
    Printed,
    /// In an item that differs from those before it.
    InItem,
}
