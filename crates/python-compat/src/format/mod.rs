//! The two ways of formatting: `format(value, spec)` with the fields of `str.format`, and `%`.
//!
//! This module cuts texts into fields and lays values out; its callers find the values.
//!
//! For example, -7 by the spec `*^6` is `**-7**`.

mod braces;
mod field;
mod percent;
mod spec;

pub use braces::{Braces, next_braces};
pub use percent::{Directive, Percent, next_percent};
pub use spec::{FormatError, MAX_WIDTH, Spec};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_lay_out_as_format_does() {
        let spec = |text: &str| Spec::parse(text).unwrap();
        for (text, expected) in [
            ("5", "   -7"),
            ("<5", "-7   "),
            ("*^6", "**-7**"),
            ("05", "-0007"),
            ("+d", "-7"),
            ("#x", "-0x7"),
            (".2f", "-7.00"),
        ] {
            assert_eq!(spec(text).integer(-7, "int").unwrap(), expected, "{text}");
        }
        for (text, expected) in [
            ("", "1234567.891"),
            (",.1f", "1,234,567.9"),
            (".3g", "1.23e+06"),
            ("e", "1.234568e+06"),
            (".1%", "123456789.1%"),
            ("016,.1f", "00,001,234,567.9"),
            (",.0E", "1E+06"),
            (".0g", "1e+06"),
            ("#.0f", "1234568."),
            (".3", "1.23e+06"),
            (".8", "1234567.9"),
        ] {
            assert_eq!(spec(text).float(1234567.891).unwrap(), expected, "{text}");
        }
        assert_eq!(spec(">4.2").text("añb").unwrap(), "  añ");
        assert_eq!(spec("08,").integer(1234, "int").unwrap(), "0,001,234");
        for wrong in [".3d", ",x", "_n", ",c", "+c"] {
            assert!(spec(wrong).integer(1, "int").is_err(), "{wrong}");
        }
        assert_eq!(spec("05").text("a").unwrap(), "a0000");
        assert!(spec(",").text("a").is_err());
        assert_eq!(spec("3c").integer(65, "int").unwrap(), "  A");
        assert_eq!(spec(".0g").float(2.0).unwrap(), "2");
        assert!(spec("d").text("a").is_err());
        assert!(spec("=5").text("a").is_err());
        assert!(spec("s").integer(1, "int").is_err());
        assert!(Spec::parse("5.").is_err());
        assert!(Spec::parse("dd").is_err());
        assert_eq!(Spec::parse("10001"), Err(FormatError::TooWide));
    }

    #[test]
    fn texts_are_cut_at_their_fields() {
        let mut rest = "a%%%(b)-5.2fc";
        let mut pieces = Vec::new();
        while let Some(piece) = next_percent(&mut rest).unwrap() {
            pieces.push(match piece {
                Percent::Text(text) => text.to_owned(),
                Percent::Field(directive) => {
                    format!("{:?} {}", directive.name, directive.float(1.0))
                }
            });
        }
        assert_eq!(pieces, ["a", "%", "Some(\"b\") 1.00 ", "c"]);
        let mut rest = "a{{{b.c!r:>{d}}}}";
        let mut pieces = Vec::new();
        while let Some(piece) = next_braces(&mut rest).unwrap() {
            pieces.push(piece);
        }
        let field = Braces::Field {
            name: "b.c",
            conversion: Some("r"),
            spec: ">{d}",
        };
        assert_eq!(
            pieces,
            [
                Braces::Text("a"),
                Braces::Text("{"),
                field,
                Braces::Text("}")
            ]
        );
        for wrong in ["{", "}", "a{b", "{a}}"] {
            let mut rest = wrong;
            let all = std::iter::from_fn(|| next_braces(&mut rest).transpose());
            assert!(all.collect::<Result<Vec<_>, _>>().is_err(), "{wrong}");
        }
    }
}
