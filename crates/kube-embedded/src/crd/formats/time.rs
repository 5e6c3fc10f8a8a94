//! Dates, times and durations.

use crate::cel;

/// Returns whether text is an existing date such as `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let number = |part: &str, width: usize| -> Option<u32> {
        let plain = part.len() == width && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Returns whether text is an RFC 3339 time, in upper or lower case.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time_of_day(time)
}

/// Returns whether text is `15:04:05` with optional fraction (any character and digits) and a zone.
fn is_time_of_day(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    if !is_clock(clock, &[23, 59, 59]) {
        return false;
    }
    let is_zone = |zone: &str| match zone.strip_prefix(['+', '-']) {
        Some(offset) => is_clock(offset, &[99, 99]),
        None => zone == "z",
    };
    if is_zone(rest) {
        return true;
    }
    let mut chars = rest.chars();
    chars.next();
    let fraction = chars.as_str();
    let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    zone.len() < fraction.len() && is_zone(zone)
}

/// Returns whether text is a number of two digits per limit, separated by colons.
fn is_clock(text: &str, limits: &[u8]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == limits.len()
        && parts.iter().zip(limits).all(|(part, limit)| {
            part.len() == 2
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u8>().is_ok_and(|n| n <= *limit)
        })
}

/// Returns whether text is a duration in Go's format or in words: `22 ns`, `3 days`.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || worded_duration(text).is_some()
}

/// Returns a duration in nanoseconds.
pub(in crate::crd) fn parse_duration(text: &str) -> Option<i64> {
    cel::parse_duration(text).ok().or_else(|| worded_duration(text))
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = rest.get(..rest.len() - unit.len()).unwrap_or_default();
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return false;
        }
        let end = unit
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(unit.len());
        let (unit, left) = unit.split_at(end);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = left;
    }
    true
}

/// The names of units, and their lengths in nanoseconds.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

/// Returns the sum of all numbers with a unit in a text, if there are any.
fn worded_duration(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum: Option<i64> = None;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from_number = rest.get(start..).unwrap_or_default();
        let after_number = from_number.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = from_number
            .get(..from_number.len() - after_number.len())
            .unwrap_or_default();
        let from_unit = after_number.trim_start();
        let after_unit = from_unit.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
        let unit = from_unit
            .get(..from_unit.len() - after_unit.len())
            .unwrap_or_default()
            .to_lowercase();
        if !unit.is_empty() {
            let number: i64 = number.parse().ok()?;
            let fitting = UNITS.iter().filter(|(names, _)| {
                names.contains(&unit.as_str()) || names.last().is_some_and(|long| unit.starts_with(long))
            });
            for (_, length) in fitting {
                sum = Some(sum.unwrap_or(0).wrapping_add(number.wrapping_mul(*length)));
            }
        }
        rest = after_unit;
    }
    sum
}
