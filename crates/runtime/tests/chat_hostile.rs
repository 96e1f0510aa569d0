//! Templates that mean harm end with an error, soon and in little memory.

#![cfg(feature = "chat")]

use serde_json::{Value, json};
use tokenmold::ErrorKind;
use tokenmold::chat::{Chat, ChatTemplate};

fn kind(source: &str) -> ErrorKind {
    let messages: [Value; 1] = [json!({"role": "user", "content": "x"})];
    let chat = Chat::new(&messages);
    let template = ChatTemplate::new(source);
    match template.and_then(|template| template.render(&chat)) {
        Ok(rendered) => panic!("rendered {} bytes: {source:.200}", rendered.text.len()),
        Err(error) => error.kind(),
    }
}

#[test]
fn endless_work_ends() {
    for template in [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
        "{{ range(1000000) }}",
        "{{ 'x' * 10000000000 }}",
        "{{ [0] * 10000000000 }}",
        "{{ 'x'.ljust(10000000000) }}{{ 'x' | center(10000000000) }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '{:10000000000}'.format(1) }}",
        "{{ {} | tojson(indent=100000000) }}",
        "{% set ns = namespace(t='xxxxxxxx') %}{% for i in range(64) %}{% set ns.t = ns.t + ns.t %}{% endfor %}",
        "{% set ns = namespace(t='xxxxxxxx') %}{% for i in range(64) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
        "{% set ns = namespace(t=[1]) %}{% for i in range(64) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t }}",
        "{% set ns = namespace(t=[]) %}{% for i in range(100000) %}{% set ns.t = [ns.t] %}{% endfor %}",
        "{% set ns = namespace(t={}) %}{% for i in range(100000) %}{% set ns.t = {'a': ns.t} %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.t = ns %}",
        "{% set ns = namespace() %}{% set ns.t = [ns] %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set s = 'xxxxxxxxxxxxxxxx' * 65536 %}{% for i in range(100000) %}{{ s }}{% endfor %}",
        "{% set s = 'xxxxxxxxxxxxxxxx' * 65536 %}{% for i in range(100000) %}{% set t = s | upper %}{% endfor %}",
        "{% set s = 'xxxxxxxxxxxxxxxx' * 65536 %}{% for i in range(100000) %}{% if 'y' in s %}{% endif %}{% endfor %}",
        "{% set s = 'xxxxxxxxxxxxxxxx' * 65536 %}{% for i in range(100000) %}{% if s.find('y') > 0 %}{% endif %}{% endfor %}",
        "{{ ('x' * 1000000).replace('', 'y' * 1000000) }}",
        "{{ ('x,' * 1000000).split(',') | map('replace', '', 'y' * 1000) | join('z' * 1000000) }}",
        "{{ 2 ** 1000 }}",
        "{{ 'x'.expandtabs(10) }}{{ '\t'.expandtabs(10000000000) }}",
        "{{ 'a\nb' | indent(10000000000) }}",
        "{{ [1] | batch(10000000000, 0) | list }}",
        "{{ [1] | slice(10000000000) | list }}",
    ] {
        assert_eq!(kind(template), ErrorKind::TemplateLimit, "{template}");
    }
}

#[test]
fn deep_and_long_sources_are_refused() {
    let many = |text: &str, count: usize| text.repeat(count);
    for source in [
        many("(", 100_000),
        format!("{{{{ {}1{} }}}}", many("(", 10_000), many(")", 10_000)),
        format!("{{{{ {}1 }}}}", many("not ", 10_000)),
        format!("{{{{ {}1 }}}}", many("-", 10_000)),
        format!("{{{{ {}1{} }}}}", many("[", 10_000), many("]", 10_000)),
        format!("{{{{ x{} }}}}", many(".a", 10_000)),
        format!("{{{{ x{} }}}}", many("[0]", 10_000)),
        format!("{{{{ x{} }}}}", many("()", 10_000)),
        format!("{{{{ x{} }}}}", many("|upper", 10_000)),
        format!("{{{{ x{} }}}}", many(" is defined", 10_000)),
        format!("{{{{ x{} }}}}", many(" or y", 10_000)),
        format!("{{{{ x{} }}}}", many(" < y", 10_000)),
        format!("{{{{ x{} }}}}", many(" if y else z", 10_000)),
        format!("{{{{ {}x{} }}}}", many("(a < ", 40), many(" < b)", 40)),
        many("{% if x %}", 10_000),
        many("{% for x in y %}", 10_000),
        many("{% macro a() %}", 10_000),
        format!("{{% if x %}}{}", many("{% elif x %}", 10_000)),
        format!(
            "{{% for {}a{} in x %}}{{% endfor %}}",
            many("(", 1000),
            many(")", 1000)
        ),
    ] {
        let error = ChatTemplate::new(&source);
        match source.starts_with("((") {
            // Text, not a tag.
            true => assert!(error.is_ok()),
            false => {
                let kind = error.map(|_| ()).map_err(|error| error.kind());
                assert_eq!(kind, Err(ErrorKind::TemplateSyntax), "{source:.80}");
            }
        }
    }
    let long = "x".repeat((1 << 20) + 1);
    let error = ChatTemplate::new(&long).map(|_| ()).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::TemplateLimit));
}

#[test]
fn long_sums_and_texts_are_fine() {
    let messages = [json!({"role": "user", "content": "x"})];
    let sum = format!("{{{{ 0{} }}}}", " + 1".repeat(5_000));
    let rendered = ChatTemplate::new(&sum)
        .unwrap()
        .render(&Chat::new(&messages));
    assert_eq!(rendered.unwrap().text, "5000");
    let list = format!("{{{{ [{}1] | length }}}}", "1, ".repeat(20_000));
    let rendered = ChatTemplate::new(&list)
        .unwrap()
        .render(&Chat::new(&messages));
    assert_eq!(rendered.unwrap().text, "20001");
    let plain = "x".repeat(1 << 20);
    let rendered = ChatTemplate::new(&plain)
        .unwrap()
        .render(&Chat::new(&messages));
    assert_eq!(rendered.unwrap().text.len(), 1 << 20);
}

#[test]
fn odd_calls_fail_without_a_panic() {
    for template in [
        "{% for x in [1] %}{{ loop.cycle() }}{% endfor %}",
        "{% for x in [1] %}{{ loop.cycle(*[]) }}{% endfor %}",
        "{{ cycler() }}",
        "{{ 1 // 0 }}",
        "{{ 1 % 0 }}",
        "{{ 1.5 % 0 }}",
        "{{ -170141183460469231731687303715884105727 - 2 }}",
        "{{ 'abc'[::0] }}",
        "{{ range(0, 10, 0) }}",
        "{{ 'x'.split('') }}",
        "{{ '{' .format() }}",
        "{{ '{0}'.format() }}",
        "{{ '%' % () }}",
        "{{ '%d' % 'x' }}",
        "{{ [1, 'a'] | sort }}",
        "{{ {'a': 1}.pop('a') }}",
        "{{ messages.append(1) }}",
        "{{ caller() }}",
        "{{ nothing() }}",
        "{% include 'x' %}",
        "{{ none | items }}",
        "{{ 1 | length }}",
        "{{ __tm_sum() }}",
        "{{ messages | map }}",
        "{{ messages | groupby }}",
        "{{ strftime_now() }}",
        "{{ 9223372036854775807 * 9223372036854775807 * 9223372036854775807 }}",
        "{{ 5 | batch(0) }}",
        "{{ 'x' | truncate(1) }}",
        "{{ 'a' < 1 }}",
        "{% for a, b in [1] %}{% endfor %}",
        "{% set a, b = [1] %}",
    ] {
        let kind = kind(template);
        assert!(
            matches!(
                kind,
                ErrorKind::TemplateFailed | ErrorKind::TemplateSyntax | ErrorKind::TemplateLimit
            ),
            "{template}: {kind:?}"
        );
    }
}
