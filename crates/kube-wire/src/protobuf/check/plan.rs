//! What there is to check in each message, decided once.

use std::sync::OnceLock;

use super::absent_value;
use crate::table::{Container, Field, Kind, Message, MessageId, Shape, Table, table};

/// All messages, as small as can be: where the processor's caches hold nothing of it, it costs what it is long.
#[derive(Debug)]
pub(super) struct Plan {
    /// By their position in the table.
    messages: Vec<Part>,
    /// By their position in the table, too.
    fields: Vec<Brief>,
    /// How many values any message can have in JSON of which the wire has nothing: in itself, and in messages that are
    /// printed although they are not there.
    pub(super) most_absent: usize,
}

/// A message.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: u16,
    count: u16,
    levels: u8,
    needed: u64,
}

/// What there is to check in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePlan {
    /// As the table has them.
    pub(super) fields: &'static [Brief],
    /// Those of them that must not be missing, a bit each.
    pub(super) needed: u64,
    /// How deep messages are in it that are printed although they are not there.
    pub(super) levels: usize,
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    /// What it begins with on the wire.
    pub(super) tag: u16,
    pub(super) look: Look,
}

/// How closely to look at what a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// Any bytes are good...
    Bytes,
    /// ...and any number.
    Number,
    /// A map of texts: any bytes with any key.
    Texts,
    Message(MessageId),
    /// As closely as the table says.
    Close,
}

impl Plan {
    /// That of the table.
    pub(super) fn get() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        PLAN.get_or_init(|| Plan::of(table()))
    }

    fn of(table: &Table) -> Plan {
        let messages = table.ids().map(|id| {
            let message = table.message(id);
            Part {
                first: message.first_field,
                count: message.field_count,
                levels: levels(table, message),
                needed: needed(table, message),
            }
        });
        let fields = table.all_fields().iter().map(|field| Brief {
            tag: field.tag,
            look: look(field),
        });
        let most_absent = table.ids().map(|id| absent(table, table.message(id))).max();
        Plan {
            messages: messages.collect(),
            fields: fields.collect(),
            most_absent: most_absent.unwrap_or_default() + 1,
        }
    }

    #[inline]
    pub(super) fn message(&'static self, id: MessageId) -> MessagePlan {
        let part = &self.messages[id.position()];
        let first = usize::from(part.first);
        MessagePlan {
            fields: &self.fields[first..first + usize::from(part.count)],
            needed: part.needed,
            levels: part.levels.into(),
        }
    }
}

fn look(field: &Field) -> Look {
    match (field.container, field.kind) {
        (Container::One | Container::List, Kind::String | Kind::Bytes) => Look::Bytes,
        (Container::One | Container::List, Kind::Bool | Kind::Int32 | Kind::Int64) => Look::Number,
        (Container::Map, Kind::String) => Look::Texts,
        // Where it must not be nothing, one has to see whether it is.
        (Container::One | Container::List, Kind::Message(id))
            if field.pointer || id.shape != Shape::SchemaOrList =>
        {
            Look::Message(id)
        }
        _ => Look::Close,
    }
}

/// The fields of a message, with their positions, that are printed although they may not be there.
fn printed<'t>(table: &'t Table, message: &'t Message) -> impl Iterator<Item = (usize, &'t Field)> {
    let fields = table.fields(message).iter().enumerate();
    fields.filter(|(at, _)| message.always_printed & (1 << at) != 0)
}

/// The message that is printed in place of a field that is not there.
fn printed_message(field: &Field) -> Option<MessageId> {
    match field.kind {
        // Lists and maps that are not there are nothing.
        Kind::Message(id) if field.container == Container::One && !field.pointer => Some(id),
        _ => None,
    }
}

/// The fields of a message, a bit each by position, without which it is not good.
fn needed(table: &Table, message: &Message) -> u64 {
    let can_be_absent = |field: &Field| match printed_message(field) {
        Some(id) => id.shape != Shape::SchemaOrList && needed(table, table.message(id)) == 0,
        None => field.container != Container::One || absent_value(field).is_ok(),
    };
    printed(table, message)
        .filter(|(_, field)| !can_be_absent(field))
        .fold(0, |bits, (at, _)| bits | 1 << at)
}

/// How many messages deep a message is of which the wire has nothing.
fn levels(table: &Table, message: &Message) -> u8 {
    printed(table, message)
        .filter_map(|(_, field)| printed_message(field))
        .map(|id| 1 + levels(table, table.message(id)))
        .max()
        .unwrap_or_default()
}

/// How many values a message has in JSON of which the wire has nothing.
fn absent(table: &Table, message: &Message) -> usize {
    printed(table, message).fold(0, |sum: usize, (_, field)| {
        let inside = printed_message(field).map_or(0, |id| absent(table, table.message(id)));
        sum + 1 + inside
    })
}
