//! The ClusterRoles and ClusterRoleBindings that every cluster has.

use serde::Deserialize;
use serde_json::{Value, json};

use super::RBAC_GROUP;
use super::rule::PolicyRule;

/// A ClusterRole, and the groups to which a binding of the same name grants it.
#[derive(Deserialize)]
struct Bootstrap {
    name: String,
    #[serde(default)]
    labels: serde_json::Map<String, Value>,
    /// Label of the ClusterRoles that it aggregates.
    aggregates: Option<String>,
    rules: Option<Vec<PolicyRule>>,
    #[serde(default)]
    groups: Vec<String>,
}

/// Returns the ClusterRoles and ClusterRoleBindings that kube-apiserver creates in every cluster.
pub(crate) fn bootstrap_objects() -> Vec<Value> {
    // A test decodes this file, so this cannot fail.
    let all: Vec<Bootstrap> = serde_json::from_str(include_str!("bootstrap.json")).unwrap_or_default();
    all.into_iter().flat_map(Bootstrap::into_objects).collect()
}

impl Bootstrap {
    fn into_objects(self) -> Vec<Value> {
        let metadata = |mut labels: serde_json::Map<String, Value>| {
            labels.insert("kubernetes.io/bootstrapping".into(), "rbac-defaults".into());
            json!({
                "name": self.name,
                "labels": labels,
                "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
            })
        };
        let api_version = format!("{RBAC_GROUP}/v1");
        let mut role = json!({
            "apiVersion": api_version,
            "kind": "ClusterRole",
            "metadata": metadata(self.labels.clone()),
            "rules": self.rules,
        });
        if let Some(label) = &self.aggregates {
            role["aggregationRule"] =
                json!({ "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] });
        }
        if self.groups.is_empty() {
            return vec![role];
        }
        let subject = |group: &String| json!({ "apiGroup": RBAC_GROUP, "kind": "Group", "name": group });
        let binding = json!({
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": metadata(serde_json::Map::new()),
            "roleRef": { "apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": self.name },
            "subjects": self.groups.iter().map(subject).collect::<Vec<_>>(),
        });
        vec![role, binding]
    }
}
