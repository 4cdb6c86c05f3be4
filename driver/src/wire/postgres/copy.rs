//! Bulk loads by COPY in text format, which every type has.

use std::io::Write as _;

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::super::calendar::DateTime;
use super::super::{BulkLoad, Failure, Value};
use super::PostgresConnection;

const CHUNK: usize = 256 * 1024;

pub struct CopyIn<'a> {
    connection: &'a mut PostgresConnection,
    rows: Vec<u8>,
    message: BytesMut,
    sent: u64,
}

impl<'a> CopyIn<'a> {
    pub fn start(
        connection: &'a mut PostgresConnection,
        table: &str,
        columns: &[&str],
    ) -> Result<Self, Failure> {
        let columns = columns.join(", ");
        let sql = format!("COPY {table} ({columns}) FROM STDIN");
        connection.send_text(&sql)?;
        await_copy_mode(connection)?;
        Ok(Self {
            connection,
            rows: Vec::with_capacity(CHUNK + CHUNK / 8),
            message: BytesMut::with_capacity(CHUNK + CHUNK / 8),
            sent: 0,
        })
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.message.clear();
        frontend::CopyData::new(&self.rows[..])
            .map_err(Failure::usage)?
            .write(&mut self.message);
        self.connection.socket.send(&self.message)?;
        self.sent += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}

impl BulkLoad for CopyIn<'_> {
    fn row(&mut self, values: &[Value], text: &[u8]) -> Result<(), Failure> {
        for (place, &value) in values.iter().enumerate() {
            if place > 0 {
                self.rows.push(b'\t');
            }
            write_value(value, text, &mut self.rows);
        }
        self.rows.push(b'\n');
        if self.rows.len() >= CHUNK {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64, Failure> {
        self.flush()?;
        self.message.clear();
        frontend::copy_done(&mut self.message);
        self.connection.socket.send(&self.message)?;
        self.connection.converse(|_, _| Ok(()))?;
        Ok(self.sent)
    }
}

fn write_value(value: Value, text: &[u8], row: &mut Vec<u8>) {
    match value {
        Value::Int(number) => write!(row, "{number}").expect("memory"),
        Value::BigInt(number) => write!(row, "{number}").expect("memory"),
        Value::Real(number) => write!(row, "{number}").expect("memory"),
        Value::Timestamp(seconds) => write!(row, "{}", DateTime::of(seconds)).expect("memory"),
        Value::Text { start, end } | Value::Written { start, end } => {
            write_escaped(Value::slice(text, start, end), row);
        }
        Value::Bytes { start, end } => {
            row.extend_from_slice(b"\\\\x");
            for byte in Value::slice(text, start, end) {
                write!(row, "{byte:02x}").expect("memory");
            }
        }
        Value::Null => row.extend_from_slice(b"\\N"),
    }
}

fn write_escaped(text: &[u8], row: &mut Vec<u8>) {
    for &byte in text {
        let escaped = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                row.push(byte);
                continue;
            }
        };
        row.extend_from_slice(&[b'\\', escaped]);
    }
}

/// Wait for the answer to COPY: a request for data, or an error and readiness.
fn await_copy_mode(connection: &mut PostgresConnection) -> Result<(), Failure> {
    let mut refusal = None;
    loop {
        let frame = connection.frames.wait(&mut connection.socket)?;
        match (frame.header.tag, refusal.take()) {
            (b'G', None) => return Ok(()),
            (b'Z', Some(error)) => return Err(Failure::Server(error)),
            (b'E', None) => refusal = Some(super::backend::error_response(frame.body)?),
            (b'N' | b'S', earlier) => refusal = earlier,
            (tag, _) => {
                return Err(Failure::protocol(format!(
                    "message {:?} in answer to COPY",
                    char::from(tag)
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_copy_reads_them() {
        let text = b"a\tb\\c\xffD";
        let mut row = Vec::new();
        let values = [
            Value::Text { start: 0, end: 5 },
            Value::Bytes { start: 5, end: 7 },
            Value::Null,
            Value::Timestamp(60),
        ];
        for value in values {
            write_value(value, text, &mut row);
            row.push(b'|');
        }
        assert_eq!(row, b"a\\tb\\\\c|\\\\xff44|\\N|1970-01-01 00:01:00|");
    }
}
