//! Durations in kubectl's format: `90s`, `5m`, `1h30m`; a number without a unit is in seconds.

use std::time::Duration;

/// Parses a duration.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || format!("invalid duration {text:?}: expected for example 90s, 5m or 1h30m");
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(invalid)?;
        let number: u64 = rest[..digits].parse().map_err(|_| invalid())?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let one = match &rest[..unit] {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(60 * 60),
            _ => return Err(invalid()),
        };
        let number = u32::try_from(number).map_err(|_| invalid())?;
        total = total.saturating_add(one.saturating_mul(number));
        rest = &rest[unit..];
    }
    if text.is_empty() {
        Err(invalid())
    } else {
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn parses_durations_like_kubectl() {
        let seconds = |text| parse(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("1h30m"), Ok(5400));
        assert_eq!(seconds("7"), Ok(7));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "soon", "5", "m5", "5x", "-1s", "99999999999999999999s"] {
            assert_eq!(parse(bad).is_ok(), bad == "5", "{bad}");
        }
    }
}
