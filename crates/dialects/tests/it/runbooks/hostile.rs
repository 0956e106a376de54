//! Whatever comes in is read or refused, and what is read can be compiled.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use stepwell_dialects::runbooks::{compile, read};

use super::{HEAD, MAILBOXES, reading};

/// A document is read or refused; one that is read is compiled without a word.
fn feed(bytes: &[u8]) {
    if let Ok(reading) = read(bytes) {
        let compiled = compile(&reading.runbook, 1);
        assert_eq!(compiled.phases.len(), reading.runbook.phases.len());
    }
}

proptest! {
    #[test]
    fn a_document_with_its_lines_shuffled_is_read_or_refused(
        lines in prop::collection::vec(0..MAILBOXES.lines().count(), 1..60),
    ) {
        let all: Vec<&str> = MAILBOXES.lines().collect();
        let text: Vec<&str> = lines.iter().map(|line| all[*line]).collect();
        feed(text.join("\n").as_bytes());
    }

    #[test]
    fn a_document_with_a_piece_cut_out_is_read_or_refused(
        from in 0..MAILBOXES.len(), length in 0..60_usize,
    ) {
        let mut bytes = MAILBOXES.as_bytes().to_vec();
        bytes.drain(from..(from + length).min(MAILBOXES.len()));
        feed(&bytes);
    }

    #[test]
    fn a_document_with_a_piece_written_twice_is_read_or_refused(
        from in 0..MAILBOXES.len(), length in 0..60_usize,
    ) {
        let mut bytes = MAILBOXES.as_bytes().to_vec();
        let piece = bytes[from..(from + length).min(MAILBOXES.len())].to_vec();
        bytes.splice(from..from, piece);
        feed(&bytes);
    }
}

#[test]
fn a_document_of_many_variables_is_judged_quickly() {
    let steps = 400;
    let mut text = format!("{HEAD}phases:\n- name: p\n  offset: T-0\n  steps:\n");
    for step in 0..steps {
        let params: String = (0..8).map(|n| format!("a{n}: '{{{{v{step}x{n}}}}}', ")).collect();
        let last = steps - 1 - step;
        let outputs: String = (0..8).map(|n| format!("v{last}x{n}: x, ")).collect();
        writeln!(text, "  - name: s{step}\n    worker_id: w\n    function: F").unwrap();
        writeln!(text, "    params: {{{params}}}\n    output_params: {{{outputs}}}").unwrap();
    }
    let begun = Instant::now();
    let warnings = reading(&text).warnings.map_or(0, |warnings| warnings.iter().count());
    assert_eq!(warnings, 101, "half of the variables are set too late, and 100 are told");
    // Looking through all steps for each name would take a hundred times as long.
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
}

#[test]
fn a_document_of_many_unknown_variables_is_refused_quickly() {
    let columns: Vec<String> = (0..200).map(|n| format!("column-{n}-{}", "x".repeat(40))).collect();
    let text: String = (0..20_000).map(|n| format!("{{{{a{n}}}}}")).collect();
    let text = format!(
        "name: a\ndata_source: {{type: csv, connection: C, primary_key: Id, batch_time: immediate, columns: [Id, {}]}}\n\
         phases: [{{name: p, offset: T-0, steps: [{{name: s, worker_id: w, function: F, params: {{a: '{text}'}}}}]}}]\n",
        columns[1..].join(", ")
    );
    let begun = Instant::now();
    assert_eq!(read(text.as_bytes()).unwrap_err().iter().count(), 101);
    // Looking for what was meant by each of them would take a hundred times as long.
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
}
