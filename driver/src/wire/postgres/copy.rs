//! Bulk loads by COPY in its binary format: the client formats no numbers, and the server parses
//! none.

use bytes::{BufMut, BytesMut};
use postgres_protocol::message::frontend;

use super::super::{BulkLoad, Failure, Value};
use super::PostgresConnection;

/// The signature, flags and header extension of the format.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const TRAILER: i16 = -1;
const CHUNK: usize = 256 * 1024;

pub struct CopyIn<'a> {
    connection: &'a mut PostgresConnection,
    rows: BytesMut,
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
        let sql = format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)");
        connection.send_text(&sql)?;
        await_copy_mode(connection)?;
        let mut rows = BytesMut::with_capacity(CHUNK + CHUNK / 8);
        rows.put_slice(HEADER);
        Ok(Self {
            connection,
            rows,
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
        self.rows.put_i16(values.len() as i16);
        for value in values {
            let start = self.rows.len() + size_of::<u32>();
            self.rows.put_u32(0);
            super::encode_value(*value, text, &mut self.rows);
            let length = (self.rows.len() - start) as u32;
            self.rows[start - size_of::<u32>()..start].copy_from_slice(&length.to_be_bytes());
        }
        if self.rows.len() >= CHUNK {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64, Failure> {
        self.rows.put_i16(TRAILER);
        self.flush()?;
        self.message.clear();
        frontend::copy_done(&mut self.message);
        self.connection.socket.send(&self.message)?;
        self.connection.converse(|_, _| Ok(()))?;
        Ok(self.sent)
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
