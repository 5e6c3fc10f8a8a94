//! Queries: which objects of the cache are meant.

use std::collections::HashSet;
use std::str::FromStr;

use kube_informer::{Key, Object, Selector, SharedInformer};
use kube_informer_dashboard::fields::{FieldPath, ParseFieldPathError};
use serde_json::Value;

use crate::cache::{AllFields, JsonObject, selector};
use crate::failure::{Failure, Outcome};
use crate::print::Output;

/// An index as it is written: `node=.spec.nodeName`.
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

/// A value as it is asked for. Lists and maps have no text.
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
            .ok_or_else(|| format!("{text:?} is no index: write it as node=.spec.nodeName"))?;
        Ok(IndexDefinition {
            name: name.to_owned(),
            path: path
                .parse()
                .map_err(|error: ParseFieldPathError| error.to_string())?,
        })
    }
}

/// An index and a value in it: `node=north`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct By {
    pub(super) index: String,
    pub(super) value: String,
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<By, String> {
        let (index, value) = text
            .split_once('=')
            .filter(|(index, _)| !index.is_empty())
            .ok_or_else(|| format!("{text:?} is no query of an index: write it as node=north"))?;
        Ok(By {
            index: index.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// What objects must be to be meant; nothing chosen means all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Query {
    pub(super) by: Vec<By>,
    pub(super) labels: Option<Selector>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    /// How to print what is found, if it is not as always.
    pub(super) output: Option<Output>,
}

impl Query {
    /// Reads what was typed at the prompt: `node=north`, `app=web -l tier=front`, `web-1`, `-n shop -o wide`.
    pub(super) fn parse(line: &str) -> Result<Query, String> {
        let mut query = Query::default();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let mut argument = |of: &str| words.next().ok_or_else(|| format!("{of} needs a word after it"));
            match word {
                "-l" | "--selector" => query.labels = Some(selector(argument(word)?)?),
                "-n" | "--namespace" => query.namespace = Some(argument(word)?.to_owned()),
                "-o" | "--output" => {
                    let text = argument(word)?;
                    let output = <Output as clap::ValueEnum>::from_str(text, true);
                    query.output = Some(output.map_err(|_| {
                        format!("{text:?} is no output: there are table, wide, json, yaml and name")
                    })?);
                }
                "--by" => query.by.push(argument(word)?.parse()?),
                flag if flag.starts_with('-') => {
                    return Err(format!("{flag} is not known here: there are -l, -n and -o"));
                }
                word if word.contains('=') => query.by.push(word.parse()?),
                name => {
                    if query.name.is_some() {
                        return Err(format!(
                            "{name:?} is one name too many; ask for one object at a time"
                        ));
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

    /// The objects that are meant, by namespace and name, all of one moment.
    pub(super) fn run(
        &self,
        informer: &SharedInformer<JsonObject<AllFields>>,
    ) -> Outcome<Vec<Object<JsonObject<AllFields>>>> {
        let snapshot = informer.snapshot();
        let mut found = match self.by.split_first() {
            None => snapshot.iter().collect(),
            Some((first, others)) => {
                let find = |by: &By| match informer.find_index::<String>(&by.index) {
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
            let fits =
                |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
            fits(&self.name, name)
                && fits(&self.namespace, namespace.unwrap_or_default())
                && self.labels.as_ref().is_none_or(|labels| object.matches(labels))
        });
        found.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        Ok(found)
    }
}

/// What to do about an index that is not there.
pub(super) fn unknown_index(name: &str, informer: &SharedInformer<JsonObject<AllFields>>) -> Failure {
    let snapshot = informer.snapshot();
    let known: Vec<_> = snapshot.index_names().collect();
    let known = match known.as_slice() {
        [] => "there is none".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    Failure::new(format!(
        "there is no index {name:?}; {known}; add one as in: index {name}=.spec.nodeName"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{By, IndexDefinition, Output, Query, text};

    #[test]
    fn a_line_is_a_query() {
        let by = |text: &str| text.parse::<By>().expect("a query of an index");
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
    fn a_value_may_hold_what_divides() {
        let query = Query::parse("image=registry/web:1=2").expect("a query");
        assert_eq!(query.by[0].value, "registry/web:1=2");
        assert_eq!(query.name, None);
    }

    #[test]
    fn only_plain_values_are_indexed() {
        let values = json!(["north", 7, true, null, ["a"], { "a": 1 }]);
        let texts: Vec<_> = values.as_array().into_iter().flatten().map(text).collect();
        let plain = ["north", "7", "true"].map(|text| Some(text.to_owned()));
        assert_eq!(texts, [&plain[..], &[None, None, None]].concat());
    }

    #[test]
    fn a_bad_index_is_told_in_words() {
        for (index, words) in [
            ("node", "write it as node=.spec.nodeName"),
            ("=.spec.nodeName", "write it as node=.spec.nodeName"),
            ("node=.spec..nodeName", "\".spec..nodeName\" is no field path"),
        ] {
            let told = index.parse::<IndexDefinition>().expect_err("no index");
            assert!(told.contains(words), "{index}: {told}");
        }
    }

    #[test]
    fn a_bad_line_is_told_in_words() {
        for (line, words) in [
            ("-l", "needs a word"),
            ("-l a=b=c", "write it as"),
            ("-o picture", "no output"),
            ("-x", "not known here"),
            ("a b", "one name too many"),
            ("=north", "write it as node=north"),
        ] {
            let told = Query::parse(line).expect_err("no query");
            assert!(told.contains(words), "{line}: {told}");
        }
    }
}
