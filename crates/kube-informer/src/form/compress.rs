//! Compression of single objects with a dictionary of what objects of their kind have in common.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict};

/// How hard to try. More than this takes much more time and saves little.
const LEVEL: i32 = 3;

/// Beyond this a dictionary does not help any more, and both sides of it take memory.
const DICTIONARY: usize = 64 << 10;

/// How many objects a dictionary is made from, and how much text at most.
const MOST_SAMPLES: usize = 512;
const LARGEST_SAMPLES: usize = 4 << 20;

/// With fewer samples a dictionary would be made of chance.
pub(super) const FEWEST_SAMPLES: usize = 64;

/// What objects of a kind have in common, ready for use.
pub(crate) struct Dictionary {
    compress: CDict<'static>,
    decompress: DDict<'static>,
}

impl Dictionary {
    /// Trains a dictionary with the text of some of `objects`; none if there is too little to learn from.
    pub(super) fn train<O, T: Deref<Target = [u8]>>(
        count: usize,
        objects: impl Iterator<Item = O>,
        text: impl Fn(O) -> T,
    ) -> Option<Arc<Dictionary>> {
        if count < FEWEST_SAMPLES {
            return None;
        }
        let (mut samples, mut sizes) = (Vec::new(), Vec::new());
        // From all of them evenly, so that neither the first namespace nor the last decides alone.
        for object in objects.step_by(count.div_ceil(MOST_SAMPLES)) {
            let sample = text(object);
            samples.extend_from_slice(&sample);
            sizes.push(sample.len());
            if samples.len() >= LARGEST_SAMPLES {
                break;
            }
        }
        if sizes.len() < FEWEST_SAMPLES {
            return None;
        }
        // One that is as large as what it serves would save nothing.
        let average = samples.len() / sizes.len();
        let size = (average * count / 64).clamp(4 << 10, DICTIONARY);
        let mut dictionary = Vec::with_capacity(size);
        zstd_safe::train_from_buffer(&mut dictionary, &samples, &sizes).ok()?;
        Some(Arc::new(Dictionary {
            compress: CDict::try_create(&dictionary, LEVEL)?,
            decompress: DDict::try_create(&dictionary)?,
        }))
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.decompress.sizeof())
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
        match dictionary {
            Some(dictionary) => context.ref_cdict(&dictionary.compress).ok()?,
            None => context.set_parameter(CParameter::CompressionLevel(LEVEL)).ok()?,
        };
        // The length and the dictionary are known, and nothing here is ever on a disk.
        for known in [
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            context.set_parameter(known).ok()?;
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
        self.context.compress2(&mut self.out, text).ok()?;
        Some(&self.out)
    }
}

/// What it takes to decompress. Contexts are large and take longer to make than a text to decompress, and room that was
/// used a moment ago is still in the processor's cache; there are never more than readers at a time.
static SPARE: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

struct Spare {
    context: DCtx<'static>,
    room: Vec<u8>,
}

/// How many are kept for later, and how large a room.
const KEPT: usize = 4;
const LARGEST_KEPT: usize = 64 << 10;

/// A text that was decompressed.
pub(super) struct Text(Option<Spare>);

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |spare| &spare.room)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let Some(spare) = self
            .0
            .take()
            .filter(|spare| spare.room.capacity() <= LARGEST_KEPT)
        else {
            return;
        };
        let mut kept = SPARE.lock();
        if kept.len() < KEPT {
            kept.push(spare);
        }
    }
}

/// Decompresses what a [`Compressor`] made of a text of this length.
pub(super) fn decompress(compressed: &[u8], length: usize, dictionary: Option<&Dictionary>) -> Text {
    let spare = SPARE.lock().pop();
    let mut spare = spare.unwrap_or_else(|| Spare {
        context: DCtx::create(),
        room: Vec::new(),
    });
    spare.room.clear();
    spare.room.reserve(length);
    let Spare { context, room } = &mut spare;
    let done = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(room, compressed, &dictionary.decompress),
        None => context.decompress(room, compressed),
    };
    // What was compressed here, and never left this memory, is whole.
    done.expect("what was compressed can be decompressed");
    Text(Some(spare))
}
