//! The tests of this crate from outside, in one program.

mod abnf;
mod around;
mod budgets;
mod captures;
mod cases;
mod common;
mod contract;
mod grammars;
mod instances;
mod json_suite;
mod languages;
mod options;
mod oracle;
mod shared_cases;
mod shared_masks;
mod w3c;
mod walks;
