//! The check of a model against rows: the claim of the model file by its kind, and what was proved of it.

use crate::canonical_rows::{self, CanonicalRows};
use crate::model::Model;
use crate::schema::Origin;
use crate::sha256::sha256;
use crate::svmlight;
use crate::table::{self, TableOptions};
use crate::training_rows::TrainingRows;
use crate::unreadable::{Reading, Unreadable, shown};
use crate::verdict::{Options, Verdict};
use crate::{densities, duality_gap, least_error, margins, mistake_bound, separability, stationarity};

/// Rows, and what is known about their origin.
pub struct Source {
    /// The rows.
    pub rows: TrainingRows,
    /// The name of the file.
    pub name: String,
    /// The SHA-256 of the file.
    pub hash: String,
    /// Whether the rows were read here from the user's file under the schema of the model. Canonical rows were not.
    pub read_here: bool,
}

impl Source {
    /// Reads the user's file under the schema of a model.
    pub fn file(model: &Model, bytes: &[u8], name: &str, options: TableOptions) -> Reading<Self> {
        if let Some(share) = model.held_out {
            return Err(Unreadable::new(format!(
                "the model was trained on a part of its file: a share of {share} was held out, by random numbers that this \
                 program does not reproduce; give the training rows as canonical rows"
            )));
        }
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let refusal = Unreadable::new("the file is compressed: unpack it, or give canonical rows");
            return Err(refusal.in_file(name));
        }
        let rows = match model.schema.origin {
            Origin::Indexed(_) => svmlight::read(bytes, name, &model.schema)?,
            Origin::Table | Origin::Pixels => table::read(bytes, name, &model.schema, options)?,
        };
        Ok(Source {
            rows,
            name: name.into(),
            hash: sha256(bytes),
            read_here: true,
        })
    }

    /// Reads canonical rows, which must have the columns and the classes of the model.
    pub fn canonical(model: &Model, bytes: &[u8], name: &str) -> Reading<Self> {
        let CanonicalRows { classes, rows } =
            canonical_rows::read(bytes).map_err(|error| error.in_file(name))?;
        if classes != model.classes() || rows.design.features != model.schema.features {
            let refusal = Unreadable::new("the rows have other classes or columns than the model");
            return Err(refusal.in_file(name));
        }
        Ok(Source {
            rows,
            name: name.into(),
            hash: sha256(bytes),
            read_here: false,
        })
    }
}

/// Checks a model against rows.
pub fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let kind = model.kind.as_str();
    if options.digits && kind != "duality-gap" {
        return Err(Unreadable::new(
            "digits of an optimum are proved only where a duality gap is claimed",
        ));
    }
    if options.tol.is_some() && ["mistake-bound", "separability", "min-error"].contains(&kind) {
        return Err(Unreadable::new("this claim has no tolerance"));
    }
    let mut verdict = match kind {
        "duality-gap" => duality_gap::check(model, rows, options),
        "mistake-bound" => mistake_bound::check(model, rows),
        "maximum-likelihood" => densities::check_estimates(model, rows, options),
        "enclosing-ball" => densities::check_balls(model, rows, options),
        "stationarity" => stationarity::check(model, rows, options),
        "separability" => return separability::check(model, rows),
        "hard-margin" | "separation" => margins::check(model, rows, options),
        "min-error" => least_error::check(model, rows),
        "none" => Err(Unreadable::new("the model has no certificate")),
        kind => {
            let message = format!(
                "a claim of the kind {} is not checked by this version",
                shown(kind)
            );
            Err(Unreadable::new(message))
        }
    }?;
    let (stated, found) = (model.rows, rows.counted());
    let objection = format!("the model was trained on {stated} rows, and these are {found}");
    verdict.object_unless(stated == found, objection);
    Ok(verdict)
}
