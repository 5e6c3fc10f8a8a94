//! Whether a value is of its type, as far as merging needs to know.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::field_set::PathElement;
use super::{Atom, ListKind, Site, Type, item_element};
use crate::golang;

/// Checks a value. The error tells every fault with its path, in the words of the API server.
pub(in crate::patch) fn validate(site: Site<'_>, value: &Value, repeats: Repeats) -> Result<(), String> {
    let mut walk = Walk {
        path: String::new(),
        faults: Vec::new(),
        repeats,
    };
    walk.value(site, value);
    match walk.faults.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// Whether lists may hold an item twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum Repeats {
    Allowed,
    Refused,
}

struct Walk {
    path: String,
    faults: Vec<String>,
    repeats: Repeats,
}

impl Walk {
    fn fault(&mut self, what: &str) {
        let fault = match self.path.as_str() {
            "" => what.to_owned(),
            path => format!("{path}: {what}"),
        };
        self.faults.push(fault);
    }

    fn below(&mut self, element: &PathElement, walk: impl FnOnce(&mut Walk)) {
        let len = self.path.len();
        self.path += &element.to_string();
        walk(self);
        self.path.truncate(len);
    }

    fn value(&mut self, site: Site<'_>, value: &Value) {
        match (site.atom(Some(value)), value) {
            (_, Value::Null) => {}
            (Atom::Scalar(ty), value) => self.scalar(ty, value),
            (Atom::List(item, kind), Value::Array(items)) => self.items(item, kind, items),
            (Atom::List(..), other) => {
                self.fault(&format!("expected list, got &{{{}}}", golang::plain(other)));
            }
            (Atom::Map(map), Value::Object(object)) => {
                for (name, value) in object {
                    let site = map.declared(name);
                    self.below(&PathElement::Field(name.clone()), |walk| match site {
                        Some(site) => walk.value(site, value),
                        None => walk.fault("field not declared in schema"),
                    });
                    if site.is_none() {
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

    fn items(&mut self, site: Site<'_>, kind: &ListKind, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (index, item) in (0..).zip(items) {
            let element = if *kind == ListKind::Atomic {
                PathElement::Index(index)
            } else {
                match item_element(&site, kind, item) {
                    Ok(element) => element,
                    Err(what) => {
                        self.fault(&format!("element {index}: {what}"));
                        return;
                    }
                }
            };
            if seen.contains(&element) && self.repeats == Repeats::Refused {
                self.fault(&format!("duplicate entries for key {element}"));
            }
            self.below(&element, |walk| walk.value(site, item));
            seen.insert(element);
        }
    }
}
