//! SQLite, which has no server: statements run in the client's thread, in a process that serves one
//! database (see `embedded`). There is no protocol, and so no separate CPU time of the client.

mod dialect;
pub mod library;
pub mod steps;

use std::io::Write as _;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use self::dialect::SqliteDialect;
use self::library::{ConnectionCount, Handle, Statement, StatementCount, Stepped};
use self::steps::Steps;
use super::calendar::DateTime;
use super::interrupt::Interrupt;
use super::{
    Amounts, BulkLoad, Connection, Failure, Reply, Request, ServerError, Session, Table,
    TextQueries, Traffic, Value, Wire,
};

pub const WIRE: Wire = Wire {
    connect: |_| Ok(Box::new(SqliteConnection::open()?)),
    dialect: &SqliteDialect,
    in_process: true,
};

/// The database of this process, and the initial statements of each connection.
pub struct Served {
    pub path: String,
    /// `PRAGMA name = value`, in the order of execution.
    pub settings: Vec<String>,
}

static SERVED: OnceLock<Served> = OnceLock::new();

/// Set the database of this process, once.
pub fn serve(served: Served) -> Result<(), Failure> {
    let named = SERVED.set(served);
    named.map_err(|_| Failure::usage("a process serves only one database"))
}

pub struct SqliteConnection {
    /// They are dropped, and so finalized, before the connection is closed.
    prepared: Vec<Prepared>,
    reply: Option<Reply>,
    /// Times as texts, which a running statement reads.
    times: Vec<u8>,
    handle: Handle,
    /// The time limit for an execution whose work is counted.
    limit: Option<Duration>,
}

struct Prepared {
    statement: Statement,
    sql: String,
    /// Whether changed rows are counted after the execution.
    writes: bool,
}

impl SqliteConnection {
    fn open() -> Result<Self, Failure> {
        let served = SERVED.get();
        let served = served.ok_or_else(|| Failure::usage("this process serves no database"))?;
        Self::open_with(&served.path, &served.settings)
    }

    /// Open a database, and execute its settings.
    pub fn open_with(path: &str, settings: &[String]) -> Result<Self, Failure> {
        let mut connection = Self {
            prepared: Vec::new(),
            reply: None,
            times: Vec::new(),
            handle: Handle::open(path)?,
            limit: None,
        };
        for setting in settings {
            connection.query(setting)?;
        }
        Ok(connection)
    }

    fn prepare_one(&mut self, sql: &str) -> Result<Prepared, Failure> {
        let (statement, _) = self.handle.prepare(sql)?;
        let statement = statement.ok_or_else(|| Failure::usage("the statement is empty"))?;
        Ok(Prepared {
            writes: changes_rows(sql, statement.types.len()),
            statement,
            sql: sql.to_owned(),
        })
    }

    /// Execute a statement with bound values; return its reply.
    #[inline(always)] // called for every operation, like `bind`
    fn execute(handle: &Handle, prepared: &mut Prepared) -> Reply {
        let statement = &mut prepared.statement;
        let mut rows = 0;
        let error = loop {
            match statement.step() {
                (Stepped::Row, _) => {
                    statement.read_row();
                    rows += 1;
                }
                (Stepped::Done, _) => break None,
                (Stepped::Failed, code) => break Some(handle.error(code)),
            }
        };
        if prepared.writes {
            rows = handle.changes();
        }
        statement.reset();
        Reply {
            rows: if error.is_some() { 0 } else { rows },
            error,
            in_transaction: handle.in_transaction(),
        }
    }

    /// Execute a statement with bound values, and return its work.
    fn count_execution(handle: &Handle, prepared: &mut Prepared) -> Result<Amounts, Failure> {
        const OF_STATEMENT: [(&str, StatementCount); 4] = [
            ("full_scan_steps", StatementCount::FullScanSteps),
            ("sorts", StatementCount::Sorts),
            ("auto_index_rows", StatementCount::AutoIndexRows),
            ("vm_steps", StatementCount::MachineSteps),
        ];
        const OF_CONNECTION: [(&str, ConnectionCount); 2] = [
            ("pages_hit", ConnectionCount::CacheHits),
            ("pages_read", ConnectionCount::CacheMisses),
        ];
        for (_, what) in OF_STATEMENT {
            prepared.statement.take_count(what);
        }
        let before = OF_CONNECTION.map(|(_, what)| handle.count(what));
        let reply = Self::execute(handle, prepared);
        if let Some(error) = reply.error {
            return Err(Failure::Server(error));
        }
        let rows = match prepared.writes {
            true => "rows_written",
            false => "rows_returned",
        };
        let mut amounts = Amounts::from([(rows, reply.rows as f64)]);
        for (name, what) in OF_STATEMENT {
            amounts.insert(name, prepared.statement.take_count(what) as f64);
        }
        for ((name, what), before) in OF_CONNECTION.into_iter().zip(before) {
            amounts.insert(name, handle.count(what).saturating_sub(before) as f64);
        }
        Ok(amounts)
    }

    fn run(&mut self, number: usize, values: &[Value], text: &[u8]) -> Reply {
        let Self {
            prepared,
            times,
            handle,
            ..
        } = self;
        let prepared = &mut prepared[number];
        bind(&mut prepared.statement, values, text, times);
        Self::execute(handle, prepared)
    }

    /// Parse, plan and execute a complete statement.
    fn run_text(&mut self, sql: &str) -> Result<Reply, Failure> {
        match self.prepare_one(sql) {
            Ok(mut prepared) => Ok(Self::execute(&self.handle, &mut prepared)),
            Err(Failure::Server(error)) => Ok(self.refusal(error)),
            Err(failure) => Err(failure),
        }
    }

    fn refusal(&self, error: ServerError) -> Reply {
        Reply {
            rows: 0,
            error: Some(error),
            in_transaction: self.handle.in_transaction(),
        }
    }
}

/// Return whether a statement with this number of columns is an INSERT, UPDATE, DELETE or REPLACE.
fn changes_rows(sql: &str, columns: usize) -> bool {
    let word = sql.split_whitespace().next().unwrap_or("");
    let verbs = ["INSERT", "UPDATE", "DELETE", "REPLACE"];
    verbs.iter().any(|verb| word.eq_ignore_ascii_case(verb))
        || (columns == 0 && word.eq_ignore_ascii_case("WITH"))
}

/// Return a step of a plan in the wording of versions from 3.36 on: equal plans must be equal texts.
fn in_words_of_today(step: &str) -> String {
    let shorter = ["SCAN", "SEARCH"].iter().find_map(|verb| {
        let table = step.strip_prefix(verb)?.strip_prefix(" TABLE ")?;
        Some(format!("{verb} {table}"))
    });
    shorter.unwrap_or_else(|| step.to_owned())
}

/// Bind the values of an execution. Texts and `times` stay in place until it has finished.
#[inline(always)]
fn bind(statement: &mut Statement, values: &[Value], text: &[u8], times: &mut Vec<u8>) {
    const SIZE: usize = "2026-01-01 00:00:00".len();
    times.clear();
    for &value in values {
        if let Value::Timestamp(seconds) = value {
            write!(times, "{}", DateTime::of(seconds)).expect("memory");
        }
    }
    let mut next_time = times.chunks(SIZE);
    for (place, &value) in (1..).zip(values) {
        match value {
            Value::Int(number) => statement.bind_integer(place, number.into()),
            Value::BigInt(number) => statement.bind_integer(place, number),
            Value::Real(number) => statement.bind_real(place, number.into()),
            Value::Timestamp(_) => {
                bind_text(statement, place, next_time.next().unwrap_or_default());
            }
            Value::Text { start, end }
            | Value::Written { start, end }
            | Value::Bytes { start, end } => {
                bind_text(statement, place, Value::slice(text, start, end));
            }
            Value::Null => statement.bind_null(place),
        }
    }
}

#[allow(unsafe_code, reason = "SQLite reads the text where it is")]
fn bind_text(statement: &mut Statement, place: usize, text: &[u8]) {
    // SAFETY: the operation's text and the connection's times are not modified before the statement
    // has been executed and reset; other values are bound before it is executed again.
    unsafe { statement.bind_text(place, text) };
}

impl TextQueries for SqliteConnection {
    /// Run the statements of a text, and return the rows of all of them below the last one's columns.
    fn query(&mut self, sql: &str) -> Result<Table, Failure> {
        let mut table = Table::default();
        let mut rest = sql;
        loop {
            let (statement, after) = self.handle.prepare(rest)?;
            let Some(mut statement) = statement else {
                return Ok(table);
            };
            rest = after;
            table.columns = statement.column_names();
            loop {
                match statement.step() {
                    (Stepped::Row, _) => table.rows.push(statement.texts()),
                    (Stepped::Done, _) => break,
                    (Stepped::Failed, code) => {
                        return Err(Failure::Server(self.handle.error(code)))
                    }
                }
            }
        }
    }
}

impl Connection for SqliteConnection {
    /// Execute the request immediately: the reply is complete when this returns.
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure> {
        self.reply = Some(match request {
            Request::Prepared {
                statement,
                values,
                text,
                ..
            } => self.run(statement, values, text),
            Request::Text(sql) => self.run_text(sql)?,
        });
        Ok(())
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn reply(&mut self) -> Result<Option<Reply>, Failure> {
        Ok(self.reply.take())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}

impl Session for SqliteConnection {
    fn server_process(&mut self) -> Result<Option<u32>, Failure> {
        Ok(None)
    }

    /// Return None: statements run in the client's thread, whose process Slowdust can kill.
    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        None
    }

    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure> {
        for sql in statements {
            let prepared = self.prepare_one(sql)?;
            self.prepared.push(prepared);
        }
        Ok(())
    }

    /// Return the steps of the plan, one per line, below the step that they belong to; a statement
    /// without steps, such as INSERT, has no plan.
    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure> {
        let sql = match request {
            Request::Prepared { statement, .. } => &self.prepared[statement].sql,
            Request::Text(sql) => sql,
        };
        let table = self.query(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        // Versions before 3.24 number subqueries, and have no tree.
        let is_tree = table.columns.iter().any(|column| column == "parent");
        let mut steps = Steps::default();
        for mut row in table.rows {
            let Some(step) = row.pop().flatten() else {
                continue;
            };
            let mut numbers = row.into_iter().filter(|_| is_tree);
            let mut number = || numbers.next().flatten()?.parse().ok();
            let (id, parent) = (number(), number());
            steps.push(id, parent, &in_words_of_today(&step));
        }
        Ok(steps.into_text())
    }

    fn count_work(&mut self, request: Request<'_>) -> Result<Option<Amounts>, Failure> {
        if let Some(limit) = self.limit {
            self.handle.stop_at(Instant::now() + limit);
        }
        let amounts = match request {
            Request::Prepared {
                statement,
                values,
                text,
                ..
            } => {
                let prepared = &mut self.prepared[statement];
                bind(&mut prepared.statement, values, text, &mut self.times);
                Self::count_execution(&self.handle, prepared)
            }
            Request::Text(sql) => {
                let mut parsed = self.prepare_one(sql)?;
                Self::count_execution(&self.handle, &mut parsed)
            }
        };
        amounts.map(Some)
    }

    fn limit_statements(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure> {
        let places = vec!["?"; columns.len()].join(", ");
        let sql = format!(
            "INSERT INTO {table} ({}) VALUES ({places})",
            columns.join(", ")
        );
        let insert = self.prepare_one(&sql)?;
        self.query("BEGIN")?;
        Ok(Box::new(Inserts {
            connection: self,
            insert,
            bytes: 0,
        }))
    }
}

/// A load in one transaction.
struct Inserts<'a> {
    insert: Prepared,
    connection: &'a mut SqliteConnection,
    bytes: u64,
}

impl BulkLoad for Inserts<'_> {
    fn row(&mut self, values: &[Value], text: &[u8]) -> Result<(), Failure> {
        let times = &mut self.connection.times;
        bind(&mut self.insert.statement, values, text, times);
        let reply = SqliteConnection::execute(&self.connection.handle, &mut self.insert);
        self.bytes += text.len() as u64;
        reply
            .error
            .map_or(Ok(()), |error| Err(Failure::Server(error)))
    }

    /// Commit. Nothing is sent: the returned bytes are the length of the statements' texts.
    fn finish(self: Box<Self>) -> Result<u64, Failure> {
        self.connection.query("COMMIT")?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_rows_are_those_of_all_statements_that_change_some() {
        for (sql, columns) in [
            ("INSERT INTO t VALUES (1) RETURNING a", 1),
            ("insert into t values (1)", 0),
            ("REPLACE INTO t VALUES (1)", 0),
            (" \nUPDATE t SET a = 1", 0),
            ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", 0),
        ] {
            assert!(changes_rows(sql, columns), "{sql}");
        }
        for (sql, columns) in [
            ("SELECT 1", 1),
            ("WITH x AS (SELECT 1) SELECT * FROM x", 1),
            ("CREATE TABLE t (a)", 0),
            ("", 0),
        ] {
            assert!(!changes_rows(sql, columns), "{sql}");
        }
    }

    #[test]
    fn plans_of_old_versions_are_in_the_words_of_new_ones() {
        let steps = [
            (
                "SEARCH TABLE t USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
            ),
            ("SCAN TABLE t", "SCAN t"),
            ("SCAN t", "SCAN t"),
            (
                "USE TEMP B-TREE FOR ORDER BY",
                "USE TEMP B-TREE FOR ORDER BY",
            ),
        ];
        for (old, new) in steps {
            assert_eq!(in_words_of_today(old), new);
        }
    }
}
