//! What a type says of what it did not want to read, without the value itself.
//!
//! serde's errors quote what they refuse, and what a Secret holds must not get into logs because a server or a proxy has
//! put it in the wrong place.

/// Values that serde knows by name.
const VALUES: [&str; 17] = [
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

/// What is said by this library or by derived code, and has no value in it.
const HARMLESS: [&str; 5] = [
    "missing field ",
    "duplicate field ",
    "invalid length ",
    "invalid value: expected key to be a number in quotes",
    "the variant's value is left out",
];

/// An error's words without the value that it is about. What a type says in words of its own is left out as well.
pub(crate) fn without_values(said: &str) -> String {
    if HARMLESS.iter().any(|words| said.starts_with(words)) {
        return said.to_owned();
    }
    let (said, expected) = match said.rfind(", expected ") {
        Some(at) => said.split_at(at),
        None => (said, ""),
    };
    for begin in ["invalid type", "invalid value"] {
        if let Some(value) = said.strip_prefix(begin).and_then(|rest| rest.strip_prefix(": ")) {
            let named = VALUES.iter().find(|name| value.starts_with(**name));
            return format!("{begin}: {}{expected}", named.unwrap_or(&"a value"));
        }
    }
    for begin in ["unknown variant", "unknown field"] {
        if said.starts_with(begin) {
            return format!("{begin}{expected}");
        }
    }
    "the type refuses the value".to_owned()
}

#[cfg(test)]
mod tests {
    use super::without_values;
    use serde::Deserialize;
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is not read")]
    struct Wanted {
        flag: Option<bool>,
        number: Option<u8>,
        map: Option<BTreeMap<String, String>>,
        word: Option<Word>,
        address: Option<IpAddr>,
    }

    #[derive(Debug, Deserialize)]
    enum Word {
        One,
    }

    #[test]
    fn no_value_is_told() {
        for (text, told) in [
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
            (r#"{"address":"hunter2"}"#, "the type refuses the value"),
        ] {
            let error = serde_json::from_str::<Wanted>(text).unwrap_err().to_string();
            let said = error.split(" at line ").next().unwrap_or_default();
            let words = without_values(said);
            assert!(words.starts_with(told), "{words}");
            assert!(!words.contains("hunter2") && !words.contains("4242"), "{words}");
        }
        let error = serde_json::from_str::<Wanted>(r#"{"hunter2":1}"#).unwrap_err();
        assert!(!without_values(&error.to_string()).contains("hunter2"));
    }
}
