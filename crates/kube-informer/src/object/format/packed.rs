//! An object kept as bytes.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;
use kube_wire::selector::Selector;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::compress::{Compressor, DecompressedText, Dictionary, decompress};
use super::decode_cache::DecodeNumber;
use super::packing::{PackingContext, TransformedMetadata};
use crate::error::{Error, ErrorChain};
use crate::object::{Format, Key};

/// An object kept as bytes that are known to decode to a `K`.
pub(crate) struct PackedObject<K> {
    packing: Arc<PackingContext<K>>,
    format: Format,
    transformed: TransformedMetadata,
    /// The number of its last decoded form; zero if it has never been decoded.
    decoded: AtomicU32,
    /// It has not changed since the last round of compression.
    at_rest: AtomicBool,
    body: Mutex<PackedBody>,
}

enum PackedBody {
    /// The pruned object, which will be compressed.
    Plain(Bytes),
    /// The pruned object, which is not worth compressing.
    Incompressible(Box<[u8]>),
    Compressed(CompressedBytes),
}

struct CompressedBytes {
    /// The outline, followed by the compressed object.
    bytes: Box<[u8]>,
    outline: u32,
    plain: u32,
    dictionary: Option<Arc<Dictionary>>,
}

impl PackedBody {
    /// Returns an object that contains at least the [`Format::outline`] of this one.
    fn outline(&self) -> &[u8] {
        match self {
            PackedBody::Plain(plain) => plain,
            PackedBody::Incompressible(plain) => plain,
            PackedBody::Compressed(compressed) => compressed.outline(),
        }
    }

    /// Returns the size in memory, in bytes.
    fn size(&self) -> usize {
        match self {
            PackedBody::Plain(plain) => plain.len(),
            PackedBody::Incompressible(plain) => plain.len(),
            PackedBody::Compressed(compressed) => compressed.bytes.len(),
        }
    }

    /// Calls a function with the whole object.
    fn whole<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            PackedBody::Plain(plain) => look(plain),
            PackedBody::Incompressible(plain) => look(plain),
            PackedBody::Compressed(compressed) => look(&compressed.text()),
        }
    }
}

/// The uncompressed bytes of an object.
pub(super) enum PlainBytes {
    Bytes(Bytes),
    Decompressed(DecompressedText),
}

impl Deref for PlainBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            PlainBytes::Bytes(bytes) => bytes,
            PlainBytes::Decompressed(text) => text,
        }
    }
}

/// Minimum size of objects to compress, in bytes.
const MIN_COMPRESSED: usize = 256;

impl<K> PackedObject<K> {
    /// Creates a packed object from bytes that `packing` can decode to a `K`.
    pub(super) fn new(
        packing: Arc<PackingContext<K>>,
        format: Format,
        transformed: TransformedMetadata,
        plain: Bytes,
    ) -> PackedObject<K> {
        packing.bytes.fetch_add(plain.len(), Ordering::Relaxed);
        let body = if plain.len() < MIN_COMPRESSED {
            PackedBody::Incompressible(plain.as_ref().into())
        } else {
            packing.plain.fetch_add(1, Ordering::Relaxed);
            PackedBody::Plain(plain)
        };
        PackedObject {
            packing,
            format,
            transformed,
            decoded: AtomicU32::new(0),
            at_rest: AtomicBool::new(false),
            body: Mutex::new(body),
        }
    }

    /// Returns the object. Decodes it unless its decoded form is in use.
    ///
    /// # Panics
    /// Panics if the object can no longer be decoded, because its `Deserialize` or the transform is not deterministic.
    pub(crate) fn object(&self, key: &Key) -> Arc<K> {
        self.try_object(key)
            .unwrap_or_else(|error| panic!("cannot decode {key} again: {}", ErrorChain(&error)))
    }

    pub(super) fn try_object(&self, key: &Key) -> Result<Arc<K>, Error> {
        if let Some(object) = self.find_decoded() {
            return Ok(object);
        }
        // Decoding without a lock, because the user's transform may read this object.
        let object = self.packing.read(key, self.format, &self.whole())?;
        Ok(self.hold(Arc::new(object)))
    }

    fn find_decoded(&self) -> Option<Arc<K>> {
        let number = DecodeNumber::new(self.decoded.load(Ordering::Relaxed))?;
        self.packing.decoded.lock().find(self.address(), number)
    }

    /// Adds the decoded form to the cache. If another thread was faster, returns its decoded form.
    pub(super) fn hold(&self, object: Arc<K>) -> Arc<K> {
        let mut decoded = self.packing.decoded.lock();
        let before = DecodeNumber::new(self.decoded.load(Ordering::Relaxed));
        if let Some(other) = before.and_then(|number| decoded.find(self.address(), number)) {
            return other;
        }
        let (number, released) = decoded.add(self.address(), &object);
        self.decoded.store(number.get(), Ordering::Relaxed);
        drop(decoded);
        drop(released);
        object
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns the metadata that must be read from the decoded object. The methods below read the bytes.
    pub(crate) fn transformed(&self) -> TransformedMetadata {
        self.transformed
    }

    pub(crate) fn matches(&self, selector: &Selector) -> bool {
        let body = self.body.lock();
        self.format.matches(body.outline(), selector).unwrap_or(false)
    }

    pub(crate) fn label(&self, name: &str) -> Option<String> {
        let body = self.body.lock();
        let label = self.format.label(body.outline(), name).ok().flatten();
        label.map(Cow::into_owned)
    }

    /// Outlines do not contain annotations.
    pub(crate) fn annotation(&self, name: &str) -> Option<String> {
        self.body.lock().whole(|whole| {
            let annotation = self.format.annotation(whole, name).ok().flatten();
            annotation.map(Cow::into_owned)
        })
    }

    pub(crate) fn uid(&self) -> Option<String> {
        let body = self.body.lock();
        let identity = self.format.identity(body.outline()).ok()?;
        Some(identity.uid.into_owned()).filter(|uid| !uid.is_empty())
    }

    /// Decodes a part of the metadata, as far as the outline contains it.
    pub(crate) fn metadata<T: DeserializeOwned + Default>(&self) -> T {
        let body = self.body.lock();
        self.format.metadata(body.outline()).unwrap_or_default()
    }

    /// Returns the whole object, pruned and uncompressed.
    pub(super) fn whole(&self) -> PlainBytes {
        match &*self.body.lock() {
            PackedBody::Plain(plain) => PlainBytes::Bytes(plain.clone()),
            PackedBody::Incompressible(plain) => PlainBytes::Bytes(Bytes::copy_from_slice(plain)),
            PackedBody::Compressed(compressed) => PlainBytes::Decompressed(compressed.text()),
        }
    }

    /// Returns the bytes if they are to be compressed: uncompressed objects that have not changed since the last call,
    /// or with `all` every object that was not compressed with this dictionary.
    pub(super) fn to_compress(&self, all: bool, dictionary: Option<&Arc<Dictionary>>) -> Option<Bytes> {
        match &*self.body.lock() {
            PackedBody::Plain(plain) => {
                let at_rest = self.at_rest.swap(true, Ordering::Relaxed);
                (all || at_rest).then(|| plain.clone())
            }
            PackedBody::Compressed(compressed) if all && !compressed.uses_dictionary(dictionary) => {
                Some(Bytes::copy_from_slice(&compressed.text()))
            }
            PackedBody::Incompressible(_) | PackedBody::Compressed(_) => None,
        }
    }

    /// Replaces the bytes by compressed ones, or by a copy if compression does not make them smaller, because the
    /// original may be in a shared block. Returns the new size.
    pub(super) fn compress(
        &self,
        plain: &[u8],
        compressor: &mut Compressor,
        dictionary: Option<&Arc<Dictionary>>,
    ) -> usize {
        let (body, size) = match self.compressed(plain, compressor, dictionary) {
            Some(compressed) => {
                let size = compressed.bytes.len();
                (PackedBody::Compressed(compressed), size)
            }
            None => (PackedBody::Incompressible(plain.into()), plain.len()),
        };
        let old = std::mem::replace(&mut *self.body.lock(), body);
        self.packing.bytes.fetch_add(size, Ordering::Relaxed);
        self.packing.bytes.fetch_sub(old.size(), Ordering::Relaxed);
        if matches!(old, PackedBody::Plain(_)) {
            self.packing.plain.fetch_sub(1, Ordering::Relaxed);
        }
        size
    }

    fn compressed(
        &self,
        plain: &[u8],
        compressor: &mut Compressor,
        dictionary: Option<&Arc<Dictionary>>,
    ) -> Option<CompressedBytes> {
        let mut bytes = Vec::with_capacity(plain.len());
        self.format.outline(plain, &mut bytes).ok()?;
        let outline = bytes.len();
        bytes.extend_from_slice(compressor.compress(plain)?);
        (bytes.len() < plain.len() / 8 * 7).then_some(CompressedBytes {
            bytes: bytes.into_boxed_slice(),
            outline: u32::try_from(outline).ok()?,
            plain: u32::try_from(plain.len()).ok()?,
            dictionary: dictionary.cloned(),
        })
    }

    /// Returns the size of the bytes in memory.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.body.lock().size()
    }
}

impl CompressedBytes {
    fn uses_dictionary(&self, dictionary: Option<&Arc<Dictionary>>) -> bool {
        match (&self.dictionary, dictionary) {
            (Some(this), Some(that)) => Arc::ptr_eq(this, that),
            (None, None) => true,
            _ => false,
        }
    }

    fn outline(&self) -> &[u8] {
        &self.bytes[..self.outline as usize]
    }

    fn text(&self) -> DecompressedText {
        let compressed = &self.bytes[self.outline as usize..];
        decompress(compressed, self.plain as usize, self.dictionary.as_deref())
    }
}

impl<K> Drop for PackedObject<K> {
    fn drop(&mut self) {
        if *self.decoded.get_mut() != 0 {
            self.packing.decoded.lock().remove(self.address());
        }
        let body = self.body.get_mut();
        self.packing.bytes.fetch_sub(body.size(), Ordering::Relaxed);
        if matches!(body, PackedBody::Plain(_)) {
            self.packing.plain.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
