//! The bodies of the server's messages, as far as the driver reads them.

use super::super::body::{truncated, Body};
use super::super::frames::Header;
use super::super::{Failure, ServerError};

/// The longest message: replies are far smaller, so a longer one means that the stream is misread.
const LONGEST: usize = 256 * 1024 * 1024;

/// The SQLSTATEs of serialization failures and deadlocks.
const COLLISIONS: [&str; 2] = ["40001", "40P01"];

/// A tag, and a length that includes itself.
#[derive(Clone, Copy)]
pub struct MessageHeader {
    pub tag: u8,
    length: u32,
}

impl Header for MessageHeader {
    const SIZE: usize = 5;

    #[inline]
    fn read(bytes: &[u8]) -> Self {
        Self {
            tag: bytes[0],
            length: u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]),
        }
    }

    #[inline]
    fn body_size(self) -> Result<usize, Failure> {
        let length = self.length as usize;
        if !(size_of::<u32>()..=LONGEST).contains(&length) {
            return Err(Failure::protocol(format!(
                "message {:?} of {length} bytes",
                char::from(self.tag)
            )));
        }
        Ok(length - size_of::<u32>())
    }
}

/// Read an ErrorResponse; fatal errors end the connection.
pub fn error_response(body: &[u8]) -> Result<ServerError, Failure> {
    let mut body = Body::new(body);
    let (mut severity, mut sqlstate, mut message) = Default::default();
    loop {
        match body.byte()? {
            0 => break,
            b'S' => severity = body.string()?,
            b'C' => sqlstate = body.string()?,
            b'M' => message = body.string()?,
            _ => drop(body.string()?),
        }
    }
    if matches!(severity.as_str(), "FATAL" | "PANIC") {
        return Err(Failure::Connection {
            sqlstate: Some(sqlstate),
            message,
        });
    }
    let collision = COLLISIONS.contains(&sqlstate.as_str());
    Ok(ServerError {
        sqlstate,
        message,
        collision,
    })
}

/// Read the rows of a CommandComplete, the last word of `SELECT 10`, `INSERT 0 1`, `UPDATE 1`.
/// Commands without rows give 0.
#[inline]
pub fn command_rows(body: &[u8]) -> Result<u64, Failure> {
    let tag = body.strip_suffix(&[0]).ok_or_else(truncated)?;
    let mut rows = 0;
    let mut place = 1;
    for &byte in tag.iter().rev().take_while(|byte| byte.is_ascii_digit()) {
        rows += u64::from(byte - b'0') * place;
        place = place.wrapping_mul(10);
    }
    Ok(rows)
}

/// Read the column names of a RowDescription.
pub fn column_names(body: &[u8]) -> Result<Vec<String>, Failure> {
    let mut body = Body::new(body);
    (0..i16::from_be_bytes(body.array()?))
        .map(|_| {
            let name = body.string()?;
            // Table and column (4 + 2), type and its size and modifier (4 + 2 + 4), format (2).
            body.bytes(18)?;
            Ok(name)
        })
        .collect()
}

/// Read the values of a DataRow in text format.
pub fn text_values(body: &[u8]) -> Result<Vec<Option<String>>, Failure> {
    let mut body = Body::new(body);
    (0..i16::from_be_bytes(body.array()?))
        .map(
            |_| match usize::try_from(i32::from_be_bytes(body.array()?)) {
                Ok(length) => Ok(Some(
                    String::from_utf8_lossy(body.bytes(length)?).into_owned(),
                )),
                // A negative length is NULL.
                Err(_) => Ok(None),
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tags_end_with_the_rows() {
        for (tag, rows) in [
            (&b"SELECT 10\0"[..], 10),
            (b"INSERT 0 1\0", 1),
            (b"UPDATE 1234567\0", 1_234_567),
            (b"BEGIN\0", 0),
        ] {
            assert_eq!(command_rows(tag), Ok(rows));
        }
    }

    #[test]
    fn truncated_bodies_are_protocol_failures() {
        fn refuses<T: std::fmt::Debug>(parse: fn(&[u8]) -> Result<T, Failure>, whole: &[u8]) {
            for length in 0..whole.len() {
                let result = parse(&whole[..length]);
                assert!(matches!(result, Err(Failure::Protocol(_))), "{result:?}");
            }
        }
        refuses(error_response, b"SERROR\0C42P01\0Mno\0\0");
        refuses(command_rows, b"\0");
        refuses(text_values, b"\0\x01\0\0\0\x02ab");
        refuses(column_names, b"\0\x01n\0------------------");
    }
}
