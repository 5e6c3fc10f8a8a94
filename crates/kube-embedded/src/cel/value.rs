//! The values of expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::civil::DateTime;

use super::functions::authorization::{PermissionCheck, PermissionDecision};
use super::functions::{semver::Semver, url::Url};
use crate::schema::quantity::Quantity;

/// The value of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    /// A moment in UTC.
    Timestamp(DateTime),
    List(List),
    Map(Arc<BTreeMap<Key, Value>>),
    Optional(Option<Arc<Value>>),
    /// A type, by its name.
    Type(Arc<str>),
    Quantity(Arc<Quantity>),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Semver(Arc<Semver>),
    /// A named format, such as `dns1123Label`.
    Format(&'static str),
    /// `authorizer`, or a check that it makes.
    Check(Arc<PermissionCheck>),
    /// The result of a check.
    Decision(Arc<PermissionDecision>),
    /// Data without a schema; it can only be compared.
    Unknown(Arc<serde_json::Value>),
    /// Data that does not fit its schema; any use of it is this error.
    Invalid(Arc<str>),
}

/// A list, and how it is compared with others.
#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) items: Arc<Vec<Value>>,
    pub(crate) identity: Identity,
}

/// What makes two items of a list the same one.
#[derive(Debug, Clone, Default)]
pub(crate) enum Identity {
    #[default]
    Position,
    /// The list is a set.
    Value,
    /// The list is a map with these fields as its keys.
    Keys(Arc<[String]>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    /// A whole number of any type.
    Number(i128),
    String(Arc<str>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::List(List {
            items: Arc::new(items),
            identity: Identity::Position,
        })
    }
}

/// Data without a schema: objects become maps, and whole numbers integers.
impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Value {
        use serde_json::Value as Json;
        match json {
            Json::Null => Value::Null,
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => match n.as_i64() {
                Some(n) => Value::Int(n),
                None => Value::Double(n.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::from(text.as_str()),
            Json::Array(items) => Value::from(items.iter().map(Value::from).collect::<Vec<Value>>()),
            Json::Object(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, field)| (Key::String(name.as_str().into()), Value::from(field)));
                Value::Map(Arc::new(fields.collect()))
            }
        }
    }
}

impl From<&Key> for Value {
    fn from(key: &Key) -> Value {
        match key {
            Key::Bool(b) => Value::Bool(*b),
            Key::Number(n) => match i64::try_from(*n) {
                Ok(n) => Value::Int(n),
                Err(_) => u64::try_from(*n).map_or(Value::Null, Value::Uint),
            },
            Key::String(text) => Value::String(text.clone()),
        }
    }
}

impl Value {
    pub(crate) fn some(value: Value) -> Value {
        Value::Optional(Some(Arc::new(value)))
    }

    /// Returns the value as a key of a map, if it can be one.
    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Value::Bool(b) => Key::Bool(*b),
            Value::Int(n) => Key::Number((*n).into()),
            Value::Uint(n) => Key::Number((*n).into()),
            Value::Double(d) => Key::Number(whole(*d)?),
            Value::String(text) => Key::String(text.clone()),
            _ => return None,
        })
    }

    /// Returns the name of the value's type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Optional(_) => "optional_type",
            Value::Type(_) => "type",
            Value::Quantity(_) => "kubernetes.Quantity",
            Value::Url(_) => "kubernetes.URL",
            Value::Ip(_) => "net.IP",
            Value::Cidr(..) => "net.CIDR",
            Value::Semver(_) => "kubernetes.Semver",
            Value::Format(_) => "kubernetes.NamedFormat",
            Value::Check(check) => check.target.type_name(),
            Value::Decision(_) => "kubernetes.authorization.Decision",
            Value::Unknown(_) | Value::Invalid(_) => "unknown",
        }
    }

    /// Returns how much there is to look at, as the cost of functions is measured.
    pub(super) fn size(&self) -> u64 {
        let size = match self {
            Value::String(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.items.len(),
            Value::Map(map) => map.len(),
            Value::Optional(Some(inner)) => return inner.size(),
            _ => 1,
        };
        size as u64
    }

    /// Returns whether the value is the zero of its type.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Value::Null | Value::Optional(None) => true,
            Value::Bool(b) => !b,
            Value::Int(n) | Value::Duration(n) => *n == 0,
            Value::Uint(n) => *n == 0,
            Value::Double(d) => *d == 0.0,
            Value::String(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::List(list) => list.items.is_empty(),
            Value::Map(map) => map.is_empty(),
            _ => false,
        }
    }

    /// Returns whether two values are equal; values of different types are not, except for numbers.
    pub(super) fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(a), Value::String(b)) | (Value::Type(a), Value::Type(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Value::List(a), Value::List(b)) => a.equals(b),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(k, v)| b.get(k).is_some_and(|other| v.equals(other)))
            }
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => a.equals(b),
            (Value::Quantity(a), Value::Quantity(b)) => a.compare(b) == Ordering::Equal,
            (Value::Url(a), Value::Url(b)) => a == b,
            (Value::Ip(a), Value::Ip(b)) => a == b,
            (Value::Cidr(a, n), Value::Cidr(b, m)) => a == b && n == m,
            (Value::Semver(a), Value::Semver(b)) => a.compare(b) == Ordering::Equal,
            (Value::Format(a), Value::Format(b)) => a == b,
            (Value::Check(a), Value::Check(b)) => Arc::ptr_eq(a, b),
            (Value::Decision(a), Value::Decision(b)) => Arc::ptr_eq(a, b),
            (Value::Unknown(a), Value::Unknown(b)) => a == b,
            _ => self.is_number() && self.compare(other) == Some(Ordering::Equal),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Uint(_) | Value::Double(_))
    }

    /// Returns the order of two values, if they have one.
    pub(super) fn compare(&self, other: &Value) -> Option<Ordering> {
        Some(match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
            (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
            (Value::Int(a), Value::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Value::Uint(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Value::Double(a), Value::Double(b)) => return a.partial_cmp(b),
            (Value::Int(a), Value::Double(b)) => return compare_whole((*a).into(), *b),
            (Value::Uint(a), Value::Double(b)) => return compare_whole((*a).into(), *b),
            (Value::Double(a), Value::Int(b)) => {
                return compare_whole((*b).into(), *a).map(Ordering::reverse);
            }
            (Value::Double(a), Value::Uint(b)) => {
                return compare_whole((*b).into(), *a).map(Ordering::reverse);
            }
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

impl List {
    fn equals(&self, other: &List) -> bool {
        let (a, b) = (&self.items, &other.items);
        if a.len() != b.len() {
            return false;
        }
        if matches!(self.identity, Identity::Position) {
            return a.iter().zip(b.iter()).all(|(a, b)| a.equals(b));
        }
        let index = Index::of(&self.identity, a);
        b.iter()
            .all(|item| index.find(a, item).is_some_and(|at| a[at].equals(item)))
    }

    /// Returns this list with the items of another: a set takes what it does not have, a map replaces what it has.
    pub(super) fn plus(&self, other: &List) -> List {
        let mut items = (*self.items).clone();
        let mut index = Index::of(&self.identity, &items);
        for item in other.items.iter() {
            if let Some(at) = index.find(&items, item) {
                items[at] = item.clone();
            } else {
                index.add(item, items.len());
                items.push(item.clone());
            }
        }
        List {
            items: Arc::new(items),
            identity: self.identity.clone(),
        }
    }
}

/// Finds items of a list by what makes them the same.
struct Index<'a> {
    identity: &'a Identity,
    places: BTreeMap<Vec<Option<Key>>, usize>,
    /// Places of items that have no key, such as lists in a set.
    others: Vec<usize>,
}

impl<'a> Index<'a> {
    fn of(identity: &'a Identity, items: &[Value]) -> Index<'a> {
        let mut index = Index {
            identity,
            places: BTreeMap::new(),
            others: Vec::new(),
        };
        for (at, item) in items.iter().enumerate() {
            index.add(item, at);
        }
        index
    }

    fn add(&mut self, item: &Value, at: usize) {
        match self.key(item) {
            Some(key) => {
                self.places.entry(key).or_insert(at);
            }
            None => self.others.push(at),
        }
    }

    fn find(&self, items: &[Value], item: &Value) -> Option<usize> {
        if matches!(self.identity, Identity::Position) {
            return None;
        }
        match self.key(item) {
            Some(key) => self.places.get(&key).copied(),
            None => self.others.iter().copied().find(|at| items[*at].equals(item)),
        }
    }

    fn key(&self, item: &Value) -> Option<Vec<Option<Key>>> {
        match (self.identity, item) {
            (Identity::Value, item) => Some(vec![Some(identity_key(item)?)]),
            (Identity::Keys(keys), Value::Map(fields)) => keys
                .iter()
                .map(|key| match fields.get(&Key::String(key.as_str().into())) {
                    Some(value) => identity_key(value).map(Some),
                    None => Some(None),
                })
                .collect(),
            _ => None,
        }
    }
}

/// A key for any scalar; items of one list have the same type.
fn identity_key(value: &Value) -> Option<Key> {
    match value {
        Value::Double(d) => Some(Key::String(format!("{d}").into())),
        Value::Timestamp(at) => Some(Key::String(at.to_string().into())),
        Value::Duration(nanoseconds) => Some(Key::Number((*nanoseconds).into())),
        Value::Bytes(bytes) => Some(Key::String(format!("{bytes:?}").into())),
        other => other.key(),
    }
}

/// The limits of what a double can be to be a whole number here.
const LIMIT: f64 = 1e19;

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within the limit"
)]
fn whole(double: f64) -> Option<i128> {
    (double.fract() == 0.0 && double.abs() < LIMIT).then_some(double as i128)
}

/// Compares a whole number with a double, without loss.
fn compare_whole(number: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double.abs() >= LIMIT {
        return Some(if double > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    let floor = whole(double.floor())?;
    Some(number.cmp(&floor).then(if double.fract() == 0.0 {
        Ordering::Equal
    } else {
        Ordering::Less
    }))
}
