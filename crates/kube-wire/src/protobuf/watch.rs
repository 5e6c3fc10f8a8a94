//! Watch events in protobuf frames.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};
use serde_json::Value;

use super::envelope::text;
use super::error::ProtobufErrorKind;
use super::field_reader::FieldReader;
use super::input_buffer::InputBuffer;
use super::writer::Writer;
use super::{Error, MAGIC, decode, encode};
use crate::length::Length;

/// Maximum length of a frame in client-go, in bytes.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

const LENGTH: usize = 4;

/// An event of a watch.
///
/// Events are sent in frames: a length of four bytes in big-endian order, followed by the event. The object in it has
/// its own envelope.
///
/// # Examples
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
/// let frame = split_frame(&mut stream, MAX_FRAME)?.expect("a complete frame");
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
    /// The object in its envelope, as returned by [`encode`].
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
    /// Parses the content of a frame. Does not read the object.
    ///
    /// # Errors
    /// Returns an error if the frame is malformed.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Error> {
        let mut event = Self::default();
        let mut fields = FieldReader::of(frame);
        while let Some((number, content)) = fields.next()? {
            match number {
                1 => event.event_type = text(content.bytes()?)?,
                2 => {
                    let mut object = FieldReader::of(content.bytes()?);
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

    /// Decodes the object to JSON. Also accepts objects that are encoded as JSON.
    ///
    /// # Errors
    /// Returns an error if the object is malformed or its kind is unknown.
    pub fn decode_object(&self) -> Result<Value, Error> {
        if self.object.starts_with(MAGIC) {
            return decode(self.object);
        }
        serde_json::from_slice(self.object)
            .map_err(|error| Error::invalid(format!("expected protobuf or JSON: {error}")))
    }

    /// Encodes the event as a frame, including its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes_field(1, self.object);
        writer.close_since(2, 0);
        writer.bytes_field(1, self.event_type.as_bytes());
        let len = u32::try_from(writer.len()).unwrap_or(u32::MAX);
        writer.bytes(&len.to_be_bytes());
        writer.finish()
    }

    /// Encodes an object as a frame. For many watchers of the same object, call [`encode`] once and use
    /// [`to_frame`](Self::to_frame).
    ///
    /// # Errors
    /// Returns an error if the object cannot be [encoded](encode).
    pub fn frame_of(event_type: &str, object: &Value) -> Result<Vec<u8>, Error> {
        let event = WatchEvent {
            event_type,
            object: &encode(object)?,
        };
        Ok(event.to_frame())
    }
}

/// Reads the frames of a watch while they are received.
///
/// A frame within one chunk is a slice of it.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::protobuf::{Envelope, FrameReader, MAX_FRAME, WatchEvent};
///
/// let mut frames = FrameReader::new(MAX_FRAME);
/// frames.push(Bytes::from(WatchEvent { event_type: "ADDED", object: b"k8s\0\x12\x01m" }.to_frame()));
/// let frame = frames.next()?.expect("a complete frame");
///
/// let event = WatchEvent::parse(&frame)?;
/// let message: Bytes = frame.slice_ref(Envelope::parse(event.object)?.raw);
/// assert_eq!(&message[..], b"m");
/// frames.finish()?;
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Debug)]
pub struct FrameReader {
    input_buffer: InputBuffer,
    limit: usize,
    /// Length of the current frame, if known.
    len: Option<usize>,
}

impl FrameReader {
    /// Creates a reader for frames of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            input_buffer: InputBuffer::default(),
            limit,
            len: None,
        }
    }

    /// Appends a chunk.
    pub fn push(&mut self, chunk: Bytes) {
        self.input_buffer.push(chunk);
    }

    /// Returns the content of the next frame, or `None` until it is complete.
    ///
    /// # Errors
    /// Returns an error if the frame exceeds the limit, as soon as its length was received.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: `None` is not the end"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let len = if let Some(len) = self.len {
            len
        } else {
            let Some(head) = self.input_buffer.take(LENGTH) else {
                return Ok(None);
            };
            let len = head.iter().fold(0_u64, |len, byte| len << 8 | u64::from(*byte));
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len > self.limit {
                return Err(ProtobufErrorKind::TooLarge.into());
            }
            *self.len.insert(len)
        };
        let frame = self.input_buffer.take(len);
        if frame.is_some() {
            self.len = None;
        }
        Ok(frame)
    }

    /// Checks that the watch ended after a complete frame.
    ///
    /// # Errors
    /// Returns an error with [`is_eof`](Error::is_eof) if the last frame is incomplete.
    pub fn finish(&self) -> Result<(), Error> {
        if self.len.is_some() || !self.input_buffer.is_empty() {
            return Err(ProtobufErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// Removes the first frame from a stream and returns its content, or `None` if it is incomplete.
///
/// [`FrameReader`] is an alternative that reads from chunks and does not need a contiguous buffer.
///
/// # Errors
/// Returns an error if the frame is longer than `limit`, as soon as its length was received, so that the buffer does
/// not grow any further.
pub fn split_frame(stream: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, Error> {
    let Some(head) = stream.first_chunk::<LENGTH>() else {
        return Ok(None);
    };
    let len = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
    if len > limit {
        return Err(ProtobufErrorKind::TooLarge.into());
    }
    if stream.len() - LENGTH < len {
        return Ok(None);
    }
    stream.advance(LENGTH);
    Ok(Some(stream.split_to(len).freeze()))
}
