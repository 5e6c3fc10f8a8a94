//! Unpacks and packs the corpora for libFuzzer, which reads and writes one file for each input. `cargo xtask fuzz` runs this.
//!
//! `cargo run -p fuzz --example corpus -- unpack TARGET FOLDER` writes all inputs of a target to a folder.
//! `cargo run -p fuzz --example corpus -- pack TARGET FOLDER` adds the files of a folder to the packed inputs of a target.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use fuzz::Target;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [command, name, folder] = &args[..] else {
        return Err("expected unpack|pack TARGET FOLDER".into());
    };
    let target = Target::named(name).ok_or_else(|| format!("unknown target {name:?}"))?;
    match command.as_str() {
        "unpack" => unpack(target, Path::new(folder)),
        "pack" => pack(target, Path::new(folder)),
        _ => Err(format!("unknown command {command:?}: expected unpack or pack").into()),
    }
}

fn unpack(target: Target, folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    for (name, input) in target.inputs()? {
        fs::write(folder.join(name), input)?;
    }
    Ok(())
}

fn pack(target: Target, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        inputs.push(fs::read(entry?.path())?);
    }
    Ok(target.add(inputs)?)
}
