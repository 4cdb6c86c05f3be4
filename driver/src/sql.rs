//! Statements outside of any measurement.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::protocol::job::Sql;
use crate::wire::{self, Failure, Table};

/// Run the statements, each in its own transaction, over at most `parallel` connections; return the
/// results in the order of the statements. The first failure in that order is the command's, and no
/// further statement begins after it.
pub fn run(job: &Sql) -> Result<Vec<Table>, Failure> {
    if job.parallel == 0 {
        return Err(Failure::usage("at least one connection is needed"));
    }
    let connections = job.statements.len().min(job.parallel as usize);
    let next = AtomicUsize::new(0);
    let mut results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| run_some(job, &next)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a worker does not panic"))
            .collect::<Vec<_>>()
    });
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

type Placed = (usize, Result<Table, Failure>);

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
            // The other connections find no further statement, and stop too.
            next.store(job.statements.len(), Ordering::Relaxed);
            return results;
        }
    }
}
