//! One object as bytes.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;
use kube_wire::selector::Selector;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::compress::{Compressor, DecompressedText, Dictionary, decompress};
use super::decoded::DecodeNumber;
use super::packing::{PackingContext, TransformedMetadata};
use crate::error::{Error, ErrorChain};
use crate::object::{Format, Key};

/// An object as its bytes, which have been found to be a `K`.
pub(crate) struct PackedObject<K> {
    packing: Arc<PackingContext<K>>,
    format: Format,
    transformed: TransformedMetadata,
    /// If it was ever decoded, so that there may be a note of it, the number of that; else zero.
    decoded: AtomicU32,
    /// It has been at rest since the packer came by last.
    at_rest: AtomicBool,
    body: Mutex<PackedBody>,
}

enum PackedBody {
    /// As it came, without what is left out. It will be compressed.
    Plain(Bytes),
    /// The same, and not worth compressing.
    Kept(Box<[u8]>),
    Compressed(Compressed),
}

struct Compressed {
    /// First the outline, then the compressed whole.
    bytes: Box<[u8]>,
    outline: u32,
    plain: u32,
    dictionary: Option<Arc<Dictionary>>,
}

impl PackedBody {
    /// An object that has at least the [`Format::outline`] of this one.
    fn outline(&self) -> &[u8] {
        match self {
            PackedBody::Plain(plain) => plain,
            PackedBody::Kept(plain) => plain,
            PackedBody::Compressed(compressed) => compressed.outline(),
        }
    }

    /// How much memory it takes.
    fn size(&self) -> usize {
        match self {
            PackedBody::Plain(plain) => plain.len(),
            PackedBody::Kept(plain) => plain.len(),
            PackedBody::Compressed(compressed) => compressed.bytes.len(),
        }
    }

    /// Looks at the whole object.
    fn whole<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            PackedBody::Plain(plain) => look(plain),
            PackedBody::Kept(plain) => look(plain),
            PackedBody::Compressed(compressed) => look(&compressed.text()),
        }
    }
}

/// The bytes of an object, for as long as they are needed.
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

/// Smaller objects are not worth it.
const MIN_COMPRESSED: usize = 256;

impl<K> PackedObject<K> {
    /// An object of which it is known that `packing` can make a `K`.
    pub(super) fn new(
        packing: Arc<PackingContext<K>>,
        format: Format,
        transformed: TransformedMetadata,
        plain: Bytes,
    ) -> PackedObject<K> {
        packing.bytes.fetch_add(plain.len(), Ordering::Relaxed);
        let body = if plain.len() < MIN_COMPRESSED {
            PackedBody::Kept(plain.as_ref().into())
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

    /// The object itself, decoded unless someone holds it.
    ///
    /// # Panics
    /// If the bytes, which were found to be a `K`, do not become one: then its `Deserialize` or the transform do not always
    /// do the same.
    pub(crate) fn object(&self, key: &Key) -> Arc<K> {
        self.try_object(key)
            .unwrap_or_else(|error| panic!("{key} was found to be good, and now: {}", ErrorChain(&error)))
    }

    pub(super) fn try_object(&self, key: &Key) -> Result<Arc<K>, Error> {
        if let Some(object) = self.find_decoded() {
            return Ok(object);
        }
        // Decoding calls the user's transform, which may read this very object.
        let object = self.packing.read(key, self.format, &self.whole())?;
        Ok(self.hold(Arc::new(object)))
    }

    fn find_decoded(&self) -> Option<Arc<K>> {
        let number = DecodeNumber::new(self.decoded.load(Ordering::Relaxed))?;
        self.packing.decoded.lock().find(self.address(), number)
    }

    /// Notes that the object was decoded; if another thread was faster, its object is the one.
    pub(super) fn hold(&self, object: Arc<K>) -> Arc<K> {
        let mut decoded = self.packing.decoded.lock();
        let before = DecodeNumber::new(self.decoded.load(Ordering::Relaxed));
        if let Some(other) = before.and_then(|number| decoded.find(self.address(), number)) {
            return other;
        }
        let (number, let_go) = decoded.add(self.address(), &object);
        self.decoded.store(number.get(), Ordering::Relaxed);
        drop(decoded);
        drop(let_go);
        object
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Which metadata must be read from the object itself: what follows answers from the bytes.
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

    /// Annotations are in no outline.
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

    /// What is asked for of the metadata, as far as the outline has it.
    pub(crate) fn metadata<T: DeserializeOwned + Default>(&self) -> T {
        let body = self.body.lock();
        self.format.metadata(body.outline()).unwrap_or_default()
    }

    /// The whole object as it came, without what is left out.
    pub(super) fn whole(&self) -> PlainBytes {
        match &*self.body.lock() {
            PackedBody::Plain(plain) => PlainBytes::Bytes(plain.clone()),
            PackedBody::Kept(plain) => PlainBytes::Bytes(Bytes::copy_from_slice(plain)),
            PackedBody::Compressed(compressed) => PlainBytes::Decompressed(compressed.text()),
        }
    }

    /// Its bytes, if they are to be compressed: as they are plain, and have been when somebody asked before; or `all` of
    /// them, those included that were compressed with another dictionary.
    pub(super) fn to_compress(&self, all: bool, dictionary: Option<&Arc<Dictionary>>) -> Option<Bytes> {
        match &*self.body.lock() {
            PackedBody::Plain(plain) => {
                let at_rest = self.at_rest.swap(true, Ordering::Relaxed);
                (all || at_rest).then(|| plain.clone())
            }
            PackedBody::Compressed(compressed) if all && !compressed.is_with(dictionary) => {
                Some(Bytes::copy_from_slice(&compressed.text()))
            }
            PackedBody::Kept(_) | PackedBody::Compressed(_) => None,
        }
    }

    /// Puts compressed bytes in place of the plain ones, or a copy of these if they do not become smaller: they may lie
    /// in memory that is shared with others. Says how many bytes there are now.
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
            None => (PackedBody::Kept(plain.into()), plain.len()),
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
    ) -> Option<Compressed> {
        let mut bytes = Vec::with_capacity(plain.len());
        self.format.outline(plain, &mut bytes).ok()?;
        let outline = bytes.len();
        bytes.extend_from_slice(compressor.compress(plain)?);
        (bytes.len() < plain.len() / 8 * 7).then_some(Compressed {
            bytes: bytes.into_boxed_slice(),
            outline: u32::try_from(outline).ok()?,
            plain: u32::try_from(plain.len()).ok()?,
            dictionary: dictionary.cloned(),
        })
    }

    /// How much memory its bytes take.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.body.lock().size()
    }
}

impl Compressed {
    fn is_with(&self, dictionary: Option<&Arc<Dictionary>>) -> bool {
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
