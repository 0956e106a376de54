//! What runs are given and steps return: how large it may be.

use std::fmt;

use serde_json::Value;

use crate::fields::Field;

/// The most that a payload or a result may hold, as compact JSON.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;

/// Reports a field that is no object, or holds too much; `what` is the field for people.
pub(crate) fn check(field: &Field<'_, Value>, what: &str) {
    if field.entries().is_none() {
        return;
    }
    let bytes = size(field.node());
    if bytes > PAYLOAD_BYTES_MAX {
        let problem = field
            .problem("too_large", format!("{what} has {bytes} bytes"))
            .help("256 KiB are allowed; keep large data elsewhere and pass a reference");
        field.report(problem);
    }
}

/// The size of a value as compact JSON, in bytes, counted without writing it anywhere.
pub(crate) fn size(value: &Value) -> usize {
    struct Counter(usize);

    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }

    let mut counter = Counter(0);
    // Counting cannot fail.
    let _ = fmt::Write::write_fmt(&mut counter, format_args!("{value}"));
    counter.0
}
