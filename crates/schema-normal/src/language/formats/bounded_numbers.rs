//! The formats of the OpenAPI registry that bound numbers. For example, `uint8` is the whole
//! numbers from 0 to 255.

use crate::decimal::Decimal;

/// Multiples of `step` from `low` to `high`, all plain decimals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberFormat {
    low: &'static str,
    high: &'static str,
    /// `None`: integers.
    step: Option<&'static str>,
}

const fn integers(low: &'static str, high: &'static str) -> NumberFormat {
    NumberFormat {
        low,
        high,
        step: None,
    }
}

/// The formats with their bounds, as the OpenAPI registry defines them.
pub(crate) const ALL: &[(&str, NumberFormat)] = &[
    ("int8", integers("-128", "127")),
    ("int16", integers("-32768", "32767")),
    ("int32", integers("-2147483648", "2147483647")),
    (
        "int64",
        integers("-9223372036854775808", "9223372036854775807"),
    ),
    ("uint8", integers("0", "255")),
    ("uint16", integers("0", "65535")),
    ("uint32", integers("0", "4294967295")),
    ("uint64", integers("0", "18446744073709551615")),
    // The numbers that a double holds without loss, with all between.
    (
        "double-int",
        integers("-9007199254740991", "9007199254740991"),
    ),
    // RFC 8941, sections 3.3.1 and 3.3.2.
    (
        "sf-integer",
        integers("-999999999999999", "999999999999999"),
    ),
    (
        "sf-decimal",
        NumberFormat {
            low: "-999999999999.999",
            high: "999999999999.999",
            step: Some("0.001"),
        },
    ),
];

impl NumberFormat {
    pub(crate) fn by_name(name: &str) -> Option<NumberFormat> {
        ALL.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
    }

    /// Returns its step, `None` for integers, and its least and its greatest number.
    pub(crate) fn numbers(self) -> (Option<Decimal>, [Decimal; 2]) {
        // Each is a number, as a test tells.
        let exact = |text: &str| Decimal::parse(text).unwrap_or_default();
        (self.step.map(exact), [self.low, self.high].map(exact))
    }
}

#[cfg(test)]
mod tests {
    use crate::decimal::Decimal;
    use crate::language::formats::bounded_numbers::ALL;

    #[test]
    fn every_bound_is_a_number() {
        for (name, format) in ALL {
            let low = Decimal::parse(format.low).unwrap();
            let high = Decimal::parse(format.high).unwrap();
            assert!(low < high, "{name}");
            let step = Decimal::parse(format.step.unwrap_or("1")).unwrap();
            assert_eq!(high.is_multiple_of(&step), Some(true), "{name}");
        }
    }
}
