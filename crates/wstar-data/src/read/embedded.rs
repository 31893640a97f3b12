//! The embedded data sets, for first steps and lessons: `@iris`, `@spam` ….

use crate::read::Format;

/// An embedded data set.
#[derive(Debug)]
pub struct Embedded {
    /// The name, without the leading `@`.
    pub name: &'static str,
    /// A description of one line.
    pub description: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns, including the target, which is the last one.
    pub columns: usize,
    /// The authors, and where the data set is published.
    pub source: &'static str,
    /// The licence.
    pub licence: &'static str,
    /// The columns of free text.
    pub text: &'static [&'static str],
    pub(crate) format: Format,
    pub(crate) bytes: &'static [u8],
}

/// All embedded data sets.
pub static EMBEDDED: &[Embedded] = &[
    Embedded {
        name: "iris",
        description: "three species of iris, distinguished by the length and width of sepals and petals",
        rows: 150,
        columns: 5,
        source: "R. A. Fisher, 1936; UCI Machine Learning Repository, via scikit-learn",
        licence: "CC BY 4.0",
        text: &[],
        format: Format::Csv,
        bytes: include_bytes!("../../embedded/iris.csv"),
    },
    Embedded {
        name: "wine",
        description: "wines of three cultivars of one region, distinguished by chemical analysis",
        rows: 178,
        columns: 14,
        source: "S. Aeberhard and M. Forina, 1991; UCI Machine Learning Repository, via scikit-learn",
        licence: "CC BY 4.0",
        text: &[],
        format: Format::Csv,
        bytes: include_bytes!("../../embedded/wine.csv"),
    },
    Embedded {
        name: "breast-cancer",
        description: "malignant or benign breast tumours, from features of cell nuclei in images",
        rows: 569,
        columns: 31,
        source: "W. Wolberg, O. Mangasarian, N. Street and W. Street, 1993; UCI Machine Learning Repository, via scikit-learn",
        licence: "CC BY 4.0",
        text: &[],
        format: Format::Csv,
        bytes: include_bytes!("../../embedded/breast-cancer.csv.gz"),
    },
    Embedded {
        name: "digits",
        description: "handwritten digits 0 to 9 as images of 8 × 8 pixels",
        rows: 1797,
        columns: 65,
        source: "E. Alpaydin and C. Kaynak, 1998; UCI Machine Learning Repository, via scikit-learn",
        licence: "CC BY 4.0",
        text: &[],
        format: Format::Csv,
        bytes: include_bytes!("../../embedded/digits.csv.gz"),
    },
    Embedded {
        name: "diabetes",
        description: "progression of diabetes after a year, a real number, from ten standardised measurements",
        rows: 442,
        columns: 11,
        source: "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, 2004, via scikit-learn",
        licence: "BSD-3-Clause",
        text: &[],
        format: Format::Csv,
        bytes: include_bytes!("../../embedded/diabetes.csv.gz"),
    },
    Embedded {
        name: "spam",
        description: "text messages, spam or not (ham)",
        rows: 5574,
        columns: 2,
        source: "T. A. Almeida and J. M. Gómez Hidalgo, SMS Spam Collection, 2011; UCI Machine Learning Repository",
        licence: "CC BY 4.0",
        text: &["text"],
        format: Format::Tsv,
        bytes: include_bytes!("../../embedded/spam.tsv.gz"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ReadOptions, Source, read};
    use crate::{Cells, Raw};

    #[test]
    fn every_set_matches_its_description() {
        for set in EMBEDDED {
            let source = Source::parse(&format!("@{}", set.name)).unwrap();
            let Raw::Table(table) = read(&source, &ReadOptions::default()).unwrap() else {
                panic!("{} has named columns", set.name);
            };
            assert_eq!(
                (table.rows, table.columns.len()),
                (set.rows, set.columns),
                "{}",
                set.name
            );
            assert!(table.columns.iter().all(|column| column.first_missing.is_none()));
            for column in &table.columns {
                let is_text = matches!(column.cells, Cells::Texts(_));
                assert_eq!(
                    is_text,
                    set.text.contains(&column.name.as_str()),
                    "{}",
                    column.name
                );
            }
        }
    }

    /// The classes of the last column and their numbers of rows.
    fn classes(name: &str) -> Vec<(String, usize)> {
        let Raw::Table(table) = read(&Source::parse(name).unwrap(), &ReadOptions::default()).unwrap() else {
            panic!("named columns");
        };
        let Cells::Categories { codes, levels } = &table.columns.last().unwrap().cells else {
            panic!("a category");
        };
        let count = |k: usize| codes.iter().filter(|&&code| code as usize == k).count();
        levels
            .iter()
            .enumerate()
            .map(|(k, level)| (level.clone(), count(k)))
            .collect()
    }

    #[test]
    fn classes_have_their_published_counts() {
        let named = |list: &[(&str, usize)]| -> Vec<_> {
            list.iter()
                .map(|&(name, count)| (name.to_owned(), count))
                .collect()
        };
        assert_eq!(
            classes("@iris"),
            named(&[("setosa", 50), ("versicolor", 50), ("virginica", 50)])
        );
        assert_eq!(
            classes("@wine"),
            named(&[("class 1", 59), ("class 2", 71), ("class 3", 48)])
        );
        assert_eq!(
            classes("@breast-cancer"),
            named(&[("benign", 357), ("malignant", 212)])
        );
        assert_eq!(classes("@spam"), named(&[("ham", 4827), ("spam", 747)]));
    }
}
