//! Once a schema: goals and their alternatives become nodes with machines.
//!
//! - [`nodes`]: the nodes that a schema reaches, one after the other, with their arrays and [`strings`];
//!   [`builder`] has those that were built and asked for.
//! - [`leaves`]: the automata of strings and numbers, made of shapes and kept ([`leaf_cache`]);
//!   [`united_strings`] makes one of those that say yes to the same goal.
//! - [`caps`]: bounds of the options for what the schema leaves without one.
//! - [`plain_objects`]: objects of which `properties` and `required` say everything.
//! - [`objects`]: all other objects. [`declared`] numbers their names, [`member_choices`] has what a member may be, [`member_order`] tells
//!   the place of each name in the order, [`member_rules`] what is said of each member,
//!   [`conditions`] what must hold of members together, and
//!   [`further_names`] the classes of names that are not declared.
//! - [`unbounded`]: all of this, up to how deep values may nest.
//! - [`heights`]: when all nodes are there, how flat the values of each goal can be, and
//!   which goals have none.
//! - [`same_nodes`]: nodes that read the same texts in the same way.
//! - [`list_values`]: the values of items that must differ, where they are few; [`endless`]
//!   sees at once where they are not.
//!
//! For example, `{"items": {"type": "string"}}` becomes two nodes, one for the whole text and one
//! for the items; the first has a machine for arrays, whose thread asks the second for each item.

pub(crate) mod builder;
pub(crate) mod caps;
mod conditions;
mod counted;
pub(crate) mod declared;
mod diagrams;
pub(crate) mod endless;
mod further_names;
pub(crate) mod heights;
mod leaf_cache;
pub(crate) mod leaves;
pub(crate) mod list_values;
mod member_choices;
mod member_order;
pub(crate) mod member_rules;
mod nodes;
pub(crate) mod objects;
pub(crate) mod plain_objects;
pub(crate) mod same_nodes;
mod strings;
pub(crate) mod unbounded;
pub(crate) mod united_strings;
mod value_kinds;
