//! The page's wording of settings and commands: the names of its controls.

use wstar::data::setting::{Choice, Command, Wording};

/// Words settings as controls of the page: `penalty “l2”`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Controls;

impl Wording for Controls {
    fn choice(&self, choice: &Choice) -> String {
        let name = choice.setting.name().replace('-', " ");
        match choice.values.as_slice() {
            [] => name,
            values => format!("{name} “{}”", values.join("” or “")),
        }
    }

    fn together(&self, choices: &[Choice]) -> String {
        let words: Vec<String> = choices.iter().map(|choice| self.choice(choice)).collect();
        words.join(" and ")
    }

    fn command(&self, command: Command) -> String {
        match command {
            Command::Separate => "the button “can a line separate them?”".into(),
            _ => "the button “fit”".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar::data::setting::Setting;

    #[test]
    fn every_setting_and_command_has_words() {
        for &setting in Setting::ALL {
            let words = Controls.choice(&setting.any(["a", "b"]));
            assert!(words.ends_with(" “a” or “b”") && !words.contains('-'), "{words}");
        }
        for &command in Command::ALL {
            assert!(Controls.command(command).contains("button"));
        }
    }

    #[test]
    fn every_message_is_one_line_without_options_or_python() {
        for sentence in wstar::wording::sentences(&Controls) {
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
            for foreign in ["--", "=", "`", "sklearn", "None", ",,"] {
                assert!(!sentence.contains(foreign), "{sentence}");
            }
        }
    }
}
