//! Measuring programs of Tokenmold, side by side with its peers.
//!
//! - `maskbench` decodes given texts under given schemas and measures masks, also of engines that
//!   are programs of their own: these answer by [`worker::work`].
//! - `grammarbench` decodes the texts of grammars' cases.
//! - `indexbench` builds indexes from regular expressions and measures time and memory.
//! - `regexpath` compiles schemas to regular expressions and these to indexes.
//! - `threads` decodes on several threads at once, `batches` masks many texts in one step, and
//!   `memory` counts the bytes of schemas and soaks one process in all of them.
//! - `worst` lists the longest masks and steps and the slowest compiles with their causes; `costs` draws
//!   what schemas and vocabularies cost by their size.
//! - `counts` counts instructions, nodes and allocations of compiles and masks.
//! - `hostile` runs inputs that mean harm, each in a process under limits, and says what each
//!   costs: schemas, expressions, templates, files, responses.
//! - `conformance` runs golden cases of the reference implementations and of the official
//!   JSON Schema test suite.
//!
//! `docs/PERFORMANCE.md` and `docs/CONFORMANCE.md` have the reports, and say how to read them. For
//! example, the table of masks there is printed by `maskbench`. Engines are behind the feature
//! `peers`, except our own.

mod agents;
pub mod agreed;
pub mod answers;
pub mod batches;
pub mod cases;
pub mod cause;
pub mod chat_template;
pub mod child;
pub mod counts;
pub mod engines;
pub mod golden;
pub mod grammars;
pub mod index_engines;
pub mod memory;
pub mod parent;
pub mod patterns;
pub mod program;
pub mod ratios;
pub mod report;
pub mod spell;
pub mod stats;
pub mod store;
#[path = "../../crates/structural-tags/examples/conformance/cases.rs"]
pub mod structural_tag;
pub mod suite;
pub mod threads;
pub mod tool_calls;
pub mod worker;
