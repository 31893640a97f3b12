//! A data set that is read in chunks, from a source larger than memory or without an end.

use crate::error::Remedy;
use crate::error::{Error, Result};
use crate::read::Chunks;
use crate::setting::Setting;
use crate::{
    Applied, Classes, Dataset, DatasetChunks, Missing, Preparation, Raw, Schema, Target, prepare,
    prepare_with,
};

/// A data set that is read in chunks. Columns, levels and vocabularies are those of the first chunk; the number of
/// features of a file with numbered features may grow.
pub struct DatasetStream {
    chunks: Chunks,
    schema: Schema,
    classes: Classes,
    how: Applied,
    /// The first chunk, until it has been returned.
    first: Option<Dataset>,
    /// Whether no pass has begun yet, so that `rewind` has nothing to do.
    fresh: bool,
}

impl DatasetStream {
    /// A stream for a model with known columns and classes (no classes for a real target).
    pub fn matching(chunks: Chunks, schema: Schema, classes: Classes, how: Applied) -> Self {
        DatasetStream {
            chunks,
            schema,
            classes,
            how,
            first: None,
            fresh: true,
        }
    }

    /// Reads the first chunk and determines the columns from it, and also the classes, unless they are given.
    pub fn open(mut chunks: Chunks, preparation: &Preparation, classes: Option<Classes>) -> Result<Self> {
        let Some(raw) = chunks.next()? else {
            return Err(Error::data("there are no rows to learn from"));
        };
        let how = Applied {
            drop_missing: preparation.missing == Missing::Drop,
            with_target: true,
            with_weights: true,
            ..Applied::default()
        };
        let (first, classes) = match classes {
            None => {
                let first = prepare(raw, preparation)?;
                let classes = match &first.target {
                    Target::Real(_) => Classes::NONE,
                    _ => {
                        let (_, classes) = first.require_classes().map_err(|error| {
                            error.remedy(Remedy::Effect(
                                Setting::Classes.given(),
                                "names all classes; these are only the first rows of the stream".into(),
                            ))
                        })?;
                        classes.clone()
                    }
                };
                (first, classes)
            }
            Some(classes) => {
                let schema = prepare(raw.clone(), preparation)?.schema;
                (prepare_with(raw, &schema, Some(&classes), &how)?, classes)
            }
        };
        Ok(DatasetStream {
            chunks,
            schema: first.schema.clone(),
            classes,
            how,
            first: Some(first),
            fresh: true,
        })
    }

    /// The classes.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The schema, with the number of features read so far.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether the source can be read again from the start.
    pub fn can_rewind(&self) -> bool {
        self.chunks.can_rewind()
    }

    /// The next rows, if there are any.
    pub fn next_chunk(&mut self) -> Result<Option<Dataset>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let Some(raw) = self.chunks.next()? else {
            return Ok(None);
        };
        if let Raw::Matrix(matrix) = &raw {
            self.schema.features = self.schema.features.max(matrix.design.features());
        }
        let classes = (!self.classes.is_empty()).then_some(&self.classes);
        prepare_with(raw, &self.schema, classes, &self.how).map(Some)
    }

    /// Returns to the first row, to begin a pass. The first call does nothing.
    pub fn rewind(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.fresh, false) {
            self.first = None;
            self.chunks.rewind()?;
        }
        Ok(())
    }
}

impl DatasetChunks for DatasetStream {
    fn each(&mut self, visit: &mut dyn FnMut(&Dataset) -> Result<()>) -> Result<()> {
        self.rewind()?;
        while let Some(data) = self.next_chunk()? {
            visit(&data)?;
        }
        Ok(())
    }
}
