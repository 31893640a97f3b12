//! IDX, the format in which MNIST is published: a big-endian header, followed by one byte per pixel.

use crate::error::Remedy;
use crate::setting::Setting;
use std::path::Path;

use crate::error::{Error, Result};
use crate::read::Source;
use crate::{ColumnSource, Dense, Design, Matrix};

/// Reads images, and their labels if a file of labels is given.
pub(crate) fn read(bytes: &[u8], name: &str, labels: Option<&Path>) -> Result<Matrix> {
    let (sizes, pixels) = header(bytes, name)?;
    let [images, shape @ ..] = sizes.as_slice() else {
        return Err(Error::parse("there are no images").in_file(name));
    };
    if shape.is_empty() {
        return Err(Error::parse("these are labels, not images")
            .remedy(Remedy::Effect(
                Setting::Labels.given(),
                "takes this file; the data are the file of images".into(),
            ))
            .in_file(name));
    }
    // If no size is 0, the product of the sizes is the number of bytes in the file, so no partial product overflows.
    if sizes.contains(&0) {
        let what = if *images == 0 {
            "there are no images"
        } else {
            "the images have no pixels"
        };
        return Err(Error::data(what).in_file(name));
    }
    let width = shape[1..].iter().product();
    let height = shape[0];
    let labels = labels.map(|path| read_labels(path, *images)).transpose()?;
    let values: Vec<f32> = pixels.iter().map(|&pixel| f32::from(pixel)).collect();
    Ok(Matrix {
        source: name.to_owned(),
        design: Design::Dense32(Dense::new(values, *images, height * width)?),
        labels,
        origin: ColumnSource::Pixels { height, width },
    })
}

fn read_labels(path: &Path, images: usize) -> Result<Vec<f64>> {
    let source = Source::Path(path.to_path_buf());
    let name = source.name();
    let bytes = source.open()?;
    let (sizes, labels) = header(&bytes, &name)?;
    if sizes.len() != 1 {
        return Err(Error::parse("these are images, not labels").in_file(name));
    }
    if labels.len() != images {
        return Err(Error::data(format!("{} labels for {images} images", labels.len())).in_file(name));
    }
    Ok(labels.iter().map(|&label| label.into()).collect())
}

/// The sizes of all dimensions, and the bytes after the header.
fn header<'a>(bytes: &'a [u8], name: &str) -> Result<(Vec<usize>, &'a [u8])> {
    let fail = |message: String| Err(Error::parse(message).in_file(name));
    let (dimensions, mut rest) = match bytes {
        [] => return fail("the file is empty".into()),
        [0, 0, 8, dimensions @ 1..=4, rest @ ..] => (usize::from(*dimensions), rest),
        [0, 0, kind, _, ..] if *kind != 8 => {
            return fail(format!(
                "values of type 0x{kind:02x} are not supported, only bytes (0x08)"
            ));
        }
        _ => return fail("this is no IDX file: it does not start with 00 00 08".into()),
    };
    let mut sizes = Vec::with_capacity(dimensions);
    for _ in 0..dimensions {
        let Some((size, after)) = rest.split_first_chunk::<4>() else {
            return fail("the file ends within its header".into());
        };
        sizes.push(u32::from_be_bytes(*size) as usize);
        rest = after;
    }
    let expected = sizes
        .iter()
        .try_fold(1usize, |product, &size| product.checked_mul(size));
    match expected {
        Some(expected) if expected == rest.len() => Ok((sizes, rest)),
        Some(expected) if expected > rest.len() => fail(format!(
            "the file is cut short: {} bytes of data where the header declares {expected}",
            rest.len()
        )),
        Some(expected) => fail(format!(
            "{} bytes of data where the header declares {expected}",
            rest.len()
        )),
        None => fail("the header declares more data than any file holds".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGES: &[u8] = &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255];

    fn fails(bytes: &[u8]) -> String {
        read(bytes, "f", None).unwrap_err().to_string()
    }

    #[test]
    fn images_and_labels() {
        let folder = tempfile::tempdir().unwrap();
        let labels = folder.path().join("labels");
        std::fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 2, 7, 9]).unwrap();
        let matrix = read(IMAGES, "f", Some(&labels)).unwrap();
        assert_eq!(matrix.labels.unwrap(), [7.0, 9.0]);
        assert_eq!(matrix.origin, ColumnSource::Pixels { height: 1, width: 3 });
        assert_eq!(matrix.design.row(1).to_dense(3), [4.0, 5.0, 255.0]);
        assert_eq!(read(IMAGES, "f", None).unwrap().labels, None);

        std::fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 1, 7]).unwrap();
        let error = read(IMAGES, "f", Some(&labels)).unwrap_err();
        assert!(
            error.to_string().ends_with("labels: 1 labels for 2 images"),
            "{error}"
        );
        std::fs::write(&labels, IMAGES).unwrap();
        let error = read(IMAGES, "f", Some(&labels)).unwrap_err();
        assert!(
            error.to_string().ends_with("these are images, not labels"),
            "{error}"
        );
    }

    #[test]
    fn images_without_pixels_are_refused() {
        let most = [0xff, 0xff, 0xff, 0xff];
        let none = [0, 0, 0, 0];
        let head = [0, 0, 8, 4];
        let pixels = [&head[..], &most, &none, &most, &most].concat();
        assert_eq!(fails(&pixels), "f: the images have no pixels");
        let images = [&head[..], &none, &most, &most, &most].concat();
        assert_eq!(fails(&images), "f: there are no images");
    }

    #[test]
    fn broken_files_are_refused() {
        assert_eq!(fails(b""), "f: the file is empty");
        assert_eq!(
            fails(b"\x89PNG"),
            "f: this is no IDX file: it does not start with 00 00 08"
        );
        assert_eq!(
            fails(&[0, 0, 13, 3, 0]),
            "f: values of type 0x0d are not supported, only bytes (0x08)"
        );
        assert_eq!(fails(&IMAGES[..10]), "f: the file ends within its header");
        assert_eq!(
            fails(&IMAGES[..IMAGES.len() - 1]),
            "f: the file is cut short: 5 bytes of data where the header declares 6"
        );
        assert_eq!(
            fails(&[IMAGES, &[0]].concat()),
            "f: 7 bytes of data where the header declares 6"
        );
        assert_eq!(
            fails(&[
                0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
            ]),
            "f: the header declares more data than any file holds"
        );
        assert!(fails(&[0, 0, 8, 1, 0, 0, 0, 1, 7]).contains("these are labels, not images"));
    }
}
