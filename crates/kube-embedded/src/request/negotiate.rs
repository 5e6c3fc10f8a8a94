//! The representation of a response, negotiated by the `Accept` header.

use http::HeaderMap;
use http::header::ACCEPT;
use kube_wire::protobuf;

use crate::status::{Result, Status};

/// The representation of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Representation {
    pub(crate) form: ObjectForm,
    pub(crate) encoding: Encoding,
    /// Version of `meta.k8s.io` that a table has: `v1`, or `v1beta1`.
    pub(crate) table_version: &'static str,
    pub(crate) pretty: bool,
}

/// The encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

impl Encoding {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
            Encoding::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    pub(crate) fn watch_media_type(self) -> &'static str {
        match self {
            Encoding::Protobuf => protobuf::WATCH_MEDIA_TYPE,
            other => other.media_type(),
        }
    }
}

/// The form of the objects in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectForm {
    /// The objects themselves.
    Object,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `Table`, as requested by `kubectl get`.
    Table,
    /// Aggregated discovery.
    Discovery,
}

/// The media types of objects, for error messages.
pub(crate) const OFFERED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Representation {
    pub(crate) const JSON: Representation = Representation {
        form: ObjectForm::Object,
        encoding: Encoding::Json,
        table_version: "v1",
        pretty: false,
    };

    /// Returns the first supported representation in the header. `in_protobuf` returns whether a form is available in
    /// protobuf.
    pub(crate) fn negotiate(
        headers: &HeaderMap,
        pretty: bool,
        in_protobuf: impl Fn(ObjectForm) -> bool,
    ) -> Result<Representation> {
        let mut given = false;
        for header in headers.get_all(ACCEPT) {
            for clause in header.to_str().unwrap_or_default().split(',') {
                given = true;
                if let Some(wanted) = clause_representation(clause)
                    && (wanted.encoding != Encoding::Protobuf || in_protobuf(wanted.form))
                {
                    return Ok(Representation { pretty, ..wanted });
                }
            }
        }
        if given {
            let message = format!("406: Not Acceptable\n\nAvailable representations: {OFFERED}");
            return Err(Status::generic(406, "NotAcceptable", message));
        }
        Ok(Representation {
            pretty,
            ..Representation::JSON
        })
    }
}

/// Parses one clause of the header. Returns `None` if it is not supported.
fn clause_representation(clause: &str) -> Option<Representation> {
    let mut parts = clause.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default().to_ascii_lowercase();
    let encoding = match media.as_str() {
        "application/json" | "application/*" | "*/*" | "" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        protobuf::MEDIA_TYPE => Encoding::Protobuf,
        _ => return None,
    };
    let mut shape = "";
    let mut group = "";
    let mut version = "";
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => shape = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            // `stream=watch` has no effect.
            _ => {}
        }
    }
    let form = match (shape, group, version) {
        ("", _, _) => ObjectForm::Object,
        ("Table", "meta.k8s.io", "v1" | "v1beta1") => ObjectForm::Table,
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => ObjectForm::Metadata,
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => ObjectForm::Discovery,
        _ => return None,
    };
    Some(Representation {
        form,
        encoding,
        table_version: if version == "v1beta1" { "v1beta1" } else { "v1" },
        pretty: false,
    })
}
