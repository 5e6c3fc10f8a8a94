//! Validates values against their types, as far as merging depends on it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::field_set::PathElement;
use super::{Atom, ListKind, SchemaNode, Type, check_item, item_element};
use crate::golang;

/// Validates a value. The error contains all faults with their paths, in the wording of the API server.
pub(in crate::patch) fn validate(
    node: SchemaNode<'_>,
    value: &Value,
    repeats: Duplicates,
) -> Result<(), String> {
    let mut validate = TypeValidator {
        faults: Vec::new(),
        repeats,
    };
    validate.value(node, value);
    let mut faults = validate.faults.into_iter().map(Fault::into_text);
    match (faults.next(), faults.len()) {
        (None, _) => Ok(()),
        (Some(one), 0) => Err(one),
        (Some(first), _) => {
            let faults: Vec<String> = std::iter::once(first).chain(faults).collect();
            Err(format!("errors:\n  {}", faults.join("\n  ")))
        }
    }
}

/// Whether lists may contain duplicate items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum Duplicates {
    Allowed,
    Rejected,
}

struct TypeValidator {
    faults: Vec<Fault>,
    repeats: Duplicates,
}

struct Fault {
    /// Path from the value that is being validated.
    path: String,
    what: String,
}

impl Fault {
    fn into_text(self) -> String {
        match self.path.as_str() {
            "" => self.what,
            path => format!("{path}: {}", self.what),
        }
    }
}

impl TypeValidator {
    fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(Fault {
            path: String::new(),
            what: what.into(),
        });
    }

    /// Validates a nested value. `element` is called only if there is a fault.
    fn below(
        &mut self,
        element: impl FnOnce() -> Option<PathElement>,
        validate: impl FnOnce(&mut TypeValidator),
    ) {
        let before = self.faults.len();
        validate(self);
        let faults = self.faults.get_mut(before..).unwrap_or_default();
        if let (false, Some(element)) = (faults.is_empty(), element()) {
            let element = element.to_string();
            for fault in faults {
                fault.path.insert_str(0, &element);
            }
        }
    }

    fn value(&mut self, node: SchemaNode<'_>, value: &Value) {
        match (node.atom(Some(value)), value) {
            (_, Value::Null) => {}
            (Atom::Scalar(ty), value) => self.scalar(ty, value),
            (Atom::List(item, kind), Value::Array(items)) => self.items(item, kind, items),
            (Atom::List(..), other) => {
                self.fault(format!("expected list, got &{{{}}}", golang::plain(other)));
            }
            (Atom::Map(map), Value::Object(object)) => {
                for (name, value) in object {
                    let node = map.declared(name);
                    let element = || Some(PathElement::Field(name.clone()));
                    self.below(element, |validate| match node {
                        Some(node) => validate.value(node, value),
                        None => validate.fault("field not declared in schema"),
                    });
                    if node.is_none() {
                        break;
                    }
                }
            }
            (Atom::Map(_), other) => self.fault(format!("expected map, got &{{{}}}", golang::plain(other))),
        }
    }

    fn scalar(&mut self, ty: &Type, value: &Value) {
        match (ty, value) {
            (Type::Int32 | Type::Int64 | Type::Double, Value::Number(_))
            | (Type::String | Type::Bytes, Value::String(_))
            | (Type::Bool, Value::Bool(_)) => {}
            (Type::Int32 | Type::Int64 | Type::Double, other) => {
                let got = golang::type_name(other);
                self.fault(format!("expected numeric (int or float), got {got}"));
            }
            (Type::String | Type::Bytes, _) => {
                let shown = golang::syntax(value);
                self.fault(format!(
                    "expected string, got &value.valueUnstructured{{Value:{shown}}}"
                ));
            }
            (Type::Bool, _) => self.fault(format!("expected boolean, got &{{{}}}", golang::plain(value))),
            (_, Value::Array(_) | Value::Object(_)) => {
                self.fault(format!("expected any scalar, got &{{{}}}", golang::plain(value)));
            }
            _ => {}
        }
    }

    fn items(&mut self, node: SchemaNode<'_>, kind: &ListKind, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (index, item) in (0..).zip(items) {
            if *kind == ListKind::Atomic {
                self.below(
                    || Some(PathElement::Index(index)),
                    |validate| validate.value(node, item),
                );
                continue;
            }
            if let Err(what) = check_item(&node, kind, item) {
                self.fault(format!("element {index}: {what}"));
                return;
            }
            let element = || item_element(&node, kind, item).ok();
            if self.repeats == Duplicates::Rejected
                && let Some(element) = element()
            {
                if seen.contains(&element) {
                    self.fault(format!("duplicate entries for key {element}"));
                }
                seen.insert(element);
            }
            self.below(element, |validate| validate.value(node, item));
        }
    }
}
