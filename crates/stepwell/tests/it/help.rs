//! The help text of every command, as `docs/cli.md` shows it.

use expect_test::expect_file;

use crate::program::{program, run};

#[test]
fn the_page_on_the_command_line_shows_the_help_text_of_every_command() {
    let mut page = String::from(
        "# The command line\n\n\
         What `stepwell --help` and its sisters say; a test holds this page to it. Data goes to \
         standard output, everything else to standard error, so that every command can stand in a \
         pipe. `--output json` is stable: one object, or one object a line for what goes on.\n\n\
         Settings come from a flag, else the environment, else `stepwell.toml`, else the default; \
         `stepwell config show` tells which. `NO_COLOR` is honored.\n",
    );
    add(&mut page, &[]);
    expect_file!["../../../../docs/cli.md"].assert_eq(&page);
}

fn add(page: &mut String, path: &[&str]) {
    let home = tempfile::tempdir().expect("there is room for a directory");
    let help = run(program(home.path()).args(path).arg("--help")).with_code(0).stdout;
    let title = ["stepwell"].iter().chain(path).copied().collect::<Vec<_>>().join(" ");
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## `{title}`\n\n```text\n{}\n```\n", help.join("\n")));
    let mut commands = help.iter().skip_while(|line| **line != "Commands:").skip(1);
    while let Some(line) = commands.next().filter(|line| !line.is_empty()) {
        // A text that goes on in the next line is indented further than a name is.
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        if let Some(name) = line.split_whitespace().next().filter(|_| is_name) {
            add(page, &[path, &[name]].concat());
        }
    }
}

#[test]
fn a_completion_script_knows_every_command() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(program(home.path()).args(["completions", shell])).with_code(0).stdout;
        assert!(script.contains("dead-letter"), "{shell}");
    }
}
