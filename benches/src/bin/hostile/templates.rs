//! Chat templates. For example, two nested loops of 100,000 rounds each, or `s[9999999]` on ten
//! million letters, again and again.

use serde_json::{Value, json};
use tokenmold::chat::{Chat, ChatTemplate};

use crate::harness::case::{Case, Sized};
use crate::harness::seen::Seen;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, source: Box<dyn Fn() -> String + Send + Sync>| {
        cases.push(Case::new("template", name, move |seen| {
            run(&source(), seen);
        }));
    };
    for operation in OPERATIONS {
        add(
            format!("often: {operation}"),
            Box::new(move || often(operation)),
        );
    }
    for source in WHOLE {
        add((*source).to_owned(), Box::new(move || (*source).to_owned()));
    }
    for n in [100usize, 10_000, 60_000] {
        for (kind, make) in SIZED {
            add(format!("{kind} x {n}"), Box::new(move || make(n)));
        }
    }
    cases
}

fn run(source: &str, seen: &mut Seen) {
    let content = "Hello <b>\u{1F600}</b> and goodbye. ".repeat(300);
    let messages: Vec<Value> = (0..20)
        .map(|i| json!({"role": if i % 2 == 0 { "user" } else { "assistant" }, "content": content}))
        .collect();
    let chat = Chat::new(&messages);
    seen.begin();
    let template = seen.call(|| ChatTemplate::new(source));
    if let Some(template) = template {
        seen.call(|| template.render(&chat));
    }
}

/// An operation on megabytes, again and again.
fn often(operation: &str) -> String {
    format!(
        "{{% set s = 'x' * 10000000 %}}{{% set u = 'x' * 10000000 %}}\
         {{% set w = 'a ' * 1000000 %}}{{% set h = 'a-' * 100000 %}}{{% set l = [0] * 1000000 %}}\
         {{% set k = [0] * 1000000 %}}{{% set d = {{'a': s}} %}}{{% set n = namespace(v=0) %}}\
         {{% for i in range(100000) %}}{{% set n.v = {operation} %}}{{% endfor %}}"
    )
}

/// Operations that are run again and again on megabytes, because one that copies its operand then
/// costs terabytes.
const OPERATIONS: &[&str] = &[
    "s | length",
    "s[9999999]",
    "s[-1]",
    "s[5:]",
    "s[::-1]",
    "s[::1000]",
    "l[::2]",
    "s == u",
    "s < u",
    "l == k",
    "[l] == [k]",
    "{'a': s} == {'a': u}",
    "s in [u]",
    "'y' in s",
    "1 in l",
    "d[s]",
    "d.get(s)",
    "l.count(1)",
    "s is lower",
    "s is eq u",
    "l is in [k]",
    "s.isalnum()",
    "s.isprintable()",
    "s.find('y')",
    "s.count('xx')",
    "s.startswith(u)",
    "s.startswith(('y', u))",
    "w.split()",
    "w.rsplit(' ', 5)",
    "w.splitlines()",
    "s.partition('y')",
    "s.strip('x')",
    "s.upper()",
    "s.title()",
    "s.swapcase()",
    "s.encode()",
    "s.zfill(20000000)",
    "s.expandtabs()",
    "s.replace('x', 'yy')",
    "s.replace('', 'y')",
    "s.join(['a', 'b', 'c'])",
    "s.removeprefix('x')",
    "s | list",
    "l | first",
    "l | last",
    "l | sort",
    "l | unique | list",
    "l | sum",
    "l | max",
    "s | reverse",
    "l | select | list",
    "l | map('string') | list",
    "messages | map(attribute=w) | list",
    "messages | sort(attribute='role,content,role,content')",
    "messages | groupby('content')",
    "l | batch(2) | list",
    "l | slice(1000) | list",
    "l | join",
    "s | int",
    "s | float",
    "s | wordcount",
    "s | title",
    "s | striptags",
    "w | striptags",
    "s | escape",
    "s | urlencode",
    "s | tojson",
    "l | tojson(indent=200)",
    "[[[[l]]]] | tojson(indent=250)",
    "l | string",
    "s | truncate(5)",
    "w | wordwrap(1)",
    "s | wordwrap(1)",
    "h | wordwrap(3)",
    "s | indent",
    "('\\n' * 1000000) | indent",
    "s ~ u",
    "s + u + s + u",
    "l + k",
    "'%s' % s",
    "'%s%s%s' % (s, s, s)",
    "'{}{}'.format(s, u)",
    "'{0[0]}'.format(l)",
    "('{:9999}' * 1000).format(*range(1000))",
    "'%.9999f' % 1.5",
    "'%9999d' % 1",
    "dict(a=s) == dict(a=u)",
    "dict.fromkeys(l)",
    "dict(l | map('list') | list)",
    "range(100000)",
    "messages | tojson",
    "messages | string",
    "messages == messages",
    "strftime_now('%c' * 1000000)",
    "{'a': {'a': s}} | xmlattr",
    "l | pprint",
    "s | center(20000000)",
    "'x' * 64000000",
    "[s] * 1000000",
    "(s ~ i) | length",
];

/// Whole templates, since their harm is in how loops and macros stand to each other.
const WHOLE: &[&str] = &[
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
    "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m(f) %}{{ f(f) }}{{ f(f) }}{% endmacro %}{{ m(m) }}",
    "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}x{% endmacro %}{{ a(60) }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "{% set ns = namespace(t='xxxxxxxx') %}{% for i in range(64) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
    "{% set ns = namespace(t=[1]) %}{% for i in range(64) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t }}",
    "{% set ns = namespace(t=[]) %}{% for i in range(100000) %}{% set ns.t = [ns.t] %}{% endfor %}",
    "{% set ns = namespace(t=[]) %}{% for i in range(100000) %}{% set ns.t = ns.t + [i] %}{% endfor %}",
    "{% set ns = namespace(t={}) %}{% for i in range(100000) %}{% set ns.t = dict(ns.t, a=i) %}{% endfor %}",
    "{% set ns = namespace() %}{% set ns.t = ns %}{{ ns }}",
    "{% set ns = namespace() %}{% set ns.t = [ns] %}{{ ns }}",
    "{% for i in range(100000) %}{% set a %}{{ messages }}{% endset %}{% endfor %}",
    "{% for i in range(100000) %}{% filter upper %}{{ messages }}{% endfilter %}{% endfor %}",
    "{% for i in range(100000) %}{{ loop.changed(messages) }}{% endfor %}",
    "{% for i in range(100000) %}{{ loop.cycle(*range(100)) }}{% endfor %}",
    "{{ raise_exception('x' * 60000000) }}",
    "{{ raise_exception(messages) }}",
    "{{ 2 ** 1000000 }}",
    "{{ 1 // 0 }}",
    "{{ 'abc'[::0] }}",
    "{{ messages.append(1) }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
    "{{ ''.__class__.__mro__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{% generation %}{% for i in range(100000) %}{{ messages }}{% endfor %}{% endgeneration %}",
    "{{ lipsum(1000000) }}",
    "{%",
    "{{",
    "{#",
    "{% raw %}",
    "{{ 'a' 'b' }}{{ \"\u{0}\" }}{{ '\\ud800' }}",
];

/// Templates that come in sizes, because a cost that grows too fast shows only between sizes.
const SIZED: &[Sized<String>] = &[
    ("captures that double", |n| {
        format!(
            "{{% set a = 'xxxxxxxx' %}}{}",
            "{% set a %}{{a}}{{a}}{% endset %}".repeat(n.min(30_000))
        )
    }),
    ("macros that double", |n| {
        format!(
            "{{% set a = 'xxxxxxxx' %}}{}",
            "{% macro m() %}{{a}}{{a}}{% endmacro %}{% set a = m() %}".repeat(n.min(15_000))
        )
    }),
    ("calls that double", |n| {
        let one = "{% set a %}{% call m() %}{{a}}{% endcall %}{% endset %}";
        format!(
            "{{% macro m() %}}{{{{caller()}}}}{{{{caller()}}}}{{% endmacro %}}{{% set a = 'x' %}}{}",
            one.repeat(n.min(15_000))
        )
    }),
    ("filters that double", |n| {
        format!(
            "{{% set a = 'xxxxxxxx' %}}{}",
            "{% set a %}{% filter upper %}{{a}}{{a}}{% endfilter %}{% endset %}"
                .repeat(n.min(15_000))
        )
    }),
    ("sums", |n| format!("{{{{ 0{} }}}}", " + 1".repeat(n))),
    ("sums of a long text", |n| {
        format!(
            "{{% set s = 'x' * 10000000 %}}{{{{ s{} }}}}",
            " + s".repeat(n)
        )
    }),
    ("joins of a long text", |n| {
        format!(
            "{{% set s = 'x' * 10000000 %}}{{{{ s{} }}}}",
            " ~ s".repeat(n)
        )
    }),
    ("brackets", |n| {
        format!("{{{{ {}1{} }}}}", "[".repeat(n), "]".repeat(n))
    }),
    ("parentheses", |n| {
        format!("{{{{ {}1{} }}}}", "(".repeat(n), ")".repeat(n))
    }),
    ("attributes", |n| {
        format!("{{{{ messages{} }}}}", ".a".repeat(n))
    }),
    ("filters", |n| {
        format!("{{{{ 'x'{} }}}}", "|upper".repeat(n))
    }),
    ("nots", |n| format!("{{{{ {}1 }}}}", "not ".repeat(n))),
    ("ors", |n| format!("{{{{ x{} }}}}", " or y".repeat(n))),
    ("comparisons", |n| {
        format!("{{{{ 1{} }}}}", " < 2".repeat(n))
    }),
    ("ifs", |n| "{% if x %}".repeat(n)),
    ("elifs", |n| {
        format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}a".repeat(n))
    }),
    ("loops", |n| "{% for x in messages %}".repeat(n)),
    ("texts", |n| "a{{ 1 }}".repeat(n)),
    ("a list", |n| {
        format!("{{{{ [{}] | length }}}}", "1, ".repeat(n))
    }),
    ("a map", |n| {
        format!(
            "{{{{ {{{}}} | length }}}}",
            (0..n).map(|i| format!("'k{i}': {i},")).collect::<String>()
        )
    }),
    ("names", |n| {
        let sets: String = (0..n).map(|i| format!("{{% set n{i}=1 %}}")).collect();
        format!(
            "{sets}{{% for i in range(100000) %}}{{{{ n0 }}}}{{% for i in range(100) %}}{{{{ n1 }}}}{{% endfor %}}{{% endfor %}}"
        )
    }),
    ("names in a loop", |n| {
        let sets: String = (0..n)
            .rev()
            .map(|i| format!("{{% set n{i}=1 %}}"))
            .collect();
        format!("{{% for i in range(100000) %}}{sets}{{% endfor %}}")
    }),
    ("names in a loop that goes on", |n| {
        let sets: String = (0..n).map(|i| format!("{{% set n{i}=1 %}}")).collect();
        format!(
            "{{% for i in range(100000) %}}{{% if i %}}{{% continue %}}{{% endif %}}{sets}{{% endfor %}}"
        )
    }),
    ("parameters", |n| {
        let names: String = (0..n).map(|i| format!("n{i}=1,")).collect();
        format!(
            "{{% macro m({names}) %}}{{% endmacro %}}{{% for i in range(100000) %}}{{{{ m({names}) }}}}{{% endfor %}}"
        )
    }),
    ("arguments by name", |n| {
        let names: String = (0..n).map(|i| format!("n{i}=1,")).collect();
        format!(
            "{{% for i in range(100000) %}}{{{{ dict({names}) | length }}}}{{{{ namespace({names}).n1 }}}}{{% endfor %}}"
        )
    }),
    ("macros in macros", |n| {
        format!(
            "{{% set ns = namespace(m=none) %}}{{% macro a(f) %}}{{% macro b() %}}{{{{ f }}}}{{% endmacro %}}{{% set ns.m = b %}}{{% endmacro %}}{{% for i in range({n}) %}}{{{{ a(ns.m) }}}}{{% endfor %}}"
        )
    }),
    ("a long name", |n| {
        format!(
            "{{% for i in range(1000) %}}{{{{ messages[0].{} }}}}{{% endfor %}}",
            "n".repeat(n)
        )
    }),
    ("a long text", |n| {
        format!(
            "{{% for i in range(100000) %}}{{% set a %}}{}{{% endset %}}{{% endfor %}}",
            "t".repeat(n)
        )
    }),
];
