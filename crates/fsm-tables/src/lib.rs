#![doc = include_str!("../README.md")]

mod absorbing;
mod alphabet;
mod components;
mod copies;
mod costs;
mod explore;
mod looks;
mod matching;
mod meter;
mod minimize;
mod nfa;
mod pairs;
mod preferred;
mod product;
mod sources;
mod subsets;
mod table;
mod thompson;

pub use alphabet::{Alphabet, Rest, Symbols};
pub use components::{component_of, components};
pub use explore::explore;
pub use meter::{Meter, Unlimited};
pub use nfa::{
    Builder, Look, LookId, MATCH, Nfa, NfaId, Ranges, STATE_BYTES, SetId, State, set_bytes,
};
pub use pairs::{Pairs, packed};
pub use product::{Keep, product};
pub use sources::Sources;
pub use table::{NONE, Table};
pub use thompson::{Shape, Syntax};
