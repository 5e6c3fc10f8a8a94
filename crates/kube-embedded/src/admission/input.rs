//! Requests as values of expressions.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::matching::ResourceMatch;
use super::request::Request;
use crate::api::Resource;
use crate::cel::Value;

/// The values of a request for policies that matched one version of its resource.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) object: Value,
    pub(super) old: Value,
    pub(super) request: Value,
}

/// The values of a request, made when a policy needs them.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    inputs: Vec<(Arc<Resource>, Input)>,
}

impl Inputs {
    pub(super) fn of(&mut self, request: &Request<'_>, ResourceMatch(resource): &ResourceMatch) -> &Input {
        let known = self.inputs.iter().position(|(of, _)| Arc::ptr_eq(of, resource));
        let at = known.unwrap_or_else(|| {
            let input = Input::new(request, resource);
            self.inputs.push((resource.clone(), input));
            self.inputs.len() - 1
        });
        &self.inputs[at].1
    }
}

impl Input {
    fn new(request: &Request<'_>, resource: &Arc<Resource>) -> Input {
        let value = |object: Option<&Json>| match object {
            Some(object) => Value::from(&request.converted(object, resource)),
            None => Value::Null,
        };
        Input {
            object: value(request.object),
            old: value(request.old),
            request: Value::from(&request.json_for(resource)),
        }
    }
}

/// Returns the value of `namespaceObject`: a namespace without the metadata that the server keeps from policies.
pub(super) fn namespace_object(namespace: &Json) -> Value {
    const SHOWN: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    let metadata = namespace["metadata"].as_object().into_iter().flatten();
    let metadata: Map<String, Json> = metadata
        .filter(|(name, _)| SHOWN.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut shown = Map::new();
    shown.insert("metadata".into(), Json::Object(metadata));
    for part in ["spec", "status"] {
        shown.insert(part.into(), namespace[part].clone());
    }
    Value::from(&Json::Object(shown))
}
