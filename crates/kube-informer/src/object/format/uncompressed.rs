//! Replaces `compress` in builds without the feature `zstd`: packed objects stay as they are.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;

/// Never exists without compression.
#[derive(Debug)]
pub(crate) struct Dictionary(Infallible);

/// The minimum number of objects for a dictionary: more than any cache contains.
pub(super) const MIN_SAMPLES: usize = usize::MAX;

impl Dictionary {
    pub(super) fn train<O, T: Deref<Target = [u8]>, I: Iterator<Item = O>>(
        _count: usize,
        _objects: impl Fn() -> I,
        _text: impl Fn(O) -> T,
    ) -> Option<Arc<Dictionary>> {
        None
    }
}

/// Compresses nothing.
pub(super) struct Compressor(());

impl Compressor {
    #[expect(clippy::unnecessary_wraps, reason = "creating a compressor can fail")]
    pub(super) fn new(_dictionary: Option<&Dictionary>) -> Option<Compressor> {
        Some(Compressor(()))
    }

    #[expect(clippy::unused_self, reason = "a compressor has buffers")]
    pub(super) fn compress(&mut self, _text: &[u8]) -> Option<&[u8]> {
        None
    }
}

/// The result of decompression.
pub(super) struct DecompressedText(Box<[u8]>);

impl Deref for DecompressedText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Returns a copy: without compression, no object is compressed.
pub(super) fn decompress(
    compressed: &[u8],
    _length: usize,
    _dictionary: Option<&Dictionary>,
) -> DecompressedText {
    DecompressedText(compressed.into())
}
