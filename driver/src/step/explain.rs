//! The plans of a step's statements.

use std::sync::Arc;

use super::{patience, rows_per_commit};
use crate::client::gate::Gate;
use crate::client::operation::{Generator, Operation};
use crate::keys::Sequence;
use crate::protocol::event::Plan;
use crate::protocol::job::{Prepare, Query, Statements, Work};
use crate::wire::{self, Failure};
use crate::workload::insert::{Deletes, Inserts, Queries, Table};
use crate::workload::statement::abbreviate;

/// Of each statement that has one, over a table, by a connection of its own and without doing it.
pub fn explain(job: &Prepare, table: &Table) -> Result<Vec<Plan>, Failure> {
    let mut plans = Vec::new();
    match job.work {
        Work::Index => {}
        Work::Load { .. } => plans.extend(inserts(job, table)?),
        Work::Replace { .. } => {
            plans.extend(inserts(job, table)?);
            plans.extend(deletes(job, table)?);
        }
        Work::Query { query, .. } => {
            plans.extend(queries(job, table, query)?);
            plans.extend(inserts(job, table)?);
            plans.extend(deletes(job, table)?);
        }
    }
    Ok(plans)
}

/// What is explained writes nothing, and what is counted for it is counted in a copy.
fn scene(job: &Prepare, table: &Table) -> (Arc<Table>, Arc<Gate>) {
    let gate = Gate::new(rows_per_commit(&job.work), patience(&job.work));
    gate.add_inserted(rows_per_commit(&job.work));
    (Arc::new(table.copy()), Arc::new(gate))
}

fn inserts(job: &Prepare, table: &Table) -> Result<Vec<Plan>, Failure> {
    let (table, gate) = scene(job, table);
    let rows = rows_per_commit(&job.work);
    let statements = Inserts::statements(&table, rows, None);
    let mut generator = Inserts::new(table, gate, job.seed, rows, None, job.statements);
    let mut operation = Operation::default();
    generator.compose(0, &mut operation);
    plans(job, &statements, &[operation])
}

fn deletes(job: &Prepare, table: &Table) -> Result<Vec<Plan>, Failure> {
    let (table, gate) = scene(job, table);
    let statements = [Deletes::sql(&table)];
    let mut generator = Deletes::new(table, gate, rows_per_commit(&job.work), job.statements);
    let mut operation = Operation::default();
    generator.compose(0, &mut operation);
    plans(job, &statements, &[operation])
}

fn queries(job: &Prepare, table: &Table, query: Query) -> Result<Vec<Plan>, Failure> {
    let (table, _) = scene(job, table);
    let statements = Queries::statements(&table, query, wire::dialect(&job.target));
    let sequence = Sequence::new(job.seed, "plans");
    let mut generator = Queries::new(table, query, &statements, job.statements, sequence);
    plans(job, &statements, &generator.each())
}

/// Each operation is one execution of the statement in its place.
fn plans(
    job: &Prepare,
    statements: &[String],
    operations: &[Operation],
) -> Result<Vec<Plan>, Failure> {
    let mut connection = wire::connect(&job.target)?;
    if job.statements == Statements::Prepared {
        connection.prepare(statements)?;
    }
    let mut plans = Vec::new();
    for (statement, operation) in statements.iter().zip(operations) {
        let plan = connection.explain(operation.request(0))?;
        plans.extend(plan.map(|plan| Plan {
            statement: abbreviate(&wire::dialect(&job.target).with_placeholders(statement)),
            plan,
        }));
    }
    Ok(plans)
}
