//! PostgreSQL: protocol version 3, extended query with named statements.
//!
//! Parameters and results are binary, which is the cheapest for both sides: a client that formats
//! numbers would measure itself. Each request has its own Sync, like libpq's, so that every statement
//! is one round trip.

mod backend;
mod copy;
mod dialect;
mod explain;
mod startup;
mod work;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use postgres_protocol::message::frontend;
use postgres_protocol::IsNull;

use self::backend::MessageHeader;
use self::dialect::PostgresDialect;
use self::startup::{cancel, reach, Backend, Startup};
use super::body::Body;
use super::dialect::Dialect as _;
use super::frames::Frames;
use super::interrupt::Interrupt;
use super::socket::Socket;
use super::{
    Amounts, BulkLoad, Connection, Failure, Kinds, Reply, Request, Session, Table, TextQueries,
    Traffic, Value, Wire,
};
use crate::protocol::target::Target;

pub const WIRE: Wire = Wire {
    connect: |target| Ok(Box::new(PostgresConnection::connect(target)?)),
    dialect: &PostgresDialect,
    in_process: false,
};

const TEXT: i16 = 0;
const BINARY: i16 = 1;

pub struct PostgresConnection {
    socket: Socket,
    frames: Frames<MessageHeader>,
    output: BytesMut,
    reply: PartialReply,
    names: Vec<String>,
    /// The formats of the values of an execution.
    formats: Vec<i16>,
    backend: Option<Backend>,
}

/// The current reply, as far as it has arrived.
#[derive(Default)]
struct PartialReply {
    reply: Reply,
    completed: bool,
}

impl PostgresConnection {
    pub fn connect(target: &Target) -> Result<Self, Failure> {
        let mut connection = Self::over(reach(target)?);
        let startup = Startup {
            socket: &mut connection.socket,
            frames: &mut connection.frames,
            target,
        };
        connection.backend = startup.run()?;
        connection.socket.be_patient(target.patience()?)?;
        if let Some(backend) = connection.backend {
            let target = target.for_cancelling();
            let interrupt = connection.socket.interrupt();
            interrupt.cancel_by(move || cancel(&target, backend));
        }
        Ok(connection)
    }

    fn over(socket: Socket) -> Self {
        Self {
            socket,
            frames: Frames::new(),
            output: BytesMut::with_capacity(64 * 1024),
            reply: PartialReply::default(),
            names: Vec::new(),
            formats: Vec::new(),
            backend: None,
        }
    }

    fn send_text(&mut self, sql: &str) -> Result<(), Failure> {
        self.output.clear();
        frontend::query(sql, &mut self.output).map_err(Failure::usage)?;
        self.socket.send(&self.output)
    }

    /// Receive messages until the server is ready again, and call `each` with each of them. If `each`
    /// fails, the connection is in the middle of a reply and unusable.
    fn converse(
        &mut self,
        mut each: impl FnMut(u8, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut outcome = Ok(());
        loop {
            let frame = self.frames.wait(&mut self.socket)?;
            match frame.header.tag {
                b'Z' => return outcome,
                b'E' => outcome = Err(Failure::Server(backend::error_response(frame.body)?)),
                b'N' | b'S' | b'A' => {}
                tag => each(tag, frame.body)?,
            }
        }
    }
}

impl TextQueries for PostgresConnection {
    fn query(&mut self, sql: &str) -> Result<Table, Failure> {
        self.send_text(sql)?;
        let mut table = Table::default();
        self.converse(|tag, body| {
            match tag {
                b'T' => table.columns = backend::column_names(body)?,
                b'D' => table.rows.push(backend::text_values(body)?),
                // After this the server would wait for data.
                b'G' | b'H' | b'W' => {
                    return Err(Failure::usage("COPY is not supported by this command"))
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(table)
    }
}

impl Connection for PostgresConnection {
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure> {
        match request {
            Request::Prepared {
                statement,
                values,
                text,
                kinds,
            } => {
                self.output.clear();
                if kinds == Kinds::Any {
                    self.formats.clear();
                    self.formats.extend(values.iter().map(format_of));
                }
                let formats = match kinds {
                    Kinds::Usual => &[BINARY],
                    Kinds::Any => &self.formats[..],
                };
                let name = &self.names[statement];
                encode_execution(name, values, text, formats, &mut self.output)?;
                self.socket.send(&self.output)
            }
            Request::Text(sql) => self.send_text(sql),
        }
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        self.socket.wait_readable()
    }

    fn receive(&mut self) -> Result<(), Failure> {
        self.frames.fill(&mut self.socket)
    }

    fn reply(&mut self) -> Result<Option<Reply>, Failure> {
        while let Some(frame) = self.frames.next()? {
            if self.reply.take(frame.header.tag, frame.body)? {
                return Ok(Some(std::mem::take(&mut self.reply).reply));
            }
        }
        Ok(None)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn traffic(&self) -> Traffic {
        self.socket.traffic()
    }
}

impl PartialReply {
    /// Take a message; return whether it was the last one of the reply.
    #[inline]
    fn take(&mut self, tag: u8, body: &[u8]) -> Result<bool, Failure> {
        match tag {
            b'D' => self.reply.rows += 1,
            // A query's rows were counted on arrival; the tag has the count of a write.
            b'C' if !body.starts_with(b"SELECT") => {
                self.reply.rows = backend::command_rows(body)?;
                self.completed = true;
            }
            b'C' => self.completed = true,
            b'E' => {
                self.reply.error = Some(backend::error_response(body)?);
                self.completed = true;
            }
            b'Z' if self.completed => {
                self.reply.in_transaction = Body::new(body).byte()? != b'I';
                return Ok(true);
            }
            // Bind complete, row description, notice, parameter status, notification.
            b'2' | b'T' | b'N' | b'S' | b'A' => {}
            _ => {
                return Err(Failure::protocol(format!(
                    "unexpected message {:?}",
                    char::from(tag)
                )))
            }
        }
        Ok(false)
    }
}

impl Session for PostgresConnection {
    fn server_process(&mut self) -> Result<Option<u32>, Failure> {
        Ok(self.backend.map(|backend| backend.process))
    }

    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        Some(Arc::clone(self.socket.interrupt()))
    }

    fn disconnect(&mut self) -> Result<(), Failure> {
        self.output.clear();
        frontend::terminate(&mut self.output);
        self.socket.send(&self.output)?;
        self.socket.wait_closed()
    }

    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure> {
        let mut messages = BytesMut::new();
        for statement in statements {
            let name = format!("s{}", self.names.len());
            let sql = PostgresDialect.with_placeholders(statement);
            frontend::parse(&name, &sql, [], &mut messages).map_err(Failure::usage)?;
            self.names.push(name);
        }
        frontend::sync(&mut messages);
        self.socket.send(&messages)?;
        self.converse(|_, _| Ok(()))
    }

    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure> {
        explain::explain(self, request).map(Some)
    }

    fn count_work(&mut self, request: Request<'_>) -> Result<Option<Amounts>, Failure> {
        work::count(self, request).map(Some)
    }

    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure> {
        Ok(Box::new(copy::CopyIn::start(self, table, columns)?))
    }
}

/// Write Bind, Execute and Sync of a named statement. A single format applies to all values.
fn encode_execution(
    name: &str,
    values: &[Value],
    text: &[u8],
    formats: &[i16],
    output: &mut BytesMut,
) -> Result<(), Failure> {
    frontend::bind(
        "",
        name,
        formats.iter().copied(),
        values,
        |value, output| Ok(encode_value(*value, text, output)),
        [BINARY],
        output,
    )
    .map_err(|_| {
        Failure::usage(format!(
            "a statement has {} parameters, which are too many",
            values.len()
        ))
    })?;
    frontend::execute("", 0, output).map_err(Failure::usage)?;
    frontend::sync(output);
    Ok(())
}

fn format_of(value: &Value) -> i16 {
    match value {
        Value::Written { .. } => TEXT,
        _ => BINARY,
    }
}

/// Write a value in its binary form, without its length.
#[inline(always)] // a call per value would cost more than the value
fn encode_value(value: Value, text: &[u8], output: &mut BytesMut) -> IsNull {
    match value {
        Value::Int(number) => output.put_i32(number),
        Value::BigInt(number) => output.put_i64(number),
        Value::Real(number) => output.put_f32(number),
        Value::Timestamp(seconds) => output.put_i64(microseconds_since_2000(seconds)),
        Value::Text { start, end }
        | Value::Written { start, end }
        | Value::Bytes { start, end } => {
            output.put_slice(Value::slice(text, start, end));
        }
        Value::Null => return IsNull::Yes,
    }
    IsNull::No
}

/// Convert a time to Postgres' format of timestamps.
fn microseconds_since_2000(seconds_since_1970: i64) -> i64 {
    const YEAR_2000: i64 = 946_684_800;
    (seconds_since_1970 - YEAR_2000) * 1_000_000
}

/// Return a connection to a test, as if it had prepared that number of statements.
#[cfg(test)]
pub fn test_connection(statements: usize) -> (PostgresConnection, std::os::unix::net::UnixStream) {
    let (socket, server) = Socket::pair();
    let mut connection = PostgresConnection::over(socket);
    connection.names = (0..statements).map(|number| format!("s{number}")).collect();
    (connection, server)
}

#[cfg(test)]
mod tests;
