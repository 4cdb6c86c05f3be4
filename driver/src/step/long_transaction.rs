//! A transaction that is held open beside the load, as reports over live data do: it has read a row,
//! so the server has to keep every version of a row that it may still read.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::measure::{Clock, Nanosecond, Recorder};
use crate::protocol::job::Target;
use crate::wire::{self, Failure, Session};

pub struct LongTransaction {
    pub session: Box<dyn Session>,
    begin: &'static str,
    read: String,
    held: Nanosecond,
    /// The end of the step, where it is known.
    end: Option<Nanosecond>,
}

impl LongTransaction {
    /// Connect for transactions that execute `read` and are held open.
    pub fn new(
        target: &Target,
        read: String,
        held: Nanosecond,
        end: Option<Nanosecond>,
    ) -> Result<Self, Failure> {
        let mut session = wire::connect(target)?;
        let dialect = wire::dialect(target)?;
        if let Some(isolation) = dialect.session_isolation() {
            session.query(isolation)?;
        }
        Ok(Self {
            session,
            begin: dialect.begin_repeatable_read(),
            read,
            held,
            end,
        })
    }

    pub fn statements(&self) -> Vec<String> {
        vec![
            self.begin.to_owned(),
            self.read.clone(),
            "COMMIT".to_owned(),
        ]
    }

    /// Hold one transaction after the other until `over` or the end; return the time of the last commit.
    pub fn run(
        &mut self,
        clock: &impl Clock,
        recorder: &mut Recorder,
        over: &AtomicBool,
    ) -> Result<Nanosecond, Failure> {
        let mut last = 0;
        let is_over = |now| over.load(Ordering::SeqCst) || self.end.is_some_and(|end| now >= end);
        let mut began = clock.now();
        while !is_over(began) {
            self.session.query(self.begin)?;
            let rows = self.session.query(&self.read)?.rows.len();
            let until = self.end.unwrap_or(u64::MAX).min(began + self.held);
            while clock.now() < until && !over.load(Ordering::SeqCst) {
                clock.sleep_until(until);
            }
            self.session.query("COMMIT")?;
            last = clock.now();
            recorder.completed(last, last - began, rows as u64);
            began = last;
        }
        Ok(last)
    }
}
