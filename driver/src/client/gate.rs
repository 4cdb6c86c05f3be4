//! A gate keeps an inserter and a deleter in step: the deleter removes only rows that the inserter has
//! added, and the inserter is at most a few statements ahead. No thread spins, and only a waiting
//! thread is woken. A wake-up costs at least as much as a statement, so a thread that may sleep for
//! several statements is woken once for all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// Maximum lead of the inserter, in statements.
const LEAD: u64 = 4;

/// The amount of work that justifies waking a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakePolicy {
    /// One statement: a due statement must not wait for the next.
    Immediate,
    /// As many statements as leave the other side with some work meanwhile.
    Batched,
}

impl WakePolicy {
    fn statements(self) -> u64 {
        match self {
            Self::Immediate => 1,
            Self::Batched => LEAD - 1,
        }
    }
}

/// The time at which an operation may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Now,
    Later,
    Never,
}

/// The condition under which a client's next operation may start.
pub trait StartCondition {
    fn start(&self) -> Start;

    /// Wait until the answer may change, but at most for this time.
    fn wait(&self, at_most: Option<Duration>);

    /// Return the time after which a thread of many clients, which nothing wakes, has to ask again.
    fn ask_again(&self) -> Option<Duration> {
        None
    }
}

/// The condition of a client that does not depend on other clients.
pub struct Unconditional;

impl StartCondition for Unconditional {
    fn start(&self) -> Start {
        Start::Now
    }

    fn wait(&self, _: Option<Duration>) {}
}

/// The condition of a background client: the foreground session has not stopped.
pub struct Beside<'a> {
    pub ended: &'a AtomicBool,
}

impl StartCondition for Beside<'_> {
    fn start(&self) -> Start {
        if self.ended.load(Ordering::SeqCst) {
            Start::Never
        } else {
            Start::Now
        }
    }

    fn wait(&self, _: Option<Duration>) {}

    fn ask_again(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

/// A gate between one inserter and one deleter.
pub struct Gate {
    rows_per_commit: u64,
    wake_policy: WakePolicy,
    inserted: AtomicU64,
    deleted: AtomicU64,
    /// True if the inserter has finished, or is at the end of its chunk.
    closed: AtomicBool,
    inserter: Waiter,
    deleter: Waiter,
}

/// The side of a gate on which a client works.
pub enum GateSide {
    Inserter(Arc<Gate>),
    Deleter(Arc<Gate>),
}

impl GateSide {
    /// Resume both sides after the end of a chunk.
    pub fn open(&self) {
        let (Self::Inserter(gate) | Self::Deleter(gate)) = self;
        gate.closed.store(false, Ordering::SeqCst);
    }
}

pub struct InserterSide<'a>(pub &'a Gate);

pub struct DeleterSide<'a>(pub &'a Gate);

impl Gate {
    pub fn new(rows_per_commit: u64, wake_policy: WakePolicy) -> Self {
        Self {
            rows_per_commit,
            wake_policy,
            inserted: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            inserter: Waiter::default(),
            deleter: Waiter::default(),
        }
    }

    pub fn inserted(&self) -> u64 {
        self.inserted.load(Ordering::SeqCst)
    }

    pub fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::SeqCst)
    }

    /// Return the number of inserted rows that are still to be deleted.
    pub fn owed(&self) -> u64 {
        self.inserted().saturating_sub(self.deleted())
    }

    pub fn add_inserted(&self, rows: u64) {
        self.inserted.fetch_add(rows, Ordering::SeqCst);
        self.deleter.wake_unless(|| self.keeps_deleter());
    }

    pub fn add_deleted(&self, rows: u64) {
        self.deleted.fetch_add(rows, Ordering::SeqCst);
        self.inserter.wake_unless(|| self.keeps_inserter());
    }

    /// Notify the deleter that the inserter has finished, or is at the end of its chunk.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.deleter.wake_unless(|| self.keeps_deleter());
    }

    /// Return whether a sleeping deleter has to keep sleeping.
    fn keeps_deleter(&self) -> bool {
        let closed = self.closed.load(Ordering::SeqCst);
        !closed && self.owed() < self.wake_policy.statements() * self.rows_per_commit
    }

    /// Return whether a sleeping inserter has to keep sleeping.
    fn keeps_inserter(&self) -> bool {
        self.owed() > (LEAD - self.wake_policy.statements()) * self.rows_per_commit
    }
}

impl StartCondition for InserterSide<'_> {
    fn start(&self) -> Start {
        if self.0.owed() < LEAD * self.0.rows_per_commit {
            Start::Now
        } else {
            Start::Later
        }
    }

    fn wait(&self, at_most: Option<Duration>) {
        let Self(gate) = self;
        gate.inserter.wait_while(|| gate.keeps_inserter(), at_most);
    }
}

impl StartCondition for DeleterSide<'_> {
    fn start(&self) -> Start {
        // Read this first, so that all rows inserted before the end are seen.
        let closed = self.0.closed.load(Ordering::SeqCst);
        match self.0.owed() {
            owed if owed >= self.0.rows_per_commit => Start::Now,
            0 if closed => Start::Never,
            _ if closed => Start::Now,
            _ => Start::Later,
        }
    }

    fn wait(&self, at_most: Option<Duration>) {
        let Self(gate) = self;
        gate.deleter.wait_while(|| gate.keeps_deleter(), at_most);
    }
}

/// A thread that may have to wait.
#[derive(Default)]
struct Waiter {
    /// The thread that waited last: each chunk of a step has its own.
    thread: Mutex<Option<Thread>>,
    waiting: AtomicBool,
}

impl Waiter {
    /// Wait while `blocked`. The flag is set before the last check of the condition, and other threads
    /// check the flag after they have changed the condition, so one of them sees the other's change.
    fn wait_while(&self, blocked: impl Fn() -> bool, at_most: Option<Duration>) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        self.waiting.store(true, Ordering::SeqCst);
        if blocked() {
            match at_most {
                Some(time) => thread::park_timeout(time),
                None => thread::park(),
            }
        }
        self.waiting.store(false, Ordering::SeqCst);
    }

    /// Wake the thread, once for each time that it waits.
    fn wake_unless(&self, blocked: impl Fn() -> bool) {
        if self.waiting.load(Ordering::SeqCst)
            && !blocked()
            && self.waiting.swap(false, Ordering::SeqCst)
        {
            let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = thread.as_ref() {
                thread.unpark();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    #[test]
    fn the_inserter_leads_by_a_few_statements() {
        let gate = Gate::new(50, WakePolicy::Immediate);
        for _ in 0..LEAD {
            assert_eq!(InserterSide(&gate).start(), Start::Now);
            gate.add_inserted(50);
        }
        assert_eq!(InserterSide(&gate).start(), Start::Later);
        gate.add_deleted(50);
        assert_eq!(InserterSide(&gate).start(), Start::Now);
    }

    #[test]
    fn the_deleter_waits_for_a_whole_statement_until_the_inserter_ends() {
        let gate = Gate::new(50, WakePolicy::Immediate);
        assert_eq!(DeleterSide(&gate).start(), Start::Later);
        gate.add_inserted(49);
        assert_eq!(DeleterSide(&gate).start(), Start::Later);
        gate.add_inserted(2);
        assert_eq!(DeleterSide(&gate).start(), Start::Now);
        gate.add_deleted(50);
        gate.close();
        assert_eq!((DeleterSide(&gate).start(), gate.owed()), (Start::Now, 1));
        gate.add_deleted(1);
        assert_eq!(DeleterSide(&gate).start(), Start::Never);
    }

    /// Both sides wait often in this test; a lost wake-up would hang it.
    #[test]
    fn no_side_waits_for_ever_and_the_distance_is_kept() {
        const ROWS: u64 = 200_000;
        for policy in [WakePolicy::Immediate, WakePolicy::Batched] {
            let gate = Gate::new(1, policy);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let condition = InserterSide(&gate);
                    for _ in 0..ROWS {
                        while condition.start() == Start::Later {
                            condition.wait(None);
                        }
                        gate.add_inserted(1);
                    }
                    gate.close();
                });
                let condition = DeleterSide(&gate);
                loop {
                    match condition.start() {
                        Start::Now => {
                            assert!((1..=LEAD).contains(&gate.owed()));
                            gate.add_deleted(1);
                        }
                        Start::Later => condition.wait(None),
                        Start::Never => break,
                    }
                }
            });
            assert_eq!((gate.inserted(), gate.deleted()), (ROWS, ROWS));
        }
    }

    #[test]
    fn batched_waiters_sleep_until_there_are_several_statements() {
        let gate = Gate::new(50, WakePolicy::Batched);
        let slept = |wait: &dyn Fn()| {
            let begin = Instant::now();
            wait();
            begin.elapsed() >= MOMENT
        };
        let deleter = || DeleterSide(&gate).wait(Some(MOMENT));
        let inserter = || InserterSide(&gate).wait(Some(MOMENT));
        gate.add_inserted(149);
        assert!(slept(&deleter));
        gate.add_inserted(1);
        assert!(!slept(&deleter));
        gate.add_inserted(50);
        gate.add_deleted(149);
        assert!(slept(&inserter));
        gate.add_deleted(1);
        assert!(!slept(&inserter));
        assert!(slept(&deleter));
        gate.close();
        assert!(!slept(&deleter));
    }

    #[test]
    fn waiting_ends_with_its_time() {
        let gate = Gate::new(1, WakePolicy::Immediate);
        DeleterSide(&gate).wait(Some(Duration::from_millis(1)));
        assert_eq!(DeleterSide(&gate).start(), Start::Later);
    }
}
