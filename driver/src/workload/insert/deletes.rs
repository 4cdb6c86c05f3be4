//! Deletes from the head of a table, which advances.

use std::ops::Range;
use std::sync::Arc;

use super::tables::{least_key, Table};
use crate::client::gate::Gate;
use crate::client::operation::{Expected, Generator, NextCall, Operation};
use crate::protocol::job::Statements;
use crate::wire::{Failure, TextQueries, Value};
use crate::workload::statement::Statement;

pub struct Deletes {
    table: Arc<Table>,
    gate: Arc<Gate>,
    rows_per_commit: u64,
    statement: Statement,
    /// Rows that the current operation still has to delete.
    left: u64,
    /// The keys of its last statement.
    keys: Range<u64>,
}

impl Deletes {
    /// Return the statement that deletes rows within the limit of the gate, and its generator.
    pub fn new(
        table: Arc<Table>,
        gate: Arc<Gate>,
        rows_per_commit: u64,
        form: Statements,
    ) -> (Vec<String>, Self) {
        let name = &table.name;
        let sql = format!("DELETE FROM {name} WHERE transactionid >= ? AND transactionid < ?");
        let generator = Self {
            statement: Statement::new(0, &sql, form),
            table,
            gate,
            rows_per_commit,
            left: 0,
            keys: 0..0,
        };
        (vec![sql], generator)
    }

    /// Take as many keys from the head on as rows are left to delete: never too many rows.
    fn take(&mut self, operation: &mut Operation) {
        let first = self.table.take_head(self.left);
        self.delete_from(first, operation);
    }

    fn delete_from(&mut self, first: u64, operation: &mut Operation) {
        self.keys = first..first + self.left;
        operation.clear();
        operation.values.extend_from_slice(&[
            Value::BigInt(first as i64),
            Value::BigInt(self.keys.end as i64),
        ]);
        self.statement.call(0, Expected::Anything, operation);
    }

    /// Continue after a range without rows: at the next key, or back at a key that was committed in a
    /// gap after the head had passed it (keys of a shared table are not committed in order).
    fn seek(
        &mut self,
        operation: &mut Operation,
        connection: &mut dyn TextQueries,
    ) -> Result<(), Failure> {
        if let Some(key) = least_key(connection, &self.table.name, self.keys.end)? {
            self.table.move_head(key);
            self.take(operation);
        } else if let Some(key) = least_key(connection, &self.table.name, 0)? {
            self.delete_from(key, operation);
        } else {
            return Err(Failure::usage(format!(
                "{} is empty: another program deletes from it",
                self.table.name
            )));
        }
        Ok(())
    }
}

impl Generator for Deletes {
    /// Delete the next rows. Keys come first that were taken but not deleted, because there was no
    /// time to repeat their statement in its window.
    fn compose(&mut self, _: u64, operation: &mut Operation) {
        if self.left > 0 {
            return self.delete_from(self.keys.start, operation);
        }
        self.left = self.gate.owed().min(self.rows_per_commit);
        self.take(operation);
    }

    fn next_call(
        &mut self,
        rows: u64,
        operation: &mut Operation,
        connection: &mut dyn TextQueries,
    ) -> Result<NextCall, Failure> {
        self.gate.add_deleted(rows);
        self.left = self.left.saturating_sub(rows);
        if self.left == 0 {
            return Ok(NextCall::Done { rows });
        }
        if rows == 0 {
            self.seek(operation, connection)?;
        } else {
            self.take(operation);
        }
        Ok(NextCall::Continue { rows })
    }
}

#[cfg(test)]
mod tests;
