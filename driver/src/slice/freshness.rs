//! Freshness: the age of the data that queries see while transactions change it.
//!
//! Each transaction writes its index into the row of its client, and the log of its session records
//! when it was committed. A query reads these rows in its own snapshot: the first transaction of a
//! client that it does not see is the one after the index that it read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::session::Session;
use crate::client::operation::{Call, Expected, Form, Generator, NextCall, Operation};
use crate::measure::{Nanosecond, Recorder};
use crate::protocol::described::Freshness;
use crate::protocol::event::Latency;
use crate::wire::{Failure, TextQueries};

/// Initial capacity, so that few slices have to grow it.
const EXPECTED_ENTRIES: usize = 4096;

/// The role of a session's operations in measuring freshness, in the current slice.
pub enum Log {
    Writes {
        /// The number of its clients.
        clients: u64,
        commits: Arc<Mutex<Vec<Commit>>>,
    },
    Reads {
        statement: String,
        snapshots: Arc<Mutex<Vec<Snapshot>>>,
    },
}

/// A transaction that was committed.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    index: u64,
    at: Instant,
}

/// The rows that a query read in its snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The time at which the query began, the last one of its transaction.
    began: Instant,
    /// Number of a client -> the index of its last visible transaction; -1: none.
    rows: Vec<(u64, i64)>,
}

impl Log {
    pub fn new(part: &Freshness, clients: u64) -> Self {
        match part {
            Freshness::Writes => Self::Writes {
                clients,
                commits: Arc::new(Mutex::new(Vec::with_capacity(EXPECTED_ENTRIES))),
            },
            Freshness::Reads { statement } => Self::Reads {
                statement: statement.clone(),
                snapshots: Arc::new(Mutex::new(Vec::with_capacity(EXPECTED_ENTRIES))),
            },
        }
    }

    /// Return a generator that logs a client's operations here.
    pub fn watch(&self, operations: Box<dyn Generator>) -> Box<dyn Generator> {
        match self {
            Self::Writes { commits, .. } => Box::new(Writer {
                operations,
                index: 0,
                commits: commits.clone(),
            }),
            Self::Reads {
                statement,
                snapshots,
            } => Box::new(Reader {
                operations,
                statement: statement.clone(),
                phase: Phase::Commit,
                snapshots: snapshots.clone(),
            }),
        }
    }

    /// Forget the last slice.
    pub fn open_window(&self) {
        match self {
            Self::Writes { commits, .. } => lock(commits).clear(),
            Self::Reads { snapshots, .. } => lock(snapshots).clear(),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operations of a client that writes.
struct Writer {
    operations: Box<dyn Generator>,
    index: u64,
    commits: Arc<Mutex<Vec<Commit>>>,
}

impl Generator for Writer {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        self.index = index;
        self.operations.compose(index, operation);
    }

    fn next_call(
        &mut self,
        rows: u64,
        operation: &mut Operation,
        connection: &mut dyn TextQueries,
    ) -> Result<NextCall, Failure> {
        let next = self.operations.next_call(rows, operation, connection)?;
        if matches!(next, NextCall::Done { .. }) {
            lock(&self.commits).push(Commit {
                index: self.index,
                at: Instant::now(),
            });
        }
        Ok(next)
    }
}

/// The operations of a client that reads, each followed by the statement and a commit. The last query
/// of an operation is the one whose freshness is measured: it may come long after the first one, whose
/// snapshot it uses.
struct Reader {
    operations: Box<dyn Generator>,
    statement: String,
    phase: Phase,
    snapshots: Arc<Mutex<Vec<Snapshot>>>,
}

/// The part of an operation that is in progress.
enum Phase {
    /// Everything before its last call, which is this one.
    Beginning(Call),
    /// The last call, which began at this time.
    LastCall(Instant),
    Commit,
}

impl Generator for Reader {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        self.operations.compose(index, operation);
        let last = operation.calls.pop().expect("a transaction begins first");
        self.phase = Phase::Beginning(last);
    }

    fn next_call(
        &mut self,
        rows: u64,
        operation: &mut Operation,
        connection: &mut dyn TextQueries,
    ) -> Result<NextCall, Failure> {
        match std::mem::replace(&mut self.phase, Phase::Commit) {
            Phase::Beginning(last) => {
                operation.calls.clear();
                operation.calls.push(last);
                self.phase = Phase::LastCall(Instant::now());
                Ok(NextCall::Continue { rows })
            }
            Phase::LastCall(began) => {
                let read = connection.query(&self.statement)?.rows;
                lock(&self.snapshots).push(Snapshot {
                    began,
                    rows: read
                        .iter()
                        .map(|row| numbers(row))
                        .collect::<Result<_, _>>()?,
                });
                operation.clear();
                operation.text.extend_from_slice(b"COMMIT");
                operation.calls.push(Call {
                    form: Form::Text(0..operation.text.len()),
                    expected: Expected::Anything,
                });
                Ok(NextCall::Continue { rows })
            }
            Phase::Commit => Ok(NextCall::Done { rows: 0 }),
        }
    }
}

/// Parse the number of a client and its index from a row as text.
fn numbers(row: &[Option<String>]) -> Result<(u64, i64), Failure> {
    let number = |place: usize| row.get(place).and_then(Option::as_deref);
    let client = number(0).and_then(|text| text.parse().ok());
    let index = number(1).and_then(|text| text.parse().ok());
    client.zip(index).ok_or_else(|| {
        Failure::usage("freshness needs rows of two numbers: a client and its index")
    })
}

/// Return the freshness of the queries of a slice, from the first session that writes and the first
/// one that reads; None if one of the two is missing.
pub fn of<'a>(sessions: impl Iterator<Item = &'a Session> + Clone) -> Option<Latency> {
    let logs = || {
        sessions
            .clone()
            .filter_map(|session| session.freshness.as_ref())
    };
    let (clients, commits) = logs().find_map(|log| match log {
        Log::Writes { clients, commits } => Some((*clients, lock(commits))),
        Log::Reads { .. } => None,
    })?;
    let snapshots = logs().find_map(|log| match log {
        Log::Reads { snapshots, .. } => Some(lock(snapshots)),
        Log::Writes { .. } => None,
    })?;
    let ages = Ages::of(clients, &commits);
    let mut record = Recorder::new();
    for snapshot in snapshots.iter() {
        record.completed(0, ages.age(snapshot), 0);
    }
    Some(record.latency())
}

/// The commits of each client, in the order of their indexes.
struct Ages(Vec<Vec<Commit>>);

impl Ages {
    fn of(clients: u64, commits: &[Commit]) -> Self {
        let mut by_client = vec![Vec::new(); clients as usize];
        for commit in commits {
            by_client[(commit.index % clients) as usize].push(*commit);
        }
        for own in &mut by_client {
            own.sort_unstable_by_key(|commit| commit.index);
        }
        Self(by_client)
    }

    /// Return the time from the first commit that the snapshot does not see to the beginning of its
    /// query; 0 if it sees all commits before that.
    fn age(&self, snapshot: &Snapshot) -> Nanosecond {
        let ages = snapshot.rows.iter().filter_map(|&(client, seen)| {
            let commits = self.0.get(client as usize)?;
            let first = commits.partition_point(|commit| (commit.index as i64) <= seen);
            let age = snapshot
                .began
                .checked_duration_since(commits.get(first)?.at)?;
            Some(age.as_nanos() as Nanosecond)
        });
        ages.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Nanosecond = 1_000_000;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn a_snapshot_is_as_old_as_the_first_commit_that_it_does_not_see() {
        let start = Instant::now();
        // Two clients commit every 10 ms: client 0 operations 4, 6, 8, client 1 operations 5, 7, 9.
        let commits: Vec<_> = (0..6)
            .map(|place| Commit {
                index: 4 + place,
                at: at(start, 10 * place),
            })
            .collect();
        let ages = Ages::of(2, &commits);
        let age = |ms, rows: &[(u64, i64)]| {
            ages.age(&Snapshot {
                began: at(start, ms),
                rows: rows.to_vec(),
            })
        };
        assert_eq!(age(100, &[(0, 8), (1, 9)]), 0, "it sees all");
        assert_eq!(
            age(100, &[(0, 6), (1, 9)]),
            60 * MS,
            "operation 8 is missing"
        );
        assert_eq!(
            age(100, &[(0, 6), (1, 5)]),
            70 * MS,
            "and operation 7 before it"
        );
        assert_eq!(age(35, &[(0, 6), (1, 5)]), 5 * MS, "operation 8 came later");
        assert_eq!(
            age(100, &[(0, -1), (1, 9)]),
            100 * MS,
            "none of client 0 is seen"
        );
        assert_eq!(
            age(100, &[(0, 8), (1, 9), (2, 3)]),
            0,
            "there is no client 2"
        );
    }

    struct Rows(Vec<Vec<Option<String>>>);

    impl TextQueries for Rows {
        fn query(&mut self, _: &str) -> Result<crate::wire::Table, Failure> {
            Ok(crate::wire::Table {
                columns: vec!["client".to_owned(), "operation".to_owned()],
                rows: self.0.clone(),
            })
        }
    }

    /// Operations of a BEGIN and a query.
    struct TwoCalls;

    impl Generator for TwoCalls {
        fn compose(&mut self, _: u64, operation: &mut Operation) {
            operation.clear();
            operation.text.extend_from_slice(b"BEGINSELECT 1");
            for text in [0..5, 5..13] {
                operation.calls.push(Call {
                    form: Form::Text(text),
                    expected: Expected::Anything,
                });
            }
        }
    }

    #[test]
    fn the_last_query_is_followed_by_reading_the_rows_and_a_commit() {
        let reads = Freshness::Reads {
            statement: "SELECT client, operation FROM f".to_owned(),
        };
        let log = Log::new(&reads, 1);
        let Log::Reads { snapshots, .. } = &log else {
            unreachable!()
        };
        let mut generator = log.watch(Box::new(TwoCalls));
        let operation = &mut Operation::default();
        let rows = |index: &str| {
            let row = ["0", index].map(|text| Some(text.to_owned()));
            Rows(vec![row.to_vec()])
        };
        generator.compose(0, operation);
        let mut sent = Vec::new();
        let before_the_query = loop {
            sent.extend(texts(operation));
            let begun = Instant::now();
            if generator.next_call(3, operation, &mut rows("41")).unwrap()
                == (NextCall::Done { rows: 0 })
            {
                break begun;
            }
        };
        assert_eq!(sent, ["BEGIN", "SELECT 1", "COMMIT"]);
        assert_eq!(lock(snapshots)[0].rows, [(0, 41)]);
        assert!(lock(snapshots)[0].began < before_the_query);
        generator.compose(1, operation);
        generator.next_call(0, operation, &mut rows("42")).unwrap();
        assert!(generator
            .next_call(0, operation, &mut rows("many"))
            .is_err());
        log.open_window();
        assert!(lock(snapshots).is_empty());
    }

    fn texts(operation: &Operation) -> Vec<String> {
        let calls = 0..operation.calls.len();
        calls
            .map(|call| match operation.request(call) {
                crate::wire::Request::Text(text) => text.to_owned(),
                other => panic!("{other:?}"),
            })
            .collect()
    }
}
