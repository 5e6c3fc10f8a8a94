//! A namespace for each test, so that tests can share a server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::{process, thread};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};

pub(crate) async fn create(client: &Client) -> Result<String, Error> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = named_after(thread::current().name(), &format!("{}-{number}", process::id()));
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(name)
}

/// The test harness names the thread after the test, so the namespace shows which test it belongs to.
fn named_after(thread: Option<&str>, suffix: &str) -> String {
    let test = thread
        .and_then(|path| path.rsplit("::").next())
        .unwrap_or_default();
    let room = 62 - suffix.len();
    let words = test.chars().map(|c| match c {
        'a'..='z' | '0'..='9' => c,
        _ => '-',
    });
    let name: String = words.take(room).collect();
    match name.trim_matches('-') {
        "" => format!("test-{suffix}"),
        name => format!("{name}-{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::named_after;

    #[test]
    fn namespace_is_named_after_its_test() {
        let long = "m::".to_owned() + &"a".repeat(100);
        let cases = [
            (Some("b::http2_late_join"), "http2-late-join-7-0".to_owned()),
            (Some("_"), "test-7-0".to_owned()),
            (None, "test-7-0".to_owned()),
            (Some(long.as_str()), "a".repeat(59) + "-7-0"),
        ];
        for (thread, wanted) in cases {
            let name = named_after(thread, "7-0");
            assert_eq!(name, wanted);
            assert!(name.len() <= 63, "{name}");
        }
    }
}
