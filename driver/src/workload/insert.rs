//! The Insert Benchmark on the tables `purchases1`..`purchasesN`: inserts at the tail of a table,
//! deletes at its head, and queries in between.

mod deletes;
mod indexes;
mod inserts;
mod queries;
mod rows;
mod step;
mod tables;

use super::StepBenchmark;

/// The Insert Benchmark.
pub const BENCHMARK: StepBenchmark = StepBenchmark {
    name: "insert",
    create: tables::create,
    prepare: step::prepare,
};

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::deletes::Deletes;
    use super::inserts::{Inserts, Keys};
    use super::queries::Queries;
    use super::tables::Table;
    use crate::allocations::assert_allocates_nothing;
    use crate::client::gate::{Gate, WakePolicy};
    use crate::client::operation::Generator;
    use crate::keys::Sequence;
    use crate::protocol::job::{Query, Statements};
    use crate::wire::mysql;

    /// Return the operations of a writer or reader that never waits for another one.
    fn generator(role: &str, form: Statements) -> Box<dyn Generator> {
        let table = Arc::new(Table::between("purchases1".into(), 1, 1_000_000, 0));
        let gate = Arc::new(Gate::new(1, WakePolicy::Immediate));
        gate.add_inserted(1_000_000);
        let queries = |query| {
            let (dialect, sequence) = (mysql::WIRE.dialect, Sequence::new(1, "queries"));
            Queries::new(table.clone(), query, dialect, form, sequence).1
        };
        match role {
            "insert" => Box::new(Inserts::new(table, gate, 1, 100, None, Keys::Client, form).1),
            // The server deletes one row at a time.
            "delete" => Box::new(Deletes::new(table, gate, 1, form).1),
            "range" => Box::new(queries(Query::Range)),
            _ => Box::new(queries(Query::Point)),
        }
    }

    #[test]
    fn writers_and_readers_allocate_nothing() {
        for form in [Statements::Prepared, Statements::Text] {
            for role in ["insert", "delete", "range", "point"] {
                let name = format!("{role}, {form:?}");
                assert_allocates_nothing(&name, 3, || generator(role, form));
            }
        }
    }
}
