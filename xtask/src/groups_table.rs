//! The table of built-in kinds, from which `kube-informer` generates `factory.apps().v1().deployments()`.
//!
//! The source is the code of k8s-openapi for every Kubernetes version. The table contains the first and the
//! last version of each type, so that it compiles with any version that a user selects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Outcome, process};

pub(crate) const PATH: &str = "crates/kube-informer/src/object/built_in/table.rs";

/// A minor version of Kubernetes 1.
type Minor = u32;

/// A type that can be listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// The module in the crate, for example `api::apps::v1`.
    module: String,
    /// The file's name, which contains the words of the kind, for example `daemon_set`.
    words: String,
    /// The type, for example `DaemonSet`.
    name: String,
    /// The API group; empty for the core group.
    group: String,
    version: String,
    plural: String,
}

/// The kinds, and the versions of Kubernetes that have them.
type Kinds = BTreeMap<Kind, BTreeSet<Minor>>;

/// The kinds of a group, by version.
type Versions<'a> = BTreeMap<&'a str, Vec<(&'a Kind, &'a BTreeSet<Minor>)>>;

/// Returns the table as Rust code.
pub(crate) fn print(root: &Path) -> Outcome<String> {
    let crate_folder = k8s_openapi(root)?;
    let mut kinds = Kinds::new();
    let mut minors = BTreeSet::new();
    for entry in fs::read_dir(crate_folder.join("src"))? {
        let folder = entry?.path();
        let Some(minor) = file_name(&folder)
            .strip_prefix("v1_")
            .and_then(|text| text.parse().ok())
        else {
            continue;
        };
        minors.insert(minor);
        collect(&folder, &folder, minor, &mut kinds)?;
    }
    table(&kinds, &minors)
}

/// Returns the folder of the k8s-openapi crate that the workspace uses.
pub(crate) fn k8s_openapi(root: &Path) -> Outcome<PathBuf> {
    let text = process::read(process::cargo(root).args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "k8s-openapi")
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_path_buf)
        .ok_or_else(|| "cargo metadata names no k8s-openapi".into())
}

fn collect(top: &Path, folder: &Path, minor: Minor, kinds: &mut Kinds) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(top, &path, minor, kinds)?;
        } else if let Some(kind) = kind_in(top, &path)? {
            kinds.entry(kind).or_default().insert(minor);
        }
    }
    Ok(())
}

/// Parses a file of k8s-openapi, which contains one type with its names as constants.
fn kind_in(top: &Path, path: &Path) -> Outcome<Option<Kind>> {
    let text = fs::read_to_string(path)?;
    let Some(name) = between(&text, "impl crate::ListableResource for ", " {") else {
        return Ok(None);
    };
    let constant = |name: &str| {
        between(&text, &format!("const {name}: &'static str = \""), "\";")
            .map(str::to_owned)
            .ok_or_else(|| format!("{} has no {name}", path.display()))
    };
    let folder = path.parent().ok_or("a file outside of any folder")?;
    let module: Vec<_> = folder
        .strip_prefix(top)?
        .iter()
        .filter_map(|part| part.to_str())
        .collect();
    Ok(Some(Kind {
        module: module.join("::"),
        words: file_name(path).trim_end_matches(".rs").to_owned(),
        name: name.to_owned(),
        group: constant("GROUP")?,
        version: constant("VERSION")?,
        plural: constant("URL_PATH_SEGMENT")?,
    }))
}

fn table(kinds: &Kinds, minors: &BTreeSet<Minor>) -> Outcome<String> {
    let mut groups: BTreeMap<String, Versions<'_>> = BTreeMap::new();
    for (kind, present) in kinds {
        let versions = groups.entry(group_method(kind)?).or_default();
        versions.entry(&kind.version).or_default().push((kind, present));
    }
    let mut out = String::from(
        "//! The built-in kinds of Kubernetes. Written by `cargo xtask tables`; not edited by hand.\n\
         //!\n\
         //! A kind, version or group that not every version of Kubernetes has is followed by the macros of k8s-openapi that\n\
         //! say which ones have it.\n\n\
         macro_rules! built_in_kinds {\n\
         \x20   ($callback:ident) => {\n\
         \x20       $callback! {\n",
    );
    for (method, versions) in &groups {
        let all = || versions.values().flatten();
        let (kind, _) = all().next().ok_or("a group without kinds")?;
        let in_group = together(all().map(|(_, present)| *present));
        let guard = guard(&in_group, minors)?;
        let type_name = capitalized(method);
        let group = if kind.group.is_empty() {
            "core"
        } else {
            &kind.group
        };
        writeln!(out, "            {method} {type_name}Group {group:?} {guard}{{")?;
        for (version, kinds) in versions {
            let (kind, _) = kinds.first().ok_or("a version without kinds")?;
            let in_version = together(kinds.iter().map(|(_, present)| *present));
            let guard = self::guard(&in_version, &in_group)?;
            let version_type = format!("{type_name}{}", capitalized(version));
            writeln!(
                out,
                "                {version} {version_type} ({}) {guard}{{",
                kind.module
            )?;
            for (kind, present) in kinds {
                let guard = self::guard(present, &in_version)?;
                let method = kind_method(kind)?;
                writeln!(
                    out,
                    "                    {method} {} {:?} {guard};",
                    kind.name, kind.plural
                )?;
            }
            out.push_str("                }\n");
        }
        out.push_str("            }\n");
    }
    out.push_str("        }\n    };\n}\n\npub(crate) use built_in_kinds;\n");
    Ok(out.replace(" ;\n", ";\n"))
}

fn together<'a>(sets: impl Iterator<Item = &'a BTreeSet<Minor>>) -> BTreeSet<Minor> {
    sets.flatten().copied().collect()
}

/// Returns the macros for a type that exists only in some of the versions of its surroundings.
fn guard(present: &BTreeSet<Minor>, around: &BTreeSet<Minor>) -> Outcome<String> {
    let (Some(first), Some(last)) = (present.first(), present.last()) else {
        return Err("a kind that no version has".into());
    };
    if present.len() != around.range(first..=last).count() {
        return Err(format!("a kind was removed and added again: {present:?}").into());
    }
    let mut macros = Vec::new();
    if around.first() < Some(first) {
        macros.push(format!("k8s_if_ge_1_{first}"));
    }
    if around.last() > Some(last) {
        macros.push(format!("k8s_if_le_1_{last}"));
    }
    Ok(match macros.as_slice() {
        [] => String::new(),
        _ => format!("[{}] ", macros.join(" ")),
    })
}

/// Returns client-go's name of the group: that of its module, except for the API server's own groups.
fn group_method(kind: &Kind) -> Outcome<String> {
    match kind.module.rsplit("::").nth(1) {
        Some("apiserverinternal") => Ok("internal".into()),
        Some(group) => Ok(group.into()),
        None => Err(format!("{} is in a module without a group: {}", kind.name, kind.module).into()),
    }
}

/// Returns the plural with separated words, for example `daemon_sets` for `DaemonSet`.
fn kind_method(kind: &Kind) -> Outcome<String> {
    let first_words = match kind.words.rfind('_') {
        Some(end) => &kind.words[..=end],
        None => "",
    };
    match kind.plural.strip_prefix(&first_words.replace('_', "")) {
        Some(last_word) => Ok(format!("{first_words}{last_word}")),
        None => Err(format!("{} does not start like {}", kind.plural, kind.words).into()),
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Kind, Minor, group_method, guard, kind_method};

    fn kind(module: &str, words: &str, plural: &str) -> Kind {
        Kind {
            module: module.into(),
            words: words.into(),
            name: String::new(),
            group: String::new(),
            version: String::new(),
            plural: plural.into(),
        }
    }

    #[test]
    fn methods_are_plurals_in_words() {
        for (words, plural, method) in [
            ("daemon_set", "daemonsets", "daemon_sets"),
            ("endpoints", "endpoints", "endpoints"),
            ("network_policy", "networkpolicies", "network_policies"),
            (
                "csi_storage_capacity",
                "csistoragecapacities",
                "csi_storage_capacities",
            ),
        ] {
            let made = kind_method(&kind("api::apps::v1", words, plural));
            assert_eq!(made.ok().as_deref(), Some(method));
        }
        assert!(kind_method(&kind("api::apps::v1", "daemon_set", "things")).is_err());
    }

    #[test]
    fn groups_have_client_gos_names() {
        for (module, method) in [
            ("api::apps::v1", "apps"),
            ("api::apiserverinternal::v1alpha1", "internal"),
            (
                "apiextensions_apiserver::pkg::apis::apiextensions::v1",
                "apiextensions",
            ),
        ] {
            let made = group_method(&kind(module, "thing", "things"));
            assert_eq!(made.ok().as_deref(), Some(method));
        }
    }

    #[test]
    fn guards_tell_the_versions_that_have_a_kind() {
        let all: BTreeSet<Minor> = (33..=37).collect();
        let guard_of = |present: &[Minor]| guard(&present.iter().copied().collect(), &all).ok();
        assert_eq!(guard_of(&[33, 34, 35, 36, 37]).as_deref(), Some(""));
        assert_eq!(guard_of(&[36, 37]).as_deref(), Some("[k8s_if_ge_1_36] "));
        assert_eq!(guard_of(&[33, 34]).as_deref(), Some("[k8s_if_le_1_34] "));
        assert_eq!(
            guard_of(&[35]).as_deref(),
            Some("[k8s_if_ge_1_35 k8s_if_le_1_35] ")
        );
        assert_eq!(guard_of(&[33, 35]), None);
    }
}
