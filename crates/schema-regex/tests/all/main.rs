//! The tests of this crate from outside, in one program.

#[cfg(feature = "automaton")]
mod agreement;
#[cfg(feature = "automaton")]
mod automaton;
#[cfg(all(feature = "automaton", feature = "serde"))]
mod cases;
#[cfg(feature = "automaton")]
mod chunks;
#[cfg(feature = "automaton")]
mod closing;
mod common;
#[cfg(feature = "automaton")]
mod conditions;
mod data;
#[cfg(feature = "automaton")]
mod documents;
#[cfg(feature = "automaton")]
mod endings;
#[cfg(feature = "automaton")]
mod inert;
mod ledger;
#[cfg(feature = "automaton")]
mod limits;
#[cfg(feature = "automaton")]
mod many_names;
#[cfg(feature = "automaton")]
mod masks;
mod properties;
#[cfg(feature = "automaton")]
mod spelling;
#[cfg(feature = "automaton")]
mod unique;
