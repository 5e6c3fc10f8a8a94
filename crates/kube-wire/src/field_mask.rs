//! Masks of fields to skip while reading an object.
//!
//! A masked field is neither decoded nor stored. A [`FieldMask`] uses JSON field names and applies to JSON and
//! protobuf alike.

use std::fmt;
use std::sync::OnceLock;

/// A set of fields to skip while reading objects.
///
/// A path consists of field names separated by dots. Lists add no segment: `spec.containers.env` is the `env` of
/// every container. Map keys are segments as well; keys that contain dots are written in brackets.
///
/// # Examples
///
/// ```
/// use kube_wire::FieldMask;
///
/// let mask = FieldMask::managed_fields()
///     .path("spec.containers.env")?
///     .path("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]")?;
/// assert!(FieldMask::none().path("metadata.name").is_err(), "the name cannot be masked");
/// # Ok::<(), kube_wire::ParsePathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldMask {
    root: Node,
}

/// The mask of one field. A node without children, other than the root, masks its field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    steps: Vec<(Box<str>, Node)>,
}

/// Fields that identify an object and cannot be masked.
const REQUIRED: [&[&str]; 6] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "resourceVersion"],
    &["metadata", "uid"],
];

impl FieldMask {
    /// Returns a mask that skips nothing.
    pub fn none() -> FieldMask {
        FieldMask::default()
    }

    /// Returns a mask for `metadata.managedFields`, which few programs read and which is often half of an object.
    pub fn managed_fields() -> FieldMask {
        FieldMask::metadata(&["managedFields"])
    }

    /// Returns a mask for these fields of `metadata`.
    fn metadata(fields: &[&str]) -> FieldMask {
        let mut mask = FieldMask::none();
        for field in fields {
            mask.add(&["metadata".into(), (*field).into()]);
        }
        mask
    }

    /// Returns a mask for these paths, without the fields that identify an object.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = Vec<&'a str>>) -> FieldMask {
        let mut mask = FieldMask::none();
        for path in paths {
            if path == ["metadata"] {
                mask = mask.union(FieldMask::optional_metadata());
            } else if !is_required(&path) {
                let steps: Vec<Box<str>> = path.into_iter().map(Into::into).collect();
                mask.add(&steps);
            }
        }
        mask
    }

    /// Returns a mask for all metadata except the fields that identify an object.
    fn optional_metadata() -> &'static FieldMask {
        static MASK: OnceLock<FieldMask> = OnceLock::new();
        MASK.get_or_init(|| {
            FieldMask::metadata(&[
                "managedFields",
                "annotations",
                "creationTimestamp",
                "deletionGracePeriodSeconds",
                "deletionTimestamp",
                "finalizers",
                "generateName",
                "generation",
                "labels",
                "ownerReferences",
                "selfLink",
            ])
        })
    }

    /// Returns the mask behind `outline`: metadata that callers already have, and metadata that may be large.
    pub(crate) fn outline_mask() -> &'static FieldMask {
        static MASK: OnceLock<FieldMask> = OnceLock::new();
        MASK.get_or_init(|| {
            FieldMask::metadata(&[
                "managedFields",
                "name",
                "generateName",
                "namespace",
                "resourceVersion",
                "selfLink",
                "annotations",
            ])
        })
    }

    /// Adds a field and everything below it to the mask.
    ///
    /// # Errors
    /// Returns an error if the path is malformed, or if it names or contains a field that identifies an object:
    /// `apiVersion`, `kind`, or `name`, `namespace`, `resourceVersion` and `uid` of `metadata`.
    pub fn path(mut self, path: &str) -> Result<FieldMask, ParsePathError> {
        let error = |reason| ParsePathError {
            path: path.to_owned(),
            reason,
        };
        let steps = parse_steps(path).map_err(error)?;
        if is_required(&steps) {
            return Err(error(
                "apiVersion, kind and metadata's name, namespace, resourceVersion and uid are always read",
            ));
        }
        self.add(&steps);
        Ok(self)
    }

    /// Returns a mask with the fields of both masks.
    #[must_use]
    pub fn union(mut self, other: &FieldMask) -> FieldMask {
        fn add_all(mask: &mut FieldMask, node: &Node, path: &mut Vec<Box<str>>) {
            for (step, node) in &node.steps {
                path.push(step.clone());
                if node.steps.is_empty() {
                    mask.add(path);
                } else {
                    add_all(mask, node, path);
                }
                path.pop();
            }
        }
        add_all(&mut self, &other.root, &mut Vec::new());
        self
    }

    /// Returns whether the mask contains a field or one of its parents.
    pub fn contains(&self, steps: &[&str]) -> bool {
        let mut mask = self.root();
        for step in steps {
            match mask.field(step) {
                Some(next) => mask = next,
                None => return true,
            }
        }
        false
    }

    /// Returns whether the mask contains no fields.
    pub fn is_empty(&self) -> bool {
        self.root.steps.is_empty()
    }

    fn add(&mut self, steps: &[Box<str>]) {
        let mut node = &mut self.root;
        let mut is_new = false;
        for step in steps {
            let at = match node.steps.iter().position(|(name, _)| name == step) {
                // A parent of the field is masked already.
                Some(at) if !is_new && node.steps[at].1.steps.is_empty() => return,
                Some(at) => at,
                None => {
                    is_new = true;
                    node.steps.push((step.clone(), Node::default()));
                    node.steps.len() - 1
                }
            };
            node = &mut node.steps[at].1;
        }
        node.steps.clear();
    }

    /// Returns the mask that applies to the whole object.
    pub(crate) fn root(&self) -> SubMask<'_> {
        SubMask::of(&self.root)
    }
}

/// The part of a mask that applies to one value of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubMask<'a> {
    /// `None` if nothing below this value is masked.
    node: Option<&'a Node>,
}

impl<'a> SubMask<'a> {
    /// A mask without fields.
    pub(crate) const EMPTY: SubMask<'static> = SubMask { node: None };

    fn of(node: &'a Node) -> SubMask<'a> {
        SubMask {
            node: (!node.steps.is_empty()).then_some(node),
        }
    }

    /// Returns whether nothing below this value is masked.
    pub(crate) fn is_empty(self) -> bool {
        self.node.is_none()
    }

    /// Returns the mask for a field of this object, for that field in every object of this list, or for an entry of
    /// this map. Returns `None` if the field is masked.
    pub(crate) fn field(self, name: &str) -> Option<SubMask<'a>> {
        let Some(node) = self.node else {
            return Some(self);
        };
        match node.steps.iter().find(|(step, _)| **step == *name) {
            None => Some(SubMask { node: None }),
            Some((_, node)) if node.steps.is_empty() => None,
            Some((_, node)) => Some(SubMask::of(node)),
        }
    }
}

/// Returns whether a field identifies an object or contains such a field.
fn is_required(steps: &[impl AsRef<str>]) -> bool {
    REQUIRED.into_iter().any(|required| {
        required.len() >= steps.len()
            && required
                .iter()
                .zip(steps)
                .all(|(required, step)| *required == step.as_ref())
    })
}

/// Splits a path into its segments.
fn parse_steps(path: &str) -> Result<Vec<Box<str>>, &'static str> {
    let mut steps = Vec::new();
    // JSONPath starts with a dot.
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    loop {
        let step = if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = inner.split_once(']').ok_or("unclosed bracket")?;
            rest = after;
            key
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            name
        };
        if step.is_empty() {
            return Err("empty field name");
        }
        steps.push(step.into());
        if rest.is_empty() {
            return Ok(steps);
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.starts_with('[') => {}
            None => return Err("expected a dot, a bracket or the end after a closing bracket"),
        }
    }
}

/// An error for a path that is malformed or cannot be masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePathError {
    path: String,
    reason: &'static str,
}

impl fmt::Display for ParsePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot mask {:?}: {}", self.path, self.reason)
    }
}

impl std::error::Error for ParsePathError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_fields_and_their_children() {
        let mask = FieldMask::managed_fields().path("spec.containers.env").unwrap();
        assert!(mask.contains(&["metadata", "managedFields"]));
        assert!(mask.contains(&["spec", "containers", "env", "value"]));
        for path in [["metadata", "name"], ["spec", "env"], ["managedFields", "spec"]] {
            assert!(!mask.contains(&path), "{path:?}");
        }
        assert!(mask.root().field("status").unwrap().is_empty());
        assert!(FieldMask::none().root().is_empty());
    }

    #[test]
    fn parses_keys_with_dots_in_brackets() {
        let mask = FieldMask::none().path("metadata.annotations[a.b/c]").unwrap();
        assert!(mask.contains(&["metadata", "annotations", "a.b/c"]));
        assert!(!mask.contains(&["metadata", "annotations", "a"]));
        let deeper = FieldMask::none().path(".data[tls.key].x[y]").unwrap();
        assert!(deeper.contains(&["data", "tls.key", "x", "y"]));
    }

    #[test]
    fn keeps_the_shorter_of_two_nested_paths() {
        let inner_first = FieldMask::none()
            .path("status.conditions")
            .unwrap()
            .path("status")
            .unwrap();
        let outer_first = FieldMask::none()
            .path("status")
            .unwrap()
            .path("status.conditions")
            .unwrap();
        assert_eq!(inner_first, outer_first);
        assert!(outer_first.contains(&["status", "phase"]));
        let twice = FieldMask::managed_fields()
            .path("metadata.managedFields")
            .unwrap();
        assert_eq!(twice, FieldMask::managed_fields());
    }

    #[test]
    fn union_contains_the_fields_of_both_masks() {
        let both = FieldMask::managed_fields().union(&FieldMask::none().path("status.a").unwrap());
        assert!(both.contains(&["metadata", "managedFields"]) && both.contains(&["status", "a"]));
        assert!(!both.contains(&["status"]));
        let wider = both.clone().union(&FieldMask::none().path("status").unwrap());
        assert!(wider.contains(&["status", "b"]));
        assert_eq!(wider.clone().union(&both), wider);
    }

    #[test]
    fn rejects_paths_of_identifying_fields() {
        for path in [
            "metadata",
            "metadata.name",
            ".kind",
            "metadata[uid]",
            "metadata.resourceVersion",
        ] {
            let error = FieldMask::none().path(path).unwrap_err().to_string();
            assert!(error.contains("always read"), "{path}: {error}");
        }
        for path in ["metadata.names", "metadata.name.x", "spec.kind"] {
            assert!(FieldMask::none().path(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn rejects_malformed_paths() {
        for path in ["", ".", "a..b", "a.", "a[b", "a[]", "a[b]c"] {
            assert!(FieldMask::none().path(path).is_err(), "{path:?}");
        }
    }
}
