//! Filters of the object list: by name, namespace, labels, fields and index.

use kube_informer::{Key, Selector};
use serde_json::Value;

use crate::fields::{FieldPath, printed};

/// Maximum number of objects on a page.
const MAX_LIMIT: usize = 500;

/// Default number of objects on a page.
const DEFAULT_LIMIT: usize = 50;

/// Conditions that an object must meet, all of them, and the requested page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// A part of the name.
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: Option<Selector>,
    pub(super) fields: Vec<FieldTest>,
    /// An index and a value of it.
    pub(super) index: Option<(String, String)>,
    pub(super) offset: usize,
    pub(super) limit: usize,
}

/// A condition on a field.
#[derive(Debug, Clone)]
pub(crate) struct FieldTest {
    path: FieldPath,
    condition: Condition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Equals(String),
    NotEquals(String),
    Exists,
}

impl Filter {
    /// Parses the query parameters of a request. The error is a message for the user.
    pub(super) fn parse<'a>(
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Filter, String> {
        let mut filter = Filter {
            limit: DEFAULT_LIMIT,
            ..Filter::default()
        };
        let number = |name: &str, text: &str| {
            let number = text.parse::<usize>();
            number.map_err(|_| format!("invalid {name} {text:?}: expected a whole number"))
        };
        for (name, value) in parameters {
            let value = value.trim();
            match name {
                "offset" => filter.offset = number(name, value)?,
                "limit" => filter.limit = number(name, value)?.clamp(1, MAX_LIMIT),
                _ if value.is_empty() => {}
                "name" => value.clone_into(&mut filter.name),
                "namespace" => value.clone_into(&mut filter.namespace),
                "labels" => {
                    filter.labels = Some(value.parse::<Selector>().map_err(|error| error.to_string())?);
                }
                "field" => filter.fields.push(FieldTest::parse(value)?),
                "index" => {
                    let (index, wanted) = value
                        .split_once('=')
                        .ok_or_else(|| format!("invalid index {value:?}: expected name=value"))?;
                    filter.index = Some((index.trim().to_owned(), wanted.trim().to_owned()));
                }
                _ => {}
            }
        }
        Ok(filter)
    }

    /// Returns whether the key matches.
    pub(super) fn matches_key(&self, key: &Key) -> bool {
        let (namespace, name) = key.parts();
        (self.namespace.is_empty() || namespace == Some(self.namespace.as_str())) && name.contains(&self.name)
    }

    /// Returns whether the fields of a redacted object match.
    pub(super) fn matches_fields(&self, redacted: &Value) -> bool {
        self.fields.iter().all(|test| test.matches(redacted))
    }
}

impl FieldTest {
    fn parse(text: &str) -> Result<FieldTest, String> {
        let (path, rest) = FieldPath::leading(text).map_err(|error| error.to_string())?;
        let rest = rest.trim_start();
        let condition = if let Some(value) = rest.strip_prefix("!=") {
            Condition::NotEquals(value.trim().to_owned())
        } else if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            Condition::Equals(value.trim().to_owned())
        } else if rest.is_empty() {
            Condition::Exists
        } else {
            return Err(format!(
                "unexpected {rest:?} in {text:?}: expected \"=\" or \"!=\" with a value"
            ));
        };
        Ok(FieldTest { path, condition })
    }

    fn matches(&self, value: &Value) -> bool {
        let found = self.path.find(value);
        match &self.condition {
            Condition::Equals(wanted) => found.into_iter().any(|value| printed(value) == wanted.as_str()),
            Condition::NotEquals(wanted) => found.into_iter().all(|value| printed(value) != wanted.as_str()),
            Condition::Exists => !found.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Filter;

    #[test]
    fn fields_can_be_compared_or_exist() {
        let pod =
            json!({ "spec": { "nodeName": "north", "replicas": 3 }, "list": [{ "a": "x" }, { "a": "y" }] });
        for (field, fits) in [
            (".spec.nodeName=north", true),
            (".spec.nodeName == north", true),
            ("spec.nodeName=north", true),
            ("{.spec.nodeName} = north", true),
            (".spec.nodeName=south", false),
            (".spec.nodeName!=south", true),
            (".spec.replicas=3", true),
            (".spec.replicas", true),
            (".spec.none", false),
            (".spec.none!=x", true),
            (".list[*].a=y", true),
            (".list[*].a!=y", false),
        ] {
            let filter = Filter::parse([("field", field)]).unwrap();
            assert_eq!(filter.matches_fields(&pod), fits, "{field}");
        }
    }

    #[test]
    fn all_conditions_must_match() {
        let filter = Filter::parse([("name", "art"), ("namespace", "shop")]).unwrap();
        assert!(filter.matches_key(&"shop/cart".parse().unwrap()));
        assert!(!filter.matches_key(&"shop/till".parse().unwrap()));
        assert!(!filter.matches_key(&"data/cart".parse().unwrap()));
    }

    #[test]
    fn invalid_filters_are_reported() {
        for (name, value) in [
            ("limit", "many"),
            ("labels", "a=b=c"),
            ("field", "=1"),
            ("field", ".spec.x>1"),
            ("index", "node"),
        ] {
            let error = Filter::parse([(name, value)]).unwrap_err();
            assert!(!error.is_empty());
        }
        assert_eq!(Filter::parse([("limit", "100000")]).unwrap().limit, 500);
    }
}
