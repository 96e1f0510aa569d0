//! Names and addresses of hosts, and mailboxes at them. For example, `a-b.example` is a hostname,
//! and `-a.example` is none.

/// RFC 1123, section 2.1: labels of 1 to 63 letters, digits and hyphens.
pub(super) const ANY_LABEL: &str = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?";

/// The same without those that RFC 5890, section 2.3.1, reserves by two hyphens in third
/// and fourth place, of which only some are punycode.
pub(super) const LABEL: &str = "(?:[0-9A-Za-z](?:[0-9A-Za-z-]{0,2}[0-9A-Za-z])?|[0-9A-Za-z][0-9A-Za-z-](?:[0-9A-Za-z][0-9A-Za-z-]|-[0-9A-Za-z])[0-9A-Za-z-]{0,58}[0-9A-Za-z])";

/// Names that are short by their form.
pub(super) fn short_hostname() -> String {
    let of = |most: usize| LABEL.replace("{0,58}", &format!("{{0,{}}}", most - 5));
    // Three labels of 63 and one of 61 fit in 253 characters with their dots;
    // so do fifteen labels of 15.
    let (label, last, mid) = (of(63), of(61), of(15));
    format!("(?:{label}\\.){{0,3}}{last}|{label}|(?:{mid}\\.){{4,14}}{mid}")
}

pub(super) fn ipv4() -> String {
    let octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    format!("{octet}(?:\\.{octet}){{3}}")
}

/// RFC 4291, section 2.2: eight groups, one run of them as `::`, the last two
/// as an IPv4 address.
pub(super) fn ipv6() -> String {
    let h = "[0-9A-Fa-f]{1,4}";
    let tail = format!("(?:{h}:{h}|{})", ipv4());
    let mut forms = vec![
        format!("(?:{h}:){{6}}{tail}"),
        format!("::(?:{h}:){{0,5}}{tail}"),
        format!("::(?:{h})?"),
    ];
    // n groups, then `::`, then at most 7 - n groups.
    for n in 1..=7 {
        let before = if n == 1 {
            h.to_owned()
        } else {
            format!("{h}(?::{h}){{{}}}", n - 1)
        };
        let room = 7 - n;
        let after = match room {
            0 => String::new(),
            1 => format!("(?:{h})?"),
            2 => format!("(?:{h}|{tail})?"),
            _ => format!("(?:{h}|(?:{h}:){{0,{}}}{tail})?", room - 2),
        };
        forms.push(format!("{before}::{after}"));
    }
    forms.join("|")
}

/// A character of an atom in a mailbox (RFC 5321, section 4.1.2, as RFC 5322 defines `atext`).
pub(super) const ATOM: &str = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]";

/// RFC 5321, section 4.1.2, `Mailbox`; of address literals those of section
/// 4.1.3 that are registered.
pub(super) fn email() -> String {
    let quoted = r#""(?:[ !#-\[\]-~]{0,62}|(?:[ !#-\[\]-~]|\\[ -~]){0,31})""#;
    let v6 = ipv6_of_mail();
    format!(
        "(?:{ATOM}+(?:\\.{ATOM}+)*|{quoted})@(?:{ANY_LABEL}(?:\\.{ANY_LABEL})*|\\[(?:{}|[Ii][Pp][Vv]6:(?:{v6}))\\])",
        ipv4()
    )
}

/// The `IPv6-addr` of RFC 5321, section 4.1.3: `::` stands for two groups or
/// more.
fn ipv6_of_mail() -> String {
    let h = "[0-9A-Fa-f]{1,4}";
    let v4 = ipv4();
    let mut forms = vec![
        format!("{h}(?::{h}){{7}}"),
        format!("{h}(?::{h}){{5}}:{v4}"),
    ];
    let groups = |n: usize| match n {
        0 => String::new(),
        1 => h.to_owned(),
        _ => format!("{h}(?::{h}){{{}}}", n - 1),
    };
    let up_to = |n: usize| match n {
        0 => String::new(),
        1 => format!("(?:{h})?"),
        _ => format!("(?:{h}(?::{h}){{0,{}}})?", n - 1),
    };
    for before in 0..=6 {
        forms.push(format!("{}::{}", groups(before), up_to(6 - before)));
        if before <= 4 {
            let middle = match 4 - before {
                0 => String::new(),
                n => format!("(?:{h}:){{0,{n}}}"),
            };
            forms.push(format!("{}::{middle}{v4}", groups(before)));
        }
    }
    forms.join("|")
}

/// Mailboxes that are short by their form: at most 64 octets before the `@`, at
/// most 189 after it.
pub(super) fn short_email() -> String {
    let mid = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,13}[0-9A-Za-z])?";
    format!(
        "(?:{ATOM}{{1,64}}|{ATOM}{{1,15}}(?:\\.{ATOM}{{1,15}}){{1,3}})@(?:(?:{mid}\\.){{0,10}}{mid}|{ANY_LABEL}(?:\\.{ANY_LABEL})?)"
    )
}
