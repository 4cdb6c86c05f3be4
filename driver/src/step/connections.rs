//! Who takes part in a step.

use std::sync::atomic::AtomicU64;
use std::sync::Arc;

use super::long_transaction::Hold;
use super::{rows_per_commit, NANOSECONDS};
use crate::client::gate::Gate;
use crate::client::operation::Generator;
use crate::client::{Client, Place};
use crate::keys::Sequence;
use crate::measure::pacing::{End, Nanosecond, Pace, Schedule};
use crate::measure::recorder::Recorder;
use crate::protocol::job::{Arrivals, Prepare, Query, Work};
use crate::wire::{self, Failure};
use crate::workload::insert::{Deletes, Indexes, Inserts, Queries, Table};

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Insert,
    Delete,
    Query,
    Index,
    Transaction,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Query => "query",
            Self::Index => "index",
            Self::Transaction => "transaction",
        }
    }
}

/// A connection and its thread's part.
pub struct Member {
    pub role: Role,
    pub client: u32,
    /// Where its thread has to run.
    pub cpu: Option<u32>,
    /// The one that serves the connection, where it is known and there is a CPU for it.
    pub server_process: Option<u32>,
    pub task: Task,
    pub recorder: Recorder,
    /// What it sends, with `?`.
    pub statements: Vec<String>,
}

pub enum Task {
    Work(Box<Worker>),
    Hold(Hold),
}

/// A client with its plan for the step.
pub struct Worker {
    pub client: Client,
    pub pace: Pace,
    pub gate: Option<Arc<Gate>>,
}

/// Makes the members of a step.
pub struct Team<'a> {
    pub job: &'a Prepare,
    /// Either by client or one.
    pub tables: &'a [Arc<Table>],
    pub gates: &'a [Arc<Gate>],
    pub indexes: &'a Arc<AtomicU64>,
}

pub fn indexes_of_a_table() -> u64 {
    crate::workload::insert::INDEXES.len() as u64
}

impl Team<'_> {
    pub fn members(&self) -> Result<Vec<Member>, Failure> {
        let mut members = Vec::new();
        for client in 0..self.job.clients {
            match self.job.work {
                Work::Load { rows, .. } => {
                    let pace = Pace::new(self.end_of_inserts(rows), None);
                    members.push(self.inserter(client, pace, Some(rows), None)?);
                }
                Work::Index if client < self.job.tables => members.push(self.indexer(client)?),
                Work::Index => {}
                Work::Replace { rows, .. } => {
                    let gate = &self.gates[client as usize];
                    let pace = Pace::new(self.end_of_inserts(rows), None);
                    members.push(self.inserter(client, pace, Some(rows), Some(gate))?);
                    members.push(self.deleter(client, until_there_are_no_more())?);
                }
                Work::Query { query, seconds, .. } => {
                    let end = nanoseconds(seconds);
                    let gate = &self.gates[client as usize];
                    members.push(self.querier(client, query, end)?);
                    let pace = Pace::background(end, self.schedule(Role::Insert, client));
                    members.push(self.inserter(client, pace, None, Some(gate))?);
                    let pace = Pace::background(end, self.schedule(Role::Delete, client));
                    members.push(self.deleter(client, pace)?);
                }
            }
        }
        match (self.job.long_transaction, &self.job.work) {
            // MySQL's CREATE INDEX waits for whoever has read the table and is still in a transaction.
            (None, _) | (_, Work::Index) => {}
            (Some(held), _) => members.push(self.holder(nanoseconds(held))?),
        }
        Ok(members)
    }

    /// When the statements of a writer are due: all writers of the step take turns, a deleter half
    /// a turn behind its inserter.
    pub fn schedule(&self, role: Role, client: u32) -> Schedule {
        let clients = u64::from(self.job.clients);
        let slot = 2 * u64::from(client) + u64::from(role == Role::Delete);
        let per_second = 2.0 * clients as f64 * statements_per_second(&self.job.work);
        let stream = Sequence::new(self.job.seed, "turns").stream(0);
        Schedule::new(per_second, Arrivals::Uniform, slot, 2 * clients, stream)
    }

    /// Queries do not share their CPU with the writes beside them. An inserter and its deleter do
    /// share theirs: they wake each other up all the time, which is dear from one CPU to another. Who
    /// creates an index may have helpers, which would inherit its CPU.
    fn cpu(&self, role: Role, client: u32) -> Option<u32> {
        let cpus = self.job.cpus.as_ref()?;
        let beside = match (role, &self.job.work) {
            (Role::Index | Role::Transaction, _) => return None,
            (Role::Insert | Role::Delete, Work::Query { .. }) => 1,
            _ => 0,
        };
        Some(cpus[(client as usize + beside) % cpus.len()])
    }

    fn end_of_inserts(&self, rows: u64) -> End {
        End::Position(rows.div_ceil(rows_per_commit(&self.job.work)))
    }

    fn table(&self, client: u32) -> &Arc<Table> {
        &self.tables[client as usize % self.tables.len()]
    }

    fn inserter(
        &self,
        client: u32,
        pace: Pace,
        rows: Option<u64>,
        behind: Option<&Arc<Gate>>,
    ) -> Result<Member, Failure> {
        let (job, table) = (self.job, self.table(client));
        let each = rows_per_commit(&job.work);
        let generator = Inserts::new(
            table.clone(),
            self.gates[client as usize].clone(),
            job.seed,
            each,
            rows,
            job.statements,
        );
        let plan = Plan {
            role: Role::Insert,
            client,
            statements: Inserts::statements(table, each, rows),
            pace,
            gate: behind.cloned(),
        };
        self.worker(plan, Box::new(generator))
    }

    fn deleter(&self, client: u32, pace: Pace) -> Result<Member, Failure> {
        let table = self.table(client);
        let gate = &self.gates[client as usize];
        let each = rows_per_commit(&self.job.work);
        let generator = Deletes::new(table.clone(), gate.clone(), each, self.job.statements);
        let plan = Plan {
            role: Role::Delete,
            client,
            statements: vec![Deletes::sql(table)],
            pace,
            gate: Some(gate.clone()),
        };
        self.worker(plan, Box::new(generator))
    }

    fn querier(&self, client: u32, query: Query, end: Nanosecond) -> Result<Member, Failure> {
        let (job, table) = (self.job, self.table(client));
        let purpose = format!("queries of client {client}");
        let sequence = Sequence::new(job.seed, &purpose);
        let statements = Queries::statements(table, query, wire::dialect(&job.target));
        let form = job.statements;
        let generator = Queries::new(table.clone(), query, &statements, form, sequence);
        let plan = Plan {
            role: Role::Query,
            client,
            statements,
            pace: Pace::new(End::At(end), None),
            gate: None,
        };
        self.worker(plan, Box::new(generator))
    }

    fn indexer(&self, client: u32) -> Result<Member, Failure> {
        let definitions =
            wire::dialect(&self.job.target).definitions(self.job.target.engine.as_deref())?;
        let table = self.table(client);
        let rows = self.job.inserted[client as usize];
        let generator = Indexes::new(&table.name, rows, &definitions, self.indexes.clone());
        let plan = Plan {
            role: Role::Index,
            client,
            statements: Indexes::statements(&table.name, &definitions),
            pace: Pace::new(End::Position(indexes_of_a_table()), None),
            gate: None,
        };
        self.worker(plan, Box::new(generator))
    }

    fn worker(&self, plan: Plan, generator: Box<dyn Generator>) -> Result<Member, Failure> {
        let mut connection = wire::connect(&self.job.target)?;
        if plan.role != Role::Index
            && self.job.statements == crate::protocol::job::Statements::Prepared
        {
            connection.prepare(&plan.statements)?;
        }
        let cpu = self.cpu(plan.role, plan.client);
        let server_process = match cpu {
            Some(_) => connection.server_process()?,
            None => None,
        };
        let place = Place {
            client: 0,
            clients: 1,
            first: 0,
        };
        let client = Client::new(connection, generator, place).uncompromising();
        Ok(Member {
            role: plan.role,
            client: plan.client,
            cpu,
            server_process,
            task: Task::Work(Box::new(Worker {
                client,
                pace: plan.pace,
                gate: plan.gate,
            })),
            recorder: Recorder::new(),
            statements: plan.statements,
        })
    }

    fn holder(&self, held: Nanosecond) -> Result<Member, Failure> {
        let end = match self.job.work {
            Work::Query { seconds, .. } => Some(nanoseconds(seconds)),
            _ => None,
        };
        let hold = Hold::new(&self.job.target, &self.tables[0].name, held, end)?;
        Ok(Member {
            role: Role::Transaction,
            client: 0,
            cpu: None,
            server_process: None,
            statements: hold.statements(),
            task: Task::Hold(hold),
            recorder: Recorder::new(),
        })
    }
}

struct Plan {
    role: Role,
    client: u32,
    statements: Vec<String>,
    pace: Pace,
    gate: Option<Arc<Gate>>,
}

/// What ends it is that its inserter has ended.
pub fn until_there_are_no_more() -> Pace {
    Pace::new(End::Position(u64::MAX), None)
}

/// Of one writer.
fn statements_per_second(work: &Work) -> f64 {
    match work {
        Work::Query {
            writes_per_second,
            rows_per_commit,
            ..
        } => writes_per_second / f64::from(*rows_per_commit),
        _ => unreachable!("only the writers of a q-step have a rate"),
    }
}

pub fn nanoseconds(seconds: f64) -> Nanosecond {
    (seconds * NANOSECONDS) as Nanosecond
}
