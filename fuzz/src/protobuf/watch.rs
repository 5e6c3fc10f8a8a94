//! Watches. An input is four bytes that determine the pieces, and the body.

use bytes::{Bytes, BytesMut};
use kube_wire::protobuf::{Envelope, FrameReader, WatchEvent, split_frame};

use super::CUTTING;
use crate::pieces::cut;

const LIMIT: usize = 1 << 20;

/// Frames do not depend on the pieces, and decoded events survive a round trip.
pub(crate) fn watch(data: &[u8]) {
    let (pieces, whole) = cut(data);
    let (frames, end) = CUTTING.keep(whole.len(), || read([whole.clone()]));
    assert_eq!(read(pieces), (frames.clone(), end.clone()));

    let mut stream = BytesMut::from(&whole[..]);
    let mut split = Vec::new();
    while let Ok(Some(frame)) = split_frame(&mut stream, LIMIT) {
        split.push(frame);
    }
    assert_eq!(split, frames);
    assert_eq!(end.is_ok(), stream.is_empty());

    for frame in &frames {
        let Ok(event) = WatchEvent::parse(frame) else {
            continue;
        };
        let written = event.to_frame();
        assert_eq!(WatchEvent::parse(&written[4..]).expect("an event"), event);
        if let Ok(envelope) = Envelope::parse(event.object) {
            assert_eq!(
                Envelope::parse(&envelope.to_bytes()).expect("an envelope"),
                envelope
            );
        }
        if let Ok(object) = event.decode_object() {
            let again = WatchEvent::frame_of(event.event_type, &object);
            assert!(again.is_ok() || !event.object.starts_with(b"k8s\0"), "{again:?}");
        }
    }
}

/// Returns the frames, and whether the watch ended after the last one.
fn read(pieces: impl IntoIterator<Item = Bytes>) -> (Vec<Bytes>, Result<(), String>) {
    let mut reader = FrameReader::new(LIMIT);
    let mut frames = Vec::new();
    for piece in pieces {
        reader.push(piece);
        loop {
            match reader.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error.to_string())),
            }
        }
    }
    (frames, reader.finish().map_err(|error| error.to_string()))
}
