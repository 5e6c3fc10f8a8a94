//! The values of Secrets are nowhere: not on the page, and in nothing that was sent to it.

use crate::scene::{ENCODED, PASSWORD, Scene, secret};

const CHANGED: &str = "changed-planted";

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn a_secrets_data_is_nowhere_in_the_page_nor_in_any_answer() {
    let scene = Scene::open(1280, 900).await;
    let mut said = String::new();
    scene.go("").await;
    scene
        .browser
        .until("document.querySelector('tr[data-informer=secrets] .state.live')")
        .await;
    said += &scene.said().await;
    for place in [
        "#/informer/secrets".to_owned(),
        format!("#/informer/secrets?field=.data.password%3D{ENCODED}"),
        "#/informer/secrets?field=.data.password".to_owned(),
    ] {
        scene.go(&place).await;
        scene
            .browser
            .until(
                "document.querySelector('[aria-label=Objects] [role=status]').textContent.includes('of 1')",
            )
            .await;
        said += &scene.said().await;
    }
    scene.go("#/informer/secrets/object/shop/credentials").await;
    let text = scene
        .browser
        .until("document.querySelector('#object-text')?.textContent")
        .await;
    assert!(
        text.as_str()
            .is_some_and(|text| text.contains("(15 bytes, not shown)")),
        "{text}"
    );
    scene.server.load([secret(CHANGED)]).expect("a change");
    scene
        .browser
        .until("document.querySelector('.what.updated')")
        .await;
    said += &scene.said().await;

    assert!(
        said.contains("shop/credentials") && said.contains("\"data\":{\"password\":\"("),
        "nothing is proven"
    );
    // As text, in base64, and in base64 that begins elsewhere.
    for planted in [
        PASSWORD,
        ENCODED,
        "h1bnRlcjItcGxhbnRlZ",
        "odW50ZXIyLXBsYW50ZW",
        CHANGED,
        "Y2hhbmdlZC1wbGFudGVk",
        "NoYW5nZWQtcGxhbnRlZ",
        "jaGFuZ2VkLXBsYW50ZW",
    ] {
        // Where it was put into the address by the test itself, it is in the field of the filter and in no answer.
        let found = said.replace(&format!("value=\".data.password={ENCODED}\""), "");
        assert!(!found.contains(planted), "{planted} was shown");
    }
    scene.close().await;
}
