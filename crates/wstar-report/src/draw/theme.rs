//! Colour roles, and their colours in each theme. Classes have the palette of Okabe and Ito (2008), as in the lab.

use plotters::style::RGBColor;

/// The role of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The background.
    Paper,
    /// Text.
    Ink,
    /// Secondary text and lines.
    Quiet,
    /// Grid lines.
    Rule,
    /// The data, where there are no classes.
    Accent,
    /// The colour of a class.
    Class(usize),
}

/// Number of class colours. Cap: the colours of further classes repeat.
pub(crate) const CLASS_INKS: usize = 8;

/// Names of the style sheet's variables, in the order of the colours in `LIGHT` and `DARK`.
const NAMES: [&str; 5 + CLASS_INKS] = [
    "paper", "ink", "quiet", "rule", "accent", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7",
];

/// Colours of the light theme.
const LIGHT: [&str; 5 + CLASS_INKS] = [
    "#ffffff", "#1b1f24", "#57606a", "#d0d7de", "#0b5cad", "#0072b2", "#d55e00", "#009e73", "#cc79a7",
    "#e69f00", "#56b4e9", "#b8ab00", "#777777",
];

/// Colours of the dark theme.
const DARK: [&str; 5 + CLASS_INKS] = [
    "#14181d", "#e8ebef", "#a5afba", "#333c46", "#7cb7f5", "#56b4e9", "#e69f00", "#009e73", "#cc79a7",
    "#f0e442", "#d55e00", "#0072b2", "#999999",
];

/// A colour theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on white.
    Light,
    /// Light text on near black.
    Dark,
}

impl Ink {
    fn index(self) -> usize {
        match self {
            Ink::Paper => 0,
            Ink::Ink => 1,
            Ink::Quiet => 2,
            Ink::Rule => 3,
            Ink::Accent => 4,
            Ink::Class(class) => 5 + class % CLASS_INKS,
        }
    }

    /// The placeholder colour of the role until a theme is chosen.
    pub(crate) fn colour(self) -> RGBColor {
        RGBColor(1, 247, 32 + self.index() as u8)
    }
}

/// The placeholder colour as plotters writes it in SVG.
fn written(index: usize) -> String {
    format!("\"#01F7{:02X}\"", 32 + index)
}

/// Replaces the placeholder colours by the variables of the style sheet.
pub(crate) fn as_variables(svg: &str) -> String {
    replaced(svg, |index| format!("\"var(--{})\"", NAMES[index]))
}

/// Replaces the placeholder colours by the colours of a theme.
pub(crate) fn in_colours(svg: &str, theme: Theme) -> String {
    let colours = match theme {
        Theme::Light => LIGHT,
        Theme::Dark => DARK,
    };
    replaced(svg, |index| format!("\"{}\"", colours[index]))
}

fn replaced(svg: &str, colour: impl Fn(usize) -> String) -> String {
    (0..NAMES.len()).fold(svg.to_string(), |svg, index| {
        svg.replace(&written(index), &colour(index))
    })
}

/// Declarations of a theme's colour variables for a style sheet.
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

    /// The relative luminance of a colour, as defined by WCAG 2.
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
    fn text_and_marks_have_sufficient_contrast() {
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
