//! Fields that an object has once, or it is refused.
//!
//! Of a field that is there twice, one reader takes the first and another the last. Where such a field says what the
//! object is, whom it belongs to or who selects it, they would take it for two different objects.

/// The fields of one object that must not be repeated, and which of them have come.
#[derive(Clone, Debug)]
pub(super) struct Once {
    names: &'static [&'static str],
    seen: u8,
}

const OBJECT: &[&str] = &["apiVersion", "kind", "metadata"];

/// Those of the identity come first.
const METADATA: &[&str] = &[
    "name",
    "namespace",
    "resourceVersion",
    "uid",
    "labels",
    "annotations",
];
const IDENTITY: u32 = 4;

const LIST: &[&str] = &["apiVersion", "kind", "metadata", "items"];
const LIST_METADATA: &[&str] = &["resourceVersion", "continue", "remainingItemCount"];

/// A field came again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Twice(pub(super) &'static str);

impl Once {
    /// For a whole object.
    pub(super) const OBJECT: Once = Once::of(OBJECT);
    /// For an object's metadata.
    pub(super) const METADATA: Once = Once::of(METADATA);
    /// For a whole list.
    pub(super) const LIST: Once = Once::of(LIST);
    /// For a list's metadata.
    pub(super) const LIST_METADATA: Once = Once::of(LIST_METADATA);
    /// For what may have any field twice.
    pub(super) const ANY: Once = Once::of(&[]);

    const fn of(names: &'static [&'static str]) -> Once {
        Once { names, seen: 0 }
    }

    /// Whether nothing is asked of the fields.
    pub(super) fn is_any(&self) -> bool {
        self.names.is_empty()
    }

    /// For the value of a field of this name.
    pub(super) fn of_field(&self, name: &str) -> Once {
        if self.names == OBJECT && name == "metadata" {
            Once::METADATA
        } else {
            Once::ANY
        }
    }

    /// Takes note of a field, given as whether it has a name. Gives its name if it is one of those.
    pub(super) fn see(&mut self, is: impl Fn(&str) -> bool) -> Result<Option<&'static str>, Twice> {
        let Some(at) = self.names.iter().position(|name| is(name)) else {
            return Ok(None);
        };
        let bit = 1 << at;
        if self.seen & bit != 0 {
            return Err(Twice(self.names[at]));
        }
        self.seen |= bit;
        Ok(Some(self.names[at]))
    }

    /// Whether all of them have come.
    pub(super) fn has_seen_all(&self) -> bool {
        self.seen.count_ones() as usize == self.names.len()
    }

    /// Whether, of metadata, all of the identity has come.
    pub(super) fn has_seen_identity(&self) -> bool {
        self.seen.trailing_ones() >= IDENTITY
    }
}
