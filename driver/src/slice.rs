//! One slice: all clients of a session run at the same time, and are idle before and after it.
//! Background sessions may run concurrently.

pub mod freshness;
mod report;
pub mod session;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Barrier};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::client::gate::{self, StartCondition, Unconditional};
use crate::client::{blocking, readiness, Context};
use crate::keys::Sequence;
use crate::measure::{
    is_duration, is_rate, nanoseconds, prefer_punctual_sleep, run_on, stay_on, Clock, End,
    Nanosecond, Pace, Schedule, ThreadUse, Window, WindowClock,
};
use crate::protocol::event::Ran;
use crate::protocol::job::{Beside, Rate, Run, Stop};
use crate::protocol::target::longest_wait;
use crate::slice::session::{Session, Waits, Worker};
use crate::wire::interrupt::{fire_all, Interrupt};
use crate::wire::{is_in_process, Failure, Traffic};

/// A background session in the slice.
pub struct Companion<'a> {
    pub session: &'a mut Session,
    pub job: &'a Beside,
}

/// A session in a slice.
struct Side<'a> {
    session: &'a mut Session,
    rate: Option<Rate>,
    /// The paces of the clients, by worker.
    paces: Vec<Vec<Pace>>,
    /// The traffic of its connections before the slice.
    traffic: Traffic,
}

/// The state shared by the threads of all sides.
struct Shared<'a> {
    window: &'a Window,
    barrier: Barrier,
    /// True if a client has failed, which makes the slice invalid.
    abandoned: AtomicBool,
    /// True if the foreground session has stopped.
    ended: AtomicBool,
}

/// The threads of a side.
struct Running<'scope> {
    threads: Vec<ScopedJoinHandle<'scope, Result<ThreadUse, Failure>>>,
    /// Disconnected when all threads have finished.
    under_way: mpsc::Receiver<()>,
    interrupts: Vec<&'scope Interrupt>,
}

/// The time limits of a slice.
#[derive(Clone, Copy)]
struct Limits {
    /// From the start to the end of the foreground operations.
    main: Option<Duration>,
    /// From there to the end of the background operations.
    beside: Option<Duration>,
}

impl Limits {
    fn of(job: &Run) -> Result<Self, Failure> {
        let patience = longest_wait(job.patience)?;
        let seconds = Duration::from_secs_f64(job.stop.seconds.unwrap_or_default());
        Ok(Self {
            main: patience.map(|patience| seconds + patience),
            beside: patience,
        })
    }
}

/// Run a slice of the session, with background sessions, and return its measurements.
pub fn run(
    session: &mut Session,
    companions: &mut [Companion<'_>],
    job: &Run,
) -> Result<Ran, Failure> {
    begin_at(session, job.begin.as_deref())?;
    let mut sides = vec![Side::new(session, &job.stop, job.rate)?];
    for Companion { session, job } in companions {
        sides.push(Side::beside(session, job)?);
    }
    for side in &mut sides {
        side.open_window();
    }
    let window = Window::default();
    let alone = sides.len() == 1 && sides[0].session.workers.len() == 1;
    let outcome = match alone && is_in_process(sides[0].session.target.protocol()) {
        // valgrind counts the thread that receives the commands.
        true => run_here(&mut sides, &window),
        false => Limits::of(job).and_then(|limits| run_workers(&mut sides, &window, limits)),
    };
    if outcome.is_err() {
        for side in &mut sides {
            side.session.broken = true;
        }
    }
    let (uses, ended) = outcome.map_err(|failure| naming_statement(failure, &sides))?;
    for side in &mut sides {
        side.session.add_up();
    }
    Ok(report::report(&sides, job, window.clock(), ended, &uses))
}

/// Add the unfinished statement to the failure of a slice that exceeded its time limit.
fn naming_statement(failure: Failure, sides: &[Side<'_>]) -> Failure {
    match failure {
        Failure::Timeout(message) => {
            let pending = sides
                .iter()
                .find_map(|side| side.session.pending_statement());
            Failure::Timeout(match pending {
                Some(statement) => format!("{message}: {statement}"),
                None => message,
            })
        }
        other => other,
    }
}

impl<'a> Side<'a> {
    fn new(session: &'a mut Session, stop: &Stop, rate: Option<Rate>) -> Result<Self, Failure> {
        if session.broken {
            return Err(Failure::connection(
                "the session failed in an earlier slice: close it and open another",
            ));
        }
        Ok(Self {
            paces: paces(session, stop, rate)?,
            traffic: traffic(session),
            rate,
            session,
        })
    }

    /// Return the side of a session that stops with the foreground session, or at its positions.
    fn beside(session: &'a mut Session, job: &Beside) -> Result<Self, Failure> {
        begin_at(session, job.begin.as_deref())?;
        let positions = job.positions.clone();
        let endless = || vec![u64::MAX; session.clients().count()];
        let stop = Stop {
            seconds: None,
            positions: Some(positions.unwrap_or_else(endless)),
        };
        Self::new(session, &stop, job.rate)
    }

    fn open_window(&mut self) {
        if let Some(freshness) = &self.session.freshness {
            freshness.open_window();
        }
        for worker in &mut self.session.workers {
            worker.recorder.reset();
            for client in &mut worker.clients {
                client.open_window();
            }
        }
    }
}

/// Make each client of a session begin at its given position, if there is one.
fn begin_at(session: &mut Session, positions: Option<&[u64]>) -> Result<(), Failure> {
    let Some(positions) = positions else {
        return Ok(());
    };
    if positions.len() != session.clients().count() {
        return Err(Failure::usage("begin needs one position for each client"));
    }
    let workers = session.workers.iter_mut();
    for client in workers.flat_map(|worker| &mut worker.clients) {
        client.go_to(positions[client.place.client as usize]);
    }
    Ok(())
}

/// Return the paces of the clients, by worker.
fn paces(session: &Session, stop: &Stop, rate: Option<Rate>) -> Result<Vec<Vec<Pace>>, Failure> {
    check(session, stop, rate)?;
    let arrivals = Sequence::new(session.seed, "arrivals");
    Ok(session
        .workers
        .iter()
        .map(|worker| {
            let clients = worker.clients.iter();
            clients
                .map(|client| {
                    let place = client.place;
                    let schedule = rate.map(|rate| {
                        let stream = arrivals.stream(place.operation(client.position()));
                        let Rate {
                            per_second,
                            arrivals,
                        } = rate;
                        Schedule::new(per_second, arrivals, place.client, place.clients, stream)
                    });
                    pace(stop, place.client as usize, schedule)
                })
                .collect()
        })
        .collect())
}

fn pace(stop: &Stop, client: usize, schedule: Option<Schedule>) -> Pace {
    let time = stop.seconds.map(|seconds| End::At(nanoseconds(seconds)));
    let position = stop.positions.as_ref();
    let position = position.map(|ends| End::Position(ends[client]));
    let end = time.or(position).expect("an end, which was checked");
    let mut pace = Pace::new(end, schedule);
    pace.pause(position);
    pace
}

fn check(session: &Session, stop: &Stop, rate: Option<Rate>) -> Result<(), Failure> {
    let Stop { seconds, positions } = stop;
    if seconds.is_none() && positions.is_none() {
        return Err(Failure::usage("a slice needs an end: a time or positions"));
    }
    if seconds.is_some_and(|seconds| !is_duration(seconds)) {
        return Err(Failure::usage("the length of a slice must be positive"));
    }
    let clients = session.clients().count();
    if positions.as_ref().is_some_and(|ends| ends.len() != clients) {
        return Err(Failure::usage(
            "the end of a slice needs one position for each client",
        ));
    }
    match rate {
        Some(rate) if !is_rate(rate.per_second) => Err(Failure::usage(
            "a rate must be a positive number per second",
        )),
        _ => Ok(()),
    }
}

fn traffic(session: &Session) -> Traffic {
    let clients = session.clients();
    clients.map(|client| client.connection().traffic()).sum()
}

/// Run the only worker of the only side in this thread.
fn run_here(
    sides: &mut [Side<'_>],
    window: &Window,
) -> Result<(Vec<ThreadUse>, Nanosecond), Failure> {
    let abandoned = AtomicBool::new(false);
    let [side] = sides else {
        unreachable!("one side runs here")
    };
    let paces = std::mem::take(&mut side.paces);
    let uses: Result<_, Failure> = side
        .session
        .workers
        .iter_mut()
        .zip(paces)
        .map(|(worker, paces)| {
            let allowed = worker.cpu.map(stay_on).transpose()?;
            let before = ThreadUse::now();
            let clock = window.clock();
            let outcome = run_worker(worker, paces, &clock, &Unconditional, &abandoned);
            let used = ThreadUse::now().since(before);
            if let Some(allowed) = allowed {
                run_on(&allowed)?;
            }
            outcome.map(|()| used)
        })
        .collect();
    Ok((uses?, window.clock().now()))
}

/// Run each worker in a thread, and return the use of all, and the time at which the foreground side
/// stopped. Each slice has new threads: the scheduler places them again, so that an unlucky
/// placement is the noise of one slice and not the bias of a session.
fn run_workers(
    sides: &mut [Side<'_>],
    window: &Window,
    limits: Limits,
) -> Result<(Vec<ThreadUse>, Nanosecond), Failure> {
    let workers = sides.iter().map(|side| side.session.workers.len());
    let shared = &Shared {
        window,
        barrier: Barrier::new(workers.sum()),
        abandoned: AtomicBool::new(false),
        ended: AtomicBool::new(false),
    };
    let (main, beside) = sides.split_first_mut().expect("a side");
    std::thread::scope(|scope| {
        let main = start(scope, main, shared, || Unconditional);
        let beside: Vec<Running<'_>> = beside
            .iter_mut()
            .map(|side| {
                start(scope, side, shared, || gate::Beside {
                    ended: &shared.ended,
                })
            })
            .collect();
        let uses = main.join(limits.main, shared);
        shared.ended.store(true, Ordering::SeqCst);
        let ended = window.clock().now();
        for thread in beside.iter().flat_map(|side| &side.threads) {
            thread.thread().unpark();
        }
        let mut used = Vec::new();
        for side in beside {
            used.extend(side.join(limits.beside, shared)?);
        }
        Ok((uses?.into_iter().chain(used).collect(), ended))
    })
}

impl Running<'_> {
    /// Wait until all threads have finished, and return their use. After the limit, shut down the
    /// connections that they wait for.
    fn join(self, limit: Option<Duration>, shared: &Shared<'_>) -> Result<Vec<ThreadUse>, Failure> {
        let late = limit.filter(|limit| {
            self.under_way.recv_timeout(*limit) == Err(mpsc::RecvTimeoutError::Timeout)
        });
        if late.is_some() {
            shared.abandoned.store(true, Ordering::Relaxed);
            fire_all(self.interrupts.iter().copied());
        }
        let uses = self
            .threads
            .into_iter()
            .map(|thread| thread.join().expect("a worker does not panic"))
            .collect();
        match late {
            Some(limit) => Err(Failure::timeout(format!(
                "an operation did not finish within {} s",
                limit.as_secs_f64()
            ))),
            None => uses,
        }
    }
}

/// Start a thread for each worker of a side.
fn start<'scope, S: StartCondition + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    side: &'scope mut Side<'_>,
    shared: &'scope Shared<'scope>,
    condition: impl Fn() -> S,
) -> Running<'scope> {
    let paces = std::mem::take(&mut side.paces);
    let session = &mut *side.session;
    let workers = session.workers.iter_mut().zip(paces);
    let (working, under_way) = mpsc::channel();
    let threads = workers
        .map(|(worker, paces)| {
            let condition = condition();
            let working = working.clone();
            scope.spawn(move || {
                let _working = working;
                prefer_punctual_sleep();
                let placed = worker.cpu.map(stay_on).transpose();
                shared.barrier.wait();
                placed?;
                let clock = shared.window.clock();
                let before = ThreadUse::now();
                let abandoned = &shared.abandoned;
                let outcome = run_worker(worker, paces, &clock, &condition, abandoned);
                if outcome.is_err() {
                    abandoned.store(true, Ordering::Relaxed);
                }
                outcome.map(|()| ThreadUse::now().since(before))
            })
        })
        .collect();
    Running {
        threads,
        under_way,
        interrupts: session.interrupts.iter().map(AsRef::as_ref).collect(),
    }
}

fn run_worker(
    worker: &mut Worker,
    mut paces: Vec<Pace>,
    clock: &WindowClock,
    condition: &impl StartCondition,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    let context = &mut Context {
        clock,
        recorder: &mut worker.recorder,
    };
    let clients = &mut worker.clients;
    match &mut worker.waits {
        Waits::ForOne => {
            for (client, pace) in clients.iter_mut().zip(&mut paces) {
                blocking::run_when(condition, client, pace, context, abandoned)?;
            }
            Ok(())
        }
        Waits::ForMany(ready) => {
            readiness::run_when(condition, clients, &mut paces, ready, context, abandoned)
        }
    }
}
