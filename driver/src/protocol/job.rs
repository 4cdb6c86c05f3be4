//! The commands that are read from stdin, one JSON object per line.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::described::{DescribedTables, DescribedTest};
use crate::protocol::target::Target;

pub type Second = f64;

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Command {
    Load(Load),
    Open(Open),
    Explain(Explain),
    Run(Run),
    Create(Create),
    Prepare(Prepare),
    Perform(Perform),
    Close(Close),
    Sql(Sql),
    Sample(Sample),
    Fetch(Fetch),
}

impl Command {
    pub fn id(&self) -> u64 {
        match self {
            Self::Load(command) => command.id,
            Self::Open(command) => command.id,
            Self::Explain(command) => command.id,
            Self::Run(command) => command.id,
            Self::Create(command) => command.id,
            Self::Prepare(command) => command.id,
            Self::Perform(command) => command.id,
            Self::Close(command) => command.id,
            Self::Sql(command) => command.id,
            Self::Sample(command) => command.id,
            Self::Fetch(command) => command.id,
        }
    }
}

/// Drops and creates the tables, fills them, and creates their secondary indexes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub id: u64,
    pub target: Target,
    /// The benchmark of the tables.
    #[serde(default = "sbtest")]
    pub benchmark: String,
    pub tables: u32,
    pub rows: u32,
    pub seed: u64,
    /// Maximum concurrent connections.
    pub parallel: u32,
    /// The tables, if the benchmark is described by commands.
    #[serde(default)]
    pub described: Option<DescribedTables>,
}

impl Load {
    /// Return the number of rows of all tables.
    pub fn all_rows(&self) -> u64 {
        match &self.described {
            Some(described) => described.tables.iter().map(|table| table.rows).sum(),
            None => u64::from(self.tables) * u64::from(self.rows),
        }
    }
}

fn sbtest() -> String {
    "sbtest".to_owned()
}

fn insert() -> String {
    "insert".to_owned()
}

/// Opens a session: the connections and prepared statements of a test.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    pub id: u64,
    pub session: String,
    pub target: Target,
    /// The benchmark of the test.
    #[serde(default = "sbtest")]
    pub benchmark: String,
    pub test: String,
    pub clients: u32,
    pub tables: u32,
    pub rows: u32,
    pub seed: u64,
    /// Index of the first operation in the sequence: a session that continues after others must not
    /// insert or delete the same rows again.
    #[serde(default)]
    pub first: u64,
    /// The CPU of each client's thread; absent: any.
    #[serde(default)]
    pub cpus: Option<Vec<u32>>,
    /// The test, if the benchmark is described by commands.
    #[serde(default)]
    pub described: Option<DescribedTest>,
}

/// Asks for the plans of a session's statements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    pub id: u64,
    pub session: String,
    /// Maximum number of operations to execute, and roll back, to count their work.
    #[serde(default)]
    pub operations: u64,
}

/// Runs one slice of a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub id: u64,
    pub session: String,
    pub stop: Stop,
    /// The position in its sequence at which each client begins; absent: it continues.
    #[serde(default)]
    pub begin: Option<Vec<u64>>,
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Background sessions, from the opening of the window to the end of this session.
    #[serde(default)]
    pub beside: Vec<Beside>,
    /// The time limit after the time of `stop` for running operations to finish; for all operations
    /// if `stop` has no time. Absent: no limit.
    #[serde(default)]
    pub patience: Option<Second>,
}

/// A background session: no operation begins after the foreground session has stopped.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    pub session: String,
    /// The position in its sequence at which each client begins; absent: it continues.
    #[serde(default)]
    pub begin: Option<Vec<u64>>,
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The number of operations since the session was opened after which each client stops.
    #[serde(default)]
    pub positions: Option<Vec<u64>>,
}

/// The end of a slice, whichever comes first; at least one is required.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The time after which no operation begins.
    #[serde(default)]
    pub seconds: Option<Second>,
    /// The number of operations of each client since the session was opened.
    #[serde(default)]
    pub positions: Option<Vec<u64>>,
}

/// An open loop: operations begin by a schedule, whether or not earlier ones have finished.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Operations per second of all clients together.
    pub per_second: f64,
    pub arrivals: Arrivals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    Poisson,
    Uniform,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Close {
    pub id: u64,
    pub session: String,
}

/// Runs statements outside of measurements, each in its own transaction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    pub id: u64,
    pub target: Target,
    pub statements: Vec<String>,
    /// Maximum concurrent connections.
    pub parallel: u32,
}

/// Executes one statement repeatedly, over its own connection.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub id: u64,
    pub target: Target,
    pub statement: String,
    /// Time between the beginnings of two executions.
    pub every: Second,
    /// Time after which no execution begins.
    pub seconds: Second,
}

/// Reads pages of a file at random, bypassing the kernel's cache, one per thread at a time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    pub id: u64,
    pub file: String,
    pub page_bytes: u32,
    pub threads: u32,
    /// Time after which no read begins.
    pub seconds: Second,
    /// Seed of the random offsets.
    pub seed: u64,
}

/// Drops and creates the tables of a benchmark of long steps, empty and without secondary indexes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    pub id: u64,
    pub target: Target,
    /// The benchmark of the tables.
    #[serde(default = "insert")]
    pub benchmark: String,
    pub tables: u32,
    #[serde(default)]
    pub partitions: Option<Partitions>,
}

/// Partitions of each table, by ranges of the primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    pub count: u32,
    /// Keys of one partition; the last one takes all larger keys.
    pub rows_each: u64,
}

/// Opens a session for one step of a benchmark: connects, prepares, and finds the first and the last
/// row of each table.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    pub id: u64,
    pub session: String,
    pub target: Target,
    /// The benchmark of the step.
    #[serde(default = "insert")]
    pub benchmark: String,
    pub clients: u32,
    /// Number of tables: one per client, or a single shared one.
    pub tables: u32,
    pub seed: u64,
    /// Rows that were ever inserted into each table, so that the next ones are different.
    pub inserted: Vec<u64>,
    pub statements: Statements,
    pub work: Work,
    /// Seconds for which each of a series of transactions that has read something is held open
    /// during the work.
    #[serde(default)]
    pub long_transaction: Option<Second>,
    /// CPUs for the threads of the clients' connections: the queries of client c, or its inserts if
    /// there are no queries, run on CPU c, concurrent writes on the next one. Absent: any.
    #[serde(default)]
    pub cpus: Option<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statements {
    Prepared,
    /// Complete statements that the server parses and plans each time.
    Text,
}

/// Work of the clients in a step.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Work {
    /// Each client inserts rows in the order of their keys (l.i0).
    Load { rows: u64, rows_per_commit: u32 },
    /// Each client creates the secondary indexes of its table, one after the other (l.x).
    Index,
    /// Each client inserts rows over one connection and deletes as many from the head of the table
    /// over another (l.i1, l.i2).
    Replace { rows: u64, rows_per_commit: u32 },
    /// Each client queries as fast as possible over one connection, and inserts and deletes at a rate
    /// over two others (qr, qp).
    Query {
        query: Query,
        seconds: Second,
        /// Rows that each client inserts per second, and as many that it deletes; 0: no writes.
        writes_per_second: f64,
        rows_per_commit: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Query {
    /// Ten rows in the order of a covering secondary index, one of three, chosen at random.
    Range,
    /// Ten random primary keys.
    Point,
}

/// Continues the step of a session to its end, or to the end of a chunk.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Perform {
    pub id: u64,
    pub session: String,
    /// End of the chunk; absent: end of the step.
    #[serde(default)]
    pub until: Option<Until>,
    /// The longest time without progress; absent: no limit.
    #[serde(default)]
    pub patience: Option<Second>,
}

/// The end of a chunk of a step. The step's own time does not advance between chunks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// The step's own time since its beginning after which no operation begins.
    Seconds(Second),
    /// Each client's number of commits, created indexes or queries since the beginning of the step.
    /// Only for work without concurrent writes at a rate.
    Operations(u64),
}
