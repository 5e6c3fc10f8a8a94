//! Fields that are left out while an object is read.
//!
//! What a program never looks at need not be made: not decoded, not kept, not even looked into. One [`FieldMask`] serves JSON
//! and protobuf alike, because it is about fields as JSON calls them.

use std::fmt;
use std::sync::OnceLock;

/// The fields of a kind that are left out.
///
/// A path is field names with dots between them. Lists have no step of their own: `spec.containers.env` is the `env` of
/// every container. Keys of maps are steps, too, and stand in brackets where they have dots themselves.
///
/// ```
/// use kube_wire::FieldMask;
///
/// let mask = FieldMask::managed_fields()
///     .path("spec.containers.env")?
///     .path("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]")?;
/// assert!(FieldMask::none().path("metadata.name").is_err(), "an object without a name is none");
/// # Ok::<(), kube_wire::ParsePathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldMask {
    root: Node,
}

/// What is known of one place in an object. One without steps, unless it is the root, is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    steps: Vec<(Box<str>, Node)>,
}

/// Without these an object is not known for what it is.
const NEEDED: [&[&str]; 6] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "resourceVersion"],
    &["metadata", "uid"],
];

impl FieldMask {
    /// Leaves nothing out.
    pub fn none() -> FieldMask {
        FieldMask::default()
    }

    /// Leaves out `metadata.managedFields`: the half of many objects, and hardly anybody reads them.
    pub fn managed_fields() -> FieldMask {
        let mut mask = FieldMask::none();
        mask.add(&["metadata".into(), "managedFields".into()]);
        mask
    }

    /// Leaves out these fields, except for those without which an object is not known.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = Vec<&'a str>>) -> FieldMask {
        let mut mask = FieldMask::none();
        for path in paths {
            if path == ["metadata"] {
                mask = mask.union(FieldMask::unneeded_metadata());
            } else if !is_needed(&path) {
                let steps: Vec<Box<str>> = path.into_iter().map(Into::into).collect();
                mask.add(&steps);
            }
        }
        mask
    }

    /// Leaves out all metadata but what makes an object known.
    fn unneeded_metadata() -> &'static FieldMask {
        static MASK: OnceLock<FieldMask> = OnceLock::new();
        MASK.get_or_init(|| {
            let mut mask = FieldMask::managed_fields();
            for field in [
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
            ] {
                mask.add(&["metadata".into(), field.into()]);
            }
            mask
        })
    }

    /// Leaves out of `metadata` what whoever holds an object knows anyway, and what may be large.
    pub(crate) fn all_but_an_outline() -> &'static FieldMask {
        static MASK: OnceLock<FieldMask> = OnceLock::new();
        MASK.get_or_init(|| {
            let mut mask = FieldMask::managed_fields();
            for field in [
                "name",
                "generateName",
                "namespace",
                "resourceVersion",
                "selfLink",
                "annotations",
            ] {
                mask.add(&["metadata".into(), field.into()]);
            }
            mask
        })
    }

    /// Leaves out one more field, and all that is in it.
    pub fn path(mut self, path: &str) -> Result<FieldMask, ParsePathError> {
        let bad = |why| ParsePathError {
            path: path.to_owned(),
            why,
        };
        let steps = steps(path).map_err(bad)?;
        if is_needed(&steps) {
            return Err(bad(
                "without it an object is not known for what it is: apiVersion, kind and \
                 metadata's name, namespace, resourceVersion and uid are always read",
            ));
        }
        self.add(&steps);
        Ok(self)
    }

    /// Leaves out what any of the two leaves out.
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

    /// Whether a field is left out, by itself or with what it is in.
    pub fn contains(&self, steps: &[&str]) -> bool {
        let mut within = self.start();
        for step in steps {
            match within.field(step) {
                Some(next) => within = next,
                None => return true,
            }
        }
        false
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.root.steps.is_empty()
    }

    fn add(&mut self, steps: &[Box<str>]) {
        let mut node = &mut self.root;
        let mut is_new = false;
        for step in steps {
            let at = match node.steps.iter().position(|(name, _)| name == step) {
                // It is left out already, with all that is in it.
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

    /// The whole object.
    pub(crate) fn start(&self) -> Within<'_> {
        Within::of(&self.root)
    }
}

/// A place in an object, as seen by what is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within<'a> {
    /// None where everything is kept.
    node: Option<&'a Node>,
}

impl<'a> Within<'a> {
    /// A place where everything is kept.
    pub(crate) const KEPT: Within<'static> = Within { node: None };

    fn of(node: &'a Node) -> Within<'a> {
        Within {
            node: (!node.steps.is_empty()).then_some(node),
        }
    }

    /// Whether everything here is kept, so that nobody need ask.
    pub(crate) fn is_kept(self) -> bool {
        self.node.is_none()
    }

    /// A field of the object here, or of each object in the list here, or an entry of the map here: none if it is left
    /// out.
    pub(crate) fn field(self, name: &str) -> Option<Within<'a>> {
        let Some(node) = self.node else {
            return Some(self);
        };
        match node.steps.iter().find(|(step, _)| **step == *name) {
            None => Some(Within { node: None }),
            Some((_, node)) if node.steps.is_empty() => None,
            Some((_, node)) => Some(Within::of(node)),
        }
    }
}

/// Whether something is in this field without which an object is not known for what it is.
fn is_needed(steps: &[impl AsRef<str>]) -> bool {
    NEEDED.into_iter().any(|needed| {
        needed.len() >= steps.len()
            && needed
                .iter()
                .zip(steps)
                .all(|(needed, step)| *needed == step.as_ref())
    })
}

/// Cuts a path into its steps.
fn steps(path: &str) -> Result<Vec<Box<str>>, &'static str> {
    let mut steps = Vec::new();
    // A leading dot is how JSONPath writes it.
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    loop {
        let step = if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
            rest = after;
            key
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            name
        };
        if step.is_empty() {
            return Err("a step is empty");
        }
        steps.push(step.into());
        if rest.is_empty() {
            return Ok(steps);
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.starts_with('[') => {}
            None => return Err("after a bracket there is a dot, another bracket or the end"),
        }
    }
}

/// A path that names no field that can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePathError {
    path: String,
    why: &'static str,
}

impl fmt::Display for ParsePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot be left out: {}", self.path, self.why)
    }
}

impl std::error::Error for ParsePathError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_left_out_with_all_that_is_in_it_and_nothing_else() {
        let mask = FieldMask::managed_fields().path("spec.containers.env").unwrap();
        assert!(mask.contains(&["metadata", "managedFields"]));
        assert!(mask.contains(&["spec", "containers", "env", "value"]));
        for kept in [["metadata", "name"], ["spec", "env"], ["managedFields", "spec"]] {
            assert!(!mask.contains(&kept), "{kept:?}");
        }
        assert!(mask.start().field("status").unwrap().is_kept());
        assert!(FieldMask::none().start().is_kept());
    }

    #[test]
    fn keys_with_dots_stand_in_brackets() {
        let mask = FieldMask::none().path("metadata.annotations[a.b/c]").unwrap();
        assert!(mask.contains(&["metadata", "annotations", "a.b/c"]));
        assert!(!mask.contains(&["metadata", "annotations", "a"]));
        let deeper = FieldMask::none().path(".data[tls.key].x[y]").unwrap();
        assert!(deeper.contains(&["data", "tls.key", "x", "y"]));
    }

    #[test]
    fn the_outer_of_two_paths_counts_whatever_their_order() {
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
    fn two_of_them_leave_out_what_any_of_them_does() {
        let both = FieldMask::managed_fields().union(&FieldMask::none().path("status.a").unwrap());
        assert!(both.contains(&["metadata", "managedFields"]) && both.contains(&["status", "a"]));
        assert!(!both.contains(&["status"]));
        let wider = both.clone().union(&FieldMask::none().path("status").unwrap());
        assert!(wider.contains(&["status", "b"]));
        assert_eq!(wider.clone().union(&both), wider);
    }

    #[test]
    fn what_makes_an_object_known_cannot_be_left_out() {
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
    fn a_path_that_is_none_is_refused() {
        for path in ["", ".", "a..b", "a.", "a[b", "a[]", "a[b]c"] {
            assert!(FieldMask::none().path(path).is_err(), "{path:?}");
        }
    }
}
