//! Detection of duplicate fields.
//!
//! Some readers use the first of duplicate fields and others the last. For fields that identify an object or select
//! it, they would read two different objects from the same text.

/// The fields of an object that must be unique, and those that were read.
#[derive(Clone, Debug)]
pub(super) struct DuplicateCheck {
    names: &'static [&'static str],
    seen: u8,
}

const OBJECT: &[&str] = &["apiVersion", "kind", "metadata"];

/// The fields of the identity are first.
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

/// An error for a field that was read before.
#[derive(Clone, Copy, Debug)]
pub(super) struct DuplicateField(pub(super) &'static str);

impl DuplicateCheck {
    /// Checks an object.
    pub(super) const OBJECT: DuplicateCheck = DuplicateCheck::of(OBJECT);
    /// Checks the metadata of an object.
    pub(super) const METADATA: DuplicateCheck = DuplicateCheck::of(METADATA);
    /// Checks a list.
    pub(super) const LIST: DuplicateCheck = DuplicateCheck::of(LIST);
    /// Checks the metadata of a list.
    pub(super) const LIST_METADATA: DuplicateCheck = DuplicateCheck::of(LIST_METADATA);
    /// Allows all duplicates.
    pub(super) const NONE: DuplicateCheck = DuplicateCheck::of(&[]);

    const fn of(names: &'static [&'static str]) -> DuplicateCheck {
        DuplicateCheck { names, seen: 0 }
    }

    /// Returns whether all duplicates are allowed.
    pub(super) fn is_disabled(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the check for the value of a field.
    pub(super) fn for_field(&self, name: &str) -> DuplicateCheck {
        if self.names == OBJECT && name == "metadata" {
            DuplicateCheck::METADATA
        } else {
            DuplicateCheck::NONE
        }
    }

    /// Records a field and returns its name if it must be unique. `is` compares the field with a name.
    ///
    /// # Errors
    /// Returns an error if the field was recorded before.
    pub(super) fn record(
        &mut self,
        is: impl Fn(&str) -> bool,
    ) -> Result<Option<&'static str>, DuplicateField> {
        let Some(at) = self.names.iter().position(|name| is(name)) else {
            return Ok(None);
        };
        let bit = 1 << at;
        if self.seen & bit != 0 {
            return Err(DuplicateField(self.names[at]));
        }
        self.seen |= bit;
        Ok(Some(self.names[at]))
    }

    /// Returns whether all unique fields were recorded.
    pub(super) fn is_complete(&self) -> bool {
        self.seen.count_ones() as usize == self.names.len()
    }

    /// Returns whether all fields of the identity were recorded. Only meaningful for metadata.
    pub(super) fn has_identity(&self) -> bool {
        self.seen.trailing_ones() >= IDENTITY
    }
}
