//! The queries that run concurrently with the writes.

use std::sync::Arc;

use super::rows::{draw_price, CASH_REGISTERS, PRODUCTS};
use super::tables::Table;
use crate::client::operation::{Expected, Generator, Operation};
use crate::keys::{Sequence, Stream};
use crate::protocol::job::{Query, Statements};
use crate::wire::dialect::Dialect;
use crate::wire::Value;
use crate::workload::statement::Statement;

const POINTS: usize = 10;
/// The columns of each secondary index.
pub const INDEXES: [&str; 3] = [
    "productid, customerid, price",
    "cashregisterid, customerid, price",
    "price, dateandtime, customerid",
];

/// Return the name of a table's secondary index, counted from 1.
pub fn index_name(table: &str, number: usize) -> String {
    format!("{table}_i{number}")
}

pub struct Queries {
    table: Arc<Table>,
    sequence: Sequence,
    query: Query,
    statements: Vec<Statement>,
}

impl Queries {
    /// Return the statements of a query, and a generator that draws their values from the sequence.
    pub fn new(
        table: Arc<Table>,
        query: Query,
        dialect: &dyn Dialect,
        form: Statements,
        sequence: Sequence,
    ) -> (Vec<String>, Self) {
        let texts = Self::statements(&table, query, dialect);
        let statements = (0..).zip(&texts);
        let statements = statements.map(|(number, sql)| Statement::new(number, sql, form));
        let generator = Self {
            sequence,
            table,
            query,
            statements: statements.collect(),
        };
        (texts, generator)
    }

    fn statements(table: &Table, query: Query, dialect: &dyn Dialect) -> Vec<String> {
        let table = &table.name;
        match query {
            Query::Range => (1..)
                .zip(INDEXES)
                .map(|(number, columns)| {
                    let hint = dialect.index_hint(&index_name(table, number));
                    range(&format!("{table}{hint}"), columns)
                })
                .collect(),
            Query::Point => vec![format!(
                "SELECT * FROM {table} WHERE transactionid IN ({})",
                ["?"; POINTS].join(", ")
            )],
        }
    }

    /// Return an execution of each statement.
    pub fn executions(&self) -> Vec<Operation> {
        let mut stream = self.sequence.stream(0);
        (0..self.statements.len())
            .map(|number| {
                let mut operation = Operation::default();
                self.ask(number, &mut stream, &mut operation);
                operation
            })
            .collect()
    }

    fn ask(&self, number: usize, stream: &mut Stream, operation: &mut Operation) {
        operation.clear();
        let values = &mut operation.values;
        match (self.query, number) {
            (Query::Range, 0) => values.push(Value::Int(stream.below(PRODUCTS) as i32)),
            (Query::Range, 1) => values.push(Value::Int(stream.below(CASH_REGISTERS) as i32)),
            (Query::Range, _) => values.push(Value::Real(draw_price(stream))),
            (Query::Point, _) => {
                let head = self.table.head();
                let keys = self.table.tail().saturating_sub(head).max(1);
                for _ in 0..POINTS {
                    values.push(Value::BigInt((head + stream.below(keys)) as i64));
                }
            }
        }
        self.statements[number].call(0, Expected::Anything, operation);
    }
}

/// Return a query of ten rows from a random position of a covering index.
fn range(table: &str, columns: &str) -> String {
    let (first, _) = columns.split_once(',').expect("several columns");
    format!("SELECT {columns} FROM {table} WHERE {first} >= ? ORDER BY {columns} LIMIT 10")
}

impl Generator for Queries {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        let mut stream = self.sequence.stream(index);
        let number = stream.below(self.statements.len() as u64) as usize;
        self.ask(number, &mut stream, operation);
    }
}
