//! A session: the connections and prepared statements of one test, kept from slice to slice.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;

use crate::client::operation::Operation;
use crate::client::readiness::Readiness;
use crate::client::{Client, Place};
use crate::measure::Recorder;
use crate::protocol::event::Plan;
use crate::protocol::job::Open;
use crate::protocol::target::Target;
use crate::slice::freshness::Log;
use crate::wire::interrupt::Interrupt;
use crate::wire::reconnecting::Reconnecting;
use crate::wire::{self, Failure, Request};
use crate::work::{beside_work, Counter, Work};
use crate::workload::{self, Shape, Test, TestRequest};

/// The most clients per core that have their own thread, which the scheduler can move to the core of
/// its server process. With more clients the cores are busy wherever threads run, and a thread that
/// finds several replies at a wake-up costs less than switches between many threads.
const OWN_THREADS_PER_CORE: usize = 3;

/// Maximum number of characters of a statement in a message.
const SHOWN: usize = 100;

pub struct Session {
    pub test: Box<dyn Test>,
    pub workers: Vec<Worker>,
    /// The sum of the records of several workers.
    total: Recorder,
    /// True if a client has failed in the middle of an operation.
    pub broken: bool,
    /// Handles that shut down the connections of hung clients.
    pub interrupts: Vec<Arc<Interrupt>>,
    /// The server's process of each client; empty if unknown.
    pub server_processes: Vec<u32>,
    pub seed: u64,
    pub target: Target,
    /// The role of its operations in measuring freshness.
    pub freshness: Option<Log>,
}

/// The clients of one thread.
pub struct Worker {
    pub clients: Vec<Client>,
    pub waits: Waits,
    pub recorder: Recorder,
    /// The CPU on which its thread has to run.
    pub cpu: Option<u32>,
}

pub enum Waits {
    ForOne,
    ForMany(Readiness),
}

/// The distribution of clients over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    OneEach,
    Shared(usize),
}

impl Threads {
    /// Choose a thread for each client, or as many shared threads as cores: fewer would save a little
    /// client time, but leave a core idle while replies wait for a thread. If statements run in the
    /// client's thread, threads cannot be shared.
    fn choose(clients: &[Client], cores: usize) -> Self {
        let by_descriptor = |client: &Client| client.connection().descriptor().is_some();
        if clients.iter().all(by_descriptor) {
            Self::of_connections(clients.len(), cores)
        } else {
            Self::OneEach
        }
    }

    fn of_connections(clients: usize, cores: usize) -> Self {
        if clients <= cores * OWN_THREADS_PER_CORE {
            Self::OneEach
        } else {
            Self::Shared(cores)
        }
    }
}

impl Session {
    /// Add the records of several workers; a single worker's record is the total already.
    pub fn add_up(&mut self) {
        if self.workers.len() > 1 {
            self.total.reset();
            for worker in &self.workers {
                self.total.merge(&worker.recorder);
            }
        }
    }

    /// Return the summed record of all workers.
    pub fn total(&self) -> &Recorder {
        match self.workers.as_slice() {
            [alone] => &alone.recorder,
            _ => &self.total,
        }
    }

    pub fn open(job: &Open) -> Result<Self, Failure> {
        check_cpus(job)?;
        let shape = Shape {
            tables: job.tables.into(),
            rows: job.rows.into(),
            clients: job.clients.into(),
            seed: job.seed,
        };
        let request = TestRequest {
            benchmark: &job.benchmark,
            test: &job.test,
            described: job.described.as_ref(),
        };
        let test = workload::test(&request, shape, wire::dialect(&job.target)?)?;
        let mut connections = (0..shape.clients)
            .map(|_| connect_client(&job.target, test.as_ref()))
            .collect::<Result<Vec<_>, Failure>>()?;
        let server_processes = match job.cpus {
            Some(_) if !job.target.foreign => {
                let processes = connections.iter_mut().map(|client| client.server_process());
                all_or_none(processes)?
            }
            _ => Vec::new(),
        };
        let interrupts = connections
            .iter()
            .filter_map(|client| client.interrupt())
            .collect();
        let described = job.described.as_ref();
        let freshness = described.and_then(|test| test.freshness.as_ref());
        let freshness = freshness.map(|part| Log::new(part, shape.clients));
        let clients = (0..)
            .zip(connections)
            .map(|(client, connection)| {
                let place = Place {
                    first: job.first,
                    client,
                    clients: shape.clients,
                };
                let generator = test.generator();
                let generator = match &freshness {
                    Some(log) => log.watch(generator),
                    None => generator,
                };
                Client::new(connection, generator, place)
            })
            .collect();
        Ok(Self {
            workers: place(clients, job.cpus.as_deref())?,
            server_processes,
            total: Recorder::new(),
            broken: false,
            interrupts,
            freshness,
            seed: job.seed,
            target: job.target.clone(),
            test,
        })
    }

    /// Return the statement that a client waits for, after an interrupted slice.
    pub fn pending_statement(&self) -> Option<String> {
        let request = self.clients().find_map(Client::pending_request)?;
        let sql = match request {
            Request::Prepared { statement, .. } => self.test.prepared().get(statement)?.clone(),
            Request::Text(sql) => sql.to_owned(),
        };
        let mut words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = words.char_indices().nth(SHOWN) {
            words.truncate(end);
            words.push_str("...");
        }
        Some(words)
    }

    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        self.workers.iter().flat_map(|worker| &worker.clients)
    }

    /// Return the plan of each statement that has one, on the first table and with the values of its
    /// first execution. Separate connections ask for them, so that the clients' prepared statements
    /// stay unchanged. Each plan comes with the work of the statement in at most `operations`
    /// operations.
    pub fn explain(&self, operations: u64) -> Result<Vec<Plan>, Failure> {
        let plans = self.plans()?;
        let work = match operations {
            0 => Work::new(),
            // A server that cannot execute them in time has no counts for them.
            most => self.work(most).unwrap_or_default(),
        };
        let dialect = wire::dialect(&self.target)?;
        let statements = self.test.statements();
        let placed = beside_work(plans, work, statements.len());
        Ok(placed
            .map(|(place, plan, executed)| Plan {
                statement: dialect.with_placeholders(&statements[place]),
                plan,
                executed,
            })
            .collect())
    }

    /// Return the plan of each statement that has one, by the index of the statement.
    fn plans(&self) -> Result<BTreeMap<usize, String>, Failure> {
        let test = self.test.alone();
        let mut connection = connect(&self.target, test.as_ref())?;
        let mut operation = Operation::default();
        test.generator().compose(0, &mut operation);
        let statements = test.statements();
        let mut plans = BTreeMap::new();
        let mut explained = vec![false; statements.len()];
        for (call, place) in test.statement_of_calls().into_iter().enumerate() {
            let request = operation.request(call);
            if std::mem::replace(&mut explained[place], true) || !wire::has_plan(&statements[place])
            {
                continue;
            }
            plans.extend(connection.explain(request)?.map(|plan| (place, plan)));
        }
        Ok(plans)
    }

    /// Return the work of each statement in the first operations of the session's test.
    fn work(&self, most: u64) -> Result<Work, Failure> {
        let test = self.test.with_every_call();
        let connection = connect(&Counter::target(&self.target), test.as_ref())?;
        let dialect = wire::dialect(&self.target)?;
        let Some(counter) = Counter::new(connection, dialect, test.statements())? else {
            return Ok(Work::new());
        };
        let first = self.clients().next().map_or(0, |client| client.place.first);
        let mut generator = test.generator();
        counter.count(most, &test.statement_of_calls(), |index, operation| {
            generator.compose(first + index, operation);
        })
    }

    pub fn statements(&self) -> Result<Vec<String>, Failure> {
        let dialect = wire::dialect(&self.target)?;
        let statements = self.test.statements().into_iter();
        Ok(statements
            .map(|sql| dialect.with_placeholders(&sql))
            .collect())
    }
}

/// Return the processes if all are known: an incomplete list would be matched with the wrong clients.
/// After the first unknown one, no further process is looked up.
fn all_or_none(
    processes: impl Iterator<Item = Result<Option<u32>, Failure>>,
) -> Result<Vec<u32>, Failure> {
    let all: Option<Vec<u32>> = processes.collect::<Result<_, Failure>>()?;
    Ok(all.unwrap_or_default())
}

/// Return a client's connection, which reconnects in each operation if the test requires it.
fn connect_client(target: &Target, test: &dyn Test) -> Result<Box<dyn wire::Session>, Failure> {
    let connection = connect(target, test)?;
    Ok(match test.reconnects() {
        true => Box::new(Reconnecting::from(connection, target)),
        false => connection,
    })
}

/// Return a connection for the test's operations.
fn connect(target: &Target, test: &dyn Test) -> Result<Box<dyn wire::Session>, Failure> {
    let mut connection = wire::connect(target)?;
    for statement in test.session() {
        connection.query(&statement)?;
    }
    connection.prepare(&test.prepared())?;
    Ok(connection)
}

fn check_cpus(job: &Open) -> Result<(), Failure> {
    match &job.cpus {
        Some(cpus) if cpus.len() != job.clients as usize => Err(Failure::usage(format!(
            "{} CPUs for {} clients: name one CPU per client",
            cpus.len(),
            job.clients
        ))),
        _ => Ok(()),
    }
}

/// Place the clients on threads. If CPUs are named, the clients of each CPU are spread over separate
/// threads, which stay on the CPU.
fn place(clients: Vec<Client>, cpus: Option<&[u32]>) -> Result<Vec<Worker>, Failure> {
    let Some(cpus) = cpus else {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = Threads::choose(&clients, cores);
        return spread(clients, threads);
    };
    let mut clients_by_cpu: BTreeMap<u32, Vec<Client>> = BTreeMap::new();
    for (client, &cpu) in clients.into_iter().zip(cpus) {
        clients_by_cpu.entry(cpu).or_default().push(client);
    }
    let mut workers = Vec::new();
    for (cpu, clients) in clients_by_cpu {
        let threads = Threads::choose(&clients, 1);
        workers.extend(spread(clients, threads)?.into_iter().map(|worker| Worker {
            cpu: Some(cpu),
            ..worker
        }));
    }
    Ok(workers)
}

fn spread(mut clients: Vec<Client>, threads: Threads) -> Result<Vec<Worker>, Failure> {
    let clients_of_a_thread = match threads {
        Threads::OneEach => 1,
        Threads::Shared(threads) => clients.len().div_ceil(threads),
    };
    let mut workers = Vec::new();
    while !clients.is_empty() {
        let rest = clients.split_off(clients_of_a_thread.min(clients.len()));
        workers.push(Worker {
            waits: match threads {
                Threads::OneEach => Waits::ForOne,
                Threads::Shared(_) => Waits::ForMany(Readiness::watch(&clients)?),
            },
            clients: std::mem::replace(&mut clients, rest),
            recorder: Recorder::new(),
            cpu: None,
        });
    }
    Ok(workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_known_of_all_clients_or_of_none() {
        assert_eq!(
            all_or_none([Ok(Some(7)), Ok(Some(9))].into_iter()),
            Ok(vec![7, 9])
        );
        let mut lookups = 0;
        let answers = [Some(7), None, Some(9)].into_iter().map(|answer| {
            lookups += 1;
            Ok(answer)
        });
        assert_eq!(all_or_none(answers), Ok(vec![]));
        assert_eq!(lookups, 2);
        let refused = Failure::usage("no");
        let answers = [Ok(Some(7)), Err(refused.clone())];
        assert_eq!(all_or_none(answers.into_iter()), Err(refused));
    }

    #[test]
    fn few_clients_have_their_own_threads_and_many_share() {
        assert_eq!(Threads::of_connections(1, 1), Threads::OneEach);
        assert_eq!(Threads::of_connections(6, 2), Threads::OneEach);
        assert_eq!(Threads::of_connections(7, 2), Threads::Shared(2));
        assert_eq!(Threads::of_connections(64, 64), Threads::OneEach);
    }
}
