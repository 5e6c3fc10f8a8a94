//! The managed fields of the `scale` subresource: the owner of the parent's replicas owns the scale's, and the parent
//! records writes to the scale.

use serde_json::Value;

use super::field_set::{FieldSet, PathElement};
use super::managers::{Managers, Owned};

const SCALE_VERSION: &str = "autoscaling/v1";

fn path(names: &[&str]) -> Vec<PathElement> {
    names
        .iter()
        .map(|n| PathElement::Field((*n).to_owned()))
        .collect()
}

/// Sets the `managedFields` of a scale to those of its parent. `replicas` is the path of the parent's replicas.
pub(crate) fn show_entries(parent: &Value, replicas: &[&str], scale: &mut Value) {
    let parent = Managers::of(parent).unwrap_or_default();
    let replicas = path(replicas);
    let shown = parent
        .0
        .into_iter()
        .filter(|(_, owned)| owned.fields.has(&replicas));
    let shown = shown.map(|(id, owned)| {
        let owned = Owned {
            fields: FieldSet::of_names(&[&["spec", "replicas"]]),
            api_version: SCALE_VERSION.to_owned(),
            time: owned.time,
        };
        (id, owned)
    });
    Managers(shown.collect()).write_to(scale);
}

/// Updates the `managedFields` of a parent with those of a scale that was written.
pub(crate) fn adopt_entries(scale: &Value, parent_version: &str, replicas: &[&str], parent: &mut Value) {
    let before = Managers::of(parent).unwrap_or_default();
    let mut scale = Managers::of(scale).unwrap_or_default();
    let at = path(replicas);
    let field = FieldSet::of_names(&[replicas]);
    let mut after = Managers::default();
    for (id, mut owned) in before.0.clone() {
        if owned.fields.has(&at) && scale.0.remove(&id).is_none() {
            owned.fields = owned.fields.difference(&field);
        }
        if !owned.fields.is_empty() {
            after.0.insert(id, owned);
        }
    }
    let in_scale = path(&["spec", "replicas"]);
    for (id, owned) in scale.0 {
        if owned.fields.has(&in_scale) {
            let time = before.0.get(&id).and_then(|owned| owned.time.clone());
            let owned = Owned {
                fields: field.clone(),
                api_version: parent_version.to_owned(),
                time,
            };
            after.0.insert(id, owned);
        }
    }
    after.write_to(parent);
}
