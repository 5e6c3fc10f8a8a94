//! Compression of single objects with a dictionary of what objects of their kind have in common.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use zstd_safe::{CCtx, CParameter, DCtx, DDict, ParamSwitch};

/// How hard to try. More than this takes much more time and saves little.
const COMPRESSION_LEVEL: i32 = 3;

/// Beyond this a dictionary helps little, and is too large for the processor's cache.
const MAX_DICTIONARY: usize = 256 << 10;

/// How much text a dictionary is made from, and how much at most if objects are not as long as was thought.
const SAMPLE_BYTES: usize = 2 << 20;
const MAX_SAMPLE_BYTES: usize = 2 * SAMPLE_BYTES;

/// With fewer samples a dictionary would be made of chance.
pub(super) const MIN_SAMPLES: usize = 64;

/// An object of which more than this part is left has much that others have not. What it has in common with them is read
/// fastest when the rest is as it was; the rest is then so much that it is worth a code of its own.
const MUCH: usize = 4;

/// What objects of a kind have in common.
pub(crate) struct Dictionary {
    text: Box<[u8]>,
    /// Ready for use, because one never knows when an object is read. For compressing, which is done to many at a time,
    /// it is made ready then: that takes four times the memory.
    decompress: DDict<'static>,
}

impl Dictionary {
    /// Trains a dictionary with the text of some of `objects`; none if there is too little to learn from.
    pub(super) fn train<O, T: Deref<Target = [u8]>, I: Iterator<Item = O>>(
        count: usize,
        objects: impl Fn() -> I,
        text: impl Fn(O) -> T,
    ) -> Option<Arc<Dictionary>> {
        if count < MIN_SAMPLES {
            return None;
        }
        // From all of them evenly, so that neither the first namespace nor the last decides alone.
        let seldom = count / MIN_SAMPLES;
        let looked_at = objects().step_by(seldom).map(|object| text(object).len());
        let (number, length) = looked_at.fold((0, 0), |(number, sum), length| (number + 1, sum + length));
        let all = length * count / number.max(1);
        let (mut samples, mut sizes) = (Vec::new(), Vec::new());
        for object in objects().step_by((all / SAMPLE_BYTES).clamp(1, seldom)) {
            let sample = text(object);
            samples.extend_from_slice(&sample);
            sizes.push(sample.len());
            if samples.len() >= MAX_SAMPLE_BYTES {
                break;
            }
        }
        if sizes.len() < MIN_SAMPLES {
            return None;
        }
        // One that is as large as what it serves would save nothing, and one as large as the samples would choose nothing.
        let size = (all / 64).min(samples.len() / 8).clamp(4 << 10, MAX_DICTIONARY);
        let mut dictionary = Vec::with_capacity(size);
        zstd_safe::train_from_buffer(&mut dictionary, &samples, &sizes).ok()?;
        Some(Arc::new(Dictionary {
            decompress: DDict::try_create(&dictionary)?,
            text: dictionary.into_boxed_slice(),
        }))
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.text.len())
    }
}

/// Compresses one object after the other.
pub(super) struct Compressor {
    context: CCtx<'static>,
    out: Vec<u8>,
}

impl Compressor {
    /// With a dictionary, or without one; none if there is no memory for it.
    pub(super) fn new(dictionary: Option<&Dictionary>) -> Option<Compressor> {
        let mut context = CCtx::try_create()?;
        for parameter in [
            CParameter::CompressionLevel(COMPRESSION_LEVEL),
            // The length and the dictionary are known, and nothing here is ever on a disk.
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            context.set_parameter(parameter).ok()?;
        }
        if let Some(dictionary) = dictionary {
            context.load_dictionary(&dictionary.text).ok()?;
        }
        Some(Compressor {
            context,
            out: Vec::new(),
        })
    }

    /// The text, compressed; none if it cannot be.
    pub(super) fn compress(&mut self, text: &[u8]) -> Option<&[u8]> {
        self.out.clear();
        self.out.reserve(zstd_safe::compress_bound(text.len()));
        self.compress_with(ParamSwitch::Disable, text)?;
        if self.out.len() > text.len() / MUCH {
            self.compress_with(ParamSwitch::Auto, text)?;
        }
        Some(&self.out)
    }

    /// Whether to find a code for literals: what is only in this text.
    fn compress_with(&mut self, literals: ParamSwitch, text: &[u8]) -> Option<()> {
        let parameter = CParameter::LiteralCompressionMode(literals);
        self.context.set_parameter(parameter).ok()?;
        self.context.compress2(&mut self.out, text).ok()?;
        Some(())
    }
}

/// What it takes to decompress. Contexts are large and take longer to make than a text to decompress, and room that was
/// used a moment ago is still in the processor's cache; there are never more than readers at a time.
static SPARE_BUFFERS: Mutex<Vec<SpareBuffer>> = Mutex::new(Vec::new());

struct SpareBuffer {
    context: DCtx<'static>,
    room: Vec<u8>,
}

/// How many are kept for later, and how large a room.
const MAX_SPARE_BUFFERS: usize = 4;
const MAX_SPARE_BYTES: usize = 64 << 10;

/// A text that was decompressed.
pub(super) struct DecompressedText(Option<SpareBuffer>);

impl Deref for DecompressedText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |spare| &spare.room)
    }
}

impl Drop for DecompressedText {
    fn drop(&mut self) {
        let Some(spare) = self
            .0
            .take()
            .filter(|spare| spare.room.capacity() <= MAX_SPARE_BYTES)
        else {
            return;
        };
        let mut kept = SPARE_BUFFERS.lock();
        if kept.len() < MAX_SPARE_BUFFERS {
            kept.push(spare);
        }
    }
}

/// Decompresses what a [`Compressor`] made of a text of this length.
pub(super) fn decompress(
    compressed: &[u8],
    length: usize,
    dictionary: Option<&Dictionary>,
) -> DecompressedText {
    let spare = SPARE_BUFFERS.lock().pop();
    let mut spare = spare.unwrap_or_else(|| SpareBuffer {
        context: DCtx::create(),
        room: Vec::new(),
    });
    spare.room.clear();
    spare.room.reserve(length);
    let SpareBuffer { context, room } = &mut spare;
    let done = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(room, compressed, &dictionary.decompress),
        None => context.decompress(room, compressed),
    };
    // What was compressed here, and never left this memory, is whole.
    done.expect("what was compressed can be decompressed");
    DecompressedText(Some(spare))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// What a compressor leaves of a text, which is the same again afterwards.
    fn left(compressor: &mut Compressor, text: &[u8], dictionary: Option<&Dictionary>) -> usize {
        let compressed = compressor.compress(text).unwrap();
        assert_eq!(&*decompress(compressed, text.len(), dictionary), text);
        compressed.len()
    }

    /// Text like base64, without repetition: six of eight bits are needed.
    fn unlike_any(random: &mut fastrand::Rng) -> Vec<u8> {
        (0..4000).map(|_| b'0' + random.u8(..64)).collect()
    }

    #[test]
    fn a_dictionary_is_made_from_enough_of_all_objects_be_they_small_or_large() {
        let mut random = fastrand::Rng::with_seed(1);
        let common = unlike_any(&mut random);
        for (count, length) in [(64, 100), (127, 100), (50_000, 60), (30_000, 1000), (200, 40_000)] {
            let read = RefCell::new(BTreeMap::new());
            let trained = Dictionary::train(
                count,
                || 0..count,
                |number| {
                    let line = |line: usize| &common[(number * line * 7) % 3900..][..50];
                    let text: Vec<u8> = (1..=length / 50).flat_map(line).copied().collect();
                    read.borrow_mut().insert(number, text.len());
                    text
                },
            );
            let read = read.into_inner();
            let bytes: usize = read.values().sum();
            let of = format!("{count} of {length}: {} read, {bytes} bytes", read.len());
            assert!(read.len() >= MIN_SAMPLES, "{of}");
            assert!(bytes <= MAX_SAMPLE_BYTES + 2 * length * MIN_SAMPLES, "{of}");
            assert!(
                bytes >= SAMPLE_BYTES.min(count * length / 50 * 50) * 3 / 4,
                "{of}"
            );
            let late = read.range(count * 3 / 4..).count();
            assert!(8 * late >= read.len(), "{of}, {late} of the last quarter");
            let trained = trained.unwrap();
            assert!(
                trained.text.len() <= (bytes / 8).max(4 << 10),
                "{of}: {trained:?}"
            );
        }
    }

    #[test]
    fn one_long_object_does_not_decide_how_many_are_read() {
        let text = unlike_any(&mut fastrand::Rng::with_seed(1));
        let read = RefCell::new(BTreeSet::new());
        let trained = Dictionary::train(
            1_000,
            || 0..1_000_usize,
            |number| {
                read.borrow_mut().insert(number);
                match number {
                    0 => text.repeat(25),
                    _ => text[number..][..200].to_vec(),
                }
            },
        );
        assert!(trained.is_some());
        assert_eq!(read.into_inner().len(), 1_000, "together they are not much");
    }

    /// Texts that have much in common, and a dictionary trained with them.
    fn alike(common: &[u8]) -> (Vec<Vec<u8>>, Arc<Dictionary>) {
        let alike: Vec<Vec<u8>> = (0..100)
            .map(|number| [format!("number {number}, ").as_bytes(), common].concat())
            .collect();
        let dictionary = Dictionary::train(100, || alike.iter(), |text| &**text).unwrap();
        (alike, dictionary)
    }

    #[test]
    fn texts_that_are_alike_and_those_that_are_not_become_small_in_turns() {
        let mut random = fastrand::Rng::with_seed(1);
        let common = unlike_any(&mut random);
        let (alike, dictionary) = alike(&common);
        for dictionary in [Some(&*dictionary), None] {
            let mut compressor = Compressor::new(dictionary).unwrap();
            for text in &alike {
                let unlike = left(&mut compressor, &unlike_any(&mut random), dictionary);
                assert!(unlike < 3200, "{unlike} bytes are left");
                let left = left(&mut compressor, text, dictionary);
                assert!(dictionary.is_none() || left < 100, "{left} bytes are left");
            }
        }
    }

    #[test]
    fn literals_are_coded_only_where_much_is_left() {
        let mut random = fastrand::Rng::with_seed(1);
        let common = unlike_any(&mut random);
        let (_alike, dictionary) = alike(&common);
        let mut compressor = Compressor::new(Some(&dictionary)).unwrap();
        let unlike = unlike_any(&mut random);
        let digits: Vec<u8> = (0..900).map(|_| b'0' + random.u8(..16)).collect();
        for (text, literals) in [
            ([&*digits, &common].concat(), ParamSwitch::Disable),
            (unlike.clone(), ParamSwitch::Auto),
        ] {
            let compressed = compressor.compress(&text).unwrap().to_vec();
            let mut with = |literals| {
                compressor.compress_with(literals, &text).unwrap();
                compressor.out.clone()
            };
            assert_ne!(with(ParamSwitch::Disable), with(ParamSwitch::Auto));
            assert!(
                compressed == with(literals),
                "{} of {} bytes",
                compressed.len(),
                text.len()
            );
        }
    }
}
