//! Colours by their roles, and what each theme makes of them: Okabe and Ito's (2008) for classes, as in the lab.

use plotters::style::RGBColor;

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// What is drawn on.
    Paper,
    /// Letters.
    Ink,
    /// Letters and lines of less weight.
    Quiet,
    /// The grid.
    Rule,
    /// What is spoken of, where there are no classes.
    Accent,
    /// The colour of a class.
    Class(usize),
}

/// How many classes have a colour of their own.
pub(crate) const CLASS_INKS: usize = 8;

/// The names of the style sheet's variables, in the order of the colours below.
const NAMES: [&str; 5 + CLASS_INKS] = [
    "paper", "ink", "quiet", "rule", "accent", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7",
];

const LIGHT: [&str; 5 + CLASS_INKS] = [
    "#ffffff", "#1b1f24", "#57606a", "#d0d7de", "#0b5cad", "#0072b2", "#d55e00", "#009e73", "#cc79a7",
    "#e69f00", "#56b4e9", "#b8ab00", "#777777",
];

const DARK: [&str; 5 + CLASS_INKS] = [
    "#14181d", "#e8ebef", "#a5afba", "#333c46", "#7cb7f5", "#56b4e9", "#e69f00", "#009e73", "#cc79a7",
    "#f0e442", "#d55e00", "#0072b2", "#999999",
];

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark letters on white.
    Light,
    /// Light letters on near black.
    Dark,
}

impl Ink {
    fn place(self) -> usize {
        match self {
            Ink::Paper => 0,
            Ink::Ink => 1,
            Ink::Quiet => 2,
            Ink::Rule => 3,
            Ink::Accent => 4,
            Ink::Class(class) => 5 + class % CLASS_INKS,
        }
    }

    /// The colour that stands for it until a theme is known.
    pub(crate) fn colour(self) -> RGBColor {
        RGBColor(1, 247, 32 + self.place() as u8)
    }
}

/// The same colour as plotters writes it.
fn written(place: usize) -> String {
    format!("\"#01F7{:02X}\"", 32 + place)
}

/// The drawing with the style sheet's variables as colours.
pub(crate) fn as_variables(svg: &str) -> String {
    replaced(svg, |place| format!("\"var(--{})\"", NAMES[place]))
}

/// The drawing in a theme's colours.
pub(crate) fn in_colours(svg: &str, theme: Theme) -> String {
    let colours = match theme {
        Theme::Light => LIGHT,
        Theme::Dark => DARK,
    };
    replaced(svg, |place| format!("\"{}\"", colours[place]))
}

fn replaced(svg: &str, colour: impl Fn(usize) -> String) -> String {
    (0..NAMES.len()).fold(svg.to_string(), |svg, place| {
        svg.replace(&written(place), &colour(place))
    })
}

/// The variables of a theme, for a style sheet.
pub(crate) fn variables(theme: Theme) -> String {
    let colours = match theme {
        Theme::Light => LIGHT,
        Theme::Dark => DARK,
    };
    let lines: Vec<String> = NAMES
        .iter()
        .zip(colours)
        .map(|(name, colour)| format!("--{name}: {colour};"))
        .collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How bright a colour looks, by WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.03928 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn letters_and_marks_stand_out() {
        for colours in [LIGHT, DARK] {
            let contrast = |a: &str, b: &str| {
                let (a, b) = (luminance(a), luminance(b));
                (a.max(b) + 0.05) / (a.min(b) + 0.05)
            };
            for letters in [1, 2, 4] {
                assert!(contrast(colours[letters], colours[0]) >= 4.5);
            }
            for class in 0..CLASS_INKS {
                assert!(contrast(colours[5 + class], colours[0]) >= 2.0, "{class}");
            }
        }
    }

    #[test]
    fn every_role_is_replaced() {
        let all: String = (0..NAMES.len()).map(written).collect();
        assert!(!as_variables(&all).contains('#'));
        assert!(!in_colours(&all, Theme::Dark).contains("#01F7"));
        assert!(variables(Theme::Light).contains("--c7: #777777;"));
    }
}
