//! Texts that formats hold and texts that they do not.

use crate::language::char_dfa::automata::matches;
use crate::language::formats::{ALL, COUNT, Format};
use crate::language::re::Re;
use crate::options::Target;

fn name(format: Format) -> &'static str {
    ALL.iter().find(|(_, f)| *f == format).unwrap().0
}

fn check(format: Format, good: &[&str], bad: &[&str]) {
    let (re, part) = (
        format.re(Target::Automaton),
        format.part().map(|part| part.re(Target::Automaton)),
    );
    let holds = |text: &str| {
        let part = part.as_ref().is_none_or(|p| matches(p, text).unwrap());
        part && matches(&re, text).unwrap()
    };
    for text in good {
        assert!(holds(text), "{} should hold {text}", name(format));
    }
    for text in bad {
        assert!(!holds(text), "{} should not hold {text}", name(format));
    }
}

#[test]
fn every_pattern_is_read() {
    for (name, format) in ALL {
        assert_ne!(format.re(Target::Automaton), Re::Never, "{name}");
        assert_ne!(format.re(Target::Expression), Re::Never, "{name}");
        assert_eq!(Format::by_name(name), Some(*format));
        assert!((*format as usize) < COUNT);
    }
}

#[test]
fn wider_formats_hold_all_of_the_narrowed_ones() {
    for (name, format) in ALL {
        let Some(wider) = format.wider() else {
            continue;
        };
        assert!(format.narrowed(Target::Automaton).is_some(), "{name}");
        let wider = wider.re(Target::Automaton);
        for narrow in [format.re(Target::Automaton), format.re(Target::Expression)] {
            let both = crate::language::char_dfa::CharDfa::new(
                &[(&narrow, true), (&wider, false)],
                1_000_000,
            );
            assert_eq!(both.unwrap().states(), 0, "{name}");
        }
    }
    let left_out = [
        (Format::Time, "12:34:60Z"),
        (Format::Time, "12:34:56.1234567890123456789Z"),
        (Format::DateTime, "2024-02-29T12:34:56.1234567890123456789Z"),
        (Format::DateTime, "2024-02-29t12:34:60.5+00:10"),
        (Format::Hostname, "xn--a.b"),
    ];
    for (format, text) in left_out {
        let holds = |format: Format| matches(&format.re(Target::Automaton), text).unwrap();
        assert!(!holds(format) && holds(format.wider().unwrap()), "{text}");
    }
}

#[test]
fn dates_follow_the_calendar() {
    let re = Format::Date.re(Target::Automaton);
    for year in [0, 4, 100, 1900, 1999, 2000, 2023, 2024, 2100, 2400] {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for month in 0..=13 {
            let days = match month {
                1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
                4 | 6 | 9 | 11 => 30,
                2 if leap => 29,
                2 => 28,
                _ => 0,
            };
            for day in 0..=32 {
                let text = format!("{year:04}-{month:02}-{day:02}");
                assert_eq!(
                    matches(&re, &text).unwrap(),
                    (1..=days).contains(&day),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn times_and_durations() {
    check(
        Format::DateTime,
        &[
            "2024-02-29T23:59:60Z",
            "2020-01-01t00:00:00.123+05:30",
            "1985-04-12T23:20:50.52z",
            "1998-12-31T15:59:60.123-08:00",
            "1999-01-01T05:29:60+05:30",
            "1998-12-31T20:29:60-03:30",
            // Of the official test suite.
            "1985-04-12T00:59:59.999999999999999Z",
        ],
        &[
            "2023-02-29T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00",
            "2020-01-01T22:59:60Z",
            "2020-01-01T23:59:60+01:00",
            "2020-01-01 00:00:00Z",
            "2020-01-01T00:00:00+24:00",
        ],
    );
    check(
        Format::Time,
        &[
            "12:00:00Z",
            "23:59:60+00:00",
            "12:00:00.123456789012345678Z",
            "23:59:60.123456789012345678+00:00",
        ],
        &[
            "12:00Z",
            "12:00:00",
            "12:00:00.Z",
            "12:00:00.1234567890123456789Z",
            "05:29:60.1234567890123456789+05:30",
        ],
    );
    check(
        Format::Duration,
        &["P1Y2M3DT4H5M6S", "PT36H", "P4W", "P1D", "PT1M", "P1YT1S"],
        &["P", "PT", "P1Y2W", "1D", "P1D2H", "PT1H1S", "P1Y1D", "P2S"],
    );
}

#[test]
fn network_names() {
    check(
        Format::Ipv6,
        &[
            "::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "1::8",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "::ffff:1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4",
            "1::2:1.2.3.4",
            "1:2:3:4::5:6:7",
            "1:2:3:4:5::1.2.3.4",
        ],
        &[
            "",
            ":",
            ":::",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1::2::3",
            "12345::",
            "::1.2.3",
            "::g",
            "1:2:3:4:5:6:7:1.2.3.4",
            "1:2:3:4:5:6::1.2.3.4",
            "1:2:3:4:5:6:7::8",
            ":1:2:3:4:5:6:7",
            "1.2.3.4",
        ],
    );
    check(
        Format::Ipv4,
        &["0.0.0.0", "255.249.199.9"],
        &["256.0.0.0", "01.2.3.4", "1.2.3", "1.2.3.4.5"],
    );
    let long = "a".repeat(63);
    let longer = "a".repeat(64);
    check(
        Format::Hostname,
        &[
            "a",
            "example.com",
            "a-b.c1",
            &long,
            &format!("{long}.{long}.{long}.com"),
            "a.b.c.d.e.f.g",
            "a--b",
            "ab-c",
            "a-b--c",
        ],
        &[
            "", "-a", "a-", "a..b", "a.", "a_b", &longer, "xn--X", "a.XN--a",
        ],
    );
    check(
        Format::Email,
        &[
            "a.b@c.org",
            "x+y@localhost",
            "\"a b\"@c",
            "\"a..@\\\"\"@c",
            "a@[127.0.0.1]",
            "a@[IPv6:::1]",
            "a@[ipv6:1:2:3:4:5:6:7:8]",
            "a@[IPv6:1::2:3.4.5.6]",
            &format!("{}@c", "a".repeat(64)),
            &format!("\"{}\"@c", "a@".repeat(31)),
            &format!("\"b{}b\"@c", "\\\"".repeat(29)),
        ],
        &[
            "a",
            "@b",
            "a@",
            ".a@b",
            "a..b@c",
            "a b@c",
            "\"a@c",
            &format!("{}@c", "a".repeat(65)),
            &format!("\"{}\"@c", "a".repeat(63)),
            &format!("\"{}\"@c", "\\a".repeat(32)),
            "a@[127.0.0.300]",
            "a@[IPv6:1:2:3:4:5:6:7::8]",
            "a@-b",
        ],
    );
    check(
        Format::Uri,
        &[
            "http://a.b/c?d#e",
            "urn:x:y",
            "mailto:a@b.c",
            "a:",
            "http://[::1]:80/",
            "http://a/%20",
            "file:///etc",
        ],
        &[
            "a",
            "/a",
            "http://a b",
            "http://a/%2",
            "http://[::g]/",
            "://x",
            "1a:b",
            "http://a/é",
        ],
    );
    check(
        Format::UriReference,
        &["", "a/b", "#x", "//h/p", "?q", "http://x"],
        &["a b", "\\", "%", "1:b", ":b"],
    );
    check(
        Format::Iri,
        &["http://é.b/ü?\u{E000}", "http://a/"],
        &["é:b", "http://a b"],
    );
    check(
        Format::Regex,
        &["", "^a+$", "[a-z]{2}(?:x|(y))*", "\\d+\\.", "[^/]"],
        &["*", "(", ")", "a**", "[b-a]", "\\", "[", "a{2,1}"],
    );
    check(
        Format::Uuid,
        &["123e4567-e89b-12d3-a456-426614174000"],
        &[
            "123e4567e89b12d3a456426614174000",
            "123e4567-e89b-12d3-a456-42661417400g",
        ],
    );
    check(
        Format::JsonPointer,
        &["", "/", "/a~0b/~1"],
        &["a", "/~2", "/~"],
    );
    check(
        Format::RelativeJsonPointer,
        &["0", "1/a", "2#"],
        &["", "01", "-1", "/a", "1#a"],
    );
}
