//! Semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload, tenth};

pub(super) const TABLE: &[Entry] = &[
    (
        "semver",
        "(string) kubernetes.Semver; (string, bool) kubernetes.Semver",
        |b, args| {
            read(b, args)?
                .map(|version| Value::Semver(Arc::new(version)))
                .map_err(EvalError::message)
        },
    ),
    ("isSemver", "(string) bool; (string, bool) bool", |b, args| {
        Ok(Value::Bool(read(b, args)?.is_ok()))
    }),
    ("major", "kubernetes.Semver.() int", |_, args| number(args, 0)),
    ("minor", "kubernetes.Semver.() int", |_, args| number(args, 1)),
    ("patch", "kubernetes.Semver.() int", |_, args| number(args, 2)),
];

/// A semantic version.
#[derive(Debug, PartialEq)]
pub(crate) struct Semver {
    numbers: [u64; 3],
    /// Identifiers of a pre-release.
    before: Vec<String>,
}

fn read(budget: &mut Budget, args: &[Value]) -> Result<Result<Semver, String>, EvalError> {
    match args {
        [Value::String(text), rest @ ..] => {
            budget.charge(tenth(text.len()))?;
            let normalize = matches!(rest, [Value::Bool(true)]);
            Ok(if normalize {
                Semver::parse(&normalized(text))
            } else {
                Semver::parse(text)
            })
        }
        _ => Err(no_overload()),
    }
}

fn number(args: &[Value], at: usize) -> Evaluated {
    match args {
        [Value::Semver(version)] => {
            let number = version.numbers.get(at).copied().unwrap_or_default();
            Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
        }
        _ => Err(no_overload()),
    }
}

/// Removes a leading `v` and zeros, and adds missing numbers.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut numbers: Vec<&str> = numbers
        .split('.')
        .map(|n| match n.trim_start_matches('0') {
            "" if !n.is_empty() => "0",
            stripped => stripped,
        })
        .collect();
    while numbers.len() < 3 {
        numbers.push("0");
    }
    format!("{}{rest}", numbers.join("."))
}

impl Semver {
    fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        let (numbers, before) = match text.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before)),
            None => (text, None),
        };
        let parts: Vec<&str> = numbers.split('.').collect();
        let [major, minor, patch] = parts[..] else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let number = |name: &str, text: &str| {
            if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(format!("Invalid character(s) found in {name} number {text:?}"));
            }
            if text.len() > 1 && text.starts_with('0') {
                return Err(format!("{name} number must not contain leading zeroes {text:?}"));
            }
            text.parse::<u64>().map_err(|e| e.to_string())
        };
        let numbers = [
            number("major", major)?,
            number("minor", minor)?,
            number("patch", patch)?,
        ];
        let identifiers = |text: Option<&str>| -> Result<Vec<String>, String> {
            let parts = text.into_iter().flat_map(|text| text.split('.'));
            parts
                .map(|part| {
                    let is_good =
                        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                    is_good
                        .then(|| part.to_owned())
                        .ok_or_else(|| format!("Invalid character(s) found in prerelease {part:?}"))
                })
                .collect()
        };
        let before = identifiers(before)?;
        identifiers(build)?;
        if let Some(bad) = before
            .iter()
            .find(|part| is_number(part) && part.len() > 1 && part.starts_with('0'))
        {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {bad:?}"
            ));
        }
        Ok(Semver { numbers, before })
    }

    pub(crate) fn compare(&self, other: &Semver) -> Ordering {
        let by_numbers = self.numbers.cmp(&other.numbers);
        by_numbers.then_with(|| match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let pairs = self.before.iter().zip(&other.before);
                let different = pairs
                    .map(|(a, b)| compare_identifiers(a, b))
                    .find(|order| order.is_ne());
                different.unwrap_or_else(|| self.before.len().cmp(&other.before.len()))
            }
        })
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn compare_identifiers(a: &str, b: &str) -> Ordering {
    match (is_number(a), is_number(b)) {
        (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.cmp(b),
    }
}
