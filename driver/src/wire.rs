//! Wires: the driver's interface to the DBMSs. A connection prepares statements, sends one request
//! and returns one reply; each protocol has a module.

mod body;
pub mod calendar;
pub mod dialect;
mod frames;
pub mod interrupt;
pub mod mongodb;
pub mod mysql;
pub mod postgres;
pub mod reconnecting;
mod socket;
pub mod sqlite;
mod tls;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::iter::Sum;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use self::calendar::DateTime;
use self::dialect::Dialect;
use self::interrupt::Interrupt;
pub use self::socket::CONNECT_TIMEOUT;
use crate::protocol::target::{Names, Target};

/// A parameter's value. Text is stored in a separate arena, so that values can be copied without
/// allocation.
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
    /// A text that the server converts to the target type: a decimal, a date, a vector.
    Written {
        start: u32,
        end: u32,
    },
    Bytes {
        start: u32,
        end: u32,
    },
    Null,
}

impl Value {
    /// Return the bytes of a text in its arena.
    pub fn slice(text: &[u8], start: u32, end: u32) -> &[u8] {
        &text[start as usize..end as usize]
    }

    /// Return a key, a non-negative integer.
    pub fn number(self) -> u64 {
        match self {
            Self::Int(number) => u64::try_from(number).expect("a key"),
            Self::BigInt(number) => u64::try_from(number).expect("a key"),
            other => panic!("{other:?} is not a key"),
        }
    }

    /// Append the value as SQL; `doubled` is the dialect's (`Dialect::doubled`).
    pub fn write_literal(self, text: &[u8], doubled: &[u8], sql: &mut Vec<u8>) {
        match self {
            Self::Int(number) => write!(sql, "{number}").expect("memory"),
            Self::BigInt(number) => write!(sql, "{number}").expect("memory"),
            Self::Real(number) => write!(sql, "{number}").expect("memory"),
            Self::Timestamp(seconds) => write!(sql, "'{}'", DateTime::of(seconds)).expect("memory"),
            Self::Text { start, end } | Self::Written { start, end } => {
                write_quoted(Self::slice(text, start, end), doubled, sql);
            }
            Self::Bytes { start, end } => {
                sql.extend_from_slice(b"x'");
                for byte in Self::slice(text, start, end) {
                    write!(sql, "{byte:02x}").expect("memory");
                }
                sql.push(b'\'');
            }
            Self::Null => sql.extend_from_slice(b"NULL"),
        }
    }
}

fn write_quoted(text: &[u8], doubled: &[u8], sql: &mut Vec<u8>) {
    sql.push(b'\'');
    if text.iter().any(|byte| doubled.contains(byte)) {
        for &byte in text {
            sql.extend(std::iter::repeat_n(
                byte,
                1 + usize::from(doubled.contains(&byte)),
            ));
        }
    } else {
        sql.extend_from_slice(text);
    }
    sql.push(b'\'');
}

/// The kinds of values that an execution may have. Finding the actual ones would mean checking each
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Numbers, times and texts.
    Usual,
    Any,
}

/// A client's request, which gets one reply.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// A statement by its index in `prepare`.
    Prepared {
        statement: usize,
        values: &'a [Value],
        text: &'a [u8],
        kinds: Kinds,
    },
    /// A complete statement, parsed and planned by the server each time.
    Text(&'a str),
}

/// The server's reply to a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows returned by a query, or changed by a write.
    pub rows: u64,
    pub error: Option<ServerError>,
    /// True inside a transaction, including a failed one.
    pub in_transaction: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The SQLSTATE, followed by the DBMS's own number if it has no state for the error:
    /// `HY000/1205`.
    pub sqlstate: String,
    pub message: String,
    /// True if the transaction lost a conflict, and may succeed if it is repeated.
    pub collision: bool,
}

/// Name of a quantity of an execution -> its amount.
pub type Amounts = BTreeMap<&'static str, f64>;

/// The reason why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server cannot be reached, or has closed the connection.
    Connection {
        sqlstate: Option<String>,
        message: String,
    },
    /// The server rejected a request.
    Server(ServerError),
    /// The server did not answer in time.
    Timeout(String),
    /// The server violated the protocol.
    Protocol(String),
    /// The command cannot be executed as written.
    Usage(String),
}

impl Failure {
    pub fn connection(message: impl ToString) -> Self {
        Self::Connection {
            sqlstate: None,
            message: message.to_string(),
        }
    }

    /// Return the failure of a connection that the server rejected.
    pub fn refused(error: ServerError) -> Self {
        Self::Connection {
            sqlstate: Some(error.sqlstate),
            message: error.message,
        }
    }

    pub fn timeout(message: impl ToString) -> Self {
        Self::Timeout(message.to_string())
    }

    pub fn protocol(message: impl ToString) -> Self {
        Self::Protocol(message.to_string())
    }

    pub fn message(&self) -> &str {
        match self {
            Self::Server(error) => &error.message,
            Self::Connection { message, .. }
            | Self::Timeout(message)
            | Self::Protocol(message)
            | Self::Usage(message) => message,
        }
    }

    pub fn usage(message: impl ToString) -> Self {
        Self::Usage(message.to_string())
    }
}

/// The result of a statement as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// Return the only value of a result.
    pub fn into_value(mut self) -> Result<Option<String>, Failure> {
        let value = self.rows.pop().and_then(|mut row| row.pop());
        value.ok_or_else(|| Failure::protocol("the result has no value"))
    }
}

/// The bytes sent and received by a connection since it was opened.
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

/// The statements of a connection outside of measured operations.
pub trait TextQueries {
    /// Run one statement, and return its whole result as text. This allocates, so measured operations
    /// do not call it in their steady state.
    fn query(&mut self, sql: &str) -> Result<Table, Failure>;
}

/// The measured part of a connection: it does not allocate once its buffers have grown.
pub trait Connection: TextQueries + Send {
    /// Send one request in one system call. Requests are far smaller than the socket's buffer, and
    /// only one is pending at a time, so this does not wait for the server.
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure>;

    /// Wait until there are bytes from the server.
    fn wait_readable(&mut self) -> Result<(), Failure>;

    /// Receive the available bytes in one system call; wait for the first one.
    fn receive(&mut self) -> Result<(), Failure>;

    /// Return the reply to the request, if it is complete.
    fn reply(&mut self) -> Result<Option<Reply>, Failure>;

    /// Return the descriptor to watch for readiness; None if the reply is complete when `send`
    /// returns.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    fn traffic(&self) -> Traffic;

    /// Notice that an operation is complete and recorded.
    fn operation_ended(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A connection, including the calls outside of the measured part.
pub trait Session: Connection {
    /// Return the process or thread of the server that serves this connection, if it can be found.
    /// The search may cost both sides some work.
    fn server_process(&mut self) -> Result<Option<u32>, Failure>;

    /// Return a handle that shuts the connection down from another thread; None without a peer.
    fn interrupt(&self) -> Option<Arc<Interrupt>>;

    /// Disconnect, and wait until the server has closed the connection.
    fn disconnect(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Prepare statements written with `?`; their numbers are 0, 1, ... in this order.
    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure>;

    /// Return the plan, without costs, that the server uses for the request from now on, if it
    /// shows one.
    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure>;

    /// Execute the request, and return the server's counts of its work; None if it does not count.
    /// Then the request may not have been executed.
    fn count_work(&mut self, request: Request<'_>) -> Result<Option<Amounts>, Failure>;

    /// Return whether all writes of these statements can be rolled back.
    fn rolls_back(&mut self, _statements: &[String]) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Limit the duration of statements, if the connection's patience with its server does not
    /// already do so.
    fn limit_statements(&mut self, _limit: Duration) {}

    /// Start a bulk load into a table.
    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure>;
}

/// A bulk load in progress.
pub trait BulkLoad {
    fn row(&mut self, values: &[Value], text: &[u8]) -> Result<(), Failure>;

    /// Finish the load, wait until the server has received all of it, and return the bytes sent.
    fn finish(self: Box<Self>) -> Result<u64, Failure>;
}

/// Return whether a statement begins or ends a transaction: not every DBMS can prepare these.
pub fn is_transaction_control(statement: &str) -> bool {
    matches!(statement, "BEGIN" | "COMMIT")
}

/// The text that makes a client reconnect instead of sending a statement.
pub const CONNECT: &str = "CONNECT";

/// Return whether a statement is executed by a plan.
pub fn has_plan(statement: &str) -> bool {
    const VERBS: [&str; 7] = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "REPLACE", "MERGE",
    ];
    let first = statement
        .split_ascii_whitespace()
        .next()
        .unwrap_or_default();
    VERBS.iter().any(|verb| first.eq_ignore_ascii_case(verb))
}

/// A protocol that the driver speaks, and the SQL of its servers.
pub struct Wire {
    connect: fn(&Target) -> Result<Box<dyn Session>, Failure>,
    pub dialect: &'static dyn Dialect,
    /// Whether the DBMS runs in the driver's own process, whose CPU time then includes both.
    pub in_process: bool,
}

/// The wires by DBMS: to add one, write a module and a line here.
const WIRES: [(&str, Wire); 6] = [
    ("postgres", postgres::WIRE),
    ("mysql", mysql::WIRE),
    ("mariadb", mysql::WIRE),
    ("sqlite", sqlite::WIRE),
    ("mongodb", mongodb::WIRE),
    ("ferretdb", mongodb::WIRE),
];

fn wire(dbms: &str) -> Result<&'static Wire, Failure> {
    let known = WIRES.iter().find(|(name, _)| *name == dbms);
    known.map(|(_, wire)| wire).ok_or_else(|| {
        Failure::usage(format!(
            "the driver does not support the protocol of {dbms:?}"
        ))
    })
}

/// Connect and authenticate.
pub fn connect(target: &Target) -> Result<Box<dyn Session>, Failure> {
    (wire(target.protocol())?.connect)(target)
}

/// Return how many of `connections` can work in parallel outside of measurements. A DBMS in this
/// process has one writer at a time, and runs faster in a process without a second thread.
pub fn most_parallel(dbms: &str, connections: usize) -> usize {
    match is_in_process(dbms) {
        true => connections.min(1),
        false => connections,
    }
}

/// Return whether a DBMS runs in the process of its client.
pub fn is_in_process(dbms: &str) -> bool {
    wire(dbms).is_ok_and(|wire| wire.in_process)
}

/// Return the dialect of the target's DBMS.
pub fn dialect(target: &Target) -> Result<&'static dyn Dialect, Failure> {
    let dialect = wire(target.protocol())?.dialect;
    match target.names {
        Names::Long => Ok(dialect),
        Names::Short => dialect.with_short_names().ok_or_else(|| {
            Failure::usage(format!(
                "the rows of {} do not contain column names",
                target.dbms
            ))
        }),
    }
}
