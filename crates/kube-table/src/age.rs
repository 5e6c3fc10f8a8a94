//! Formats ages with a few significant figures.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Go's zero time, which means "never".
pub(crate) const ZERO: &str = "0001-01-01T00:00:00Z";
const ZERO_SECOND: i64 = -62_135_596_800;

/// Maximum seconds of a Go `time.Duration`. Longer durations are capped.
const LONGEST: i64 = 9_223_372_036;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Returns the age of an event at `when` (RFC 3339), or `<unknown>` without a time.
pub(crate) fn since(when: &str, now: Timestamp) -> String {
    match instant(when) {
        Some(at) => elapsed(at, now),
        None => "<unknown>".into(),
    }
}

/// Returns the time from `at` to `now`.
pub(crate) fn elapsed(at: Timestamp, now: Timestamp) -> String {
    if at.as_second() == ZERO_SECOND && at.subsec_nanosecond() == 0 {
        return "<unknown>".into();
    }
    human(seconds_between(at, now))
}

/// Returns whole seconds from `from` to `to`, rounded towards zero.
pub(crate) fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    let seconds = (to.as_nanosecond() - from.as_nanosecond()) / 1_000_000_000;
    i64::try_from(seconds).unwrap_or(LONGEST).clamp(-LONGEST, LONGEST)
}

/// Formats a duration with at most two units. The smaller one is omitted if it is zero or insignificant.
pub(crate) fn human(seconds: i64) -> String {
    let two = |large: i64, large_unit: char, small: i64, small_unit: char| {
        if small == 0 {
            format!("{large}{large_unit}")
        } else {
            format!("{large}{large_unit}{small}{small_unit}")
        }
    };
    match seconds {
        // Tolerate clocks that differ by one second.
        ..=-2 => "<invalid>".into(),
        -1 => "0s".into(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, 'm', s % MINUTE, 's'),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, 'h', s % HOUR / MINUTE, 'm'),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, 'd', s % DAY / HOUR, 'h'),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, 'y', s % YEAR / DAY, 'd'),
        s => format!("{}y", s / YEAR),
    }
}

/// Parses RFC 3339 as Go does: upper-case `T` and `Z`, seconds required, a one-digit hour and a decimal comma
/// allowed.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.split('-');
    let year = digits(date.next()?, 4..=4)?;
    let month = digits(date.next()?, 2..=2)?;
    let day = digits(date.next()?, 2..=2)?;
    if date.next().is_some() {
        return None;
    }
    let zone = time.find(['Z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone);
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let mut clock = clock.split(':');
    let hour = digits(clock.next()?, 1..=2)?;
    let minute = digits(clock.next()?, 2..=2)?;
    let second = digits(clock.next()?, 2..=2)?;
    if clock.next().is_some() || second > 59 {
        return None;
    }
    let nanosecond = fraction.map_or(Some(0), nanoseconds)?;
    let civil = DateTime::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
        i8::try_from(hour).ok()?,
        i8::try_from(minute).ok()?,
        i8::try_from(second).ok()?,
        nanosecond,
    )
    .ok()?;
    offset(zone)?.to_timestamp(civil).ok()
}

fn offset(zone: &str) -> Option<Offset> {
    if zone == "Z" {
        return Some(Offset::UTC);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2..=2)?, digits(minutes, 2..=2)?);
    if hours > 24 || minutes > 60 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

fn nanoseconds(fraction: &str) -> Option<i32> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<i32> {
    if !length.contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
