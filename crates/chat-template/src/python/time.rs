//! The time that `strftime_now` prints, for example `26 Jul 2024`.

use std::fmt::Write as _;

/// A moment of the local calendar, as `strftime_now` takes it for now.
///
/// ```
/// use chat_template::Moment;
///
/// let moment = Moment::parse("2024-02-09T07:05:03").unwrap();
/// assert_eq!(moment.strftime("%A, %-d %B %Y, %I:%M %p"), "Friday, 9 February 2024, 07:05 AM");
/// assert!(Moment::parse("2024-02-31").is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// From 1 to 9999.
    pub year: i32,
    /// From 1 to 12.
    pub month: u32,
    /// From 1 to 31.
    pub day: u32,
    /// From 0 to 23.
    pub hour: u32,
    /// From 0 to 59.
    pub minute: u32,
    /// From 0 to 59.
    pub second: u32,
    /// From 0 to 999,999.
    pub microsecond: u32,
}

/// The months, as `strftime` prints them in English.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days of the week from Sunday on, as `%w` counts them.
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Moment {
    /// The present, in the time zone of the system.
    pub fn now() -> Self {
        let now = jiff::Zoned::now();
        let part = |value: i8| u32::try_from(value).unwrap_or(0);
        Self {
            year: i32::from(now.year()),
            month: part(now.month()),
            day: part(now.day()),
            hour: part(now.hour()),
            minute: part(now.minute()),
            second: part(now.second()),
            microsecond: u32::try_from(now.subsec_nanosecond() / 1000).unwrap_or(0),
        }
    }

    /// Reads `2024-02-09T07:05:03`, with a blank for the `T` or without a
    /// time; none if it is no such moment.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let moment: jiff::civil::DateTime = text.parse().ok()?;
        let part = |value: i8| u32::try_from(value).unwrap_or(0);
        Some(Self {
            year: i32::from(moment.year()),
            month: part(moment.month()),
            day: part(moment.day()),
            hour: part(moment.hour()),
            minute: part(moment.minute()),
            second: part(moment.second()),
            microsecond: u32::try_from(moment.subsec_nanosecond() / 1000).unwrap_or(0),
        })
    }

    /// Days since the first of January.
    fn day_of_year(&self) -> i64 {
        days(self.year, self.month, self.day) - days(self.year, 1, 1)
    }

    /// 0 is a Sunday.
    fn weekday(&self) -> i64 {
        (days(self.year, self.month, self.day) + 4).rem_euclid(7)
    }

    /// The year and the number of its week by ISO 8601.
    fn iso_week(&self) -> (i32, i64) {
        let monday = |year: i32| {
            // The week with the fourth of January is the first.
            let fourth = days(year, 1, 4);
            fourth - (fourth + 3).rem_euclid(7)
        };
        let day = days(self.year, self.month, self.day);
        let year = if day >= monday(self.year + 1) {
            self.year + 1
        } else if day < monday(self.year) {
            self.year - 1
        } else {
            self.year
        };
        (year, (day - monday(year)) / 7 + 1)
    }

    /// Formats as `datetime.strftime` does on glibc in the C locale. Unknown
    /// directives stay as they are, as there.
    pub fn strftime(&self, format: &str) -> String {
        let mut out = String::new();
        let mut rest = format.chars();
        let month = MONTHS
            .get(self.month.saturating_sub(1) as usize)
            .copied()
            .unwrap_or("?");
        let weekday = usize::try_from(self.weekday()).unwrap_or(0);
        let name = WEEKDAYS.get(weekday).copied().unwrap_or("?");
        let half = match self.hour % 12 {
            0 => 12,
            hour => hour,
        };
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut padding = None;
            let mut directive = rest.next();
            if let Some(flag @ ('-' | '_' | '0' | '^')) = directive {
                padding = Some(flag);
                directive = rest.next();
            }
            let start = out.len();
            let mut number = |value: i64, width: usize, pad: char| {
                let pad = match padding {
                    Some('-') => None,
                    Some('_') => Some(' '),
                    Some('0') => Some('0'),
                    _ => Some(pad),
                };
                let text = value.to_string();
                for _ in text.len()..width {
                    out.extend(pad);
                }
                out.push_str(&text);
            };
            let (year, day) = (i64::from(self.year), i64::from(self.day));
            match directive {
                Some('Y') => number(year, 1, '0'),
                Some('y') => number(year.rem_euclid(100), 2, '0'),
                Some('C') => number(year.div_euclid(100), 2, '0'),
                Some('m') => number(i64::from(self.month), 2, '0'),
                Some('d') => number(day, 2, '0'),
                Some('e') => number(day, 2, ' '),
                Some('H') => number(i64::from(self.hour), 2, '0'),
                Some('k') => number(i64::from(self.hour), 2, ' '),
                Some('I') => number(i64::from(half), 2, '0'),
                Some('l') => number(i64::from(half), 2, ' '),
                Some('M') => number(i64::from(self.minute), 2, '0'),
                Some('S') => number(i64::from(self.second), 2, '0'),
                Some('f') => number(i64::from(self.microsecond), 6, '0'),
                Some('j') => number(self.day_of_year() + 1, 3, '0'),
                Some('w') => number(self.weekday(), 1, '0'),
                Some('u') => number((self.weekday() + 6) % 7 + 1, 1, '0'),
                Some('U') => number((self.day_of_year() + 7 - self.weekday()) / 7, 2, '0'),
                Some('W') => {
                    number(
                        (self.day_of_year() + 7 - (self.weekday() + 6) % 7) / 7,
                        2,
                        '0',
                    );
                }
                Some('V') => number(self.iso_week().1, 2, '0'),
                Some('G') => number(i64::from(self.iso_week().0), 4, '0'),
                Some('g') => number(i64::from(self.iso_week().0.rem_euclid(100)), 2, '0'),
                Some('a') => out.push_str(&name[..3]),
                Some('A') => out.push_str(name),
                Some('b' | 'h') => out.push_str(month.get(..3).unwrap_or(month)),
                Some('B') => out.push_str(month),
                Some('p') => out.push_str(if self.hour < 12 { "AM" } else { "PM" }),
                Some('P') => out.push_str(if self.hour < 12 { "am" } else { "pm" }),
                Some('c') => out.push_str(&self.strftime("%a %b %e %H:%M:%S %Y")),
                Some('x' | 'D') => out.push_str(&self.strftime("%m/%d/%y")),
                Some('X' | 'T') => out.push_str(&self.strftime("%H:%M:%S")),
                Some('F') => out.push_str(&self.strftime("%Y-%m-%d")),
                Some('R') => out.push_str(&self.strftime("%H:%M")),
                Some('r') => out.push_str(&self.strftime("%I:%M:%S %p")),
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('%') => out.push('%'),
                // A moment without a time zone has nothing to say here.
                Some('z' | 'Z') => {}
                Some(other) => {
                    let _ = write!(out, "%{other}");
                }
                None => out.push('%'),
            }
            if padding == Some('^') {
                let upper = out[start..].to_uppercase();
                out.replace_range(start.., &upper);
            }
        }
        out
    }
}

/// Days since 1970-01-01, by the proleptic Gregorian calendar (Hinnant,
/// "chrono-compatible low-level date algorithms").
fn days(year: i32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_print_as_strftime_prints_them() {
        let moment = Moment::parse("2024-02-09T07:05:03").unwrap();
        for (format, text) in [
            (
                "%Y-%m-%d %H:%M:%S %p %j %U %%",
                "2024-02-09 07:05:03 AM 040 05 %",
            ),
            (
                "%a %A %b %B %e %-d %y %I",
                "Fri Friday Feb February  9 9 24 07",
            ),
            (
                "%V %G %W %u %w %c",
                "06 2024 06 5 5 Fri Feb  9 07:05:03 2024",
            ),
            ("%^b %Q %", "FEB %Q %"),
        ] {
            assert_eq!(moment.strftime(format), text, "{format}");
        }
        let new_year = Moment::parse("2027-01-01").unwrap();
        assert_eq!(
            new_year.strftime("%G-W%V-%u %j %U %W"),
            "2026-W53-5 001 00 00"
        );
        assert_eq!(Moment::parse("2027-13-01"), None);
    }
}
