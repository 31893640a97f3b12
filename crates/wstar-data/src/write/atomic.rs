//! Atomic writing: a temporary file in the same folder is written, synced and then renamed, so that a file appears completely
//! or not at all.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, ErrorKind, Result};

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A temporary file in the folder of `path`. It is deleted unless it is renamed.
fn temporary_next_to(path: &Path) -> Result<NamedTempFile> {
    if path.is_dir() {
        return Err(
            Error::new(ErrorKind::Io, "is a directory, not a file").in_file(path.display().to_string())
        );
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wstar-").suffix(".tmp");
    // The default permissions of a new file, which the umask of the process restricts.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
        .tempfile_in(folder_of(path))
        .map_err(|cause| unwritable(path, &cause))
}

fn unwritable(path: &Path, cause: &std::io::Error) -> Error {
    Error::io(path.display().to_string(), cause).remedy("nothing can be written there; choose another path")
}

/// Opens `path` if it is a pipe or a device. These are written to directly, because a rename would replace them by a file.
fn device(path: &Path) -> Result<Option<fs::File>> {
    let open = || fs::OpenOptions::new().write(true).open(path);
    is_device(path)
        .then(open)
        .transpose()
        .map_err(|cause| unwritable(path, &cause))
}

fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Writes a file, completely or not at all. An existing file is kept until the new one is safely on disk. A pipe or a device
/// is written to directly.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let name = path.display().to_string();
    let failed = |cause: &std::io::Error| Error::io(&name, cause);
    let filled = |to: &mut dyn Write| {
        let mut writer = BufWriter::new(to);
        fill(&mut writer)?;
        writer.flush()
    };
    if let Some(mut device) = device(path)? {
        return filled(&mut device).map_err(|cause| failed(&cause));
    }
    let mut file = temporary_next_to(path)?;
    filled(&mut file).map_err(|cause| failed(&cause))?;
    file.as_file().sync_all().map_err(|cause| failed(&cause))?;
    file.persist(path).map_err(|error| failed(&error.error))?;
    // The rename is durable once the folder is synced. Errors are ignored, because some systems cannot sync folders.
    if let Ok(folder) = fs::File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Fails if no file can be written to `path`. Leaves nothing behind.
pub fn check_writable(path: &Path) -> Result<()> {
    // Opening and closing a pipe would signal its end to the reader.
    if is_device(path) {
        return Ok(());
    }
    temporary_next_to(path).map(drop)
}
