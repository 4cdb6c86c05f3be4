//! One step of a benchmark: a thread for each connection, which works from the opening of the window to
//! the end of the step.

mod connections;
mod long_transaction;
mod report;
mod threads;

use self::connections::StepConnection;
use crate::measure::is_duration;
use crate::protocol::event::{Performed, Plan, Seat};
use crate::protocol::job::{Prepare, Statements};
use crate::wire::{self, Failure};
use crate::workload::statement::abbreviate;
use crate::workload::{self, Executions, LongStep};

/// A step that is ready to be performed, once.
pub struct Step {
    job: Prepare,
    work: Box<dyn LongStep>,
    connections: Vec<StepConnection>,
    performed: bool,
}

impl Step {
    /// Open the connections of the step.
    pub fn prepare(job: Prepare) -> Result<Self, Failure> {
        check(&job)?;
        let work = workload::prepare(&job)?;
        Ok(Self {
            connections: connections::open(&job, work.as_ref())?,
            job,
            work,
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
        let work = &self.work;
        let run = threads::run(&mut self.connections, |elapsed| {
            let (done, total) = work.progress(elapsed);
            progress(done, total);
        })?;
        Ok(report::report(self, id, before, &run))
    }

    /// Return the plan of each statement that has one, over the first table, without executing it.
    pub fn explain(&self) -> Result<Vec<Plan>, Failure> {
        let mut plans = Vec::new();
        for executions in self.work.executions() {
            plans.extend(explain(&self.job, &executions)?);
        }
        Ok(plans)
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
    pub fn statements(&self) -> Result<Vec<String>, Failure> {
        let dialect = wire::dialect(&self.job.target)?;
        let connections = self.connections.iter();
        Ok(connections
            .filter(|connection| connection.client == 0)
            .flat_map(|connection| &connection.statements)
            .map(|statement| abbreviate(&dialect.with_placeholders(statement)))
            .collect())
    }
}

/// Return the plans of statements, over a connection of their own.
fn explain(job: &Prepare, (statements, operations): &Executions) -> Result<Vec<Plan>, Failure> {
    let mut connection = wire::connect(&job.target)?;
    if job.statements == Statements::Prepared {
        connection.prepare(statements)?;
    }
    let dialect = wire::dialect(&job.target)?;
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

fn check(job: &Prepare) -> Result<(), Failure> {
    let usage = |message| Err(Failure::usage(message));
    if job.cpus.as_ref().is_some_and(Vec::is_empty) {
        return usage("the list of CPUs is empty: name a CPU, or leave the list out");
    }
    match job.long_transaction {
        Some(held) if !is_duration(held) => {
            usage("a transaction is held a positive number of seconds")
        }
        _ => Ok(()),
    }
}
