//! Field masks. An input is one path per line, an empty line, and the text of an object.

use kube_wire::FieldMask;
use kube_wire::json::{decode, prune};
use serde_json::Value;

use crate::objects::remove;

/// A mask removes exactly the fields of its paths.
pub(crate) fn skip(data: &[u8]) {
    let end = data.windows(2).position(|two| two == b"\n\n");
    let Some((paths, text)) = end.map(|end| (&data[..end], &data[end + 2..])) else {
        return;
    };
    let Ok(paths) = std::str::from_utf8(paths) else {
        return;
    };
    let mut mask = FieldMask::none();
    let mut all = Vec::new();
    for path in paths.lines().take(8) {
        let Ok(more) = mask.clone().path(path) else {
            continue;
        };
        let steps = steps(path);
        assert!(more.contains(&steps), "the mask contains {path:?}");
        assert!(!steps.is_empty());
        assert_eq!(more.clone().union(&mask), more, "the union contains the mask");
        mask = more;
        all.push(steps);
    }
    let Ok(mut wanted) = decode::<Value>(text, &FieldMask::none()) else {
        return;
    };
    for steps in &all {
        remove(&mut wanted, steps);
    }
    let skipped: Value = decode(text, &mask).expect("the object was decoded");
    assert_eq!(skipped, wanted);
    let mut pruned = Vec::new();
    prune(text, &mask, &mut pruned).expect("the object was decoded");
    assert_eq!(serde_json::from_slice::<Value>(&pruned).expect("JSON"), wanted);
}

/// Returns the steps of a valid path.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let (step, after) = if let Some(inner) = rest.strip_prefix('[') {
            inner.split_once(']').expect("a valid path")
        } else {
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        steps.push(step);
        rest = after;
    }
    steps
}
