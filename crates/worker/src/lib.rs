//! A worker's side: lease, run, report.
