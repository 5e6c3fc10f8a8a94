//! Precomputed checks for every message.

use std::sync::OnceLock;

use super::absent_value;
use crate::table::{
    Container, FieldDescriptor, MessageDescriptor, MessageId, Shape, Table, ValueKind, table,
};

/// The checks of all messages, in a compact form: with cold caches, the time depends on the size.
#[derive(Debug)]
pub(super) struct Plan {
    /// Indexed by position in the table.
    messages: Vec<MessageEntry>,
    /// Indexed by position in the table.
    fields: Vec<FieldPlan>,
    /// Maximum number of implicit values of a message in JSON, including those of implicit messages.
    pub(super) max_absent: usize,
}

/// The checks of a message.
#[derive(Clone, Copy, Debug)]
struct MessageEntry {
    first: u16,
    count: u16,
    levels: u8,
    required: u64,
}

/// The checks of a message and its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePlan {
    /// In the order of the table.
    pub(super) fields: &'static [FieldPlan],
    /// Required fields. Bits are field positions.
    pub(super) required: u64,
    /// Nesting depth of implicit messages.
    pub(super) levels: usize,
}

/// The check of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldPlan {
    /// Field number and wire type.
    pub(super) tag: u16,
    pub(super) field_check: FieldCheck,
}

/// The kind of check that a field needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldCheck {
    /// Any bytes are valid.
    AnyBytes,
    /// Any number is valid.
    AnyNumber,
    /// A map of strings: any bytes are valid as key or value.
    StringMap,
    Message(MessageId),
    /// All checks for the type of the field.
    Full,
}

impl Plan {
    /// Returns the plan for the table.
    pub(super) fn get() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        PLAN.get_or_init(|| Plan::of(table()))
    }

    fn of(table: &Table) -> Plan {
        let messages = table.ids().map(|id| {
            let message = table.message(id);
            MessageEntry {
                first: message.first_field,
                count: message.field_count,
                levels: implicit_depth(table, message),
                required: required(table, message),
            }
        });
        let fields = table.all_fields().iter().map(|field| FieldPlan {
            tag: field.tag,
            field_check: field_check(field),
        });
        let max_absent = table
            .ids()
            .map(|id| implicit_value_count(table, table.message(id)))
            .max();
        Plan {
            messages: messages.collect(),
            fields: fields.collect(),
            max_absent: max_absent.unwrap_or_default() + 1,
        }
    }

    #[inline]
    pub(super) fn message(&'static self, id: MessageId) -> MessagePlan {
        let part = &self.messages[id.position()];
        let first = usize::from(part.first);
        MessagePlan {
            fields: &self.fields[first..first + usize::from(part.count)],
            required: part.required,
            levels: part.levels.into(),
        }
    }
}

fn field_check(field: &FieldDescriptor) -> FieldCheck {
    match (field.container, field.kind) {
        (Container::Single | Container::List, ValueKind::String | ValueKind::Bytes) => FieldCheck::AnyBytes,
        (Container::Single | Container::List, ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64) => {
            FieldCheck::AnyNumber
        }
        (Container::Map, ValueKind::String) => FieldCheck::StringMap,
        // These messages must not be empty, which needs the full check.
        (Container::Single | Container::List, ValueKind::Message(id))
            if field.pointer || id.shape != Shape::SchemaOrList =>
        {
            FieldCheck::Message(id)
        }
        _ => FieldCheck::Full,
    }
}

/// Returns the fields that JSON contains even if the message does not, with their positions.
fn implicit_fields<'t>(
    table: &'t Table,
    message: &'t MessageDescriptor,
) -> impl Iterator<Item = (usize, &'t FieldDescriptor)> {
    let fields = table.fields(message).iter().enumerate();
    fields.filter(|(at, _)| message.always_printed & (1 << at) != 0)
}

/// Returns the message that JSON contains if the field is absent.
fn implicit_message(field: &FieldDescriptor) -> Option<MessageId> {
    match field.kind {
        // Absent lists and maps have no messages.
        ValueKind::Message(id) if field.container == Container::Single && !field.pointer => Some(id),
        _ => None,
    }
}

/// Returns the required fields of a message. Bits are field positions.
fn required(table: &Table, message: &MessageDescriptor) -> u64 {
    let can_be_absent = |field: &FieldDescriptor| match implicit_message(field) {
        Some(id) => id.shape != Shape::SchemaOrList && required(table, table.message(id)) == 0,
        None => field.container != Container::Single || absent_value(field).is_ok(),
    };
    implicit_fields(table, message)
        .filter(|(_, field)| !can_be_absent(field))
        .fold(0, |bits, (at, _)| bits | 1 << at)
}

/// Returns the nesting depth of an empty message in JSON.
fn implicit_depth(table: &Table, message: &MessageDescriptor) -> u8 {
    implicit_fields(table, message)
        .filter_map(|(_, field)| implicit_message(field))
        .map(|id| 1 + implicit_depth(table, table.message(id)))
        .max()
        .unwrap_or_default()
}

/// Returns the number of values of an empty message in JSON.
fn implicit_value_count(table: &Table, message: &MessageDescriptor) -> usize {
    implicit_fields(table, message).fold(0, |sum: usize, (_, field)| {
        let inside = implicit_message(field).map_or(0, |id| implicit_value_count(table, table.message(id)));
        sum + 1 + inside
    })
}
