//! The commands that arrive on stdin, one JSON object a line.

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
    /// The benchmark whose tables they are.
    #[serde(default = "sbtest")]
    pub benchmark: String,
    pub tables: u32,
    pub rows: u32,
    pub seed: u64,
    /// Largest number of connections at once.
    pub parallel: u32,
    /// The tables, if the benchmark is one that commands describe.
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
    /// The benchmark whose test it is.
    #[serde(default = "sbtest")]
    pub benchmark: String,
    pub test: String,
    pub clients: u32,
    pub tables: u32,
    pub rows: u32,
    pub seed: u64,
    /// Index of the operation with which the sequence begins: a session that goes on where another
    /// has inserted or deleted rows must not do the same once more.
    #[serde(default)]
    pub first: u64,
    /// The CPU of each client, on which its thread stays; absent: wherever the scheduler puts the
    /// threads.
    #[serde(default)]
    pub cpus: Option<Vec<u32>>,
    /// The test, if the benchmark is one that commands describe.
    #[serde(default)]
    pub described: Option<DescribedTest>,
}

/// Asks for the plans of a session's statements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    pub id: u64,
    pub session: String,
    /// The most operations that are executed, and rolled back, to count their work.
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
    /// The position in its sequence at which each client begins; absent: where it is.
    #[serde(default)]
    pub begin: Option<Vec<u64>>,
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Sessions that run beside this one, from the opening of its window to its end.
    #[serde(default)]
    pub beside: Vec<Beside>,
    /// The time after that of `stop` in which the operations under way have to end, or in which all
    /// of them do where `stop` has no time; absent: for ever.
    #[serde(default)]
    pub patience: Option<Second>,
}

/// A session that runs beside another one: no operation of it begins once that one has ended.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    pub session: String,
    /// The position in its sequence at which each client begins; absent: where it is.
    #[serde(default)]
    pub begin: Option<Vec<u64>>,
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Each client stops when it has done that many operations since the session was opened.
    #[serde(default)]
    pub positions: Option<Vec<u64>>,
}

/// The end of a slice, whichever of the two comes first; one of them is there.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// No operation begins after this time.
    #[serde(default)]
    pub seconds: Option<Second>,
    /// Each client runs until it has done that many operations since the session was opened.
    #[serde(default)]
    pub positions: Option<Vec<u64>>,
}

/// An open loop: operations begin by a schedule, whether their predecessors are back or not.
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

/// Runs statements outside of any measurement, each in its own transaction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    pub id: u64,
    pub target: Target,
    pub statements: Vec<String>,
    /// Largest number of connections at once.
    pub parallel: u32,
}

/// Executes one statement again and again, over a connection of its own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub id: u64,
    pub target: Target,
    pub statement: String,
    /// Time from the beginning of one execution to that of the next.
    pub every: Second,
    /// Time after which no execution begins.
    pub seconds: Second,
}

/// Reads pages of a file at random, past the kernel's cache, as many at once as there are threads.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    pub id: u64,
    pub file: String,
    pub page_bytes: u32,
    pub threads: u32,
    /// Time after which no read begins.
    pub seconds: Second,
    /// Seed of the random places.
    pub seed: u64,
}

/// Drops and creates the tables of a benchmark of long steps, empty and without secondary indexes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    pub id: u64,
    pub target: Target,
    /// The benchmark whose tables they are.
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
    /// Keys of one partition; the last one takes what comes after.
    pub rows_each: u64,
}

/// Opens a session that carries out one step of a benchmark: connects, prepares, and finds the first
/// and the last row of each table.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    pub id: u64,
    pub session: String,
    pub target: Target,
    /// The benchmark whose step it is.
    #[serde(default = "insert")]
    pub benchmark: String,
    pub clients: u32,
    /// Number of tables: as many as clients, each with its own, or one that all share.
    pub tables: u32,
    pub seed: u64,
    /// Rows that were ever inserted into each table, so that the next ones are other rows.
    pub inserted: Vec<u64>,
    pub statements: Statements,
    pub work: Work,
    /// Seconds for which a transaction that has read something is held open beside the work, again
    /// and again.
    #[serde(default)]
    pub long_transaction: Option<Second>,
    /// CPUs on which the clients' connections have their threads: the queries, or the inserts where
    /// there are none, of client c on the CPU c, its writes beside them on the next one. Absent:
    /// wherever the scheduler puts the threads.
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
    /// Each inserts rows in the order of their keys (l.i0).
    Load { rows: u64, rows_per_commit: u32 },
    /// Each creates the secondary indexes of its table, one after the other (l.x).
    Index,
    /// Each inserts rows by one connection and deletes as many from the head of the table by
    /// another (l.i1, l.i2).
    Replace { rows: u64, rows_per_commit: u32 },
    /// Each queries as fast as possible by one connection, and inserts and deletes at a rate by two
    /// others (qr, qp).
    Query {
        query: Query,
        seconds: Second,
        /// Rows of each client that are inserted, and as many that are deleted; 0: no writes.
        writes_per_second: f64,
        rows_per_commit: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Query {
    /// Ten rows in the order of a secondary index that covers the query; one of three, at random.
    Range,
    /// Ten random primary keys.
    Point,
}

/// Carries out the step of a session from where it is, to its end or to that of a chunk.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Perform {
    pub id: u64,
    pub session: String,
    /// End of the chunk. Absent: that of the step.
    #[serde(default)]
    pub until: Option<Until>,
    /// The longest time without progress; absent: for ever.
    #[serde(default)]
    pub patience: Option<Second>,
}

/// The end of a chunk of a step. The step's own time stands still between two chunks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// The step's own time since its beginning from which no operation begins.
    Seconds(Second),
    /// Each client's number of commits, of indexes created, or of queries, since the beginning of
    /// the step. For work beside which nothing is written at a rate.
    Operations(u64),
}
