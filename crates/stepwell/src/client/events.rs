//! Server-sent events, read as they arrive.

use reqwest::Response;

use crate::exit::Exit;
use crate::failure::Failure;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// where to go on after a break
    pub(crate) id: String,
    /// what kind it is
    pub(crate) name: String,
    /// what it says
    pub(crate) data: String,
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    response: Response,
    reader: Reader,
}

/// Bytes in, events out.
#[derive(Debug, Default)]
struct Reader {
    bytes: Vec<u8>,
    event: Event,
}

impl Events {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, reader: Reader::default() }
    }

    /// The next event; `None` when the server has ended the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.reader.next() {
                return Ok(Some(event));
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.reader.bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok(None),
                Err(error) => {
                    let what = format!("the stream of events broke off: {error}");
                    return Err(Failure::new(Exit::Unavailable, "stream_broken", what));
                }
            }
        }
    }
}

impl Reader {
    /// The next event that is complete.
    fn next(&mut self) -> Option<Event> {
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                // A blank line after a comment ends no event.
                if !event.data.is_empty() || !event.name.is_empty() {
                    return Some(event);
                }
                continue;
            }
            self.field(line);
        }
        None
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.event.id = value.to_owned(),
            "event" => self.event.name = value.to_owned(),
            "data" if self.event.data.is_empty() => self.event.data = value.to_owned(),
            "data" => self.event.data.extend(["\n", value]),
            // Comments begin with a colon; fields that are not known are to be ignored.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_whole_however_they_were_cut() {
        let text = ": hello\n\nid: 3:0\nevent: entry\ndata: {\"a\":\ndata: 1}\n\ndata: é\r\n\r\n";
        let expected = [
            Event {
                id: "3:0".to_owned(),
                name: "entry".to_owned(),
                data: "{\"a\":\n1}".to_owned(),
            },
            Event { data: "é".to_owned(), ..Event::default() },
        ];
        for size in 1..text.len() {
            let mut reader = Reader::default();
            let mut events = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                reader.bytes.extend_from_slice(chunk);
                events.extend(std::iter::from_fn(|| reader.next()));
            }
            assert_eq!(events, expected, "in chunks of {size}");
        }
    }
}
