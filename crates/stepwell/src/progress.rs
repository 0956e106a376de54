//! Bars and spinners on standard error, where somebody looks on.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

const TICK: Duration = Duration::from_millis(120);

/// Lines that are drawn again and again; nothing at all when nobody looks on.
pub(crate) fn lines(is_live: bool) -> MultiProgress {
    let target = if is_live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    MultiProgress::with_draw_target(target)
}

/// A bar that fills up to `length`.
pub(crate) fn bar(lines: &MultiProgress, name: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:>10} {bar:32} {pos:>4}/{len}")
        .expect("the template is a constant")
        .progress_chars("━╸ ");
    lines.add(ProgressBar::new(length).with_style(style).with_prefix(name.to_owned()))
}

/// A bar that says behind it what is happening; the caller places it.
pub(crate) fn described_bar(name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:>16} {bar:28} {pos:>6}/{len}  {msg}")
        .expect("the template is a constant")
        .progress_chars("━╸ ");
    ProgressBar::new(0).with_style(style).with_prefix(name.to_owned())
}

/// A line with something that turns, until it is finished.
pub(crate) fn spinner(lines: &MultiProgress, name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix}  {msg}")
        .expect("the template is a constant");
    let spinner =
        lines.add(ProgressBar::new_spinner().with_style(style).with_prefix(name.to_owned()));
    spinner.enable_steady_tick(TICK);
    spinner
}
