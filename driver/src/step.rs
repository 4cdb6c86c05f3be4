//! One step of the Insert Benchmark: a thread for each connection, which works from the opening of the
//! window to the end of the step.

mod connections;
mod explain;
mod long_transaction;
mod report;
mod threads;

use std::sync::atomic::Ordering;

use self::connections::{indexes_of_a_table, StepConnection, StepSetup};
use crate::client::gate::WakePolicy;
use crate::measure::{Nanosecond, LONGEST};
use crate::protocol::event::{Performed, Plan, Seat};
use crate::protocol::job::{Prepare, Second, Work};
use crate::wire::{self, Failure};
use crate::workload::insert::MOST_ROWS_PER_COMMIT;
use crate::workload::statement::abbreviate;

/// A step that is ready to be performed, once.
pub struct Step {
    setup: StepSetup,
    connections: Vec<StepConnection>,
    performed: bool,
}

impl Step {
    /// Find the ends of the tables, and open the connections.
    pub fn prepare(job: Prepare) -> Result<Self, Failure> {
        check(&job)?;
        let setup = StepSetup::new(job)?;
        Ok(Self {
            connections: setup.connections()?,
            setup,
            performed: false,
        })
    }

    /// Run the step to its end. `progress` is called every second with the work done and all work.
    pub fn perform(
        &mut self,
        id: u64,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Performed, Failure> {
        if self.performed {
            return Err(Failure::usage(
                "this step was already performed: prepare another one",
            ));
        }
        self.performed = true;
        let before = report::traffic(&self.connections);
        let setup = &self.setup;
        let run = threads::run(&mut self.connections, |elapsed| {
            let (done, total) = work_done(setup, elapsed);
            progress(done, total);
        })?;
        Ok(report::report(self, id, before, &run))
    }

    /// Return the plan of each statement that has one, over the first table.
    pub fn explain(&self) -> Result<Vec<Plan>, Failure> {
        explain::explain(&self.setup.job, &self.setup.tables[0])
    }

    /// Return the CPUs of the server's processes, if the process of each connection with a CPU is
    /// known.
    pub fn seats(&self) -> Vec<Seat> {
        let seats: Option<Vec<Seat>> = self
            .connections
            .iter()
            .filter_map(|connection| Some((connection.cpu?, connection.server_process)))
            .map(|(cpu, process)| process.map(|process| Seat { process, cpu }))
            .collect();
        seats.unwrap_or_default()
    }

    /// Return the statements of each role over the first table.
    pub fn statements(&self) -> Vec<String> {
        let dialect = wire::dialect(&self.setup.job.target);
        let connections = self.connections.iter();
        connections
            .filter(|connection| connection.client == 0)
            .flat_map(|connection| &connection.statements)
            .map(|statement| abbreviate(&dialect.with_placeholders(statement)))
            .collect()
    }
}

/// Return the work done and all work, in rows inserted, indexes created or milliseconds.
fn work_done(setup: &StepSetup, elapsed: Nanosecond) -> (u64, u64) {
    let job = &setup.job;
    match job.work {
        Work::Load { rows, .. } | Work::Replace { rows, .. } => {
            let inserted = setup.gates.iter().map(|gate| gate.inserted()).sum();
            (inserted, rows * u64::from(job.clients))
        }
        Work::Index => {
            let total = indexes_of_a_table() * u64::from(job.tables);
            (setup.indexes.load(Ordering::Relaxed), total)
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

fn wake_policy(work: &Work) -> WakePolicy {
    match work {
        Work::Query { .. } => WakePolicy::Immediate,
        Work::Load { .. } | Work::Replace { .. } | Work::Index => WakePolicy::Batched,
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
        return usage("the list of CPUs is empty: name a CPU, or leave the list out".to_owned());
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
