//! Operations of server-side apply on values with types.
//!
//! A [`SchemaNode`] is a type at a path. With the value at that path, it returns an [`Atom`], which defines how the
//! value is merged. Each operation has a module: [`validate`], [`field_set`] (the fields in a value), [`compare`],
//! [`merge`] and [`remove`].

mod blank;
mod compare;
mod field_set;
mod merge;
mod remove;
mod validate;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(super) use self::blank::blank;
pub(super) use self::compare::{Comparison, compare};
pub(super) use self::field_set::field_set;
pub(super) use self::merge::merge;
pub(super) use self::remove::{EmptyContainer, remove};
pub(super) use self::validate::{Duplicates, validate};
use super::field_set::{FieldSet, PathElement};
use crate::schema::{Field, ListKind, Resolved, Struct, Type, Types};

/// A type at a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaNode<'a> {
    types: &'a Types,
    kind: SchemaNodeKind<'a>,
    /// Whether unknown fields are allowed, because a parent allows them.
    open: bool,
}

#[derive(Debug, Clone, Copy)]
enum SchemaNodeKind<'a> {
    Typed {
        ty: &'a Type,
        list: &'a ListKind,
        atomic: bool,
    },
    /// The type follows from the value: objects are merged, other values are atomic.
    Deduced,
    /// Any value, which is atomic.
    Opaque,
}

/// How a value is merged.
#[derive(Debug, Clone, Copy)]
pub(super) enum Atom<'a> {
    /// A scalar of this type; `Any` accepts all scalars.
    Scalar(&'a Type),
    /// A list with items of this node, merged by kind.
    List(SchemaNode<'a>, &'a ListKind),
    Map(MapAtom<'a>),
}

/// How an object is merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapAtom<'a> {
    types: &'a Types,
    structure: Option<&'a Struct>,
    /// The type of fields that the structure does not contain; `None` if there are none.
    element: Option<SchemaNodeKind<'a>>,
    atomic: bool,
    open: bool,
}

const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

impl<'a> SchemaNode<'a> {
    /// Returns the node of an object of this type.
    pub(super) fn root(types: &'a Types, ty: &'a Type) -> SchemaNode<'a> {
        let kind = SchemaNodeKind::Typed {
            ty,
            list: &ListKind::Atomic,
            atomic: false,
        };
        SchemaNode {
            types,
            kind,
            open: false,
        }
    }

    fn plain(&self, ty: &'a Type) -> SchemaNodeKind<'a> {
        match ty {
            Type::Any => SchemaNodeKind::Deduced,
            Type::Ref(id) if self.types.get(*id).name == RAW_EXTENSION => SchemaNodeKind::Opaque,
            ty => SchemaNodeKind::Typed {
                ty,
                list: &ListKind::Atomic,
                atomic: false,
            },
        }
    }

    fn with(&self, kind: SchemaNodeKind<'a>) -> SchemaNode<'a> {
        SchemaNode { kind, ..*self }
    }

    /// Returns how a value is merged. If the type is unknown, that depends on the value; `None` and `null` count as
    /// objects.
    pub(super) fn atom(&self, value: Option<&Value>) -> Atom<'a> {
        let (kind, atomic) = match self.kind {
            SchemaNodeKind::Typed { ty, list, atomic } => match self.types.resolve(ty) {
                Resolved::Struct(s) => {
                    let open = self.open || s.open;
                    return Atom::Map(MapAtom {
                        types: self.types,
                        structure: Some(s),
                        element: open.then_some(SchemaNodeKind::Deduced),
                        atomic: atomic || s.atomic,
                        open,
                    });
                }
                Resolved::Map(value) => {
                    return Atom::Map(MapAtom {
                        types: self.types,
                        structure: None,
                        element: Some(self.plain(value)),
                        atomic,
                        open: self.open,
                    });
                }
                Resolved::List(item) => return Atom::List(self.with(self.plain(item)), list),
                Resolved::Scalar(Type::Any) => (SchemaNodeKind::Deduced, atomic),
                Resolved::Scalar(scalar) => return Atom::Scalar(scalar),
            },
            SchemaNodeKind::Deduced => (SchemaNodeKind::Deduced, false),
            SchemaNodeKind::Opaque => (SchemaNodeKind::Opaque, true),
        };
        match value {
            Some(Value::Array(_)) => Atom::List(self.with(SchemaNodeKind::Opaque), &ListKind::Atomic),
            None | Some(Value::Null | Value::Object(_)) => Atom::Map(MapAtom {
                types: self.types,
                structure: None,
                element: Some(kind),
                atomic,
                open: self.open,
            }),
            Some(_) => Atom::Scalar(&Type::Any),
        }
    }
}

impl<'a> MapAtom<'a> {
    fn named(&self, name: &str) -> Option<&'a Field> {
        self.structure.and_then(|s| s.field(name))
    }

    /// Returns the node of the field `name`; `None` if there is no such field.
    fn declared(&self, name: &str) -> Option<SchemaNode<'a>> {
        let kind = match self.named(name) {
            Some(field) => self.kind_of(field),
            None => self.element?,
        };
        Some(SchemaNode {
            types: self.types,
            kind,
            open: self.open,
        })
    }

    /// Returns the node of the field `name`. The type of an unknown field follows from its value.
    fn child(&self, name: &str) -> SchemaNode<'a> {
        self.declared(name).unwrap_or(SchemaNode {
            types: self.types,
            kind: SchemaNodeKind::Deduced,
            open: self.open,
        })
    }

    fn kind_of(&self, field: &'a Field) -> SchemaNodeKind<'a> {
        match &field.ty {
            Type::Ref(id) if self.types.get(*id).name == RAW_EXTENSION => SchemaNodeKind::Opaque,
            ty => SchemaNodeKind::Typed {
                ty,
                list: &field.list,
                atomic: field.atomic,
            },
        }
    }
}

impl Atom<'_> {
    /// Returns whether two atoms of one node merge values in the same way.
    fn is_like(&self, other: &Atom<'_>) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Returns the items of a list; none for other values.
fn items_of(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the fields of an object, if it has any.
fn fields_of(object: Option<&Value>) -> Option<&Map<String, Value>> {
    object
        .and_then(Value::as_object)
        .filter(|fields| !fields.is_empty())
}

/// Returns the element that identifies `item` in a list of this kind.
///
/// # Errors
/// Returns a message if the item has no valid key.
fn item_element(item_node: &SchemaNode<'_>, kind: &ListKind, item: &Value) -> Result<PathElement, String> {
    check_item(item_node, kind, item)?;
    let ListKind::Map(keys) = kind else {
        return Ok(PathElement::Value(item.clone()));
    };
    let mut fields: Vec<(String, Value)> = keys
        .iter()
        .filter_map(|key| {
            let given = item.get(key).map(Cow::Borrowed);
            let value = given.or_else(|| key_default(item_node, key))?;
            Some((key.clone(), value.into_owned()))
        })
        .collect();
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(PathElement::Key(fields))
}

/// Checks that `item` has a valid key in a list of this kind.
///
/// # Errors
/// Returns a message if it does not.
fn check_item(item_node: &SchemaNode<'_>, kind: &ListKind, item: &Value) -> Result<(), String> {
    let wrong = match (kind, item) {
        (ListKind::Atomic, _) => "invalid indexing of non-associative list",
        (ListKind::Set, Value::Object(_)) => "associative list without keys has an element that's a map type",
        (ListKind::Set, Value::Array(_)) => "not supported: associative list with lists as elements",
        (ListKind::Set, Value::Null) => {
            "associative list without keys has an element that's an explicit null"
        }
        (ListKind::Set, _) => return Ok(()),
        (ListKind::Map(_), Value::Null) => "associative list with keys may not have a null element",
        (ListKind::Map(keys), Value::Object(item)) => {
            return check_keys(item_node, keys, item);
        }
        (ListKind::Map(_), _) => "associative list with keys may not have non-map elements",
    };
    Err(wrong.to_owned())
}

fn check_keys(node: &SchemaNode<'_>, keys: &[String], item: &Map<String, Value>) -> Result<(), String> {
    if !matches!(node.atom(None), Atom::Map(_)) {
        return Err("associative list may not have non-map types".into());
    }
    if keys
        .iter()
        .any(|key| item.contains_key(key) || key_default(node, key).is_some())
    {
        return Ok(());
    }
    let keys: Vec<String> = keys.iter().map(|k| format!("{k:?}")).collect();
    Err(format!(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
         any key fields)",
        keys.join(" ")
    ))
}

/// Returns the default of a key field.
fn key_default<'a>(item_node: &SchemaNode<'a>, key: &str) -> Option<Cow<'a, Value>> {
    let Atom::Map(map) = item_node.atom(None) else {
        return None;
    };
    let field = map.named(key)?;
    match &field.default {
        Some(default) => Some(Cow::Borrowed(default)),
        None if field.present => blank::zero(map.types, &field.ty).map(Cow::Owned),
        None => None,
    }
}

/// Adds the named parents of members to `set`, but not keys of maps and items of lists.
pub(super) fn with_named_parents(node: Option<SchemaNode<'_>>, mut set: FieldSet) -> FieldSet {
    let atom = node.map(|node| node.atom(None));
    for field in set.nodes_mut().filter(|field| !field.below.is_empty()) {
        let below = match (&field.element, &atom) {
            (PathElement::Field(name), Some(Atom::Map(map))) => {
                field.is_member |= map.named(name).is_some();
                map.declared(name)
            }
            (PathElement::Key(_), Some(Atom::List(item, _))) => Some(*item),
            _ => None,
        };
        field.below = with_named_parents(below, std::mem::take(&mut field.below));
    }
    set
}
