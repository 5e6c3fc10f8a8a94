//! Random messages of any kind.

use crate::table::{Container, FieldDescriptor, MessageId, Shape, ValueKind, table};

/// Generates messages.
pub(super) struct MessageGenerator {
    pub(super) random: fastrand::Rng,
    /// Whether to use features of protobuf that Kubernetes does not use: any order, split messages, repetition.
    pub(super) messy: bool,
}

const DEEPEST: usize = 5;

impl MessageGenerator {
    pub(super) fn new(seed: u64, messy: bool) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            messy,
        }
    }

    pub(super) fn message(&mut self, id: MessageId, depth: usize) -> Vec<u8> {
        let message = table().message(id);
        let mut parts = Vec::new();
        let mut fields: Vec<&FieldDescriptor> = table().fields(message).iter().collect();
        if message.shape != Shape::Object && !self.messy {
            fields = self.random.choice(fields).into_iter().collect();
        }
        for field in fields {
            // Fewer fields at greater depth, so that messages are finite.
            let is_there = match depth {
                0 => self.random.u8(0..10) > 0,
                depth => self.random.usize(0..2 * depth) == 0,
            };
            let is_message = matches!(field.kind, ValueKind::Message(_));
            if !is_there || (is_message && depth >= DEEPEST) {
                continue;
            }
            self.field(field, depth, &mut parts);
        }
        if self.messy {
            if self.random.u8(..) < 50 {
                parts.push(b"\xa2\xf4\x03\x01x".to_vec());
            }
            if self.random.u8(..) < 100 {
                self.random.shuffle(&mut parts);
            }
        }
        parts.concat()
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize, parts: &mut Vec<Vec<u8>>) {
        match field.container {
            Container::Single => {
                let times = if self.messy && self.random.u8(..) < 30 {
                    2
                } else {
                    1
                };
                for _ in 0..times {
                    parts.push(self.value(field.number, field.kind, depth));
                }
            }
            Container::List => {
                for _ in 0..self.random.usize(1..4) {
                    let packs = self.messy && self.random.bool();
                    parts.push(match field.kind {
                        ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64 if packs => {
                            let numbers: Vec<u8> = (0..self.random.u8(0..4)).collect();
                            bytes(field.number, &numbers)
                        }
                        kind => self.value(field.number, kind, depth),
                    });
                }
            }
            Container::Map => {
                let mut keys: Vec<String> = (0..self.random.usize(1..4)).map(|_| self.text()).collect();
                if !self.messy {
                    keys.sort_unstable();
                    keys.dedup();
                }
                for key in keys {
                    let mut halves = vec![bytes(1, key.as_bytes()), self.value(2, field.kind, depth)];
                    if self.messy {
                        self.random.shuffle(&mut halves);
                        halves.truncate(self.random.usize(0..3));
                    }
                    parts.push(bytes(field.number, &halves.concat()));
                }
            }
        }
    }

    fn value(&mut self, number: u16, kind: ValueKind, depth: usize) -> Vec<u8> {
        let content = match kind {
            ValueKind::String => self.text().into_bytes(),
            ValueKind::Bool => return varint(number, self.random.u64(0..2)),
            ValueKind::Int32 => return varint(number, i64::from(self.small()).cast_unsigned()),
            ValueKind::Int64 => return varint(number, i64::from(self.small()).cast_unsigned() << self.random.u8(0..40)),
            ValueKind::Double => {
                let mut field = tag(number, 1);
                let values: [f64; 6] = [0.0, -0.0, 1.0, 0.5, -1e300, 9_007_199_254_740_993.0];
                field.extend(values[self.random.usize(..values.len())].to_le_bytes());
                return field;
            }
            ValueKind::Bytes => (0..self.random.usize(0..5)).map(|_| self.random.u8(..)).collect(),
            ValueKind::Time | ValueKind::MicroTime => match self.random.u8(0..16) {
                0..4 => Vec::new(),
                4..8 => varint(1, (-62_135_596_800_i64).cast_unsigned()),
                // The last two days of the year 9999, which some types do not support.
                8 => varint(1, self.random.u64(253_402_128_000..253_402_300_800)),
                _ => [
                    varint(1, self.random.u64(0..4_000_000_000)),
                    varint(2, self.random.u64(0..1_000_000_000)),
                ]
                .concat(),
            },
            ValueKind::Quantity => match self.random.u8(0..4) {
                0 => Vec::new(),
                _ => bytes(1, b"100m"),
            },
            ValueKind::IntOrString => [
                varint(1, self.random.u64(0..2)),
                varint(2, i64::from(self.small()).cast_unsigned()),
                bytes(3, self.text().as_bytes()),
            ]
            .concat(),
            ValueKind::Json => match self.random.u8(0..8) {
                0 => Vec::new(),
                1 => bytes(1, b""),
                2 => bytes(1, b" null "),
                3 => bytes(1, b"-1.5"),
                4 => bytes(1, super::SCALE),
                _ => bytes(1, br#"{"a":[1,"x",null,{"b":18446744073709551615}],"metadata":{"name":"n","managedFields":[]}}"#),
            },
            ValueKind::Message(id) => self.message(id, depth + 1),
        };
        bytes(number, &content)
    }

    fn small(&mut self) -> i32 {
        self.random.i32(-3..4)
    }

    fn text(&mut self) -> String {
        let words = ["", "a", "b", "name", "a.b/c", "ä"];
        words[self.random.usize(..words.len())].to_owned()
    }
}

fn tag(number: u16, wire_type: u64) -> Vec<u8> {
    raw_varint(u64::from(number) << 3 | wire_type)
}

fn raw_varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}

fn varint(number: u16, value: u64) -> Vec<u8> {
    [tag(number, 0), raw_varint(value)].concat()
}

fn bytes(number: u16, content: &[u8]) -> Vec<u8> {
    [tag(number, 2), raw_varint(content.len() as u64), content.to_vec()].concat()
}
