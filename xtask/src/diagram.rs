//! `cargo xtask diagram`: the drawing of the state machine, kept equal to the table it is drawn from.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Outcome, only, tree};

/// The drawing, from the workspace root.
pub(crate) const DRAWING: &str = "docs/state-machine.md";

/// Draws the state machine, or with `--check` compares the drawing with the table of arrows.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    only(&["--check"], arguments)?;
    let drawn = draw()?;
    if arguments.is_empty() {
        fs::write(tree::root().join(DRAWING), drawn)
            .map_err(|error| format!("cannot write {DRAWING}: {error}"))?;
        println!("wrote {DRAWING}");
        return Ok(());
    }
    if tree::read(DRAWING)? != drawn {
        return Err(format!("{DRAWING} is stale; run `cargo xtask diagram` and commit the result"));
    }
    println!("{DRAWING} is current");
    Ok(())
}

fn draw() -> Outcome<String> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--package", "stepwell-core", "--example", "diagram"])
        .current_dir(tree::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("the example `diagram` of stepwell-core failed; its messages are above".into());
    }
    String::from_utf8(output.stdout).map_err(|_| "the drawing is not UTF-8".into())
}
