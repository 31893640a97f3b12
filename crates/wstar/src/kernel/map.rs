//! Memory-mapped files.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};

/// Maps a whole file for reading.
///
/// The caller must know that the file is a regular one; an empty file is an error of the system.
#[allow(unsafe_code)]
pub fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and private to this process. What cannot be ruled out is that
    // another process shortens the file while it is read, which ends this process with a bus error;
    // that is the price of not copying the file first, and no data are written through the mapping.
    let map = unsafe { Mmap::map(file)? };
    // Only advice: a system that does not take it reads a little slower.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    #[test]
    fn a_map_holds_what_a_read_gives() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        assert_eq!(&super::map(&file).unwrap()[..], &bytes[..]);
    }
}
