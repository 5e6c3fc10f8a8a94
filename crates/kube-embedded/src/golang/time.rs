//! Times in RFC 3339, with the errors of Go's `time.Parse`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// The two time types of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds,
    Micros,
}

impl Precision {
    fn layout(self) -> &'static str {
        match self {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Returns the time in the server's format, or `None` for Go's zero time, which is encoded as null.
pub(crate) fn canonical_time(text: &str, precision: Precision) -> Result<Option<String>, String> {
    let at = parse(text, precision)?;
    let format = match precision {
        Precision::Seconds => "%Y-%m-%dT%H:%M:%SZ",
        Precision::Micros => "%Y-%m-%dT%H:%M:%S.%6fZ",
    };
    let zero = at.strftime("%Y-%m-%dT%H:%M:%S.%f").to_string() == "0001-01-01T00:00:00.0";
    Ok((!zero).then(|| at.strftime(format).to_string()))
}

fn parse(text: &str, precision: Precision) -> Result<Timestamp, String> {
    let layout = precision.layout();
    let mismatch = |rest: &str, element: &str| {
        format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}")
    };
    let outside = |what: &str| format!("parsing time {text:?}: {what} out of range");
    let mut rest = text;
    let mut numbers = [0i16; 6];
    let elements = [
        ("", "2006", 4),
        ("-", "01", 2),
        ("-", "02", 2),
        ("T", "15", 2),
        (":", "04", 2),
        (":", "05", 2),
    ];
    let ranges = [
        (0, 9999, "year"),
        (1, 12, "month"),
        (1, 31, "day"),
        (0, 23, "hour"),
        (0, 59, "minute"),
        (0, 59, "second"),
    ];
    for (slot, ((before, element, width), (low, high, what))) in
        numbers.iter_mut().zip(elements.into_iter().zip(ranges))
    {
        rest = rest.strip_prefix(before).ok_or_else(|| mismatch(rest, before))?;
        let digits = rest
            .get(..width)
            .filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        let value: i16 = digits
            .and_then(|d| d.parse().ok())
            .ok_or_else(|| mismatch(rest, element))?;
        if !(low..=high).contains(&value) {
            return Err(outside(what));
        }
        *slot = value;
        rest = rest.get(width..).unwrap_or("");
    }
    let fraction_len = match rest.strip_prefix(['.', ',']) {
        Some(after) => after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()),
        None => 0,
    };
    if precision == Precision::Micros && fraction_len < 6 {
        return Err(mismatch(rest, ".000000"));
    }
    let mut nanos = 0;
    if fraction_len > 0 {
        let digits = rest.get(1..=fraction_len).unwrap_or("");
        nanos = format!("{digits:0<9.9}").parse().unwrap_or(0);
        rest = rest.get(fraction_len + 1..).unwrap_or("");
    }
    let offset = zone(rest).ok_or_else(|| mismatch(rest, "Z07:00"))?;
    let [year, month, day, hour, minute, second] = numbers;
    let small = |n: i16| i8::try_from(n).unwrap_or(0);
    DateTime::new(
        year,
        small(month),
        small(day),
        small(hour),
        small(minute),
        small(second),
        nanos,
    )
    .map_err(|_| outside("day"))
    .and_then(|at| offset.to_timestamp(at).map_err(|_| outside("year")))
}

fn zone(text: &str) -> Option<Offset> {
    if text == "Z" {
        return Some(Offset::UTC);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Offset::from_seconds(sign * seconds).ok()
}
