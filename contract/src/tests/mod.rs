//! The rules of the checkers: violations that are reported, and behaviour that is accepted.

mod cache;
mod handler;

use std::sync::Arc;

use kube_informer::{Key, ResourceVersion};
use parking_lot::Mutex;

use crate::{CachedObject, Findings, HistoryView, ObjectState, ServerHistory};

fn key(name: &str) -> Key {
    Key::namespaced("east", name)
}

/// Returns a state whose content is the number of the write.
fn state(version: u64, uid: &str, content: u64) -> ObjectState {
    ObjectState {
        version: ResourceVersion::from(version.to_string()),
        uid: Some(uid.to_owned()),
        content,
    }
}

fn cached(version: u64, state: Option<&ObjectState>) -> CachedObject {
    CachedObject {
        version: Some(ResourceVersion::from(version.to_string())),
        state: state.cloned(),
        relists: Some(0),
        went_back: None,
    }
}

fn everything(history: ServerHistory) -> HistoryView {
    HistoryView {
        history: Arc::new(Mutex::new(history)),
        selects: Arc::new(|_, _| true),
    }
}

/// Returns the numbers of the reported contract lines.
fn reported(findings: &Findings) -> Vec<u8> {
    findings.all().iter().map(|finding| finding.contract).collect()
}
