//! A server that speaks TDS 8.0 as Microsoft documents it, as far as one question needs: TLS first, then
//! the greeting, the login, and a list of members in the types that Dataverse uses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use stepwell_connectors::source::conformance::{COLUMNS, member};

use super::tls::server_config;

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// The largest packet that a client takes without being asked.
const PACKET: usize = 4_096;

const SQL_BATCH: u8 = 0x01;
const LOGIN: u8 = 0x10;
const PRELOGIN: u8 = 0x12;

/// The answer to the greeting: a version, that everything is encrypted, and that tokens are welcome.
const GREETING: [u8; 24] = [
    0x00, 0, 16, 0, 6, // the version stands at 16
    0x01, 0, 22, 0, 1, // the encryption at 22
    0x06, 0, 23, 0, 1,    // the way to log in at 23
    0xff, // no more options
    16, 0, 0, 0, 0, 0, // the version
    3, // required
    1, // by a token
];

/// Starts a server; answers its port, and the logins that it is sent.
pub(super) fn serve(folder: &Path) -> (u16, mpsc::Receiver<Vec<u8>>) {
    let config = Arc::new(server_config(folder));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (logins, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, logins) = (config.clone(), logins.clone());
            // Ends with its connection, whichever side closes it.
            std::thread::spawn(move || answer(config, stream.ok()?, &logins));
        }
    });
    (port, received)
}

fn answer(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    logins: &mpsc::Sender<Vec<u8>>,
) -> Option<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    loop {
        let (kind, body) = read(&mut stream)?;
        match kind {
            PRELOGIN => write(&mut stream, &GREETING)?,
            LOGIN => {
                // Whoever sends no name sends a token.
                let is_token = !holds(&body, "ada");
                logins.send(body).ok()?;
                write(&mut stream, &logged_in(is_token))?;
            }
            SQL_BATCH => {
                let headers = u32::from_le_bytes(body[..4].try_into().unwrap());
                let units =
                    body[headers as usize..].chunks(2).map(|it| u16::from_le_bytes([it[0], it[1]]));
                let text = String::from_utf16(&units.collect::<Vec<u16>>()).unwrap();
                // One that never answers still listens, so that it sees when it is left.
                if text != "never" {
                    write(&mut stream, &result(&text))?;
                }
            }
            _ => return None,
        }
    }
}

/// Whether a packet holds a text as TDS writes it.
pub(super) fn holds(body: &[u8], text: &str) -> bool {
    let text = wide(text);
    body.windows(text.len()).any(|window| window == text)
}

/// A whole message: its kind and its body.
fn read(stream: &mut Stream) -> Option<(u8, Vec<u8>)> {
    let mut body = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).ok()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])) - header.len();
        let start = body.len();
        body.resize(start + length, 0);
        stream.read_exact(&mut body[start..]).ok()?;
        if header[1] & 1 == 1 {
            return Some((header[0], body));
        }
    }
}

fn write(stream: &mut Stream, body: &[u8]) -> Option<()> {
    let parts = body.chunks(PACKET - 8);
    let last = parts.len() - 1;
    for (index, part) in parts.enumerate() {
        let length = u16::try_from(part.len() + 8).unwrap().to_be_bytes();
        let number = u8::try_from((index + 1) % 256).unwrap();
        let header = [0x04, u8::from(index == last), length[0], length[1], 0, 0, number, 0];
        stream.write_all(&header).ok()?;
        stream.write_all(part).ok()?;
    }
    stream.flush().ok()
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A short text, with its length in characters before it.
fn short(text: &str) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(text.encode_utf16().count()).unwrap()];
    bytes.extend(wide(text));
    bytes
}

fn token(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut token = vec![kind];
    token.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
    token.extend(body);
    token
}

fn done(rows: usize) -> Vec<u8> {
    let mut done = vec![0xfd, 0x10, 0, 0xc1, 0];
    done.extend((rows as u64).to_le_bytes());
    done
}

fn logged_in(is_token: bool) -> Vec<u8> {
    let mut body = vec![1, 0x74, 0, 0, 4];
    body.extend(short("Microsoft SQL Server"));
    body.extend([16, 0, 0, 0]);
    let mut message = token(0xad, &body);
    if is_token {
        message.extend([0xae, 0x02, 0, 0, 0, 0, 0xff]);
    }
    message.extend(done(0));
    message
}

/// What a statement gives: so many members, nothing, two lists, or an error of some number.
fn result(text: &str) -> Vec<u8> {
    let (word, number) = text.split_once(' ').unwrap_or((text, "0"));
    let number: usize = number.parse().unwrap_or(0);
    match word {
        "members" => list(number),
        "nothing" => done(0),
        "twice" => [list(1), list(1)].concat(),
        "error" => failed(
            u32::try_from(number).unwrap(),
            "The login is not the one of s3cret-0f-the-environment.",
        ),
        _ => failed(208, "Invalid object name 'nowhere'."),
    }
}

fn failed(number: u32, message: &str) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([1, 16]);
    body.extend(u16::try_from(message.encode_utf16().count()).unwrap().to_le_bytes());
    body.extend(wide(message));
    body.extend([short("server"), short(""), vec![1, 0, 0, 0]].concat());
    let mut message = token(0xaa, &body);
    let mut end = done(0);
    end[1] = 0x02;
    message.extend(end);
    message
}

const COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];

fn list(count: usize) -> Vec<u8> {
    let text = [&[0xe7, 0x40, 0x1f][..], &COLLATION].concat();
    let types = [
        text.clone(),
        vec![0x26, 4],       // a number of up to four bytes
        vec![0x6c, 5, 9, 2], // a decimal of nine digits, two of them behind the point
        vec![0x68, 1],       // a bit
        text,
        vec![0x2b, 7], // a time with an offset
    ];
    let mut message = vec![0x81, 6, 0];
    for (name, kind) in COLUMNS.iter().zip(&types) {
        message.extend([0, 0, 0, 0, 1, 0]);
        message.extend(kind);
        message.extend(short(name));
    }
    for number in 0..count {
        let member = member(number);
        message.push(0xd1);
        message.extend(long(&member["Id"]));
        message.push(4);
        message.extend(u32::try_from(number).unwrap().to_le_bytes());
        message.extend([5, 1, 25, 0, 0, 0]);
        message.extend([1, u8::from(number % 2 == 1)]);
        message.extend(long(&member["Note"]));
        message.extend(start());
    }
    message.extend(done(count));
    message
}

/// A text of any length, or null.
fn long(value: &Value) -> Vec<u8> {
    let Some(text) = value.as_str() else { return vec![0xff, 0xff] };
    let text = wide(text);
    let mut bytes = u16::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(text);
    bytes
}

/// Eight o'clock of 2026-03-15 in UTC, as somebody an hour further east wrote it.
fn start() -> Vec<u8> {
    let time: u64 = 8 * 3_600 * 10_000_000;
    let day: u32 = 739_689;
    let mut bytes = vec![10];
    bytes.extend(&time.to_le_bytes()[..5]);
    bytes.extend(&day.to_le_bytes()[..3]);
    bytes.extend(60_i16.to_le_bytes());
    bytes
}
