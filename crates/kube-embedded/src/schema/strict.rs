//! Finds unknown and duplicate fields in JSON text, in the order of the text.
//!
//! A [`serde_json::Value`] contains neither duplicates nor the order of fields.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Resolved, Type, Types};

/// Maximum number of messages, as in a real server.
const MAX_PROBLEMS: usize = 100;

/// Returns one message per unknown or duplicate field, for example `duplicate field "spec.replicas"`.
///
/// For invalid JSON, returns the messages about the text before the error.
pub(crate) fn strict_problems(types: &Types, ty: &Type, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let scan = StrictScanner {
        types,
        ty,
        untyped: false,
        path: String::new(),
        problems: &mut problems,
    };
    let mut text = serde_json::Deserializer::from_str(text);
    // The decoder of the content reports invalid JSON.
    let _broken = scan.deserialize(&mut text);
    problems
}

/// Returns the duplicate fields in JSON of an unknown type.
pub(crate) fn duplicate_fields(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let scan = StrictScanner {
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

struct StrictScanner<'a> {
    types: &'a Types,
    ty: &'a Type,
    /// No types are known, so all fields are scanned.
    untyped: bool,
    path: String,
    problems: &'a mut Vec<String>,
}

impl StrictScanner<'_> {
    fn note(&mut self, what: &str, path: &str) {
        let problem = format!("{what} field {path:?}");
        if self.problems.len() < MAX_PROBLEMS && !self.problems.contains(&problem) {
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

impl<'de> DeserializeSeed<'de> for StrictScanner<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictScanner<'_> {
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
                    entries.next_value_seed(StrictScanner {
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
            let item = StrictScanner {
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
