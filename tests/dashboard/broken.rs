//! What goes wrong is on the page, and that it is over, too.

use crate::scene::Scene;

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn a_server_that_is_gone_is_shown_and_its_return_too() {
    let scene = Scene::open(1280, 900).await;
    scene.go("").await;
    let state = "document.querySelector('tr[data-informer=pods] .state')?.textContent";
    scene.browser.until(&format!("{state} === 'live'")).await;
    assert_eq!(
        scene
            .browser
            .eval("document.querySelectorAll('.alarm').length")
            .await,
        0
    );

    scene.server.go_down().await;
    scene.browser.until(&format!("{state} === 'broken'")).await;
    let alarm = "[...document.querySelectorAll('.alarm')].find((one) => one.textContent.includes('pods'))?.textContent";
    let alarm = scene.browser.until(alarm).await;
    let alarm = alarm.as_str().expect("words");
    for words in [
        "pods does not hear from the server",
        "The last word came",
        "The cache keeps what it has",
    ] {
        assert!(alarm.contains(words), "{alarm}");
    }
    scene
        .browser
        .until("document.querySelector('.way .room.broken') && document.querySelector('.way .wire.cut')")
        .await;
    let spoken = scene
        .browser
        .until("document.querySelector('#news').textContent")
        .await;
    assert!(
        spoken.as_str().is_some_and(|words| words.contains("broken")),
        "{spoken}"
    );

    scene.server.come_back().await.expect("the same port");
    scene
        .browser
        .until(&format!(
            "{state} === 'live' && !document.querySelector('.alarm')"
        ))
        .await;
    scene.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn a_program_that_does_not_answer_is_not_shown_as_well() {
    let scene = Scene::open(1280, 900).await;
    scene.go("").await;
    scene
        .browser
        .until("document.querySelector('#link').dataset.is === 'live'")
        .await;
    let Scene {
        dashboard, browser, ..
    } = scene;
    dashboard.stop().await;
    let words = browser
        .until("document.querySelector('[role=alert]')?.textContent")
        .await;
    assert!(
        words
            .as_str()
            .is_some_and(|words| words.contains("does not answer")),
        "{words}"
    );
    assert_eq!(
        browser.eval("document.querySelector('#link').textContent").await,
        "no answer"
    );
    browser.close().await;
}
