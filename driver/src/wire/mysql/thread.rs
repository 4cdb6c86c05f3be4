//! The search for the server's thread that serves a connection. MariaDB's list of processes has it.
//! In other servers the connection gets some work, and the thread that uses CPU time is found: that
//! works in all versions, also without tables about threads.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::super::{Failure, TextQueries as _};
use super::MysqlConnection;

type Nanosecond = u64;
type ThreadTimes = HashMap<u32, Nanosecond>;

/// An expression that all versions know: some have removed older hash functions.
const WORK: &str = "REVERSE(REPEAT('slowdust', 64))";
/// The rounds of the first attempt, about 10 ms of work.
const FIRST_ROUNDS: u64 = 30_000;
/// Each attempt has more work than the previous one, so that other threads of a busy server cannot
/// hide the thread.
const ATTEMPTS: u32 = 5;
const GROWTH: u64 = 3;
/// The least CPU time that must be the connection's, not a timer's or the accounting's.
const CLEAR: Nanosecond = 5_000_000;
const TIMES_THE_SECOND: u64 = 4;

/// Return the thread; None if the server runs elsewhere or hides its threads, or if its threads are
/// shared between connections.
pub fn serving(connection: &mut MysqlConnection) -> Result<Option<u32>, Failure> {
    let Some(server) = connection.socket.peer_process() else {
        return Ok(None);
    };
    if !has_thread_of_its_own(connection)? {
        return Ok(None);
    }
    if let Some(thread) = listed(connection, server)? {
        return Ok(Some(thread));
    }
    let mut rounds = FIRST_ROUNDS;
    for _ in 0..ATTEMPTS {
        let Some(before) = thread_times(server) else {
            return Ok(None);
        };
        connection.query(&format!("SELECT BENCHMARK({rounds}, {WORK})"))?;
        let after = thread_times(server).unwrap_or_default();
        if let Some(thread) = worker(&before, &after) {
            return Ok(Some(thread));
        }
        rounds *= GROWTH;
    }
    Ok(None)
}

/// Return the thread in the list of processes, if it names threads of this machine.
fn listed(connection: &mut MysqlConnection, server: u32) -> Result<Option<u32>, Failure> {
    const COLUMN: &str = "SHOW COLUMNS FROM information_schema.PROCESSLIST LIKE 'TID'";
    const OWN: &str = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    if connection.query(COLUMN)?.rows.is_empty() {
        return Ok(None);
    }
    let own = connection.query(OWN)?;
    let name = own.rows.first().and_then(|row| row.first()?.as_deref());
    let thread = name.and_then(|name| name.parse().ok());
    Ok(thread.filter(|thread| Path::new(&format!("/proc/{server}/task/{thread}")).exists()))
}

fn has_thread_of_its_own(connection: &mut MysqlConnection) -> Result<bool, Failure> {
    let handling = connection.query("SHOW VARIABLES LIKE 'thread_handling'")?;
    let mut values = handling
        .rows
        .iter()
        .filter_map(|row| row.get(1)?.as_deref());
    Ok(values.all(|value| value == "one-thread-per-connection"))
}

/// Return the CPU time of each thread, if the kernel counts it: in some kernels the file has only
/// zeros.
fn thread_times(process: u32) -> Option<ThreadTimes> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let times = threads
        .filter_map(|thread| {
            let directory = thread.ok()?.path();
            let thread = directory.file_name()?.to_str()?.parse().ok()?;
            Some((thread, thread_time(&directory)?))
        })
        .collect();
    counted(times)
}

fn counted(times: ThreadTimes) -> Option<ThreadTimes> {
    times.values().any(|&time| time > 0).then_some(times)
}

/// Return the first number of `schedstat`; None for a thread that has exited.
fn thread_time(directory: &Path) -> Option<Nanosecond> {
    let text = fs::read_to_string(directory.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Return the thread that worked, if it is unambiguous.
fn worker(before: &ThreadTimes, after: &ThreadTimes) -> Option<u32> {
    let mut worked: Vec<_> = after
        .iter()
        .map(|(thread, time)| {
            let earlier = before.get(thread).copied().unwrap_or(0);
            (time.saturating_sub(earlier), *thread)
        })
        .collect();
    worked.sort_unstable_by(|first, second| second.cmp(first));
    let (most, thread) = *worked.first()?;
    let second = worked.get(1).map_or(0, |(time, _)| *time);
    (most >= CLEAR && most >= second * TIMES_THE_SECOND).then_some(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Nanosecond = 1_000_000;

    fn worker_of(worked: &[(u32, Nanosecond)]) -> Option<u32> {
        let before = [(1, 500 * MILLISECOND), (2, 0), (3, 7)].into();
        let after = worked.iter().map(|(thread, time)| {
            let before: &ThreadTimes = &before;
            (*thread, before.get(thread).unwrap_or(&0) + time)
        });
        worker(&before, &after.collect())
    }

    #[test]
    fn the_thread_that_worked_is_the_one() {
        let worked = [(1, MILLISECOND), (2, 9 * MILLISECOND), (3, 0)];
        assert_eq!(worker_of(&worked), Some(2));
    }

    #[test]
    fn a_thread_that_is_new_may_be_the_one() {
        assert_eq!(worker_of(&[(1, 0), (9, 6 * MILLISECOND)]), Some(9));
    }

    #[test]
    fn in_doubt_there_is_none() {
        assert_eq!(
            worker_of(&[(1, 30 * MILLISECOND), (2, 9 * MILLISECOND)]),
            None
        );
        assert_eq!(worker_of(&[(1, 4 * MILLISECOND), (2, 0)]), None);
        assert_eq!(worker_of(&[]), None);
    }

    #[test]
    fn times_that_are_all_zero_are_not_counted() {
        assert_eq!(counted([(1, 0), (2, 0)].into()), None);
        let times: ThreadTimes = [(1, 0), (2, 3)].into();
        assert_eq!(counted(times.clone()), Some(times));
    }

    #[test]
    fn the_kernel_counts_the_times_of_our_own_threads() {
        let own = thread_times(std::process::id()).expect("a kernel with schedstat");
        assert!(own.contains_key(&std::process::id()));
        assert_eq!(thread_times(u32::MAX), None);
    }
}
