//! What all packed objects of one cache share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_wire::FieldMask;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::compress::Dictionary;
use super::decoded::Decoded;
use super::packed::PackedObject;
use crate::error::Error;
use crate::object::built_in::is_stable_built_in;
use crate::object::{Encoded, Format, Key, Kind, Transform, WatchedResource, complete};

/// What all packed objects of one cache share.
pub(crate) struct PackingContext<K> {
    resource: WatchedResource,
    decode: fn(Format, &[u8], &Key, &FieldMask) -> Result<K, Error>,
    complete: fn(&mut K, &WatchedResource),
    /// Whether every message that is good can be read as a `K`.
    infallible_decode: bool,
    /// Set before the first object comes.
    transform: OnceLock<Option<Transform<K>>>,
    pub(super) decoded: Mutex<Decoded<K>>,
    pub(super) dictionary: Mutex<Option<TrainedDictionary>>,
    /// The percentage at which the last dictionary was given up. A new one is not given up before it is worse than that: objects
    /// that change often may compress worse than the others with any dictionary.
    pub(super) retrained_at: AtomicUsize,
    /// How many objects are still to be compressed.
    pub(super) plain: AtomicUsize,
    /// How many bytes all objects have.
    pub(super) bytes: AtomicUsize,
    /// Told when a list has come, so that there is much to compress.
    pub(super) listed: Notify,
    buffer: Mutex<PruneBuffer>,
}

/// Where objects are pruned, one after the other.
#[derive(Default)]
struct PruneBuffer {
    /// The one before, whose memory is used again.
    pruned: Vec<u8>,
    /// The free rest of the block.
    block: BytesMut,
}

/// Which metadata of an object a transform changed: its bytes do not answer questions about that.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TransformedMetadata {
    pub(crate) labels: bool,
    pub(crate) annotations: bool,
    /// The uid, owners and the deletion timestamp.
    pub(crate) identity: bool,
}

impl TransformedMetadata {
    pub(super) fn between(before: &ObjectMeta, after: &ObjectMeta) -> TransformedMetadata {
        TransformedMetadata {
            labels: before.labels != after.labels,
            annotations: before.annotations != after.annotations,
            identity: before.uid != after.uid
                || before.owner_references != after.owner_references
                || before.deletion_timestamp != after.deletion_timestamp,
        }
    }
}

/// How much memory stays for the next object to be pruned.
const MAX_PRUNE_BUFFER: usize = 64 << 10;

/// A dictionary, and what it was like when it was new.
#[derive(Debug, Clone)]
pub(super) struct TrainedDictionary {
    pub(super) dictionary: Arc<Dictionary>,
    /// How many objects there were.
    pub(super) objects: usize,
    /// How many percent of their size the first objects had when they were compressed.
    pub(super) percent: Option<usize>,
}

/// Objects of a list lie side by side until they are compressed. Then this much memory goes back at once, and not in
/// pieces between which others live on.
pub(super) const BLOCK: usize = 1 << 20;

/// Where an object's bytes are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among many others that came with it.
    Block,
    /// On its own.
    Alone,
}

impl<K> PackingContext<K> {
    pub(crate) fn new(resource: WatchedResource) -> Arc<PackingContext<K>>
    where
        K: Kind,
    {
        Arc::new(PackingContext {
            resource,
            decode: Format::object,
            complete,
            infallible_decode: is_stable_built_in::<K>(),
            transform: OnceLock::new(),
            decoded: Mutex::new(Decoded::new()),
            dictionary: Mutex::new(None),
            retrained_at: AtomicUsize::new(0),
            plain: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            listed: Notify::new(),
            buffer: Mutex::default(),
        })
    }

    /// Sets what changes objects. It is called for the same object again whenever that is decoded.
    pub(crate) fn set_transform(&self, transform: Option<Transform<K>>) {
        let _set_before = self.transform.set(transform);
    }

    /// Packs an object, if its bytes are a `K`. One that came alone is held decoded for a while, because someone will look
    /// at it soon.
    pub(crate) fn pack(
        self: &Arc<Self>,
        key: &Key,
        encoded: &Encoded,
        mask: &FieldMask,
        place: Place,
    ) -> Result<Arc<PackedObject<K>>, Error>
    where
        K: Kind,
    {
        let pruned = Encoded {
            format: encoded.format,
            bytes: self.prune(encoded, mask, place)?,
        };
        let mut transformed = TransformedMetadata::default();
        let object = if self.is_surely_good(&pruned) {
            None
        } else {
            let mut object = self.decode(key, pruned.format, &pruned.bytes)?;
            if let Some(transform) = self.transform() {
                let before = object.meta().clone();
                transform.apply(key, &mut object)?;
                transformed = TransformedMetadata::between(&before, object.meta());
            }
            Some(object)
        };
        let packed = PackedObject::new(Arc::clone(self), pruned.format, transformed, pruned.bytes);
        let packed = Arc::new(packed);
        if let (Place::Alone, Some(object)) = (place, object) {
            packed.hold(Arc::new(object));
        }
        Ok(packed)
    }

    /// Whether it is known, without decoding it, that an object can be. That an object can be decoded is otherwise found
    /// by doing it.
    fn is_surely_good(&self, pruned: &Encoded) -> bool {
        let Format::Protobuf(schema) = pruned.format else {
            return false;
        };
        self.infallible_decode && self.transform().is_none() && schema.check(&pruned.bytes).is_ok()
    }

    /// Lets go of what was decoded last, when nothing has happened for a while.
    pub(super) fn forget_recent(&self) {
        let recent = self.decoded.lock().forget_recent();
        drop(recent);
    }

    /// Decodes and transforms an object.
    pub(super) fn read(&self, key: &Key, format: Format, plain: &[u8]) -> Result<K, Error> {
        let mut object = self.decode(key, format, plain)?;
        if let Some(transform) = self.transform() {
            transform.apply(key, &mut object)?;
        }
        Ok(object)
    }

    fn decode(&self, key: &Key, format: Format, plain: &[u8]) -> Result<K, Error> {
        let mut object = (self.decode)(format, plain, key, &FieldMask::none())?;
        (self.complete)(&mut object, &self.resource);
        Ok(object)
    }

    fn transform(&self) -> Option<&Transform<K>> {
        self.transform.get()?.as_ref()
    }

    /// The bytes of an object without what is left out, in a place that is not larger.
    fn prune(&self, encoded: &Encoded, mask: &FieldMask, place: Place) -> Result<Bytes, Error> {
        let mut buffer = self.buffer.lock();
        let PruneBuffer { pruned, block } = &mut *buffer;
        pruned.clear();
        encoded.format.prune(&encoded.bytes, mask, pruned)?;
        let bytes = if place == Place::Alone || pruned.len() > BLOCK / 4 {
            Bytes::copy_from_slice(pruned)
        } else {
            if block.capacity() < pruned.len() {
                *block = BytesMut::with_capacity(BLOCK);
            }
            block.extend_from_slice(pruned);
            block.split().freeze()
        };
        pruned.shrink_to(MAX_PRUNE_BUFFER);
        Ok(bytes)
    }

    /// A list has been taken in: what came with it is to be compressed.
    pub(crate) fn on_list_applied(&self) {
        *self.buffer.lock() = PruneBuffer::default();
        self.listed.notify_one();
    }

    /// How many bytes all objects have, those included that are not in the cache any more and still held by someone.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many objects are still to be compressed.
    pub(crate) fn waiting(&self) -> usize {
        self.plain.load(Ordering::Relaxed)
    }
}

impl<K> std::fmt::Debug for PackingContext<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackingContext")
            .field("waiting", &self.waiting())
            .field("dictionary", &*self.dictionary.lock())
            .finish_non_exhaustive()
    }
}
