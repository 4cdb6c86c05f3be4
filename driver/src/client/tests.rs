//! The state machine with a scripted server and its clock.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::*;
use crate::keys::Sequence;
use crate::measure::{End, Schedule};
use crate::protocol::job::Arrivals;
use crate::wire::{Kinds, ServerError, Table, TextQueries, Traffic};
use operation::{Call, Expected, Form};

/// The server's answer to one request, and its duration.
#[derive(Clone)]
struct Step {
    takes: Nanosecond,
    rows: u64,
    sqlstate: Option<&'static str>,
    in_transaction: bool,
}

fn answer(rows: u64) -> Step {
    Step {
        takes: 10,
        rows,
        sqlstate: None,
        in_transaction: false,
    }
}

fn refusal(sqlstate: &'static str, in_transaction: bool) -> Step {
    Step {
        sqlstate: Some(sqlstate),
        in_transaction,
        ..answer(0)
    }
}

/// Requests as text: the number of a prepared statement, or the SQL.
type Sent = Arc<Mutex<Vec<String>>>;

struct Script {
    clock: Arc<Mutex<Nanosecond>>,
    steps: VecDeque<Step>,
    /// The answer to all requests after the steps; None if the server has closed the connection.
    then: Option<Step>,
    sent: Sent,
    descriptor: std::fs::File,
}

impl TextQueries for Script {
    fn query(&mut self, sql: &str) -> Result<Table, Failure> {
        self.sent.lock().unwrap().push(sql.to_owned());
        Ok(Table::default())
    }
}

impl Connection for Script {
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure> {
        let text = match request {
            Request::Prepared { statement, .. } => statement.to_string(),
            Request::Text(sql) => sql.to_owned(),
        };
        self.sent.lock().unwrap().push(text);
        Ok(())
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn reply(&mut self) -> Result<Option<Reply>, Failure> {
        let step = self.steps.pop_front().or_else(|| self.then.clone());
        let step = step.ok_or_else(|| Failure::connection("gone"))?;
        *self.clock.lock().unwrap() += step.takes;
        Ok(Some(Reply {
            rows: step.rows,
            error: step.sqlstate.map(|sqlstate| ServerError {
                sqlstate: sqlstate.into(),
                message: String::new(),
                collision: matches!(sqlstate, "40001" | "40P01"),
            }),
            in_transaction: step.in_transaction,
        }))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.descriptor.as_fd())
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}

/// The clock that the scripted server advances.
struct ScriptClock(Arc<Mutex<Nanosecond>>);

impl Clock for ScriptClock {
    fn now(&self) -> Nanosecond {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, time: Nanosecond) {
        let mut now = self.0.lock().unwrap();
        *now = (*now).max(time);
    }
}

/// Operations of a number of prepared statements, each with one row.
struct Statements(usize);

impl Generator for Statements {
    fn compose(&mut self, _: u64, operation: &mut Operation) {
        operation.clear();
        let call = |statement| Call {
            form: Form::Prepared {
                kinds: Kinds::Usual,
                statement,
                values: 0..0,
            },
            expected: Expected::Rows(1),
        };
        operation.calls.extend((0..self.0).map(call));
    }
}

struct Outcome {
    client: Client,
    recorder: Recorder,
    sent: Vec<String>,
    result: Result<(), Failure>,
}

fn run(statements: usize, steps: &[Step], then: Option<Step>, mut pace: Pace) -> Outcome {
    let time = Arc::new(Mutex::new(0));
    let sent = Sent::default();
    let script = Script {
        clock: time.clone(),
        steps: steps.iter().cloned().collect(),
        then,
        sent: sent.clone(),
        descriptor: std::fs::File::open("/dev/null").unwrap(),
    };
    let generator = Box::new(Statements(statements));
    let mut client = Client::new(Box::new(script), generator, Place::ALONE);
    let mut recorder = Recorder::new();
    let context = &mut Context {
        clock: &ScriptClock(time),
        recorder: &mut recorder,
    };
    let result = blocking::run(&mut client, &mut pace, context, &AtomicBool::new(false));
    let sent = sent.lock().unwrap().clone();
    Outcome {
        client,
        recorder,
        sent,
        result,
    }
}

fn until(time: Nanosecond) -> Pace {
    Pace::new(End::At(time), None)
}

#[test]
fn clients_share_the_operations_in_turn() {
    let operations = |client| {
        let place = Place {
            client,
            clients: 3,
            first: 10,
        };
        [0, 1, 2].map(|position| place.operation(position))
    };
    assert_eq!(
        [0, 1, 2].map(operations),
        [[10, 13, 16], [11, 14, 17], [12, 15, 18]]
    );
}

#[test]
fn an_operation_that_ends_after_the_others_is_not_completed_by_their_end() {
    let tally = Tally {
        operations: 3,
        last_completion: 100,
    };
    assert_eq!([tally.until(99), tally.until(100)], [2, 3]);
    assert_eq!(Tally::default().until(99), 0);
}

#[test]
fn clients_beside_others_begin_nothing_once_those_have_ended() {
    let ended = AtomicBool::new(false);
    let condition = gate::Beside { ended: &ended };
    assert_eq!(gate::StartCondition::start(&condition), gate::Start::Now);
    ended.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(gate::StartCondition::start(&condition), gate::Start::Never);
}

#[test]
fn a_closed_loop_fills_its_time() {
    let outcome = run(1, &[], Some(answer(1)), until(100));
    assert_eq!(outcome.recorder.operations, 10);
    assert_eq!(outcome.client.tally.last_completion, 100);
    assert_eq!(outcome.recorder.latency().max_ns, 10);
    assert!(outcome.recorder.errors.is_empty());
}

#[test]
fn an_operation_under_way_at_the_end_is_finished() {
    let outcome = run(1, &[], Some(answer(1)), until(95));
    assert_eq!(outcome.client.tally.last_completion, 100);
}

#[test]
fn wrong_row_counts_are_errors() {
    let outcome = run(1, &[answer(0)], Some(answer(1)), until(100));
    assert_eq!(outcome.recorder.errors[WRONG_ROW_COUNT], 1);
    let text = &outcome.recorder.error_texts[WRONG_ROW_COUNT];
    assert_eq!(text, "row count 0, expected 1");
    assert_eq!(outcome.recorder.operations, 10);
}

#[test]
fn an_operation_with_several_wrong_row_counts_is_one_error() {
    let end = Pace::new(End::Position(1), None);
    let outcome = run(3, &[], Some(answer(0)), end);
    assert_eq!(outcome.recorder.errors[WRONG_ROW_COUNT], 1);
    assert_eq!(outcome.recorder.operations, 1);
}

#[test]
fn a_collision_rolls_back_and_repeats_the_operation() {
    let steps = [answer(0), answer(1), refusal("40P01", true), answer(0)];
    let end = Pace::new(End::Position(1), None);
    let outcome = run(6, &steps, Some(answer(1)), end);
    assert_eq!(outcome.sent[..5], ["0", "1", "2", "ROLLBACK", "0"]);
    assert_eq!(outcome.sent.len(), 4 + 6);
    let recorder = outcome.recorder;
    assert_eq!((recorder.operations, recorder.retries), (1, 1));
    assert_eq!(recorder.errors["40P01"], 1);
    assert_eq!(outcome.client.position(), 1);
}

#[test]
fn other_errors_fail_the_operation_and_the_client_goes_on() {
    let steps = [answer(0), refusal("23505", true), answer(0)];
    let end = Pace::new(End::Position(2), None);
    let outcome = run(6, &steps, Some(answer(1)), end);
    assert_eq!(outcome.sent[..4], ["0", "1", "ROLLBACK", "0"]);
    let recorder = outcome.recorder;
    assert_eq!((recorder.operations, recorder.retries), (1, 0));
    assert_eq!(recorder.errors["23505"], 1);
    assert!(recorder.error_texts.contains_key("23505"));
}

#[test]
fn without_a_transaction_nothing_is_rolled_back() {
    let steps = [refusal("40001", false)];
    let end = Pace::new(End::Position(1), None);
    let outcome = run(1, &steps, Some(answer(1)), end);
    assert_eq!(outcome.sent, ["0", "0"]);
    assert_eq!(outcome.recorder.retries, 1);
}

#[test]
fn failing_for_ever_ends_with_the_slice() {
    for sqlstate in ["42P01", "40001"] {
        let outcome = run(1, &[], Some(refusal(sqlstate, false)), until(100));
        assert_eq!(outcome.recorder.operations, 0);
        assert_eq!(outcome.recorder.errors[sqlstate], 10);
    }
}

#[test]
fn an_operation_that_always_collides_fails_if_no_time_ends_it() {
    let end = Pace::new(End::Position(1), None);
    let outcome = run(1, &[], Some(refusal("40001", false)), end);
    assert_eq!(outcome.recorder.errors["40001"], u64::from(ATTEMPTS));
    assert_eq!(
        (outcome.client.position(), outcome.recorder.operations),
        (1, 0)
    );
}

#[test]
fn an_operation_without_time_for_a_retry_is_the_next_of_its_client() {
    let outcome = run(1, &[refusal("40001", false)], None, until(10));
    assert_eq!(outcome.client.position(), 0);
    assert_eq!(outcome.recorder.retries, 0);
}

#[test]
fn a_lost_connection_ends_the_slice() {
    let outcome = run(1, &[answer(1)], None, until(100));
    assert!(matches!(outcome.result, Err(Failure::Connection { .. })));
}

#[test]
fn an_open_loop_measures_from_the_time_that_was_due() {
    let stream = Sequence::new(1, "arrivals").stream(0);
    // Every 20 ns an operation of 10 ns; the first takes 45, so the next three are late.
    let schedule = Schedule::new(5e7, Arrivals::Uniform, 0, 1, stream);
    let slow = Step {
        takes: 45,
        ..answer(1)
    };
    let pace = Pace::new(End::At(100), Some(schedule));
    let outcome = run(1, &[slow], Some(answer(1)), pace);
    let recorder = outcome.recorder;
    assert_eq!(recorder.operations, 5);
    assert_eq!(recorder.lag.late, 3);
    // Begun at 45, 55 and 65 instead of 20, 40 and 60.
    assert_eq!((recorder.lag.max, recorder.lag.sum), (25, 25 + 15 + 5));
    assert_eq!(
        recorder.latency().mean_ns,
        f64::from(45 + 35 + 25 + 15 + 10) / 5.0
    );
}
