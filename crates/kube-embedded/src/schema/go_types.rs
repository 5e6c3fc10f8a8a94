//! The Go structs of the built-in kinds, for details of their JSON that the schema does not contain.
//!
//! The OpenAPI documents do not contain which fields are pointers, which are omitted when empty, and the names of types
//! in messages. The table `go.txt` does (see `xtask/gofacts`).

use std::collections::HashMap;
use std::sync::OnceLock;

use super::Type;

/// The fields of all structs by OpenAPI name.
#[derive(Debug)]
pub(super) struct GoTypes {
    structs: HashMap<&'static str, Vec<GoField>>,
}

/// A field of a Go struct.
#[derive(Debug)]
pub(super) struct GoField {
    pub(super) name: &'static str,
    /// Go's name of the type, with `*` for pointers.
    pub(super) ty: &'static str,
    /// Omitted when empty.
    pub(super) omit_empty: bool,
    /// Omitted when the struct is zero.
    pub(super) omit_zero: bool,
    /// The embedded structs that contain the field, for messages.
    pub(super) via: Option<&'static str>,
}

impl GoTypes {
    pub(super) fn builtin() -> &'static GoTypes {
        static BUILTIN: OnceLock<GoTypes> = OnceLock::new();
        BUILTIN.get_or_init(|| parse(include_str!("go.txt")))
    }

    pub(super) fn fields(&self, openapi_name: &str) -> Option<&[GoField]> {
        self.structs.get(openapi_name).map(Vec::as_slice)
    }
}

fn parse(text: &'static str) -> GoTypes {
    let mut structs: HashMap<&'static str, Vec<GoField>> = HashMap::new();
    let mut current = "";
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        if let Some(name) = line.strip_prefix("type ") {
            current = name;
            structs.entry(name).or_default();
            continue;
        }
        let mut words = line.split_whitespace();
        let (Some(name), Some(ty)) = (words.next(), words.next()) else {
            continue;
        };
        let mut field = GoField {
            name,
            ty,
            omit_empty: false,
            omit_zero: false,
            via: None,
        };
        for option in words {
            match option {
                "omitempty" => field.omit_empty = true,
                "omitzero" => field.omit_zero = true,
                other => field.via = other.strip_prefix("via=").or(field.via),
            }
        }
        structs.entry(current).or_default().push(field);
    }
    GoTypes { structs }
}

/// Returns whether a struct has its own JSON encoding, so that `omitempty` has no effect.
pub(super) fn is_opaque_struct(go: &str) -> bool {
    matches!(
        go,
        "v1.Time" | "v1.MicroTime" | "resource.Quantity" | "intstr.IntOrString" | "runtime.RawExtension"
    )
}

/// Returns Go's name of a type that is not in the table.
pub(super) fn go_name(ty: &Type) -> &'static str {
    match ty {
        Type::String => "string",
        Type::Bool => "bool",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Double => "float64",
        Type::Bytes => "[]uint8",
        Type::Time => "v1.Time",
        Type::IntOrString => "intstr.IntOrString",
        Type::Quantity => "resource.Quantity",
        Type::List(_) => "[]interface {}",
        Type::Any | Type::Ref(_) | Type::Map(_) => "map[string]interface {}",
    }
}
