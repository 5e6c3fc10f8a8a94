//! `cargo xtask book`: builds the book as HTML with mdBook. `cargo test -p book` tests its programs.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, pins, process, toolchain, tools};

pub(crate) fn run(root: &Path) -> Outcome {
    let folder = toolchain::target(root).join("book");
    let mut build = Command::new(mdbook(root)?);
    build
        .current_dir(root)
        .args(["build", "docs/book", "--dest-dir"])
        .arg(&folder);
    process::run(&mut build)?;
    println!("{}", folder.join("index.html").display());
    Ok(())
}

/// Returns the installed mdBook if it has the pinned version, or installs one outside of the tree.
fn mdbook(root: &Path) -> Outcome<std::path::PathBuf> {
    let own = process::read(Command::new("mdbook").arg("--version"));
    if own.is_ok_and(|version| version.trim() == format!("mdbook v{}", pins::MDBOOK)) {
        return Ok("mdbook".into());
    }
    tools::installed(root, "mdbook", pins::MDBOOK)
}
