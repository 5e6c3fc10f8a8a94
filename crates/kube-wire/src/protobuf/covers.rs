//! Whether a type can be read from protobuf without missing anything.
//!
//! JSON names its fields, so a reader that is newer than this library, or one that takes whatever there is, misses
//! nothing. Protobuf numbers them: a field that the table does not know cannot be given to anybody. So before a type is
//! read from protobuf it is asked what it wants, by letting it read an object that has every field of the table once.

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
use crate::table::{Container, Field, Kind, MessageId, Shape, Table, table};

impl Schema {
    /// Whether nothing is lost if a `T` is read from protobuf: the type asks for fields by their names, and all of them
    /// are known here.
    ///
    /// That is so for the types of k8s-openapi and for structs of your own. It is not for types that take whatever there
    /// is, such as `serde_json::Value` or kube's `DynamicObject`, because a server newer than this library sends fields
    /// that only JSON has a name for.
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
    /// let schema = Schema::of("autoscaling/v1", "Scale").expect("Kubernetes has scales");
    /// assert!(schema.covers::<Scale<Spec>>());
    /// assert!(!schema.covers::<Scale<NewerSpec>>());
    /// assert!(!schema.covers::<serde_json::Value>());
    /// ```
    pub fn covers<T: DeserializeOwned>(&self) -> bool {
        self.talk::<T>().is_some()
    }

    /// The fields that a `T` never asks for, so that they can be left out of what is kept for it; nothing if the type is
    /// not [covered](Self::covers).
    ///
    /// One that is deep inside, alone among fields that are all wanted, is not worth looking for in every object: types
    /// that are a little older than the schema have many of those.
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
    /// let schema = Schema::of("autoscaling/v1", "Scale").expect("Kubernetes has scales");
    /// let unwanted = schema.unwanted::<Scale>();
    /// assert!(unwanted.contains(&["status"]) && unwanted.contains(&["metadata", "labels"]));
    /// assert!(!unwanted.contains(&["spec", "replicas"]) && !unwanted.contains(&["metadata", "name"]));
    /// ```
    pub fn unwanted<T: DeserializeOwned>(&self) -> FieldMask {
        match self.talk::<T>() {
            Some(talk) => {
                let unwanted = talk.unwanted.into_inner();
                let is_alone = |path: &[_]| {
                    let siblings = unwanted
                        .iter()
                        .filter(|other| message_of(other) == message_of(path));
                    siblings.count() == 1
                };
                let is_worth_it = |path: &&Vec<_>| path.len() < DEEP || !is_alone(path);
                FieldMask::of(unwanted.iter().filter(is_worth_it).cloned())
            }
            None => FieldMask::none(),
        }
    }

    /// Asks a type what it wants; none if it would miss something.
    fn talk<T: DeserializeOwned>(self) -> Option<Talk> {
        let talk = Talk::default();
        // A type may refuse what it is shown, as one that wants an address refuses other text. Then it is shown the same
        // without that, until it has seen all the rest.
        for _ in 0..MOST_REFUSALS {
            let root = Shown {
                talk: &talk,
                what: What::Root(self.id),
            };
            let read = T::deserialize(root);
            if talk.misses.get() {
                return None;
            }
            if read.is_ok() || !talk.leave_out_last() {
                return Some(talk);
            }
        }
        None
    }
}

/// The path of the message that a field is in.
fn message_of<'p>(path: &'p [&'static str]) -> Option<&'p [&'static str]> {
    path.split_last().map(|(_, message)| message)
}

/// Fields with this many steps before and at them are deep inside an object.
const DEEP: usize = 3;

/// A type that refuses more than this is not understood.
const MOST_REFUSALS: usize = 500;

/// What was said between the type and the table.
#[derive(Default)]
struct Talk {
    /// The type wants something that the table has not, or everything there is.
    misses: Cell<bool>,
    /// Where the type is reading.
    path: RefCell<Vec<&'static str>>,
    /// Where it began to read last.
    last: RefCell<Vec<&'static str>>,
    /// What it refused.
    refused: RefCell<HashSet<Vec<&'static str>>>,
    /// What it never asked for where it could have.
    unwanted: RefCell<BTreeSet<Vec<&'static str>>>,
    /// The messages around this place, so that those that hold themselves end.
    around: RefCell<Vec<MessageId>>,
}

impl Talk {
    /// Leaves out what was refused: where it was read last, or what that is in if it was left out before. False if there
    /// is nothing left.
    fn leave_out_last(&self) -> bool {
        let mut last = self.last.borrow_mut();
        while !last.is_empty() {
            if self.refused.borrow_mut().insert(last.clone()) {
                return true;
            }
            last.pop();
        }
        false
    }

    /// Notes that a field was not asked for. Places in maps have no path that would lead to all of them.
    fn does_not_want(&self, field: &'static str) {
        let mut path: Vec<_> = self.path.borrow().clone();
        if path.contains(&EACH) {
            return;
        }
        path.retain(|step| *step != ANY);
        path.push(field);
        self.unwanted.borrow_mut().insert(path);
    }

    fn is_refused(&self, step: &'static str) -> bool {
        let mut path = self.path.borrow().clone();
        path.push(step);
        self.refused.borrow().contains(&path)
    }

    /// Reads one step further in.
    fn inside<T>(&self, step: &'static str, read: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
        let outside = self.path.borrow().len();
        self.path.borrow_mut().push(step);
        self.last.borrow_mut().clone_from(&self.path.borrow());
        let read = read();
        // Also after a refusal: the type may forgive it and read on.
        self.path.borrow_mut().truncate(outside);
        read
    }
}

/// Something that the type is shown.
#[derive(Clone, Copy)]
struct Shown<'t> {
    talk: &'t Talk,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// The object itself.
    Root(MessageId),
    Field(&'static Field),
    /// One value of a field.
    Value(Kind),
}

/// Any text: what a field holds that is known to everybody.
const TEXT: Kind = Kind::String;

/// A step into a list.
const ANY: &str = "[]";

/// A step into a map.
const EACH: &str = "{}";

impl<'t> Shown<'t> {
    fn with(self, what: What) -> Shown<'t> {
        Shown {
            talk: self.talk,
            what,
        }
    }

    /// The message that is an object in JSON, if it is one.
    fn object(self) -> Option<MessageId> {
        match self.what {
            What::Root(id) => Some(id),
            What::Field(&Field {
                container: Container::One,
                kind: Kind::Message(id),
                ..
            })
            | What::Value(Kind::Message(id)) => (id.shape == Shape::Object).then_some(id),
            What::Field(_) | What::Value(_) => None,
        }
    }

    /// Shows the fields of an object that the type asks for.
    fn show_fields<'de, V: Visitor<'de>>(
        self,
        id: MessageId,
        wanted: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let known = json_fields(table(), id);
        let is_root = matches!(self.what, What::Root(_));
        let is_object = metadata::number(id).is_some();
        let mut fields = Vec::new();
        for name in wanted {
            if is_root && matches!(*name, "apiVersion" | "kind") {
                fields.push((*name, What::Value(TEXT)));
                continue;
            }
            match known.iter().find(|field| field.name == *name) {
                Some(field) => fields.push((field.name, What::Field(field))),
                // What an object inside of another is, its place says: a volume claim's template is no pod.
                None if is_object && matches!(*name, "apiVersion" | "kind") => {}
                None => self.talk.misses.set(true),
            }
        }
        if self.talk.around.borrow().contains(&id) {
            // A message in itself has been asked for its fields before.
            fields.clear();
        } else {
            let is_wanted = |field: &&&Field| wanted.contains(&field.name);
            for field in known.iter().filter(|field| !is_wanted(field)) {
                self.talk.does_not_want(field.name);
            }
        }
        fields.retain(|(name, _)| !self.talk.is_refused(name));
        let around = self.talk.around.borrow().len();
        self.talk.around.borrow_mut().push(id);
        let shown = visitor.visit_map(Members {
            talk: self.talk,
            fields: fields.into_iter(),
            next: None,
        });
        self.talk.around.borrow_mut().truncate(around);
        shown
    }
}

/// The fields of an object, those of inlined messages included.
fn json_fields(table: &'static Table, id: MessageId) -> Vec<&'static Field> {
    let mut found = Vec::new();
    for field in table.fields(table.message(id)) {
        match field.kind {
            Kind::Message(id) if field.inline => found.extend(json_fields(table, id)),
            _ => found.push(field),
        }
    }
    found
}

impl<'de> de::Deserializer<'de> for Shown<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.object().is_some() {
            // It takes whatever there is.
            self.talk.misses.set(true);
            return Err(Refused);
        }
        let kind = match self.what {
            What::Field(field) => match field.container {
                Container::One => field.kind,
                Container::List => return visitor.visit_seq(Once::new(self, ANY, field.kind)),
                Container::Map => return visitor.visit_map(Once::new(self, EACH, field.kind)),
            },
            What::Value(kind) => kind,
            What::Root(_) => return Err(Refused),
        };
        match kind {
            Kind::String | Kind::Bytes => visitor.visit_str(""),
            Kind::Quantity => visitor.visit_str("0"),
            Kind::Time => visitor.visit_str("1970-01-01T00:00:00Z"),
            Kind::MicroTime => visitor.visit_str("1970-01-01T00:00:00.000000Z"),
            Kind::Bool => visitor.visit_bool(false),
            Kind::Int32 | Kind::Int64 | Kind::IntOrString => visitor.visit_i64(0),
            Kind::Double => visitor.visit_f64(0.0),
            // What is JSON in protobuf is given as it is.
            Kind::Json => visitor.visit_unit(),
            Kind::Message(id) => {
                let message = table().message(id);
                match (message.shape, table().fields(message)) {
                    (Shape::List, [field, ..]) => visitor.visit_seq(Once::new(self, ANY, field.kind)),
                    (Shape::SchemaOrBool, _) => visitor.visit_bool(true),
                    _ => visitor.visit_seq(Once::none(self)),
                }
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match (self.object(), self.what) {
            (Some(id), _) => self.show_fields(id, fields, visitor),
            // Whatever is in a map has the name that the type gives it.
            (
                None,
                What::Field(Field {
                    container: Container::Map,
                    ..
                }),
            ) => visitor.visit_map(Once::none(self)),
            (None, _) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if self.object().is_some() {
            self.talk.misses.set(true);
        }
        visitor.visit_enum(First(variants.first().copied().unwrap_or_default()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// The fields of an object, one after the other.
struct Members<'t> {
    talk: &'t Talk,
    fields: std::vec::IntoIter<(&'static str, What)>,
    next: Option<(&'static str, What)>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Refused;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        self.next = self.fields.next();
        match self.next {
            Some((name, _)) => seed.deserialize(StrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        let (name, what) = self.next.take().ok_or(Refused)?;
        let shown = Shown {
            talk: self.talk,
            what,
        };
        self.talk.inside(name, || seed.deserialize(shown))
    }
}

/// A list or map of one value.
struct Once<'t> {
    shown: Shown<'t>,
    step: &'static str,
    left: Option<Kind>,
}

impl<'t> Once<'t> {
    fn new(shown: Shown<'t>, step: &'static str, kind: Kind) -> Once<'t> {
        Once {
            left: (!shown.talk.is_refused(step)).then_some(kind),
            step,
            shown,
        }
    }

    fn none(shown: Shown<'t>) -> Once<'t> {
        Once {
            shown,
            step: ANY,
            left: None,
        }
    }

    fn value<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        let kind = self.left.take().ok_or(Refused)?;
        let shown = self.shown.with(What::Value(kind));
        self.shown.talk.inside(self.step, || seed.deserialize(shown))
    }
}

impl<'de> SeqAccess<'de> for Once<'_> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        match self.left {
            Some(_) => self.value(seed).map(Some),
            None => Ok(None),
        }
    }
}

impl<'de> MapAccess<'de> for Once<'_> {
    type Error = Refused;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        match self.left {
            Some(_) => seed.deserialize(StrDeserializer::new("key")).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        self.value(seed)
    }
}

/// The first of an enum's variants.
struct First(&'static str);

impl<'de> EnumAccess<'de> for First {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Refused> {
        let variant = seed.deserialize(StrDeserializer::new(self.0))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for First {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _seed: S) -> Result<S::Value, Refused> {
        Err(Refused)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Refused> {
        Err(Refused)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Refused> {
        Err(Refused)
    }
}

/// The type did not want what it was shown.
#[derive(Debug)]
struct Refused;

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type does not want it")
    }
}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(_why: T) -> Self {
        Refused
    }
}
