//! Whether a value is of its type, as far as merging needs to know.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::field_set::PathElement;
use super::{Atom, ListKind, Site, Type, check_item, item_element};
use crate::golang;

/// Checks a value. The error tells every fault with its path, in the words of the API server.
pub(in crate::patch) fn validate(site: Site<'_>, value: &Value, repeats: Repeats) -> Result<(), String> {
    let mut walk = Walk {
        faults: Vec::new(),
        repeats,
    };
    walk.value(site, value);
    let mut faults = walk.faults.into_iter().map(Fault::into_text);
    match (faults.next(), faults.len()) {
        (None, _) => Ok(()),
        (Some(one), 0) => Err(one),
        (Some(first), _) => {
            let faults: Vec<String> = std::iter::once(first).chain(faults).collect();
            Err(format!("errors:\n  {}", faults.join("\n  ")))
        }
    }
}

/// Whether lists may hold an item twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum Repeats {
    Allowed,
    Refused,
}

struct Walk {
    faults: Vec<Fault>,
    repeats: Repeats,
}

struct Fault {
    /// The path from the value that is looked at.
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

impl Walk {
    fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(Fault {
            path: String::new(),
            what: what.into(),
        });
    }

    /// Walks over what lies below an element, which is asked for only if there is a fault.
    fn below(&mut self, element: impl FnOnce() -> Option<PathElement>, walk: impl FnOnce(&mut Walk)) {
        let before = self.faults.len();
        walk(self);
        let faults = self.faults.get_mut(before..).unwrap_or_default();
        if let (false, Some(element)) = (faults.is_empty(), element()) {
            let element = element.to_string();
            for fault in faults {
                fault.path.insert_str(0, &element);
            }
        }
    }

    fn value(&mut self, site: Site<'_>, value: &Value) {
        match (site.atom(Some(value)), value) {
            (_, Value::Null) => {}
            (Atom::Scalar(ty), value) => self.scalar(ty, value),
            (Atom::List(item, kind), Value::Array(items)) => self.items(item, kind, items),
            (Atom::List(..), other) => {
                self.fault(format!("expected list, got &{{{}}}", golang::plain(other)));
            }
            (Atom::Map(map), Value::Object(object)) => {
                for (name, value) in object {
                    let site = map.declared(name);
                    let element = || Some(PathElement::Field(name.clone()));
                    self.below(element, |walk| match site {
                        Some(site) => walk.value(site, value),
                        None => walk.fault("field not declared in schema"),
                    });
                    if site.is_none() {
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

    fn items(&mut self, site: Site<'_>, kind: &ListKind, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (index, item) in (0..).zip(items) {
            if *kind == ListKind::Atomic {
                self.below(|| Some(PathElement::Index(index)), |walk| walk.value(site, item));
                continue;
            }
            if let Err(what) = check_item(&site, kind, item) {
                self.fault(format!("element {index}: {what}"));
                return;
            }
            let element = || item_element(&site, kind, item).ok();
            if self.repeats == Repeats::Refused
                && let Some(element) = element()
            {
                if seen.contains(&element) {
                    self.fault(format!("duplicate entries for key {element}"));
                }
                seen.insert(element);
            }
            self.below(element, |walk| walk.value(site, item));
        }
    }
}
