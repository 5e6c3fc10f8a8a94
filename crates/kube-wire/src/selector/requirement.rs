use std::fmt;

use super::{Labels, ParseSelectorError};
use crate::names::{is_label_key, is_label_value};

/// The condition that a selector puts on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) key: String,
    pub(super) condition: Condition,
}

/// The operator and values of a requirement. Lists are sorted, deduplicated and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Exists,
    Absent,
    Equal(String),
    NotEqual(String),
    OneOf(Vec<String>),
    NoneOf(Vec<String>),
    GreaterThan(i64),
    LessThan(i64),
}

impl Requirement {
    /// Creates a requirement.
    ///
    /// # Errors
    /// Returns an error if the key or a value is not valid for labels.
    pub(super) fn new(key: String, condition: Condition) -> Result<Requirement, ParseSelectorError> {
        check_key(&key)?;
        match &condition {
            Condition::Equal(value) | Condition::NotEqual(value) => check_value(&key, 0, value)?,
            Condition::OneOf(values) | Condition::NoneOf(values) => {
                for (at, value) in values.iter().enumerate() {
                    check_value(&key, at, value)?;
                }
            }
            Condition::Exists | Condition::Absent | Condition::GreaterThan(_) | Condition::LessThan(_) => {}
        }
        Ok(Requirement { key, condition })
    }

    pub(super) fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        let value = labels.value(&self.key);
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        let contains = |values: &[String]| {
            value.is_some_and(|v| values.binary_search_by(|other| other.as_str().cmp(v)).is_ok())
        };
        match &self.condition {
            Condition::Exists => value.is_some(),
            Condition::Absent => value.is_none(),
            Condition::Equal(expected) => value == Some(expected),
            // As in Kubernetes, objects without the label are selected.
            Condition::NotEqual(excluded) => value != Some(excluded),
            Condition::OneOf(values) => contains(values),
            Condition::NoneOf(values) => !contains(values),
            Condition::GreaterThan(bound) => number().is_some_and(|n| n > *bound),
            Condition::LessThan(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirement { key, condition } = self;
        match condition {
            Condition::Exists => write!(f, "{key}"),
            Condition::Absent => write!(f, "!{key}"),
            Condition::Equal(value) => write!(f, "{key}={value}"),
            Condition::NotEqual(value) => write!(f, "{key}!={value}"),
            Condition::OneOf(values) => write!(f, "{key} in ({})", values.join(",")),
            Condition::NoneOf(values) => write!(f, "{key} notin ({})", values.join(",")),
            Condition::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            Condition::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

/// Sorts and deduplicates values.
///
/// # Errors
/// Returns an error if there are no values.
pub(super) fn value_list(mut values: Vec<String>) -> Result<Vec<String>, ParseSelectorError> {
    if values.is_empty() {
        return Err(ParseSelectorError::new(
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ));
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

pub(super) fn check_key(key: &str) -> Result<(), ParseSelectorError> {
    if is_label_key(key) {
        return Ok(());
    }
    Err(ParseSelectorError::new(format!(
        "key: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must \
         start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )))
}

pub(super) fn check_value(key: &str, at: usize, value: &str) -> Result<(), ParseSelectorError> {
    if is_label_value(value) {
        return Ok(());
    }
    Err(ParseSelectorError::new(format!(
        "values[{at}][{key}]: Invalid value: {value:?}: a valid label must be an empty string or consist of \
         alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
         'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    )))
}
