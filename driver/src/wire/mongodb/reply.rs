//! Replies. The measured part reads the outcome and counts the documents.

use super::super::body::{truncated, Body};
use super::super::frames::Header;
use super::super::{Failure, Reply, ServerError};
use super::command::header_size;

/// The header of a message: its whole length, two numbers and a code.
#[derive(Clone, Copy)]
pub struct MessageHeader {
    length: u32,
    pub code: u32,
}

impl Header for MessageHeader {
    const SIZE: usize = header_size();

    fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Self {
            length: word(0),
            code: word(12),
        }
    }

    fn body_size(self) -> Result<usize, Failure> {
        (self.length as usize)
            .checked_sub(Self::SIZE)
            .filter(|&size| size <= MOST)
            .ok_or_else(|| Failure::protocol("a message has an impossible length"))
    }
}

/// Servers send less than 48 MB at once.
const MOST: usize = 64 << 20;
const MESSAGE: u32 = 2013;
const WRITE_CONFLICT: i32 = 112;
const FLAGS_AND_KIND: usize = 5;

/// Return the document of a message.
pub fn document(header: MessageHeader, body: &[u8]) -> Result<&[u8], Failure> {
    match body.get(4) {
        Some(0) if header.code == MESSAGE => Ok(&body[FLAGS_AND_KIND..]),
        _ => Err(Failure::protocol(
            "the server sent an unsupported kind of message",
        )),
    }
}

/// Read the outcome of a command, and count the documents of its reply.
pub fn read(document: &[u8]) -> Result<Reply, Failure> {
    let mut outcome = Outcome::default();
    for_each(document, |key, value| {
        match key {
            b"ok" => outcome.ok = value.number() == Some(1.0),
            b"n" => outcome.rows = value.number().map(|number| number as u64),
            b"code" => outcome.code = value.number().map(|number| number as i32),
            b"errmsg" => outcome.message = value.text(),
            b"values" => outcome.rows = Some(count(value.bytes)?),
            b"cursor" => for_each(value.bytes, |key, value| {
                match key {
                    b"firstBatch" => outcome.rows = Some(count(value.bytes)?),
                    b"id" if value.number() != Some(0.0) => return Err(unread()),
                    _ => {}
                }
                Ok(())
            })?,
            b"writeErrors" => for_each(value.bytes, |_, error| {
                outcome.refused = true;
                for_each(error.bytes, |key, value| {
                    match key {
                        b"code" => outcome.code = value.number().map(|number| number as i32),
                        b"errmsg" => outcome.message = value.text(),
                        _ => {}
                    }
                    Ok(())
                })
            })?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(outcome.reply())
}

/// A command asks for as many documents as its test reads; more would be left on the server.
fn unread() -> Failure {
    Failure::protocol("the server returned only some of the documents")
}

#[derive(Default)]
struct Outcome {
    ok: bool,
    /// Whether the server rejected a write of an otherwise successful command.
    refused: bool,
    rows: Option<u64>,
    code: Option<i32>,
    message: Option<String>,
}

impl Outcome {
    /// A command that neither returns nor changes documents counts as one answer.
    fn reply(self) -> Reply {
        if self.ok && !self.refused {
            return Reply {
                rows: self.rows.unwrap_or(1),
                ..Reply::default()
            };
        }
        let code = self.code.unwrap_or_default();
        Reply {
            rows: 0,
            error: Some(ServerError {
                sqlstate: format!("mongodb/{code}"),
                message: self.message.unwrap_or_default(),
                collision: code == WRITE_CONFLICT,
            }),
            in_transaction: false,
        }
    }
}

#[derive(Clone, Copy)]
struct Element<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl Element<'_> {
    fn number(self) -> Option<f64> {
        match self.kind {
            0x01 => Some(f64::from_le_bytes(self.bytes.try_into().ok()?)),
            0x08 => Some(f64::from(self.bytes[0])),
            0x10 => Some(f64::from(i32::from_le_bytes(self.bytes.try_into().ok()?))),
            0x12 => Some(i64::from_le_bytes(self.bytes.try_into().ok()?) as f64),
            _ => None,
        }
    }

    fn text(self) -> Option<String> {
        let text = self.bytes.get(4..self.bytes.len().checked_sub(1)?)?;
        (self.kind == 0x02).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

/// Count the elements of an array.
fn count(array: &[u8]) -> Result<u64, Failure> {
    let mut count = 0;
    for_each(array, |_, _| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// Call `each` with the key and value of each element of a document.
#[inline]
fn for_each<'a>(
    document: &'a [u8],
    mut each: impl FnMut(&'a [u8], Element<'a>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut body = Body::new(document);
    let length = u32::from_le_bytes(body.array()?) as usize;
    if length != document.len() {
        return Err(truncated());
    }
    loop {
        let kind = body.byte()?;
        if kind == 0 {
            return Ok(());
        }
        let key = body.until_zero()?;
        let bytes = body.bytes(size(kind, &body)?)?;
        each(key, Element { kind, bytes })?;
    }
}

/// Return the size of the value that begins here.
#[inline]
fn size(kind: u8, body: &Body<'_>) -> Result<usize, Failure> {
    let length = || {
        let bytes = body.peek().first_chunk().ok_or_else(truncated)?;
        Ok(u32::from_le_bytes(*bytes) as usize)
    };
    match kind {
        0x01 | 0x09 | 0x11 | 0x12 => Ok(8),
        0x02 | 0x0d | 0x0e => Ok(4 + length()?),
        0x03 | 0x04 | 0x0f => length(),
        0x05 => Ok(5 + length()?),
        0x07 => Ok(12),
        0x08 => Ok(1),
        0x06 | 0x0a | 0x7f | 0xff => Ok(0),
        0x10 => Ok(4),
        0x13 => Ok(16),
        _ => Err(Failure::protocol(format!(
            "the server sent a value of the unknown type {kind:#x}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{doc, Document};

    fn reply(document: &Document) -> Reply {
        read(&bson::serialize_to_vec(document).unwrap()).unwrap()
    }

    #[test]
    fn documents_of_reads_are_counted() {
        let batch = vec![
            doc! { "_id": 1, "c": "x" },
            doc! { "_id": 2, "c": "y", "f": 0.5 },
        ];
        let found = doc! { "cursor": { "firstBatch": batch, "id": 0_i64, "ns": "d.t" }, "ok": 1.0 };
        assert_eq!(reply(&found).rows, 2);
        assert_eq!(reply(&doc! { "values": ["a", "b", "c"], "ok": 1 }).rows, 3);
        assert_eq!(reply(&doc! { "ok": 1.0 }).rows, 1);
    }

    #[test]
    fn writes_tell_their_documents_and_errors() {
        let changed = doc! { "n": 3, "nModified": 2, "ok": true };
        assert_eq!(reply(&changed).rows, 3);
        let error = doc! { "index": 0, "code": 11000, "errmsg": "duplicate key" };
        let refused = reply(&doc! { "n": 0, "writeErrors": [error], "ok": 1.0 });
        let error = refused.error.unwrap();
        assert_eq!(error.sqlstate, "mongodb/11000");
        assert_eq!(error.message, "duplicate key");
        let conflict = doc! { "ok": 0.0, "code": 112, "errmsg": "WriteConflict" };
        assert!(reply(&conflict).error.unwrap().collision);
    }

    #[test]
    fn documents_that_stay_on_the_server_are_violations_of_the_protocol() {
        let cursor = doc! { "firstBatch": [{ "_id": 1 }], "id": 7_i64, "ns": "d.t" };
        let part = bson::serialize_to_vec(&doc! { "cursor": cursor, "ok": 1.0 }).unwrap();
        assert_eq!(read(&part), Err(unread()));
    }

    #[test]
    fn cut_documents_are_violations_of_the_protocol() {
        let whole = bson::serialize_to_vec(&doc! { "values": ["a", "b"], "ok": 1.0 }).unwrap();
        for length in 0..whole.len() {
            assert!(matches!(read(&whole[..length]), Err(Failure::Protocol(_))));
        }
    }
}
