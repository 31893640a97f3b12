//! How the messages of the command line name settings and commands.

use wstar::Error;
use wstar::data::setting::{Choice, Command, Setting, Wording};

/// Names settings as options: `--penalty l1|l2`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandLine;

impl Wording for CommandLine {
    fn choice(&self, choice: &Choice) -> String {
        let option = option(choice.setting);
        match choice.values.as_slice() {
            [] => option,
            values => format!("{option} {}", values.join("|")),
        }
    }

    fn together(&self, choices: &[Choice]) -> String {
        let words: Vec<String> = choices.iter().map(|choice| self.choice(choice)).collect();
        words.join(" ")
    }

    fn command(&self, command: Command) -> String {
        match command {
            Command::Separate => "`wstar separate --proof`".into(),
            _ => "`wstar train`".into(),
        }
    }
}

fn option(setting: Setting) -> String {
    format!("--{}", setting.name())
}

/// Formats an error and its causes on one line.
pub(crate) fn worded(error: &anyhow::Error) -> String {
    let words = error.chain().map(|cause| match cause.downcast_ref::<Error>() {
        Some(error) => error.worded(&CommandLine),
        None => cause.to_string(),
    });
    words.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::CommandFactory;

    #[test]
    fn every_setting_is_an_option() {
        let program = Arguments::command();
        for &setting in Setting::ALL {
            let known = |command: &clap::Command| {
                let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
                options.any(|long| long == setting.name())
            };
            assert!(program.get_subcommands().any(known), "{}", setting.name());
            assert!(CommandLine.choice(&setting.to(1)).ends_with(" 1"));
        }
    }

    #[test]
    fn every_command_is_worded() {
        let program = Arguments::command();
        for &command in Command::ALL {
            let words = CommandLine.command(command);
            let name = words.trim_matches('`').split(' ').nth(1).unwrap_or_default();
            assert!(program.find_subcommand(name).is_some(), "{words}");
        }
    }

    #[test]
    fn every_message_names_options_of_the_command_line_only() {
        let program = Arguments::command();
        let options: Vec<&str> = program
            .get_subcommands()
            .flat_map(|command| command.get_arguments().filter_map(clap::Arg::get_long))
            .collect();
        for sentence in wstar::wording::sentences(&CommandLine) {
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
            for (at, _) in sentence.match_indices("--") {
                let name: String = sentence[at + 2..]
                    .chars()
                    .take_while(|&c| c.is_ascii_alphanumeric() || c == '-')
                    .collect();
                assert!(options.contains(&name.as_str()), "{sentence}");
            }
            // `name=value` and `name = value` are not the command line's.
            for foreign in ["=", "“", "sklearn", "None", ",,"] {
                assert!(!sentence.contains(foreign), "{sentence}");
            }
        }
    }

    #[test]
    fn a_chain_of_causes_is_one_line() {
        let inner = Error::conflict(Setting::Loss.to("hinge"), Setting::Method.to("lad"));
        let error = anyhow::Error::from(inner).context("while training");
        assert_eq!(
            worded(&error),
            "while training: --loss hinge does not go with --method lad"
        );
    }
}
