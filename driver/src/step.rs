//! One step of the Insert Benchmark: a thread for each connection, which does its part from the
//! opening of the window to the end of the step.

mod connections;
mod explain;
mod long_transaction;
mod report;
mod threads;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use self::connections::{Member, Team};
use crate::client::gate::{Gate, Patience};
use crate::measure::pacing::Nanosecond;
use crate::protocol::event::{Performed, Plan, Seat};
use crate::protocol::job::{Prepare, Second, Work};
use crate::wire::{self, Failure};
use crate::workload::insert::{Table, MOST_ROWS_PER_COMMIT};
use crate::workload::statement::abbreviate;

const NANOSECONDS: f64 = 1e9;
/// A year: what is meant as «for ever» still fits a clock.
const LONGEST: Second = 365.0 * 86_400.0;

/// A step that is ready to be performed, once.
pub struct Step {
    job: Prepare,
    tables: Vec<Arc<Table>>,
    /// By client.
    gates: Vec<Arc<Gate>>,
    /// Indexes that were created.
    indexes: Arc<AtomicU64>,
    members: Vec<Member>,
    performed: bool,
}

impl Step {
    pub fn prepare(job: Prepare) -> Result<Self, Failure> {
        check(&job)?;
        let mut connection = wire::connect(&job.target)?;
        let tables = (0..)
            .zip(&job.inserted)
            .map(|(number, &inserted)| {
                Table::find(connection.as_mut(), number, inserted).map(Arc::new)
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        drop(connection);
        let gates: Vec<_> = (0..job.clients)
            .map(|_| Arc::new(Gate::new(rows_per_commit(&job.work), patience(&job.work))))
            .collect();
        let indexes = Arc::default();
        let team = Team {
            job: &job,
            tables: &tables,
            gates: &gates,
            indexes: &indexes,
        };
        Ok(Self {
            members: team.members()?,
            tables,
            gates,
            indexes,
            performed: false,
            job,
        })
    }

    /// Does what is to be done; `progress` hears every second how much of how much is done.
    pub fn perform(
        &mut self,
        id: u64,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Performed, Failure> {
        if self.performed {
            return Err(Failure::usage(
                "this step was performed already: prepare another",
            ));
        }
        self.performed = true;
        let before = report::traffic(&self.members);
        let (job, gates, indexes) = (&self.job, &self.gates, &self.indexes);
        let shift = threads::work(&mut self.members, |elapsed| {
            let (done, total) = state(job, gates, indexes, elapsed);
            progress(done, total);
        })?;
        Ok(report::report(self, id, before, &shift))
    }

    /// The plan of each statement that has one, over the first table.
    pub fn explain(&self) -> Result<Vec<Plan>, Failure> {
        explain::explain(&self.job, &self.tables[0])
    }

    /// Where the server's processes belong, if all of those are known that have a CPU.
    pub fn seats(&self) -> Vec<Seat> {
        let seats: Option<Vec<Seat>> = self
            .members
            .iter()
            .filter_map(|member| Some((member.cpu?, member.server_process)))
            .map(|(cpu, process)| process.map(|process| Seat { process, cpu }))
            .collect();
        seats.unwrap_or_default()
    }

    /// By role, over the first table.
    pub fn statements(&self) -> Vec<String> {
        let dialect = wire::dialect(&self.job.target);
        let first = self.members.iter().filter(|member| member.client == 0);
        first
            .flat_map(|member| &member.statements)
            .map(|statement| abbreviate(&dialect.with_placeholders(statement)))
            .collect()
    }
}

/// How much of how much is done: rows that are inserted, milliseconds, or indexes.
fn state(
    job: &Prepare,
    gates: &[Arc<Gate>],
    indexes: &AtomicU64,
    elapsed: Nanosecond,
) -> (u64, u64) {
    match job.work {
        Work::Load { rows, .. } | Work::Replace { rows, .. } => {
            let inserted = gates.iter().map(|gate| gate.inserted()).sum();
            (inserted, rows * u64::from(job.clients))
        }
        Work::Index => {
            let total = connections::indexes_of_a_table() * u64::from(job.tables);
            (indexes.load(Ordering::Relaxed), total)
        }
        Work::Query { seconds, .. } => {
            let total = (seconds * 1e3) as u64;
            ((elapsed / 1_000_000).min(total), total)
        }
    }
}

fn rows_per_commit(work: &Work) -> u64 {
    match work {
        Work::Load {
            rows_per_commit, ..
        }
        | Work::Replace {
            rows_per_commit, ..
        }
        | Work::Query {
            rows_per_commit, ..
        } => u64::from(*rows_per_commit),
        Work::Index => 1,
    }
}

fn patience(work: &Work) -> Patience {
    match work {
        Work::Query { .. } => Patience::Punctual,
        Work::Load { .. } | Work::Replace { .. } | Work::Index => Patience::Thrifty,
    }
}

fn check(job: &Prepare) -> Result<(), Failure> {
    let usage = |message| Err(Failure::usage(message));
    if job.clients == 0 || (job.tables != job.clients && job.tables != 1) {
        return usage("a step needs a client, and a table for each or one for all".to_owned());
    }
    if job.inserted.len() != job.tables as usize {
        return usage("say for each table how many rows were ever inserted".to_owned());
    }
    if !(1..=MOST_ROWS_PER_COMMIT as u64).contains(&rows_per_commit(&job.work)) {
        return usage(format!("a commit has 1 to {MOST_ROWS_PER_COMMIT} rows"));
    }
    if job.cpus.as_ref().is_some_and(Vec::is_empty) {
        return usage("name a CPU, or none at all".to_owned());
    }
    let is_time = |seconds: Second| seconds > 0.0 && seconds <= LONGEST;
    if job.long_transaction.is_some_and(|held| !is_time(held)) {
        return usage("a transaction is held a positive number of seconds".to_owned());
    }
    match job.work {
        Work::Query { seconds, .. } if !is_time(seconds) => {
            usage("a step takes a positive number of seconds".to_owned())
        }
        Work::Query {
            writes_per_second, ..
        } if !(writes_per_second > 0.0 && writes_per_second.is_finite()) => {
            usage("a rate is a positive number per second".to_owned())
        }
        Work::Load { rows: 0, .. } | Work::Replace { rows: 0, .. } => {
            usage("a step inserts a row at least".to_owned())
        }
        _ => Ok(()),
    }
}
