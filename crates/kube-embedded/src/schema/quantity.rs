//! Resource quantities (`500m`, `1Gi`, `2e3`): parsing, comparison and canonical form.
//!
//! Like a real server, parsing keeps text that the canonical form would not shorten, for example with a leading `+` or
//! zeros.

use std::cmp::Ordering;

const WRONG_FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

/// Maximum of a binary quantity.
const BINARY_LIMIT: u128 = i64::MAX as u128;

/// The suffixes of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// A parsed quantity: `digits × 10^exponent`.
#[derive(Debug, Clone)]
pub(crate) struct Quantity {
    negative: bool,
    /// Without leading zeros; empty for zero.
    digits: String,
    exponent: i32,
    format: Format,
    /// The original text, if it is kept.
    text: Option<String>,
}

impl Quantity {
    /// Parses a quantity. Errors are the server's messages.
    pub(crate) fn parse(text: &str) -> Result<Quantity, &'static str> {
        let parts = split(text)?;
        let (binary, exponent, format) = suffix(parts.suffix).ok_or(WRONG_SUFFIX)?;
        let shifted = format!("{}{}", parts.whole, parts.fraction);
        let digits = shifted.trim_start_matches('0').to_owned();
        let fraction_len = i32::try_from(parts.fraction.len()).map_err(|_| WRONG_FORM)?;
        let mut quantity = Quantity {
            negative: parts.negative,
            digits,
            exponent: exponent.saturating_sub(fraction_len),
            format,
            text: None,
        };
        if binary {
            quantity.multiply_by_power_of_two(exponent, fraction_len, &parts);
        } else {
            let scale = quantity.exponent;
            let fits = shifted.len() <= 18 && scale >= -9;
            let canonical = scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0');
            if fits && canonical {
                quantity.text = Some(text.to_owned());
            }
        }
        quantity.round_up_to_nano();
        if quantity.format == Format::Binary && quantity.is_below_one() {
            quantity.format = Format::Decimal;
        }
        if text == "0" {
            quantity.text = Some(text.to_owned());
        }
        Ok(quantity)
    }

    /// Returns the canonical form of `text`.
    pub(crate) fn canonical(text: &str) -> Result<String, &'static str> {
        Quantity::parse(text.trim()).map(|q| q.print())
    }

    /// Compares the quantity with zero.
    pub(crate) fn sign(&self) -> Ordering {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    /// Returns whether there is no fraction.
    pub(crate) fn is_whole(&self) -> bool {
        self.sign() == Ordering::Equal || self.trimmed().1 >= 0
    }

    /// Compares amounts, independent of their format.
    pub(crate) fn compare(&self, other: &Quantity) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign != Ordering::Equal || self.sign() == Ordering::Equal {
            return by_sign;
        }
        let size = |q: &Quantity| i64::try_from(q.digits.len()).unwrap_or(i64::MAX) + i64::from(q.exponent);
        let (a, b) = (self.trimmed(), other.trimmed());
        let magnitude = size(self).cmp(&size(other)).then_with(|| a.0.cmp(b.0));
        if self.negative {
            magnitude.reverse()
        } else {
            magnitude
        }
    }

    /// Returns the amount as a whole number, if it is one that fits.
    pub(crate) fn to_i64(&self) -> Option<i64> {
        let size = if self.digits.is_empty() { 0 } else { self.whole()? };
        let size = i128::try_from(size).ok()?;
        i64::try_from(if self.negative { -size } else { size }).ok()
    }

    /// Returns the amount as a floating-point number, rounded.
    pub(crate) fn to_f64(&self) -> f64 {
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        let size: f64 = format!("{digits}e{}", self.exponent)
            .parse()
            .unwrap_or(f64::INFINITY);
        if self.negative { -size } else { size }
    }

    /// Returns the sum of two amounts or, if `negated`, the difference; `None` if it overflows.
    pub(crate) fn plus(&self, other: &Quantity, negated: bool) -> Option<Quantity> {
        let (a, b) = (self.nanos()?, other.nanos()?);
        let sum = a.checked_add(if negated { -b } else { b })?;
        let format = match self.sign() {
            Ordering::Equal => other.format,
            _ => self.format,
        };
        Some(Quantity {
            negative: sum < 0,
            digits: sum.unsigned_abs().to_string().trim_start_matches('0').to_owned(),
            exponent: -9,
            format,
            text: None,
        })
    }

    /// Returns the amount in units of `1n`, which is the smallest.
    fn nanos(&self) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let unit = 10i128.checked_pow(u32::try_from(self.exponent.checked_add(9)?).ok()?)?;
        let size = self.digits.parse::<i128>().ok()?.checked_mul(unit)?;
        Some(if self.negative { -size } else { size })
    }

    fn multiply_by_power_of_two(&mut self, power: i32, fraction_len: i32, parts: &Parts<'_>) {
        let whole_len = i32::try_from(parts.whole.len()).unwrap_or(i32::MAX);
        let precision = 15i32.saturating_sub(whole_len) - power * 3 / 10 - 1;
        if fraction_len == 0 && precision >= 0 {
            let odd = parts.whole.parse::<u64>().is_ok_and(|v| v & 7 != 0);
            if odd {
                self.text = Some(parts.text.to_owned());
            }
        }
        self.exponent = -fraction_len;
        let product = self
            .digits
            .parse::<u128>()
            .ok()
            .and_then(|v| v.checked_mul(1u128 << power.clamp(0, 60)));
        let limit = 10u128
            .checked_pow(fraction_len.unsigned_abs())
            .and_then(|unit| BINARY_LIMIT.checked_mul(unit));
        self.digits = match (self.digits.is_empty(), product, limit) {
            (true, ..) => String::new(),
            (_, Some(p), Some(limit)) if p <= limit => p.to_string(),
            _ => {
                self.exponent = 0;
                BINARY_LIMIT.to_string()
            }
        };
    }

    fn round_up_to_nano(&mut self) {
        let excess = usize::try_from(-9i64 - i64::from(self.exponent)).unwrap_or(0);
        if excess == 0 || self.digits.is_empty() {
            return;
        }
        let kept = self.digits.len().saturating_sub(excess);
        let lost = self
            .digits
            .get(kept..)
            .is_some_and(|d| d.bytes().any(|b| b != b'0'));
        self.digits.truncate(kept);
        self.exponent = -9;
        if lost {
            self.digits = plus_one(&self.digits);
        }
    }

    fn is_below_one(&self) -> bool {
        let len = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        self.sign() == Ordering::Greater && len + i64::from(self.exponent) <= 0
    }

    /// Returns the digits without trailing zeros, and the corresponding exponent.
    fn trimmed(&self) -> (&str, i32) {
        let digits = self.digits.trim_end_matches('0');
        let zeros = i32::try_from(self.digits.len() - digits.len()).unwrap_or(0);
        (digits, self.exponent.saturating_add(zeros))
    }

    /// Returns the amount as an integer, if it is one and does not overflow.
    fn whole(&self) -> Option<u128> {
        let (digits, exponent) = self.trimmed();
        let unit = 10u128.checked_pow(u32::try_from(exponent).ok()?)?;
        digits.parse::<u128>().ok()?.checked_mul(unit)
    }

    pub(crate) fn print(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        if self.format == Format::Binary
            && let Some(mut whole) = self.whole().filter(|w| *w >= 1024)
        {
            let mut times = 0;
            while whole >= 1024 && whole.is_multiple_of(1024) {
                whole /= 1024;
                times += 1;
            }
            let unit = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
                .get(times)
                .copied()
                .unwrap_or("");
            return format!("{sign}{whole}{unit}");
        }
        let (digits, mut exponent) = self.trimmed();
        let mut digits = digits.to_owned();
        while exponent % 3 != 0 {
            digits.push('0');
            exponent -= 1;
        }
        let unit = match (self.format, exponent) {
            (_, 0) => String::new(),
            (Format::Exponent, e) => format!("e{e}"),
            (_, e) => DECIMAL
                .iter()
                .find(|(_, of)| *of == e)
                .map_or("", |(unit, _)| unit)
                .to_owned(),
        };
        format!("{sign}{digits}{unit}")
    }
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, i32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

struct Parts<'a> {
    text: &'a str,
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// Returns whether the base is two, the exponent, and the format of a suffix.
fn suffix(text: &str) -> Option<(bool, i32, Format)> {
    if let Some((_, e)) = DECIMAL.iter().find(|(unit, _)| *unit == text) {
        return Some((false, *e, Format::Decimal));
    }
    if let Some((_, e)) = BINARY.iter().find(|(unit, _)| *unit == text) {
        return Some((true, *e, Format::Binary));
    }
    let exponent = text.strip_prefix(['e', 'E'])?;
    Some((false, exponent.parse().ok()?, Format::Exponent))
}

fn split(text: &str) -> Result<Parts<'_>, &'static str> {
    if text.is_empty() {
        return Err(WRONG_FORM);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number_end = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let stripped = unsigned.trim_start_matches('0');
    let (whole, rest) = stripped.split_at(number_end(stripped));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(after) => after.split_at(number_end(after)),
        None => ("", rest),
    };
    let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let digits = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(WRONG_FORM);
    }
    Ok(Parts {
        text,
        negative: text.starts_with('-'),
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        suffix,
    })
}

fn plus_one(digits: &str) -> String {
    let mut bytes: Vec<u8> = digits.bytes().collect();
    for digit in bytes.iter_mut().rev() {
        if *digit == b'9' {
            *digit = b'0';
        } else {
            *digit += 1;
            return bytes.into_iter().map(char::from).collect();
        }
    }
    std::iter::once('1')
        .chain(bytes.into_iter().map(char::from))
        .collect()
}
