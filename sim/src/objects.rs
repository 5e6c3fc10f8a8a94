//! The objects that a run writes and watches.

use std::fmt::Write;

use contract_checker::ObjectState;
use kube_informer::{Key, Kind, Object};
use serde_json::{Value, json};

/// Namespaces of the objects.
pub(crate) const NAMESPACES: [&str; 3] = ["east", "north", "west"];
/// Names of the objects that most steps write.
const NAMES: [&str; 4] = ["ash", "birch", "cedar", "elm"];
/// How many objects most steps write.
pub(crate) const FEW: usize = NAMESPACES.len() * NAMES.len();

/// The annotation that holds the number of the write.
pub(crate) const VALUE: &str = "sim/value";
/// The annotation that transforms remove.
pub(crate) const NOISE: &str = "sim/noise";
/// The label that some informers and handlers select by.
pub(crate) const CHOSEN: &str = "chosen";
/// The label of objects for which failing transforms fail.
pub(crate) const POISON: &str = "poison";
/// The label that transforms add.
pub(crate) const TRANSFORMED: &str = "transformed";

/// The group of the custom resource.
pub(crate) const GROUP: &str = "example.com";

/// Returns namespace and name of an object by its number.
pub(crate) fn key_of(number: usize) -> Key {
    if number < FEW {
        Key::namespaced(NAMESPACES[number / NAMES.len()], NAMES[number % NAMES.len()])
    } else {
        Key::namespaced(NAMESPACES[number % NAMESPACES.len()], &format!("n{number}"))
    }
}

/// An object to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewObject<'a> {
    pub(crate) key: &'a Key,
    /// The number of the write.
    pub(crate) value: u64,
    pub(crate) is_chosen: bool,
    pub(crate) is_poisoned: bool,
    pub(crate) padding: usize,
    pub(crate) is_custom: bool,
}

impl NewObject<'_> {
    pub(crate) fn manifest(self) -> Value {
        let mut labels = json!({ "written": "by-the-simulator" });
        if self.is_chosen {
            labels[CHOSEN] = "yes".into();
        }
        if self.is_poisoned {
            labels[POISON] = "yes".into();
        }
        let value = self.value.to_string();
        let mut object = json!({
            "metadata": {
                "name": self.key.name(),
                "namespace": self.key.namespace(),
                "labels": labels,
                "annotations": { VALUE: value, NOISE: "x" },
            },
        });
        // Compressible text, like that of real objects.
        let mut padding = String::with_capacity(self.padding);
        for line in 0..self.padding.div_ceil(16) as u64 {
            let number = self.value.wrapping_mul(31).wrapping_add(line) % 1_000;
            let _written = writeln!(padding, "line {number:>10}");
        }
        let data = json!({ "value": value, "padding": padding });
        if self.is_custom {
            object["apiVersion"] = format!("{GROUP}/v1").into();
            object["kind"] = "Widget".into();
            object["data"] = data;
        } else {
            object["apiVersion"] = "v1".into();
            object["kind"] = "ConfigMap".into();
            object["data"] = data;
        }
        object
    }

    /// Returns the content of its state.
    pub(crate) fn content(self) -> u64 {
        content(self.value, self.is_chosen)
    }
}

fn content(value: u64, is_chosen: bool) -> u64 {
    2 * value + u64::from(is_chosen)
}

/// Returns whether an object in this state has the label.
pub(crate) fn is_chosen(state: &ObjectState) -> bool {
    state.content % 2 == 1
}

/// Returns the number of the write of a state.
pub(crate) fn value_of(state: &ObjectState) -> u64 {
    state.content / 2
}

/// Returns the state of an object in a cache.
pub(crate) fn state_of<K: Kind>(object: &Object<K>) -> ObjectState {
    let value = object.annotation(VALUE).and_then(|value| value.parse().ok());
    ObjectState {
        content: content(value.unwrap_or_default(), object.label(CHOSEN).is_some()),
        ..ObjectState::of(object)
    }
}

/// Returns the definition of the custom resource.
pub(crate) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } },
            }],
        },
    })
}
