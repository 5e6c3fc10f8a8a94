//! What of a cache is to be seen: by name, namespace, labels, fields and index.

use kube_wire::selector::Selector;
use serde_json::Value;

use crate::fields::{FieldPath, printed};
use crate::object::Key;

/// How many objects a page may have.
const MOST: usize = 500;
const USUAL: usize = 50;

/// What is asked of a cache. Everything that is given has to fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Part of the name.
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: Option<Selector>,
    pub(super) fields: Vec<FieldTest>,
    /// The name of an index and a value.
    pub(super) index: Option<(String, String)>,
    pub(super) offset: usize,
    pub(super) limit: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldTest {
    path: FieldPath,
    want: Want,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Want {
    Is(String),
    IsNot(String),
    Exists,
}

impl Filter {
    /// The filter that a request's parameters say. The error is for the one who typed it.
    pub(super) fn parse<'a>(
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Filter, String> {
        let mut filter = Filter {
            limit: USUAL,
            ..Filter::default()
        };
        let number = |name: &str, text: &str| {
            let number = text.parse::<usize>();
            number.map_err(|_| format!("{name} is to be a whole number, not {text:?}"))
        };
        for (name, value) in parameters {
            let value = value.trim();
            match name {
                "offset" => filter.offset = number(name, value)?,
                "limit" => filter.limit = number(name, value)?.clamp(1, MOST),
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
                        .ok_or_else(|| format!("an index is asked as name=value, not as {value:?}"))?;
                    filter.index = Some((index.trim().to_owned(), wanted.trim().to_owned()));
                }
                _ => {}
            }
        }
        Ok(filter)
    }

    /// Whether a key fits.
    pub(super) fn fits_key(&self, key: &Key) -> bool {
        let (namespace, name) = key.parts();
        (self.namespace.is_empty() || namespace == Some(self.namespace.as_str())) && name.contains(&self.name)
    }

    /// Whether an object's fields fit. It is to be asked of what may be shown.
    pub(super) fn fits_fields(&self, shown: &Value) -> bool {
        self.fields.iter().all(|test| test.fits(shown))
    }
}

impl FieldTest {
    fn parse(text: &str) -> Result<FieldTest, String> {
        let (path, rest) = FieldPath::leading(text).map_err(|error| error.to_string())?;
        let rest = rest.trim_start();
        let want = if let Some(value) = rest.strip_prefix("!=") {
            Want::IsNot(value.trim().to_owned())
        } else if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            Want::Is(value.trim().to_owned())
        } else if rest.is_empty() {
            Want::Exists
        } else {
            return Err(format!(
                "{rest:?} in {text:?} is none of \"=\" and \"!=\" with a value"
            ));
        };
        Ok(FieldTest { path, want })
    }

    fn fits(&self, value: &Value) -> bool {
        let found = self.path.find(value);
        match &self.want {
            Want::Is(wanted) => found.into_iter().any(|value| printed(value) == wanted.as_str()),
            Want::IsNot(wanted) => found.into_iter().all(|value| printed(value) != wanted.as_str()),
            Want::Exists => !found.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Filter;

    #[test]
    fn fields_are_equal_unequal_or_there() {
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
            assert_eq!(filter.fits_fields(&pod), fits, "{field}");
        }
    }

    #[test]
    fn all_of_it_has_to_fit() {
        let filter = Filter::parse([("name", "art"), ("namespace", "shop")]).unwrap();
        assert!(filter.fits_key(&"shop/cart".parse().unwrap()));
        assert!(!filter.fits_key(&"shop/till".parse().unwrap()));
        assert!(!filter.fits_key(&"data/cart".parse().unwrap()));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_a_reason() {
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
