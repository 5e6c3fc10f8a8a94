//! The real kubectl.
//!
//! The output of kubectl with a real server is recorded in `sessions/`; with the embedded server it must be
//! the same. The suite runs on both, and `KUBE_INFORMER_RECORD=1` with a real server records the sessions:
//!
//! ```text
//! KUBE_INFORMER_RECORD=1 cargo xtask test --real -- --test kubectl
//! ```

mod program;
mod session;
mod tidy;
mod watches;

use conformance::TestServer;
use program::Kubectl;

/// Declares a test for each file in `sessions/`.
macro_rules! sessions {
    ($($name:ident)*) => {
        $(
            #[tokio::test]
            #[ignore = "needs kubectl: cargo xtask test"]
            async fn $name() {
                let kubectl = Kubectl::on(TestServer::start().await).await;
                session::replay(&kubectl, stringify!($name)).await;
            }
        )*

        #[test]
        fn every_session_is_replayed() {
            session::assert_all(&[$(stringify!($name),)* "cluster", "permissions"]);
        }
    };
}

sessions! {
    access apply change create custom delete describe edit events explain get nodes refused rollout server_side_apply wait
}

/// Alone, because lists would contain other tests' custom resources.
#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn cluster() {
    let kubectl = Kubectl::on(TestServer::alone().await).await;
    session::replay(&kubectl, "cluster").await;
}

/// The only session of users without all permissions.
#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn permissions() {
    let kubectl = Kubectl::on(TestServer::with_rbac().await).await;
    session::replay(&kubectl, "permissions").await;
}
