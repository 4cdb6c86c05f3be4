//! The load of the tables. A row is a pure function of seed, table and id, and rows arrive in the
//! order of their ids, so that the tables of two servers are alike page for page. Several
//! connections to load one table would give that up, and were not faster where it was measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::generator::{digits, CONTENTS_GROUPS, PADDING_GROUPS};
use super::template::table_name;
use crate::keys::Sequence;
use crate::protocol::job::Load;
use crate::wire::dialect::Definitions;
use crate::wire::{self, Failure, Session, Value};
use crate::workload::Loaded;

const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];
const ROWS_PER_REPORT: u64 = 1000;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Load all tables, `parallel` at a time; `progress` is called with the number of rows loaded.
pub fn load(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    if !(1..=i32::MAX as u32).contains(&job.rows) || job.tables == 0 || job.parallel == 0 {
        return Err(Failure::usage(
            "a load needs a table, 1 to 2147483647 rows in each, and a connection",
        ));
    }
    let begin = Instant::now();
    let loader = Loader {
        job,
        next_table: &AtomicU64::new(0),
    };
    let mut reports = Reports::to(progress);
    let wanted = job.parallel.min(job.tables) as usize;
    let bytes = match wire::most_parallel(&job.target.dbms, wanted) {
        1 => loader.run(|rows| reports.add(rows)),
        loaders => run_in_threads(loader, loaders, &mut reports),
    }?;
    Ok(Loaded {
        rows: u64::from(job.tables) * u64::from(job.rows),
        bytes,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

fn run_in_threads(
    loader: Loader<'_>,
    loaders: usize,
    reports: &mut Reports<'_>,
) -> Result<u64, Failure> {
    let (report, reported) = mpsc::channel();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..loaders)
            .map(|_| {
                let report = report.clone();
                scope.spawn(move || {
                    loader.run(|rows| {
                        // The receiver is gone only if the load has failed already.
                        let _ = report.send(rows);
                    })
                })
            })
            .collect();
        drop(report);
        reported.iter().for_each(|rows| reports.add(rows));
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a loader does not panic"))
            .sum()
    })
}

/// The rows loaded so far, which are passed on, not too often.
struct Reports<'a> {
    progress: &'a mut dyn FnMut(u64),
    done: u64,
    last: Instant,
}

impl<'a> Reports<'a> {
    fn to(progress: &'a mut dyn FnMut(u64)) -> Self {
        Self {
            progress,
            done: 0,
            last: Instant::now(),
        }
    }

    fn add(&mut self, rows: u64) {
        self.done += rows;
        if self.last.elapsed() >= PROGRESS_INTERVAL {
            (self.progress)(self.done);
            self.last = Instant::now();
        }
    }
}

#[derive(Clone, Copy)]
struct Loader<'a> {
    job: &'a Load,
    next_table: &'a AtomicU64,
}

impl Loader<'_> {
    /// Load tables until none is left; return the bytes sent. `report` is called with every few rows.
    fn run(self, mut report: impl FnMut(u64)) -> Result<u64, Failure> {
        let definitions =
            wire::dialect(&self.job.target)?.definitions(self.job.target.engine.as_deref())?;
        let mut session = wire::connect(&self.job.target)?;
        let mut bytes = 0;
        loop {
            let table = self.next_table.fetch_add(1, Ordering::Relaxed);
            if table >= u64::from(self.job.tables) {
                return Ok(bytes);
            }
            bytes += self.load_table(session.as_mut(), &definitions, table, &mut report)?;
        }
    }

    fn load_table(
        &self,
        session: &mut dyn Session,
        definitions: &Definitions,
        table: u64,
        report: &mut impl FnMut(u64),
    ) -> Result<u64, Failure> {
        let name = table_name(table);
        let Definitions {
            index_options,
            table_options,
        } = definitions;
        session.query(&format!("DROP TABLE IF EXISTS {name}"))?;
        session.query(&format!(
            "CREATE TABLE {name} (id INTEGER NOT NULL, \
             k INTEGER DEFAULT 0 NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, \
             PRIMARY KEY (id){index_options}){table_options}"
        ))?;
        let mut rows = Rows::new(self.job.seed, table, u64::from(self.job.rows));
        let mut load = session.load(&name, &COLUMNS)?;
        for id in 1..=u64::from(self.job.rows) {
            let values = rows.row(id);
            load.row(&values, &rows.text)?;
            if id % ROWS_PER_REPORT == 0 {
                report(ROWS_PER_REPORT);
            }
        }
        let bytes = load.finish()?;
        let index = format!("k_{}", table + 1);
        session.query(&format!(
            "CREATE INDEX {index} ON {name} (k){index_options}"
        ))?;
        Ok(bytes)
    }
}

/// The rows of one table.
struct Rows {
    sequence: Sequence,
    count: u64,
    text: Vec<u8>,
}

impl Rows {
    fn new(seed: u64, table: u64, count: u64) -> Self {
        Self {
            sequence: Sequence::new(seed, &table_name(table)),
            count,
            text: Vec::new(),
        }
    }

    /// Return the row's values; its texts are in `text`.
    fn row(&mut self, id: u64) -> [Value; 4] {
        let mut stream = self.sequence.stream(id);
        let k = 1 + stream.below(self.count);
        self.text.clear();
        [
            Value::Int(id as i32),
            Value::Int(k as i32),
            digits(&mut stream, CONTENTS_GROUPS, &mut self.text),
            digits(&mut stream, PADDING_GROUPS, &mut self.text),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_depends_on_seed_table_and_id_alone() {
        let row = |seed, table, id| {
            let mut rows = Rows::new(seed, table, 1000);
            let values = rows.row(id);
            (values, rows.text)
        };
        let mut rows = Rows::new(7, 0, 1000);
        rows.row(1);
        assert_eq!((rows.row(2), rows.text.clone()), row(7, 0, 2));
        assert_ne!(row(7, 0, 2), row(8, 0, 2));
        assert_ne!(row(7, 0, 2).1, row(7, 1, 2).1);
        assert_ne!(row(7, 0, 2).1, row(7, 0, 3).1);
    }
}
