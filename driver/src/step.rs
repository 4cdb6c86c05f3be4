//! One step of a benchmark: a thread for each connection, from the opening of the window to the end
//! of the step.

mod connections;
mod long_transaction;
mod report;
mod threads;

use std::collections::BTreeMap;

use self::connections::StepConnection;
use self::threads::{Chunk, ChunkRun};
use crate::measure::{is_duration, nanoseconds, End, Nanosecond};
use crate::protocol::event::{Performed, Plan, Seat};
use crate::protocol::job::{Perform, Prepare, Statements, Until};
use crate::protocol::target::{longest_wait, Target};
use crate::wire::{self, Failure, Traffic};
use crate::work::{beside_work, Counter, Work};
use crate::workload::statement::abbreviate;
use crate::workload::{self, Executions, LongStep};

/// A step that is ready to be performed once.
pub struct Step {
    job: Prepare,
    work: Box<dyn LongStep>,
    connections: Vec<StepConnection>,
    progress: StepProgress,
}

/// The progress of a step.
#[derive(Default)]
struct StepProgress {
    /// The step's own time: the time in chunks of it.
    elapsed: Nanosecond,
    /// Unix time at which its first window opened.
    started: Option<f64>,
    /// The traffic before that.
    traffic_before: Traffic,
    over: bool,
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
            progress: StepProgress::default(),
        })
    }

    /// Continue the step to its end, or to the end of a chunk. `progress` is called every second with
    /// the finished work and all work.
    pub fn perform(
        &mut self,
        job: &Perform,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Performed, Failure> {
        if self.progress.over {
            return Err(Failure::usage(
                "this step was already performed: prepare another one",
            ));
        }
        let chunk = Chunk {
            begin: self.progress.elapsed,
            end: job.until.map(|until| self.end_of(until)).transpose()?,
        };
        if self.progress.started.is_none() {
            self.progress.traffic_before = report::traffic(&self.connections);
        }
        self.progress.over = true; // a step that fails has no next chunk
        let work = &self.work;
        let patience = longest_wait(job.patience)?;
        let run = threads::run(&mut self.connections, chunk, patience, |elapsed| {
            let (done, total) = work.progress(elapsed);
            progress(done, total);
            done
        })?;
        self.advance(chunk, &run);
        Ok(report::report(self, job.id, chunk, &run))
    }

    fn end_of(&self, until: Until) -> Result<End, Failure> {
        match until {
            Until::Operations(count) if self.goes_by_operations() => Ok(End::Position(count)),
            Until::Operations(_) => Err(Failure::usage(
                "this step has writes at a rate, so it ends by time, and so do its chunks",
            )),
            Until::Seconds(seconds) if is_duration(seconds) => {
                Ok(End::Cutoff(nanoseconds(seconds)))
            }
            Until::Seconds(_) => Err(Failure::usage("the end of a chunk must be positive")),
        }
    }

    /// Return whether a chunk can end after a number of operations: no concurrent work depends on
    /// time.
    fn goes_by_operations(&self) -> bool {
        let mut connections = self.connections.iter();
        self.work.end().is_none() || connections.all(|each| self.work.is_main(each.role))
    }

    fn advance(&mut self, chunk: Chunk, run: &ChunkRun) {
        for (connection, result) in self.connections.iter_mut().zip(&run.results) {
            connection.used = connection.used + result.used;
            connection.traffic = result.traffic;
            connection.last_completion = result.last_completion;
        }
        let ends = match chunk.end {
            Some(End::At(time) | End::Cutoff(time)) => time,
            Some(End::Position(_)) | None => 0,
        };
        let main = self
            .connections
            .iter()
            .filter(|main| self.work.is_main(main.role));
        let last = main.map(|main| main.last_completion).max().unwrap_or(0);
        self.progress.elapsed = self.progress.elapsed.max(ends).max(last);
        self.progress.started.get_or_insert(run.started);
        self.progress.over = run.is_over();
    }

    /// Return the plan of each statement that has one, over the first table, with the work of one
    /// execution if `operations` are allowed.
    pub fn explain(&self, operations: u64) -> Result<Vec<Plan>, Failure> {
        let dialect = wire::dialect(&self.job.target)?;
        let mut plans = Vec::new();
        for executions in self.work.executions() {
            let shown = shown_plans(&self.job, &executions)?;
            let work = match operations {
                0 => Work::new(),
                _ => count_work(&self.job, &executions).unwrap_or_default(),
            };
            let (statements, _) = &executions;
            let placed = beside_work(shown, work, statements.len());
            plans.extend(placed.map(|(place, plan, executed)| Plan {
                statement: abbreviate(&dialect.with_placeholders(&statements[place])),
                plan,
                executed,
            }));
        }
        Ok(plans)
    }

    /// Return the seats of the server's processes, if the process of each client's connection is
    /// known.
    pub fn seats(&self) -> Vec<Seat> {
        let clients = self
            .connections
            .iter()
            .filter(|connection| connection.is_client());
        let seats: Option<Vec<Seat>> = clients
            .map(|connection| {
                Some(Seat {
                    role: connection.role,
                    process: connection.server_process?,
                    cpu: connection.cpu,
                })
            })
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

/// Return the plans of statements by index, over a separate connection.
fn shown_plans(
    job: &Prepare,
    (statements, operations): &Executions,
) -> Result<BTreeMap<usize, String>, Failure> {
    let mut connection = connect(job, &job.target, statements)?;
    let mut plans = BTreeMap::new();
    for (place, operation) in operations.iter().enumerate().take(statements.len()) {
        let plan = connection.explain(operation.request(0))?;
        plans.extend(plan.map(|plan| (place, plan)));
    }
    Ok(plans)
}

/// Return the work of statements, over a separate connection. Inserts are not executed: a rollback
/// loses keys generated by the server, and the step's own rows must be consecutive.
fn count_work(job: &Prepare, (statements, operations): &Executions) -> Result<Work, Failure> {
    let dialect = wire::dialect(&job.target)?;
    if dialect.generates_keys() && statements.iter().any(|sql| sql.starts_with("INSERT")) {
        return Ok(Work::new());
    }
    let connection = connect(job, &Counter::target(&job.target), statements)?;
    match Counter::new(connection, dialect, statements.clone())? {
        Some(counter) => counter.count_each(operations),
        None => Ok(Work::new()),
    }
}

fn connect(
    job: &Prepare,
    target: &Target,
    statements: &[String],
) -> Result<Box<dyn wire::Session>, Failure> {
    let mut connection = wire::connect(target)?;
    if job.statements == Statements::Prepared {
        connection.prepare(statements)?;
    }
    Ok(connection)
}

fn check(job: &Prepare) -> Result<(), Failure> {
    let usage = |message| Err(Failure::usage(message));
    if job.cpus.as_ref().is_some_and(Vec::is_empty) {
        return usage("the list of CPUs is empty: name a CPU, or omit the list");
    }
    match job.long_transaction {
        Some(held) if !is_duration(held) => {
            usage("the time for which a transaction is held must be positive")
        }
        _ => Ok(()),
    }
}
