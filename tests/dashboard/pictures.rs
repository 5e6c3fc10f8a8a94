//! The README's pictures of the dashboard.
//!
//! They are taken each time, so that they can be; they are kept where `KUBE_INFORMER_SCREENSHOTS` says, as
//! `cargo xtask screenshots` does, after a while of life that makes the plots worth looking at.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::scene::{Scene, deployment, pod};

const VARIABLE: &str = "KUBE_INFORMER_SCREENSHOTS";

/// How long it lives before the pictures that are kept.
const LIFE: Duration = Duration::from_mins(4);
const BEAT: Duration = Duration::from_millis(250);

/// One picture: what is shown, and how.
struct Picture {
    name: &'static str,
    size: (u32, u32),
    scheme: &'static str,
    place: &'static str,
    /// What has to be on the page.
    row: &'static str,
}

const PICTURES: [Picture; 3] = [
    Picture {
        name: "dashboard-light",
        size: (1280, 860),
        scheme: "light",
        place: "#/",
        row: "tr[data-informer]",
    },
    Picture {
        name: "dashboard-dark",
        size: (1280, 860),
        scheme: "dark",
        place: "#/informer/pods",
        row: "tr[data-key]",
    },
    Picture {
        name: "dashboard-phone",
        size: (375, 812),
        scheme: "light",
        place: "#/",
        row: "tr[data-informer]",
    },
];

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn pictures_can_be_taken() {
    let folder = env::var_os(VARIABLE).map(PathBuf::from);
    let scene = Scene::open(1280, 860).await;
    scene.browser.resize(1280, 860).await;
    scene.go("").await;
    let all_live = "document.querySelectorAll('.state.live').length === 4";
    scene.browser.until(all_live).await;
    if folder.is_some() {
        live(&scene).await;
    }
    for picture in &PICTURES {
        take(&scene, picture, folder.as_deref()).await;
    }
    scene.close().await;
}

async fn take(scene: &Scene, picture: &Picture, folder: Option<&Path>) {
    let Picture {
        name,
        size,
        scheme,
        place,
        row,
    } = picture;
    let browser = &scene.browser;
    browser.prefer(scheme).await;
    browser.resize(size.0, size.1).await;
    browser.eval(&format!("void (location.hash = '{place}')")).await;
    let ready = format!(
        "document.documentElement.dataset.theme === '{scheme}' && innerWidth === {} && document.querySelector('{row}')",
        size.0
    );
    browser.until(&ready).await;
    let picture = browser.screenshot().await;
    assert!(picture.starts_with(b"\x89PNG"));
    // A PNG says its size behind its name.
    let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((number(16), number(20)), *size, "{name}");
    if let Some(folder) = folder {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join(format!("{name}.png")), picture).expect("a file");
    }
}

/// The same story each time: pods come, start and go, and a deployment rolls from image to image.
async fn live(scene: &Scene) {
    let api: Api<Pod> = Api::namespaced(scene.factory.client().clone(), "shop");
    let mut random = fastrand::Rng::with_seed(4);
    let mut beat = tokio::time::interval(BEAT);
    let beats = LIFE.as_millis() / BEAT.as_millis();
    let mut pods: Vec<String> = Vec::new();
    for at in 0..beats {
        beat.tick().await;
        // Some minutes are busier than others.
        let busy = 1 + usize::from(at % 240 > 150) * 4;
        for step in 0..random.usize(0..=busy) {
            match random.u8(0..10) {
                0..=3 if pods.len() < 12 => {
                    let name = format!("cart-{}{step}", at + 100);
                    let node = ["north", "south"][random.usize(0..2)];
                    scene
                        .server
                        .load([pod("shop", &name, node, "cart", "Pending")])
                        .expect("a pod");
                    pods.push(name);
                }
                4 | 5 if pods.len() > 6 => {
                    let now = DeleteParams::default().grace_period(0);
                    api.delete(&pods.remove(0), &now).await.expect("a deletion");
                }
                6 => {
                    let image = format!("cart:{}", at % 5);
                    scene
                        .server
                        .load([deployment("shop", "cart", &image)])
                        .expect("a change");
                }
                _ => {
                    let Some(name) = random.choice(&pods) else {
                        continue;
                    };
                    let started =
                        json!({ "status": { "phase": "Running", "message": format!("beat {at}") } });
                    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&started))
                        .await
                        .expect("a change");
                }
            }
        }
    }
}
