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

use std::collections::BTreeMap;

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

/// The element that identifies `item` in a list of this kind, or what is wrong with it.
fn item_element(item_site: &Site<'_>, kind: &ListKind, item: &Value) -> Result<PathElement, String> {
    match kind {
        ListKind::Atomic => Err("invalid indexing of non-associative list".into()),
        ListKind::Set => match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
            scalar => Ok(PathElement::Value(scalar.clone())),
        },
        ListKind::Map(keys) => match item {
            Value::Object(map) => keyed_element(item_site, keys, map),
            Value::Null => Err("associative list with keys may not have a null element".into()),
            _ => Err("associative list with keys may not have non-map elements".into()),
        },
    }
}

fn keyed_element(site: &Site<'_>, keys: &[String], item: &Map<String, Value>) -> Result<PathElement, String> {
    let Atom::Map(atom) = site.atom(None) else {
        return Err("associative list may not have non-map types".into());
    };
    let mut fields: Vec<(String, Value)> = keys
        .iter()
        .filter_map(|key| {
            let value = item.get(key).cloned().or_else(|| key_default(&atom, key))?;
            Some((key.clone(), value))
        })
        .collect();
    if fields.is_empty() {
        let keys: Vec<String> = keys.iter().map(|k| format!("{k:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            keys.join(" ")
        ));
    }
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(PathElement::Key(fields))
}

/// What a key field is where an item leaves it out.
fn key_default(atom: &MapAtom<'_>, key: &str) -> Option<Value> {
    let field = atom.named(key)?;
    let zero = || {
        field
            .present
            .then(|| blank::zero(atom.types, &field.ty))
            .flatten()
    };
    field.default.clone().or_else(zero)
}

/// Adds to `set` the named fields on the way to its members, but not the keys of maps and the items of lists.
pub(super) fn with_named_parents(site: Option<Site<'_>>, set: &FieldSet) -> FieldSet {
    let atom = site.map(|s| s.atom(None));
    let mut children = BTreeMap::new();
    let mut named = Vec::new();
    for (element, below) in set.children() {
        let below_site = match (element, &atom) {
            (PathElement::Field(name), Some(Atom::Map(map))) => {
                if map.named(name).is_some() {
                    named.push(element.clone());
                }
                map.declared(name)
            }
            (PathElement::Key(_), Some(Atom::List(item, _))) => Some(*item),
            _ => None,
        };
        children.insert(element.clone(), with_named_parents(below_site, below));
    }
    let mut out = set.with_children(children);
    for element in named {
        out.add_member(element);
    }
    out
}
