//! The kinds of objects that are written and watched.

use kube::api::ApiResource;
use serde_json::{Value, json};

/// The namespaces of all objects.
pub(crate) const NAMESPACES: [&str; 2] = ["east", "west"];
/// The selector of some informers. Objects start and stop matching it.
pub(crate) const SELECTED: &str = "tier=a";
/// Number of names in each namespace: few, so that objects are changed, deleted and created again.
pub(crate) const NAMES: usize = 12;
/// Name of the objects that are written at quiet points, one of each kind in each namespace.
pub(crate) const MARKER: &str = "marker";

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    ConfigMaps,
    Secrets,
    Pods,
    Widgets,
}

impl Sort {
    pub(crate) const ALL: [Sort; 4] = [Sort::ConfigMaps, Sort::Secrets, Sort::Pods, Sort::Widgets];

    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Sort::ConfigMaps => ("", "v1", "ConfigMap", "configmaps"),
            Sort::Secrets => ("", "v1", "Secret", "secrets"),
            Sort::Pods => ("", "v1", "Pod", "pods"),
            Sort::Widgets => ("example.com", "v1", "Widget", "widgets"),
        };
        ApiResource {
            group: group.into(),
            version: version.into(),
            api_version: if group.is_empty() {
                version.into()
            } else {
                format!("{group}/{version}")
            },
            kind: kind.into(),
            plural: plural.into(),
        }
    }

    /// Returns an object, with some text if the kind has a field for it.
    pub(crate) fn object(self, name: &str, tier: &str, text: &str) -> Value {
        let resource = self.resource();
        let mut object = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "labels": {"tier": tier}, "annotations": {"text": text}},
        });
        match self {
            Sort::ConfigMaps => object["data"] = json!({"text": text}),
            Sort::Secrets => object["stringData"] = json!({"text": text}),
            Sort::Pods => {
                object["spec"] = json!({"containers": [{"name": "main", "image": "example.com/image"}]});
            }
            Sort::Widgets => object["spec"] = json!({"text": text}),
        }
        object
    }

    /// Returns a merge patch that changes the text, and the tier if given.
    pub(crate) fn change(self, tier: Option<&str>, text: &str) -> Value {
        let mut patch = json!({"metadata": {"annotations": {"text": text}}});
        if let Some(tier) = tier {
            patch["metadata"]["labels"] = json!({"tier": tier});
        }
        match self {
            Sort::ConfigMaps => patch["data"] = json!({"text": text}),
            Sort::Secrets => patch["stringData"] = json!({"text": text}),
            Sort::Widgets => patch["spec"] = json!({"text": text}),
            Sort::Pods => {}
        }
        patch
    }
}

/// Returns the definition of the custom resource.
pub(crate) fn definition() -> Value {
    let ApiResource {
        group,
        version,
        kind,
        plural,
        ..
    } = Sort::Widgets.resource();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": "widget", "kind": kind},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"text": {"type": "string"}}},
                }}},
            }],
        },
    })
}
