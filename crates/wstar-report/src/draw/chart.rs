//! Charts as plain data, and their rendering as SVG with plotters.

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{EmptyElement, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, FontTransform, IntoFont, ShapeStyle, TextStyle};
use wstar::data::error::{Error, Result};

use super::{Ink, Picture, Shape, Size, escaped};

/// Width of a picture in its own units; font sizes and line widths are relative to it.
const WIDTH: f64 = 520.0;

/// Plotters has integer coordinates; `FINE` of them make one unit of the picture, so that curves are smooth.
/// Heuristic: smooth curves for longer SVG files; not measured yet.
const FINE: f64 = 4.0;
/// Plotters divides font sizes by this factor when it writes SVG; multiplying by it first restores the size.
const LETTERS: f64 = 1.24;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// The least and the largest value.
    pub range: (f64, f64),
    /// The tick labels.
    pub ticks: Ticks,
}

/// The tick labels of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Ticks {
    /// Round numbers.
    Numbers,
    /// Powers of ten; the axis holds their decimal logarithms.
    Powers,
    /// Names at given positions.
    Named(Vec<(f64, String)>),
}

/// A graphical element of a chart.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// The colour.
        ink: Ink,
        /// The line width.
        width: f64,
    },
    /// A filled rectangle.
    Bar {
        /// One corner.
        from: (f64, f64),
        /// The opposite corner.
        to: (f64, f64),
        /// The colour.
        ink: Ink,
        /// The opacity, from 0 to 1.
        opacity: f64,
    },
    /// Points drawn as a shape.
    Points {
        /// The points.
        points: Vec<(f64, f64)>,
        /// The colour.
        ink: Ink,
        /// The shape.
        shape: Shape,
        /// The radius of the shape.
        radius: f64,
        /// The opacity, from 0 to 1.
        opacity: f64,
    },
    /// A label centred at a point.
    Text {
        /// The centre of the label.
        at: (f64, f64),
        /// The text.
        text: String,
        /// The colour.
        ink: Ink,
    },
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The name used in identifiers: letters and hyphens.
    pub id: String,
    /// The title.
    pub title: String,
    /// A text alternative that describes what the chart shows.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The graphical elements; later ones are drawn over earlier ones.
    pub marks: Vec<Mark>,
    /// The legend: text, colour and shape of each entry.
    pub legend: Vec<(String, Ink, Shape)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn fine(units: f64) -> i32 {
    (units * FINE).round() as i32
}

/// The approximate width of a text.
fn width_of(text: &str, size: f64) -> f64 {
    0.58 * size * text.chars().count() as f64
}

fn letters(size: f64, ink: Ink, across: HPos, down: VPos) -> TextStyle<'static> {
    ("sans-serif", size * FINE * LETTERS)
        .into_font()
        .color(&ink.colour())
        .pos(Pos::new(across, down))
}

fn line(ink: Ink, width: f64) -> ShapeStyle {
    ink.colour().stroke_width(fine(width).max(1) as u32)
}

fn failed(cause: impl std::fmt::Display) -> Error {
    Error::data(format!("the picture could not be drawn: {cause}"))
}

/// The label of a grid line.
fn tick(value: f64) -> String {
    let size = value.abs();
    if size < 1e-12 {
        "0".into()
    } else if (1e-3..1e5).contains(&size) {
        let text = format!("{value:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{value:.1e}")
    }
}

fn power(value: f64) -> String {
    let whole = value.round();
    match (value - whole).abs() < 1e-9 {
        true => format!("1e{whole}"),
        false => String::new(),
    }
}

impl Axis {
    fn written(&self, value: f64) -> String {
        match &self.ticks {
            Ticks::Numbers => tick(value),
            Ticks::Powers => power(value),
            Ticks::Named(_) => String::new(),
        }
    }

    fn names(&self) -> &[(f64, String)] {
        match &self.ticks {
            Ticks::Named(names) => names,
            _ => &[],
        }
    }
}

impl Chart {
    /// Draws the chart at a size; fonts and line widths scale with the picture.
    pub fn draw(&self, size: Size) -> Result<Picture> {
        let height = (WIDTH * f64::from(size.height) / f64::from(size.width)).round();
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (fine(WIDTH) as u32, fine(height) as u32))
                .into_drawing_area();
            self.draw_on(&area)?;
            area.present().map_err(failed)?;
        }
        let body = svg.split_once('>').map_or("", |(_, body)| body);
        let (id, title, description) = (&self.id, escaped(&self.title), escaped(&self.description));
        let head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-description\">\n<title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-description\">{description}</desc>",
            size.width,
            size.height,
            fine(WIDTH),
            fine(height),
        );
        Ok(Picture {
            id: self.id.clone(),
            svg: head + body,
            size,
        })
    }

    fn draw_on(&self, area: &Area<'_>) -> Result<()> {
        area.fill(&Ink::Paper.colour()).map_err(failed)?;
        let title = letters(15.0, Ink::Ink, HPos::Left, VPos::Center).transform(FontTransform::None);
        let title = TextStyle {
            font: title.font.style(FontStyle::Bold),
            ..title
        };
        area.draw(&Text::new(self.title.clone(), (fine(14.0), fine(20.0)), title))
            .map_err(failed)?;
        let top = 38.0 + self.draw_legend(area)?;
        let longest = self
            .y
            .names()
            .iter()
            .map(|(_, name)| width_of(name, 12.0))
            .fold(0.0, f64::max);
        let left = match self.y.ticks {
            Ticks::Named(_) => longest.min(190.0) + 34.0,
            _ => 66.0,
        };
        let mut chart = ChartBuilder::on(area)
            .margin_top(fine(top))
            .margin_right(fine(20.0))
            .margin_bottom(fine(8.0))
            .margin_left(fine(4.0))
            .x_label_area_size(fine(44.0))
            .y_label_area_size(fine(left))
            .build_cartesian_2d(self.x.range.0..self.x.range.1, self.y.range.0..self.y.range.1)
            .map_err(failed)?;
        self.draw_axes(&mut chart)?;
        self.draw_names(area, &chart, left)?;
        self.marks.iter().try_for_each(|mark| draw_mark(&mut chart, mark))
    }

    /// Draws the legend in as many lines as necessary, and returns its height.
    fn draw_legend(&self, area: &Area<'_>) -> Result<f64> {
        let (mut x, mut y) = (20.0, 44.0);
        for (text, ink, shape) in &self.legend {
            let width = 28.0 + width_of(text, 12.0);
            if x + width > WIDTH && x > 20.0 {
                (x, y) = (20.0, y + 20.0);
            }
            let mark = EmptyElement::at((fine(x), fine(y)))
                + Polygon::new(shape.corners(4.5 * FINE), ink.colour().filled());
            area.draw(&mark).map_err(failed)?;
            let style = letters(12.0, Ink::Ink, HPos::Left, VPos::Center);
            area.draw(&Text::new(text.clone(), (fine(x + 10.0), fine(y)), style))
                .map_err(failed)?;
            x += width;
        }
        Ok(if self.legend.is_empty() { 0.0 } else { y - 26.0 })
    }

    fn draw_axes(&self, chart: &mut Plane<'_, '_>) -> Result<()> {
        let (across, up) = (
            |value: &f64| self.x.written(*value),
            |value: &f64| self.y.written(*value),
        );
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(line(Ink::Rule, 0.75))
            .light_line_style(Ink::Rule.colour().mix(0.0))
            .axis_style(line(Ink::Quiet, 0.75))
            .label_style(letters(12.0, Ink::Quiet, HPos::Left, VPos::Center))
            .axis_desc_style(letters(12.5, Ink::Ink, HPos::Left, VPos::Center))
            .x_labels(7)
            .y_labels(7)
            .x_label_formatter(&across)
            .y_label_formatter(&up)
            .x_desc(self.x.label.clone());
        // Named ticks take the space of the axis label.
        if self.y.names().is_empty() {
            mesh.y_desc(self.y.label.clone());
        } else {
            mesh.disable_y_mesh()
                .set_tick_mark_size(LabelAreaPosition::Left, 0);
        }
        if !self.x.names().is_empty() {
            mesh.disable_x_mesh()
                .set_tick_mark_size(LabelAreaPosition::Bottom, 0);
        }
        mesh.draw().map_err(failed)
    }

    fn draw_names(&self, area: &Area<'_>, chart: &Plane<'_, '_>, room: f64) -> Result<()> {
        let plane = chart.plotting_area();
        for (position, name) in self.y.names() {
            let (x, y) = plane.map_coordinate(&(self.x.range.0, *position));
            let style = letters(12.0, Ink::Ink, HPos::Right, VPos::Center);
            let name = fitted(name, room - 14.0);
            area.draw(&Text::new(name, (x - fine(8.0), y), style))
                .map_err(failed)?;
        }
        let across = self.x.names();
        for (position, name) in across {
            let (x, y) = plane.map_coordinate(&(*position, self.y.range.0));
            let style = letters(12.0, Ink::Ink, HPos::Center, VPos::Center);
            let name = fitted(name, (WIDTH - room) / across.len() as f64);
            area.draw(&Text::new(name, (x, y + fine(14.0)), style))
                .map_err(failed)?;
        }
        Ok(())
    }
}

/// A name truncated to `width`.
fn fitted(name: &str, width: f64) -> String {
    let most = ((width / (0.58 * 12.0)) as usize).max(2);
    match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['…']).collect(),
        false => name.to_string(),
    }
}

fn draw_mark(chart: &mut Plane<'_, '_>, mark: &Mark) -> Result<()> {
    match mark {
        Mark::Line { points, ink, width } => {
            let path = PathElement::new(points.clone(), line(*ink, *width));
            chart.draw_series([path]).map_err(failed)?;
        }
        Mark::Bar {
            from,
            to,
            ink,
            opacity,
        } => {
            let bar = Rectangle::new([*from, *to], ink.colour().mix(*opacity).filled());
            chart.draw_series([bar]).map_err(failed)?;
        }
        Mark::Points {
            points,
            ink,
            shape,
            radius,
            opacity,
        } => {
            let (corners, style) = (shape.corners(radius * FINE), ink.colour().mix(*opacity).filled());
            let marks = points
                .iter()
                .map(|&at| EmptyElement::at(at) + Polygon::new(corners.clone(), style));
            chart.draw_series(marks).map_err(failed)?;
        }
        Mark::Text { at, text, ink } => {
            let style = letters(13.0, *ink, HPos::Center, VPos::Center);
            chart
                .draw_series([Text::new(text.clone(), *at, style)])
                .map_err(failed)?;
        }
    }
    Ok(())
}

/// A polyline without the points that are closer than `PART` of both ranges to the last point kept.
pub(crate) fn thinned(
    points: impl IntoIterator<Item = (f64, f64)>,
    x: (f64, f64),
    y: (f64, f64),
) -> Vec<(f64, f64)> {
    /// Least distance of two points, as a fraction of the range of an axis.
    /// Heuristic: less than a pixel at the default size, for smaller files; not measured yet.
    const PART: f64 = 1.0 / 1500.0;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    for point in points {
        let near = kept.last().is_some_and(|before| {
            (point.0 - before.0).abs() < PART * (x.1 - x.0) && (point.1 - before.1).abs() < PART * (y.1 - y.0)
        });
        if !near {
            kept.push(point);
        }
        last = Some(point);
    }
    match last {
        Some(last) if kept.last() != Some(&last) => kept.push(last),
        _ => {}
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::Theme;
    use super::*;

    fn chart(title: &str) -> Chart {
        let axis = |label: &str, range| Axis {
            label: label.into(),
            range,
            ticks: Ticks::Numbers,
        };
        Chart {
            id: "test".into(),
            title: title.into(),
            description: "a line & two points".into(),
            x: axis("time (s)", (0.0, 1.0)),
            y: Axis {
                ticks: Ticks::Named(vec![(0.5, "<script>".into())]),
                ..axis("", (0.0, 1.0))
            },
            marks: vec![
                Mark::Line {
                    points: vec![(0.0, 0.0), (1.0, 1.0)],
                    ink: Ink::Accent,
                    width: 2.0,
                },
                Mark::Points {
                    points: vec![(0.2, 0.3), (0.6, 0.1)],
                    ink: Ink::Class(1),
                    shape: Shape::Star,
                    radius: 3.0,
                    opacity: 1.0,
                },
            ],
            legend: vec![("b".into(), Ink::Class(1), Shape::Star)],
        }
    }

    #[test]
    fn a_picture_has_its_title_description_and_size() {
        let picture = chart("a < b").draw(Size::parse("800x400").unwrap()).unwrap();
        let svg = picture.to_svg(Theme::Light);
        for part in [
            "<title id=\"test-title\">a &lt; b</title>",
            "a line &amp; two points",
            "role=\"img\"",
            "width=\"800\" height=\"400\" viewBox=\"0 0 2080 1040\"",
            "time (s)",
            "&lt;script&gt;",
            "#d55e00",
            "</svg>",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(!svg.contains("01F7") && !svg.contains("<script"));
        assert!(picture.embedded().contains("var(--c1)"));
        assert!(picture.to_svg(Theme::Dark).contains("#e69f00"));
    }

    #[test]
    fn a_png_has_its_size_text_and_colours() {
        let size = Size::parse("400x300").unwrap();
        let png = chart("title").draw(size).unwrap().to_png(Theme::Light).unwrap();
        let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (400, 300));
        let colours: Vec<(u8, u8, u8)> = pixels
            .pixels()
            .iter()
            .map(|pixel| (pixel.red(), pixel.green(), pixel.blue()))
            .collect();
        let blank = chart("").draw(size).unwrap().to_png(Theme::Light).unwrap();
        assert_ne!(png, blank, "the title is not drawn");
        assert!(colours.contains(&(0xd5, 0x5e, 0x00)) && colours.contains(&(255, 255, 255)));
    }

    #[test]
    fn thinning_keeps_the_ends_and_the_visible_points() {
        let many = (0..=100_000).map(|i| (f64::from(i) / 1e5, 0.5));
        let few = thinned(many, (0.0, 1.0), (0.0, 1.0));
        assert!(few.len() < 1600 && few[0] == (0.0, 0.5) && few.last() == Some(&(1.0, 0.5)));
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
        assert_eq!(thinned(corners, (0.0, 1.0), (0.0, 1.0)), corners);
    }
}
