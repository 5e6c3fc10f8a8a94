//! Watch events in JSON.

use std::borrow::Cow;
use std::fmt;

use super::Error;
use super::cursor::Cursor;
use crate::length::Length;

/// An event of a watch.
///
/// Returned by [`watch_event`].
#[derive(Clone, PartialEq, Eq)]
pub struct WatchEvent<'a> {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub event_type: Cow<'a, str>,
    /// The text of the object, which is not validated.
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

/// Parses one line of a watch. Does not read the object.
///
/// # Errors
/// Returns an error if the line is not an object, or if `type` or `object` is missing or a duplicate.
///
/// # Examples
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
    read(line).map_err(|error| error.locate(line))
}

fn read(line: &[u8]) -> Result<WatchEvent<'_>, Error> {
    let mut cursor = Cursor::new(line);
    let mut fields = cursor.enter_object()?;
    let mut event_type = None;
    let mut object = None;
    while let Some(name) = cursor.next_field(&mut fields)? {
        let is_duplicate = if name.equals("type") {
            event_type.replace(cursor.string()?.text()?).is_some()
        } else if name.equals("object") {
            object.replace(cursor.skip_value()?).is_some()
        } else {
            cursor.skip_value()?;
            false
        };
        if is_duplicate {
            return Err(Error::duplicate_field(name.offset()));
        }
    }
    cursor.expect_end()?;
    let missing = |field| Error::expected(field, line.len());
    Ok(WatchEvent {
        event_type: event_type.ok_or_else(|| missing("field `type`"))?,
        object: object.ok_or_else(|| missing("field `object`"))?,
    })
}
