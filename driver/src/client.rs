//! A client: a connection that works through its share of a test's operations, one request at a time.
//! The same state machine serves a thread that waits for one client and one that waits for many.

pub mod blocking;
pub mod gate;
pub mod operation;
pub mod readiness;

use self::operation::{Generator, NextCall, Operation};
use crate::measure::{Clock, Nanosecond, Pace, Recorder, NANOSECONDS, WRONG_ROW_COUNT};
use crate::wire::{Connection, Failure, Reply, Request, ServerError};

/// Attempts after which an operation that always collides counts as failed.
const ATTEMPTS: u32 = 1000;

pub struct Client {
    connection: Box<dyn Connection>,
    generator: Box<dyn Generator>,
    pub place: Place,
    operation: Operation,
    call: usize,
    attempt: u32,
    rolling_back: Option<Recovery>,
    error_policy: ErrorPolicy,
    /// Rows of the current operation.
    rows: u64,
    /// Whether a statement of the current operation had an unexpected row count.
    is_wrong: bool,
    /// The position of the next operation in the client's sequence: the operations since the session
    /// was opened, including failed ones, unless the client was sent to another position.
    position: u64,
    began: Nanosecond,
    finished: Nanosecond,
    pub tally: Tally,
}

/// A client's number among all clients.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub client: u64,
    pub clients: u64,
    /// Index of the first operation in the clients' sequence.
    pub first: u64,
}

impl Place {
    pub const ALONE: Self = Self {
        client: 0,
        clients: 1,
        first: 0,
    };

    /// Return the operation's index in the test's sequence.
    pub fn operation(self, position: u64) -> u64 {
        self.first + self.client + position * self.clients
    }
}

/// The completed operations of one client in a slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub operations: u64,
    pub last_completion: Nanosecond,
}

impl Tally {
    /// Return the operations that were completed by `time`, after which none began.
    pub fn until(self, time: Nanosecond) -> u64 {
        self.operations - u64::from(self.last_completion > time)
    }

    /// Return the operations per second up to the last completion; 0 without one.
    ///
    /// The rate up to the end of the slice would be too low for slow operations in short slices.
    pub fn rate(self) -> f64 {
        if self.operations == 0 {
            return 0.0;
        }
        self.operations as f64 * NANOSECONDS / self.last_completion as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The current reply is not complete, or another request was sent.
    Waiting,
    /// The operation is over.
    Idle,
}

/// The continuation of an operation after a failed statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Retry,
    Fail,
}

/// The effect on the client of an operation that failed permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorPolicy {
    /// The failure is counted, and the client continues with its next operation.
    Count,
    Abort,
}

impl Recovery {
    fn of(error: &ServerError) -> Self {
        if error.collision {
            Self::Retry
        } else {
            Self::Fail
        }
    }
}

/// The clock and the recorder of a client's thread.
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
            error_policy: ErrorPolicy::Count,
            rows: 0,
            is_wrong: false,
            position: 0,
            began: 0,
            finished: 0,
            tally: Tally::default(),
        }
    }

    /// Abort at the first statement that fails permanently: the client's work is invalid if any of it
    /// is missing.
    pub fn abort_on_error(mut self) -> Self {
        self.error_policy = ErrorPolicy::Abort;
        self
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// Set the next operation to this position in the client's sequence.
    pub fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Return the request without a reply, after an operation was interrupted.
    pub fn pending_request(&self) -> Option<Request<'_>> {
        let under_way = self.call < self.operation.calls.len();
        under_way.then(|| self.operation.request(self.call))
    }

    pub fn connection(&self) -> &dyn Connection {
        self.connection.as_ref()
    }

    /// Forget the last slice; times count from the opening of the new window.
    pub fn open_window(&mut self) {
        self.finished = 0;
        self.tally = Tally::default();
    }

    /// Continue the slice or step in a window that opens at this time.
    pub fn resume(&mut self, at: Nanosecond) {
        self.finished = at;
    }

    /// Return whether this is the end of the client's work, not only of a chunk.
    pub fn is_over(&self, pace: &Pace, clock: &impl Clock) -> bool {
        pace.is_over(clock, self.finished, self.position)
    }

    /// Compose the next operation and send its first request.
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
            context.recorder.began(now, due, self.finished);
        }
        self.began = pace.response_from(due, now);
        self.attempt = 1;
        self.call = 0;
        self.rows = 0;
        self.is_wrong = false;
        self.send_call()
    }

    fn send_call(&mut self) -> Result<(), Failure> {
        self.connection.send(self.operation.request(self.call))
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        self.connection.wait_readable()
    }

    /// Receive once, and handle the reply if it is complete.
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
                Some(recovery) => match reply.error {
                    None => self.recover(recovery, pace, context),
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
            let text = || error.message.clone();
            context.recorder.error(&error.sqlstate, text);
            let recovery = Recovery::of(&error);
            let is_final = recovery == Recovery::Fail || self.attempt >= ATTEMPTS;
            if is_final && self.error_policy == ErrorPolicy::Abort {
                return Err(Failure::Server(error));
            }
            if !reply.in_transaction {
                return self.recover(recovery, pace, context);
            }
            self.rolling_back = Some(recovery);
            self.connection.send(Request::Text("ROLLBACK"))?;
            return Ok(Progress::Waiting);
        }
        context.recorder.statements += 1;
        let expected = self.operation.calls[self.call].expected;
        if !expected.admits(reply.rows) && !self.is_wrong {
            self.is_wrong = true;
            let text = || expected.refusal(reply.rows);
            context.recorder.error(WRONG_ROW_COUNT, text);
        }
        self.call += 1;
        if self.call < self.operation.calls.len() {
            self.rows += reply.rows;
            self.send_call()?;
            return Ok(Progress::Waiting);
        }
        let connection = self.connection.as_mut();
        let operation = &mut self.operation;
        match self
            .generator
            .next_call(reply.rows, operation, connection)?
        {
            NextCall::Done { rows } => {
                self.rows += rows;
                self.complete(context);
                self.connection.operation_ended()?;
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

    /// Repeat or abandon the operation after a failed statement, once its transaction is rolled back.
    /// If the slice has no time for a retry, the operation becomes the first of the next slice.
    fn recover<C: Clock>(
        &mut self,
        recovery: Recovery,
        pace: &Pace,
        context: &mut Context<'_, C>,
    ) -> Result<Progress, Failure> {
        self.finished = context.clock.now();
        if recovery == Recovery::Fail || self.attempt >= ATTEMPTS {
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
