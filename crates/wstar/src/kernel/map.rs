//! Memory-mapped files.

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Advice, Mmap, UncheckedAdvice};

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

/// No page is larger, and a fault brings in no more than this at once.
const PAGES: usize = 1 << 16;

/// Gives back the memory of a part that will hardly be looked at again: whoever does reads it anew.
///
/// Parts that follow one another are given back whole. What a page shares with the next part stays for it, and is given
/// back with it.
#[allow(unsafe_code)]
pub fn release(map: &Mmap, part: Range<usize>) {
    let start = part.start.saturating_sub(PAGES) / PAGES * PAGES;
    let end = part.end.min(map.len()) / PAGES * PAGES;
    if start < end {
        // SAFETY: nothing was ever written through the mapping, so that its pages read as before: from the file.
        let given_back = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        // Only memory is lost by a system that does not do it.
        let _ = given_back;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    #[test]
    fn what_was_given_back_reads_as_before() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        let map = super::map(&file).unwrap();
        for (start, end) in [
            (0, 100_000),
            (100_000, 100_001),
            (100_001, 300_000),
            (0, 0),
            (300_000, 400_000),
        ] {
            assert_eq!(&map[start..end], &bytes[start..end]);
            super::release(&map, start..end);
            assert_eq!(&map[..], &bytes[..]);
        }
    }

    #[test]
    fn a_map_holds_what_a_read_gives() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        assert_eq!(&super::map(&file).unwrap()[..], &bytes[..]);
    }
}
