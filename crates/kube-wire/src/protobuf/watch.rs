//! Watches: events in frames.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};
use serde_json::Value;

use super::envelope::text;
use super::error::Reason;
use super::incoming::Incoming;
use super::read::Fields;
use super::write::Writer;
use super::{Error, MAGIC, decode, encode};
use crate::length::Length;

/// The longest frame that client-go reads.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

const LENGTH: usize = 4;

/// What a watch tells: something happened to an object.
///
/// On the wire it is a frame: its length in four bytes, the highest first, then the event. The object in it is in an
/// envelope of its own.
///
/// ```
/// use bytes::BytesMut;
/// use kube_wire::protobuf::{MAX_FRAME, WatchEvent, split_frame};
/// use serde_json::json;
///
/// let pod = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
/// let mut stream = BytesMut::new();
/// stream.extend_from_slice(&WatchEvent::frame_of("ADDED", &pod)?);
///
/// let frame = split_frame(&mut stream, MAX_FRAME)?.expect("a whole frame has come");
/// let event = WatchEvent::parse(&frame)?;
/// assert_eq!(event.event_type, "ADDED");
/// assert_eq!(event.decode_object()?, pod);
/// assert_eq!(split_frame(&mut stream, MAX_FRAME)?, None);
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchEvent<'a> {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub event_type: &'a str,
    /// The object in its envelope, as [`encode`] gives it.
    pub object: &'a [u8],
}

impl fmt::Debug for WatchEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchEvent")
            .field("event_type", &self.event_type)
            .field("object", &Length(self.object.len()))
            .finish()
    }
}

impl<'a> WatchEvent<'a> {
    /// Reads the content of a frame. The object is not looked at.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Error> {
        let mut event = Self::default();
        let mut fields = Fields::of(frame);
        while let Some((number, content)) = fields.next()? {
            match number {
                1 => event.event_type = text(content.bytes()?)?,
                2 => {
                    let mut object = Fields::of(content.bytes()?);
                    while let Some((number, content)) = object.next()? {
                        if number == 1 {
                            event.object = content.bytes()?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(event)
    }

    /// The object as JSON. One that is JSON already is taken as it is.
    pub fn decode_object(&self) -> Result<Value, Error> {
        if self.object.starts_with(MAGIC) {
            return decode(self.object);
        }
        serde_json::from_slice(self.object)
            .map_err(|error| Error::invalid(format!("neither protobuf nor JSON: {error}")))
    }

    /// The event with its length before it.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes_field(1, self.object);
        writer.close_since(2, 0);
        writer.bytes_field(1, self.event_type.as_bytes());
        let len = u32::try_from(writer.len()).unwrap_or(u32::MAX);
        writer.bytes(&len.to_be_bytes());
        writer.finish()
    }

    /// The frame for an object. When many watch the same, [`encode`] it once and use [`to_frame`](Self::to_frame).
    pub fn frame_of(event_type: &str, object: &Value) -> Result<Vec<u8>, Error> {
        let event = WatchEvent {
            event_type,
            object: &encode(object)?,
        };
        Ok(event.to_frame())
    }
}

/// Reads the frames of a watch as they come.
///
/// A frame that came in one piece is a slice of it.
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::protobuf::{Envelope, FrameReader, MAX_FRAME, WatchEvent};
///
/// let mut frames = FrameReader::new(MAX_FRAME);
/// frames.push(Bytes::from(WatchEvent { event_type: "ADDED", object: b"k8s\0\x12\x01m" }.to_frame()));
/// let frame = frames.next()?.expect("a whole frame has come");
///
/// let event = WatchEvent::parse(&frame)?;
/// let message: Bytes = frame.slice_ref(Envelope::parse(event.object)?.raw);
/// assert_eq!(&message[..], b"m");
/// frames.finish()?;
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Debug)]
pub struct FrameReader {
    incoming: Incoming,
    limit: usize,
    /// The length of the frame that is coming.
    len: Option<usize>,
}

impl FrameReader {
    /// A reader of frames that are not longer than `limit`.
    pub fn new(limit: usize) -> Self {
        Self {
            incoming: Incoming::default(),
            limit,
            len: None,
        }
    }

    /// Takes what has come.
    pub fn push(&mut self, piece: Bytes) {
        self.incoming.push(piece);
    }

    /// The content of the next frame; none until more has come.
    ///
    /// A frame that is too long is an error as soon as its length has come, so that nobody waits for it.
    #[expect(clippy::should_implement_trait, reason = "after none there can be more")]
    pub fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let len = if let Some(len) = self.len {
            len
        } else {
            let Some(head) = self.incoming.take(LENGTH) else {
                return Ok(None);
            };
            let len = head.iter().fold(0_u64, |len, byte| len << 8 | u64::from(*byte));
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len > self.limit {
                return Err(Reason::TooLarge.into());
            }
            *self.len.insert(len)
        };
        let frame = self.incoming.take(len);
        if frame.is_some() {
            self.len = None;
        }
        Ok(frame)
    }

    /// Whether the watch ended after a whole frame: an error [that says so](Error::is_cut_off) if not.
    pub fn finish(&self) -> Result<(), Error> {
        if self.len.is_some() || !self.incoming.is_empty() {
            return Err(Reason::CutOff.into());
        }
        Ok(())
    }
}

/// Takes the content of the first frame from what has come of a stream; `None` while it is not whole.
///
/// A frame longer than `limit` is an error as soon as its length has come, so that nobody waits for it with a growing
/// buffer.
///
/// [`FrameReader`] does so with whatever comes, and reads the event.
pub fn split_frame(stream: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, Error> {
    let Some(head) = stream.first_chunk::<LENGTH>() else {
        return Ok(None);
    };
    let len = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
    if len > limit {
        return Err(Reason::TooLarge.into());
    }
    if stream.len() - LENGTH < len {
        return Ok(None);
    }
    stream.advance(LENGTH);
    Ok(Some(stream.split_to(len).freeze()))
}
