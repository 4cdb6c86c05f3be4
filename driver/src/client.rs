//! One client: a connection that works through its share of a test's operations, one request at a
//! time. The same state machine serves a thread that waits for one client and one that waits for
//! many.

pub mod blocking;
pub mod gate;
pub mod operation;
pub mod readiness;

use self::operation::{Generator, NextCall, Operation};
use crate::measure::pacing::{Clock, Nanosecond, Pace};
use crate::measure::recorder::{Recorder, WRONG_ROW_COUNT};
use crate::wire::{Connection, Failure, Reply, Request, ServerError};

/// After so many attempts an operation counts as failed: it is not a collision any more.
const ATTEMPTS: u32 = 1000;

pub struct Client {
    connection: Box<dyn Connection>,
    generator: Box<dyn Generator>,
    place: Place,
    operation: Operation,
    call: usize,
    attempt: u32,
    rolling_back: Option<Verdict>,
    refusals: Refusals,
    /// Of the operation under way.
    rows: u64,
    /// Operations done since the session was opened, failed ones too.
    position: u64,
    began: Nanosecond,
    finished: Nanosecond,
    pub tally: Tally,
}

/// Which client of how many.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub client: u64,
    pub clients: u64,
    /// Index of the operation with which the clients' sequence begins.
    pub first: u64,
}

impl Place {
    /// Index in the sequence of the test.
    pub fn operation(self, position: u64) -> u64 {
        self.first + self.client + position * self.clients
    }
}

/// One client's completed operations in a slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub operations: u64,
    pub last_completion: Nanosecond,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The reply under way is not complete, or another request was sent.
    Waiting,
    /// The operation is over.
    Idle,
}

/// What becomes of an operation whose statement failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Retry,
    Fail,
}

/// What becomes of a client whose operation has failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusals {
    /// It goes on with the next one.
    Count,
    End,
}

impl Verdict {
    fn of(error: &ServerError) -> Self {
        if error.collision {
            Self::Retry
        } else {
            Self::Fail
        }
    }
}

/// What a client's steps need of its thread.
pub struct Context<'a, C> {
    pub clock: &'a C,
    pub recorder: &'a mut Recorder,
}

impl Client {
    pub fn new(
        connection: Box<dyn Connection>,
        generator: Box<dyn Generator>,
        place: Place,
    ) -> Self {
        Self {
            connection,
            generator,
            place,
            operation: Operation::default(),
            call: 0,
            attempt: 0,
            rolling_back: None,
            refusals: Refusals::Count,
            rows: 0,
            position: 0,
            began: 0,
            finished: 0,
            tally: Tally::default(),
        }
    }

    /// A client that ends with the first statement that the server refuses for good: its work is
    /// void if any of it is missing.
    pub fn uncompromising(mut self) -> Self {
        self.refusals = Refusals::End;
        self
    }

    pub fn place(&self) -> Place {
        self.place
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn connection(&self) -> &dyn Connection {
        self.connection.as_ref()
    }

    /// When the last operation of this window ended.
    pub fn last_completion(&self) -> Nanosecond {
        self.tally.last_completion
    }

    /// Forgets the slice before; times count from the new window on.
    pub fn open_window(&mut self) {
        self.finished = 0;
        self.tally = Tally::default();
    }

    /// Composes the next operation and sends its first request.
    fn begin<C: Clock>(
        &mut self,
        due: Option<Nanosecond>,
        pace: &Pace,
        context: &mut Context<'_, C>,
    ) -> Result<(), Failure> {
        let index = self.place.operation(self.position);
        self.generator.compose(index, &mut self.operation);
        let now = context.clock.now();
        if let Some(due) = due {
            let was_busy = due < self.finished;
            context
                .recorder
                .began(now, now.saturating_sub(due), was_busy);
        }
        self.began = pace.response_from(due, now);
        self.attempt = 1;
        self.call = 0;
        self.rows = 0;
        self.send_call()
    }

    fn send_call(&mut self) -> Result<(), Failure> {
        self.connection.send(self.operation.request(self.call))
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        self.connection.wait_readable()
    }

    /// Receives once and acts on the reply if it is complete.
    fn pump<C: Clock>(
        &mut self,
        pace: &Pace,
        context: &mut Context<'_, C>,
    ) -> Result<Progress, Failure> {
        self.connection.receive()?;
        match self.connection.reply()? {
            None => Ok(Progress::Waiting),
            Some(reply) => match self.rolling_back.take() {
                None => self.take_reply(reply, pace, context),
                Some(verdict) => match reply.error {
                    None => self.settle(verdict, pace, context),
                    Some(error) => Err(Failure::Server(error)),
                },
            },
        }
    }

    fn take_reply<C: Clock>(
        &mut self,
        reply: Reply,
        pace: &Pace,
        context: &mut Context<'_, C>,
    ) -> Result<Progress, Failure> {
        if let Some(error) = reply.error {
            context.recorder.error(&error.sqlstate);
            let verdict = Verdict::of(&error);
            let is_final = verdict == Verdict::Fail || self.attempt >= ATTEMPTS;
            if is_final && self.refusals == Refusals::End {
                return Err(Failure::Server(error));
            }
            if !reply.in_transaction {
                return self.settle(verdict, pace, context);
            }
            self.rolling_back = Some(verdict);
            self.connection.send(Request::Text("ROLLBACK"))?;
            return Ok(Progress::Waiting);
        }
        context.recorder.statements += 1;
        if !self.operation.calls[self.call].expected.admits(reply.rows) {
            context.recorder.error(WRONG_ROW_COUNT);
        }
        self.call += 1;
        if self.call < self.operation.calls.len() {
            self.rows += reply.rows;
            self.send_call()?;
            return Ok(Progress::Waiting);
        }
        let connection = self.connection.as_mut();
        match self
            .generator
            .next_call(reply.rows, &mut self.operation, connection)?
        {
            NextCall::Done { rows } => {
                self.rows += rows;
                self.complete(context);
                Ok(Progress::Idle)
            }
            NextCall::Continue { rows } => {
                self.rows += rows;
                self.call = 0;
                self.send_call()?;
                Ok(Progress::Waiting)
            }
        }
    }

    fn complete<C: Clock>(&mut self, context: &mut Context<'_, C>) {
        self.finished = context.clock.now();
        self.position += 1;
        self.tally.operations += 1;
        self.tally.last_completion = self.finished;
        let latency = self.finished - self.began;
        context
            .recorder
            .completed(self.finished, latency, self.rows);
    }

    /// After a failed statement, once the transaction is rolled back. An operation that may be
    /// tried again but not any more in this slice keeps its place: it is the next slice's first.
    fn settle<C: Clock>(
        &mut self,
        verdict: Verdict,
        pace: &Pace,
        context: &mut Context<'_, C>,
    ) -> Result<Progress, Failure> {
        self.finished = context.clock.now();
        if verdict == Verdict::Fail || self.attempt >= ATTEMPTS {
            self.position += 1;
            return Ok(Progress::Idle);
        }
        if !pace.allows_retry(self.finished) {
            return Ok(Progress::Idle);
        }
        context.recorder.retries += 1;
        self.attempt += 1;
        self.call = 0;
        self.send_call()?;
        Ok(Progress::Waiting)
    }
}

#[cfg(test)]
mod tests;
