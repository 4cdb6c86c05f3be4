//! MySQL and MariaDB: the client/server protocol of 4.1 and later, with prepared statements in the
//! binary format.
//!
//! Servers offer different capabilities when a client connects; all later requests are the same for
//! all of them, so that contenders of different ages get the same statements.

mod authentication;
mod dialect;
mod explain;
mod handshake;
mod insert;
mod packets;
mod reply;
mod thread;
mod work;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use self::dialect::MysqlDialect;
use self::handshake::Handshake;
use self::packets::{Packet, PacketHeader};
use self::reply::{column_name, text_values, Endings, Part, Preparation, Replies};
use super::calendar::DateTime;
use super::frames::Frames;
use super::interrupt::Interrupt;
use super::socket::Socket;
use super::{
    is_transaction_control, Amounts, BulkLoad, Connection, Failure, Kinds, Reply, Request, Session,
    Table, TextQueries, Traffic, Value, Wire,
};
use crate::protocol::target::Target;

pub const WIRE: Wire = Wire {
    connect: |target| Ok(Box::new(MysqlConnection::connect(target)?)),
    dialect: &MysqlDialect,
    in_process: false,
};

mod command {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const PREPARE: u8 = 0x16;
    pub const EXECUTE: u8 = 0x17;
}

const SOCKET_NAME: &str = "mysql.sock";

/// The types of parameters.
const LONG: u8 = 0x03;
const FLOAT: u8 = 0x04;
const NULL: u8 = 0x06;
const LONG_LONG: u8 = 0x08;
const DATE_TIME: u8 = 0x0c;
const BLOB: u8 = 0xfc;
const VAR_STRING: u8 = 0xfd;

pub struct MysqlConnection {
    socket: Socket,
    frames: Frames<PacketHeader>,
    output: Vec<u8>,
    endings: Endings,
    replies: Replies,
    statements: Vec<Statement>,
    /// The information that counting the work of executions needs.
    look: Option<work::Look>,
}

enum Statement {
    Prepared {
        number: u32,
        source: String,
        /// The types of the last execution; they are sent again only if they change.
        types: Vec<u8>,
    },
    /// A statement that some versions cannot prepare, so it is sent as text to all of them.
    Text(String),
}

impl MysqlConnection {
    pub fn connect(target: &Target) -> Result<Self, Failure> {
        let (connection, number) = Self::reach(target)?;
        let target = target.for_cancelling();
        let interrupt = connection.socket.interrupt();
        interrupt.cancel_by(move || kill(&target, number));
        Ok(connection)
    }

    /// Return a connection without an interrupt, and the server's number for it.
    fn reach(target: &Target) -> Result<(Self, u32), Failure> {
        let socket = Socket::connect(target, SOCKET_NAME)?;
        let mut frames = Frames::new();
        let handshake = Handshake {
            socket,
            frames: &mut frames,
            target,
        };
        let shaken = handshake.run()?;
        let mut connection = Self::over(shaken.socket, frames, shaken.endings);
        connection.socket.be_patient(target.patience()?)?;
        Ok((connection, shaken.connection))
    }

    fn over(socket: Socket, frames: Frames<PacketHeader>, endings: Endings) -> Self {
        Self {
            socket,
            frames,
            output: Vec::with_capacity(64 * 1024),
            endings,
            replies: Replies::new(endings),
            statements: Vec::new(),
            look: None,
        }
    }

    fn prepare_one(&mut self, statement: &str) -> Result<Statement, Failure> {
        if is_transaction_control(statement) {
            return Ok(Statement::Text(statement.to_owned()));
        }
        let request = encode_text(command::PREPARE, statement, &mut self.output)?;
        self.socket.send(request)?;
        let preparation = self.next_packet(Preparation::read)??;
        for _ in 0..preparation.descriptions(self.endings) {
            self.next_packet(|_| ())?;
        }
        Ok(Statement::Prepared {
            number: preparation.statement,
            source: statement.to_owned(),
            types: Vec::new(),
        })
    }

    /// Wait for a packet, and read it.
    fn next_packet<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Result<T, Failure> {
        Ok(read(self.frames.wait(&mut self.socket)?.body))
    }

    fn send_text(&mut self, sql: &str) -> Result<(), Failure> {
        self.socket
            .send(encode_text(command::QUERY, sql, &mut self.output)?)
    }

    /// Receive a whole reply, and call `each` with its parts.
    fn converse(
        &mut self,
        mut each: impl FnMut(Part<'_>) -> Result<(), Failure>,
    ) -> Result<Reply, Failure> {
        loop {
            let frame = self.frames.wait(&mut self.socket)?;
            match self.replies.take(frame.body)? {
                Part::Last => break,
                part => each(part)?,
            }
        }
        let mut reply = self.replies.finish();
        match reply.error.take() {
            Some(error) => Err(Failure::Server(error)),
            None => Ok(reply),
        }
    }
}

impl TextQueries for MysqlConnection {
    fn query(&mut self, sql: &str) -> Result<Table, Failure> {
        self.send_text(sql)?;
        let mut table = Table::default();
        self.converse(|part| {
            match part {
                Part::Column(packet) => table.columns.push(column_name(packet)?),
                Part::Row(packet) => table.rows.push(text_values(packet, table.columns.len())?),
                Part::Between | Part::Last => {}
            }
            Ok(())
        })?;
        Ok(table)
    }
}

impl Connection for MysqlConnection {
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure> {
        let output = &mut self.output;
        let packet = match request {
            Request::Text(sql) => encode_text(command::QUERY, sql, output)?,
            Request::Prepared {
                statement,
                values,
                text,
                kinds,
            } => match &mut self.statements[statement] {
                Statement::Text(sql) => encode_text(command::QUERY, sql, output)?,
                Statement::Prepared { number, types, .. } => {
                    encode_execution(*number, types, values, kinds, text, output)?
                }
            },
        };
        self.socket.send(packet)
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        self.socket.wait_readable()
    }

    fn receive(&mut self) -> Result<(), Failure> {
        self.frames.fill(&mut self.socket)
    }

    fn reply(&mut self) -> Result<Option<Reply>, Failure> {
        while let Some(frame) = self.frames.next()? {
            if self.replies.take(frame.body)? == Part::Last {
                return Ok(Some(self.replies.finish()));
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

impl Session for MysqlConnection {
    fn server_process(&mut self) -> Result<Option<u32>, Failure> {
        thread::serving(self)
    }

    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        Some(Arc::clone(self.socket.interrupt()))
    }

    fn disconnect(&mut self) -> Result<(), Failure> {
        let packet = Packet::command(&mut self.output, command::QUIT).end(0)?;
        self.socket.send(packet)?;
        self.socket.wait_closed()
    }

    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            let statement = self.prepare_one(statement)?;
            self.statements.push(statement);
        }
        Ok(())
    }

    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure> {
        explain::explain(self, request)
    }

    fn count_work(&mut self, request: Request<'_>) -> Result<Option<Amounts>, Failure> {
        work::count(self, request).map(Some)
    }

    fn rolls_back(&mut self, statements: &[String]) -> Result<bool, Failure> {
        work::rolls_back(self, statements)
    }

    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure> {
        Ok(Box::new(insert::Inserts::start(self, table, columns)?))
    }
}

/// Kill a connection and its statement, over another connection.
fn kill(target: &Target, connection: u32) -> Result<(), Failure> {
    let (mut other, _) = MysqlConnection::reach(target)?;
    other.query(&format!("KILL {connection}")).map(|_| ())
}

/// Write a statement as text, to be prepared or executed.
fn encode_text<'a>(command: u8, sql: &str, output: &'a mut Vec<u8>) -> Result<&'a [u8], Failure> {
    let mut packet = Packet::command(output, command);
    packet.bytes(sql.as_bytes());
    packet.end(0)
}

/// Write an execution; `types` are the types that the server knows, and are updated to the values'.
fn encode_execution<'a>(
    number: u32,
    types: &mut Vec<u8>,
    values: &[Value],
    kinds: Kinds,
    text: &[u8],
    output: &'a mut Vec<u8>,
) -> Result<&'a [u8], Failure> {
    const NO_CURSOR: u8 = 0;
    const ITERATIONS: u32 = 1;
    let mut packet = Packet::command(output, command::EXECUTE);
    packet.bytes(&number.to_le_bytes());
    packet.byte(NO_CURSOR);
    packet.bytes(&ITERATIONS.to_le_bytes());
    if values.is_empty() {
        return packet.end(0);
    }
    // The bitmap of NULLs.
    match kinds {
        Kinds::Usual => packet.zeros(values.len().div_ceil(8)),
        Kinds::Any => values.chunks(8).for_each(|eight| {
            let nulls = (0..).zip(eight);
            packet.byte(nulls.fold(0, |bits, (place, value)| {
                bits | u8::from(*value == Value::Null) << place
            }));
        }),
    }
    let known = types.iter().copied().eq(values.iter().map(type_of));
    packet.byte(u8::from(!known));
    if !known {
        types.clear();
        types.extend(values.iter().map(type_of));
        types.iter().for_each(|&kind| packet.bytes(&[kind, 0]));
    }
    for value in values {
        match *value {
            Value::Int(number) => packet.bytes(&number.to_le_bytes()),
            Value::BigInt(number) => packet.bytes(&number.to_le_bytes()),
            Value::Real(number) => packet.bytes(&number.to_le_bytes()),
            Value::Timestamp(seconds) => packet.counted(&date_time(seconds)),
            Value::Text { start, end }
            | Value::Written { start, end }
            | Value::Bytes { start, end } => packet.counted(Value::slice(text, start, end)),
            Value::Null => {}
        }
    }
    packet.end(0)
}

/// Return the year, month, day, hour, minute and second of a binary DATETIME.
fn date_time(seconds: i64) -> [u8; 7] {
    let time = DateTime::of(seconds);
    let [low, high] = time.year.to_le_bytes();
    [
        low,
        high,
        time.month,
        time.day,
        time.hour,
        time.minute,
        time.second,
    ]
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Int(_) => LONG,
        Value::BigInt(_) => LONG_LONG,
        Value::Real(_) => FLOAT,
        Value::Timestamp(_) => DATE_TIME,
        Value::Text { .. } | Value::Written { .. } => VAR_STRING,
        Value::Bytes { .. } => BLOB,
        Value::Null => NULL,
    }
}

/// Return a connection to a test, as if it had prepared that number of statements.
#[cfg(test)]
pub fn test_connection(statements: u32) -> (MysqlConnection, std::os::unix::net::UnixStream) {
    let (socket, server) = Socket::pair();
    let mut connection = MysqlConnection::over(socket, Frames::new(), Endings::Ok);
    connection.statements = (0..statements)
        .map(|number| Statement::Prepared {
            number,
            source: String::new(),
            types: Vec::new(),
        })
        .collect();
    (connection, server)
}

#[cfg(test)]
mod tests;
