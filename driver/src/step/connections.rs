//! The connections of a step, each with its role.

use std::sync::atomic::AtomicU64;
use std::sync::Arc;

use super::long_transaction::LongTransaction;
use super::{rows_per_commit, wake_policy};
use crate::client::gate::Gate;
use crate::client::operation::Generator;
use crate::client::{Client, Place};
use crate::keys::Sequence;
use crate::measure::{nanoseconds, End, Nanosecond, Pace, Recorder, Schedule};
use crate::protocol::job::{Arrivals, Prepare, Query, Statements, Work};
use crate::wire::{self, Connection, Failure};
use crate::workload::insert::{Deletes, Indexes, Inserts, Queries, Table, INDEXES};

/// The kind of work that a connection does.
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

/// A connection and the work of its thread.
pub struct StepConnection {
    pub role: Role,
    pub client: u32,
    /// The CPU on which its thread has to run.
    pub cpu: Option<u32>,
    /// The server's process that serves the connection, where it is known and there is a CPU for it.
    pub server_process: Option<u32>,
    pub task: Task,
    pub recorder: Recorder,
    /// The statements that it sends, with `?`.
    pub statements: Vec<String>,
}

pub enum Task {
    Client(Box<PacedClient>),
    LongTransaction(LongTransaction),
}

/// A client with its pace, and its gate if its operations have to wait for another client's.
pub struct PacedClient {
    pub client: Client,
    pub pace: Pace,
    pub gate: Option<Arc<Gate>>,
}

impl StepConnection {
    pub fn connection(&self) -> &dyn Connection {
        match &self.task {
            Task::Client(paced) => paced.client.connection(),
            Task::LongTransaction(transaction) => transaction.session.as_ref(),
        }
    }
}

/// A step's job, and the state that its connections share.
pub struct StepSetup {
    pub job: Prepare,
    /// One table for each client, or one for all.
    pub tables: Vec<Arc<Table>>,
    /// The gate of each client.
    pub gates: Vec<Arc<Gate>>,
    /// The number of indexes that were created.
    pub indexes: Arc<AtomicU64>,
}

pub fn indexes_of_a_table() -> u64 {
    INDEXES.len() as u64
}

impl StepSetup {
    pub fn new(job: Prepare) -> Result<Self, Failure> {
        let mut connection = wire::connect(&job.target)?;
        let tables = (0..)
            .zip(&job.inserted)
            .map(|(number, &inserted)| {
                Table::find(connection.as_mut(), number, inserted).map(Arc::new)
            })
            .collect::<Result<_, Failure>>()?;
        let gate = || Gate::new(rows_per_commit(&job.work), wake_policy(&job.work));
        Ok(Self {
            tables,
            gates: (0..job.clients).map(|_| Arc::new(gate())).collect(),
            indexes: Arc::default(),
            job,
        })
    }

    /// Open the connections of all roles of the step.
    pub fn connections(&self) -> Result<Vec<StepConnection>, Failure> {
        let mut connections = Vec::new();
        for client in 0..self.job.clients {
            match self.job.work {
                Work::Load { rows, .. } => {
                    let pace = Pace::new(self.end_of_inserts(rows), None);
                    connections.push(self.inserter(client, pace, Some(rows), None)?);
                }
                Work::Index if client < self.job.tables => connections.push(self.indexer(client)?),
                Work::Index => {}
                Work::Replace { rows, .. } => {
                    let gate = &self.gates[client as usize];
                    let pace = Pace::new(self.end_of_inserts(rows), None);
                    connections.push(self.inserter(client, pace, Some(rows), Some(gate))?);
                    connections.push(self.deleter(client, until_inserter_ends())?);
                }
                Work::Query { query, seconds, .. } => {
                    let end = nanoseconds(seconds);
                    let gate = &self.gates[client as usize];
                    connections.push(self.querier(client, query, end)?);
                    let pace = Pace::background(end, self.schedule(Role::Insert, client));
                    connections.push(self.inserter(client, pace, None, Some(gate))?);
                    let pace = Pace::background(end, self.schedule(Role::Delete, client));
                    connections.push(self.deleter(client, pace)?);
                }
            }
        }
        match (self.job.long_transaction, &self.job.work) {
            // MySQL's CREATE INDEX waits for every open transaction that has read the table.
            (None, _) | (_, Work::Index) => {}
            (Some(held), _) => connections.push(self.long_transaction(nanoseconds(held))?),
        }
        Ok(connections)
    }

    /// Return the times at which a writer's statements are due: all writers of the step take turns, a
    /// deleter half a turn behind its inserter.
    pub fn schedule(&self, role: Role, client: u32) -> Schedule {
        let clients = u64::from(self.job.clients);
        let slot = 2 * u64::from(client) + u64::from(role == Role::Delete);
        let per_second = 2.0 * clients as f64 * statements_per_second(&self.job.work);
        let stream = Sequence::new(self.job.seed, "turns").stream(0);
        Schedule::new(per_second, Arrivals::Uniform, slot, 2 * clients, stream)
    }

    /// Return the CPU of a connection's thread. Queries do not share their CPU with the writes beside
    /// them. An inserter and its deleter do share theirs: they wake each other up all the time, which
    /// is expensive from one CPU to another. A connection that creates an index has none, because its
    /// server process may have helpers, which would inherit its CPU.
    fn cpu(&self, role: Role, client: u32) -> Option<u32> {
        let cpus = self.job.cpus.as_ref()?;
        let offset = match (role, &self.job.work) {
            (Role::Index | Role::Transaction, _) => return None,
            (Role::Insert | Role::Delete, Work::Query { .. }) => 1,
            _ => 0,
        };
        Some(cpus[(client as usize + offset) % cpus.len()])
    }

    fn end_of_inserts(&self, rows: u64) -> End {
        End::Position(rows.div_ceil(rows_per_commit(&self.job.work)))
    }

    fn table(&self, client: u32) -> &Arc<Table> {
        &self.tables[client as usize % self.tables.len()]
    }

    /// Connect an inserter that adds `rows` rows, or without end; it waits for the deleter behind the
    /// gate, if there is one.
    fn inserter(
        &self,
        client: u32,
        pace: Pace,
        rows: Option<u64>,
        gate: Option<&Arc<Gate>>,
    ) -> Result<StepConnection, Failure> {
        let (job, table) = (&self.job, self.table(client));
        let each = rows_per_commit(&job.work);
        let generator = Inserts::new(
            table.clone(),
            self.gates[client as usize].clone(),
            job.seed,
            each,
            rows,
            job.statements,
        );
        let statements = Inserts::statements(table, each, rows);
        let generator = Box::new(generator);
        self.connect(Role::Insert, client, statements, generator, pace, gate)
    }

    fn deleter(&self, client: u32, pace: Pace) -> Result<StepConnection, Failure> {
        let (job, table) = (&self.job, self.table(client));
        let gate = &self.gates[client as usize];
        let each = rows_per_commit(&job.work);
        let generator = Deletes::new(table.clone(), gate.clone(), each, job.statements);
        let (statements, generator) = (vec![Deletes::sql(table)], Box::new(generator));
        self.connect(
            Role::Delete,
            client,
            statements,
            generator,
            pace,
            Some(gate),
        )
    }

    fn querier(
        &self,
        client: u32,
        query: Query,
        end: Nanosecond,
    ) -> Result<StepConnection, Failure> {
        let (job, table) = (&self.job, self.table(client));
        let sequence = Sequence::new(job.seed, &format!("queries of client {client}"));
        let statements = Queries::statements(table, query, wire::dialect(&job.target));
        let form = job.statements;
        let generator = Box::new(Queries::new(
            table.clone(),
            query,
            &statements,
            form,
            sequence,
        ));
        let pace = Pace::new(End::At(end), None);
        self.connect(Role::Query, client, statements, generator, pace, None)
    }

    fn indexer(&self, client: u32) -> Result<StepConnection, Failure> {
        let target = &self.job.target;
        let definitions = wire::dialect(target).definitions(target.engine.as_deref())?;
        let table = &self.table(client).name;
        let rows = self.job.inserted[client as usize];
        let generator = Indexes::new(table, rows, &definitions, self.indexes.clone());
        let statements = Indexes::statements(table, &definitions);
        let pace = Pace::new(End::Position(indexes_of_a_table()), None);
        self.connect(
            Role::Index,
            client,
            statements,
            Box::new(generator),
            pace,
            None,
        )
    }

    fn connect(
        &self,
        role: Role,
        client: u32,
        statements: Vec<String>,
        generator: Box<dyn Generator>,
        pace: Pace,
        gate: Option<&Arc<Gate>>,
    ) -> Result<StepConnection, Failure> {
        let mut connection = wire::connect(&self.job.target)?;
        if role != Role::Index && self.job.statements == Statements::Prepared {
            connection.prepare(&statements)?;
        }
        let cpu = self.cpu(role, client);
        let server_process = match cpu {
            Some(_) => connection.server_process()?,
            None => None,
        };
        let paced = PacedClient {
            client: Client::new(connection, generator, Place::ALONE).abort_on_error(),
            pace,
            gate: gate.cloned(),
        };
        Ok(StepConnection {
            role,
            client,
            cpu,
            server_process,
            task: Task::Client(Box::new(paced)),
            recorder: Recorder::new(),
            statements,
        })
    }

    fn long_transaction(&self, held: Nanosecond) -> Result<StepConnection, Failure> {
        let end = match self.job.work {
            Work::Query { seconds, .. } => Some(nanoseconds(seconds)),
            _ => None,
        };
        let table = &self.tables[0].name;
        let transaction = LongTransaction::new(&self.job.target, table, held, end)?;
        Ok(StepConnection {
            role: Role::Transaction,
            client: 0,
            cpu: None,
            server_process: None,
            statements: transaction.statements(),
            task: Task::LongTransaction(transaction),
            recorder: Recorder::new(),
        })
    }
}

/// Return the pace of a deleter, which ends when its inserter has ended.
pub fn until_inserter_ends() -> Pace {
    Pace::new(End::Position(u64::MAX), None)
}

/// Return the rate of one writer.
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
