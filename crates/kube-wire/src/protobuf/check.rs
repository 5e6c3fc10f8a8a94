//! Whether bytes are an object, without making one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::{Error, Schema};
use crate::skip::Skip;

impl Schema {
    /// Reads a message to its last field and keeps nothing of it.
    ///
    /// What this finds to be good can be read as the type that k8s-openapi has for the kind, if that is
    /// [covered](Self::covers), and takes a fraction of the time. What it refuses may be good all the same: a time that is
    /// missing where there should be one, some types take and some do not. And types with demands of their own, as that a
    /// text is an address, may refuse what is found good here.
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    ///
    /// let bytes = encode(&serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))?;
    /// let node = Envelope::parse(&bytes)?.raw;
    /// let schema = Schema::of("v1", "Node").expect("Kubernetes has nodes");
    /// assert!(schema.check(node).is_ok());
    /// assert!(schema.check(&node[..3]).is_err());
    /// # Ok::<(), kube_wire::protobuf::Error>(())
    /// ```
    pub fn check(&self, message: &[u8]) -> Result<(), Error> {
        self.decode::<Everything>(message, &Skip::nothing()).map(|_| ())
    }
}

/// Looks at everything; whether it was nothing, or had nothing in one of its places.
struct Everything {
    is_null: bool,
}

const SOMETHING: Everything = Everything { is_null: false };

/// The names of times that ought to be there, and of maps of times. They are few, and a test knows them all.
fn is_needed_time(name: &str) -> bool {
    matches!(
        name,
        "disruptedPods" | "eventTime" | "expirationTimestamp" | "lastObservedTime" | "lastTransitionTime"
    )
}

impl<'de> Deserialize<'de> for Everything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SOMETHING)
    }
}

impl<'de> Visitor<'de> for Everything {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(SOMETHING)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(SOMETHING)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(SOMETHING)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(SOMETHING)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(SOMETHING)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Everything { is_null: true })
    }

    fn visit_none<E>(self) -> Result<Self, E> {
        Ok(Everything { is_null: true })
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self, D::Error> {
        Self::deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        let mut is_null = false;
        while let Some(element) = elements.next_element::<Self>()? {
            is_null |= element.is_null;
        }
        Ok(Everything { is_null })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut is_null = false;
        while let Some(Name { is_needed_time }) = members.next_key()? {
            let value: Self = members.next_value()?;
            if value.is_null && is_needed_time {
                return Err(A::Error::custom("a time is missing"));
            }
            is_null |= value.is_null;
        }
        Ok(Everything { is_null })
    }
}

/// The name of a field.
struct Name {
    is_needed_time: bool,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(Name {
            is_needed_time: false,
        })
    }
}

impl Visitor<'_> for Name {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self, E> {
        Ok(Name {
            is_needed_time: is_needed_time(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::is_needed_time;
    use crate::table::{Container, Kind, Omitted, table};

    #[test]
    fn times_that_ought_to_be_there_are_known() {
        let fields = || table().all_fields();
        let is_needed = |field: &&crate::table::Field| {
            matches!(field.kind, Kind::Time | Kind::MicroTime)
                && !field.pointer
                && (field.omitted == Omitted::Never || field.container != Container::One)
        };
        let needed: BTreeSet<_> = fields().filter(is_needed).map(|field| field.name).collect();
        let known = fields()
            .map(|field| field.name)
            .filter(|name| is_needed_time(name));
        assert_eq!(known.collect::<BTreeSet<_>>(), needed);
    }
}
