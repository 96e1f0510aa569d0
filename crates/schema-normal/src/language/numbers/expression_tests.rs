//! Spellings against arithmetic.

use proptest::prelude::*;

use crate::budget::Limit;
use crate::decimal::Decimal;
use crate::language::char_dfa::{CharDfa, DEAD};
use crate::language::numbers::expressions::{
    Bound, Fraction, intersect, listed_multiples, multiples, range, scientific,
};
use crate::language::re::Re;
use crate::options::IntegerSpelling;

const PLAIN: Fraction = Fraction::None(IntegerSpelling::Plain);

fn bound(text: &str, exclusive: bool) -> Bound {
    Bound {
        value: Decimal::parse(text).unwrap(),
        exclusive,
    }
}

/// The texts of an expression.
struct Texts(CharDfa);

impl Texts {
    fn is_match(&self, text: &str) -> bool {
        let state = self.0.run(text);
        state != DEAD && self.0.accepts(state)
    }
}

fn whole(re: &Re) -> Texts {
    Texts(CharDfa::new(&[(re, true)], Limit::from(100_000)).unwrap())
}

#[test]
fn small_integer_ranges_are_arithmetic() {
    for a in -25..=25i64 {
        for b in a..=25 {
            let re = whole(&range(
                Some(&bound(&a.to_string(), false)),
                Some(&bound(&b.to_string(), false)),
                PLAIN,
            ));
            for n in -130..=130i64 {
                assert_eq!(
                    re.is_match(&n.to_string()),
                    (a..=b).contains(&n),
                    "{n} in {a}..={b}"
                );
            }
        }
        let up = whole(&range(Some(&bound(&a.to_string(), true)), None, PLAIN));
        let down = whole(&range(None, Some(&bound(&a.to_string(), true)), PLAIN));
        for n in -1200..=1200i64 {
            assert_eq!(up.is_match(&n.to_string()), n > a, "{n} > {a}");
            assert_eq!(down.is_match(&n.to_string()), n < a, "{n} < {a}");
        }
    }
}

#[test]
fn spelling_is_json() {
    let re = whole(&range(
        Some(&bound("-5", false)),
        Some(&bound("1000", false)),
        Fraction::Any,
    ));
    for good in [
        "0", "0.0", "999.99", "1000", "1000.00", "-5", "-4.99", "-0.1",
    ] {
        assert!(re.is_match(good), "{good}");
    }
    for bad in [
        "", "-", "01", "00", "1.", ".5", "1000.01", "-5.1", "1e2", "+1", "-01",
    ] {
        assert!(!re.is_match(bad), "{bad}");
    }
}

#[test]
fn scientific_notation_is_arithmetic() {
    let texts = || {
        let mantissas = [
            "1", "1.0", "1.25", "2", "4.999", "5", "5.0", "5.01", "9.9", "9.99",
        ];
        let powers = [
            "-12", "-05", "-1", "0", "00", "+0", "1", "+01", "2", "E7", "21",
        ];
        let signs = ["", "-"];
        signs.into_iter().flat_map(move |sign| {
            mantissas.into_iter().flat_map(move |mantissa| {
                powers
                    .into_iter()
                    .map(move |power| match power.strip_prefix('E') {
                        Some(power) => format!("{sign}{mantissa}E{power}"),
                        None => format!("{sign}{mantissa}e{power}"),
                    })
            })
        })
    };
    let ends = [
        "-1e21", "-50", "-5", "-1.25", "-1e-5", "0", "1e-12", "0.05", "1", "1.25", "5", "5.005",
        "9.99", "99.9", "2e7",
    ];
    let bounds = || {
        let each = ends
            .into_iter()
            .flat_map(|end| [Some(bound(end, false)), Some(bound(end, true))]);
        each.chain([None])
    };
    for low in bounds() {
        for high in bounds() {
            let re = whole(&scientific(low.as_ref(), high.as_ref()));
            for text in texts() {
                let value = Decimal::parse(&text).unwrap();
                let above = low
                    .as_ref()
                    .is_none_or(|b| value > b.value || (value == b.value && !b.exclusive));
                let below = high
                    .as_ref()
                    .is_none_or(|b| value < b.value || (value == b.value && !b.exclusive));
                assert_eq!(
                    re.is_match(&text),
                    above && below,
                    "{text} in {low:?} to {high:?}"
                );
            }
        }
    }
    // One digit before the point, which is no zero; an exponent that an `f64` has.
    let any = whole(&scientific(None, None));
    for text in [
        "0e1", "10e-1", "1e", "e5", "1.e5", "1e100", "1e-100", "1e005", "1e010", "1", "01e1",
        "1e-0",
    ] {
        assert!(!any.is_match(text), "{text}");
    }
    assert!(any.is_match("1e99") && any.is_match("-9.5E-99") && any.is_match("1e+07"));
}

#[test]
fn multiples_are_arithmetic() {
    for m in [1u32, 2, 3, 4, 5, 6, 8, 10, 12, 20, 25, 50, 100] {
        let Ok(re) = multiples(&Decimal::parse(&m.to_string()).unwrap(), PLAIN, 2_000) else {
            panic!("{m} is too big");
        };
        let re = whole(&re);
        for n in 0..2_500u32 {
            assert_eq!(re.is_match(&n.to_string()), n % m == 0, "{n} by {m}");
        }
    }
    for (m, scaled) in [
        ("0.01", 1),
        ("0.1", 10),
        ("2.5", 250),
        ("0.25", 25),
        ("0.5", 50),
    ] {
        let re = whole(&multiples(&Decimal::parse(m).unwrap(), Fraction::Any, 2_000).unwrap());
        for n in 0..2_000 {
            let text = format!("{}.{:02}", n / 100, n % 100);
            assert_eq!(re.is_match(&text), n % scaled == 0, "{text} by {m}");
            assert_eq!(
                re.is_match(&format!("{text}0")),
                n % scaled == 0,
                "{text}0 by {m}"
            );
            assert!(!re.is_match(&format!("{text}1")), "{text}1 by {m}");
        }
    }
}

#[test]
fn multiples_meet_ranges() {
    let even = multiples(&Decimal::parse("2").unwrap(), PLAIN, 500).unwrap();
    let span = range(Some(&bound("-7", false)), Some(&bound("40", false)), PLAIN);
    let re = whole(&intersect(&even, &span, 500).unwrap());
    for n in -60..60i32 {
        assert_eq!(
            re.is_match(&n.to_string()),
            n % 2 == 0 && (-7..=40).contains(&n),
            "{n}"
        );
    }
    let list = listed_multiples(
        &bound("-1", true),
        &bound("1", false),
        &Decimal::parse("0.25").unwrap(),
        Fraction::Any,
    )
    .unwrap();
    let texts: Vec<String> = list.iter().map(Decimal::plain).collect();
    assert_eq!(
        texts,
        ["-0.75", "-0.5", "-0.25", "0", "0.25", "0.5", "0.75", "1"]
    );
}

fn decimal() -> impl Strategy<Value = String> {
    (any::<bool>(), 0u32..2000, 0u32..1000, 0usize..4).prop_map(|(neg, int, frac, places)| {
        let sign = if neg { "-" } else { "" };
        if places == 0 {
            format!("{sign}{int}")
        } else {
            let frac = format!("{frac:03}");
            format!("{sign}{int}.{}", &frac[..places])
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn decimal_ranges_are_arithmetic(
        a in decimal(), b in decimal(),
        ax in any::<bool>(), bx in any::<bool>(), which in 0u8..3,
        numbers in proptest::collection::vec(decimal(), 40),
        kind in 0u8..3,
    ) {
        let (low, high) = (bound(&a, ax), bound(&b, bx));
        let low = (which != 1).then_some(low);
        let high = (which != 2).then_some(high);
        let fraction = [Fraction::Any, Fraction::Required, Fraction::None(IntegerSpelling::ZeroFraction)][usize::from(kind)];
        let re = whole(&range(low.as_ref(), high.as_ref(), fraction));
        let mut texts = numbers;
        for t in [&a, &b] {
            texts.push(t.clone());
            texts.push(if t.contains('.') { format!("{t}0") } else { format!("{t}.0") });
            texts.push(if t.contains('.') { format!("{t}1") } else { format!("{t}.1") });
        }
        for text in texts {
            let n = Decimal::parse(&text).unwrap();
            // Zero has no sign here.
            if n.is_zero() && text.starts_with('-') { continue; }
            let above = low.as_ref().is_none_or(|l| n > l.value || (n == l.value && !l.exclusive));
            let below = high.as_ref().is_none_or(|h| n < h.value || (n == h.value && !h.exclusive));
            let kind_ok = match fraction {
                Fraction::Any => true,
                Fraction::Required => !n.is_integer(),
                Fraction::None(_) => n.is_integer(),
            };
            prop_assert_eq!(re.is_match(&text), above && below && kind_ok, "{}", text);
        }
    }
}
