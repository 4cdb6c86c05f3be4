//! The creation of secondary indexes, one after the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::queries::{index_name, INDEXES};
use crate::client::operation::{Call, Expected, Form, Generator, NextCall, Operation};
use crate::wire::dialect::Definitions;
use crate::wire::{Failure, TextQueries};

/// A generator that creates the secondary indexes of a table.
pub struct Indexes {
    statements: Vec<String>,
    /// Rows of the table.
    rows: u64,
    current: u64,
    created: Arc<AtomicU64>,
}

impl Indexes {
    /// Return the statements that index a table of `rows` rows, and their generator; `created` counts
    /// the indexes.
    pub fn new(
        table: &str,
        rows: u64,
        definitions: &Definitions,
        created: Arc<AtomicU64>,
    ) -> (Vec<String>, Self) {
        let options = definitions.index_options;
        let statement = |(number, columns)| {
            let name = index_name(table, number);
            format!("CREATE INDEX {name} ON {table} ({columns}){options}")
        };
        let statements: Vec<_> = (1..).zip(INDEXES).map(statement).collect();
        let generator = Self {
            statements: statements.clone(),
            rows,
            current: 0,
            created,
        };
        (statements, generator)
    }
}

impl Generator for Indexes {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        operation.clear();
        self.current = index;
        let sql = &self.statements[index as usize];
        operation.text.extend_from_slice(sql.as_bytes());
        operation.calls.push(Call {
            form: Form::Text(0..operation.text.len()),
            expected: Expected::Anything,
        });
    }

    /// Each index counts a third of the rows.
    fn next_call(
        &mut self,
        _: u64,
        _: &mut Operation,
        _: &mut dyn TextQueries,
    ) -> Result<NextCall, Failure> {
        self.created.fetch_add(1, Ordering::Relaxed);
        let indexes = INDEXES.len() as u64;
        let done = self.rows * self.current / indexes;
        let rows = self.rows * (self.current + 1) / indexes - done;
        Ok(NextCall::Done { rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_of_a_table_are_indexed_with_its_third_index() {
        let created = Arc::default();
        let definitions = Definitions::default();
        let (statements, mut indexes) =
            Indexes::new("purchases2", 1000, &definitions, Arc::clone(&created));
        let (mut connection, _server) = crate::wire::postgres::test_connection(0);
        let mut operation = Operation::default();
        let rows: Vec<_> = (0..3)
            .map(|index| {
                indexes.compose(index, &mut operation);
                indexes
                    .next_call(0, &mut operation, &mut connection)
                    .unwrap()
            })
            .collect();
        let over = |rows| NextCall::Done { rows };
        assert_eq!(rows, [333, 333, 334].map(over));
        assert_eq!(created.load(Ordering::Relaxed), 3);
        assert_eq!(
            statements[1],
            "CREATE INDEX purchases2_i2 ON purchases2 (cashregisterid, customerid, price)"
        );
    }
}
