//! Values of Secrets are neither on the page nor in any response.

use crate::fixture::{DashboardFixture, ENCODED, PASSWORD, secret};

const CHANGED: &str = "changed-planted";

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn a_secrets_data_is_nowhere_in_the_page_nor_in_any_answer() {
    let fixture = DashboardFixture::open(1280, 900).await;
    let mut responses = String::new();
    fixture.go("").await;
    fixture
        .browser
        .until("document.querySelector('tr[data-informer=secrets] .state.live')")
        .await;
    responses += &fixture.responses().await;
    for place in [
        "#/informer/secrets".to_owned(),
        format!("#/informer/secrets?field=.data.password%3D{ENCODED}"),
        "#/informer/secrets?field=.data.password".to_owned(),
    ] {
        fixture.go(&place).await;
        fixture
            .browser
            .until(
                "document.querySelector('[aria-label=Objects] [role=status]').textContent.includes('of 1')",
            )
            .await;
        responses += &fixture.responses().await;
    }
    fixture.go("#/informer/secrets/object/shop/credentials").await;
    let text = fixture
        .browser
        .until("document.querySelector('#object-text')?.textContent")
        .await;
    assert!(
        text.as_str()
            .is_some_and(|text| text.contains("(15 bytes, not shown)")),
        "{text}"
    );
    fixture.server.load([secret(CHANGED)]).expect("a change");
    fixture
        .browser
        .until("document.querySelector('.what.updated')")
        .await;
    responses += &fixture.responses().await;

    assert!(
        responses.contains("shop/credentials") && responses.contains("\"data\":{\"password\":\"("),
        "the responses contain the Secret's metadata"
    );
    // Plain, in base64, and in base64 at another offset.
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
        // The test itself puts the value into the URL, so it is in the field of the filter, but in no
        // response.
        let found = responses.replace(&format!("value=\".data.password={ENCODED}\""), "");
        assert!(!found.contains(planted), "{planted} was shown");
    }
    fixture.close().await;
}
