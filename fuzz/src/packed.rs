//! Unnamed inputs, packed into one file.
//!
//! Each input is its length, as four bytes in big-endian order, followed by its bytes. The inputs are sorted by length, then by
//! content, so the order in which they were found does not change the file.

use std::path::Path;
use std::{fs, io};

/// Reads all inputs of a file. A missing file has none.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut inputs = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let Some((input, after)) = split(rest) else {
            let message = format!("{}: truncated after {} inputs", path.display(), inputs.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        };
        inputs.push(input.to_vec());
        rest = after;
    }
    Ok(inputs)
}

/// Writes inputs to a file, each once.
pub(crate) fn write(path: &Path, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    inputs.dedup();
    let mut bytes = Vec::new();
    for input in inputs {
        let length = u32::try_from(input.len()).map_err(io::Error::other)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(input);
    }
    fs::write(path, bytes)
}

/// Splits the first input from the rest.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_survive_a_round_trip_and_truncated_files_are_rejected() {
        let path = std::env::temp_dir().join(format!("packed-{}", std::process::id()));
        assert_eq!(read(&path).expect("no file"), [[0_u8; 0]; 0]);

        let inputs = [&b"longer"[..], b"", b"b\0", b"a\xff", b"b\0"].map(<[u8]>::to_vec);
        write(&path, inputs.to_vec()).expect("a file");
        assert_eq!(
            read(&path).expect("inputs"),
            [&b""[..], b"a\xff", b"b\0", b"longer"]
        );

        let bytes = fs::read(&path).expect("bytes");
        fs::write(&path, &bytes[..bytes.len() - 1]).expect("a file");
        let error = read(&path).expect_err("a truncated file");
        assert!(error.to_string().ends_with("truncated after 3 inputs"), "{error}");
        fs::remove_file(&path).expect("a file");
    }
}
