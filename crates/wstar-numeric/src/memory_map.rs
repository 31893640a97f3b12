//! Memory-mapped files: mapping a file, and releasing the pages that have been read.

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Advice, Mmap, UncheckedAdvice};

/// Maps a whole file for reading.
///
/// The file must be a regular file; mapping an empty file fails with a system error.
#[allow(unsafe_code)]
pub fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and private to this process, and nothing is written through it. If another process
    // truncates the file while it is read, this process ends with a bus error. Ruling that out would require a copy of the
    // file.
    let map = unsafe { Mmap::map(file)? };
    // A hint only: without it, reading is a little slower.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

/// The unit in which memory is released. Derived: no supported page size is larger, and a page fault maps at most this
/// much at once.
const PAGES: usize = 1 << 16;

/// Releases the memory of a range that is unlikely to be read again; a later read loads it from the file again.
///
/// If consecutive ranges are released in order, all their memory is released: a page that a range shares with the next one
/// is kept, and released together with the next one.
#[allow(unsafe_code)]
pub fn release(map: &Mmap, range: Range<usize>) {
    let start = range.start.saturating_sub(PAGES) / PAGES * PAGES;
    let end = range.end.min(map.len()) / PAGES * PAGES;
    if start < end {
        // SAFETY: nothing is ever written through the mapping, so released pages read the same bytes from the file again.
        let released = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        // Failure only costs memory.
        let _ = released;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    #[test]
    fn released_ranges_read_the_same_bytes() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        let map = crate::memory_map::map(&file).unwrap();
        for (start, end) in [
            (0, 100_000),
            (100_000, 100_001),
            (100_001, 300_000),
            (0, 0),
            (300_000, 400_000),
        ] {
            assert_eq!(&map[start..end], &bytes[start..end]);
            crate::memory_map::release(&map, start..end);
            assert_eq!(&map[..], &bytes[..]);
        }
    }

    #[test]
    fn a_map_holds_the_bytes_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        assert_eq!(&crate::memory_map::map(&file).unwrap()[..], &bytes[..]);
    }
}
