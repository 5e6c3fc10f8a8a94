//! Parses `types.txt`.
//!
//! Invalid lines panic, because the table is part of the program.

use std::collections::HashMap;

use super::{Field, ListKind, Struct, Type, TypeDef, TypeId, TypeKind, Types};

/// Parses a table of types.
pub(super) fn parse(text: &str) -> Types {
    let lines = || text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let names: Vec<&str> = lines()
        .filter_map(|l| l.strip_prefix("type "))
        .map(first_word)
        .collect();
    let ids: HashMap<&str, TypeId> = (0..).zip(&names).map(|(i, name)| (*name, TypeId(i))).collect();
    let mut types = Types::default();
    let mut current: Option<TypeDef> = None;
    for line in lines() {
        if let Some(head) = line.strip_prefix("type ") {
            if let Some(done) = current.take() {
                types.add(done);
            }
            current = Some(parse_head(head, &ids));
        } else if let Some(TypeDef {
            kind: TypeKind::Struct(s),
            ..
        }) = &mut current
        {
            s.fields.push(parse_field(line, &ids));
        } else {
            panic!("a field outside a struct: {line}");
        }
    }
    types.defs.extend(current);
    types.by_name = ids.into_iter().map(|(name, id)| (name.to_owned(), id)).collect();
    for def in &mut types.defs {
        if let TypeKind::Struct(s) = &mut def.kind {
            s.fields.sort_by(|a, b| a.name.cmp(&b.name));
        }
    }
    types
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or(text)
}

fn parse_head(head: &str, ids: &HashMap<&str, TypeId>) -> TypeDef {
    let mut words = head.split(' ');
    let name = words.next().unwrap_or_default().to_owned();
    let kind = match (words.next(), words.next()) {
        (None, None) | (Some("="), Some("struct")) => TypeKind::Struct(Struct::default()),
        (Some("atomic"), None) => TypeKind::Struct(Struct {
            atomic: true,
            ..Struct::default()
        }),
        (Some("="), Some(ty)) => TypeKind::Alias(parse_type(ty, ids)),
        _ => panic!("cannot read type: {head}"),
    };
    TypeDef { name, kind }
}

fn parse_field(line: &str, ids: &HashMap<&str, TypeId>) -> Field {
    let mut words = line.trim_start().split(' ');
    let name = words.next().unwrap_or_default();
    let (name, required) = match name.strip_suffix('!') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let ty = parse_type(words.next().unwrap_or_default(), ids);
    let mut field = Field {
        required,
        ..Field::plain(name, ty)
    };
    let mut keys = Vec::new();
    for attribute in words {
        match attribute.split_once('=') {
            Some(("patch", strategy)) => {
                for part in strategy.split(',') {
                    match part {
                        "merge" => field.patch_merge = true,
                        "replace" => field.patch_replace = true,
                        "retainKeys" => field.retain_keys = true,
                        _ => panic!("patch strategy {part} in: {line}"),
                    }
                }
            }
            Some(("mergekey", key)) => field.merge_key = Some(key.to_owned()),
            Some(("list", "atomic")) => field.list = ListKind::Atomic,
            Some(("list", "set")) => field.list = ListKind::Set,
            Some(("list", "map")) => field.list = ListKind::Map(Vec::new()),
            Some(("keys", names)) => keys = names.split(',').map(str::to_owned).collect(),
            Some(("default", json)) => {
                field.default = Some(serde_json::from_str(json).expect("a default in JSON"));
            }
            None if attribute == "atomic" => field.atomic = true,
            None if attribute == "present" => field.present = true,
            _ => panic!("attribute {attribute} in: {line}"),
        }
    }
    if let ListKind::Map(names) = &mut field.list {
        *names = keys;
    }
    field
}

fn parse_type(text: &str, ids: &HashMap<&str, TypeId>) -> Type {
    if let Some(item) = text.strip_prefix("[]") {
        return Type::List(Box::new(parse_type(item, ids)));
    }
    if let Some(value) = text.strip_prefix("{}") {
        return Type::Map(Box::new(parse_type(value, ids)));
    }
    if let Some(name) = text.strip_prefix('@') {
        return Type::Ref(*ids.get(name).unwrap_or_else(|| panic!("unknown type {name}")));
    }
    match text {
        "string" => Type::String,
        "bool" => Type::Bool,
        "int32" => Type::Int32,
        "int64" => Type::Int64,
        "double" => Type::Double,
        "bytes" => Type::Bytes,
        "time" => Type::Time,
        "int-or-string" => Type::IntOrString,
        "quantity" => Type::Quantity,
        "any" => Type::Any,
        _ => panic!("cannot read type: {text}"),
    }
}
