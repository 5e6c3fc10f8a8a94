//! Whether bytes are an object, without making one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Error, Schema};
use crate::skip::Skip;

impl Schema {
    /// Reads a message to its last field and keeps nothing of it.
    ///
    /// What this finds to be good can be read as any of k8s-openapi's types that is [covered](Self::covers), and takes a
    /// fraction of the time. Types with demands of their own, as that a text is an address, may still refuse it.
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

/// Looks at everything.
struct Everything;

impl<'de> Deserialize<'de> for Everything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Everything)
    }
}

impl<'de> Visitor<'de> for Everything {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_none<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self, D::Error> {
        Self::deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while elements.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_key::<IgnoredAny>()?.is_some() {
            members.next_value::<Self>()?;
        }
        Ok(self)
    }
}
