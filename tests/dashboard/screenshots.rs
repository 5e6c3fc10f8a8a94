//! The README's screenshots of the dashboard.
//!
//! Every run takes them, to test that this works. They are kept in the folder `KUBE_INFORMER_SCREENSHOTS`,
//! which `cargo xtask screenshots` sets. Then the cluster runs for some minutes first, so that the plots have
//! data.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::fixture::{DashboardFixture, deployment, pod};

const VARIABLE: &str = "KUBE_INFORMER_SCREENSHOTS";

/// Time that the cluster runs before screenshots that are kept.
const RUN_TIME: Duration = Duration::from_mins(4);
const BEAT: Duration = Duration::from_millis(250);

/// A screenshot: its view and size.
struct Screenshot {
    name: &'static str,
    size: (u32, u32),
    scheme: &'static str,
    place: &'static str,
    /// A selector that must be on the page.
    row: &'static str,
}

const PICTURES: [Screenshot; 3] = [
    Screenshot {
        name: "dashboard-light",
        size: (1280, 860),
        scheme: "light",
        place: "#/",
        row: "tr[data-informer]",
    },
    Screenshot {
        name: "dashboard-dark",
        size: (1280, 860),
        scheme: "dark",
        place: "#/informer/pods",
        row: "tr[data-key]",
    },
    Screenshot {
        name: "dashboard-phone",
        size: (375, 812),
        scheme: "light",
        place: "#/",
        row: "tr[data-informer]",
    },
];

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask ci --only browser"]
async fn screenshots_can_be_taken() {
    let folder = env::var_os(VARIABLE).map(PathBuf::from);
    let fixture = DashboardFixture::open(1280, 860).await;
    fixture.browser.resize(1280, 860).await;
    fixture.go("").await;
    let all_live = "document.querySelectorAll('.state.live').length === 4";
    fixture.browser.until(all_live).await;
    if folder.is_some() {
        live(&fixture).await;
    }
    for picture in &PICTURES {
        take(&fixture, picture, folder.as_deref()).await;
    }
    fixture.close().await;
}

async fn take(fixture: &DashboardFixture, picture: &Screenshot, folder: Option<&Path>) {
    let Screenshot {
        name,
        size,
        scheme,
        place,
        row,
    } = picture;
    let browser = &fixture.browser;
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
    // A PNG contains its size after its signature.
    let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((number(16), number(20)), *size, "{name}");
    if let Some(folder) = folder {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join(format!("{name}.png")), picture).expect("a file");
    }
}

/// Changes the cluster, the same in every run: pods are created, start and are deleted, and a deployment is
/// updated.
async fn live(fixture: &DashboardFixture) {
    let api: Api<Pod> = Api::namespaced(fixture.factory.client().clone(), "shop");
    let mut random = fastrand::Rng::with_seed(4);
    let mut beat = tokio::time::interval(BEAT);
    let beats = RUN_TIME.as_millis() / BEAT.as_millis();
    let mut pods: Vec<String> = Vec::new();
    for at in 0..beats {
        beat.tick().await;
        // The rate of changes varies.
        let busy = 1 + usize::from(at % 240 > 150) * 4;
        for step in 0..random.usize(0..=busy) {
            match random.u8(0..10) {
                0..=3 if pods.len() < 12 => {
                    let name = format!("cart-{}{step}", at + 100);
                    let node = ["north", "south"][random.usize(0..2)];
                    fixture
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
                    fixture
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
