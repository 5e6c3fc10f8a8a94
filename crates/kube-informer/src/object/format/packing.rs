//! State that the packed objects of a cache share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_wire::FieldMask;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::compress::Dictionary;
use super::decode_cache::DecodeCache;
use super::packed::PackedObject;
use crate::error::Error;
use crate::object::built_in::is_stable_built_in;
use crate::object::{EncodedObject, Format, Key, Kind, Transform, WatchedResource, complete};

/// State that the packed objects of a cache share.
pub(crate) struct PackingContext<K> {
    resource: WatchedResource,
    decode: fn(Format, &[u8], &Key, &FieldMask) -> Result<K, Error>,
    complete: fn(&mut K, &WatchedResource),
    /// Whether every valid message can be decoded to a `K`.
    infallible_decode: bool,
    /// Applied whenever an object is decoded.
    transform: Option<Transform<K>>,
    pub(super) decoded: Mutex<DecodeCache<K>>,
    pub(super) dictionary: Mutex<Option<TrainedDictionary>>,
    /// The compression ratio in percent at which the last dictionary was removed. The new one is kept unless its ratio
    /// is worse than that, because objects that change often may compress badly with any dictionary.
    pub(super) retrained_at: AtomicUsize,
    /// Number of objects that are still to be compressed.
    pub(super) plain: AtomicUsize,
    /// Size of all objects, in bytes.
    pub(super) bytes: AtomicUsize,
    /// Notified after a list, when there are many objects to compress.
    pub(super) listed: Notify,
    buffer: Mutex<PruneBuffer>,
}

/// Memory for pruning objects, one after the other.
#[derive(Default)]
struct PruneBuffer {
    /// Reused for each object.
    pruned: Vec<u8>,
    /// The unused rest of the current block.
    block: BytesMut,
}

/// The metadata that a transform changed. It cannot be read from the bytes.
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

/// Maximum memory that is kept for pruning the next object, in bytes.
const MAX_PRUNE_BUFFER: usize = 64 << 10;

/// A dictionary, with measurements from its training.
#[derive(Debug, Clone)]
pub(super) struct TrainedDictionary {
    pub(super) dictionary: Arc<Dictionary>,
    /// Number of objects at the training.
    pub(super) objects: usize,
    /// Compression ratio of the first round, in percent.
    pub(super) percent: Option<usize>,
}

/// Size of a block, in bytes. Objects of a list share blocks until they are compressed. Then whole blocks are freed,
/// which prevents fragmentation.
pub(super) const BLOCK: usize = 1 << 20;

/// Where the bytes of an object are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// In a block with other objects of the list.
    Block,
    /// In a separate allocation.
    Separate,
}

impl<K> PackingContext<K> {
    pub(crate) fn new(resource: WatchedResource, transform: Option<Transform<K>>) -> Arc<PackingContext<K>>
    where
        K: Kind,
    {
        Arc::new(PackingContext {
            resource,
            decode: Format::object,
            complete,
            infallible_decode: is_stable_built_in::<K>(),
            transform,
            decoded: Mutex::new(DecodeCache::new()),
            dictionary: Mutex::new(None),
            retrained_at: AtomicUsize::new(0),
            plain: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            listed: Notify::new(),
            buffer: Mutex::default(),
        })
    }

    /// Packs an object if its bytes can be decoded to a `K`. A single object remains decoded for a while, because
    /// handlers will read it soon.
    pub(crate) fn pack(
        self: &Arc<Self>,
        key: &Key,
        encoded: &EncodedObject,
        mask: &FieldMask,
        allocation: Allocation,
    ) -> Result<Arc<PackedObject<K>>, Error>
    where
        K: Kind,
    {
        let pruned = EncodedObject {
            format: encoded.format,
            bytes: self.prune(encoded, mask, allocation)?,
        };
        let mut transformed = TransformedMetadata::default();
        let object = if self.is_known_to_decode(&pruned) {
            None
        } else {
            let mut object = self.decode(key, pruned.format, &pruned.bytes)?;
            if let Some(transform) = &self.transform {
                let before = object.meta().clone();
                transform.apply(key, &mut object)?;
                transformed = TransformedMetadata::between(&before, object.meta());
            }
            Some(object)
        };
        let packed = PackedObject::new(Arc::clone(self), pruned.format, transformed, pruned.bytes);
        let packed = Arc::new(packed);
        if let (Allocation::Separate, Some(object)) = (allocation, object) {
            packed.hold(Arc::new(object));
        }
        Ok(packed)
    }

    /// Returns whether the object can be decoded, as far as that is known without decoding it.
    fn is_known_to_decode(&self, pruned: &EncodedObject) -> bool {
        let Format::Protobuf(schema) = pruned.format else {
            return false;
        };
        self.infallible_decode && self.transform.is_none() && schema.check(&pruned.bytes).is_ok()
    }

    /// Drops the recently decoded objects.
    pub(super) fn clear_recent(&self) {
        let recent = self.decoded.lock().clear_recent();
        drop(recent);
    }

    /// Decodes and transforms an object.
    pub(super) fn read(&self, key: &Key, format: Format, plain: &[u8]) -> Result<K, Error> {
        let mut object = self.decode(key, format, plain)?;
        if let Some(transform) = &self.transform {
            transform.apply(key, &mut object)?;
        }
        Ok(object)
    }

    fn decode(&self, key: &Key, format: Format, plain: &[u8]) -> Result<K, Error> {
        let mut object = (self.decode)(format, plain, key, &FieldMask::none())?;
        (self.complete)(&mut object, &self.resource);
        Ok(object)
    }

    /// Returns the object without the masked fields, in an allocation of the exact size.
    fn prune(
        &self,
        encoded: &EncodedObject,
        mask: &FieldMask,
        allocation: Allocation,
    ) -> Result<Bytes, Error> {
        let mut buffer = self.buffer.lock();
        let PruneBuffer { pruned, block } = &mut *buffer;
        pruned.clear();
        encoded.format.prune(&encoded.bytes, mask, pruned)?;
        let bytes = if allocation == Allocation::Separate || pruned.len() > BLOCK / 4 {
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

    /// Notifies the compaction task of a new list, which is to be compressed.
    pub(crate) fn on_list_applied(&self) {
        *self.buffer.lock() = PruneBuffer::default();
        self.listed.notify_one();
    }

    /// Returns the size of all objects in bytes, including deleted ones that are still referenced.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of objects that are still to be compressed.
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
