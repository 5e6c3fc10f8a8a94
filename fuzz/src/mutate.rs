//! Mutated inputs, the same in every run.

use fastrand::Rng;

/// Texts that have a meaning for some target.
const WORDS: [&[u8]; 24] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"null",
    b"\\u0000",
    b"\"metadata\"",
    b"\"items\":",
    b"\x0a\x00",
    b"\x12\x00",
    b"k8s\0",
    b"\xff\xff\xff\xff\x0f",
    b"/",
    b"!=",
    b" in (",
    b"-1",
    b"18446744073709551616",
    b"?watch=1",
    b"\n---\n",
];

/// Returns a mutation of an input, with parts of `others`.
pub fn mutated(random: &mut Rng, input: &[u8], others: &[&[u8]]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.usize(1..5) {
        let at = random.usize(..=bytes.len());
        let end = (at + random.usize(..24)).min(bytes.len());
        match random.u8(..8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            1 if at < bytes.len() => bytes[at] = random.u8(..),
            2 => bytes.insert(at, random.u8(..)),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let part = bytes[at..end].to_vec();
                insert(&mut bytes, random, &part);
            }
            5 => {
                let word = WORDS[random.usize(..WORDS.len())];
                insert(&mut bytes, random, word);
            }
            6 => bytes.truncate(at),
            _ => {
                if let Some(other) = random.choice(others) {
                    let from = random.usize(..=other.len());
                    let to = (from + random.usize(..64)).min(other.len());
                    insert(&mut bytes, random, &other[from..to]);
                }
            }
        }
    }
    bytes
}

fn insert(bytes: &mut Vec<u8>, random: &mut Rng, part: &[u8]) {
    let at = random.usize(..=bytes.len());
    bytes.splice(at..at, part.iter().copied());
}
