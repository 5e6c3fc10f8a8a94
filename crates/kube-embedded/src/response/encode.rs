//! Encodes values as JSON, YAML or protobuf.

use bytes::Bytes;
use kube_wire::protobuf;
use serde_json::Value;

use crate::request::{Encoding, Representation};
use crate::status::{Result, Status};

/// Encodes a value as JSON, YAML or protobuf.
///
/// # Errors
/// Returns an internal error if the value cannot be encoded.
pub(crate) fn encode(value: &Value, representation: Representation) -> Result<Bytes> {
    let failed = |format: &str, error: &dyn std::fmt::Display| {
        let kind = value["kind"].as_str().unwrap_or("the response");
        Status::internal(format!("cannot encode {kind} as {format}: {error}"))
    };
    match representation.encoding {
        Encoding::Protobuf => match protobuf::encode(value) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(failed("protobuf", &error)),
        },
        Encoding::Yaml => match serde_saphyr::to_string(value) {
            Ok(text) => Ok(with_line_end(text)),
            Err(error) => Err(failed("YAML", &error)),
        },
        Encoding::Json => Ok(encode_json(value, representation.pretty)),
    }
}

/// Encodes a value as JSON, indented if it is pretty.
pub(crate) fn encode_json(value: &Value, pretty: bool) -> Bytes {
    with_line_end(if pretty {
        format!("{value:#}")
    } else {
        value.to_string()
    })
}

fn with_line_end(mut text: String) -> Bytes {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::encode;
    use crate::request::{Encoding, Representation};

    #[test]
    fn a_value_that_cannot_be_encoded_is_an_internal_error() {
        let protobuf = Representation {
            encoding: Encoding::Protobuf,
            ..Representation::JSON
        };
        for (value, why) in [
            (
                json!({ "kind": "Widget", "apiVersion": "example.com/v1" }),
                "cannot encode Widget as protobuf: ",
            ),
            (
                json!({ "kind": "Pod", "apiVersion": "v1", "spec": { "containers": "none" } }),
                "cannot encode Pod as protobuf: ",
            ),
        ] {
            let status = encode(&value, protobuf).expect_err("no bytes");
            assert_eq!((status.code, status.reason), (500, "InternalError"));
            assert!(status.message.contains(why), "{}", status.message);
        }
    }
}
