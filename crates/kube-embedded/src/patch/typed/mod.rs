//! Walks over values by their types, as server-side apply sees them.
//!
//! A [`Site`] is a place in the types; with the value that stands there it gives an [`Atom`], which says how that value
//! merges. Each walk is one file: [`validate`], [`field_set`] (what a value mentions), [`compare`], [`merge`] and
//! [`remove`].

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
pub(super) use self::remove::{Emptied, remove};
pub(super) use self::validate::{Repeats, validate};
use super::field_set::{FieldSet, PathElement};
use crate::schema::{Field, ListKind, Resolved, Struct, Type, Types};

/// A place in the types.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    types: &'a Types,
    kind: SiteKind<'a>,
    /// Unknown fields are allowed, because something above allows them.
    open: bool,
}

#[derive(Debug, Clone, Copy)]
enum SiteKind<'a> {
    Typed {
        ty: &'a Type,
        list: &'a ListKind,
        atomic: bool,
    },
    /// Described by its value: objects merge, everything else is one thing.
    Deduced,
    /// One thing, whatever it is.
    Opaque,
}

/// How the value at a site merges.
#[derive(Debug, Clone, Copy)]
pub(super) enum Atom<'a> {
    /// A scalar of this type; `Any` takes every scalar.
    Scalar(&'a Type),
    /// Items are the site's, merged by kind.
    List(Site<'a>, &'a ListKind),
    Map(MapAtom<'a>),
}

/// How an object merges.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapAtom<'a> {
    types: &'a Types,
    structure: Option<&'a Struct>,
    /// Where fields that the structure does not name are; `None` if there may be none.
    element: Option<SiteKind<'a>>,
    atomic: bool,
    open: bool,
}

const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

impl<'a> Site<'a> {
    /// Where an object of this type stands.
    pub(super) fn root(types: &'a Types, ty: &'a Type) -> Site<'a> {
        let kind = SiteKind::Typed {
            ty,
            list: &ListKind::Atomic,
            atomic: false,
        };
        Site {
            types,
            kind,
            open: false,
        }
    }

    fn plain(&self, ty: &'a Type) -> SiteKind<'a> {
        match ty {
            Type::Any => SiteKind::Deduced,
            Type::Ref(id) if self.types.get(*id).name == RAW_EXTENSION => SiteKind::Opaque,
            ty => SiteKind::Typed {
                ty,
                list: &ListKind::Atomic,
                atomic: false,
            },
        }
    }

    fn with(&self, kind: SiteKind<'a>) -> Site<'a> {
        Site { kind, ..*self }
    }

    /// How the value here merges. Where the types leave it open, the value decides; `None` and `null` count as objects.
    pub(super) fn atom(&self, value: Option<&Value>) -> Atom<'a> {
        let (kind, atomic) = match self.kind {
            SiteKind::Typed { ty, list, atomic } => match self.types.resolve(ty) {
                Resolved::Struct(s) => {
                    let open = self.open || s.open;
                    return Atom::Map(MapAtom {
                        types: self.types,
                        structure: Some(s),
                        element: open.then_some(SiteKind::Deduced),
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
                Resolved::Scalar(Type::Any) => (SiteKind::Deduced, atomic),
                Resolved::Scalar(scalar) => return Atom::Scalar(scalar),
            },
            SiteKind::Deduced => (SiteKind::Deduced, false),
            SiteKind::Opaque => (SiteKind::Opaque, true),
        };
        match value {
            Some(Value::Array(_)) => Atom::List(self.with(SiteKind::Opaque), &ListKind::Atomic),
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

    /// Where the value under `name` stands; `None` if there is no such field.
    fn declared(&self, name: &str) -> Option<Site<'a>> {
        let kind = match self.named(name) {
            Some(field) => self.kind_of(field),
            None => self.element?,
        };
        Some(Site {
            types: self.types,
            kind,
            open: self.open,
        })
    }

    /// Like [`declared`](Self::declared); a field that nobody declared is described by its value.
    fn site(&self, name: &str) -> Site<'a> {
        self.declared(name).unwrap_or(Site {
            types: self.types,
            kind: SiteKind::Deduced,
            open: self.open,
        })
    }

    fn kind_of(&self, field: &'a Field) -> SiteKind<'a> {
        match &field.ty {
            Type::Ref(id) if self.types.get(*id).name == RAW_EXTENSION => SiteKind::Opaque,
            ty => SiteKind::Typed {
                ty,
                list: &field.list,
                atomic: field.atomic,
            },
        }
    }
}

impl Atom<'_> {
    /// Returns whether two atoms of one site treat values alike.
    fn is_like(&self, other: &Atom<'_>) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The items of a list, if it has any.
fn items_of(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The fields of an object, if it has any.
fn fields_of(object: Option<&Value>) -> Option<&Map<String, Value>> {
    object
        .and_then(Value::as_object)
        .filter(|fields| !fields.is_empty())
}

/// The element that identifies `item` in a list of this kind, or what is wrong with it.
fn item_element(item_site: &Site<'_>, kind: &ListKind, item: &Value) -> Result<PathElement, String> {
    check_item(item_site, kind, item)?;
    let ListKind::Map(keys) = kind else {
        return Ok(PathElement::Value(item.clone()));
    };
    let mut fields: Vec<(String, Value)> = keys
        .iter()
        .filter_map(|key| {
            let given = item.get(key).map(Cow::Borrowed);
            let value = given.or_else(|| key_default(item_site, key))?;
            Some((key.clone(), value.into_owned()))
        })
        .collect();
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(PathElement::Key(fields))
}

/// What keeps `item` from being identified in a list of this kind.
fn check_item(item_site: &Site<'_>, kind: &ListKind, item: &Value) -> Result<(), String> {
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
            return check_keys(item_site, keys, item);
        }
        (ListKind::Map(_), _) => "associative list with keys may not have non-map elements",
    };
    Err(wrong.to_owned())
}

fn check_keys(site: &Site<'_>, keys: &[String], item: &Map<String, Value>) -> Result<(), String> {
    if !matches!(site.atom(None), Atom::Map(_)) {
        return Err("associative list may not have non-map types".into());
    }
    if keys
        .iter()
        .any(|key| item.contains_key(key) || key_default(site, key).is_some())
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

/// What a key field is where an item leaves it out.
fn key_default<'a>(item_site: &Site<'a>, key: &str) -> Option<Cow<'a, Value>> {
    let Atom::Map(map) = item_site.atom(None) else {
        return None;
    };
    let field = map.named(key)?;
    match &field.default {
        Some(default) => Some(Cow::Borrowed(default)),
        None if field.present => blank::zero(map.types, &field.ty).map(Cow::Owned),
        None => None,
    }
}

/// Adds to `set` the named fields on the way to its members, but not the keys of maps and the items of lists.
pub(super) fn with_named_parents(site: Option<Site<'_>>, mut set: FieldSet) -> FieldSet {
    let atom = site.map(|s| s.atom(None));
    for node in set.nodes_mut().filter(|node| !node.below.is_empty()) {
        let below_site = match (&node.element, &atom) {
            (PathElement::Field(name), Some(Atom::Map(map))) => {
                node.is_member |= map.named(name).is_some();
                map.declared(name)
            }
            (PathElement::Key(_), Some(Atom::List(item, _))) => Some(*item),
            _ => None,
        };
        node.below = with_named_parents(below_site, std::mem::take(&mut node.below));
    }
    set
}
