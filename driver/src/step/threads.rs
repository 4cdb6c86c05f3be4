//! The threads of a step.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Barrier};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::retry_on_intr;
use rustix::net::Shutdown;

use super::connections::{until_there_are_no_more, Member, Role, Task, Worker};
use crate::client::blocking::run_in_order;
use crate::client::gate::{Ahead, Behind, Free};
use crate::client::Context;
use crate::measure::pacing::{Clock, Nanosecond, Pace};
use crate::measure::recorder::Recorder;
use crate::measure::usage::ThreadUse;
use crate::measure::window::{prefer_punctual_sleep, stay_on, Window, WindowClock};
use crate::wire::{Connection, Failure, Traffic};

/// How often is looked whether a server is gone without a member's notice.
const ROUND: Duration = Duration::from_millis(200);
const ROUNDS_PER_PROGRESS: u32 = 5;

/// What all members did.
pub struct Shift {
    /// Unix time at which the window opened.
    pub started: f64,
    /// By member.
    pub parts: Vec<Part>,
}

/// What one member did in the window.
#[derive(Clone, Copy)]
pub struct Part {
    pub used: ThreadUse,
    pub traffic: Traffic,
    pub last_completion: Nanosecond,
}

/// What ends the work of members before their own end.
#[derive(Default)]
struct Signals {
    /// One has failed: the step is void.
    abandoned: AtomicBool,
    /// All others have done their part.
    over: AtomicBool,
}

/// Lets the members work, and hears of each when it has done its part; the first failure ends the
/// work of all. `progress` hears every second how long the window has been open.
pub fn work(
    members: &mut [Member],
    mut progress: impl FnMut(Nanosecond),
) -> Result<Shift, Failure> {
    let connections = connections(members)?;
    let holders = members
        .iter()
        .filter(|member| member.role == Role::Transaction)
        .count();
    let barrier = Barrier::new(members.len() + 1);
    let (window, signals) = (Window::default(), Signals::default());
    let (report, reports) = mpsc::channel();
    std::thread::scope(|scope| {
        let threads: Vec<_> = members
            .iter_mut()
            .enumerate()
            .map(|(place, member)| {
                let (barrier, window, signals) = (&barrier, &window, &signals);
                let report = report.clone();
                scope.spawn(move || {
                    prefer_punctual_sleep();
                    let placed = member.cpu.map_or(Ok(()), stay_on);
                    barrier.wait();
                    let part = placed.and_then(|()| play(member, &window.clock(), signals));
                    // The other end waits for all of us.
                    let _ = report.send((place, part));
                })
            })
            .collect();
        drop(report);
        barrier.wait();
        let threads: Vec<_> = threads
            .iter()
            .map(|handle| handle.thread().clone())
            .collect();
        let crew = Crew {
            threads,
            connections,
            holders,
            signals: &signals,
        };
        let clock = window.clock();
        let parts = crew.oversee(&reports, || progress(clock.now()))?;
        Ok(Shift {
            started: window.opened().started,
            parts,
        })
    })
}

/// The connections, to be shut down from outside.
fn connections(members: &[Member]) -> Result<Vec<OwnedFd>, Failure> {
    members
        .iter()
        .map(|member| {
            let connection = member.connection();
            let descriptor = connection.descriptor().try_clone_to_owned();
            descriptor.map_err(Failure::connection)
        })
        .collect()
}

impl Member {
    pub fn connection(&self) -> &dyn Connection {
        match &self.task {
            Task::Work(worker) => worker.client.connection(),
            Task::Hold(hold) => hold.session.as_ref(),
        }
    }
}

type Report = (usize, Result<Part, Failure>);

struct Crew<'a> {
    threads: Vec<Thread>,
    connections: Vec<OwnedFd>,
    /// Members that only stay as long as the others.
    holders: usize,
    signals: &'a Signals,
}

impl Crew<'_> {
    /// By member, once all have come to their end.
    fn oversee(
        &self,
        reports: &mpsc::Receiver<Report>,
        mut progress: impl FnMut(),
    ) -> Result<Vec<Part>, Failure> {
        let mut parts = vec![None; self.threads.len()];
        let mut working = self.threads.len() - self.holders;
        let mut outcome = Ok(());
        let mut rounds = (1..=ROUNDS_PER_PROGRESS).cycle();
        let mut next_round = Instant::now() + ROUND;
        let mut hung_up = false;
        loop {
            match reports.recv_timeout(next_round.saturating_duration_since(Instant::now())) {
                Ok((place, Ok(part))) => {
                    parts[place] = Some(part);
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
                    next_round += ROUND;
                    if rounds.next() == Some(ROUNDS_PER_PROGRESS) {
                        progress();
                    }
                    // A member that is not asleep finds out by itself, and what the server said.
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
        Ok(parts.into_iter().flatten().collect())
    }

    /// Whether a server has closed a connection: whoever sleeps until something is due does not see
    /// it.
    fn has_hung_up(&self) -> Result<bool, Failure> {
        let mut watched: Vec<_> = self
            .connections
            .iter()
            .map(|connection| PollFd::new(connection, PollFlags::RDHUP))
            .collect();
        let now = Timespec::default();
        let found = retry_on_intr(|| poll(&mut watched, Some(&now)));
        found
            .map(|connections| connections > 0)
            .map_err(Failure::connection)
    }

    /// Whoever waits for a server, another member or a time does not wait any longer.
    fn abandon(&self) {
        self.signals.abandoned.store(true, Ordering::SeqCst);
        self.signals.over.store(true, Ordering::SeqCst);
        for connection in &self.connections {
            // One that is shut down already is what we want.
            let _ = rustix::net::shutdown(connection, Shutdown::Both);
        }
        self.wake();
    }

    fn wake(&self) {
        self.threads.iter().for_each(Thread::unpark);
    }
}

/// A member's part, from the opening of the window to its end.
fn play(member: &mut Member, clock: &WindowClock, signals: &Signals) -> Result<Part, Failure> {
    let before = ThreadUse::now();
    let part = |connection: &dyn Connection, last_completion| Part {
        used: ThreadUse::now().since(before),
        traffic: connection.traffic(),
        last_completion,
    };
    match &mut member.task {
        Task::Hold(hold) => {
            let last = hold.run(clock, &mut member.recorder, &signals.over)?;
            Ok(part(hold.session.as_ref(), last))
        }
        Task::Work(worker) => {
            let role = member.role;
            worker.client.open_window();
            let recorder = &mut member.recorder;
            let worked = worker.work(role, &mut Context { clock, recorder }, signals);
            if let (Role::Insert, Some(gate)) = (role, &worker.gate) {
                gate.close();
            }
            worked?;
            let part = part(worker.client.connection(), worker.client.last_completion());
            if role == Role::Delete {
                worker.catch_up(clock, signals)?;
            }
            Ok(part)
        }
    }
}

impl Worker {
    fn work(
        &mut self,
        role: Role,
        context: &mut Context<'_, WindowClock>,
        signals: &Signals,
    ) -> Result<(), Failure> {
        let Self { client, pace, gate } = self;
        let abandoned = &signals.abandoned;
        match (role, gate) {
            (Role::Insert, Some(gate)) => {
                run_in_order(client, pace, &Ahead(gate), context, abandoned)
            }
            (Role::Delete, Some(gate)) => {
                run_in_order(client, pace, &Behind(gate), context, abandoned)
            }
            _ => run_in_order(client, pace, &Free, context, abandoned),
        }
    }

    /// After the window: deletes what was inserted and not made up for, unmeasured, so that the
    /// table ends with as many rows as it began with.
    fn catch_up(&mut self, clock: &WindowClock, signals: &Signals) -> Result<(), Failure> {
        let recorder = &mut Recorder::new();
        let mut pace: Pace = until_there_are_no_more();
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        run_in_order(
            &mut self.client,
            &mut pace,
            &Behind(gate),
            &mut Context { clock, recorder },
            &signals.abandoned,
        )
    }
}
