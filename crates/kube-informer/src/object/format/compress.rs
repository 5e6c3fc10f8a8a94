//! Compresses single objects with a dictionary of the content that objects of a kind have in common.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use zstd_safe::{CCtx, CParameter, DCtx, DDict, ParamSwitch};

/// Compression level of zstd. Higher levels take much more time and save little.
const COMPRESSION_LEVEL: i32 = 3;

/// Maximum size of a dictionary, in bytes. A larger one improves little, and does not fit into the processor's cache.
const MAX_DICTIONARY: usize = 256 << 10;

/// Target size of the samples for a dictionary, and their maximum size if objects are larger than estimated, in bytes.
const SAMPLE_BYTES: usize = 2 << 20;
const MAX_SAMPLE_BYTES: usize = 2 * SAMPLE_BYTES;

/// Minimum number of samples. A dictionary of fewer samples would depend on chance.
pub(super) const MIN_SAMPLES: usize = 64;

/// Literals are entropy-coded if the compressed object is larger than this fraction of the text. Below that, decoding
/// is faster without it; above, there are so many literals that coding them saves memory.
const LITERAL_CODING_FRACTION: usize = 4;

/// The content that objects of a kind have in common.
pub(crate) struct Dictionary {
    text: Box<[u8]>,
    /// Prepared, because objects may be read at any time. Compression prepares its own form for each round, which takes
    /// four times the memory.
    decompress: DDict<'static>,
}

impl Dictionary {
    /// Trains a dictionary with samples of `objects`. Returns `None` if there are too few.
    pub(super) fn train<O, T: Deref<Target = [u8]>, I: Iterator<Item = O>>(
        count: usize,
        objects: impl Fn() -> I,
        text: impl Fn(O) -> T,
    ) -> Option<Arc<Dictionary>> {
        if count < MIN_SAMPLES {
            return None;
        }
        // Samples are evenly distributed, so that no namespace has more weight than others.
        let step = count / MIN_SAMPLES;
        let lengths = objects().step_by(step).map(|object| text(object).len());
        let (number, length) = lengths.fold((0, 0), |(number, sum), length| (number + 1, sum + length));
        let all = length * count / number.max(1);
        let (mut samples, mut sizes) = (Vec::new(), Vec::new());
        for object in objects().step_by((all / SAMPLE_BYTES).clamp(1, step)) {
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
        // A dictionary as large as the objects would save nothing, and one as large as the samples would not select
        // anything.
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

/// Compresses objects, one after the other.
pub(super) struct Compressor {
    context: CCtx<'static>,
    out: Vec<u8>,
}

impl Compressor {
    /// Creates a compressor with or without a dictionary. Returns `None` if there is not enough memory.
    pub(super) fn new(dictionary: Option<&Dictionary>) -> Option<Compressor> {
        let mut context = CCtx::try_create()?;
        for parameter in [
            CParameter::CompressionLevel(COMPRESSION_LEVEL),
            // Neither length, checksum nor dictionary id are needed: the data is only kept in memory, and the
            // dictionary is known.
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

    /// Compresses a text. Returns `None` if that fails.
    pub(super) fn compress(&mut self, text: &[u8]) -> Option<&[u8]> {
        self.out.clear();
        self.out.reserve(zstd_safe::compress_bound(text.len()));
        self.compress_with(ParamSwitch::Disable, text)?;
        if self.out.len() > text.len() / LITERAL_CODING_FRACTION {
            self.compress_with(ParamSwitch::Auto, text)?;
        }
        Some(&self.out)
    }

    /// Compresses a text with or without entropy coding of literals.
    fn compress_with(&mut self, literals: ParamSwitch, text: &[u8]) -> Option<()> {
        let parameter = CParameter::LiteralCompressionMode(literals);
        self.context.set_parameter(parameter).ok()?;
        self.context.compress2(&mut self.out, text).ok()?;
        Some(())
    }
}

/// Contexts and buffers for decompression. Contexts are large and slow to create, and a recently used buffer is still
/// in the processor's cache. There are at most as many as concurrent readers.
static SPARE_BUFFERS: Mutex<Vec<SpareBuffer>> = Mutex::new(Vec::new());

struct SpareBuffer {
    context: DCtx<'static>,
    buffer: Vec<u8>,
}

/// Maximum number of spare buffers, and their maximum size in bytes.
const MAX_SPARE_BUFFERS: usize = 4;
const MAX_SPARE_BYTES: usize = 64 << 10;

/// A decompressed text.
pub(super) struct DecompressedText(Option<SpareBuffer>);

impl Deref for DecompressedText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |spare| &spare.buffer)
    }
}

impl Drop for DecompressedText {
    fn drop(&mut self) {
        let Some(spare) = self
            .0
            .take()
            .filter(|spare| spare.buffer.capacity() <= MAX_SPARE_BYTES)
        else {
            return;
        };
        let mut kept = SPARE_BUFFERS.lock();
        if kept.len() < MAX_SPARE_BUFFERS {
            kept.push(spare);
        }
    }
}

/// Decompresses the output of a [`Compressor`] for a text of this length.
pub(super) fn decompress(
    compressed: &[u8],
    length: usize,
    dictionary: Option<&Dictionary>,
) -> DecompressedText {
    let spare = SPARE_BUFFERS.lock().pop();
    let mut spare = spare.unwrap_or_else(|| SpareBuffer {
        context: DCtx::create(),
        buffer: Vec::new(),
    });
    spare.buffer.clear();
    spare.buffer.reserve(length);
    let SpareBuffer { context, buffer } = &mut spare;
    let done = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(buffer, compressed, &dictionary.decompress),
        None => context.decompress(buffer, compressed),
    };
    // The data was compressed by this process and has not left its memory.
    done.expect("compressed data can be decompressed");
    DecompressedText(Some(spare))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Returns the compressed length of a text, and checks that it decompresses to the same text.
    fn compressed_len(compressor: &mut Compressor, text: &[u8], dictionary: Option<&Dictionary>) -> usize {
        let compressed = compressor.compress(text).unwrap();
        assert_eq!(&*decompress(compressed, text.len(), dictionary), text);
        compressed.len()
    }

    /// Random text like base64, without repetitions. Each byte contains six bits of information.
    fn random_text(random: &mut fastrand::Rng) -> Vec<u8> {
        (0..4000).map(|_| b'0' + random.u8(..64)).collect()
    }

    #[test]
    fn a_dictionary_is_made_from_enough_of_all_objects_be_they_small_or_large() {
        let mut random = fastrand::Rng::with_seed(1);
        let common = random_text(&mut random);
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
        let text = random_text(&mut fastrand::Rng::with_seed(1));
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
        assert_eq!(read.into_inner().len(), 1_000, "all objects together are small");
    }

    /// Returns similar texts, and a dictionary that was trained with them.
    fn similar_texts(common: &[u8]) -> (Vec<Vec<u8>>, Arc<Dictionary>) {
        let similar: Vec<Vec<u8>> = (0..100)
            .map(|number| [format!("number {number}, ").as_bytes(), common].concat())
            .collect();
        let dictionary = Dictionary::train(100, || similar.iter(), |text| &**text).unwrap();
        (similar, dictionary)
    }

    #[test]
    fn texts_that_are_alike_and_those_that_are_not_become_small_in_turns() {
        let mut random = fastrand::Rng::with_seed(1);
        let common = random_text(&mut random);
        let (similar, dictionary) = similar_texts(&common);
        for dictionary in [Some(&*dictionary), None] {
            let mut compressor = Compressor::new(dictionary).unwrap();
            for text in &similar {
                let unlike = compressed_len(&mut compressor, &random_text(&mut random), dictionary);
                assert!(unlike < 3200, "{unlike} bytes are left");
                let left = compressed_len(&mut compressor, text, dictionary);
                assert!(dictionary.is_none() || left < 100, "{left} bytes are left");
            }
        }
    }

    #[test]
    fn literals_are_coded_only_where_much_is_left() {
        let mut random = fastrand::Rng::with_seed(1);
        let common = random_text(&mut random);
        let (_similar, dictionary) = similar_texts(&common);
        let mut compressor = Compressor::new(Some(&dictionary)).unwrap();
        let unlike = random_text(&mut random);
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
