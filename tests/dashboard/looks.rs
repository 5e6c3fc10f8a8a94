//! Colour schemes, screen sizes, keyboard and accessibility.

use crate::fixture::DashboardFixture;

const PLACES: [&str; 5] = [
    "#/",
    "#/informer/pods",
    "#/informer/secrets",
    "#/informer/deployments.apps/object/shop/cart",
    "#/informer/nothing",
];
const READY: &str = "document.querySelector('#link').dataset.is === 'live' && document.querySelector('main section') \
                     && !document.body.textContent.includes('Loading …')";

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn it_is_light_or_dark_as_the_system_is_or_as_the_switch_says() {
    let fixture = DashboardFixture::open(1280, 900).await;
    let ground = "getComputedStyle(document.body).backgroundColor";
    let brightness = async || {
        let colour = fixture.browser.eval(ground).await;
        let parts: Vec<u32> = colour
            .as_str()
            .expect("a colour")
            .split(|char: char| !char.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect();
        parts.iter().take(3).sum::<u32>()
    };
    fixture.browser.prefer("light").await;
    fixture.go("").await;
    fixture.browser.until(READY).await;
    assert!(brightness().await > 600);
    fixture.browser.prefer("dark").await;
    fixture
        .browser
        .until("document.documentElement.dataset.theme === 'dark'")
        .await;
    assert!(brightness().await < 150);
    // auto, light, dark, and the choice is stored.
    fixture
        .browser
        .eval("document.querySelector('#theme').click()")
        .await;
    assert!(brightness().await > 600);
    fixture.go("").await;
    fixture.browser.until(READY).await;
    assert!(brightness().await > 600);
    assert_eq!(
        fixture
            .browser
            .eval("document.querySelector('#theme').textContent")
            .await,
        "Theme: light"
    );
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn on_a_phone_nothing_has_to_be_scrolled_sideways() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.browser.resize(375, 812).await;
    for place in PLACES {
        fixture.go(place).await;
        fixture.browser.until(READY).await;
        let wide = fixture.browser.eval("document.documentElement.scrollWidth").await;
        assert!(
            wide.as_u64().is_some_and(|wide| wide <= 375),
            "{place}: the page is {wide} wide"
        );
        let cut = "[...document.querySelectorAll('main .panel > *, button, input')]
            .filter((one) => one.getBoundingClientRect().right > 376).map((one) => one.outerHTML.slice(0, 120)).join('\\n')";
        assert_eq!(fixture.browser.eval(cut).await, "", "{place}");
    }
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn it_can_be_used_by_keyboard_and_by_ear() {
    let fixture = DashboardFixture::open(1280, 900).await;
    for place in PLACES {
        fixture.go(place).await;
        fixture.browser.until(READY).await;
        let unnamed = "[...document.querySelectorAll('input, select, button, a, svg')].filter((one) =>
            !(one.closest('label')?.textContent || one.textContent || one.getAttribute('aria-label') || '').trim())
            .map((one) => one.outerHTML.slice(0, 120)).join('\\n')";
        assert_eq!(
            fixture.browser.eval(unnamed).await,
            "",
            "{place}: an element has no accessible name"
        );
        let heads = "[...document.querySelectorAll('th')].every((one) => one.scope)";
        assert_eq!(fixture.browser.eval(heads).await, true, "{place}");
        let landmarks =
            "document.querySelectorAll('main').length === 1 && !!document.querySelector('nav[aria-label]')";
        assert_eq!(fixture.browser.eval(landmarks).await, true, "{place}");
        let mouse_only = "[...document.querySelectorAll('main *')].filter((one) =>
            one.onclick && !['A', 'BUTTON'].includes(one.tagName)).length";
        assert_eq!(fixture.browser.eval(mouse_only).await, 0, "{place}");
    }
    // Typed text and the cursor are kept while the page is updated.
    fixture.go("#/informer/pods").await;
    fixture
        .browser
        .until("document.querySelector('tr[data-key]')")
        .await;
    fixture.browser.fill("input[name=name]", "cart").await;
    fixture
        .browser
        .until("document.querySelectorAll('tr[data-key]').length === 3")
        .await;
    fixture.create_pod("cart-9", "north").await;
    fixture
        .browser
        .until("document.querySelectorAll('tr[data-key]').length === 4")
        .await;
    let focus = fixture
        .browser
        .eval("document.activeElement.name + '=' + document.activeElement.value")
        .await;
    assert_eq!(focus, "name=cart");
    fixture.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn fast_typing_loses_no_input() {
    let fixture = DashboardFixture::open(1280, 900).await;
    fixture.go("#/informer/pods").await;
    fixture
        .browser
        .until("document.querySelector('tr[data-key]')")
        .await;
    // Two fields are filled and the page is redrawn before a request is sent.
    let haste = "(() => {
        for (const [name, text] of [['labels', 'app=cart'], ['namespace', 'shop']]) {
          const field = document.querySelector(`input[name=${name}]`);
          field.value = text;
          field.dispatchEvent(new Event('input', { bubbles: true }));
        }
        dispatchEvent(new Event('resize'));
        return document.querySelector('input[name=labels]').value;
      })()";
    assert_eq!(fixture.browser.eval(haste).await, "app=cart");
    fixture
        .browser
        .until("location.hash.includes('namespace=shop')")
        .await;
    let hash = fixture.browser.eval("location.hash").await;
    assert!(
        hash.as_str()
            .is_some_and(|hash| hash.contains("labels=app%3Dcart")),
        "{hash}"
    );
    fixture.close().await;
}
