//! The plans of a step's statements, over connections of their own.

use std::sync::Arc;

use super::{rows_per_commit, wake_policy};
use crate::client::gate::Gate;
use crate::client::operation::{Generator, Operation};
use crate::keys::Sequence;
use crate::protocol::event::Plan;
use crate::protocol::job::{Prepare, Query, Statements, Work};
use crate::wire::{self, Failure};
use crate::workload::insert::{Deletes, Inserts, Queries, Table};
use crate::workload::statement::abbreviate;

/// Return the plan of each statement that has one, over a table, without executing it.
pub fn explain(job: &Prepare, table: &Table) -> Result<Vec<Plan>, Failure> {
    let mut plans = match job.work {
        Work::Query { query, .. } => queries(job, table, query)?,
        _ => Vec::new(),
    };
    if job.work != Work::Index {
        plans.extend(inserts(job, table)?);
    }
    if matches!(job.work, Work::Replace { .. } | Work::Query { .. }) {
        plans.extend(deletes(job, table)?);
    }
    Ok(plans)
}

/// Return a copy of the table and a gate of its own, for generators whose operations are not executed.
fn copies(job: &Prepare, table: &Table) -> (Arc<Table>, Arc<Gate>) {
    let gate = Gate::new(rows_per_commit(&job.work), wake_policy(&job.work));
    gate.add_inserted(rows_per_commit(&job.work));
    (Arc::new(table.copy()), Arc::new(gate))
}

fn inserts(job: &Prepare, table: &Table) -> Result<Vec<Plan>, Failure> {
    let (table, gate) = copies(job, table);
    let rows = rows_per_commit(&job.work);
    let statements = Inserts::statements(&table, rows, None);
    let generator = Inserts::new(table, gate, job.seed, rows, None, job.statements);
    plans(job, &statements, &[first_operation(generator)])
}

fn deletes(job: &Prepare, table: &Table) -> Result<Vec<Plan>, Failure> {
    let (table, gate) = copies(job, table);
    let statements = [Deletes::sql(&table)];
    let generator = Deletes::new(table, gate, rows_per_commit(&job.work), job.statements);
    plans(job, &statements, &[first_operation(generator)])
}

fn first_operation(mut generator: impl Generator) -> Operation {
    let mut operation = Operation::default();
    generator.compose(0, &mut operation);
    operation
}

fn queries(job: &Prepare, table: &Table, query: Query) -> Result<Vec<Plan>, Failure> {
    let (table, _) = copies(job, table);
    let statements = Queries::statements(&table, query, wire::dialect(&job.target));
    let sequence = Sequence::new(job.seed, "plans");
    let queries = Queries::new(table, query, &statements, job.statements, sequence);
    plans(job, &statements, &queries.executions())
}

/// Return the plans of the statements; each operation is one execution of the statement in its place.
fn plans(
    job: &Prepare,
    statements: &[String],
    operations: &[Operation],
) -> Result<Vec<Plan>, Failure> {
    let mut connection = wire::connect(&job.target)?;
    if job.statements == Statements::Prepared {
        connection.prepare(statements)?;
    }
    let dialect = wire::dialect(&job.target);
    let mut plans = Vec::new();
    for (statement, operation) in statements.iter().zip(operations) {
        let plan = connection.explain(operation.request(0))?;
        plans.extend(plan.map(|plan| Plan {
            statement: abbreviate(&dialect.with_placeholders(statement)),
            plan,
        }));
    }
    Ok(plans)
}
