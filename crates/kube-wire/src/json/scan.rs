//! Finding where a value ends, without reading it.
//!
//! Sixty-four bytes are looked at together: a word of bits says which of them are quotes, which are brackets, and with
//! some arithmetic which of those are outside of strings. So it matters little what a value is made of.

const BLOCK: usize = 64;

/// Finds the end of one value, in as many pieces as it comes.
///
/// It counts brackets outside of strings and looks at nothing else: text that is no JSON has some end, too, or none.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    shape: Shape,
    /// How many brackets are open.
    depth: usize,
    in_string: bool,
    /// Whether the next byte belongs to an escape.
    escaped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// An object, a list or a string: its last byte says that it is the last.
    Closed,
    /// A number or a word: what comes after it says that it has ended.
    Open,
}

impl Scanner {
    /// For the value that begins with this byte, which is yet to be scanned.
    pub(super) fn at(first: u8) -> Scanner {
        Scanner {
            shape: if matches!(first, b'{' | b'[' | b'"') {
                Shape::Closed
            } else {
                Shape::Open
            },
            depth: 0,
            in_string: false,
            escaped: false,
        }
    }

    /// How many of the next bytes belong to the value, if it ends among them. If it does not, all of them do.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.shape == Shape::Open {
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

    /// As [`end`](Self::end), for the first `len` bytes of a block; the others are spaces.
    fn block(&mut self, block: &[u8; BLOCK], len: usize) -> Option<usize> {
        if len == 0 {
            return None;
        }
        let marks = Marks::of(block);
        let escaped = self.escapes(marks.backslashes, len);
        let quotes = marks.quotes & !escaped;
        // A quote opens or closes: each bit is how many have come up to it, modulo two.
        let strings = parities(quotes) ^ if self.in_string { u64::MAX } else { 0 };
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

    /// Which bytes stand after a backslash that counts.
    fn escapes(&mut self, backslashes: u64, len: usize) -> u64 {
        const EVEN: u64 = u64::from_ne_bytes([0x55; 8]);
        let before = u64::from(self.escaped);
        let backslashes = backslashes & !before;
        if backslashes == 0 {
            self.escaped = false;
            return before;
        }
        // Of a run of backslashes the first counts, and every second after it. Where a run begins at an even place, its
        // first bit added to it clears it and sets the bit after it, which is no backslash.
        let first = backslashes & !(backslashes << 1);
        let from_even = backslashes & !backslashes.wrapping_add(first & EVEN);
        let from_odd = backslashes & !from_even;
        let counting = (from_even & EVEN) | (from_odd & !EVEN);
        self.escaped = counting >> (len - 1) & 1 == 1;
        counting << 1 | before
    }
}

/// Whether a number or a word cannot have this byte.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(
        byte,
        b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' | b':' | b'"' | b'{' | b'['
    )
}

/// Which bytes of a block are which: the lowest bit is the first byte.
#[derive(Clone, Copy, Default)]
struct Marks {
    quotes: u64,
    backslashes: u64,
    opens: u64,
    closes: u64,
}

/// Seven bits of each byte of a word.
const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);

/// Without the bit in which `{` differs from `[`, and `}` from `]`: no other byte becomes one of them.
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
            quotes: in_order(marks.quotes),
            backslashes: in_order(marks.backslashes),
            opens: in_order(marks.opens),
            closes: in_order(marks.closes),
        }
    }
}

/// Which bytes of a word are this one, by the highest bit of each; `masked` are the bytes to compare, without their
/// highest bits, and a byte of `word` with its highest bit is equal to none.
#[inline]
fn equal(word: u64, masked: u64, byte: u8) -> u64 {
    // The sum reaches the highest bit of a byte unless the byte is zero, and never the next byte.
    let differs = ((masked ^ u64::from_ne_bytes([byte; 8])) + LOW) | word;
    !differs & !LOW
}

/// Eight words of marks, each a bit lower than the next, have the mark of byte `b` of word `w` in bit `w` of byte `b`.
/// It belongs into bit `b` of byte `w`: the square of bits is turned over at its diagonal, in blocks of one, two and four.
#[inline]
fn in_order(mut bits: u64) -> u64 {
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

/// Each bit is whether an odd number of bits up to it, it included, is set.
#[inline]
fn parities(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
