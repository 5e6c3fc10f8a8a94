use crate::json::watch_event;

#[test]
fn reads_type_and_object_in_any_order() {
    let rows = [
        r#"{"type":"ADDED","object":{"kind":"Pod","x":["}"]}}"#,
        r#"{"object":{"kind":"Pod","x":["}"]},"type":"ADDED"}"#,
        " { \"more\" : [1] , \"object\" : {\"kind\":\"Pod\",\"x\":[\"}\"]} , \"t\\u0079pe\" : \"ADDED\" } \r",
    ];
    for line in rows {
        let event = watch_event(line.as_bytes()).expect("an event");
        assert_eq!(event.event_type, "ADDED");
        assert_eq!(event.object, br#"{"kind":"Pod","x":["}"]}"#);
    }
}

#[test]
fn rejects_truncated_events() {
    let line = r#"{"type":"ADDED","object":{"kind":"Pod","x":["}"]}}"#;
    for end in 0..line.len() {
        let error = watch_event(&line.as_bytes()[..end]).unwrap_err();
        assert!(error.is_eof(), "{error}");
    }
}

#[test]
fn rejects_invalid_events() {
    let rows = [
        (r#"{"type":"ADDED"}"#, "expected field `object`"),
        (r#"{"object":{}}"#, "expected field `type`"),
        (r#"{"type":5,"object":{}}"#, "type: expected a string"),
        (r#"{"type":null,"object":{}}"#, "type: expected a string"),
        (r#"{"type":"A","object":{},"type":"B"}"#, "duplicate field"),
        (r#"{"type":"A","object":{},"object":{}}"#, "duplicate field"),
        (r#"{"type":"A","object":}"#, "object: expected a value"),
        (r#"{"type":"A","object":{}}{"#, "expected end of input"),
        ("[]", "expected an object"),
        ("<html>", "expected an object"),
    ];
    for (line, expected) in rows {
        let error = watch_event(line.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
