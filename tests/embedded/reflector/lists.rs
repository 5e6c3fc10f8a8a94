//! The requested version of lists, and their pages.

use kube_embedded::{Fault, On};
use kube_informer::source::WireFormat;

use crate::informers::wire_format;
use crate::observed_informer::ObservedInformer;
use crate::tap::answer;

#[tokio::test(start_paused = true)]
async fn repeated_continue_token_ends_the_list() {
    let (_server, mut observed) =
        ObservedInformer::paused(|informer| informer.streaming_list(false).page_size(2)).await;
    let endless = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"again"},"items":[]}"#;
    observed
        .tap
        .proxy(move |asked, _| asked.is_list().then(|| answer(200, "application/json", endless)));
    observed.informer.start().expect("a first start");
    let error = observed.error().await;
    assert!(error.is_bad_data(), "{error}");
    assert!(error.to_string().contains("configmaps"), "{error}");
    assert_eq!(observed.tap.words(), ["list any 2", "page 2"]);
    observed.tap.proxy(|_, _| None);
    observed.synced().await;
    observed.catches_up().await;
}

/// The exact parameters, as the server receives them. Embedded only, because it records requests.
#[tokio::test(start_paused = true)]
async fn requests_have_exactly_these_parameters() {
    let (server, observed) =
        ObservedInformer::paused(|informer| informer.streaming_list(false).labels("app=web")).await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::expired());
    server
        .faults()
        .add(On::list("configmaps").after(1).once(), Fault::expired());
    let version = server.resource_version().to_string();
    observed.start().await;
    observed.requests(5).await;
    server.wait_for_request(|request| request.number == 4).await;
    let selector = ("labelSelector", "app=web");
    let limit = ("limit", "500");
    let at = ("resourceVersion", version.as_str());
    let expected = [
        vec![selector, limit, ("resourceVersion", "0")],
        vec![selector, ("watch", "true"), ("allowWatchBookmarks", "true"), at],
        vec![selector, at],
        vec![selector, limit],
        vec![selector, ("watch", "true"), ("allowWatchBookmarks", "true"), at],
    ];
    for (request, expected) in server.requests().iter().zip(expected) {
        let query: Vec<_> = request
            .query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| *name != "timeoutSeconds")
            .collect();
        assert_eq!(query, expected, "request {}", request.number);
        assert_eq!(
            request.param("timeoutSeconds").is_some(),
            request.param("watch").is_some()
        );
        let accept = match wire_format() {
            WireFormat::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
            WireFormat::Json => "application/json",
        };
        assert_eq!(request.accept, accept);
    }
}
