//! Decodes JSON of clients to built-in types, and encodes it in canonical form.
//!
//! Unknown fields are dropped and reported, and null means absent. Quantities, times and bytes get their canonical
//! form. Empty fields are dropped or added as the Go types require. Decoding is idempotent.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::go_types::{GoField, GoTypes, go_name, is_opaque_struct};
use super::quantity::Quantity;
use super::{Resolved, Struct, Type, TypeKind, Types, base64_text};
use crate::golang::{Precision, canonical_time, json_type_name};
use crate::status::Status;

/// A decoded object, and messages about it.
#[derive(Debug)]
pub(crate) struct DecodeResult {
    pub(crate) object: Value,
    /// One message per unknown field, for example `unknown field "spec.replica"`.
    pub(crate) unknown: Vec<String>,
}

/// Decodes `value` to the type `ty`. `kind` and `api_version` are for error messages.
pub(crate) fn decode(
    types: &Types,
    ty: &Type,
    kind: &str,
    api_version: &str,
    value: Value,
) -> Result<DecodeResult, Status> {
    let mut decoder = Decoder {
        types,
        go: GoTypes::builtin(),
        at: Vec::new(),
        go_path: Vec::new(),
        holder: None,
        unknown: Vec::new(),
        first_error: None,
    };
    let read = decoder.value(value, ty, &qualified_root(types, ty));
    let failure = match read {
        Ok(read) if decoder.first_error.is_none() => {
            return Ok(DecodeResult {
                object: read.value,
                unknown: decoder.unknown,
            });
        }
        Ok(_) => decoder.first_error.unwrap_or_default(),
        Err(failure) => failure,
    };
    Err(cannot_be_handled(kind, api_version, &failure))
}

/// Returns the error of an object that cannot be decoded.
pub(crate) fn cannot_be_handled(kind: &str, api_version: &str, why: &str) -> Status {
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    Status::undecodable(kind, version, kind, why)
}

/// Returns the error of unknown or duplicate fields in strict decoding.
pub(crate) fn strict_failure(kind: &str, api_version: &str, problems: &[String]) -> Status {
    let why = format!("strict decoding error: {}", problems.join(", "));
    cannot_be_handled(kind, api_version, &why)
}

fn qualified_root(types: &Types, ty: &Type) -> String {
    match ty {
        Type::Ref(id) => {
            let name = &types.get(*id).name;
            let mut parts = name.rsplit('.');
            let (kind, package) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            format!("{package}.{kind}")
        }
        other => go_name(other).to_owned(),
    }
}

/// A value in canonical form.
struct FieldValue {
    value: Value,
    /// Whether the value is Go's zero value, like an absent field.
    zero: bool,
}

impl FieldValue {
    fn set(value: impl Into<Value>) -> FieldValue {
        FieldValue {
            value: value.into(),
            zero: false,
        }
    }

    fn zero(value: impl Into<Value>) -> FieldValue {
        FieldValue {
            value: value.into(),
            zero: true,
        }
    }
}

/// An error that ends decoding.
type DecodeError = String;

struct Decoder<'a> {
    types: &'a Types,
    go: &'static GoTypes,
    /// Path of the current value in strict errors, with indices and map keys.
    at: Vec<Cow<'static, str>>,
    /// Path of the current value in Go's errors: only field names and embedded structs.
    go_path: Vec<Cow<'static, str>>,
    /// Go name of the struct that contains the current field.
    holder: Option<&'a str>,
    unknown: Vec<String>,
    first_error: Option<String>,
}

impl<'a> Decoder<'a> {
    fn value(&mut self, value: Value, ty: &'a Type, go: &str) -> Result<FieldValue, DecodeError> {
        let go = go.trim_start_matches('*');
        if let Type::Ref(id) = ty {
            let def = self.types.get(*id);
            return match &def.kind {
                TypeKind::Struct(s) => self.structure(value, s, &def.name, go),
                TypeKind::Alias(to) => self.value(value, to, go),
            };
        }
        match self.types.resolve(ty) {
            Resolved::List(item) => self.list(value, item, go),
            Resolved::Map(item) => self.map(value, item, go),
            Resolved::Scalar(scalar) => self.scalar(value, scalar, go),
            Resolved::Struct(_) => Ok(FieldValue::set(value)),
        }
    }

    fn mismatch(&self, found: &str, go: &str) -> String {
        match &self.holder {
            Some(holder) => format!(
                "json: cannot unmarshal {found} into Go struct field {holder}.{} of type {go}",
                self.go_path.join(".")
            ),
            None => format!("json: cannot unmarshal {found} into Go value of type {go}"),
        }
    }

    fn mismatch_value(&mut self, found: &str, go: &str) -> FieldValue {
        let message = self.mismatch(found, go);
        self.first_error.get_or_insert(message);
        FieldValue::zero(Value::Null)
    }

    fn structure(
        &mut self,
        value: Value,
        schema: &'a Struct,
        name: &'a str,
        go: &str,
    ) -> Result<FieldValue, DecodeError> {
        let given = match value {
            Value::Object(fields) => Some(fields),
            Value::Null => None,
            other => return Ok(self.mismatch_value(json_type_name(&other), go)),
        };
        let zero = given.is_none();
        let mut given = given.unwrap_or_default();
        let Some(fields) = self.go.fields(name) else {
            return self.without_go(given, schema);
        };
        let outer = self.holder.replace(name.rsplit('.').next().unwrap_or(name));
        let mut out = Map::new();
        let mut all_zero = true;
        for field in fields {
            let item = given.remove(field.name);
            let Some(ty) = schema.field(field.name).map(|f| &f.ty) else {
                continue;
            };
            if let Some(read) = self.field(item, field, ty)? {
                all_zero &= read.zero;
                out.insert(field.name.to_owned(), read.value);
            }
        }
        self.holder = outer;
        for name in given.keys() {
            self.report_unknown(name);
        }
        Ok(FieldValue {
            value: Value::Object(out),
            zero: zero || all_zero,
        })
    }

    /// Decodes a field. Returns `None` if it is omitted from the output.
    fn field(
        &mut self,
        item: Option<Value>,
        field: &'static GoField,
        ty: &'a Type,
    ) -> Result<Option<FieldValue>, DecodeError> {
        let pointer = field.ty.starts_with('*');
        let item = item.filter(|v| !v.is_null());
        if item.is_none() && (pointer || field.omit_zero) {
            let hidden = field.omit_empty || field.omit_zero;
            return Ok((!hidden).then(|| FieldValue::zero(Value::Null)));
        }
        let depth = self.go_path.len();
        self.go_path.extend(field.via.map(Cow::Borrowed));
        self.go_path.push(field.name.into());
        self.at.push(field.name.into());
        let read = self.value(item.unwrap_or(Value::Null), ty, field.ty)?;
        self.at.pop();
        self.go_path.truncate(depth);
        if pointer {
            return Ok(Some(FieldValue { zero: false, ..read }));
        }
        let empty = !is_opaque_struct(field.ty)
            && match &read.value {
                Value::Null => true,
                Value::Bool(b) => !b,
                Value::Number(n) => n.as_f64() == Some(0.0),
                Value::String(s) => s.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(_) => false,
            };
        let hidden = (field.omit_empty && empty) || (field.omit_zero && read.zero);
        Ok((!hidden).then_some(read))
    }

    fn report_unknown(&mut self, name: &str) {
        let mut path = String::new();
        for part in self.at.iter().map(AsRef::as_ref).chain([name]) {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        if self.unknown.len() < 100 {
            self.unknown.push(format!("unknown field {path:?}"));
        }
    }

    /// Decodes a struct without a Go type, for custom resources. Its fields are unchanged.
    fn without_go(
        &mut self,
        given: Map<String, Value>,
        schema: &'a Struct,
    ) -> Result<FieldValue, DecodeError> {
        let mut out = Map::new();
        for (name, value) in given {
            match schema.field(&name) {
                Some(field) if !value.is_null() => {
                    let depth = self.go_path.len();
                    self.go_path.push(name.clone().into());
                    self.at.push(name.clone().into());
                    let read = self.value(value, &field.ty, go_name(&field.ty))?;
                    self.at.pop();
                    self.go_path.truncate(depth);
                    out.insert(name, read.value);
                }
                Some(_) => {}
                None if schema.open => {
                    out.insert(name, value);
                }
                None => self.report_unknown(&name),
            }
        }
        Ok(FieldValue::set(out))
    }

    fn list(&mut self, value: Value, item: &'a Type, go: &str) -> Result<FieldValue, DecodeError> {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return Ok(FieldValue::zero(Value::Null)),
            other => return Ok(self.mismatch_value(json_type_name(&other), go)),
        };
        let item_go = go.strip_prefix("[]").unwrap_or_else(|| go_name(item));
        let mut out = Vec::with_capacity(items.len());
        for (index, value) in items.into_iter().enumerate() {
            self.at.push(format!("[{index}]").into());
            out.push(self.value(value, item, item_go)?.value);
            self.at.pop();
        }
        if out.is_empty() {
            return Ok(FieldValue::zero(Value::Null));
        }
        Ok(FieldValue::set(out))
    }

    fn map(&mut self, value: Value, item: &'a Type, go: &str) -> Result<FieldValue, DecodeError> {
        let entries = match value {
            Value::Object(entries) => entries,
            Value::Null => return Ok(FieldValue::zero(Value::Null)),
            other => return Ok(self.mismatch_value(json_type_name(&other), go)),
        };
        let item_go = match go.strip_prefix("map[").and_then(|g| g.split_once(']')) {
            Some((_, of)) => of,
            None => go_name(item),
        };
        let mut out = Map::new();
        for (key, value) in entries {
            self.at.push(key.into());
            let mut read = self.value(value, item, item_go)?;
            let key = self.at.pop().unwrap_or_default().into_owned();
            if read.value.is_null() && self.types.is_bytes(item) {
                read.value = Value::String(String::new());
            }
            out.insert(key, read.value);
        }
        if out.is_empty() {
            return Ok(FieldValue::zero(Value::Null));
        }
        Ok(FieldValue::set(out))
    }

    fn scalar(&mut self, value: Value, ty: &Type, go: &str) -> Result<FieldValue, DecodeError> {
        Ok(match (ty, value) {
            (Type::Any | Type::Bytes | Type::Time, Value::Null) => FieldValue::zero(Value::Null),
            (Type::Any, value) => FieldValue::set(value),
            (Type::String, Value::String(text)) => FieldValue {
                zero: text.is_empty(),
                value: text.into(),
            },
            (Type::String, Value::Null) => FieldValue::zero(""),
            (Type::Bool, Value::Bool(b)) => FieldValue {
                zero: !b,
                value: b.into(),
            },
            (Type::Bool, Value::Null) => FieldValue::zero(false),
            (Type::Int32 | Type::Int64 | Type::Double | Type::IntOrString, Value::Null) => {
                FieldValue::zero(0)
            }
            (Type::Int32 | Type::Int64, Value::Number(n)) => self.integer(&n, ty, go),
            (Type::Double, Value::Number(n)) => FieldValue::set(n),
            (Type::Bytes, Value::Array(items)) => self.byte_list(&items),
            (Type::Bytes, Value::String(text)) => match base64_text::canonical(&text) {
                Ok(text) => FieldValue::set(text),
                Err(at) => {
                    let message = format!("illegal base64 data at input byte {at}");
                    self.first_error.get_or_insert(message);
                    FieldValue::zero(Value::Null)
                }
            },
            (Type::Time, Value::String(text)) => match canonical_time(&text, precision(go))? {
                Some(text) => FieldValue::set(text),
                None => FieldValue::zero(Value::Null),
            },
            (Type::Time, other) => return Err(self.mismatch(json_type_name(&other), "string")),
            (Type::Quantity, Value::Null) => FieldValue::zero("0"),
            (Type::Quantity, value) => FieldValue::set(quantity(&value)?),
            (Type::IntOrString, Value::String(text)) => FieldValue::set(text),
            (Type::IntOrString, Value::Number(n)) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
                FieldValue::set(n)
            }
            (Type::IntOrString, Value::Number(n)) => {
                return Err(self.mismatch(&format!("number {n}"), "int32"));
            }
            (Type::IntOrString, other) => return Err(self.mismatch(json_type_name(&other), "int32")),
            (_, other) => self.mismatch_value(json_type_name(&other), go),
        })
    }

    /// Decodes bytes from a list of numbers, like Go.
    fn byte_list(&mut self, items: &[Value]) -> FieldValue {
        let mut bytes = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Null => bytes.push(0),
                Value::Number(n) => match n.as_u64().and_then(|n| u8::try_from(n).ok()) {
                    Some(byte) => bytes.push(byte),
                    None => return self.mismatch_value(&format!("number {n}"), "uint8"),
                },
                other => return self.mismatch_value(json_type_name(other), "uint8"),
            }
        }
        FieldValue::set(STANDARD.encode(bytes))
    }

    fn integer(&mut self, number: &serde_json::Number, ty: &Type, go: &str) -> FieldValue {
        let fits = |n: &i64| *ty == Type::Int64 || i32::try_from(*n).is_ok();
        match number.as_i64().filter(fits) {
            Some(n) => FieldValue {
                value: n.into(),
                zero: n == 0,
            },
            None => self.mismatch_value(&format!("number {number}"), go),
        }
    }
}

fn precision(go: &str) -> Precision {
    if go.ends_with("MicroTime") {
        Precision::Micros
    } else {
        Precision::Seconds
    }
}

fn quantity(value: &Value) -> Result<String, DecodeError> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Quantity::canonical(&text).map_err(str::to_owned)
}
