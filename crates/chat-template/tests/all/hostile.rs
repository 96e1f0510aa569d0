//! Templates that mean harm end with an error, soon and in little memory.

use serde_json::{Value, json};

use chat_template::{Chat, ChatTemplate, ErrorKind, Limits};

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
        assert_eq!(kind(template), ErrorKind::Limit, "{template}");
    }
}

/// Calls inside of calls take the stack of the thread that renders, of which there may be
/// little.
#[test]
fn deep_calls_end_on_a_small_stack() {
    let within = |deep: &str, times: usize| {
        let blocks = "{% if true %}{% for x in [1] %}{% with %}".repeat(times);
        let ends = "{% endwith %}{% endfor %}{% endif %}".repeat(times);
        format!("{{% macro m(f) %}}{blocks}{deep}{ends}{{% endmacro %}}{{{{ m(m) }}}}")
    };
    let brackets = format!("{{{{ {}f(f){} }}}}", "[".repeat(30), "]".repeat(30));
    let filters = format!("{{{{ f(f){} }}}}", " | trim".repeat(180));
    let sources = [
        "{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}".to_owned(),
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}".to_owned(),
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}".to_owned(),
        "{% macro m(f, a=f(f)) %}{% endmacro %}{{ m(m) }}".to_owned(),
        "{% macro m(f) %}{% set x %}{% filter upper %}{% generation %}{{ f(f) }}{% endgeneration %}{% endfilter %}{% endset %}{% endmacro %}{{ m(m) }}".to_owned(),
        within("{{ f(f) }}", 14),
        within(&brackets, 4),
        within(&filters, 14),
    ];
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let run = move || {
        for source in sources {
            assert_eq!(kind(&source), ErrorKind::Limit, "{source:.80}");
        }
    };
    thread.spawn(run).unwrap().join().unwrap();
}

/// What holds values is freed without taking the stack, however long a chain of it gets.
#[test]
fn long_chains_of_values_are_refused_or_freed() {
    let messages = [json!({"role": "user", "content": "x"})];
    let chat = Chat::new(&messages);
    for step in [
        "{% set n.v = cycler(n.v) %}",
        "{% set n.v = joiner(n.v) %}",
        "{% set n.v = [n.v] %}",
        "{% set n.v = {'a': n.v} %}",
        "{% set n.v = (n.v,) %}",
        "{% set n.v = [n.v].copy %}",
        "{% set n.v = [n.v.get] %}",
        "{% set n.v = [n, n.v] %}",
        "{% for x in [1] %}{% set n.v = [loop, n.v] %}{{ loop.index }}{% endfor %}",
        "{% for x in [1] %}{% set h = loop.changed(n.v) %}{% set n.v = [loop] %}{% endfor %}",
        "{% set p = n.v %}{% for x in [1] recursive %}{% set n.v = loop %}{{ loop.index }}{% endfor %}",
        "{% set n.v = namespace(v=n.v) %}",
        "{% for x in [n.v] %}{% set n.v = loop %}{{ loop.index }}{% endfor %}",
        "{% macro a(f) %}{% macro b() %}{{ f }}{% endmacro %}{% set n.v = b %}{% endmacro %}{{ a(n.v) }}",
        "{% macro b() %}{{ n.v }}{% endmacro %}{% set n.v = b %}",
    ] {
        let source = format!(
            "{{% set n = namespace(v=[]) %}}{{% for i in range(100000) %}}{step}{{% endfor %}}"
        );
        let rendered = ChatTemplate::new(&source).unwrap().render(&chat);
        if let Err(error) = rendered {
            assert_eq!(error.kind(), ErrorKind::Limit, "{step}");
        }
    }
}

/// Printing looks through namespaces, which may hold each other as often as they like.
#[test]
fn what_namespaces_hold_is_printed_within_bounds() {
    let within = |grow: &str, last: &str| {
        format!(
            "{{% set n = namespace(v=1) %}}{{% for i in range(4000) %}}{grow}{{% endfor %}}{last}"
        )
    };
    let chain = "{% set n.v = namespace(v=n.v) %}";
    let tree = "{% set n.v = namespace(a=n.v, b=[n.v]) %}";
    for grow in [chain, tree] {
        for last in [
            "{{ n.v }}",
            "{{ [n.v] }}",
            "{{ n.v ~ '' }}",
            "{{ [n.v] | join }}",
            "{{ [n.v] | pprint }}",
            "{{ n.v | string }}",
            "{{ n.v | tojson }}",
            "{{ '%s' % [n.v] }}",
            "{{ '{}'.format(n.v) }}",
            "{{ {'a': n.v} | xmlattr }}",
            "{{ namespace({(n.v,): 1}) }}",
        ] {
            assert_eq!(kind(&within(grow, last)), ErrorKind::Limit, "{last}");
        }
        // Who cannot print it need not: this fails, and its message is short.
        assert_eq!(
            kind(&within(grow, "{{ [1].index(n.v) }}")),
            ErrorKind::Failed
        );
    }
}

/// What holds itself is let go when the template has run.
#[cfg(target_os = "linux")]
#[test]
fn rings_are_freed() {
    let pages = || -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let messages = [json!({"role": "user", "content": "x"})];
    let chat = Chat::new(&messages);
    for ring in [
        "{% set ns.me = ns %}",
        "{% set ns.me = [{'a': ns}] %}",
        "{% set ns.me = namespace(of=ns) %}",
        "{% for x in [ns] recursive %}{% set ns.me = [loop] %}{% endfor %}",
        "{% for x in [ns.t] %}{% set h = loop.changed([loop]) %}{% endfor %}",
        "{% set ns.me = [ns.t.upper, [ns].index] %}",
    ] {
        let source = format!("{{% set ns = namespace(t='x' * 1000000) %}}{ring}");
        let template = ChatTemplate::new(&source).unwrap();
        let before = pages();
        for _ in 0..300 {
            template.render(&chat).unwrap();
        }
        let grown = pages().saturating_sub(before) * 4096;
        assert!(grown < 100_000_000, "{ring}: {grown} bytes");
    }
}

/// A kilobyte of captures, each twice the one before, took 6.4 GB and ended the process:
/// what is captured is never printed, so nobody counted it.
#[test]
fn captured_text_counts_as_output() {
    let double = |one: &str| format!("{{% set a = 'xxxxxxxxxxxxxxxx' %}}{}", one.repeat(40));
    for template in [
        double("{% set a %}{{a}}{{a}}{% endset %}"),
        double("{% set a %}{{a}}{% filter upper %}{{a}}{% endfilter %}{% endset %}"),
        double("{% macro m() %}{{a}}{{a}}{% endmacro %}{% set a = m() %}"),
        double("{% macro m() %}{{caller()}}{{caller()}}{% endmacro %}{% set a %}{% call m() %}{{a}}{% endcall %}{% endset %}"),
        double("{% set a %}{% for i in [a, a] recursive %}{{i}}{% endfor %}{% endset %}"),
        double("{% set a %}{{ [a, a] }}{% endset %}"),
        "{% for i in range(100000) %}{% set a %}0123456789012345678901234567890123456789{% for j in range(100) %}0123456789012345678901234567890123456789{% endfor %}{% endset %}{% endfor %}".to_owned(),
    ] {
        assert_eq!(kind(&template), ErrorKind::Limit, "{template:.100}");
    }
}

/// Each of these is one instruction, and reads or makes megabytes.
#[test]
fn what_one_operation_reads_is_charged() {
    let long = "{% set s = 'x' * 50000 %}{% set u = 'x' * 50000 %}{% set w = 'a ' * 5000 %}\
                {% set l = [0] * 5000 %}{% set k = [0] * 5000 %}{% set d = {'a': s} %}";
    let mut limits = Limits::default();
    limits.work = 2 << 20;
    let messages: [Value; 1] = [json!({"role": "user", "content": "x"})];
    let kind = |source: &str| {
        let template = ChatTemplate::with_limits(source, limits).unwrap();
        let rendered = template.render(&Chat::new(&messages));
        rendered.map(|_| ()).map_err(|error| error.kind())
    };
    for operation in [
        "s | length",
        "s | count",
        "s[49999]",
        "s[-1]",
        "s[5:]",
        "s[::-1]",
        "s[1:2]",
        "l[::2]",
        "s == u",
        "s < u",
        "l == k",
        "[l] == [k]",
        "{'a': s} == {'a': u}",
        "s in [u]",
        "'y' in s",
        "1 in l",
        "s in d",
        "d[s]",
        "d.get(s)",
        "l.count(1)",
        "s is eq u",
        "s is lower",
        "s is upper",
        "l is in [k]",
        "s.isalnum()",
        "s.isprintable()",
        "s.istitle()",
        "s.find('y')",
        "s.count('y')",
        "s.startswith(u)",
        "s.startswith(('y', u))",
        "s.index('x', 49999)",
        "w.split()",
        "w.rsplit()",
        "w.split('a')",
        "w.splitlines()",
        "s.partition('y')",
        "s.strip('y')",
        "s.upper()",
        "s.removeprefix('y')",
        "''.join(l | map('string'))",
        "s | list",
        "l | first",
        "l | last",
        "l | list",
        "l | sort",
        "l | unique | list",
        "l | sum",
        "l | max",
        "l | reverse | list",
        "s | reverse",
        "l | select | list",
        "l | map('string') | list",
        "l | batch(2) | list",
        "l | join",
        "s | int",
        "s | float",
        "s | wordcount",
        "s | title",
        "s | striptags",
        "s | escape",
        "s | urlencode",
        "s | trim",
        "s | string | upper",
        "s | tojson",
        "l | tojson",
        "l | string",
        "s | truncate(5)",
        "w | wordwrap(1)",
        "s | indent",
        "s ~ u",
        "s + u",
        "l + k",
        "'%s' % s",
        "'{}'.format(s)",
        "dict(a=s) == dict(a=u)",
        "dict.fromkeys(l)",
        "range(100000)",
        "'%9999d' % 1",
        "'{:9999}'.format(1)",
        "'%.9999f' % 1.5",
    ] {
        let source =
            format!("{long}{{% for i in range(10000) %}}{{% set x = {operation} %}}{{% endfor %}}");
        assert_eq!(kind(&source), Err(ErrorKind::Limit), "{operation}");
    }
}

/// A word of a megabyte was counted anew for each line that it fills.
#[test]
fn long_words_wrap_in_one_pass() {
    let messages = [json!({"role": "user", "content": "x"})];
    let wrap = "{{ ('a' * 200000 + '\\n' + ' ' * 200000 + 'b-c ' * 3) | wordwrap(2) | length }}";
    let rendered = ChatTemplate::new(wrap)
        .unwrap()
        .render(&Chat::new(&messages));
    assert_eq!(rendered.unwrap().text, "300014");
}

#[test]
fn slices_pick_what_python_picks() {
    let messages = [json!({"role": "user", "content": "x"})];
    for (slice, expected) in [
        ("'añbcd'[1:3]", "ñb"),
        ("'añbcd'[::-1]", "dcbña"),
        ("'añbcd'[3:0:-2]", "cñ"),
        ("'añbcd'[-2:]", "cd"),
        ("'añbcd'[10:]", ""),
        ("'añbcd'[:-10:-1]", "dcbña"),
        ("'añbcd'[4:1]", ""),
        ("''[::-1]", ""),
        ("[1, 2, 3, 4][::2]", "[1, 3]"),
        ("[1, 2, 3, 4][::-2]", "[4, 2]"),
        ("[1, 2, 3, 4][-1:-4:-1]", "[4, 3, 2]"),
        ("[1, 2, 3, 4][2:-9:-1]", "[3, 2, 1]"),
        ("(1, 2, 3)[1:]", "(2, 3)"),
        ("range(5)[1:4:2] | list", "[1, 3]"),
    ] {
        let template = ChatTemplate::new(&format!("{{{{ {slice} }}}}")).unwrap();
        let rendered = template.render(&Chat::new(&messages)).unwrap();
        assert_eq!(rendered.text, expected, "{slice}");
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
                assert_eq!(kind, Err(ErrorKind::Syntax), "{source:.80}");
            }
        }
    }
    let long = "x".repeat((1 << 20) + 1);
    let error = ChatTemplate::new(&long).map(|_| ()).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::Limit));
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
                ErrorKind::Failed | ErrorKind::Syntax | ErrorKind::Limit
            ),
            "{template}: {kind:?}"
        );
    }
}

/// Numbers have no order where one of them is a NaN, and nothing has one with `none`. The
/// standard library's sort panics on that.
#[test]
fn what_has_no_order_is_sorted_or_refused() {
    let messages = [json!({"role": "user", "content": "x"})];
    let chat = Chat::new(&messages);
    let mut state = 12345u64;
    let mut draw = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        state >> 40
    };
    for _ in 0..300 {
        let numbers: Vec<u64> = (0..100).map(|_| draw() % 200).collect();
        for odd in ["'nan' | float", "none"] {
            let items: Vec<String> = numbers
                .iter()
                .map(|n| match n % 4 {
                    0 => odd.to_owned(),
                    _ => n.to_string(),
                })
                .collect();
            let source = format!("{{{{ [{}] | sort | length }}}}", items.join(", "));
            let rendered = ChatTemplate::new(&source).unwrap().render(&chat);
            match (odd, rendered) {
                ("none", Err(error)) => assert_eq!(error.kind(), ErrorKind::Failed),
                (_, rendered) => assert_eq!(rendered.unwrap().text, "100"),
            }
        }
    }
}
