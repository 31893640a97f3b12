//! A model file: what the claims of all kinds have in common. Each kind of claim reads its own fields from the document.
//! `docs/certificate-format.md` lists the fields.

use crate::json::{self, Node, Value};
use crate::schema::Schema;
use crate::unreadable::{Reading, Unreadable};

const VERSION: u64 = 2;
const PROOF_VERSION: u64 = 1;

/// A model file.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) schema: Schema,
    pub(crate) rows: u64,
    /// The share of the rows of the file that were held out.
    pub(crate) held_out: Option<f64>,
    pub(crate) kind: String,
    document: Value,
}

impl Model {
    /// Reads the contents of a model file.
    pub fn read(bytes: &[u8], name: &str) -> Reading<Self> {
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| Unreadable::new("this is not a model file").in_file(name))?;
        let document = json::parse(text).map_err(|fault| fault.locate(bytes, name))?;
        Model::new(document).map_err(|error| error.in_file(name))
    }

    /// A proof of separability has the schema of its points, and its claim is the whole file.
    fn new(document: Value) -> Reading<Self> {
        let root = Node::root(&document);
        let format = root.optional("format")?.and_then(|format| format.as_text());
        let (newest, what) = match format {
            Some("wstar-proof") => (PROOF_VERSION, "proof files"),
            Some("wstar-model") => (VERSION, "the model file"),
            _ => return Err(root.refuse("this is not a model file")),
        };
        let version = root.field("version")?.count()?;
        let message = format!("version {version} of {what}, and this program checks version {newest}");
        root.require(version == newest, &message)?;
        if format == Some("wstar-proof") {
            let content = root.field("content")?;
            let points = content.field("points")?;
            return Ok(Model {
                schema: Schema::read(&points.field("schema")?, points.field("classes")?.texts()?)?,
                rows: content.field("rows")?.count()?,
                held_out: None,
                kind: "separability".into(),
                document,
            });
        }
        let classes = root.field("classes")?;
        let names = classes.names()?;
        classes.require(names.len() != 1, "there is only one class")?;
        let common = root.field("settings")?.field("common")?;
        Ok(Model {
            schema: Schema::read(&root.field("schema")?, names)?,
            rows: root.field("fit")?.field("rows")?.count()?,
            held_out: common.maybe("holdout", |share| share.number())?,
            kind: root.field("certificate")?.field("kind")?.text()?.to_owned(),
            document,
        })
    }

    pub(crate) fn root(&self) -> Node<'_> {
        Node::root(&self.document)
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.schema.classes
    }

    /// The hyperplanes of a linear predictor, as many as given, or nothing for a committee of voting hyperplanes.
    pub(crate) fn planes(&self, count: usize) -> Reading<Option<Vec<Node<'_>>>> {
        let predictor = self.root().field("predictor")?;
        let (kind, list) = match predictor.field("kind")?.text()? {
            "linear" => (true, "discriminants"),
            "committee" => (false, "committees"),
            _ => return Err(predictor.refuse("a hyperplane for each side is expected, or a committee")),
        };
        let items = predictor.field(list)?.items()?;
        match items.len() == count {
            true => Ok(Some(items).filter(|_| kind)),
            false => Err(predictor.refuse("the hyperplanes or committees do not fit the classes")),
        }
    }

    /// The settings of the density, and the estimate of a predictor with densities.
    pub(crate) fn densities(&self) -> Reading<(Node<'_>, Node<'_>)> {
        let (settings, predictor) = (self.root().field("settings")?, self.root().field("predictor")?);
        let (family, kind) = (
            settings.field("family")?.text()?,
            predictor.field("kind")?.text()?,
        );
        let same = settings.optional("penalties")? == predictor.optional("penalties")?;
        let fits = family == "densities" && kind == "bayes" && same && !self.classes().is_empty();
        let refusal = "the model has no densities, or other penalties than its settings";
        predictor.require(fits, refusal)?;
        Ok((settings.field("density")?, predictor.field("estimate")?))
    }

    /// The weights and the intercept of each hyperplane of a linear predictor, with one weight for each column.
    pub(crate) fn hyperplanes(&self) -> Reading<Vec<(Vec<f64>, f64)>> {
        let predictor = self.root().field("predictor")?;
        let linear = predictor.field("kind")?.text()? == "linear";
        predictor.require(linear, "the claim is about hyperplanes, and the model has none")?;
        let read = |plane: &Node<'_>| {
            let weights = plane.field("weights")?.numbers()?;
            let fits = weights.len() == self.schema.features;
            plane.require(fits, "there is not one weight for each feature")?;
            Ok((weights, plane.field("intercept")?.number()?))
        };
        let planes = predictor.field("discriminants")?.items()?;
        planes.iter().map(read).collect()
    }
}
