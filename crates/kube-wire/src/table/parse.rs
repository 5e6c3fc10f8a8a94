//! Parser for `messages.txt`.
//!
//! The table is part of the program, so the parser panics on invalid lines: every test finds them.

use super::{
    Container, FastPath, FieldDescriptor, MessageDescriptor, MessageId, OmitRule, OmittedValue, ReadMethod,
    Shape, Table, ValueKind,
};

pub(super) fn parse(text: &'static str) -> Table {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let mut table = Table::default();
    let mut package = "";
    for line in lines() {
        if let Some(name) = line.strip_prefix("package ") {
            package = name;
        } else if let Some(head) = line.strip_prefix("message ") {
            table.messages.push(parse_message(package, head));
        }
    }
    let mut section = Section::Kinds("", "");
    for line in lines() {
        if let Some(entry) = line.strip_prefix(' ') {
            match &mut section {
                Section::Kinds(api_version, package) => {
                    let id = message_id(&table, package, entry);
                    table.kinds.push((api_version, entry, id));
                }
                Section::Message(package, at) => {
                    let field = parse_field(&table, package, entry);
                    table.fields.push(field);
                    table.messages[*at].field_count += 1;
                }
                Section::Package(_, _) => panic!("field outside of a message: {line}"),
            }
        } else {
            section = section.next(line);
            if let Section::Message(_, at) = section {
                table.messages[at].first_field = position(table.fields.len());
            }
        }
    }
    table
        .kinds
        .sort_unstable_by_key(|(api_version, kind, _)| (*api_version, *kind));
    for at in 0..table.fields.len() {
        let read_method = table.read_method(&table.fields[at]);
        let field = &mut table.fields[at];
        field.read_method = read_method;
        field.tag = field.tag();
        field.fast_path = field.fast_path();
    }
    for at in 0..table.messages.len() {
        table.messages[at].always_printed = always_printed(&table, &table.messages[at]);
    }
    table
}

fn always_printed(table: &Table, message: &MessageDescriptor) -> u64 {
    let fields = table.fields(message);
    assert!(fields.len() <= 64, "{} has too many fields", message.name);
    // Other shapes have no fields in JSON.
    if message.shape != Shape::Object {
        return 0;
    }
    fields.iter().rev().fold(0, |bits, field| {
        bits << 1 | u64::from(table.is_always_printed(field))
    })
}

/// The section that an indented line belongs to.
#[derive(Clone, Copy)]
enum Section {
    /// apiVersion, package
    Kinds(&'static str, &'static str),
    /// package, position of the next message
    Package(&'static str, usize),
    /// package, position of the message
    Message(&'static str, usize),
}

impl Section {
    fn next(self, line: &'static str) -> Self {
        match (line.split_once(' '), self) {
            (Some(("kinds", rest)), _) => match rest.split_once(' ') {
                Some((api_version, package)) => Self::Kinds(api_version, package),
                None => panic!("kinds without a package: {line}"),
            },
            (Some(("package", package)), Self::Message(_, at)) => Self::Package(package, at + 1),
            (Some(("package", package)), _) => Self::Package(package, 0),
            (Some(("message", _)), Self::Package(package, at)) => Self::Message(package, at),
            (Some(("message", _)), Self::Message(package, at)) => Self::Message(package, at + 1),
            _ => panic!("invalid line: {line}"),
        }
    }
}

fn parse_message(package: &'static str, head: &'static str) -> MessageDescriptor {
    let (name, shape) = head.split_once(' ').unwrap_or((head, ""));
    let shape = match shape {
        "" => Shape::Object,
        "list" => Shape::List,
        "schema-or-bool" => Shape::SchemaOrBool,
        "schema-or-schemas" | "schema-or-strings" => Shape::SchemaOrList,
        _ => panic!("invalid message: {head}"),
    };
    MessageDescriptor {
        package,
        name,
        shape,
        first_field: 0,
        field_count: 0,
        always_printed: 0,
    }
}

fn parse_field(table: &Table, package: &str, entry: &'static str) -> FieldDescriptor {
    let mut words = entry.split(' ');
    let (Some(number), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) else {
        panic!("invalid field: {entry}");
    };
    let (container, kind) = if let Some(kind) = kind.strip_prefix("[]") {
        (Container::List, kind)
    } else if let Some(kind) = kind.strip_prefix("{}") {
        (Container::Map, kind)
    } else {
        (Container::Single, kind)
    };
    let mut field = FieldDescriptor {
        number: number.parse().expect("field number fits in u16"),
        name,
        container,
        kind: parse_value_kind(table, package, kind),
        pointer: false,
        inline: false,
        omit_rule: OmitRule::Never,
        read_method: ReadMethod::Single(OmittedValue::None),
        tag: 0,
        fast_path: FastPath::None,
    };
    for flag in words {
        match flag {
            "pointer" => field.pointer = true,
            "inline" => field.inline = true,
            "omitempty" => field.omit_rule = OmitRule::WhenEmpty,
            "omitzero" => field.omit_rule = OmitRule::WhenZeroTime,
            _ => panic!("invalid field: {entry}"),
        }
    }
    field
}

fn parse_value_kind(table: &Table, package: &str, word: &str) -> ValueKind {
    match word {
        "string" => ValueKind::String,
        "bool" => ValueKind::Bool,
        "int32" => ValueKind::Int32,
        "int64" => ValueKind::Int64,
        "double" => ValueKind::Double,
        "bytes" => ValueKind::Bytes,
        "time" => ValueKind::Time,
        "micro-time" => ValueKind::MicroTime,
        "quantity" => ValueKind::Quantity,
        "int-or-string" => ValueKind::IntOrString,
        "json" => ValueKind::Json,
        _ => match word.strip_prefix('@') {
            Some(name) => {
                let (package, name) = name.rsplit_once('.').unwrap_or((package, name));
                ValueKind::Message(message_id(table, package, name))
            }
            None => panic!("unknown type: {word}"),
        },
    }
}

fn message_id(table: &Table, package: &str, name: &str) -> MessageId {
    match table.find(package, name) {
        Some(id) => id,
        None => panic!("unknown message: {package}.{name}"),
    }
}

fn position(at: usize) -> u16 {
    u16::try_from(at).expect("position fits in u16")
}
