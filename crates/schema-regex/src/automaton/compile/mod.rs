//! Once a schema: goals and alternatives become nodes with machines.

pub(crate) mod builder;
pub(crate) mod caps;
pub(crate) mod declared;
pub(crate) mod endless;
mod further_names;
pub(crate) mod heights;
pub(crate) mod leaves;
pub(crate) mod list_values;
mod member_order;
pub(crate) mod member_rules;
pub(crate) mod objects;
pub(crate) mod plain_objects;
pub(crate) mod same_nodes;
pub(crate) mod united_strings;
