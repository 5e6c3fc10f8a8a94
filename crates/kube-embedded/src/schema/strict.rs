//! Unknown and duplicate fields of a JSON text, in the order of the text.
//!
//! A [`serde_json::Value`] has forgotten both duplicates and order, so strictness is judged on the text itself.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Resolved, Type, Types};

/// As many problems as a server reports at most.
const LIMIT: usize = 100;

/// One line for each unknown or duplicate field, such as `duplicate field "spec.replicas"`.
///
/// A text that is not JSON gives what was found before it broke off.
pub(crate) fn strict_problems(types: &Types, ty: &Type, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let scan = Scan {
        types,
        ty,
        untyped: false,
        path: String::new(),
        problems: &mut problems,
    };
    let mut text = serde_json::Deserializer::from_str(text);
    // Text that does not parse is answered by whoever parses it for its content.
    let _broken = scan.deserialize(&mut text);
    problems
}

/// Fields that occur more than once in one object, where the types are not known.
pub(crate) fn duplicate_fields(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let scan = Scan {
        types: &Types::default(),
        ty: &Type::Any,
        untyped: true,
        path: String::new(),
        problems: &mut problems,
    };
    let mut text = serde_json::Deserializer::from_str(text);
    let _broken = scan.deserialize(&mut text);
    problems
}

struct Scan<'a> {
    types: &'a Types,
    ty: &'a Type,
    /// Nothing is known about any type, so everything is looked into.
    untyped: bool,
    path: String,
    problems: &'a mut Vec<String>,
}

impl Scan<'_> {
    fn note(&mut self, what: &str, path: &str) {
        let problem = format!("{what} field {path:?}");
        if self.problems.len() < LIMIT && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn join(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = self.join(&name);
            let ty = match self.types.resolve(self.ty) {
                Resolved::Struct(s) => {
                    if let Some(field) = s.field(&name) {
                        Some(&field.ty)
                    } else {
                        if !s.open {
                            self.note("unknown", &path);
                        }
                        None
                    }
                }
                Resolved::Map(item) => Some(item),
                Resolved::Scalar(_) if self.untyped => Some(self.ty),
                Resolved::List(_) | Resolved::Scalar(_) => None,
            };
            match ty {
                Some(ty) => {
                    if !seen.insert(name) {
                        self.note("duplicate", &path);
                    }
                    entries.next_value_seed(Scan {
                        types: self.types,
                        ty,
                        untyped: self.untyped,
                        path,
                        problems: self.problems,
                    })?;
                }
                None => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let ty = match self.types.resolve(self.ty) {
            Resolved::List(item) => item,
            _ if self.untyped => self.ty,
            _ => {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(());
            }
        };
        let mut index = 0;
        loop {
            let item = Scan {
                types: self.types,
                ty,
                untyped: self.untyped,
                path: format!("{}[{index}]", self.path),
                problems: self.problems,
            };
            if items.next_element_seed(item)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
