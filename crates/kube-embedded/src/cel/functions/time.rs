//! Durations and timestamps.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::super::eval::EvalError;
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload};

pub(super) const TABLE: &[Entry] = &[
    ("getFullYear", MOMENT, |_, args| part(args, |at| at.year().into())),
    ("getMonth", MOMENT, |_, args| {
        part(args, |at| i64::from(at.month()) - 1)
    }),
    ("getDayOfYear", MOMENT, |_, args| {
        part(args, |at| i64::from(at.day_of_year()) - 1)
    }),
    ("getDayOfMonth", MOMENT, |_, args| {
        part(args, |at| i64::from(at.day()) - 1)
    }),
    ("getDate", MOMENT, |_, args| part(args, |at| at.day().into())),
    ("getDayOfWeek", MOMENT, |_, args| {
        part(args, |at| at.weekday().to_sunday_zero_offset().into())
    }),
    ("getHours", ANY, |_, args| {
        span(args, 3_600_000_000_000, |at| at.hour().into())
    }),
    ("getMinutes", ANY, |_, args| {
        span(args, 60_000_000_000, |at| at.minute().into())
    }),
    ("getSeconds", ANY, |_, args| {
        span(args, 1_000_000_000, |at| at.second().into())
    }),
    ("getMilliseconds", ANY, |_, args| match args {
        [Value::Duration(n)] => Ok(Value::Int(n / 1_000_000)),
        _ => part(args, |at| at.millisecond().into()),
    }),
];

const MOMENT: &str = "timestamp.() int; timestamp.(string) int";
const ANY: &str = "timestamp.() int; timestamp.(string) int; duration.() int";

fn part(args: &[Value], part: fn(DateTime) -> i64) -> Evaluated {
    let at = match args {
        [Value::Timestamp(at)] => *at,
        [Value::Timestamp(at), Value::String(zone)] => local(*at, zone)?,
        _ => return Err(no_overload()),
    };
    Ok(Value::Int(part(at)))
}

fn span(args: &[Value], unit: i64, of_moment: fn(DateTime) -> i64) -> Evaluated {
    match args {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / unit)),
        _ => part(args, of_moment),
    }
}

/// Returns a moment as clocks show it in `UTC`, `Europe/Berlin` or `+02:00`.
fn local(at: DateTime, zone: &str) -> Result<DateTime, EvalError> {
    if zone.is_empty() || zone == "UTC" {
        return Ok(at);
    }
    let offset = if let Some((hours, minutes)) = zone.split_once(':') {
        let number = |text: &str| text.parse::<i64>().ok();
        let offset = number(hours).zip(number(minutes)).map(|(hours, minutes)| {
            let minutes = if zone.starts_with('-') { -minutes } else { minutes };
            hours
                .saturating_mul(60)
                .saturating_add(minutes)
                .saturating_mul(60)
        });
        offset.ok_or_else(|| EvalError::message(format!("invalid time zone {zone:?}")))?
    } else {
        let zone =
            TimeZone::get(zone).map_err(|_| EvalError::message(format!("unknown time zone {zone}")))?;
        let moment = Offset::UTC.to_timestamp(at);
        let moment = moment.map_err(|_| EvalError::message("timestamp overflow"))?;
        zone.to_offset(moment).seconds().into()
    };
    moved(at, SignedDuration::from_secs(offset)).ok_or_else(|| EvalError::message("timestamp overflow"))
}

/// Returns a moment some time later, if it is within the years 1 to 9999.
pub(super) fn moved(at: DateTime, by: SignedDuration) -> Option<DateTime> {
    at.checked_add(by).ok().filter(|at| at.year() >= 1)
}

/// Returns the moment so many seconds after the beginning of 1970.
pub(super) fn from_seconds(seconds: i64) -> Option<DateTime> {
    moved(
        DateTime::constant(1970, 1, 1, 0, 0, 0, 0),
        SignedDuration::from_secs(seconds),
    )
}

/// Returns the seconds since the beginning of 1970.
pub(super) fn to_seconds(at: DateTime) -> i64 {
    let since = at.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
    since.as_secs() - i64::from(since.subsec_nanos() < 0)
}

/// Reads a timestamp in the form of RFC 3339.
pub(crate) fn parse_timestamp(text: &str) -> Option<DateTime> {
    let (clock, rest) = text.split_at_checked(19)?;
    let form = "dddd-dd-ddTdd:dd:dd";
    let is_clock = clock.chars().zip(form.chars()).all(|(c, form)| match form {
        'd' => c.is_ascii_digit(),
        other => c == other,
    });
    let zone_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (fraction, zone) = rest.split_at(zone_at);
    let is_fraction = fraction.is_empty() || (fraction.len() > 1 && fraction.rfind('.') == Some(0));
    if !is_clock || !is_fraction {
        return None;
    }
    let fraction = fraction.get(..fraction.len().min(10)).unwrap_or_default();
    let at: DateTime = format!("{clock}{fraction}").parse().ok()?;
    let offset = if zone == "Z" {
        0
    } else {
        let sign = match zone.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        let (hours, minutes) = zone.get(1..)?.split_once(':')?;
        if hours.len() != 2 || minutes.len() != 2 {
            return None;
        }
        sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60)
    };
    moved(at, SignedDuration::from_secs(-offset))
}

pub(super) fn print_timestamp(at: DateTime) -> String {
    format!("{at}Z")
}

const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1000),
    ("\u{b5}s", 1000),
    ("\u{3bc}s", 1000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration such as `1h30m`, in nanoseconds; the error is Go's.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let mut rest = unsigned;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        if number.is_empty() {
            return Err(invalid());
        }
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let Some((_, size)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
        };
        total = total
            .checked_add(scaled(number, *size).ok_or_else(invalid)?)
            .ok_or_else(invalid)?;
        rest = next;
    }
    if text.starts_with('-') {
        total = -total;
    }
    i64::try_from(total).map_err(|_| invalid())
}

fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = fraction.get(..fraction.len().min(18))?;
    let part = if fraction.is_empty() {
        0
    } else {
        let scale = 10i128.pow(u32::try_from(fraction.len()).ok()?);
        fraction.parse::<i128>().ok()? * unit / scale
    };
    whole.checked_mul(unit)?.checked_add(part)
}

/// Returns a duration in seconds, such as `5400s`.
pub(super) fn print_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    let (seconds, fraction) = (size / 1_000_000_000, size % 1_000_000_000);
    if fraction == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{fraction:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}
