//! The embedded files of the page: its JavaScript modules, unbundled, and the d3 library.

/// The content type and the content of the file at `path`, if the page has such a file.
pub(crate) fn file(path: &str) -> Option<(&'static str, &'static [u8])> {
    let (_, content) = FILES.iter().find(|(name, _)| *name == path)?;
    let kind = match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    Some((kind, content))
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        /// Paths and contents of the page's files.
        static FILES: &[(&str, &[u8])] = &[$(($path, include_bytes!(concat!("../page/", $path)))),*];
    };
}

files![
    "index.html",
    "js/ask.js",
    "js/chart.js",
    "js/claim.js",
    "js/claimbox.js",
    "js/command.js",
    "js/compare.js",
    "js/controls.js",
    "js/datamenu.js",
    "js/dom.js",
    "js/frames.js",
    "js/geometry.js",
    "js/layers.js",
    "js/lessons.js",
    "js/losses.js",
    "js/main.js",
    "js/marks.js",
    "js/methods.js",
    "js/ownline.js",
    "js/picture.js",
    "js/plane.js",
    "js/readout.js",
    "js/scene.js",
    "js/surface.js",
    "js/theme.js",
    "js/timeline.js",
    "js/tools.js",
    "lab.css",
    "vendor/LICENCES.txt",
    "vendor/d3.js",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn paths(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                paths(&path, root, found);
            } else {
                let inside = path.strip_prefix(root).unwrap();
                found.push(inside.to_string_lossy().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut found = Vec::new();
        paths(&root, &root, &mut found);
        found.sort();
        let mut embedded: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        embedded.sort_unstable();
        assert_eq!(found, embedded);
    }
}
