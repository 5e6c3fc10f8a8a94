//! The folder outside of the tree for results of long builds.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::Outcome;

/// Returns `$KUBE_INFORMER_CACHE`, or `kube-informer` in the user's cache folder.
pub(crate) fn folder() -> Outcome<PathBuf> {
    choose(|name| env::var_os(name).filter(|value| !value.is_empty()))
        .ok_or_else(|| "no cache folder: set KUBE_INFORMER_CACHE to a folder".into())
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(own) = variable("KUBE_INFORMER_CACHE") {
        return Some(own.into());
    }
    let shared = match variable("XDG_CACHE_HOME") {
        Some(shared) => PathBuf::from(shared),
        None => PathBuf::from(variable("HOME")?).join(".cache"),
    };
    Some(shared.join("kube-informer"))
}

/// Creates and locks `folder` for this process until the result is dropped. The system releases the lock when
/// the process ends.
pub(crate) fn take(folder: &Path) -> Outcome<File> {
    let explain = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(explain)?;
    let lock = File::create(folder.join(".lock")).map_err(explain)?;
    if lock.try_lock().is_err() {
        eprintln!("waiting for another build in {}", folder.display());
        lock.lock().map_err(explain)?;
    }
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_variable_decides() {
        let all = [
            ("KUBE_INFORMER_CACHE", "/a"),
            ("XDG_CACHE_HOME", "/b"),
            ("HOME", "/c"),
        ];
        let wanted = ["/a", "/b/kube-informer", "/c/.cache/kube-informer"];
        for (first, wanted) in wanted.into_iter().enumerate() {
            let set = &all[first..];
            let found = choose(|name| {
                set.iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value.into())
            });
            assert_eq!(found.as_deref(), Some(Path::new(wanted)), "{set:?}");
        }
        assert_eq!(choose(|_| None), None);
    }
}
