//! Reads `messages.txt`.
//!
//! The table is part of the program, so a line that cannot be read is a bug that the first test finds: it panics.

use super::{Container, Field, Glance, Kind, LeftOut, Message, MessageId, Omitted, Shape, Table, Way};

pub(super) fn parse(text: &'static str) -> Table {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let mut table = Table::default();
    let mut package = "";
    for line in lines() {
        if let Some(name) = line.strip_prefix("package ") {
            package = name;
        } else if let Some(head) = line.strip_prefix("message ") {
            table.messages.push(message(package, head));
        }
    }
    let mut section = Section::Kinds("", "");
    for line in lines() {
        if let Some(entry) = line.strip_prefix(' ') {
            match &mut section {
                Section::Kinds(api_version, package) => {
                    let id = named(&table, package, entry);
                    table.kinds.push((api_version, entry, id));
                }
                Section::Message(package, at) => {
                    let field = field(&table, package, entry);
                    table.fields.push(field);
                    table.messages[*at].field_count += 1;
                }
                Section::Package(_, _) => panic!("a field outside a message: {line}"),
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
        let way = table.way(&table.fields[at]);
        let field = &mut table.fields[at];
        field.way = way;
        field.tag = field.tag();
        field.glance = field.glance();
    }
    for at in 0..table.messages.len() {
        table.messages[at].always_printed = always_printed(&table, &table.messages[at]);
    }
    table
}

fn always_printed(table: &Table, message: &Message) -> u64 {
    let fields = table.fields(message);
    assert!(fields.len() <= 64, "{} has too many fields", message.name);
    // What is no object in JSON has no fields there.
    if message.shape != Shape::Object {
        return 0;
    }
    fields.iter().rev().fold(0, |bits, field| {
        bits << 1 | u64::from(table.is_always_printed(field))
    })
}

/// What an indented line belongs to.
#[derive(Clone, Copy)]
enum Section {
    /// apiVersion, package
    Kinds(&'static str, &'static str),
    /// package, position of the message that comes next
    Package(&'static str, usize),
    /// package, position of the message
    Message(&'static str, usize),
}

impl Section {
    fn next(self, line: &'static str) -> Self {
        match (line.split_once(' '), self) {
            (Some(("kinds", rest)), _) => match rest.split_once(' ') {
                Some((api_version, package)) => Self::Kinds(api_version, package),
                None => panic!("kinds of no package: {line}"),
            },
            (Some(("package", package)), Self::Message(_, at)) => Self::Package(package, at + 1),
            (Some(("package", package)), _) => Self::Package(package, 0),
            (Some(("message", _)), Self::Package(package, at)) => Self::Message(package, at),
            (Some(("message", _)), Self::Message(package, at)) => Self::Message(package, at + 1),
            _ => panic!("cannot read {line}"),
        }
    }
}

fn message(package: &'static str, head: &'static str) -> Message {
    let (name, shape) = head.split_once(' ').unwrap_or((head, ""));
    let shape = match shape {
        "" => Shape::Object,
        "list" => Shape::List,
        "schema-or-bool" => Shape::SchemaOrBool,
        "schema-or-schemas" | "schema-or-strings" => Shape::SchemaOrList,
        _ => panic!("cannot read message {head}"),
    };
    Message {
        package,
        name,
        shape,
        first_field: 0,
        field_count: 0,
        always_printed: 0,
    }
}

fn field(table: &Table, package: &str, entry: &'static str) -> Field {
    let mut words = entry.split(' ');
    let (Some(number), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) else {
        panic!("cannot read field {entry}");
    };
    let (container, kind) = if let Some(kind) = kind.strip_prefix("[]") {
        (Container::List, kind)
    } else if let Some(kind) = kind.strip_prefix("{}") {
        (Container::Map, kind)
    } else {
        (Container::One, kind)
    };
    let mut field = Field {
        number: number.parse().expect("field numbers are small"),
        name,
        container,
        kind: kind_of(table, package, kind),
        pointer: false,
        inline: false,
        omitted: Omitted::Never,
        way: Way::One(LeftOut::Never),
        tag: 0,
        glance: Glance::None,
    };
    for flag in words {
        match flag {
            "pointer" => field.pointer = true,
            "inline" => field.inline = true,
            "omitempty" => field.omitted = Omitted::WhenEmpty,
            "omitzero" => field.omitted = Omitted::WhenZeroTime,
            _ => panic!("cannot read field {entry}"),
        }
    }
    field
}

fn kind_of(table: &Table, package: &str, word: &str) -> Kind {
    match word {
        "string" => Kind::String,
        "bool" => Kind::Bool,
        "int32" => Kind::Int32,
        "int64" => Kind::Int64,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "time" => Kind::Time,
        "micro-time" => Kind::MicroTime,
        "quantity" => Kind::Quantity,
        "int-or-string" => Kind::IntOrString,
        "json" => Kind::Json,
        _ => match word.strip_prefix('@') {
            Some(name) => {
                let (package, name) = name.rsplit_once('.').unwrap_or((package, name));
                Kind::Message(named(table, package, name))
            }
            None => panic!("cannot read type {word}"),
        },
    }
}

fn named(table: &Table, package: &str, name: &str) -> MessageId {
    match table.find(package, name) {
        Some(id) => id,
        None => panic!("there is no message {package}.{name}"),
    }
}

fn position(at: usize) -> u16 {
    u16::try_from(at).expect("the table has less than 65,536 lines")
}
