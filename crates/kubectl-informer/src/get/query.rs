//! Queries: select objects of a cache.

use std::collections::HashSet;
use std::str::FromStr;

use kube_informer::{Key, Object, Selector, SharedInformer};
use kube_informer_dashboard::fields::{FieldPath, ParseFieldPathError};
use serde_json::Value;

use crate::cache::{AllFields, JsonObject, selector};
use crate::failure::{Failure, Outcome};
use crate::print::Output;

/// The definition of an index: `node=.spec.nodeName`.
#[derive(Debug, Clone)]
pub(super) struct IndexDefinition {
    name: String,
    path: FieldPath,
}

impl IndexDefinition {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn add_to(&self, informer: &SharedInformer<JsonObject<AllFields>>) -> Outcome {
        let path = self.path.clone();
        informer.index(&self.name, move |object: &JsonObject<AllFields>| {
            let found = path.find(object.value());
            found.into_iter().filter_map(text).collect::<Vec<_>>()
        })?;
        Ok(())
    }
}

/// Returns the indexed text of a value. Lists, maps and null have none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl FromStr for IndexDefinition {
    type Err = String;

    fn from_str(text: &str) -> Result<IndexDefinition, String> {
        let (name, path) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| {
                format!("invalid index {text:?}: expected NAME=PATH, for example node=.spec.nodeName")
            })?;
        Ok(IndexDefinition {
            name: name.to_owned(),
            path: path
                .parse()
                .map_err(|error: ParseFieldPathError| error.to_string())?,
        })
    }
}

/// A value to look up in an index: `node=north`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexLookup {
    pub(super) index: String,
    pub(super) value: String,
}

impl FromStr for IndexLookup {
    type Err = String;

    fn from_str(text: &str) -> Result<IndexLookup, String> {
        let (index, value) = text
            .split_once('=')
            .filter(|(index, _)| !index.is_empty())
            .ok_or_else(|| format!("invalid query {text:?}: expected INDEX=VALUE, for example node=north"))?;
        Ok(IndexLookup {
            index: index.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// The conditions that objects must meet; the default selects all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Query {
    pub(super) by: Vec<IndexLookup>,
    pub(super) labels: Option<Selector>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    /// The output format, if it differs from the default.
    pub(super) output: Option<Output>,
}

impl Query {
    /// Parses a line of the prompt: `node=north`, `app=web -l tier=front`, `web-1`, `-n shop -o wide`.
    pub(super) fn parse(line: &str) -> Result<Query, String> {
        let mut query = Query::default();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let mut argument = |of: &str| words.next().ok_or_else(|| format!("missing value after {of}"));
            match word {
                "-l" | "--selector" => query.labels = Some(selector(argument(word)?)?),
                "-n" | "--namespace" => query.namespace = Some(argument(word)?.to_owned()),
                "-o" | "--output" => {
                    let text = argument(word)?;
                    let output = <Output as clap::ValueEnum>::from_str(text, true);
                    query.output = Some(output.map_err(|_| {
                        format!(
                            "unknown output format {text:?}: expected one of table, wide, json, yaml, name"
                        )
                    })?);
                }
                "--by" => query.by.push(argument(word)?.parse()?),
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown flag {flag}: expected one of -l, -n, -o"));
                }
                word if word.contains('=') => query.by.push(word.parse()?),
                name => {
                    if query.name.is_some() {
                        return Err(format!("unexpected {name:?}: a query accepts only one name"));
                    }
                    match name.split_once('/') {
                        Some((namespace, name)) => {
                            query.namespace = Some(namespace.to_owned());
                            query.name = Some(name.to_owned());
                        }
                        None => query.name = Some(name.to_owned()),
                    }
                }
            }
        }
        Ok(query)
    }

    /// Returns the selected objects of one snapshot, sorted by namespace and name.
    pub(super) fn run(
        &self,
        informer: &SharedInformer<JsonObject<AllFields>>,
    ) -> Outcome<Vec<Object<JsonObject<AllFields>>>> {
        let snapshot = informer.snapshot();
        let mut found = match self.by.split_first() {
            None => snapshot.iter().collect(),
            Some((first, others)) => {
                let find = |by: &IndexLookup| match informer.find_index::<String>(&by.index) {
                    Ok(index) => Ok(snapshot.by(&index, by.value.as_str())),
                    Err(_) => Err(unknown_index(&by.index, informer)),
                };
                let mut found = find(first)?;
                for by in others {
                    let keys: HashSet<Key> = find(by)?.iter().map(|object| object.key().clone()).collect();
                    found.retain(|object| keys.contains(object.key()));
                }
                found
            }
        };
        found.retain(|object| {
            let (namespace, name) = object.key().parts();
            let matches =
                |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
            matches(&self.name, name)
                && matches(&self.namespace, namespace.unwrap_or_default())
                && self.labels.as_ref().is_none_or(|labels| object.matches(labels))
        });
        found.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        Ok(found)
    }
}

/// Returns the failure for an unknown index, with the known ones.
pub(super) fn unknown_index(name: &str, informer: &SharedInformer<JsonObject<AllFields>>) -> Failure {
    let snapshot = informer.snapshot();
    let known: Vec<_> = snapshot.index_names().collect();
    let known = match known.as_slice() {
        [] => "no indexes exist".to_owned(),
        known => format!("expected one of {}", known.join(", ")),
    };
    Failure::new(format!(
        "unknown index {name:?}: {known}; add it, for example: index {name}=.spec.nodeName"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{IndexDefinition, IndexLookup, Output, Query, text};

    #[test]
    fn parses_queries() {
        let by = |text: &str| text.parse::<IndexLookup>().expect("an index lookup");
        assert_eq!(Query::parse(""), Ok(Query::default()));
        let query = Query::parse("node=north app=web -l tier=front -n shop -o wide").expect("a query");
        assert_eq!(query.by, [by("node=north"), by("app=web")]);
        assert_eq!(query.labels.expect("labels").to_string(), "tier=front");
        assert_eq!(query.namespace.as_deref(), Some("shop"));
        assert_eq!(query.output, Some(Output::Wide));
        let named = Query::parse("shop/web-1").expect("a query");
        assert_eq!(
            (named.namespace.as_deref(), named.name.as_deref()),
            (Some("shop"), Some("web-1"))
        );
    }

    #[test]
    fn a_value_may_contain_separators() {
        let query = Query::parse("image=registry/web:1=2").expect("a query");
        assert_eq!(query.by[0].value, "registry/web:1=2");
        assert_eq!(query.name, None);
    }

    #[test]
    fn only_scalars_are_indexed() {
        let values = json!(["north", 7, true, null, ["a"], { "a": 1 }]);
        let texts: Vec<_> = values.as_array().into_iter().flatten().map(text).collect();
        let plain = ["north", "7", "true"].map(|text| Some(text.to_owned()));
        assert_eq!(texts, [&plain[..], &[None, None, None]].concat());
    }

    #[test]
    fn reports_invalid_indexes() {
        for (index, words) in [
            ("node", "expected NAME=PATH"),
            ("=.spec.nodeName", "expected NAME=PATH"),
            ("node=.spec..nodeName", "invalid field path \".spec..nodeName\""),
        ] {
            let error = index.parse::<IndexDefinition>().expect_err("no index");
            assert!(error.contains(words), "{index}: {error}");
        }
    }

    #[test]
    fn reports_invalid_queries() {
        for (line, words) in [
            ("-l", "missing value"),
            ("-l a=b=c", "expected for example app=web"),
            ("-o picture", "unknown output format"),
            ("-x", "unknown flag -x"),
            ("a b", "accepts only one name"),
            ("=north", "expected INDEX=VALUE"),
        ] {
            let error = Query::parse(line).expect_err("no query");
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
