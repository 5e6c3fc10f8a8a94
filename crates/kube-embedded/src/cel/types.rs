//! The types of expressions, and which fit which.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    Dyn,
    /// The type of something that has an error already.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Optional(Arc<Type>),
    /// The type of a type.
    Meta(Arc<Type>),
    Object(Arc<ObjectType>),
    /// A type of a library, by its name.
    Library(&'static str),
    /// A type that is still open.
    Parameter(usize),
}

/// An object with named fields.
#[derive(Debug)]
pub(crate) struct ObjectType {
    pub(crate) name: String,
    pub(crate) fields: BTreeMap<String, Type>,
}

/// Objects are of the same type if they have the same name.
impl PartialEq for ObjectType {
    fn eq(&self, other: &ObjectType) -> bool {
        self.name == other.name
    }
}

impl Type {
    pub(crate) fn list(item: Type) -> Type {
        Type::List(Arc::new(item))
    }

    pub(crate) fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(inner: Type) -> Type {
        Type::Optional(Arc::new(inner))
    }

    fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    fn is_nullable(&self) -> bool {
        matches!(
            self,
            Type::Null
                | Type::Duration
                | Type::Timestamp
                | Type::Optional(_)
                | Type::Object(_)
                | Type::Library(_)
        )
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn | Type::Parameter(_) => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            Type::Meta(inner) => write!(f, "type({inner})"),
            Type::Object(object) => f.write_str(&object.name),
            Type::Library(name) => f.write_str(name),
        }
    }
}

/// What is known of the open types.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    types: Vec<Option<Type>>,
    /// What was known before, so that an attempt can be undone.
    undo: Vec<(usize, Option<Type>)>,
}

impl Substitution {
    /// Returns a new open type.
    pub(super) fn fresh(&mut self) -> Type {
        self.types.push(None);
        Type::Parameter(self.types.len() - 1)
    }

    fn find(&self, parameter: usize) -> Option<&Type> {
        self.types.get(parameter)?.as_ref()
    }

    /// Returns whether a value of the type `from` can be used where `to` is expected; if it can, open types are bound.
    pub(super) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        self.assign_all(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    /// Same as [`Substitution::assign`], for all of a list at once.
    pub(super) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(f, t)| self.assignable(f, t));
        while let Some((id, before)) = self.undo.pop() {
            if !fits {
                self.types[id] = before;
            }
        }
        fits
    }

    fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Parameter(id) = to {
            let was_bound = self.find(*id).is_some();
            if self.bind(*id, from) {
                return true;
            }
            if was_bound {
                return false;
            }
        }
        if let Type::Parameter(id) = from {
            return self.bind(*id, to);
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::List(from), Type::List(to)) | (Type::Optional(from), Type::Optional(to)) => {
                self.assignable(from, to)
            }
            (Type::Map(from_key, from), Type::Map(to_key, to)) => {
                self.assignable(from_key, to_key) && self.assignable(from, to)
            }
            (Type::Meta(_), Type::Meta(_)) => true,
            _ => from == to,
        }
    }

    /// Binds an open type, or makes what it is bound to more general.
    fn bind(&mut self, id: usize, ty: &Type) -> bool {
        if *ty == Type::Parameter(id) {
            return true;
        }
        let Some(known) = self.find(id).cloned() else {
            if self.refers(ty, id) {
                return false;
            }
            self.set(id, ty.clone());
            return true;
        };
        if known == *ty {
            return true;
        }
        if !self.assignable(ty, &known) {
            return false;
        }
        let general = if is_as_general(ty, &known) {
            ty.clone()
        } else {
            known
        };
        if !self.refers(&general, id) {
            self.set(id, general);
        }
        true
    }

    fn set(&mut self, id: usize, ty: Type) {
        if let Some(slot) = self.types.get_mut(id) {
            self.undo.push((id, slot.replace(ty)));
        }
    }

    fn refers(&self, ty: &Type, id: usize) -> bool {
        match ty {
            Type::Parameter(own) => *own == id || self.find(*own).is_some_and(|t| self.refers(t, id)),
            Type::List(inner) | Type::Optional(inner) | Type::Meta(inner) => self.refers(inner, id),
            Type::Map(key, value) => self.refers(key, id) || self.refers(value, id),
            _ => false,
        }
    }

    /// Returns a type with what is known of its open types filled in.
    pub(super) fn resolve(&self, ty: &Type) -> Type {
        match ty {
            Type::Parameter(id) => self.find(*id).map_or_else(|| ty.clone(), |t| self.resolve(t)),
            Type::List(item) => Type::list(self.resolve(item)),
            Type::Optional(inner) => Type::optional(self.resolve(inner)),
            Type::Meta(inner) => Type::Meta(Arc::new(self.resolve(inner))),
            Type::Map(key, value) => Type::map(self.resolve(key), self.resolve(value)),
            other => other.clone(),
        }
    }
}

/// Returns whether the first of two types that fit each other says no more than the second.
fn is_as_general(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Dyn | Type::Parameter(_), _) | (Type::Meta(_), Type::Meta(_)) => true,
        (_, Type::Dyn | Type::Parameter(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => is_as_general(a, b),
        (Type::Map(ak, av), Type::Map(bk, bv)) => is_as_general(ak, bk) && is_as_general(av, bv),
        _ => one == other,
    }
}
