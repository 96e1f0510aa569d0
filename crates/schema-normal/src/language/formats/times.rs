//! Dates, times and durations. For example, `2024-02-29` is a date, and `2023-02-29` is none.

/// An hour, as `time-hour` of RFC 3339.
const HOUR: &str = "(?:[01][0-9]|2[0-3])";

/// Eighteen digits, because a model writes digits without end where it may, because no clock
/// tells less than an attosecond, and because the official test suite has fifteen.
const SECFRAC: &str = "(?:\\.[0-9]{1,18})?";

/// Without a bound, as RFC 3339 has it: complements leave out all of these.
const ANY_SECFRAC: &str = "(?:\\.[0-9]+)?";

/// Leap seconds written in UTC.
pub(super) fn leap_utc() -> String {
    format!("23:59:60{SECFRAC}(?:[Zz]|[+-]00:00)")
}

/// RFC 3339, `full-date`, with the calendar of its section 5.7.
pub(super) fn date() -> String {
    let leap = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
    format!(
        "[0-9]{{4}}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|{leap}-02-29"
    )
}

/// RFC 3339, `full-time`, with these leap seconds.
pub(super) fn time(leap: &str) -> String {
    format!("{HOUR}:[0-5][0-9]:[0-5][0-9]{SECFRAC}(?:[Zz]|[+-]{HOUR}:[0-5][0-9])|{leap}")
}

/// RFC 3339, `full-time`, with a leap second wherever its grammar has one, and fractions of
/// any length.
pub(super) fn wide_time() -> String {
    format!("{HOUR}:[0-5][0-9]:(?:[0-5][0-9]|60){ANY_SECFRAC}(?:[Zz]|[+-]{HOUR}:[0-5][0-9])")
}

/// The second after 23:59:59 UTC (RFC 3339, section 5.7), written with every
/// offset of whole and half hours.
pub(super) fn leap_seconds() -> String {
    let mut forms = vec![leap_utc()];
    for half_hours in 1..48u32 {
        let show = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        let ahead = half_hours * 30;
        let local = (ahead + 23 * 60 + 59) % (24 * 60);
        let behind = 24 * 60 - ahead;
        forms.push(format!(
            "{}:60{SECFRAC}(?:\\+{}|-{})",
            show(local),
            show(ahead),
            show(behind)
        ));
    }
    forms.join("|")
}

/// RFC 3339, appendix A.
pub(super) fn duration() -> String {
    let time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
    let date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
    format!("P(?:{date}(?:{time})?|{time}|[0-9]+W)")
}
