//! Where a record stands in the text.

use csv::StringRecord;

/// Counts lines as an editor does: those inside a value too, and those that hold nothing.
pub(super) struct Lines<'t> {
    bytes: &'t [u8],
    /// where the last record starts
    at: usize,
    /// the line of that place
    line: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, line: 1 }
    }

    /// Goes on to where a record starts, and answers that place.
    ///
    /// The reader counts the end of the line before a record, and empty lines, as parts of it.
    pub(super) fn start_of(&mut self, record: &StringRecord) -> usize {
        let offset = record.position().map_or(0, csv::Position::byte);
        let mut end = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        while self.bytes.get(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            end += 1;
        }
        let passed = self.at..end.max(self.at);
        self.line += passed.clone().filter(|at| self.ends_line(*at)).count();
        self.at = passed.end;
        self.at
    }

    /// The line of the last record.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    fn ends_line(&self, at: usize) -> bool {
        match self.bytes[at] {
            b'\n' => true,
            b'\r' => self.bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        }
    }
}

/// Whether the last record ends within a value in quotation marks: then the reader has taken the
/// rest of the list for that value, without a word.
pub(super) fn ends_inside_quotes(record: &str) -> bool {
    let mut is_inside = false;
    let mut at_start = true;
    let mut bytes = record.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_inside && bytes.peek() == Some(&b'"') => {
                bytes.next();
            }
            b'"' if is_inside => is_inside = false,
            b'"' if at_start => is_inside = true,
            _ => {}
        }
        at_start = !is_inside && matches!(byte, b',' | b'\r' | b'\n');
    }
    is_inside
}
