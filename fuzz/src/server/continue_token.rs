//! Continue tokens of lists. An input is a byte that selects the resource, one for the size of a page, one
//! that determines the meaning of the rest, and a token or its content.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

use super::world::{self, World};
use crate::choices::Choices;

/// The listed paths, and the namespace of each.
const LISTED: [(&str, Option<&str>); 4] = [
    ("/api/v1/configmaps", None),
    ("/api/v1/namespaces/default/configmaps", Some("default")),
    ("/api/v1/namespaces/other/configmaps", Some("other")),
    ("/apis/example.com/v1/namespaces/default/widgets", Some("default")),
];

/// A page after any token is a part of the collection, in its order, and its own token leads to the rest.
pub(crate) fn continue_token(data: &[u8]) {
    let mut choices = Choices::of(data);
    let (path, namespace) = choices.pick(&LISTED);
    let limit = choices.below(4);
    let form = choices.byte();
    let rest = String::from_utf8_lossy(choices.rest()).into_owned();
    world::with(async |world| {
        let all = keys(&world.get(path).await);
        let token = match form % 4 {
            0 => rest,
            1 => URL_SAFE_NO_PAD.encode(&rest),
            // The current revision, or any other.
            2 => token(
                i64::try_from(world.server.resource_version()).unwrap_or(i64::MAX),
                &rest,
            ),
            _ => {
                let (revision, start) = rest.split_once(' ').unwrap_or(("-1", &rest));
                token(revision.parse().unwrap_or(0), start)
            }
        };
        let Some(listed) = follow(world, path, limit, token).await else {
            return;
        };
        assert!(listed.is_sorted(), "{listed:?}");
        for key in &listed {
            assert!(all.contains(key), "{key} does not belong to {path}");
            let is_inside = namespace.is_none_or(|namespace| key.starts_with(&format!("{namespace}/")));
            assert!(is_inside, "{key} does not belong to {path}");
        }
        // After the start, no object is missing.
        let first = listed
            .first()
            .and_then(|first| all.iter().position(|key| key == first));
        assert_eq!(listed, &all[first.unwrap_or(all.len())..]);
    });
}

fn token(revision: i64, start: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}).to_string())
}

/// Follows tokens to the end of a list. Returns none if the first is refused.
async fn follow(world: &World, path: &str, limit: usize, first: String) -> Option<Vec<String>> {
    let mut listed = Vec::new();
    let mut token = first;
    loop {
        let query = Serializer::new(String::new())
            .append_pair("limit", &limit.to_string())
            .append_pair("continue", &token)
            .finish();
        let request = Request::get(format!("{path}?{query}")).body(Body::empty());
        // The length of a URI is limited.
        let answer = world.ask(request.ok()?).await;
        answer.assert_client_error();
        if !answer.is_good() {
            assert!(listed.is_empty(), "the server refused its own token: {answer:?}");
            return None;
        }
        let page = answer.json();
        listed.extend(keys(&page));
        match page["metadata"]["continue"].as_str() {
            None | Some("") => return Some(listed),
            Some(next) => next.clone_into(&mut token),
        }
        assert!(listed.len() < 100, "the list does not end");
    }
}

fn keys(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("a list");
    let text = |item: &Value, name: &str| item["metadata"][name].as_str().unwrap_or_default().to_owned();
    let key = |item: &Value| format!("{}/{}", text(item, "namespace"), text(item, "name"));
    items.iter().map(key).collect()
}
