//! The events that are written to stdout, one JSON object per line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::protocol::job::{Arrivals, Second};

#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Progress {
        id: u64,
        /// Rows in all tables.
        done: u64,
        total: u64,
    },
    Loaded {
        id: u64,
        rows: u64,
        bytes: u64,
        seconds: Second,
    },
    Opened {
        id: u64,
        session: String,
        unit: String,
        /// Statements of one transaction of the test in order, on the first table.
        statements: Vec<String>,
        /// The server's processes (or threads) that serve the clients, by client; empty if unknown,
        /// or if no CPUs were named, since only placement needs them.
        server_processes: Vec<u32>,
    },
    Explained {
        id: u64,
        plans: Vec<Plan>,
    },
    Ran(Box<Ran>),
    /// The tables exist and are empty.
    Created {
        id: u64,
    },
    /// A step can begin.
    Prepared {
        id: u64,
        session: String,
        /// Statements of the roles in the order of the step, on the first table.
        statements: Vec<String>,
        /// The server's processes (or threads) that serve the connections, and their CPUs; empty if
        /// unknown, or if no CPUs were named.
        seats: Vec<Seat>,
    },
    Performed(Box<Performed>),
    Closed {
        id: u64,
        session: String,
    },
    Rows {
        id: u64,
        results: Vec<Rows>,
    },
    /// Pages of a file were read bypassing the kernel's cache.
    Fetched {
        id: u64,
        reads: u64,
        /// Time from the first read to the end of the last one.
        seconds: Second,
    },
    Error(ErrorEvent),
}

#[derive(Serialize, JsonSchema)]
pub struct Plan {
    pub statement: String,
    /// Empty if the server shows no plan but counts the work.
    pub plan: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<Executed>,
}

/// Exact amounts of a statement in a few operations of its test, which were rolled back.
#[derive(Clone, Default, Serialize, JsonSchema)]
pub struct Executed {
    /// Executed operations, including those without this statement.
    pub operations: u64,
    /// Executions of the statement in all of them.
    pub executions: u64,
    /// Name -> total of all executions; unmeasured amounts are absent.
    pub amounts: BTreeMap<String, f64>,
}

#[derive(Serialize, JsonSchema)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

/// Measurements of one slice.
#[derive(Serialize, JsonSchema)]
pub struct Ran {
    pub id: u64,
    pub session: String,
    /// Unix time at which the window opened.
    pub started: f64,
    /// Time from there to the last completion.
    pub seconds: Second,
    pub operations: u64,
    pub statements: u64,
    /// Rows returned or changed; for `scan` the rows scanned.
    pub rows: u64,
    /// Rate in `unit`: the sum over the clients, each count / time to the client's last completion.
    pub qps: f64,
    pub unit: String,
    /// Absent, like `bytes_received`, if the DBMS runs in the process of its client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_received: Option<u64>,
    pub latency: Latency,
    /// Operations finished in that second, and the largest response time.
    pub per_second: Vec<(u64, u64)>,
    /// SQLSTATE (`HY000/1205` with the DBMS's own number, if it has no state for the error) or
    /// `wrong-row-count` -> operations that ended with it.
    pub errors: BTreeMap<String, u64>,
    /// The same keys -> the text of the first such error.
    pub error_texts: BTreeMap<String, String>,
    pub retries: u64,
    /// Absent if the DBMS runs in the process of its client, because it would be included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientUse>,
    pub schedule: Option<Schedule>,
    /// Operations of each client since the session was opened.
    pub positions: Vec<u64>,
    /// The background sessions, in the order of the command.
    pub beside: Vec<RanBeside>,
    /// Age of the data that each query saw: its own start less the commit of the first transaction
    /// that it does not see, 0 if it sees all. Absent if no session wrote, or none read the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Latency>,
}

/// Measurements of a background session.
#[derive(Serialize, JsonSchema)]
pub struct RanBeside {
    pub session: String,
    /// Time from the opening of the window to the end of the foreground session.
    pub seconds: Second,
    /// Operations that were completed by then. One operation per client may have finished later,
    /// without the foreground load: it is included in the response times and in the positions.
    pub operations: u64,
    pub statements: u64,
    pub rows: u64,
    /// Operations / time.
    pub qps: f64,
    pub latency: Latency,
    pub errors: BTreeMap<String, u64>,
    /// The same keys -> the text of the first such error.
    pub error_texts: BTreeMap<String, String>,
    pub retries: u64,
    pub schedule: Option<Schedule>,
    pub positions: Vec<u64>,
}

/// A process (or thread) of the server, and its connection.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Seat {
    pub role: &'static str,
    pub process: u32,
    /// The CPU of the connection; null: any.
    pub cpu: Option<u32>,
}

/// Measurements of one step of a benchmark since its beginning, and of the last chunk. All times are
/// the step's own, which excludes the time between chunks.
#[derive(Serialize, JsonSchema)]
pub struct Performed {
    pub id: u64,
    pub session: String,
    /// Whether this is the end of the step.
    pub over: bool,
    /// Time of the last chunk, from its beginning to the last completion of the main roles. If the
    /// chunk ends by time: the time of their statements at the sum of the rates of all connections,
    /// each up to its own last completion.
    pub chunk_seconds: Second,
    /// Unix time at which the window opened.
    pub started: f64,
    /// Time from there to the last completion of the step's main roles: inserts and deletes,
    /// indexes, or queries.
    pub seconds: Second,
    /// Absent, like `bytes_received`, if the DBMS runs in the process of its client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_received: Option<u64>,
    /// Resources that all threads used.
    /// Absent if the DBMS runs in the process of its client, because it would be included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientUse>,
    /// Participating roles: `insert`, `delete`, `query`, `index`, `transaction`.
    pub roles: BTreeMap<String, Role>,
    /// Rows that the driver's own writes added to each table in the step; negative if they removed
    /// more.
    pub growth: Vec<i64>,
}

/// Work of all connections of one role.
#[derive(Serialize, JsonSchema)]
pub struct Role {
    pub connections: u64,
    /// Successful statements: commits, queries, indexes created, transactions ended. A delete that had to
    /// search for the head of its table in a gap counts once, with all its work.
    pub statements: u64,
    /// Rows inserted, deleted, returned, or indexed: a third of a table with each of its indexes.
    pub rows: u64,
    /// Time from the opening of the window to this role's last completion. With a schedule, at least
    /// to the end of the window, so that `rows` / `seconds` is the sustained rate.
    pub seconds: Second,
    pub latency: Latency,
    /// Work of each second of the window.
    pub per_second: Vec<RoleSecond>,
    pub errors: BTreeMap<String, u64>,
    /// The same keys -> the text of the first such error.
    pub error_texts: BTreeMap<String, String>,
    pub retries: u64,
    /// CPU time of its threads.
    pub client_cpu_s: Second,
    pub schedule: Option<WriteSchedule>,
}

/// Work finished in one second: an array of its fields in this order.
#[derive(Serialize, JsonSchema)]
pub struct RoleSecond(
    /// Statements.
    pub u64,
    /// Rows in all tables.
    pub u64,
    /// Largest response time, ns.
    pub u64,
    /// Largest delay relative to the schedule of a statement that began in that second, ns.
    pub u64,
);

/// The schedule of a paced writer, and how it was kept.
#[derive(Serialize, JsonSchema)]
pub struct WriteSchedule {
    /// Rows per second, of all connections of the role.
    pub rate: f64,
    /// Rows that were due by the end of the window.
    pub due: u64,
    /// Rows that were due by then, and neither written nor in progress.
    pub backlog: u64,
    /// Statements that were due while their predecessor was still running.
    pub late_statements: u64,
    pub max_lag_ns: u64,
    pub mean_lag_ns: f64,
}

/// Response times as sparse buckets of fixed bounds (two significant digits).
#[derive(Serialize, JsonSchema)]
pub struct Latency {
    pub values_ns: Vec<u64>,
    pub counts: Vec<u64>,
    pub max_ns: u64,
    pub mean_ns: f64,
}

/// Resources that the driver's own threads used in the window.
#[derive(Serialize, JsonSchema)]
pub struct ClientUse {
    pub cpu_user_s: Second,
    pub cpu_system_s: Second,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub threads: u64,
    /// CPU time of the busiest thread / length of the window.
    pub busiest_thread: f64,
}

/// The schedule of an open loop, and how it was kept.
#[derive(Serialize, JsonSchema)]
pub struct Schedule {
    pub rate: f64,
    pub arrivals: Arrivals,
    /// Operations that were due while their predecessor was still running.
    pub late_operations: u64,
    pub max_lag_ns: u64,
    pub mean_lag_ns: f64,
}

#[derive(Serialize, JsonSchema)]
pub struct ErrorEvent {
    /// Number of the command; absent if the command could not be read.
    pub id: Option<u64>,
    pub kind: ErrorKind,
    pub sqlstate: Option<String>,
    pub message: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    Connection,
    Server,
    /// The server exceeded a time limit: its work is cancelled, and the connection closed.
    Timeout,
    Protocol,
    Usage,
}
