//! Failures of the server, and its recovery.

use crate::fixture::DashboardFixture;

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn the_loss_and_the_return_of_the_server_are_shown() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("").await;
    let state = "document.querySelector('tr[data-informer=pods] .state')?.textContent";
    fixture.browser.until(&format!("{state} === 'live'")).await;
    assert_eq!(
        fixture
            .browser
            .eval("document.querySelectorAll('.alarm').length")
            .await,
        0
    );

    fixture.server.go_down().await;
    fixture.browser.until(&format!("{state} === 'broken'")).await;
    let alarm = "[...document.querySelectorAll('.alarm')].find((one) => one.textContent.includes('pods'))?.textContent";
    let alarm = fixture.browser.until(alarm).await;
    let alarm = alarm.as_str().expect("words");
    for words in [
        "pods: the server does not respond",
        "Last response",
        "The cache keeps its objects",
    ] {
        assert!(alarm.contains(words), "{alarm}");
    }
    fixture
        .browser
        .until("document.querySelector('.way .room.broken') && document.querySelector('.way .wire.cut')")
        .await;
    let spoken = fixture
        .browser
        .until("document.querySelector('#news').textContent")
        .await;
    assert!(
        spoken.as_str().is_some_and(|words| words.contains("broken")),
        "{spoken}"
    );

    fixture.server.restart().await.expect("the same port");
    fixture
        .browser
        .until(&format!(
            "{state} === 'live' && !document.querySelector('.alarm')"
        ))
        .await;
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn a_stopped_program_is_shown_as_disconnected() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("").await;
    fixture
        .browser
        .until("document.querySelector('#link').dataset.is === 'live'")
        .await;
    let DashboardFixture {
        dashboard, browser, ..
    } = fixture;
    dashboard.stop().await;
    let words = browser
        .until("document.querySelector('[role=alert]')?.textContent")
        .await;
    assert!(
        words
            .as_str()
            .is_some_and(|words| words.contains("does not respond")),
        "{words}"
    );
    assert_eq!(
        browser.eval("document.querySelector('#link').textContent").await,
        "disconnected"
    );
    browser.close().await;
}
