//! Redaction of values in error messages.
//!
//! serde's errors quote the value that they reject. Logs must not contain the data of a Secret, even if a server or a
//! proxy put it into the wrong field.

/// Names that serde uses for types of values.
const VALUE_NAMES: [&str; 17] = [
    "boolean",
    "integer",
    "floating point",
    "character",
    "string",
    "byte array",
    "unit value",
    "null",
    "Option value",
    "newtype struct",
    "sequence",
    "map",
    "enum",
    "unit variant",
    "newtype variant",
    "tuple variant",
    "struct variant",
];

/// Prefixes of messages that contain no value.
const SAFE_PREFIXES: [&str; 5] = [
    "missing field ",
    "duplicate field ",
    "invalid length ",
    "invalid value: expected key to be a number in quotes",
    "the value of the variant is masked",
];

/// Returns an error message without the value that it quotes. Replaces custom messages of types altogether.
pub(crate) fn redact_values(message: &str) -> String {
    if SAFE_PREFIXES.iter().any(|prefix| message.starts_with(prefix)) {
        return message.to_owned();
    }
    let (message, expected) = match message.rfind(", expected ") {
        Some(at) => message.split_at(at),
        None => (message, ""),
    };
    for begin in ["invalid type", "invalid value"] {
        if let Some(value) = message
            .strip_prefix(begin)
            .and_then(|rest| rest.strip_prefix(": "))
        {
            let named = VALUE_NAMES.iter().find(|name| value.starts_with(**name));
            return format!("{begin}: {}{expected}", named.unwrap_or(&"a value"));
        }
    }
    for begin in ["unknown variant", "unknown field"] {
        if message.starts_with(begin) {
            return format!("{begin}{expected}");
        }
    }
    "value rejected by the type".to_owned()
}

#[cfg(test)]
mod tests {
    use super::redact_values;
    use serde::Deserialize;
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Sample {
        flag: Option<bool>,
        number: Option<u8>,
        map: Option<BTreeMap<String, String>>,
        word: Option<SampleEnum>,
        address: Option<IpAddr>,
    }

    #[derive(Debug, Deserialize)]
    enum SampleEnum {
        One,
    }

    #[test]
    fn redacted_messages_contain_no_values() {
        for (text, expected) in [
            (
                r#"{"flag":"hunter2"}"#,
                "invalid type: string, expected a boolean",
            ),
            (
                r#"{"flag":"a, expected hunter2"}"#,
                "invalid type: string, expected a boolean",
            ),
            (r#"{"map":"hunter2"}"#, "invalid type: string, expected a map"),
            (r#"{"map":4242}"#, "invalid type: integer, expected a map"),
            (r#"{"number":4242}"#, "invalid value: integer, expected u8"),
            (r#"{"word":"hunter2"}"#, "unknown variant, expected `One`"),
            (r#"{"address":"hunter2"}"#, "value rejected by the type"),
        ] {
            let error = serde_json::from_str::<Sample>(text).unwrap_err().to_string();
            let message = error.split(" at line ").next().unwrap_or_default();
            let message = redact_values(message);
            assert!(message.starts_with(expected), "{message}");
            assert!(
                !message.contains("hunter2") && !message.contains("4242"),
                "{message}"
            );
        }
        let error = serde_json::from_str::<Sample>(r#"{"hunter2":1}"#).unwrap_err();
        assert!(!redact_values(&error.to_string()).contains("hunter2"));
    }
}
