//! Conversion of times between RFC 3339 and seconds since 1970.

use std::ops::Range;

/// Go's zero time, which means "no time": 0001-01-01T00:00:00Z.
pub(super) const ZERO: i64 = -62_135_596_800;

/// The first second of the year 0.
pub(super) const MIN_SECONDS: i64 = -62_167_219_200;

/// The last second that every type supports: 9999-12-30T22:00:00Z. Later times are in the year 10000 in time zones
/// far to the east.
pub(super) const MAX_SECONDS: i64 = 253_402_207_200;

const DAY: i64 = 86_400;
/// Days from 0000-03-01, the start of a 400-year cycle of leap years, to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;
const DAYS_IN_CYCLE: i64 = 146_097;

/// A time in RFC 3339, without an allocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeText {
    bytes: [u8; WITH_MICROS.len()],
    len: usize,
}

const WITH_MICROS: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
const SECONDS_END: usize = 19;

impl TimeText {
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    /// Writes a number that ends before position `end`.
    fn put(&mut self, end: usize, digits: usize, mut number: i64) {
        for at in (end - digits..end).rev() {
            self.bytes[at] = b'0' + (number % 10).to_le_bytes()[0];
            number /= 10;
        }
    }
}

/// Formats a time in UTC, with microseconds if they are given. Returns `None` before the year 0 and after 9999.
pub(super) fn format(seconds: i64, micros: Option<i32>) -> Option<TimeText> {
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days)?;
    let mut text = TimeText {
        bytes: *WITH_MICROS,
        len: WITH_MICROS.len(),
    };
    text.put(4, 4, year);
    text.put(7, 2, month);
    text.put(10, 2, day);
    text.put(13, 2, second / 3600);
    text.put(16, 2, second / 60 % 60);
    text.put(SECONDS_END, 2, second % 60);
    if let Some(micros) = micros {
        text.put(26, 6, micros.into());
    } else {
        text.bytes[SECONDS_END] = b'Z';
        text.len = SECONDS_END + 1;
    }
    Some(text)
}

fn date(days: i64) -> Option<(i64, i64, i64)> {
    let days = days.checked_add(DAYS_TO_EPOCH)?;
    let (cycle, day) = (days.div_euclid(DAYS_IN_CYCLE), days.rem_euclid(DAYS_IN_CYCLE));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Starting with March, months have 31, 30, 31, 30 and 31 days, repeated.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + cycle * 400 + i64::from(month <= 2);
    (0..=9999).contains(&year).then_some((year, month, day))
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let day = (153 * month + 2) / 5 + day - 1;
    cycle * DAYS_IN_CYCLE + 365 * year + year / 4 - year / 100 + day - DAYS_TO_EPOCH
}

/// Parses a time to seconds and nanoseconds.
pub(super) fn parse(text: &str) -> Option<(i64, i32)> {
    let bytes = text.as_bytes();
    let number = |range: Range<usize>| digits(bytes.get(range)?);
    let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    let separated = is(4, b'-') && is(7, b'-') && is(10, b'T') && is(13, b':') && is(16, b':');
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !separated || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days(year, month, day);
    // Converting back detects days that the month does not have.
    if date(days) != Some((year, month, day)) {
        return None;
    }
    let (nanos, zone) = fraction(bytes.get(19..)?)?;
    let seconds = days * DAY + hour * 3600 + minute * 60 + second - offset(zone)?;
    Some((seconds, nanos))
}

/// Splits off a fraction of a second, in nanoseconds.
fn fraction(rest: &[u8]) -> Option<(i32, &[u8])> {
    let Some(rest) = rest.strip_prefix(b".") else {
        return Some((0, rest));
    };
    let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (found, rest) = rest.split_at(len);
    if found.is_empty() {
        return None;
    }
    let nine = found.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    let nanos = nine.fold(0, |nanos, digit| nanos * 10 + i32::from(digit - b'0'));
    Some((nanos, rest))
}

fn offset(zone: &[u8]) -> Option<i64> {
    let (sign, rest) = match zone {
        b"Z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let [h1, h2, b':', m1, m2] = *rest else {
        return None;
    };
    let (hours, minutes) = (digits(&[h1, h2])?, digits(&[m1, m2])?);
    (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })
}
