//! The name of a data source in titles and file names.

use wstar::data::read::Source;

/// The name of a source in titles and file names: `iris` for `@iris` and `data/iris.csv.gz`.
pub(crate) fn title(source: &Source) -> String {
    match source {
        Source::Stdin => "stdin".into(),
        Source::Embedded(set) => set.name.into(),
        Source::Path(path) => {
            let name = path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned();
            let known = [
                ".gz",
                ".csv",
                ".tsv",
                ".svm",
                ".libsvm",
                ".svmlight",
                ".txt",
                ".idx",
            ];
            let mut stem = name.as_str();
            while let Some(shorter) = known.iter().find_map(|ending| stem.strip_suffix(ending))
                && !shorter.is_empty()
            {
                stem = shorter;
            }
            stem.to_string()
        }
        other => other.name(),
    }
}
