//! The threads of a step.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Barrier};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::retry_on_intr;

use super::connections::{PacedClient, StepConnection, Task};
use crate::client::blocking::{self, run_when};
use crate::client::gate::{DeleterSide, GateSide, InserterSide};
use crate::client::Context;
use crate::measure::{
    prefer_punctual_sleep, stay_on, Clock, End, Nanosecond, Pace, Recorder, ThreadUse, Window,
    WindowClock,
};
use crate::wire::interrupt::{fire_all, Interrupt};
use crate::wire::{Failure, Traffic};

/// The interval between checks for closed connections of sleeping threads.
const CHECK: Duration = Duration::from_millis(200);
const CHECKS_PER_PROGRESS: u32 = 5;

/// A chunk of a step, which may be the whole step.
#[derive(Clone, Copy)]
pub struct Chunk {
    /// The step's own time at its beginning.
    pub begin: Nanosecond,
    /// Its end; None: the end of the step.
    pub end: Option<End>,
}

/// The window of a chunk, and the results of its connections.
pub struct ChunkRun {
    /// Unix time at which the window opened.
    pub started: f64,
    /// One result for each connection.
    pub results: Vec<ConnectionResult>,
}

/// The result of one connection in the window.
#[derive(Clone, Copy)]
pub struct ConnectionResult {
    pub used: ThreadUse,
    pub traffic: Traffic,
    /// Operations that it completed.
    pub operations: u64,
    /// The step's own time at its last completion, which may have been in an earlier chunk.
    pub last_completion: Nanosecond,
    /// Whether its work is finished.
    pub over: bool,
}

impl ChunkRun {
    /// Return whether the step is at its end.
    pub fn is_over(&self) -> bool {
        self.results.iter().all(|result| result.over)
    }
}

/// Signals that stop threads before their own end.
#[derive(Default)]
struct Signals {
    /// True if a connection has failed: the step is invalid.
    abandoned: AtomicBool,
    /// True if all connections except the long transactions are at their end.
    over: AtomicBool,
}

/// Run a thread for each connection until all are at the end of the chunk; the first failure stops
/// all of them. `progress` is called every second with the step's own time, and returns the finished
/// work: if there is no progress for `patience`, the step fails.
pub fn run(
    connections: &mut [StepConnection],
    chunk: Chunk,
    patience: Option<Duration>,
    progress: impl FnMut(Nanosecond) -> u64,
) -> Result<ChunkRun, Failure> {
    for connection in &mut *connections {
        connection.task.begin_chunk(chunk);
    }
    let window = Window::after(chunk.begin);
    let mut run = run_threads(connections, &window, patience, progress)?;
    if run.is_over() {
        for (connection, result) in connections.iter_mut().zip(&mut run.results) {
            if let Task::LongTransaction(transaction) = &mut connection.task {
                transaction.finish(&window.clock(), &mut connection.recorder)?;
                result.last_completion = transaction.last;
            }
        }
    }
    Ok(run)
}

fn run_threads(
    connections: &mut [StepConnection],
    window: &Window,
    patience: Option<Duration>,
    mut progress: impl FnMut(Nanosecond) -> u64,
) -> Result<ChunkRun, Failure> {
    let descriptors = descriptors(connections)?;
    let interrupts = connections.iter().filter_map(|each| each.interrupt.clone());
    let interrupts = interrupts.collect();
    let tasks = connections.iter().map(|connection| &connection.task);
    let is_long = |task: &&Task| matches!(task, Task::LongTransaction(_));
    let long_transactions = tasks.filter(is_long).count();
    let barrier = Barrier::new(connections.len() + 1);
    let signals = Signals::default();
    let (report, reports) = mpsc::channel();
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .enumerate()
            .map(|(place, connection)| {
                let (barrier, signals) = (&barrier, &signals);
                let report = report.clone();
                let handle = scope.spawn(move || {
                    prefer_punctual_sleep();
                    let placed = connection.cpu.map(stay_on).transpose();
                    barrier.wait();
                    let result =
                        placed.and_then(|_| run_connection(connection, &window.clock(), signals));
                    // The receiver waits for all threads.
                    let _ = report.send((place, result));
                });
                handle.thread().clone()
            })
            .collect();
        drop(report);
        barrier.wait();
        let threads = StepThreads {
            threads,
            descriptors,
            interrupts,
            patience,
            long_transactions,
            signals: &signals,
        };
        let clock = window.clock();
        Ok(ChunkRun {
            results: threads.wait(&reports, || progress(clock.now()))?,
            started: clock.started,
        })
    })
}

/// Return a descriptor of each connection that has one; another thread can shut it down.
fn descriptors(connections: &[StepConnection]) -> Result<Vec<OwnedFd>, Failure> {
    connections
        .iter()
        .filter_map(|connection| connection.connection().descriptor())
        .map(|descriptor| descriptor.try_clone_to_owned().map_err(Failure::connection))
        .collect()
}

type Report = (usize, Result<ConnectionResult, Failure>);

struct StepThreads<'a> {
    threads: Vec<Thread>,
    descriptors: Vec<OwnedFd>,
    interrupts: Vec<Arc<Interrupt>>,
    /// The longest time without progress.
    patience: Option<Duration>,
    /// The number of threads that stop only when all others have stopped.
    long_transactions: usize,
    signals: &'a Signals,
}

impl StepThreads<'_> {
    /// Wait for all threads, and return the results of their connections.
    fn wait(
        &self,
        reports: &mpsc::Receiver<Report>,
        mut progress: impl FnMut() -> u64,
    ) -> Result<Vec<ConnectionResult>, Failure> {
        let mut results = vec![None; self.threads.len()];
        let mut working = self.threads.len() - self.long_transactions;
        let mut outcome = Ok(());
        let mut checks = (1..=CHECKS_PER_PROGRESS).cycle();
        let mut next_check = Instant::now() + CHECK;
        let mut hung_up = false;
        let (mut done, mut progressed) = (0, Instant::now());
        loop {
            match reports.recv_timeout(next_check.saturating_duration_since(Instant::now())) {
                Ok((place, Ok(result))) => {
                    results[place] = Some(result);
                    working = working.saturating_sub(1);
                    if working == 0 {
                        self.signals.over.store(true, Ordering::SeqCst);
                        self.wake();
                    }
                }
                Ok((_, Err(failure))) => {
                    if outcome.is_ok() {
                        outcome = Err(failure);
                        self.abandon();
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    next_check += CHECK;
                    if checks.next() == Some(CHECKS_PER_PROGRESS) {
                        let now = progress();
                        if now != done {
                            (done, progressed) = (now, Instant::now());
                        }
                        let patience = self.patience.filter(|_| outcome.is_ok());
                        if patience.is_some_and(|patience| progressed.elapsed() > patience) {
                            let seconds = progressed.elapsed().as_secs();
                            outcome = Err(Failure::timeout(format!("no progress for {seconds} s")));
                            self.abandon();
                        }
                    }
                    // A thread that is awake sees the end itself, with the server's reason.
                    let before = std::mem::replace(&mut hung_up, self.has_hung_up()?);
                    if before && hung_up && outcome.is_ok() {
                        outcome = Err(Failure::connection("the server closed the connection"));
                        self.abandon();
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        outcome?;
        Ok(results.into_iter().flatten().collect())
    }

    /// Return whether a server has closed a connection. A thread that sleeps until an operation is
    /// due does not notice it.
    fn has_hung_up(&self) -> Result<bool, Failure> {
        let descriptors = self.descriptors.iter();
        let mut watched: Vec<_> = descriptors
            .map(|descriptor| PollFd::new(descriptor, PollFlags::RDHUP))
            .collect();
        let closed = retry_on_intr(|| poll(&mut watched, Some(&Timespec::default())));
        closed
            .map(|connections| connections > 0)
            .map_err(Failure::connection)
    }

    /// End every wait, whether for a server, for another thread or until a given time.
    fn abandon(&self) {
        self.signals.abandoned.store(true, Ordering::SeqCst);
        self.signals.over.store(true, Ordering::SeqCst);
        fire_all(self.interrupts.iter().map(AsRef::as_ref));
        self.wake();
    }

    fn wake(&self) {
        self.threads.iter().for_each(Thread::unpark);
    }
}

/// Run a connection from the opening of the window to its end.
fn run_connection(
    connection: &mut StepConnection,
    clock: &WindowClock,
    signals: &Signals,
) -> Result<ConnectionResult, Failure> {
    let (use_before, operations_before) = (ThreadUse::now(), connection.recorder.operations);
    let recorder = &mut connection.recorder;
    let (last_completion, over) = match &mut connection.task {
        Task::LongTransaction(transaction) => {
            transaction.run(clock, recorder, &signals.over)?;
            (transaction.last, true)
        }
        Task::Client(paced) => {
            paced.run(&mut Context { clock, recorder }, signals)?;
            let client = &paced.client;
            (
                client.tally.last_completion,
                client.is_over(&paced.pace, clock),
            )
        }
    };
    let result = ConnectionResult {
        used: ThreadUse::now().since(use_before),
        traffic: connection.connection().traffic(),
        operations: connection.recorder.operations - operations_before,
        last_completion,
        over,
    };
    if let (Task::Client(paced), true) = (&mut connection.task, over) {
        paced.catch_up(clock, signals)?;
    }
    Ok(result)
}

impl Task {
    /// Prepare for a chunk.
    fn begin_chunk(&mut self, chunk: Chunk) {
        match self {
            Self::LongTransaction(transaction) => transaction.pause(chunk.end),
            Self::Client(paced) => {
                paced.pace.pause(chunk.end);
                paced.client.resume(chunk.begin);
                if let Some(gate) = &paced.gate {
                    gate.open();
                }
            }
        }
    }
}

impl PacedClient {
    fn run(
        &mut self,
        context: &mut Context<'_, WindowClock>,
        signals: &Signals,
    ) -> Result<(), Failure> {
        let Self { client, pace, gate } = self;
        let abandoned = &signals.abandoned;
        match gate {
            None => blocking::run(client, pace, context, abandoned),
            Some(GateSide::Deleter(gate)) => {
                run_when(&DeleterSide(gate), client, pace, context, abandoned)
            }
            Some(GateSide::Inserter(gate)) => {
                let outcome = run_when(&InserterSide(gate), client, pace, context, abandoned);
                gate.close();
                outcome
            }
        }
    }

    /// Delete after the window, unmeasured, as many rows as were inserted and not deleted, so that the
    /// table ends with as many rows as it began with.
    fn catch_up(&mut self, clock: &WindowClock, signals: &Signals) -> Result<(), Failure> {
        let Some(GateSide::Deleter(gate)) = &self.gate else {
            return Ok(());
        };
        let recorder = &mut Recorder::new();
        let (client, pace) = (&mut self.client, &mut Pace::endless());
        let (context, abandoned) = (&mut Context { clock, recorder }, &signals.abandoned);
        run_when(&DeleterSide(gate), client, pace, context, abandoned)
    }
}
