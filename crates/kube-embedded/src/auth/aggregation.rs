//! ClusterRoles that aggregate the rules of others.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Policy;
use crate::store::Stored;

/// Returns the aggregating ClusterRoles whose rules are outdated, with the correct rules.
pub(crate) fn aggregated_rules(policy: &Policy) -> Vec<(Arc<Stored>, Value)> {
    let outdated = policy.aggregating().iter().filter_map(|role| {
        let mut rules = Vec::new();
        for other in policy.cluster_roles() {
            let is_selected = role.selectors.iter().any(|s| s.matches(&*other.stored.labels));
            if !is_selected || other.stored.key == role.stored.key {
                continue;
            }
            for rule in &other.rules {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        let is_current = rules.iter().copied().eq(&role.rules);
        (!is_current).then(|| (role.stored.clone(), json!(rules)))
    });
    outdated.collect()
}
