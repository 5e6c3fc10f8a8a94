//! A writer for the protobuf encoding that works from the end to the beginning.
//!
//! A message is preceded by its length, which is known when the message is written backwards.

/// A buffer that grows at the front.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The written bytes are at the end, from `start` on.
    buffer: Vec<u8>,
    start: usize,
}

const SMALLEST: usize = 256;

impl Writer {
    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        let end = self.start;
        self.start -= bytes.len();
        self.buffer[self.start..end].copy_from_slice(bytes);
    }

    pub(super) fn varint(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let mut len = 0;
        loop {
            let low = value.to_le_bytes()[0] & 0x7f;
            value >>= 7;
            let more = if value == 0 { 0 } else { 0x80 };
            bytes[len] = low | more;
            len += 1;
            if value == 0 {
                break;
            }
        }
        self.bytes(&bytes[..len]);
    }

    /// Writes a number as a field.
    pub(super) fn varint_field(&mut self, number: u16, value: u64) {
        self.varint(value);
        self.tag(number, 0);
    }

    /// Writes a double as a field.
    pub(super) fn double_field(&mut self, number: u16, value: f64) {
        self.bytes(&value.to_le_bytes());
        self.tag(number, 1);
    }

    /// Writes bytes as a field.
    pub(super) fn bytes_field(&mut self, number: u16, bytes: &[u8]) {
        self.bytes(bytes);
        self.close(number, bytes.len());
    }

    /// Makes everything written since the length was `before` the content of a field.
    pub(super) fn close_since(&mut self, number: u16, before: usize) {
        self.close(number, self.len() - before);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    /// Writes tag and length of a field.
    pub(super) fn close(&mut self, number: u16, len: usize) {
        self.varint(len as u64);
        self.tag(number, 2);
    }

    fn tag(&mut self, number: u16, wire_type: u64) {
        self.varint(u64::from(number) << 3 | wire_type);
    }

    fn reserve(&mut self, more: usize) {
        if more <= self.start {
            return;
        }
        let capacity = (self.len() + more).max(SMALLEST).next_power_of_two();
        let mut larger = vec![0; capacity];
        let start = capacity - self.len();
        larger[start..].copy_from_slice(&self.buffer[self.start..]);
        self.buffer = larger;
        self.start = start;
    }
}
