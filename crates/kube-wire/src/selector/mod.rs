//! Label selectors: which objects are meant, by their labels.
//!
//! A [`Selector`] comes from text, in the grammar of `labelSelector` and `kubectl --selector`, from a builder, or from the
//! parts of an object's `LabelSelector`. It answers whether labels [match](Selector::matches), and prints the text that the
//! API server understands.
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

use requirement::{Demand, Requirement, check_value, listed};

/// A question to the labels of an object: all its requirements have to be met.
///
/// Two selectors are equal if they print the same text. Requirements are in the order of their keys, those of one key in the
/// order in which they were given; `==` is `=`; the values of a list are sorted and each stands in it once.
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
    /// In the order of their keys.
    requirements: Vec<Requirement>,
}

/// The label that [`Selector::nothing`] wants both present and absent.
const NOTHING: &str = "nothing";

impl Selector {
    /// Selects every object, also those without labels. Its text is empty.
    pub const fn everything() -> Selector {
        Selector {
            requirements: Vec::new(),
        }
    }

    /// Selects no object, whatever is added to it.
    ///
    /// The grammar has no word for this, and an empty text (which client-go prints here) would select everything where it is
    /// sent to a server. So the text is a contradiction: `nothing,!nothing`.
    pub fn nothing() -> Selector {
        let requirement = |demand| Requirement {
            key: NOTHING.to_owned(),
            demand,
        };
        Selector {
            requirements: vec![requirement(Demand::Exists), requirement(Demand::Absent)],
        }
    }

    /// The selector of an object's `LabelSelector`: its `matchLabels`, and the key, operator and values of each of its
    /// `matchExpressions`. Without any of them it selects everything.
    ///
    /// Where an object has no `LabelSelector` at all, Kubernetes mostly means [`nothing`](Selector::nothing).
    ///
    /// # Errors
    /// The operator is none of `In`, `NotIn`, `Exists` and `DoesNotExist`; the first two have no values or the others have
    /// some; a key or value cannot be that of a label.
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
            .map(|(key, value)| Requirement::checked(key.clone(), Demand::Equal(value.clone())));
        let expressions = match_expressions.into_iter().map(|(key, operator, values)| {
            Requirement::checked(key.to_owned(), expressed(operator, values)?)
        });
        let requirements: Result<Vec<Requirement>, ParseSelectorError> = labels.chain(expressions).collect();
        Ok(Selector::of(requirements?))
    }

    /// Adds that the label has this value.
    pub fn equal(
        self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Selector, ParseSelectorError> {
        self.with(key, Demand::Equal(value.into()))
    }

    /// Adds that the label does not have this value; objects without the label are selected.
    pub fn not_equal(
        self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Selector, ParseSelectorError> {
        self.with(key, Demand::NotEqual(value.into()))
    }

    /// Adds that the label has one of these values, of which there has to be at least one.
    pub fn one_of(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Selector, ParseSelectorError> {
        let values = listed(values.into_iter().map(Into::into).collect())?;
        self.with(key, Demand::OneOf(values))
    }

    /// Adds that the label has none of these values, of which there has to be at least one; objects without the label are
    /// selected.
    pub fn none_of(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Selector, ParseSelectorError> {
        let values = listed(values.into_iter().map(Into::into).collect())?;
        self.with(key, Demand::NoneOf(values))
    }

    /// Adds that there is such a label, with whatever value.
    pub fn exists(self, key: impl Into<String>) -> Result<Selector, ParseSelectorError> {
        self.with(key, Demand::Exists)
    }

    /// Adds that there is no such label.
    pub fn absent(self, key: impl Into<String>) -> Result<Selector, ParseSelectorError> {
        self.with(key, Demand::Absent)
    }

    /// Adds that the label's value is an integer above this one.
    ///
    /// # Errors
    /// Beside a key that no label can have, a negative bound: the API server takes only what could be a label's value.
    pub fn greater_than(self, key: impl Into<String>, bound: i64) -> Result<Selector, ParseSelectorError> {
        let key = key.into();
        check_value(&key, 0, &bound.to_string())?;
        self.with(key, Demand::GreaterThan(bound))
    }

    /// Adds that the label's value is an integer below this one.
    ///
    /// # Errors
    /// As [`greater_than`](Selector::greater_than).
    pub fn less_than(self, key: impl Into<String>, bound: i64) -> Result<Selector, ParseSelectorError> {
        let key = key.into();
        check_value(&key, 0, &bound.to_string())?;
        self.with(key, Demand::LessThan(bound))
    }

    /// Selects what both select.
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

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.requirements.iter().all(|r| r.matches(labels))
    }

    /// Whether there is no requirement.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether this is [`Selector::nothing`]. Other contradictions are not looked for.
    pub fn is_nothing(&self) -> bool {
        matches!(
            self.requirements.as_slice(),
            [
                Requirement { key: present, demand: Demand::Exists },
                Requirement { key: absent, demand: Demand::Absent },
            ] if present == NOTHING && absent == NOTHING
        )
    }

    fn of(mut requirements: Vec<Requirement>) -> Selector {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Selector { requirements }
    }

    fn with(mut self, key: impl Into<String>, demand: Demand) -> Result<Selector, ParseSelectorError> {
        let requirement = Requirement::checked(key.into(), demand)?;
        if !self.is_nothing() {
            let at = self.requirements.partition_point(|r| r.key <= requirement.key);
            self.requirements.insert(at, requirement);
        }
        Ok(self)
    }
}

/// What one of `matchExpressions` demands of its label.
fn expressed(operator: &str, values: &[String]) -> Result<Demand, ParseSelectorError> {
    match operator {
        "In" => Ok(Demand::OneOf(listed(values.to_vec())?)),
        "NotIn" => Ok(Demand::NoneOf(listed(values.to_vec())?)),
        "Exists" | "DoesNotExist" if !values.is_empty() => Err(ParseSelectorError::new(format!(
            "values: Invalid value: {}: values set must be empty for exists and does not exist",
            serde_json::Value::from(values)
        ))),
        "Exists" => Ok(Demand::Exists),
        "DoesNotExist" => Ok(Demand::Absent),
        other => Err(ParseSelectorError::new(format!(
            "{other:?} is not a valid label selector operator"
        ))),
    }
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    /// Reads a selector such as `app in (a, b), tier!=db, !legacy, generation>3`.
    ///
    /// A negative bound is read, although the API server refuses it.
    fn from_str(text: &str) -> Result<Selector, ParseSelectorError> {
        parse::requirements(text).map(Selector::of)
    }
}

/// The text that [`from_str`](Selector::from_str) reads as an equal selector.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}
