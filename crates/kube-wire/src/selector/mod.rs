//! Label selectors.
//!
//! A [`Selector`] is parsed from text in the grammar of `labelSelector` and `kubectl --selector`, built with methods,
//! or converted from the parts of a `LabelSelector`. It [matches](Selector::matches) labels, and its `Display` output
//! is the text that the API server accepts.
//!
//! # Examples
//!
//! ```
//! use std::collections::BTreeMap;
//! use kube_wire::selector::Selector;
//!
//! let selector: Selector = "tier notin (db, cache), app == web, !legacy".parse()?;
//! let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
//! assert!(selector.matches(&labels));
//! assert_eq!(selector.to_string(), "app=web,!legacy,tier notin (cache,db)");
//!
//! let built = Selector::everything()
//!     .equal("app", "web")?
//!     .none_of("tier", ["db", "cache"])?
//!     .absent("legacy")?;
//! assert_eq!(built, selector);
//! # Ok::<(), kube_wire::selector::ParseSelectorError>(())
//! ```

mod error;
mod labels;
mod parse;
mod requirement;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use error::ParseSelectorError;
pub use labels::Labels;

use requirement::{Condition, Requirement, check_value, value_list};

/// A list of requirements, all of which an object's labels must meet.
///
/// Two selectors are equal if their text is equal. Requirements are sorted by key; requirements of the same key keep
/// their order. `==` is printed as `=`, and lists of values are sorted and deduplicated.
///
/// # Examples
///
/// ```
/// use kube_wire::selector::Selector;
///
/// let selector: Selector = "b, a in (2, 1, 2)".parse()?;
/// assert_eq!(selector.to_string(), "a in (1,2),b");
/// assert_eq!(selector.to_string().parse(), Ok(selector));
/// # Ok::<(), kube_wire::selector::ParseSelectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Sorted by key.
    requirements: Vec<Requirement>,
}

/// The label that [`Selector::nothing`] requires to be both present and absent.
const NOTHING: &str = "nothing";

impl Selector {
    /// Returns a selector that selects every object, also objects without labels. Its text is empty.
    pub const fn everything() -> Selector {
        Selector {
            requirements: Vec::new(),
        }
    }

    /// Returns a selector that selects no object, even if requirements are added.
    ///
    /// The grammar has no syntax for this, and an API server reads the empty text, which client-go prints here, as
    /// "select everything". The text is therefore a contradiction: `nothing,!nothing`.
    pub fn nothing() -> Selector {
        let requirement = |condition| Requirement {
            key: NOTHING.to_owned(),
            condition,
        };
        Selector {
            requirements: vec![requirement(Condition::Exists), requirement(Condition::Absent)],
        }
    }

    /// Converts an object's `LabelSelector`: its `matchLabels`, and the key, operator and values of each of its
    /// `matchExpressions`.
    ///
    /// A `LabelSelector` without any of them selects everything. If an object has no `LabelSelector` at all,
    /// Kubernetes usually selects [`nothing`](Selector::nothing).
    ///
    /// # Errors
    /// Returns an error if an operator is not `In`, `NotIn`, `Exists` or `DoesNotExist`, if one of the first two has
    /// no values or one of the others has some, or if a key or value is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use kube_wire::selector::Selector;
    ///
    /// let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
    /// let tiers = ["db".to_owned(), "cache".to_owned()];
    /// let selector = Selector::from_parts(Some(&labels), [("tier", "NotIn", &tiers[..]), ("legacy", "DoesNotExist", &[])])?;
    /// assert_eq!(selector.to_string(), "app=web,!legacy,tier notin (cache,db)");
    /// # Ok::<(), kube_wire::selector::ParseSelectorError>(())
    /// ```
    pub fn from_parts<'a>(
        match_labels: Option<&BTreeMap<String, String>>,
        match_expressions: impl IntoIterator<Item = (&'a str, &'a str, &'a [String])>,
    ) -> Result<Selector, ParseSelectorError> {
        let labels = match_labels
            .into_iter()
            .flatten()
            .map(|(key, value)| Requirement::new(key.clone(), Condition::Equal(value.clone())));
        let expressions = match_expressions
            .into_iter()
            .map(|(key, operator, values)| Requirement::new(key.to_owned(), condition_of(operator, values)?));
        let requirements: Result<Vec<Requirement>, ParseSelectorError> = labels.chain(expressions).collect();
        Ok(Selector::of(requirements?))
    }

    /// Requires the label to have this value.
    ///
    /// # Errors
    /// Returns an error if the key or the value is invalid.
    pub fn equal(
        self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Selector, ParseSelectorError> {
        self.add(key, Condition::Equal(value.into()))
    }

    /// Requires the label to be absent or to have another value.
    ///
    /// # Errors
    /// Returns an error if the key or the value is invalid.
    pub fn not_equal(
        self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Selector, ParseSelectorError> {
        self.add(key, Condition::NotEqual(value.into()))
    }

    /// Requires the label to have one of these values.
    ///
    /// # Errors
    /// Returns an error if there are no values, or if the key or a value is invalid.
    pub fn one_of(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Selector, ParseSelectorError> {
        let values = value_list(values.into_iter().map(Into::into).collect())?;
        self.add(key, Condition::OneOf(values))
    }

    /// Requires the label to be absent or to have none of these values.
    ///
    /// # Errors
    /// Returns an error if there are no values, or if the key or a value is invalid.
    pub fn none_of(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Selector, ParseSelectorError> {
        let values = value_list(values.into_iter().map(Into::into).collect())?;
        self.add(key, Condition::NoneOf(values))
    }

    /// Requires the label to be present, with any value.
    ///
    /// # Errors
    /// Returns an error if the key is invalid.
    pub fn exists(self, key: impl Into<String>) -> Result<Selector, ParseSelectorError> {
        self.add(key, Condition::Exists)
    }

    /// Requires the label to be absent.
    ///
    /// # Errors
    /// Returns an error if the key is invalid.
    pub fn absent(self, key: impl Into<String>) -> Result<Selector, ParseSelectorError> {
        self.add(key, Condition::Absent)
    }

    /// Requires the label's value to be an integer greater than `bound`.
    ///
    /// # Errors
    /// Returns an error if the key is invalid or the bound is negative: the API server only accepts bounds that are
    /// valid label values.
    pub fn greater_than(self, key: impl Into<String>, bound: i64) -> Result<Selector, ParseSelectorError> {
        let key = key.into();
        check_value(&key, 0, &bound.to_string())?;
        self.add(key, Condition::GreaterThan(bound))
    }

    /// Requires the label's value to be an integer less than `bound`.
    ///
    /// # Errors
    /// See [`greater_than`](Selector::greater_than).
    pub fn less_than(self, key: impl Into<String>, bound: i64) -> Result<Selector, ParseSelectorError> {
        let key = key.into();
        check_value(&key, 0, &bound.to_string())?;
        self.add(key, Condition::LessThan(bound))
    }

    /// Returns a selector that selects the objects that both selectors select.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::selector::Selector;
    ///
    /// let web: Selector = "app=web".parse()?;
    /// let old: Selector = "age>30".parse()?;
    /// assert_eq!(web.clone().and(old).to_string(), "age>30,app=web");
    /// assert!(web.and(Selector::nothing()).is_nothing());
    /// # Ok::<(), kube_wire::selector::ParseSelectorError>(())
    /// ```
    #[must_use]
    pub fn and(mut self, other: Selector) -> Selector {
        if self.is_nothing() || other.is_everything() {
            return self;
        }
        if other.is_nothing() {
            return other;
        }
        self.requirements.extend(other.requirements);
        Selector::of(self.requirements)
    }

    /// Returns whether the selector selects an object with these labels.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.requirements.iter().all(|r| r.matches(labels))
    }

    /// Returns whether the selector has no requirements.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns whether this is [`Selector::nothing`]. Does not detect other contradictions.
    pub fn is_nothing(&self) -> bool {
        matches!(
            self.requirements.as_slice(),
            [
                Requirement { key: present, condition: Condition::Exists },
                Requirement { key: absent, condition: Condition::Absent },
            ] if present == NOTHING && absent == NOTHING
        )
    }

    fn of(mut requirements: Vec<Requirement>) -> Selector {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Selector { requirements }
    }

    fn add(mut self, key: impl Into<String>, condition: Condition) -> Result<Selector, ParseSelectorError> {
        let requirement = Requirement::new(key.into(), condition)?;
        if !self.is_nothing() {
            let at = self.requirements.partition_point(|r| r.key <= requirement.key);
            self.requirements.insert(at, requirement);
        }
        Ok(self)
    }
}

/// Converts the operator and values of one of `matchExpressions`.
fn condition_of(operator: &str, values: &[String]) -> Result<Condition, ParseSelectorError> {
    match operator {
        "In" => Ok(Condition::OneOf(value_list(values.to_vec())?)),
        "NotIn" => Ok(Condition::NoneOf(value_list(values.to_vec())?)),
        "Exists" | "DoesNotExist" if !values.is_empty() => Err(ParseSelectorError::new(format!(
            "values: Invalid value: {}: values set must be empty for exists and does not exist",
            serde_json::Value::from(values)
        ))),
        "Exists" => Ok(Condition::Exists),
        "DoesNotExist" => Ok(Condition::Absent),
        other => Err(ParseSelectorError::new(format!(
            "{other:?} is not a valid label selector operator"
        ))),
    }
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    /// Parses a selector such as `app in (a, b), tier!=db, !legacy, generation>3`.
    ///
    /// Accepts negative bounds, although the API server does not.
    fn from_str(text: &str) -> Result<Selector, ParseSelectorError> {
        parse::requirements(text).map(Selector::of)
    }
}

/// Formats the selector so that [`from_str`](Selector::from_str) parses it as an equal selector.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}
