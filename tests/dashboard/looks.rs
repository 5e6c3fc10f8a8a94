//! Light and dark, wide and narrow, by hand and by ear.

use crate::scene::Scene;

const PLACES: [&str; 5] = [
    "#/",
    "#/informer/pods",
    "#/informer/secrets",
    "#/informer/deployments.apps/object/shop/cart",
    "#/informer/nothing",
];
const READY: &str = "document.querySelector('#link').dataset.is === 'live' && document.querySelector('main section') \
                     && !document.body.textContent.includes('Looking …')";

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn it_is_light_or_dark_as_the_system_is_or_as_the_switch_says() {
    let scene = Scene::open(1280, 900).await;
    let ground = "getComputedStyle(document.body).backgroundColor";
    let brightness = async || {
        let colour = scene.browser.eval(ground).await;
        let parts: Vec<u32> = colour
            .as_str()
            .expect("a colour")
            .split(|char: char| !char.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect();
        parts.iter().take(3).sum::<u32>()
    };
    scene.browser.prefer("light").await;
    scene.go("").await;
    scene.browser.until(READY).await;
    assert!(brightness().await > 600);
    scene.browser.prefer("dark").await;
    scene
        .browser
        .until("document.documentElement.dataset.theme === 'dark'")
        .await;
    assert!(brightness().await < 150);
    // auto, light, dark, and it is remembered.
    scene
        .browser
        .eval("document.querySelector('#theme').click()")
        .await;
    assert!(brightness().await > 600);
    scene.go("").await;
    scene.browser.until(READY).await;
    assert!(brightness().await > 600);
    assert_eq!(
        scene
            .browser
            .eval("document.querySelector('#theme').textContent")
            .await,
        "Theme: light"
    );
    scene.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn on_a_phone_nothing_has_to_be_scrolled_sideways() {
    let scene = Scene::open(1280, 900).await;
    scene.browser.resize(375, 812).await;
    for place in PLACES {
        scene.go(place).await;
        scene.browser.until(READY).await;
        let wide = scene.browser.eval("document.documentElement.scrollWidth").await;
        assert!(
            wide.as_u64().is_some_and(|wide| wide <= 375),
            "{place} is {wide} wide"
        );
        let cut = "[...document.querySelectorAll('main .panel > *, button, input')]
            .filter((one) => one.getBoundingClientRect().right > 376).map((one) => one.outerHTML.slice(0, 120)).join('\\n')";
        assert_eq!(scene.browser.eval(cut).await, "", "{place}");
    }
    scene.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn it_can_be_used_by_keyboard_and_by_ear() {
    let scene = Scene::open(1280, 900).await;
    for place in PLACES {
        scene.go(place).await;
        scene.browser.until(READY).await;
        let unnamed = "[...document.querySelectorAll('input, select, button, a, svg')].filter((one) =>
            !(one.closest('label')?.textContent || one.textContent || one.getAttribute('aria-label') || '').trim())
            .map((one) => one.outerHTML.slice(0, 120)).join('\\n')";
        assert_eq!(
            scene.browser.eval(unnamed).await,
            "",
            "{place}: something has no name"
        );
        let heads = "[...document.querySelectorAll('th')].every((one) => one.scope)";
        assert_eq!(scene.browser.eval(heads).await, true, "{place}");
        let landmarks =
            "document.querySelectorAll('main').length === 1 && !!document.querySelector('nav[aria-label]')";
        assert_eq!(scene.browser.eval(landmarks).await, true, "{place}");
        let mouse_only = "[...document.querySelectorAll('main *')].filter((one) =>
            one.onclick && !['A', 'BUTTON'].includes(one.tagName)).length";
        assert_eq!(scene.browser.eval(mouse_only).await, 0, "{place}");
    }
    // What is typed stays, and so does the cursor, while the page goes on changing.
    scene.go("#/informer/pods").await;
    scene
        .browser
        .until("document.querySelector('tr[data-key]')")
        .await;
    scene.browser.fill("input[name=name]", "cart").await;
    scene
        .browser
        .until("document.querySelectorAll('tr[data-key]').length === 3")
        .await;
    scene.create_pod("cart-9", "north").await;
    scene
        .browser
        .until("document.querySelectorAll('tr[data-key]').length === 4")
        .await;
    let focus = scene
        .browser
        .eval("document.activeElement.name + '=' + document.activeElement.value")
        .await;
    assert_eq!(focus, "name=cart");
    scene.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn what_is_typed_in_haste_is_not_forgotten() {
    let scene = Scene::open(1280, 900).await;
    scene.go("#/informer/pods").await;
    scene
        .browser
        .until("document.querySelector('tr[data-key]')")
        .await;
    // Two fields one after the other, and a new picture of the page, before anything is asked for.
    let haste = "(() => {
        for (const [name, text] of [['labels', 'app=cart'], ['namespace', 'shop']]) {
          const field = document.querySelector(`input[name=${name}]`);
          field.value = text;
          field.dispatchEvent(new Event('input', { bubbles: true }));
        }
        dispatchEvent(new Event('resize'));
        return document.querySelector('input[name=labels]').value;
      })()";
    assert_eq!(scene.browser.eval(haste).await, "app=cart");
    scene
        .browser
        .until("location.hash.includes('namespace=shop')")
        .await;
    let hash = scene.browser.eval("location.hash").await;
    assert!(
        hash.as_str()
            .is_some_and(|hash| hash.contains("labels=app%3Dcart")),
        "{hash}"
    );
    scene.close().await;
}
