//! Inserts of many rows per statement.

use std::sync::Arc;

use super::rows::Rows;
use super::tables::Table;
use crate::client::gate::Gate;
use crate::client::operation::{Expected, Generator, NextCall, Operation};
use crate::protocol::job::Statements;
use crate::wire::dialect::{Dialect, MOST_PARAMETERS};
use crate::wire::{Failure, TextQueries, Value};
use crate::workload::statement::Statement;

const COLUMNS: &str = "dateandtime, cashregisterid, customerid, productid, price, data";
/// The first column if the client generates the keys.
const KEY_COLUMN: &str = "transactionid";
const VALUES: usize = 6;
pub const MOST_ROWS_PER_COMMIT: usize = MOST_PARAMETERS / (VALUES + 1);

/// The side that generates a row's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    Server,
    /// The key is the row's number in the table's sequence of rows, counted from 1.
    Client,
}

impl Keys {
    pub fn of(dialect: &dyn Dialect) -> Self {
        if dialect.generates_keys() {
            Self::Server
        } else {
            Self::Client
        }
    }
}

pub struct Inserts {
    table: Arc<Table>,
    gate: Arc<Gate>,
    rows: Rows,
    keys: Keys,
    rows_per_commit: u64,
    full: Statement,
    /// The rows that do not fill a statement, if any.
    rest: Option<Rest>,
}

struct Rest {
    /// The index of the operation that inserts these rows.
    place: u64,
    rows: u64,
    statement: Statement,
}

impl Inserts {
    /// Return the statements that insert `rows` rows, or endlessly, and their generator.
    pub fn new(
        table: Arc<Table>,
        gate: Arc<Gate>,
        seed: u64,
        rows_per_commit: u64,
        rows: Option<u64>,
        keys: Keys,
        form: Statements,
    ) -> (Vec<String>, Self) {
        let mut statements = vec![sql(&table.name, keys, rows_per_commit)];
        let rest = rows.map_or(0, |rows| rows % rows_per_commit);
        if rest > 0 {
            statements.push(sql(&table.name, keys, rest));
        }
        let generator = Self {
            rows: Rows::new(seed, &table.name),
            keys,
            full: Statement::new(0, &statements[0], form),
            rest: statements.get(1).map(|sql| Rest {
                place: rows.unwrap_or(0) / rows_per_commit,
                rows: rest,
                statement: Statement::new(1, sql, form),
            }),
            table,
            gate,
            rows_per_commit,
        };
        (statements, generator)
    }
}

fn sql(table: &str, keys: Keys, rows: u64) -> String {
    let (columns, values) = match keys {
        Keys::Server => (COLUMNS.to_owned(), VALUES),
        Keys::Client => (format!("{KEY_COLUMN}, {COLUMNS}"), VALUES + 1),
    };
    let placeholders = format!("({})", vec!["?"; values].join(", "));
    format!(
        "INSERT INTO {table} ({columns}) VALUES {}",
        vec![placeholders; rows as usize].join(", ")
    )
}

impl Generator for Inserts {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        operation.clear();
        let (count, statement) = match &self.rest {
            Some(rest) if rest.place == index => (rest.rows, &rest.statement),
            _ => (self.rows_per_commit, &self.full),
        };
        let first = self.table.take_rows(count);
        for place in first..first + count {
            if self.keys == Keys::Client {
                operation.values.push(Value::BigInt(place as i64 + 1));
            }
            let row = self.rows.row(place);
            row.append(&mut operation.values, &mut operation.text);
        }
        statement.call(0, Expected::Rows(count), operation);
    }

    fn next_call(
        &mut self,
        rows: u64,
        _: &mut Operation,
        _: &mut dyn TextQueries,
    ) -> Result<NextCall, Failure> {
        self.table.add_inserted(rows);
        self.gate.add_inserted(rows);
        Ok(NextCall::Done { rows })
    }
}
