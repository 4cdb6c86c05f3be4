//! The connections of a step, each with its role.

use std::sync::Arc;

use super::long_transaction::LongTransaction;
use crate::client::gate::GateSide;
use crate::client::{Client, Place};
use crate::measure::{nanoseconds, Nanosecond, Pace, Recorder, ThreadUse};
use crate::protocol::job::{Prepare, Statements};
use crate::wire::interrupt::Interrupt;
use crate::wire::{self, Connection, Failure, Traffic};
use crate::workload::{LongStep, Role, RoleConnection};

const TRANSACTION: Role = "transaction";

/// A connection and the work of its thread.
pub struct StepConnection {
    pub role: Role,
    pub client: u32,
    /// The CPU of its thread.
    pub cpu: Option<u32>,
    /// The server's process that serves the connection, if it is known and CPUs were named.
    pub server_process: Option<u32>,
    pub task: Task,
    /// A handle that shuts the connection down when its step fails.
    pub interrupt: Option<Arc<Interrupt>>,
    pub recorder: Recorder,
    /// The use of its threads in all chunks.
    pub used: ThreadUse,
    /// Its traffic up to its last completion, including connecting.
    pub traffic: Traffic,
    /// The step's own time at its last completion.
    pub last_completion: Nanosecond,
    /// The statements that it sends, with `?`.
    pub statements: Vec<String>,
}

pub enum Task {
    Client(Box<PacedClient>),
    LongTransaction(LongTransaction),
}

/// A client with its pace, and its side of the gate if its operations have to wait for another
/// client's.
pub struct PacedClient {
    pub client: Client,
    pub pace: Pace,
    pub gate: Option<GateSide>,
}

impl StepConnection {
    /// Return whether it is one of the work's clients, not a held transaction.
    pub fn is_client(&self) -> bool {
        matches!(self.task, Task::Client(_))
    }

    pub fn connection(&self) -> &dyn Connection {
        match &self.task {
            Task::Client(paced) => paced.client.connection(),
            Task::LongTransaction(transaction) => transaction.session.as_ref(),
        }
    }
}

/// Open the connections of all roles of the step.
pub fn open(job: &Prepare, work: &dyn LongStep) -> Result<Vec<StepConnection>, Failure> {
    let mut connections = work
        .connections()?
        .into_iter()
        .map(|connection| connect(job, connection))
        .collect::<Result<Vec<_>, Failure>>()?;
    if let (Some(held), Some(read)) = (job.long_transaction, work.long_read()) {
        let held = nanoseconds(held);
        let transaction = LongTransaction::new(&job.target, read, held, work.end())?;
        connections.push(StepConnection {
            role: TRANSACTION,
            client: 0,
            cpu: None,
            server_process: None,
            statements: transaction.statements(),
            interrupt: transaction.session.interrupt(),
            task: Task::LongTransaction(transaction),
            recorder: Recorder::new(),
            used: ThreadUse::default(),
            traffic: Traffic::default(),
            last_completion: 0,
        });
    }
    Ok(connections)
}

fn connect(job: &Prepare, work: RoleConnection) -> Result<StepConnection, Failure> {
    let mut connection = wire::connect(&job.target)?;
    if work.form == Statements::Prepared {
        connection.prepare(&work.statements)?;
    }
    let cpus = job.cpus.as_ref().zip(work.seat);
    let cpu = cpus.map(|(cpus, seat)| cpus[seat % cpus.len()]);
    let server_process = match job.cpus {
        Some(_) if !job.target.foreign => connection.server_process()?,
        _ => None,
    };
    let interrupt = connection.interrupt();
    let paced = PacedClient {
        client: Client::new(connection, work.generator, Place::ALONE).abort_on_error(),
        pace: work.pace,
        gate: work.gate,
    };
    Ok(StepConnection {
        role: work.role,
        client: work.client,
        cpu,
        server_process,
        task: Task::Client(Box::new(paced)),
        interrupt,
        recorder: Recorder::new(),
        used: ThreadUse::default(),
        traffic: Traffic::default(),
        last_completion: 0,
        statements: work.statements,
    })
}
