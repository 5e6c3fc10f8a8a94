//! Finds the end of a value without parsing it.
//!
//! Processes blocks of 64 bytes as bit masks of quotes, backslashes and brackets, and computes the brackets outside
//! of strings. The speed hardly depends on the content.

const BLOCK: usize = 64;

/// Finds the end of a value that may span several chunks.
///
/// Counts brackets outside of strings and does not validate: for invalid JSON it finds any end or none.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    value_end: ValueEnd,
    /// Number of open brackets.
    depth: usize,
    in_string: bool,
    /// Whether the next byte belongs to an escape.
    escaped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueEnd {
    /// An object, a list or a string, which includes its last byte.
    Delimiter,
    /// A number or a literal, which ends before the next separator.
    Separator,
}

impl Scanner {
    /// Creates a scanner for a value that starts with `first`. The byte itself is still to be scanned.
    pub(super) fn at(first: u8) -> Scanner {
        Scanner {
            value_end: if matches!(first, b'{' | b'[' | b'"') {
                ValueEnd::Delimiter
            } else {
                ValueEnd::Separator
            },
            depth: 0,
            in_string: false,
            escaped: false,
        }
    }

    /// Returns the number of bytes that belong to the value, or `None` if all of them do and the value does not end.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.value_end == ValueEnd::Separator {
            return bytes.iter().position(|byte| ends_word(*byte));
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for (at, block) in blocks.iter().enumerate() {
            if let Some(end) = self.block(block, BLOCK) {
                return Some(at * BLOCK + end);
            }
        }
        let mut block = [b' '; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        let end = self.block(&block, rest.len())?;
        Some(blocks.len() * BLOCK + end)
    }

    /// Like [`end`](Self::end), for the first `len` bytes of a block; the rest of the block is spaces.
    fn block(&mut self, block: &[u8; BLOCK], len: usize) -> Option<usize> {
        if len == 0 {
            return None;
        }
        let marks = Marks::of(block);
        let escaped = self.escapes(marks.backslashes, len);
        let quotes = marks.quotes & !escaped;
        // Each bit is the number of quotes up to it, modulo 2.
        let strings = prefix_parity(quotes) ^ if self.in_string { u64::MAX } else { 0 };
        let opens = marks.opens & !strings;
        let closes = marks.closes & !strings;
        let closed_strings = quotes & !strings;

        let begins_as_string = self.depth == 0;
        if begins_as_string || closes.count_ones() as usize >= self.depth {
            let mut events = opens | closes | if begins_as_string { closed_strings } else { 0 };
            while events != 0 {
                let at = events.trailing_zeros();
                events &= events - 1;
                self.depth += usize::from(opens >> at & 1 == 1);
                self.depth = self.depth.saturating_sub(usize::from(closes >> at & 1 == 1));
                if self.depth == 0 {
                    return Some(at as usize + 1);
                }
            }
        } else {
            self.depth += opens.count_ones() as usize;
            self.depth -= closes.count_ones() as usize;
        }
        self.in_string = strings >> (BLOCK - 1) == 1;
        None
    }

    /// Returns the bytes that are escaped.
    fn escapes(&mut self, backslashes: u64, len: usize) -> u64 {
        const EVEN: u64 = u64::from_ne_bytes([0x55; 8]);
        let before = u64::from(self.escaped);
        let backslashes = backslashes & !before;
        if backslashes == 0 {
            self.escaped = false;
            return before;
        }
        // In a run of backslashes, the first and every second one after it escape the next byte. Adding the first bit
        // of a run at an even position to the run clears it and sets the bit after it, which is not a backslash.
        let first = backslashes & !(backslashes << 1);
        let from_even = backslashes & !backslashes.wrapping_add(first & EVEN);
        let from_odd = backslashes & !from_even;
        let counting = (from_even & EVEN) | (from_odd & !EVEN);
        self.escaped = counting >> (len - 1) & 1 == 1;
        counting << 1 | before
    }
}

/// Returns whether a byte ends a number or a literal.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(
        byte,
        b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' | b':' | b'"' | b'{' | b'['
    )
}

/// Bit masks of the bytes in a block. The lowest bit is the first byte.
#[derive(Clone, Copy, Default)]
struct Marks {
    quotes: u64,
    backslashes: u64,
    opens: u64,
    closes: u64,
}

/// The lower seven bits of each byte of a word.
const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);

/// Clears the bit in which `{` and `[`, and `}` and `]`, differ. No other byte becomes a bracket.
const UPPER: u64 = u64::from_ne_bytes([0x5f; 8]);

impl Marks {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Marks {
        let mut marks = Marks::default();
        let (words, _) = block.as_chunks::<8>();
        for word in words {
            let word = u64::from_le_bytes(*word);
            let low = word & LOW;
            let upper = word & UPPER;
            marks.quotes = marks.quotes >> 1 | equal(word, low, b'"');
            marks.backslashes = marks.backslashes >> 1 | equal(word, low, b'\\');
            marks.opens = marks.opens >> 1 | equal(word, upper, b'[');
            marks.closes = marks.closes >> 1 | equal(word, upper, b']');
        }
        Marks {
            quotes: transpose_bits(marks.quotes),
            backslashes: transpose_bits(marks.backslashes),
            opens: transpose_bits(marks.opens),
            closes: transpose_bits(marks.closes),
        }
    }
}

/// Sets the highest bit of each byte of `word` that is equal to `byte`. `masked` contains the bytes to compare,
/// without their highest bits; bytes of `word` with the highest bit set are never equal.
#[inline]
fn equal(word: u64, masked: u64, byte: u8) -> u64 {
    // The sum sets the highest bit of a byte unless the byte is zero, and never carries into the next byte.
    let differs = ((masked ^ u64::from_ne_bytes([byte; 8])) + LOW) | word;
    !differs & !LOW
}

/// Transposes the 8×8 matrix of bits, in blocks of 1, 2 and 4.
///
/// After eight words, the mark of byte `b` of word `w` is bit `w` of byte `b`; it belongs to bit `b` of byte `w`.
#[inline]
fn transpose_bits(mut bits: u64) -> u64 {
    for (distance, upper) in [
        (7, 0x00AA_00AA_00AA_00AA),
        (14, 0x0000_CCCC_0000_CCCC),
        (28, 0xF0F0_F0F0),
    ] {
        let differs = (bits ^ (bits >> distance)) & upper;
        bits ^= differs ^ (differs << distance);
    }
    bits
}

/// Sets each bit to the parity of all bits up to and including it.
#[inline]
fn prefix_parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
