//! Browsing the cache.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::fixture::{DashboardFixture, deployment};

/// The keys of the visible objects.
const SHOWN: &str = "[...document.querySelectorAll('tr[data-key]')].map((row) => row.dataset.key).join(' ')";

fn row(key: &str) -> String {
    format!("document.querySelector('tr[data-key=\"{key}\"]')")
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn sync_state_and_figures_appear() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("").await;
    for (informer, objects) in [
        ("pods", "6"),
        ("deployments.apps", "2"),
        ("nodes", "2"),
        ("secrets", "1"),
    ] {
        let row = format!("document.querySelector('tr[data-informer=\"{informer}\"]')");
        let state = fixture
            .browser
            .until(&format!("{row}?.querySelector('.state.live')?.textContent"))
            .await;
        assert_eq!(state, "live");
        let shown = format!("{row}.querySelector('[data-name=objects]').textContent === '{objects}'");
        fixture.browser.until(&shown).await;
    }
    // All items are done, including the one that needs three attempts.
    let queue = "document.querySelector('tr[data-queue=deployments]')";
    fixture
        .browser
        .until(&format!(
            "{queue}?.querySelector('[data-name=failed]').textContent === '2'"
        ))
        .await;
    assert_eq!(fixture.queue.stats().failed, 2);
    let way = fixture
        .browser
        .eval("document.querySelector('svg.way').getAttribute('aria-label')")
        .await;
    let way = way.as_str().expect("a label");
    for room in [
        "API server: watched",
        "Cache: 11",
        "Handlers: 0",
        "Workers: 0 busy",
    ] {
        assert!(way.contains(room), "{way}");
    }
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn objects_created_by_kubectl_appear_within_a_second() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("#/informer/pods").await;
    fixture.browser.until(&row("shop/cart-0")).await;
    let mut late = Vec::new();
    for at in 0..5 {
        let appeared = format!("{} && Date.now()", row(&format!("shop/new-{at}")));
        let create = async {
            fixture.create_pod(&format!("new-{at}"), "north").await;
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("after 1970")
                .as_secs_f64()
                * 1e3
        };
        let (appeared, created) = tokio::join!(fixture.browser.until(&appeared), create);
        late.push(appeared.as_f64().expect("a time") - created);
    }
    // The median, because other programs use the machine, too.
    late.sort_by(f64::total_cmp);
    assert!(
        late[2] < 1_000.0,
        "milliseconds after kubectl has finished: {late:?}"
    );
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn filters_work_and_can_be_shared_as_links() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("#/informer/pods").await;
    fixture.browser.until(&row("shop/cart-2")).await;
    let shows = async |keys: &str| {
        fixture
            .browser
            .until(&format!("{SHOWN} === '{keys}' || null"))
            .await;
    };
    let input = |name: &str| format!("input[name={name}]");
    fixture.browser.fill(&input("labels"), "app=cart").await;
    shows("shop/cart-0 shop/cart-1 shop/cart-2").await;
    fixture
        .browser
        .fill(&input("field"), ".spec.nodeName=north")
        .await;
    shows("shop/cart-0 shop/cart-2").await;
    fixture
        .browser
        .fill(&input("field"), ".status.phase!=Pending")
        .await;
    shows("shop/cart-0 shop/cart-1").await;
    let link = fixture.browser.eval("location.href").await;

    fixture.browser.fill(&input("labels"), "app=").await;
    fixture.browser.fill(&input("field"), "non..sense").await;
    let refused = fixture
        .browser
        .until("document.querySelector('.refused')?.textContent")
        .await;
    assert!(
        refused
            .as_str()
            .is_some_and(|words| words.contains("invalid field path")),
        "{refused}"
    );

    fixture.browser.go("about:blank").await;
    fixture.browser.go(link.as_str().expect("an address")).await;
    shows("shop/cart-0 shop/cart-1").await;
    assert_eq!(
        fixture
            .browser
            .eval("document.querySelector('input[name=labels]').value")
            .await,
        "app=cart"
    );

    fixture.go("#/informer/pods?index=node%3Dsouth").await;
    shows("data/ingest-1 shop/cart-1").await;
    let proposed = "[...document.querySelectorAll('#index-values option')].map((one) => one.value).join(' ')";
    assert_eq!(fixture.browser.until(proposed).await, "north south");
    fixture.go("#/informer/pods?limit=4").await;
    shows("data/ingest-0 data/ingest-1 data/ingest-2 shop/cart-0").await;
    fixture
        .browser
        .eval("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Next').click()")
        .await;
    shows("shop/cart-1 shop/cart-2").await;
    // The browser logs refused requests as network errors.
    fixture.browser.complaints().await;
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn an_object_is_shown_with_its_changes_as_they_happen() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("#/informer/deployments.apps/object/shop/cart").await;
    let text = "document.querySelector('#object-text')?.textContent";
    let yaml = fixture.browser.until(text).await;
    assert!(
        yaml.as_str().is_some_and(
            |yaml| yaml.contains("\n        image: \"cart:1\"\n") || yaml.contains("- image: \"cart:1\"")
        ),
        "{yaml}"
    );
    fixture
        .server
        .load([deployment("shop", "cart", "cart:2")])
        .expect("a change");
    let difference = "document.querySelector('.changes .diff')?.textContent";
    let difference_text = fixture.browser.until(difference).await;
    let difference_text = difference_text.as_str().expect("words");
    assert!(
        difference_text.contains(".spec.template.spec.containers[main].image")
            && difference_text.contains("cart:1 → cart:2"),
        "{difference_text}"
    );
    fixture
        .browser
        .eval("[...document.querySelectorAll('button')].find((one) => one.textContent === 'JSON').click()")
        .await;
    let json_text = fixture
        .browser
        .until(&format!("{text}?.startsWith('{{') && {text}"))
        .await;
    let object: Value = serde_json::from_str(json_text.as_str().expect("text")).expect("JSON");
    assert_eq!(object["metadata"]["name"], json!("cart"));

    assert!(fixture.server.delete("deployments.apps", Some("shop"), "cart"));
    fixture.browser.until("document.querySelector('.what.deleted') && document.body.textContent.includes('no longer in the cache')").await;
    fixture.close().await;
}
