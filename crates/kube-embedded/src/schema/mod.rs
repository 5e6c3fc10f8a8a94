//! The types of objects: their fields, and how lists and maps merge.
//!
//! Built-in kinds come from a table (`types.txt`, written by `cargo xtask tables`). The schemas of custom resources are
//! converted to the same types by [`crate::crd`]. Decoding, patches, server-side apply and OpenAPI documents use these
//! types.

mod base64_text;
pub(crate) mod decode;
mod go_types;
mod parse;
pub(crate) mod quantity;
pub(crate) mod strict;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::OnceLock;

/// A set of types that refer to each other by [`TypeId`].
#[derive(Debug, Default)]
pub(crate) struct Types {
    defs: Vec<TypeDef>,
    by_name: HashMap<String, TypeId>,
}

/// Index of a type in its [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TypeId(u32);

/// A named type.
#[derive(Debug)]
pub(crate) struct TypeDef {
    /// OpenAPI name, for example `io.k8s.api.core.v1.Pod`.
    pub(crate) name: String,
    pub(crate) kind: TypeKind,
}

/// The definition of a type.
#[derive(Debug)]
pub(crate) enum TypeKind {
    Struct(Struct),
    /// Another type: `Quantity` is a string in a special format.
    Alias(Type),
}

/// An object with known fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Struct {
    /// Sorted by name.
    pub(crate) fields: Vec<Field>,
    /// Server-side apply replaces the struct as a whole.
    pub(crate) atomic: bool,
    /// Unknown fields are kept (custom resources with `x-kubernetes-preserve-unknown-fields`).
    pub(crate) open: bool,
}

/// A field of a [`Struct`].
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate attribute of the schema"
)]
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) required: bool,
    /// Strategic merge patch: lists merge by this key instead of being replaced.
    pub(crate) merge_key: Option<String>,
    /// Strategic merge patch: `merge` is in the patch strategy.
    pub(crate) patch_merge: bool,
    /// Strategic merge patch: `replace` is in the patch strategy.
    pub(crate) patch_replace: bool,
    /// Strategic merge patch: `retainKeys` is in the patch strategy.
    pub(crate) retain_keys: bool,
    /// Server-side apply: how a list merges.
    pub(crate) list: ListKind,
    /// Server-side apply replaces the field as a whole, even if its type could be merged.
    pub(crate) atomic: bool,
    /// The field is in every object, by default as `{}`, `""` or `0`, because it is not a pointer in Go.
    pub(crate) present: bool,
    pub(crate) default: Option<serde_json::Value>,
}

/// How server-side apply merges a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Items are scalars and unique.
    Set,
    /// Items are objects, identified by these fields.
    Map(Vec<String>),
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    /// Base64 text.
    Bytes,
    /// RFC 3339 text.
    Time,
    /// An integer or a string.
    IntOrString,
    /// A resource quantity: text, or a number that is converted to text.
    Quantity,
    /// Any JSON.
    Any,
    Ref(TypeId),
    List(Box<Type>),
    Map(Box<Type>),
}

impl Types {
    /// Returns the types of all built-in kinds.
    pub(crate) fn builtin() -> &'static Types {
        static BUILTIN: OnceLock<Types> = OnceLock::new();
        BUILTIN.get_or_init(|| parse::parse(include_str!("types.txt")))
    }

    /// Returns whether these are the types of the built-in kinds, for which Go has structs.
    pub(crate) fn is_builtin(&self) -> bool {
        std::ptr::eq(self, Types::builtin())
    }

    /// Returns the type with this OpenAPI name.
    pub(crate) fn find(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn get(&self, id: TypeId) -> &TypeDef {
        &self.defs[id.0 as usize]
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &TypeDef> {
        self.defs.iter()
    }

    /// Adds a type. If names are not unique, [`find`](Types::find) returns the first type.
    pub(crate) fn add(&mut self, def: TypeDef) -> TypeId {
        let id = TypeId(u32::try_from(self.defs.len()).expect("fewer than 2^32 types"));
        self.by_name.entry(def.name.clone()).or_insert(id);
        self.defs.push(def);
        id
    }

    /// Copies a type of another set with all types that it references. Each name is copied once.
    pub(crate) fn adopt(&mut self, from: &Types, id: TypeId) -> TypeId {
        let def = from.get(id);
        if let Some(known) = self.find(&def.name) {
            return known;
        }
        // The name is added first, because types may be recursive.
        let own = self.add(TypeDef {
            name: def.name.clone(),
            kind: TypeKind::Struct(Struct::default()),
        });
        let kind = match &def.kind {
            TypeKind::Alias(to) => TypeKind::Alias(self.adopt_type(from, to)),
            TypeKind::Struct(s) => {
                let mut copy = s.clone();
                for field in &mut copy.fields {
                    field.ty = self.adopt_type(from, &field.ty);
                }
                TypeKind::Struct(copy)
            }
        };
        self.defs[own.0 as usize].kind = kind;
        own
    }

    fn adopt_type(&mut self, from: &Types, ty: &Type) -> Type {
        match ty {
            Type::Ref(id) => Type::Ref(self.adopt(from, *id)),
            Type::List(item) => Type::List(Box::new(self.adopt_type(from, item))),
            Type::Map(value) => Type::Map(Box::new(self.adopt_type(from, value))),
            scalar => scalar.clone(),
        }
    }

    /// Follows references and aliases to a definition.
    pub(crate) fn resolve<'a>(&'a self, ty: &'a Type) -> Resolved<'a> {
        let mut ty = ty;
        loop {
            match ty {
                Type::Ref(id) => match &self.get(*id).kind {
                    TypeKind::Struct(s) => return Resolved::Struct(s),
                    TypeKind::Alias(to) => ty = to,
                },
                Type::List(item) => return Resolved::List(item),
                Type::Map(value) => return Resolved::Map(value),
                scalar => return Resolved::Scalar(scalar),
            }
        }
    }

    /// Returns whether a type is base64 text, directly or as an alias.
    pub(crate) fn is_bytes(&self, ty: &Type) -> bool {
        matches!(self.resolve(ty), Resolved::Scalar(Type::Bytes))
    }

    /// Returns the struct with this id.
    pub(crate) fn structure(&self, id: TypeId) -> Option<&Struct> {
        match &self.get(id).kind {
            TypeKind::Struct(s) => Some(s),
            TypeKind::Alias(_) => None,
        }
    }
}

/// A type without references and aliases.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Resolved<'a> {
    Struct(&'a Struct),
    List(&'a Type),
    Map(&'a Type),
    Scalar(&'a Type),
}

impl Struct {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|f| f.name.as_str().cmp(name)).ok()?;
        Some(&self.fields[at])
    }
}

impl Field {
    /// Creates a field without attributes.
    pub(crate) fn plain(name: impl Into<String>, ty: Type) -> Field {
        Field {
            name: name.into(),
            ty,
            required: false,
            merge_key: None,
            patch_merge: false,
            patch_replace: false,
            retain_keys: false,
            list: ListKind::Atomic,
            atomic: false,
            present: false,
            default: None,
        }
    }
}
