//! Deletes from a simulated table.

use std::collections::BTreeSet;

use super::*;
use crate::client::gate::WakePolicy;
use crate::wire::{self, Request};

/// The keys of a table; it answers the only query that a deleter sends besides its statements.
struct Keys(BTreeSet<u64>);

impl TextQueries for Keys {
    fn query(&mut self, sql: &str) -> Result<wire::Table, Failure> {
        let (_, rest) = sql.split_once(">= ").unwrap();
        let from: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        let least = self.0.range(from..).next().map(u64::to_string);
        Ok(wire::Table {
            columns: vec!["transactionid".into()],
            rows: least.map(|key| vec![Some(key)]).into_iter().collect(),
        })
    }
}

struct Deleter {
    deletes: Deletes,
    keys: Keys,
    operation: Operation,
    gate: Arc<Gate>,
}

impl Deleter {
    /// Create a deleter of `owed` rows, ten per statement, from key `head` on.
    fn new(keys: impl IntoIterator<Item = u64>, head: u64, owed: u64) -> Self {
        let keys: BTreeSet<u64> = keys.into_iter().collect();
        let last = keys.last().copied().unwrap_or(0);
        let table = Arc::new(Table::between("t".into(), head, last, 0));
        let gate = Arc::new(Gate::new(10, WakePolicy::Immediate));
        gate.add_inserted(owed);
        Self {
            deletes: Deletes::new(table, gate.clone(), 10, Statements::Prepared).1,
            keys: Keys(keys),
            operation: Operation::default(),
            gate,
        }
    }

    /// Run one operation; return the number of its statements.
    fn delete(&mut self) -> Result<u32, Failure> {
        self.deletes.compose(0, &mut self.operation);
        for statements in 1.. {
            let Request::Prepared { values, .. } = self.operation.request(0) else {
                panic!("not prepared");
            };
            let &[Value::BigInt(from), Value::BigInt(to)] = values else {
                panic!("not a range: {values:?}");
            };
            let before = self.keys.0.len();
            let hit = from as u64..to as u64;
            self.keys.0.retain(|key| !hit.contains(key));
            let rows = (before - self.keys.0.len()) as u64;
            let next = self
                .deletes
                .next_call(rows, &mut self.operation, &mut self.keys)?;
            if next == (NextCall::Done { rows }) {
                return Ok(statements);
            }
        }
        unreachable!()
    }
}

#[test]
fn without_gaps_an_operation_is_one_statement() {
    let mut deleter = Deleter::new(1..=100, 1, 25);
    assert_eq!(
        [(); 3].map(|()| deleter.delete().unwrap()),
        [1, 1, 1],
        "10 + 10 + 5 rows"
    );
    assert_eq!(
        (deleter.keys.0.first(), deleter.gate.owed()),
        (Some(&26), 0)
    );
}

#[test]
fn the_head_is_found_behind_a_gap() {
    let mut deleter = Deleter::new(1_000_000..1_000_100, 1, 10);
    assert_eq!(deleter.delete(), Ok(2));
    assert_eq!(deleter.keys.0.first(), Some(&1_000_010));
}

#[test]
fn never_more_rows_are_deleted_than_were_inserted() {
    // Every third key, then a gap, then all.
    let keys = (1..100).step_by(3).chain(500..600);
    let mut deleter = Deleter::new(keys.clone(), 1, 55);
    let all = keys.count();
    for done in [10, 20, 30, 40, 50, 55] {
        deleter.delete().unwrap();
        assert_eq!(all - deleter.keys.0.len(), done);
    }
    assert_eq!(deleter.keys.0.first(), Some(&522));
}

#[test]
fn rows_that_came_behind_the_head_are_deleted_too() {
    let mut deleter = Deleter::new([3, 4, 5], 1000, 3);
    assert_eq!(deleter.delete(), Ok(2));
    assert!(deleter.keys.0.is_empty());
}

#[test]
fn keys_of_a_statement_that_failed_are_deleted_next() {
    let mut deleter = Deleter::new(1..=100, 1, 20);
    deleter.deletes.compose(0, &mut deleter.operation);
    // The reply has no row count: the operation is abandoned, and another one begins.
    assert_eq!((deleter.delete(), deleter.delete()), (Ok(1), Ok(1)));
    assert_eq!(deleter.keys.0.first(), Some(&21));
}

#[test]
fn an_empty_table_is_not_searched_for_ever() {
    let mut deleter = Deleter::new([], 1, 10);
    assert!(matches!(deleter.delete(), Err(Failure::Usage(_))));
}
