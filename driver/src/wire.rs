//! What the rest of the driver knows of a DBMS: a connection that prepares statements, sends one
//! request and gives back one reply. The bytes are the business of one module per protocol.

mod body;
mod calendar;
pub mod dialect;
mod frames;
pub mod mysql;
pub mod postgres;
mod socket;

use std::io::Write as _;
use std::iter::Sum;
use std::os::fd::BorrowedFd;

use self::calendar::DateTime;
use self::dialect::Dialect;
use crate::protocol::job::{Dbms, Target};

/// A parameter's value. Text lies in an arena beside the values, so that values are copied and
/// nothing is allocated for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i32),
    BigInt(i64),
    Real(f32),
    /// Whole seconds since 1970, without a time zone.
    Timestamp(i64),
    Text {
        start: u32,
        end: u32,
    },
}

impl Value {
    /// The bytes of a text in its arena.
    pub fn slice(text: &[u8], start: u32, end: u32) -> &[u8] {
        &text[start as usize..end as usize]
    }

    /// Appends the value as SQL. Our texts hold digits and hyphens: nothing to escape.
    pub fn write_literal(self, text: &[u8], sql: &mut Vec<u8>) {
        match self {
            Self::Int(number) => write!(sql, "{number}").expect("memory"),
            Self::BigInt(number) => write!(sql, "{number}").expect("memory"),
            Self::Real(number) => write!(sql, "{number}").expect("memory"),
            Self::Timestamp(seconds) => write!(sql, "'{}'", DateTime::of(seconds)).expect("memory"),
            Self::Text { start, end } => {
                sql.push(b'\'');
                sql.extend_from_slice(Self::slice(text, start, end));
                sql.push(b'\'');
            }
        }
    }
}

/// What a client sends and waits for, one at a time.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Statement by its number in the order of `prepare`.
    Prepared {
        statement: usize,
        values: &'a [Value],
        text: &'a [u8],
    },
    /// A complete statement, parsed and planned by the server each time.
    Text(&'a str),
}

/// What the server said to a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows returned by a query, or changed by a write.
    pub rows: u64,
    pub error: Option<ServerError>,
    /// The connection is inside a transaction, sound or failed.
    pub in_transaction: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Where the DBMS has no state for an error, its own number follows: `HY000/1205`.
    pub sqlstate: String,
    pub message: String,
    /// The transaction lost against another one, and may succeed if it is begun again.
    pub collision: bool,
}

/// What ends a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server cannot be reached, or is gone.
    Connection {
        sqlstate: Option<String>,
        message: String,
    },
    /// The server refused what was asked.
    Server(ServerError),
    /// The server said what it must not say.
    Protocol(String),
    /// The command cannot be carried out as it was written.
    Usage(String),
}

impl Failure {
    pub fn connection(message: impl ToString) -> Self {
        Self::Connection {
            sqlstate: None,
            message: message.to_string(),
        }
    }

    /// The server does not take the connection.
    pub fn refused(error: ServerError) -> Self {
        Self::Connection {
            sqlstate: Some(error.sqlstate),
            message: error.message,
        }
    }

    pub fn protocol(message: impl ToString) -> Self {
        Self::Protocol(message.to_string())
    }

    pub fn usage(message: impl ToString) -> Self {
        Self::Usage(message.to_string())
    }
}

/// Result of a statement as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// Return the last value, the only one of most results that are asked for one.
    pub fn into_value(mut self) -> Result<Option<String>, Failure> {
        let value = self.rows.pop().and_then(|mut row| row.pop());
        value.ok_or_else(|| Failure::protocol("a value is missing"))
    }
}

/// Bytes over a connection since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sent: u64,
    pub received: u64,
}

impl Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(traffic: I) -> Self {
        traffic.fold(Self::default(), |sum, connection| Self {
            sent: sum.sent + connection.sent,
            received: sum.received + connection.received,
        })
    }
}

/// The measured part of a connection: none of it allocates once its buffers have grown.
pub trait Connection: Send {
    /// Sends one request in one system call. Requests are far smaller than the socket's buffer and
    /// one is under way at a time, so this does not wait for the server.
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure>;

    /// Waits until the server has said something.
    fn wait_readable(&mut self) -> Result<(), Failure>;

    /// Takes over what the server has said, by one system call. Waits if it said nothing.
    fn receive(&mut self) -> Result<(), Failure>;

    /// The reply to the request that was sent, once all of it was received.
    fn reply(&mut self) -> Result<Option<Reply>, Failure>;

    /// Runs one statement and gives all of its result as text. Not part of any steady state: this
    /// allocates.
    fn query(&mut self, sql: &str) -> Result<Table, Failure>;

    /// What to watch for readiness.
    fn descriptor(&self) -> BorrowedFd<'_>;

    fn traffic(&self) -> Traffic;
}

/// Everything around the measured part.
pub trait Session: Connection {
    /// The process or thread of the server that serves this connection, where that can be told.
    /// To find it out may take some work of both sides.
    fn server_process(&mut self) -> Result<Option<u32>, Failure>;

    /// Prepares statements written with `?`; their numbers are 0, 1, ... in this order.
    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure>;

    /// The plan, without costs, that the server uses for the prepared statement from now on, if it
    /// has and tells one.
    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure>;

    /// Starts a bulk load into a table.
    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure>;
}

/// A bulk load under way.
pub trait BulkLoad {
    fn row(&mut self, values: &[Value], text: &[u8]) -> Result<(), Failure>;

    /// Ends the load, and waits until the server has taken all of it; bytes sent.
    fn finish(self: Box<Self>) -> Result<u64, Failure>;
}

/// Begins or ends a transaction: a statement without a plan, which some DBMS cannot prepare.
pub fn is_transaction_control(statement: &str) -> bool {
    matches!(statement, "BEGIN" | "COMMIT")
}

/// A protocol that the driver speaks, and the SQL of its servers.
pub struct Wire {
    connect: fn(&Target) -> Result<Box<dyn Session>, Failure>,
    pub dialect: &'static dyn Dialect,
}

/// The one place that lists the wires: a new DBMS is a module and a line here.
fn wire(dbms: Dbms) -> Wire {
    match dbms {
        Dbms::Postgres => postgres::WIRE,
        Dbms::Mysql | Dbms::Mariadb => mysql::WIRE,
    }
}

/// Connect and authenticate.
pub fn connect(target: &Target) -> Result<Box<dyn Session>, Failure> {
    (wire(target.dbms).connect)(target)
}

/// Return the dialect of the target's DBMS.
pub fn dialect(target: &Target) -> &'static dyn Dialect {
    wire(target.dbms).dialect
}
