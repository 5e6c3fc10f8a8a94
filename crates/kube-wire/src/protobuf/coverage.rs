//! Checks whether a type can be decoded from protobuf without losing fields.
//!
//! JSON contains field names, so types newer than this crate and types that accept any field lose nothing. Protobuf
//! contains field numbers, and a field that is not in the table cannot be decoded. Before a type is decoded from
//! protobuf, a probe determines its fields: the type is deserialized from an object that has every field of the table
//! once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Schema, metadata};
use crate::field_mask::FieldMask;
use crate::table::{Container, FieldDescriptor, MessageId, Shape, Table, ValueKind, table};

impl Schema {
    /// Returns whether a `T` can be decoded from protobuf without losing fields: the type requests fields by name,
    /// and the schema has all of them.
    ///
    /// This is true for the types of k8s-openapi and for most structs. It is false for types that accept any field,
    /// such as `serde_json::Value` or kube's `DynamicObject`, because a newer server may send fields that are not in
    /// the table.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::protobuf::Schema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct Spec {
    ///     replicas: Option<i32>,
    /// }
    ///
    /// #[derive(Deserialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct NewerSpec {
    ///     replicas: Option<i32>,
    ///     invented_tomorrow: Option<String>,
    /// }
    ///
    /// #[derive(Deserialize)]
    /// struct Scale<S> {
    ///     spec: S,
    /// }
    ///
    /// let schema = Schema::of("autoscaling/v1", "Scale").expect("built-in kind");
    /// assert!(schema.covers::<Scale<Spec>>());
    /// assert!(!schema.covers::<Scale<NewerSpec>>());
    /// assert!(!schema.covers::<serde_json::Value>());
    /// ```
    pub fn covers<T: DeserializeOwned>(&self) -> bool {
        self.probe::<T>().is_some()
    }

    /// Returns the fields that a `T` never reads, so that callers can remove them from stored objects. Returns an
    /// empty mask if the schema does not [cover](Self::covers) the type.
    ///
    /// Ignores single unused fields deep inside an object: removing them from every object costs more than it saves,
    /// and types that are slightly older than the schema have many of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::protobuf::Schema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// struct Spec {
    ///     replicas: Option<i32>,
    /// }
    ///
    /// #[derive(Deserialize)]
    /// struct Scale {
    ///     spec: Spec,
    /// }
    ///
    /// let schema = Schema::of("autoscaling/v1", "Scale").expect("built-in kind");
    /// let unwanted = schema.unused_fields::<Scale>();
    /// assert!(unwanted.contains(&["status"]) && unwanted.contains(&["metadata", "labels"]));
    /// assert!(!unwanted.contains(&["spec", "replicas"]) && !unwanted.contains(&["metadata", "name"]));
    /// ```
    pub fn unused_fields<T: DeserializeOwned>(&self) -> FieldMask {
        match self.probe::<T>() {
            Some(probe) => {
                let unused = probe.unused.into_inner();
                let is_only_sibling = |path: &[_]| {
                    let siblings = unused
                        .iter()
                        .filter(|other| parent_path(other) == parent_path(path));
                    siblings.count() == 1
                };
                let is_worth_masking =
                    |path: &&Vec<_>| path.len() < DEEP_PATH_LENGTH || !is_only_sibling(path);
                FieldMask::of(unused.iter().filter(is_worth_masking).cloned())
            }
            None => FieldMask::none(),
        }
    }

    /// Determines the fields that a type reads. Returns `None` if the schema does not cover the type.
    fn probe<T: DeserializeOwned>(self) -> Option<TypeProbe> {
        let probe = TypeProbe::default();
        // A type may reject a probe value, for example text that is not an address. Repeat without that value until
        // the type has seen all others.
        for _ in 0..MAX_REJECTIONS {
            let root = ProbeDeserializer {
                probe: &probe,
                target: ProbeTarget::Root(self.id),
            };
            let read = T::deserialize(root);
            if probe.is_incomplete.get() {
                return None;
            }
            if read.is_ok() || !probe.reject_last() {
                return Some(probe);
            }
        }
        None
    }
}

/// Returns the path of the message that contains a field.
fn parent_path<'p>(path: &'p [&'static str]) -> Option<&'p [&'static str]> {
    path.split_last().map(|(_, message)| message)
}

/// Fields whose path has at least this many segments are deep inside an object.
const DEEP_PATH_LENGTH: usize = 3;

/// Maximum number of rejected values before the type counts as not covered.
const MAX_REJECTIONS: usize = 500;

/// The state of a probe.
#[derive(Default)]
struct TypeProbe {
    /// Whether the type requests a field that is not in the table, or any field.
    is_incomplete: Cell<bool>,
    /// Path of the value that is being deserialized.
    path: RefCell<Vec<&'static str>>,
    /// Path of the value that was started last.
    last: RefCell<Vec<&'static str>>,
    /// Paths of rejected values.
    rejected: RefCell<HashSet<Vec<&'static str>>>,
    /// Paths of fields that the type did not request.
    unused: RefCell<BTreeSet<Vec<&'static str>>>,
    /// Enclosing messages, to stop at recursive ones.
    enclosing: RefCell<Vec<MessageId>>,
}

impl TypeProbe {
    /// Marks the last value as rejected, or its closest parent that is not marked yet. Returns false if there is
    /// none.
    fn reject_last(&self) -> bool {
        let mut last = self.last.borrow_mut();
        while !last.is_empty() {
            if self.rejected.borrow_mut().insert(last.clone()) {
                return true;
            }
            last.pop();
        }
        false
    }

    /// Records a field that the type did not request. Map values have no path that applies to all of them.
    fn record_unused(&self, field: &'static str) {
        let mut path: Vec<_> = self.path.borrow().clone();
        if path.contains(&MAP_STEP) {
            return;
        }
        path.retain(|step| *step != LIST_STEP);
        path.push(field);
        self.unused.borrow_mut().insert(path);
    }

    fn is_rejected(&self, step: &'static str) -> bool {
        let mut path = self.path.borrow().clone();
        path.push(step);
        self.rejected.borrow().contains(&path)
    }

    /// Deserializes a value one level deeper.
    fn enter_step<T>(
        &self,
        step: &'static str,
        read: impl FnOnce() -> Result<T, ProbeError>,
    ) -> Result<T, ProbeError> {
        let outer_len = self.path.borrow().len();
        self.path.borrow_mut().push(step);
        self.last.borrow_mut().clone_from(&self.path.borrow());
        let read = read();
        // Also after an error, because the type may ignore it.
        self.path.borrow_mut().truncate(outer_len);
        read
    }
}

/// Deserializes a probe value.
#[derive(Clone, Copy)]
struct ProbeDeserializer<'t> {
    probe: &'t TypeProbe,
    target: ProbeTarget,
}

#[derive(Clone, Copy)]
enum ProbeTarget {
    /// The whole object.
    Root(MessageId),
    Field(&'static FieldDescriptor),
    /// A single value of a field.
    Value(ValueKind),
}

/// The value of `apiVersion` and `kind`.
const TEXT: ValueKind = ValueKind::String;

/// Path segment of a list element.
const LIST_STEP: &str = "[]";

/// Path segment of a map value.
const MAP_STEP: &str = "{}";

impl<'t> ProbeDeserializer<'t> {
    fn with(self, target: ProbeTarget) -> ProbeDeserializer<'t> {
        ProbeDeserializer {
            probe: self.probe,
            target,
        }
    }

    /// Returns the message if it is an object in JSON.
    fn object(self) -> Option<MessageId> {
        match self.target {
            ProbeTarget::Root(id) => Some(id),
            ProbeTarget::Field(&FieldDescriptor {
                container: Container::Single,
                kind: ValueKind::Message(id),
                ..
            })
            | ProbeTarget::Value(ValueKind::Message(id)) => (id.shape == Shape::Object).then_some(id),
            ProbeTarget::Field(_) | ProbeTarget::Value(_) => None,
        }
    }

    /// Visits the fields that the type requests.
    fn visit_fields<'de, V: Visitor<'de>>(
        self,
        id: MessageId,
        requested: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        let known = json_fields(table(), id);
        let is_root = matches!(self.target, ProbeTarget::Root(_));
        let is_object = metadata::field_number(id).is_some();
        let mut fields = Vec::new();
        for name in requested {
            if is_root && matches!(*name, "apiVersion" | "kind") {
                fields.push((*name, ProbeTarget::Value(TEXT)));
                continue;
            }
            match known.iter().find(|field| field.name == *name) {
                Some(field) => fields.push((field.name, ProbeTarget::Field(field))),
                // Embedded objects, for example a volume claim template, have no type of their own.
                None if is_object && matches!(*name, "apiVersion" | "kind") => {}
                None => self.probe.is_incomplete.set(true),
            }
        }
        if self.probe.enclosing.borrow().contains(&id) {
            // The fields of a recursive message were requested before.
            fields.clear();
        } else {
            let is_requested = |field: &&&FieldDescriptor| requested.contains(&field.name);
            for field in known.iter().filter(|field| !is_requested(field)) {
                self.probe.record_unused(field.name);
            }
        }
        fields.retain(|(name, _)| !self.probe.is_rejected(name));
        let enclosing = self.probe.enclosing.borrow().len();
        self.probe.enclosing.borrow_mut().push(id);
        let deserializer = visitor.visit_map(ProbeFields {
            probe: self.probe,
            fields: fields.into_iter(),
            next: None,
        });
        self.probe.enclosing.borrow_mut().truncate(enclosing);
        deserializer
    }
}

/// Returns the fields of an object, including those of inlined messages.
fn json_fields(table: &'static Table, id: MessageId) -> Vec<&'static FieldDescriptor> {
    let mut found = Vec::new();
    for field in table.fields(table.message(id)) {
        match field.kind {
            ValueKind::Message(id) if field.inline => found.extend(json_fields(table, id)),
            _ => found.push(field),
        }
    }
    found
}

impl<'de> de::Deserializer<'de> for ProbeDeserializer<'_> {
    type Error = ProbeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        if self.object().is_some() {
            // The type accepts any field.
            self.probe.is_incomplete.set(true);
            return Err(ProbeError);
        }
        let kind = match self.target {
            ProbeTarget::Field(field) => match field.container {
                Container::Single => field.kind,
                Container::List => return visitor.visit_seq(SingleElement::new(self, LIST_STEP, field.kind)),
                Container::Map => return visitor.visit_map(SingleElement::new(self, MAP_STEP, field.kind)),
            },
            ProbeTarget::Value(kind) => kind,
            ProbeTarget::Root(_) => return Err(ProbeError),
        };
        match kind {
            ValueKind::String | ValueKind::Bytes => visitor.visit_str(""),
            ValueKind::Quantity => visitor.visit_str("0"),
            ValueKind::Time => visitor.visit_str("1970-01-01T00:00:00Z"),
            ValueKind::MicroTime => visitor.visit_str("1970-01-01T00:00:00.000000Z"),
            ValueKind::Bool => visitor.visit_bool(false),
            ValueKind::Int32 | ValueKind::Int64 | ValueKind::IntOrString => visitor.visit_i64(0),
            ValueKind::Double => visitor.visit_f64(0.0),
            // Embedded JSON is decoded with all of its fields.
            ValueKind::Json => visitor.visit_unit(),
            ValueKind::Message(id) => {
                let message = table().message(id);
                match (message.shape, table().fields(message)) {
                    (Shape::List, [field, ..]) => {
                        visitor.visit_seq(SingleElement::new(self, LIST_STEP, field.kind))
                    }
                    (Shape::SchemaOrBool, _) => visitor.visit_bool(true),
                    _ => visitor.visit_seq(SingleElement::none(self)),
                }
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        match (self.object(), self.target) {
            (Some(id), _) => self.visit_fields(id, fields, visitor),
            // Map keys are not fields of the schema.
            (
                None,
                ProbeTarget::Field(FieldDescriptor {
                    container: Container::Map,
                    ..
                }),
            ) => visitor.visit_map(SingleElement::none(self)),
            (None, _) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        if self.object().is_some() {
            self.probe.is_incomplete.set(true);
        }
        visitor.visit_enum(FirstVariant(variants.first().copied().unwrap_or_default()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// Iterates over the fields of an object.
struct ProbeFields<'t> {
    probe: &'t TypeProbe,
    fields: std::vec::IntoIter<(&'static str, ProbeTarget)>,
    next: Option<(&'static str, ProbeTarget)>,
}

impl<'de> MapAccess<'de> for ProbeFields<'_> {
    type Error = ProbeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ProbeError> {
        self.next = self.fields.next();
        match self.next {
            Some((name, _)) => seed.deserialize(StrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ProbeError> {
        let (name, target) = self.next.take().ok_or(ProbeError)?;
        let deserializer = ProbeDeserializer {
            probe: self.probe,
            target,
        };
        self.probe.enter_step(name, || seed.deserialize(deserializer))
    }
}

/// A list or map with one value.
struct SingleElement<'t> {
    deserializer: ProbeDeserializer<'t>,
    step: &'static str,
    left: Option<ValueKind>,
}

impl<'t> SingleElement<'t> {
    fn new(deserializer: ProbeDeserializer<'t>, step: &'static str, kind: ValueKind) -> SingleElement<'t> {
        SingleElement {
            left: (!deserializer.probe.is_rejected(step)).then_some(kind),
            step,
            deserializer,
        }
    }

    fn none(deserializer: ProbeDeserializer<'t>) -> SingleElement<'t> {
        SingleElement {
            deserializer,
            step: LIST_STEP,
            left: None,
        }
    }

    fn value<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ProbeError> {
        let kind = self.left.take().ok_or(ProbeError)?;
        let deserializer = self.deserializer.with(ProbeTarget::Value(kind));
        self.deserializer
            .probe
            .enter_step(self.step, || seed.deserialize(deserializer))
    }
}

impl<'de> SeqAccess<'de> for SingleElement<'_> {
    type Error = ProbeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ProbeError> {
        match self.left {
            Some(_) => self.value(seed).map(Some),
            None => Ok(None),
        }
    }
}

impl<'de> MapAccess<'de> for SingleElement<'_> {
    type Error = ProbeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ProbeError> {
        match self.left {
            Some(_) => seed.deserialize(StrDeserializer::new("key")).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ProbeError> {
        self.value(seed)
    }
}

/// The first variant of an enum.
struct FirstVariant(&'static str);

impl<'de> EnumAccess<'de> for FirstVariant {
    type Error = ProbeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), ProbeError> {
        let variant = seed.deserialize(StrDeserializer::new(self.0))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for FirstVariant {
    type Error = ProbeError;

    fn unit_variant(self) -> Result<(), ProbeError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _seed: S) -> Result<S::Value, ProbeError> {
        Err(ProbeError)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, ProbeError> {
        Err(ProbeError)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, ProbeError> {
        Err(ProbeError)
    }
}

/// An error for a value that the type rejects.
#[derive(Debug)]
struct ProbeError;

impl std::error::Error for ProbeError {}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("value rejected by the type")
    }
}

impl de::Error for ProbeError {
    fn custom<T: fmt::Display>(_why: T) -> Self {
        ProbeError
    }
}
