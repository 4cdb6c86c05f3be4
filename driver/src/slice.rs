//! One slice: all clients of a session run at the same time, and are idle before and after it.

pub mod session;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;

use crate::client::{blocking, readiness, Context};
use crate::keys::Sequence;
use crate::measure::{
    client_use, is_duration, is_rate, nanoseconds, prefer_punctual_sleep, run_on, stay_on, End,
    Nanosecond, Pace, Recorder, Schedule, ThreadUse, Window, WindowClock, NANOSECONDS,
};
use crate::protocol::event::{Ran, Schedule as ScheduleKept};
use crate::protocol::job::{Rate, Run, Stop};
use crate::slice::session::{Session, Waits, Worker};
use crate::wire::{is_in_process, Failure, Traffic};
use crate::workload::Unit;

/// Run a slice of the session, and return its measurements.
pub fn run(session: &mut Session, job: &Run) -> Result<Ran, Failure> {
    if session.broken {
        return Err(Failure::connection(
            "the session failed in an earlier slice: close it and open another",
        ));
    }
    let paces = paces(session, job)?;
    let traffic = traffic(session);
    open_windows(session);
    let window = Window::default();
    let run = match session.workers.len() {
        // valgrind counts the thread that receives the commands.
        1 if is_in_process(&session.target.dbms) => run_here,
        _ => run_workers,
    };
    let uses = run(&mut session.workers, paces, &window).inspect_err(|_| session.broken = true)?;
    add_up(session);
    let started = window.clock().started;
    Ok(report(session, job, started, traffic, &uses))
}

/// Add the records of several workers; that of the only one is the total already.
fn add_up(session: &mut Session) {
    if session.workers.len() > 1 {
        session.total.reset();
        for worker in &session.workers {
            session.total.merge(&worker.recorder);
        }
    }
}

fn total(session: &Session) -> &Recorder {
    match session.workers.as_slice() {
        [alone] => &alone.recorder,
        _ => &session.total,
    }
}

fn open_windows(session: &mut Session) {
    for worker in &mut session.workers {
        worker.recorder.reset();
        for client in &mut worker.clients {
            client.open_window();
        }
    }
}

/// Return the pace of each client of each worker.
fn paces(session: &Session, job: &Run) -> Result<Vec<Vec<Pace>>, Failure> {
    check(session, job)?;
    let arrivals = Sequence::new(session.seed, "arrivals");
    Ok(session
        .workers
        .iter()
        .map(|worker| {
            let clients = worker.clients.iter();
            clients
                .map(|client| {
                    let place = client.place;
                    let schedule = job.rate.map(|rate| {
                        let stream = arrivals.stream(place.operation(client.position()));
                        let Rate {
                            per_second,
                            arrivals,
                        } = rate;
                        Schedule::new(per_second, arrivals, place.client, place.clients, stream)
                    });
                    pace(&job.stop, place.client as usize, schedule)
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

fn check(session: &Session, job: &Run) -> Result<(), Failure> {
    let Stop { seconds, positions } = &job.stop;
    if seconds.is_none() && positions.is_none() {
        return Err(Failure::usage("a slice ends at a time or at positions"));
    }
    if seconds.is_some_and(|seconds| !is_duration(seconds)) {
        return Err(Failure::usage("a slice takes a positive number of seconds"));
    }
    let clients = session.clients().count();
    if positions.as_ref().is_some_and(|ends| ends.len() != clients) {
        return Err(Failure::usage(
            "a slice ends at one position for each client",
        ));
    }
    match job.rate {
        Some(rate) if !is_rate(rate.per_second) => {
            Err(Failure::usage("a rate is a positive number per second"))
        }
        _ => Ok(()),
    }
}

fn traffic(session: &Session) -> Traffic {
    let clients = session.clients();
    clients.map(|client| client.connection().traffic()).sum()
}

/// Run the only worker in this thread.
fn run_here(
    workers: &mut [Worker],
    paces: Vec<Vec<Pace>>,
    window: &Window,
) -> Result<Vec<ThreadUse>, Failure> {
    let abandoned = AtomicBool::new(false);
    workers
        .iter_mut()
        .zip(paces)
        .map(|(worker, paces)| {
            let allowed = worker.cpu.map(stay_on).transpose()?;
            let before = ThreadUse::now();
            let outcome = run_worker(worker, paces, &window.clock(), &abandoned);
            let used = ThreadUse::now().since(before);
            if let Some(allowed) = allowed {
                run_on(&allowed)?;
            }
            outcome.map(|()| used)
        })
        .collect()
}

/// Run each worker in a thread. Threads are new in each slice: the scheduler places them again, so
/// that an unlucky placement is the noise of one slice and not the bias of a session.
fn run_workers(
    workers: &mut [Worker],
    paces: Vec<Vec<Pace>>,
    window: &Window,
) -> Result<Vec<ThreadUse>, Failure> {
    let barrier = Barrier::new(workers.len());
    let abandoned = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .zip(paces)
            .map(|(worker, paces)| {
                let (barrier, abandoned) = (&barrier, &abandoned);
                scope.spawn(move || {
                    prefer_punctual_sleep();
                    let placed = worker.cpu.map(stay_on).transpose();
                    barrier.wait();
                    placed?;
                    let clock = window.clock();
                    let before = ThreadUse::now();
                    let outcome = run_worker(worker, paces, &clock, abandoned);
                    if outcome.is_err() {
                        abandoned.store(true, Ordering::Relaxed);
                    }
                    outcome.map(|()| ThreadUse::now().since(before))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a worker does not panic"))
            .collect()
    })
}

fn run_worker(
    worker: &mut Worker,
    mut paces: Vec<Pace>,
    clock: &WindowClock,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    let context = &mut Context {
        clock,
        recorder: &mut worker.recorder,
    };
    match &mut worker.waits {
        Waits::ForOne => {
            let pairs = worker.clients.iter_mut().zip(&mut paces);
            for (client, pace) in pairs {
                blocking::run(client, pace, context, abandoned)?;
            }
            Ok(())
        }
        Waits::ForMany(ready) => {
            readiness::run(&mut worker.clients, &mut paces, ready, context, abandoned)
        }
    }
}

fn report(session: &Session, job: &Run, started: f64, before: Traffic, uses: &[ThreadUse]) -> Ran {
    let total = total(session);
    let after = traffic(session);
    let apart = !is_in_process(&session.target.dbms);
    let last_completion = session
        .clients()
        .map(|client| client.tally.last_completion)
        .max();
    let seconds = last_completion.unwrap_or(0) as f64 / NANOSECONDS;
    let unit = session.test.unit();
    let (rows, unit_size) = match unit {
        Unit::Operations => (total.rows, 1.0),
        Unit::RowsScanned(rows) => (rows * total.operations, rows as f64),
    };
    Ran {
        id: job.id,
        session: job.session.clone(),
        started,
        seconds,
        operations: total.operations,
        statements: total.statements,
        rows,
        qps: rate(session) * unit_size,
        unit: unit.name().to_owned(),
        bytes_sent: apart.then(|| after.sent - before.sent),
        bytes_received: apart.then(|| after.received - before.received),
        latency: total.latency(),
        per_second: per_second(total),
        errors: total.errors.clone(),
        retries: total.retries,
        client: apart.then(|| client_use(uses, seconds)),
        schedule: job.rate.map(|rate| schedule_kept(rate, total)),
        positions: positions(session),
    }
}

/// Return the position of each client, by its number.
fn positions(session: &Session) -> Vec<u64> {
    let mut positions = vec![0; session.clients().count()];
    for client in session.clients() {
        positions[client.place.client as usize] = client.position();
    }
    positions
}

fn per_second(total: &Recorder) -> Vec<(u64, Nanosecond)> {
    let seconds = total.per_second.iter();
    seconds
        .map(|second| (second.operations, second.max))
        .collect()
}

/// Return the sum of the clients' rates, in operations per second.
fn rate(session: &Session) -> f64 {
    session
        .clients()
        .map(|client| client.tally)
        .filter(|tally| tally.operations > 0)
        .map(|tally| tally.operations as f64 * NANOSECONDS / tally.last_completion as f64)
        .sum()
}

fn schedule_kept(rate: Rate, total: &Recorder) -> ScheduleKept {
    ScheduleKept {
        rate: rate.per_second,
        arrivals: rate.arrivals,
        late_operations: total.lag.late,
        max_lag_ns: total.lag.max,
        mean_lag_ns: total.lag.mean(),
    }
}
