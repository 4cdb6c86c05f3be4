//! Loading of tables, several at a time. Each table has one connection: several would lay its rows out
//! differently each time, and were not faster when measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::protocol::job::Load;
use crate::wire::dialect::Definitions;
use crate::wire::{self, Failure, Session};
use crate::workload::Loaded;

pub const ROWS_PER_REPORT: u64 = 1000;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Creates and fills a table by its number, counted from 0, and returns the bytes sent. The callback
/// gets the row count every few rows.
pub type FillTable<'a> = dyn Fn(&mut dyn Session, &Definitions, usize, &mut dyn FnMut(u64)) -> Result<u64, Failure>
    + Sync
    + 'a;

/// Fill this many tables, the job's `parallel` at a time; `progress` is called with the number of rows
/// loaded so far.
pub fn fill_tables(
    job: &Load,
    tables: usize,
    progress: &mut dyn FnMut(u64),
    fill: &FillTable<'_>,
) -> Result<Loaded, Failure> {
    let begin = Instant::now();
    let loader = Loader {
        job,
        tables: tables as u64,
        next_table: &AtomicU64::new(0),
        fill,
    };
    let mut reports = Reports::to(progress);
    let wanted = (job.parallel as usize).min(tables);
    let bytes = match wire::most_parallel(job.target.protocol(), wanted) {
        1 => loader.run(|rows| reports.add(rows)),
        loaders => run_in_threads(loader, loaders, &mut reports),
    }?;
    Ok(Loaded {
        rows: reports.done,
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
                        // The receiver is gone only if the load has already failed.
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

/// The rows loaded so far, reported at a limited frequency.
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
    tables: u64,
    next_table: &'a AtomicU64,
    fill: &'a FillTable<'a>,
}

impl Loader<'_> {
    /// Load tables until none is left; return the bytes sent. `report` is called every few rows.
    fn run(self, mut report: impl FnMut(u64)) -> Result<u64, Failure> {
        let target = &self.job.target;
        let definitions = wire::dialect(target)?.definitions(target.engine.as_deref())?;
        let mut session = wire::connect(target)?;
        let mut bytes = 0;
        loop {
            let table = self.next_table.fetch_add(1, Ordering::Relaxed);
            if table >= self.tables {
                return Ok(bytes);
            }
            bytes += (self.fill)(session.as_mut(), &definitions, table as usize, &mut report)?;
        }
    }
}
