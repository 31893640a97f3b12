//! Files that appear whole or not at all: a temporary file beside them, written, synced, and then given their name.

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

/// A temporary file in the folder of `path`, which vanishes unless it is given that name.
fn temporary_beside(path: &Path) -> Result<NamedTempFile> {
    if path.is_dir() {
        return Err(
            Error::new(ErrorKind::Io, "is a directory, not a file").in_file(path.display().to_string())
        );
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wstar-").suffix(".tmp");
    // The permissions of any new file, which the user's mask then narrows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
        .tempfile_in(folder_of(path))
        .map_err(|cause| unwritable(path, &cause))
}

fn unwritable(path: &Path, cause: &std::io::Error) -> Error {
    Error::io(path.display().to_string(), cause).hint("nothing can be written there; choose another place")
}

/// A pipe or a device, which is written to as it is: a file that took its name would not be what anyone meant.
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

/// Writes a file: complete, or not at all. The folder keeps what it had until the new file is safely on disk. A pipe or
/// a device gets it as it comes.
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
    let mut file = temporary_beside(path)?;
    filled(&mut file).map_err(|cause| failed(&cause))?;
    file.as_file().sync_all().map_err(|cause| failed(&cause))?;
    file.persist(path).map_err(|error| failed(&error.error))?;
    // The file's name is safe once its folder is; a system that cannot sync folders loses nothing by it.
    if let Ok(folder) = fs::File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Refuses a path that no file can be written to, without writing there.
pub fn check_writable(path: &Path) -> Result<()> {
    // A pipe must not be opened and closed before there is something to say.
    if is_device(path) {
        return Ok(());
    }
    temporary_beside(path).map(drop)
}
