use std::fmt;

use super::{Labels, ParseSelectorError};
use crate::names::{is_label_key, is_label_value};

/// What a selector demands of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) key: String,
    pub(super) demand: Demand,
}

/// The lists are sorted, without repetition and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Demand {
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
    /// The demand, if its key and values can be those of labels.
    pub(super) fn checked(key: String, demand: Demand) -> Result<Requirement, ParseSelectorError> {
        check_key(&key)?;
        match &demand {
            Demand::Equal(value) | Demand::NotEqual(value) => check_value(&key, 0, value)?,
            Demand::OneOf(values) | Demand::NoneOf(values) => {
                for (at, value) in values.iter().enumerate() {
                    check_value(&key, at, value)?;
                }
            }
            Demand::Exists | Demand::Absent | Demand::GreaterThan(_) | Demand::LessThan(_) => {}
        }
        Ok(Requirement { key, demand })
    }

    pub(super) fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        let value = labels.value(&self.key);
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        let listed = |values: &[String]| {
            value.is_some_and(|v| values.binary_search_by(|listed| listed.as_str().cmp(v)).is_ok())
        };
        match &self.demand {
            Demand::Exists => value.is_some(),
            Demand::Absent => value.is_none(),
            Demand::Equal(wanted) => value == Some(wanted),
            // As in Kubernetes, an object without the label differs from every value.
            Demand::NotEqual(unwanted) => value != Some(unwanted),
            Demand::OneOf(values) => listed(values),
            Demand::NoneOf(values) => !listed(values),
            Demand::GreaterThan(bound) => number().is_some_and(|n| n > *bound),
            Demand::LessThan(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirement { key, demand } = self;
        match demand {
            Demand::Exists => write!(f, "{key}"),
            Demand::Absent => write!(f, "!{key}"),
            Demand::Equal(value) => write!(f, "{key}={value}"),
            Demand::NotEqual(value) => write!(f, "{key}!={value}"),
            Demand::OneOf(values) => write!(f, "{key} in ({})", values.join(",")),
            Demand::NoneOf(values) => write!(f, "{key} notin ({})", values.join(",")),
            Demand::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            Demand::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

/// The values as a list holds them; a list without values is refused.
pub(super) fn listed(mut values: Vec<String>) -> Result<Vec<String>, ParseSelectorError> {
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
