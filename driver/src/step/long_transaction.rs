//! A transaction that is held open during the load, as reports over live data do: it has read a row,
//! so the server has to keep every row version that it may still read.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::measure::{Clock, End, Nanosecond, Recorder};
use crate::protocol::target::Target;
use crate::wire::{self, Failure, Session};

pub struct LongTransaction {
    pub session: Box<dyn Session>,
    begin_statement: &'static str,
    read: String,
    held: Nanosecond,
    /// The end of the step, if it is known.
    end: Option<Nanosecond>,
    /// The end of the chunk, if it is a time.
    pause: Option<Nanosecond>,
    /// The time at which the open transaction began.
    open_since: Option<Nanosecond>,
    /// Rows that it has read.
    rows: u64,
    /// The time of the last commit.
    pub last: Nanosecond,
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
        if !dialect.has_transactions() {
            return Err(Failure::usage(format!(
                "{} has no transactions to hold open: remove hold",
                target.dbms
            )));
        }
        if let Some(isolation) = dialect.session_isolation() {
            session.query(isolation)?;
        }
        Ok(Self {
            session,
            begin_statement: dialect.begin_repeatable_read(),
            read,
            held,
            end,
            pause: None,
            open_since: None,
            rows: 0,
            last: 0,
        })
    }

    pub fn statements(&self) -> Vec<String> {
        vec![
            self.begin_statement.to_owned(),
            self.read.clone(),
            "COMMIT".to_owned(),
        ]
    }

    /// Pause at the end of a chunk, if it is a time. A transaction stays open then.
    pub fn pause(&mut self, end: Option<End>) {
        self.pause = match end {
            Some(End::At(time) | End::Cutoff(time)) => Some(time),
            Some(End::Position(_)) | None => None,
        };
    }

    /// Hold one transaction after the other until `over`, or the end of the chunk or the step.
    pub fn run(
        &mut self,
        clock: &impl Clock,
        recorder: &mut Recorder,
        over: &AtomicBool,
    ) -> Result<(), Failure> {
        let stop = self.pause.into_iter().chain(self.end).min();
        let is_over = |now| over.load(Ordering::SeqCst) || stop.is_some_and(|end| now >= end);
        while !is_over(clock.now()) {
            let since = match self.open_since {
                Some(since) => since,
                None => self.begin(clock)?,
            };
            let until = stop.unwrap_or(u64::MAX).min(since + self.held);
            while clock.now() < until && !over.load(Ordering::SeqCst) {
                clock.sleep_until(until);
            }
            if clock.now() >= since + self.held {
                self.finish(clock, recorder)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, clock: &impl Clock) -> Result<Nanosecond, Failure> {
        let since = clock.now();
        self.session.query(self.begin_statement)?;
        self.rows = self.session.query(&self.read)?.rows.len() as u64;
        self.open_since = Some(since);
        Ok(since)
    }

    /// Commit the open transaction, if there is one.
    pub fn finish(&mut self, clock: &impl Clock, recorder: &mut Recorder) -> Result<(), Failure> {
        if let Some(since) = self.open_since.take() {
            self.session.query("COMMIT")?;
            self.last = clock.now();
            recorder.completed(self.last, self.last - since, self.rows);
        }
        Ok(())
    }
}
