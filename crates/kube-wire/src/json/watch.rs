//! Events of a watch.

use std::borrow::Cow;
use std::fmt;

use super::Error;
use super::cursor::Cursor;
use crate::length::Length;

/// What a watch tells: something happened to an object.
///
/// Read by [`watch_event`].
#[derive(Clone, PartialEq, Eq)]
pub struct WatchEvent<'a> {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub event_type: Cow<'a, str>,
    /// The object's text. That it is whole and an object is found by reading it.
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

/// Reads one line of a watch. The object is not looked at.
///
/// ```
/// use kube_wire::json;
///
/// let event = json::watch_event(br#"{"type":"ADDED","object":{"kind":"Pod"}}"#)?;
/// assert_eq!(event.event_type, "ADDED");
/// assert_eq!(event.object, br#"{"kind":"Pod"}"#);
/// # Ok::<(), json::Error>(())
/// ```
pub fn watch_event(line: &[u8]) -> Result<WatchEvent<'_>, Error> {
    read(line).map_err(|error| error.within(line))
}

fn read(line: &[u8]) -> Result<WatchEvent<'_>, Error> {
    let mut cursor = Cursor::new(line);
    let mut fields = cursor.fields()?;
    let mut event_type = None;
    let mut object = None;
    while let Some(name) = cursor.field(&mut fields)? {
        let is_again = if name.is("type") {
            event_type.replace(cursor.string()?.text()?).is_some()
        } else if name.is("object") {
            object.replace(cursor.value()?).is_some()
        } else {
            cursor.value()?;
            false
        };
        if is_again {
            return Err(Error::twice(name.offset()));
        }
    }
    cursor.end()?;
    let missing = |what| Error::expected(what, line.len());
    Ok(WatchEvent {
        event_type: event_type.ok_or_else(|| missing("an event's type"))?,
        object: object.ok_or_else(|| missing("an event's object"))?,
    })
}
