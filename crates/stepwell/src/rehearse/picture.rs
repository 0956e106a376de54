//! The timeline as a picture: SVG by hand, readable on light and on dark ground.
//!
//! Above, every phase is a bar on one axis around T-0. A phase of minutes is a hair on an axis of
//! days, so below every phase has a chart of its own length: how many members were done with it, and
//! when attempts failed.

use std::fmt::Write;

use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::Runbook;

use super::ledger::Job;
use super::script::Verdict;
use super::show::{around_start, length};
use super::summary::{PhaseSummary, Summary, finished};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 24.0;
/// Where the axes begin: what stands left of it are names.
const LEFT: f64 = 230.0;
const RIGHT: f64 = WIDTH - MARGIN;
const HEAD: f64 = 76.0;
const ROW: f64 = 26.0;
const CHART: f64 = 92.0;
const CURVE: f64 = 48.0;
/// A bar that is narrower cannot be seen.
const BAR_MIN: f64 = 3.0;
/// Failures so near to each other are one mark.
const MARK: f64 = 4.0;
const MARK_MAX: f64 = 14.0;
/// Points of a curve; more than that no screen shows.
const POINTS_MAX: usize = 240;
const TICKS_MAX: i64 = 9;

const STYLE: &str = "
  svg { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 12px; --ground: #ffffff;
    --ink: #1f2430; --faint: #6a7182; --rule: #d9dce3; --bar: #2f6fde; --fill: #2f6fde33;
    --bad: #c62f3a; --again: #c98a00; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #14171d; --ink: #e7e9ee; --faint: #9aa2b1; --rule: #333947; --bar: #7aa7ff;
      --fill: #7aa7ff33; --bad: #ff6b74; --again: #e5b33c; }
  }
  .ground { fill: var(--ground); } text { fill: var(--ink); } .faint { fill: var(--faint); }
  text { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; }
  .title { font-size: 17px; font-weight: 600; } .name { font-weight: 600; }
  .rule { stroke: var(--rule); } .start { stroke: var(--ink); stroke-dasharray: 3 3; }
  .bar { fill: var(--bar); } .area { fill: var(--fill); }
  .curve { fill: none; stroke: var(--bar); stroke-width: 1.5; }
  .bad { fill: var(--bad); } .again { fill: var(--again); }
";

/// A picture of a rehearsal.
pub(super) fn picture(
    runbook: &Runbook,
    summary: &Summary,
    jobs: &[Job],
    start: Timestamp,
) -> String {
    let phases = summary.phases.len() as f64;
    let charts_top = HEAD + ROW * phases + 56.0;
    let height = charts_top + CHART * phases + MARGIN;
    let mut svg = String::new();
    let title = format!("Rehearsal of {}", summary.runbook);
    put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
            escaped(&title),
        ),
    );
    text(&mut svg, "title", (MARGIN, 34.0), &title);
    text(&mut svg, "faint", (MARGIN, 54.0), &subtitle(summary));
    overview(&mut svg, summary);
    legend(&mut svg, charts_top);
    for (index, phase) in summary.phases.iter().enumerate() {
        let top = charts_top + CHART * index as f64;
        Chart { runbook, jobs, start, index, phase, top, members: summary.members.total }
            .draw(&mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

fn subtitle(summary: &Summary) -> String {
    let members = &summary.members;
    format!(
        "{}: {} of {} members succeeded, {} failed, {} rolled back · {} attempts, {} retries, {} \
         polls · seed {}",
        summary.status,
        members.succeeded,
        members.total,
        members.failed,
        members.rolled_back,
        summary.effort.attempts,
        summary.effort.retries,
        summary.effort.polls,
        summary.seed,
    )
}

/// A straight way from seconds to places on the picture.
#[derive(Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn new(from_s: i64, to_s: i64) -> Self {
        Self { from: from_s as f64, to: (to_s as f64).max(from_s as f64 + 1.0) }
    }

    fn place(self, seconds: f64) -> f64 {
        let share = (seconds - self.from) / (self.to - self.from);
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// Every phase as a bar on one axis.
fn overview(svg: &mut String, summary: &Summary) {
    let axis = Axis::new(summary.began_s, summary.ended_s);
    let bottom = HEAD + ROW * summary.phases.len() as f64;
    for tick in ticks(summary.began_s, summary.ended_s) {
        let x = axis.place(tick as f64);
        let class = if tick == 0 { "start" } else { "rule" };
        line(svg, class, (x, HEAD), (x, bottom));
        centered(svg, "faint", (x, bottom + 16.0), &around_start(tick));
    }
    for (index, phase) in summary.phases.iter().enumerate() {
        let top = HEAD + ROW * index as f64;
        text(svg, "name", (MARGIN, top + 17.0), &shortened(&phase.name));
        let (Some(began_s), Some(ended_s)) = (phase.began_s, phase.ended_s) else {
            text(svg, "faint", (axis.place(phase.due_s as f64) + 6.0, top + 17.0), phase.status);
            continue;
        };
        let x = axis.place(began_s as f64);
        let width = (axis.place(ended_s as f64) - x).max(BAR_MIN);
        rect(svg, "bar", (x, top + 6.0), (width, 14.0));
        // A label that would leave the picture stands on the other side of its bar.
        let label = format!("{} · {}", phase.offset, length(ended_s - began_s));
        if x + width > RIGHT - 110.0 {
            anchored(svg, "end", "faint", (x - 6.0, top + 17.0), &label);
        } else {
            text(svg, "faint", (x + width + 6.0, top + 17.0), &label);
        }
    }
}

/// What the charts below are made of.
fn legend(svg: &mut String, y: f64) {
    text(svg, "faint", (MARGIN, y), "Members done with each phase");
    for (class, told, x) in [
        ("again", "an attempt failed and was tried again", LEFT),
        ("bad", "failed for good", 490.0),
    ] {
        rect(svg, class, (x, y - 10.0), (MARK, 11.0));
        text(svg, "faint", (x + 10.0, y), told);
    }
}

/// Round moments, T-0 among them, not too many.
fn ticks(from_s: i64, to_s: i64) -> impl Iterator<Item = i64> {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const STEPS: [i64; 12] = [
        MINUTE,
        5 * MINUTE,
        15 * MINUTE,
        HOUR,
        3 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        7 * DAY,
        30 * DAY,
        90 * DAY,
        365 * DAY,
    ];
    let fits = |step: &&i64| (to_s - from_s) / **step < TICKS_MAX;
    let step = *STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
    let first = from_s.div_euclid(step) + i64::from(from_s.rem_euclid(step) != 0);
    (first..=to_s.div_euclid(step)).map(move |number| number * step)
}

/// One phase on an axis of its own length.
struct Chart<'a> {
    runbook: &'a Runbook,
    jobs: &'a [Job],
    start: Timestamp,
    index: usize,
    phase: &'a PhaseSummary,
    top: f64,
    members: i64,
}

impl Chart<'_> {
    fn draw(&self, svg: &mut String) {
        let (phase, floor) = (self.phase, self.top + 20.0 + CURVE);
        text(svg, "name", (MARGIN, self.top + 32.0), &shortened(&phase.name));
        let members = &phase.members;
        let told = format!("{} done, {} failed", members.succeeded, members.failed);
        text(svg, "faint", (MARGIN, self.top + 49.0), &told);
        let retries = if phase.effort.retries == 1 { "retry" } else { "retries" };
        let told = format!("{} {retries}, {} polls", phase.effort.retries, phase.effort.polls);
        text(svg, "faint", (MARGIN, self.top + 66.0), &told);
        line(svg, "rule", (LEFT, floor), (RIGHT, floor));
        let (Some(began_s), Some(ended_s)) = (phase.began_s, phase.ended_s) else {
            text(svg, "faint", (LEFT, floor - 8.0), phase.status);
            return;
        };
        let axis = Axis::new(began_s, ended_s);
        self.curve(svg, axis, floor);
        self.marks(svg, axis, floor, ("again", false));
        self.marks(svg, axis, floor, ("bad", true));
        text(svg, "faint", (LEFT, floor + 14.0), &around_start(began_s));
        let end = format!("{} later", length(ended_s - began_s));
        anchored(svg, "end", "faint", (RIGHT, floor + 14.0), &end);
    }

    /// How many members were done, over time.
    fn curve(&self, svg: &mut String, axis: Axis, floor: f64) {
        let steps = self.runbook.phases[self.index].steps.len();
        let done = finished(self.index, steps, self.jobs);
        let height = |count: usize| floor - CURVE * count as f64 / self.members.max(1) as f64;
        let every = done.len().div_ceil(POINTS_MAX).max(1);
        let mut points = format!("{LEFT:.1},{floor:.1}");
        for (count, at_ms) in (1..).zip(&done) {
            if count % every == 0 || count == done.len() {
                let x = axis.place(self.seconds(*at_ms));
                let (before, now) = (height(count.saturating_sub(every)), height(count));
                put(&mut points, format_args!(" {x:.1},{before:.1} {x:.1},{now:.1}"));
            }
        }
        put(&mut points, format_args!(" {RIGHT:.1},{:.1}", height(done.len())));
        put(
            svg,
            format_args!(
                "<polygon class=\"area\" points=\"{points} {RIGHT:.1},{floor:.1}\"/>\n\
             <polyline class=\"curve\" points=\"{points}\"/>\n"
            ),
        );
    }

    /// Attempts that failed: for good, or to be tried again.
    fn marks(&self, svg: &mut String, axis: Axis, floor: f64, (class, is_final): (&str, bool)) {
        let mut counts = vec![0_u32; ((RIGHT - LEFT) / MARK) as usize + 1];
        for job in self.jobs.iter().filter(|job| job.is_of(self.index)) {
            let retries = job.place.step(self.runbook).retry.max_retries;
            if job.verdict == Verdict::Failed && (job.attempt > retries) == is_final {
                let x = axis.place(self.seconds(job.ended_ms));
                counts[((x - LEFT) / MARK) as usize] += 1;
            }
        }
        for (bin, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let height = (4.0 + 2.0 * f64::from(count).ln_1p()).min(MARK_MAX);
            let x = LEFT + bin as f64 * MARK;
            rect(svg, class, (x, floor - height), (MARK - 1.0, height));
        }
    }

    fn seconds(&self, at_ms: i64) -> f64 {
        (at_ms - self.start.as_millis()) as f64 / 1_000.0
    }
}

fn rect(svg: &mut String, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    put(
        svg,
        format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" rx=\"1.5\"/>\n"
        ),
    );
}

fn line(svg: &mut String, class: &str, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    put(
        svg,
        format_args!(
            "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\"/>\n"
        ),
    );
}

fn text(svg: &mut String, class: &str, at: (f64, f64), text: &str) {
    anchored(svg, "start", class, at, text);
}

fn centered(svg: &mut String, class: &str, at: (f64, f64), text: &str) {
    anchored(svg, "middle", class, at, text);
}

fn anchored(svg: &mut String, anchor: &str, class: &str, (x, y): (f64, f64), text: &str) {
    put(
        svg,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            escaped(text),
        ),
    );
}

fn put(svg: &mut String, text: std::fmt::Arguments<'_>) {
    svg.write_fmt(text).expect("a string takes everything");
}

/// A name that fits in its column.
fn shortened(name: &str) -> String {
    const CHARS_MAX: usize = 28;
    match name.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Names come from documents, and may hold anything.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few_and_count_from_t_0() {
        let six_days: Vec<i64> = ticks(-435_600, 86_700).collect();
        assert_eq!(six_days, [-432_000, -345_600, -259_200, -172_800, -86_400, 0, 86_400]);
        let hour: Vec<i64> = ticks(-3_600, 12).collect();
        assert_eq!(hour, [-3_600, -2_700, -1_800, -900, 0]);
    }

    #[test]
    fn a_name_cannot_break_out_of_its_text() {
        assert_eq!(escaped("<a & \"b\">\u{1b}"), "&lt;a &amp; &quot;b&quot;&gt;\u{fffd}");
    }
}
