//! Flags, made from the table of settings.

use std::collections::BTreeMap;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::table::{Kind, SETTINGS, Scope, Setting};

/// Settings that were given as flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(pub(crate) BTreeMap<&'static str, String>);

/// The flags of commands that run a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServeFlags(pub(crate) Given);

/// The flags of commands that talk to a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientFlags(pub(crate) Given);

/// The flags of commands that sign in to a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoginFlags(pub(crate) Given);

/// All flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllFlags(pub(crate) Given);

/// Flags that stand on the program itself, and so on every command.
#[derive(Clone, Debug, Default)]
pub(crate) struct EveryFlags(pub(crate) Given);

/// The heading over the flags that every command has.
pub(crate) const EVERYWHERE: &str = "Everywhere";

macro_rules! flags_of {
    ($name:ident, $scopes:expr) => {
        impl FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok(Self(given(matches, $scopes)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                self.0 = given(matches, $scopes);
                Ok(())
            }
        }

        impl Args for $name {
            fn augment_args(command: Command) -> Command {
                augment(command, $scopes)
            }

            fn augment_args_for_update(command: Command) -> Command {
                augment(command, $scopes)
            }
        }
    };
}

flags_of!(ServeFlags, &[Scope::Serve]);
flags_of!(ClientFlags, &[Scope::Client]);
flags_of!(LoginFlags, &[Scope::Client, Scope::Login]);
flags_of!(AllFlags, &[Scope::Serve, Scope::Client, Scope::Login]);
flags_of!(EveryFlags, &[Scope::Every]);

fn of(scopes: &[Scope]) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| scopes.contains(&setting.scope))
}

fn augment(command: Command, scopes: &[Scope]) -> Command {
    of(scopes).fold(command, |command, setting| command.arg(argument(setting)))
}

fn argument(setting: &'static Setting) -> Arg {
    let default = match setting.default {
        Some(default) if !default.is_empty() => format!(" [default: {default}]"),
        Some(_) | None => String::new(),
    };
    let alias = setting.alias().map(|alias| format!(", {}", alias.variable)).unwrap_or_default();
    let argument = Arg::new(setting.key)
        .long(setting.flag)
        .help(format!("{} [env: {}{alias}]{default}", setting.help, setting.variable()))
        .value_name(setting.kind.placeholder())
        .visible_aliases(setting.other_flag())
        .global(setting.scope == Scope::Every)
        .help_heading(if setting.scope == Scope::Every { EVERYWHERE } else { "Settings" });
    match setting.kind {
        Kind::Switch => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Kind::Word(words) => {
            argument.value_parser(PossibleValuesParser::new(words)).hide_possible_values(false)
        }
        kind if kind.is_list() => argument.action(ArgAction::Append),
        _ => argument,
    }
}

fn given(matches: &ArgMatches, scopes: &[Scope]) -> Given {
    let value = |setting: &'static Setting| {
        let values: Vec<&str> =
            matches.get_many::<String>(setting.key)?.map(String::as_str).collect();
        Some((setting.key, values.join(",")))
    };
    Given(of(scopes).filter_map(value).collect())
}

impl Given {
    /// These and those.
    pub(crate) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }
}
