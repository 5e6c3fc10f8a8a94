use crate::json::watch_event;

#[test]
fn type_and_object_are_found_in_any_order() {
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
fn half_an_event_is_refused_wherever_it_ends() {
    let line = r#"{"type":"ADDED","object":{"kind":"Pod","x":["}"]}}"#;
    for end in 0..line.len() {
        let error = watch_event(&line.as_bytes()[..end]).unwrap_err();
        assert!(error.is_eof(), "{error}");
    }
}

#[test]
fn what_is_no_event_is_refused() {
    let rows = [
        (r#"{"type":"ADDED"}"#, "expected an event's object"),
        (r#"{"object":{}}"#, "expected an event's type"),
        (r#"{"type":5,"object":{}}"#, "type: expected a string"),
        (r#"{"type":null,"object":{}}"#, "type: expected a string"),
        (r#"{"type":"A","object":{},"type":"B"}"#, "there twice"),
        (r#"{"type":"A","object":{},"object":{}}"#, "there twice"),
        (r#"{"type":"A","object":}"#, "object: expected a value"),
        (r#"{"type":"A","object":{}}{"#, "expected the end"),
        ("[]", "expected an object"),
        ("<html>", "expected an object"),
    ];
    for (line, expected) in rows {
        let error = watch_event(line.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
