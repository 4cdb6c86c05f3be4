//! The statements of a test before their values are drawn.

use crate::protocol::job::Statements;

/// A statement with `{table}` in place of its table and `?` in place of its values.
#[derive(Clone, Debug)]
pub struct Template {
    pub sql: String,
    /// True for one statement per table, false for BEGIN and COMMIT.
    pub names_table: bool,
    pub form: Statements,
    pub values: Vec<Draw>,
    pub expected: Expectation,
    /// Consecutive executions in a transaction.
    pub repeat: usize,
}

/// How the value, or values, of placeholders are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// An `id` or a `k`, uniform over 1..rows.
    Key,
    FirstId,
    /// The first id of the first table: one row for all clients.
    SharedId,
    ZipfId,
    /// This many distinct uniform keys.
    DistinctKeys(u64),
    /// This many adjacent ids in the middle of the table, always the same.
    MiddleIds(u64),
    /// The first and the last of this many keys within 1..rows.
    Span(u64),
    /// The id of the next row in turn: the rows of all tables in scattered order, each once before
    /// any is repeated. The operation uses that row's table.
    InTurn,
    /// An id of the client's own residue class, which no other client deletes.
    OwnId,
    /// The operation's `OwnId` again.
    SameId,
    /// An id of the partitioned table, in a uniformly drawn partition.
    PartitionedId,
    /// An id after all loaded ones.
    NewId,
    /// The contents of the column `c`.
    Contents,
    /// The contents of the column `pad`.
    Padding,
}

/// The number of rows of a statement, if the data determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    Nothing,
    Rows(u64),
    /// The number for a single client: another client's transaction may delete the row while the
    /// statement waits for it, and the row inserted in its place is invisible to the statement.
    RowsIfAlone(u64),
    /// One row in its first turn, and no row later.
    RowIfFirstTurn,
}

impl Template {
    pub fn new(sql: impl Into<String>, values: &[Draw], expected: Expectation) -> Self {
        let sql = sql.into();
        Self {
            names_table: sql.contains(TABLE),
            sql,
            form: Statements::Prepared,
            values: values.to_vec(),
            expected,
            repeat: 1,
        }
    }

    pub fn sent_as_text(self) -> Self {
        Self {
            form: Statements::Text,
            ..self
        }
    }

    pub fn repeated(self, repeat: usize) -> Self {
        Self { repeat, ..self }
    }

    pub fn takes_turns(&self) -> bool {
        self.values.contains(&Draw::InTurn)
    }

    pub fn shares_row(&self) -> bool {
        self.values.contains(&Draw::SharedId)
    }

    /// Return the statement for each of the first `tables` tables, or once if it names no table.
    pub fn statements(&self, tables: u64) -> impl Iterator<Item = String> + '_ {
        let tables = if self.names_table { tables } else { 1 };
        (0..tables).map(|table| self.sql.replace(TABLE, &table_name(table)))
    }

    fn least_rows(&self, clients: u64) -> u64 {
        let rows = self.values.iter().map(|draw| match *draw {
            Draw::DistinctKeys(count) | Draw::MiddleIds(count) | Draw::Span(count) => count,
            Draw::OwnId => clients,
            _ => 1,
        });
        rows.max().unwrap_or(1)
    }
}

/// Return the fewest rows of a table that allow all draws of a transaction.
pub fn least_rows(templates: &[Template], clients: u64) -> u64 {
    let rows = templates
        .iter()
        .map(|template| template.least_rows(clients));
    rows.max().unwrap_or(1)
}

const TABLE: &str = "{table}";

/// Return the name of a table, counted from 0.
pub fn table_name(table: u64) -> String {
    format!("sbtest{}", table + 1)
}
