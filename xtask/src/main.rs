//! Development chores, run as `cargo xtask <chore>`.
mod tables;

use std::path::Path;

/// What a chore ends with; the error is printed for a person to read.
pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("xtask has no parent folder")?;
    tables::run(root, "v1.36.3", false)
}
