//! The commands that arrive on stdin, one JSON object a line.

use schemars::JsonSchema;
use serde::Deserialize;

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
        }
    }
}

/// A server: either `host` (TCP) or `socket`, its Unix socket or the directory of that (for MySQL
/// and MariaDB: of `mysql.sock`). It has no `Debug`, so that the password is never printed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `postgres`, `mysql`, `mariadb`, `sqlite`, `mongodb`, `ferretdb`.
    pub dbms: String,
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub socket: Option<String>,
    pub port: u16,
    pub user: String,
    #[serde(default)]
    pub password: Option<String>,
    pub database: String,
    /// The storage engine in which tables are made, where the DBMS has several.
    #[serde(default)]
    pub engine: Option<String>,
    /// The schema of the tables within the database, where the DBMS has schemas.
    #[serde(default)]
    pub schema: Option<String>,
    /// Whether others started the server, whose processes may be those of another machine.
    #[serde(default)]
    pub foreign: bool,
    /// How a TCP connection is encrypted; absent: not at all.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The length of the names of columns, where every row holds them.
    #[serde(default)]
    pub names: Names,
    /// Whether each write asks to wait for the disk, where that is for the client to say.
    #[serde(default)]
    pub journaled: bool,
    /// The database that has the user, where users are of databases; absent: `admin`.
    #[serde(default)]
    pub auth_source: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    #[default]
    Long,
    Short,
}

/// The encryption of a connection. All files are in PEM.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    pub verify: Verify,
    /// The file of the authorities; absent: those that this machine trusts.
    #[serde(default)]
    pub authorities: Option<String>,
    /// The file of the client's certificate, which needs a key.
    #[serde(default)]
    pub certificate: Option<String>,
    #[serde(default)]
    pub key: Option<String>,
}

/// The part of a server's certificate that is verified.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    Nothing,
    /// The authority that has signed it.
    Authority,
    /// The authority and the name of the host.
    Identity,
}

#[cfg(test)]
impl Target {
    /// Return a target over a Unix socket for tests that do not connect to it.
    pub fn of_test(dbms: &str, password: Option<&str>) -> Self {
        Self {
            dbms: dbms.into(),
            host: None,
            socket: Some("/".into()),
            port: 0,
            user: "ann".into(),
            password: password.map(Into::into),
            database: "db".into(),
            engine: None,
            schema: None,
            foreign: false,
            tls: None,
            names: Names::Long,
            journaled: false,
            auth_source: None,
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
}

/// Asks for the plans of a session's statements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    pub id: u64,
    pub session: String,
}

/// Runs one slice of a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub id: u64,
    pub session: String,
    pub stop: Stop,
    #[serde(default)]
    pub rate: Option<Rate>,
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
