//! The names of Python's methods, and those of lists and maps. For example, `{'a': 1}.get('b', 2)`
//! is `2`.

use super::callable::Arguments;
use super::value::{
    Dict, Entries, Key, Sequence, SequenceKind, Value, dict as new_dict, equal, list,
    sequence as new, tuple,
};
use super::{Fault, ITEM, Render, charge, charge_looking, items_of, markup, type_error};

/// Methods that change what they belong to. They are refused, because templates run as in Jinja's
/// immutable sandbox.
const MUTATING: [&str; 17] = [
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
    "add",
    "discard",
    "difference_update",
    "appendleft",
    "rotate",
    "__setitem__",
];

/// The methods of `str`, as CPython 3.11 has them.
const TEXT_METHODS: [&str; 45] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// The methods of `dict` that change nothing, as CPython 3.11 has them.
const DICT_METHODS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
/// The methods of `list` that change nothing, as CPython 3.11 has them.
const LIST_METHODS: [&str; 3] = ["copy", "count", "index"];

/// Tells whether a value of that type has a method of that name.
pub(crate) fn has(type_name: &str, method: &str) -> bool {
    let own: &[&str] = match type_name {
        "str" => return TEXT_METHODS.contains(&method),
        "Markup" => return TEXT_METHODS.contains(&method) || markup::METHODS.contains(&method),
        "dict" => &DICT_METHODS,
        "list" => &LIST_METHODS,
        "tuple" | "range" => return ["count", "index"].contains(&method),
        other => return super::numbers::has(other, method),
    };
    own.contains(&method)
        || match type_name {
            "dict" => [
                "clear",
                "pop",
                "popitem",
                "setdefault",
                "update",
                "fromkeys",
            ]
            .contains(&method),
            _ => [
                "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
            ]
            .contains(&method),
        }
}

/// Tells whether it is a method that templates must not use.
pub(crate) fn is_mutating(method: &str) -> bool {
    MUTATING.contains(&method)
}

#[cold]
fn unsafe_method(kind: &str, name: &str) -> Fault {
    type_error(format!(
        "access to attribute '{name}' of '{kind}' object is unsafe."
    ))
}

/// The method of a list, a tuple, a range or a view that `args` are named after; none if
/// there is no such.
pub(crate) fn sequence(receiver: &Sequence, args: Arguments) -> Option<Result<Value, Fault>> {
    let name = args.name.clone();
    let name = &*name;
    let listed = receiver.kind == SequenceKind::List;
    if listed && MUTATING.contains(&name) {
        return Some(Err(unsafe_method("list", name)));
    }
    let indexed = matches!(
        receiver.kind,
        SequenceKind::List | SequenceKind::Tuple | SequenceKind::Range { .. }
    );
    Some(match name {
        "copy" if listed => list(receiver.items.clone()),
        "count" if indexed => args.bind_all(["value"]).map(|[wanted]| {
            let found = receiver.items.iter().filter(|item| equal(item, &wanted));
            Value::from(found.count())
        }),
        "index" if indexed => args.bind(["value", "start", "end"]).and_then(|places| {
            let [wanted, start, end] = places;
            let count = receiver.items.len();
            let place = |value: Option<Value>, default: usize| {
                let Some(at) = value.as_ref().and_then(Value::integer) else {
                    return default;
                };
                let at = if at < 0 { at + count as i128 } else { at };
                usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(count)
            };
            let wanted = wanted.unwrap_or_default();
            let (start, end) = (place(start, 0), place(end, count));
            let mut range = receiver.items.iter().enumerate().take(end).skip(start);
            let found = range.find(|(_, item)| equal(item, &wanted));
            match found {
                Some((at, _)) => Ok(Value::from(at)),
                None => Err(type_error(format!(
                    "{} is not in list",
                    python_compat::repr(&wanted)
                ))),
            }
        }),
        _ => return None,
    })
}

/// The method of a map that `args` are named after, of those that [`has`] knows.
pub(crate) fn dict(render: &mut Render, receiver: &Dict, args: Arguments) -> Result<Value, Fault> {
    let name = args.name.clone();
    let entries = &receiver.entries;
    if MUTATING.contains(&&*name) {
        return Err(unsafe_method("dict", &name));
    }
    if &*name == "get" {
        let [key, default] = args.bind(["key", "default"])?;
        let key = key.ok_or_else(|| type_error("get expected at least 1 argument, got 0"))?;
        charge_looking(render, &key)?;
        let found = match &key {
            Value::Text(name) => receiver.get(name),
            other => entries.get(&Key::new(other.clone())?),
        };
        return Ok(found.cloned().or(default).unwrap_or(Value::None));
    }
    if &*name == "fromkeys" {
        return from_keys(render, args);
    }
    args.bind::<0>([])?;
    charge(render, entries.len() * ITEM)?;
    let view = |kind: &'static str, items: Vec<Value>| new(SequenceKind::View(kind), items);
    match &*name {
        "keys" => view(
            "dict_keys",
            entries.keys().map(|key| key.value().clone()).collect(),
        ),
        "values" => view("dict_values", entries.values().cloned().collect()),
        "items" => view("dict_items", pairs(entries)?),
        _ => new_dict(entries.clone()),
    }
}

/// The entries of a map as tuples.
pub(crate) fn pairs(entries: &Entries) -> Result<Vec<Value>, Fault> {
    let pairs = entries.iter();
    pairs
        .map(|(key, value)| tuple(vec![key.value().clone(), value.clone()]))
        .collect()
}

/// `dict.fromkeys`.
pub(crate) fn from_keys(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    let [keys, value] = args.bind(["iterable", "value"])?;
    let value = value.unwrap_or_else(|| Value::None);
    let keys = items_of(render, &keys.unwrap_or_default())?;
    charge(render, keys.len() * ITEM)?;
    for key in &keys {
        charge_looking(render, key)?;
    }
    let entries: Result<Entries, Fault> = keys
        .into_iter()
        .map(|key| Ok((Key::new(key)?, value.clone())))
        .collect();
    new_dict(entries?)
}
