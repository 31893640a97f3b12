//! Examples from a source larger than memory, or without an end: a chunk at a time.

use std::ops::ControlFlow;

use crate::data::{
    Applied, Classes, Dataset, Missing, Portions, Preparation, Raw, Schema, Target, prepare, prepare_with,
};
use crate::error::{Error, Result};
use crate::io::Chunks;
use crate::online::{Example, Examples};

/// Examples read a chunk at a time. Columns, levels and vocabularies are those of the first chunk;
/// numbered features may go on growing.
pub struct Streamed {
    chunks: Chunks,
    schema: Schema,
    classes: Classes,
    how: Applied,
    /// The first chunk, until it has been passed over.
    first: Option<Dataset>,
    /// Whether the chunks stand behind the first one.
    fresh: bool,
}

impl Streamed {
    /// A stream for a model that knows its columns and classes (none for a real target).
    pub fn matching(chunks: Chunks, schema: Schema, classes: Classes, how: Applied) -> Self {
        Streamed {
            chunks,
            schema,
            classes,
            how,
            first: None,
            fresh: true,
        }
    }

    /// Reads the first chunk and learns the columns from it; the classes too, unless they are given.
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
                            error.hint(
                                "these are the first rows of the stream; name all classes with --classes",
                            )
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
        Ok(Streamed {
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

    /// The schema, with as many features as have been seen.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether the source can be passed over once more.
    pub fn can_rewind(&self) -> bool {
        self.chunks.can_rewind()
    }

    fn next(&mut self) -> Result<Option<Dataset>> {
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

    /// Goes back to the first row, unless none has been read yet.
    fn start(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.fresh, false) {
            self.first = None;
            self.chunks.rewind()?;
        }
        Ok(())
    }
}

impl Portions for Streamed {
    fn each(&mut self, visit: &mut dyn FnMut(&Dataset) -> Result<()>) -> Result<()> {
        self.start()?;
        while let Some(data) = self.next()? {
            visit(&data)?;
        }
        Ok(())
    }
}

impl Examples for Streamed {
    fn pass(
        &mut self,
        _pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        self.start()?;
        let mut id = 0;
        while let Some(data) = self.next()? {
            let (codes, _) = data.require_classes()?;
            for (i, &class) in codes.iter().enumerate() {
                let example = Example {
                    id,
                    row: data.design.row(i),
                    class,
                    weight: data.weight(i),
                };
                id += 1;
                if example.weight > 0.0 && visit(example)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
