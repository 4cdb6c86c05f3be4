//! Statements outside of measurements.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure;
use crate::protocol::job::{Sample, Sql};
use crate::wire::{self, Failure, Table};

/// Run the statements, each in its own transaction, over at most `parallel` connections; return the
/// results in the order of the statements. The first failure in that order fails the command, and
/// no further statement begins after it.
pub fn run(job: &Sql) -> Result<Vec<Table>, Failure> {
    if job.parallel == 0 {
        return Err(Failure::usage("at least one connection is needed"));
    }
    let connections = job.statements.len().min(job.parallel as usize);
    let next = AtomicUsize::new(0);
    let mut results = match wire::most_parallel(job.target.protocol(), connections) {
        1 => run_some(job, &next),
        connections => run_in_threads(job, &next, connections),
    };
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Execute a statement at regular intervals, and return its results in order. A late execution does
/// not delay later ones; missed times are skipped.
pub fn sample(job: &Sample) -> Result<Vec<Table>, Failure> {
    if !measure::is_duration(job.every) || !measure::is_duration(job.seconds) {
        return Err(Failure::usage("every and seconds must be positive"));
    }
    let every = Duration::from_secs_f64(job.every);
    let mut connection = wire::connect(&job.target)?;
    measure::prefer_punctual_sleep();
    let begun = Instant::now();
    let end = begun + Duration::from_secs_f64(job.seconds);
    let mut next = begun;
    let mut results = Vec::new();
    while next < end {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        results.push(connection.query(&job.statement)?);
        while next <= Instant::now() {
            next += every;
        }
    }
    Ok(results)
}

type Placed = (usize, Result<Table, Failure>);

fn run_in_threads(job: &Sql, next: &AtomicUsize, connections: usize) -> Vec<Placed> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| run_some(job, next)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a worker does not panic"))
            .collect()
    })
}

fn run_some(job: &Sql, next: &AtomicUsize) -> Vec<Placed> {
    let mut connection = match wire::connect(&job.target) {
        Ok(connection) => connection,
        Err(failure) => return vec![(next.fetch_add(1, Ordering::Relaxed), Err(failure))],
    };
    let mut results = Vec::new();
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some(statement) = job.statements.get(place) else {
            return results;
        };
        let result = connection.query(statement);
        let failed = result.is_err();
        results.push((place, result));
        if failed {
            // The other connections find no further statement, and stop, too.
            next.store(job.statements.len(), Ordering::Relaxed);
            return results;
        }
    }
}
