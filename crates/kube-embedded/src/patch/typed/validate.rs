//! Validates values against their types, as far as merging depends on it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::field_set::PathElement;
use super::{Atom, ListKind, SchemaNode, Type, item_element};
use crate::golang;

/// Validates a value. The error contains all faults with their paths, in the wording of the API server.
pub(in crate::patch) fn validate(
    node: SchemaNode<'_>,
    value: &Value,
    repeats: Duplicates,
) -> Result<(), String> {
    let mut validate = TypeValidator {
        path: String::new(),
        faults: Vec::new(),
        repeats,
    };
    validate.value(node, value);
    match validate.faults.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// Whether lists may contain duplicate items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum Duplicates {
    Allowed,
    Rejected,
}

struct TypeValidator {
    path: String,
    faults: Vec<String>,
    repeats: Duplicates,
}

impl TypeValidator {
    fn fault(&mut self, what: &str) {
        let fault = match self.path.as_str() {
            "" => what.to_owned(),
            path => format!("{path}: {what}"),
        };
        self.faults.push(fault);
    }

    fn below(&mut self, element: &PathElement, validate: impl FnOnce(&mut TypeValidator)) {
        let len = self.path.len();
        self.path += &element.to_string();
        validate(self);
        self.path.truncate(len);
    }

    fn value(&mut self, node: SchemaNode<'_>, value: &Value) {
        match (node.atom(Some(value)), value) {
            (_, Value::Null) => {}
            (Atom::Scalar(ty), value) => self.scalar(ty, value),
            (Atom::List(item, kind), Value::Array(items)) => self.items(item, kind, items),
            (Atom::List(..), other) => {
                self.fault(&format!("expected list, got &{{{}}}", golang::plain(other)));
            }
            (Atom::Map(map), Value::Object(object)) => {
                for (name, value) in object {
                    let node = map.declared(name);
                    self.below(&PathElement::Field(name.clone()), |validate| match node {
                        Some(node) => validate.value(node, value),
                        None => validate.fault("field not declared in schema"),
                    });
                    if node.is_none() {
                        break;
                    }
                }
            }
            (Atom::Map(_), other) => self.fault(&format!("expected map, got &{{{}}}", golang::plain(other))),
        }
    }

    fn scalar(&mut self, ty: &Type, value: &Value) {
        let shown = golang::plain(value);
        match (ty, value) {
            (Type::Int32 | Type::Int64 | Type::Double, Value::Number(_))
            | (Type::String | Type::Bytes, Value::String(_))
            | (Type::Bool, Value::Bool(_)) => {}
            (Type::Int32 | Type::Int64 | Type::Double, other) => {
                let got = golang::type_name(other);
                self.fault(&format!("expected numeric (int or float), got {got}"));
            }
            (Type::String | Type::Bytes, _) => {
                let shown = golang::syntax(value);
                self.fault(&format!(
                    "expected string, got &value.valueUnstructured{{Value:{shown}}}"
                ));
            }
            (Type::Bool, _) => self.fault(&format!("expected boolean, got &{{{shown}}}")),
            (_, Value::Array(_) | Value::Object(_)) => {
                self.fault(&format!("expected any scalar, got &{{{shown}}}"));
            }
            _ => {}
        }
    }

    fn items(&mut self, node: SchemaNode<'_>, kind: &ListKind, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (index, item) in (0..).zip(items) {
            let element = if *kind == ListKind::Atomic {
                PathElement::Index(index)
            } else {
                match item_element(&node, kind, item) {
                    Ok(element) => element,
                    Err(what) => {
                        self.fault(&format!("element {index}: {what}"));
                        return;
                    }
                }
            };
            if seen.contains(&element) && self.repeats == Duplicates::Rejected {
                self.fault(&format!("duplicate entries for key {element}"));
            }
            self.below(&element, |validate| validate.value(node, item));
            seen.insert(element);
        }
    }
}
