//! Keeps an inserter and a deleter together: the deleter removes only what the inserter has added,
//! and the inserter is ahead by a few statements at most. Nobody spins, and nobody is woken who does
//! not wait. A wake-up costs as much as a statement does, if not more, so that whoever may sleep for
//! several statements is woken once for all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::Duration;

/// Statements by which the inserter may be ahead.
const LEAD: u64 = 4;

/// How much there has to be to do for somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A statement: what is due must not wait for the next.
    Punctual,
    /// As many statements as leave the other side something to do meanwhile.
    Thrifty,
}

impl Patience {
    fn statements(self) -> u64 {
        match self {
            Self::Punctual => 1,
            Self::Thrifty => LEAD - 1,
        }
    }
}

/// Whether an operation may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Now,
    Later,
    Never,
}

/// Who decides whether a client's next operation may begin.
pub trait Order {
    fn turn(&self) -> Turn;

    /// Waits until it may be another turn, at most so long.
    fn wait(&self, at_most: Option<Duration>);
}

/// Whoever depends on nobody.
pub struct Free;

impl Order for Free {
    fn turn(&self) -> Turn {
        Turn::Now
    }

    fn wait(&self, _: Option<Duration>) {}
}

/// Between one inserter and one deleter.
pub struct Gate {
    rows_per_commit: u64,
    patience: Patience,
    inserted: AtomicU64,
    deleted: AtomicU64,
    /// The inserter has ended.
    closed: AtomicBool,
    ahead: Side,
    behind: Side,
}

/// The inserter's side.
pub struct Ahead<'a>(pub &'a Gate);

/// The deleter's side.
pub struct Behind<'a>(pub &'a Gate);

impl Gate {
    pub fn new(rows_per_commit: u64, patience: Patience) -> Self {
        Self {
            rows_per_commit,
            patience,
            inserted: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            ahead: Side::default(),
            behind: Side::default(),
        }
    }

    pub fn inserted(&self) -> u64 {
        self.inserted.load(Ordering::SeqCst)
    }

    pub fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::SeqCst)
    }

    /// Rows that were inserted and not made up for.
    pub fn owed(&self) -> u64 {
        self.inserted().saturating_sub(self.deleted())
    }

    pub fn add_inserted(&self, rows: u64) {
        self.inserted.fetch_add(rows, Ordering::SeqCst);
        self.behind.wake_unless(|| self.keeps_deleter());
    }

    pub fn add_deleted(&self, rows: u64) {
        self.deleted.fetch_add(rows, Ordering::SeqCst);
        self.ahead.wake_unless(|| self.keeps_inserter());
    }

    /// Nothing will be inserted any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.behind.wake_unless(|| self.keeps_deleter());
    }

    /// Whether a deleter that sleeps has to go on with that.
    fn keeps_deleter(&self) -> bool {
        let closed = self.closed.load(Ordering::SeqCst);
        !closed && self.owed() < self.patience.statements() * self.rows_per_commit
    }

    /// Whether an inserter that sleeps has to go on with that.
    fn keeps_inserter(&self) -> bool {
        self.owed() > (LEAD - self.patience.statements()) * self.rows_per_commit
    }
}

impl Order for Ahead<'_> {
    fn turn(&self) -> Turn {
        if self.0.owed() < LEAD * self.0.rows_per_commit {
            Turn::Now
        } else {
            Turn::Later
        }
    }

    fn wait(&self, at_most: Option<Duration>) {
        self.0.ahead.wait_while(|| self.0.keeps_inserter(), at_most);
    }
}

impl Order for Behind<'_> {
    fn turn(&self) -> Turn {
        // Read first: what was inserted before the end is seen then.
        let closed = self.0.closed.load(Ordering::SeqCst);
        match self.0.owed() {
            owed if owed >= self.0.rows_per_commit => Turn::Now,
            0 if closed => Turn::Never,
            _ if closed => Turn::Now,
            _ => Turn::Later,
        }
    }

    fn wait(&self, at_most: Option<Duration>) {
        self.0.behind.wait_while(|| self.0.keeps_deleter(), at_most);
    }
}

/// A thread that may have to wait.
#[derive(Default)]
struct Side {
    thread: OnceLock<Thread>,
    waiting: AtomicBool,
}

impl Side {
    /// The flag is up before the last look at what is waited for, and others look at the flag after
    /// they have changed that: one of both sees the other.
    fn wait_while(&self, blocked: impl Fn() -> bool, at_most: Option<Duration>) {
        self.thread.get_or_init(thread::current);
        self.waiting.store(true, Ordering::SeqCst);
        if blocked() {
            match at_most {
                Some(time) => thread::park_timeout(time),
                None => thread::park(),
            }
        }
        self.waiting.store(false, Ordering::SeqCst);
    }

    /// Once for each time that it waits.
    fn wake_unless(&self, blocked: impl Fn() -> bool) {
        if self.waiting.load(Ordering::SeqCst)
            && !blocked()
            && self.waiting.swap(false, Ordering::SeqCst)
        {
            if let Some(thread) = self.thread.get() {
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
        let gate = Gate::new(50, Patience::Punctual);
        for _ in 0..LEAD {
            assert_eq!(Ahead(&gate).turn(), Turn::Now);
            gate.add_inserted(50);
        }
        assert_eq!(Ahead(&gate).turn(), Turn::Later);
        gate.add_deleted(50);
        assert_eq!(Ahead(&gate).turn(), Turn::Now);
    }

    #[test]
    fn the_deleter_waits_for_a_whole_statement_until_there_will_be_none() {
        let gate = Gate::new(50, Patience::Punctual);
        assert_eq!(Behind(&gate).turn(), Turn::Later);
        gate.add_inserted(49);
        assert_eq!(Behind(&gate).turn(), Turn::Later);
        gate.add_inserted(2);
        assert_eq!(Behind(&gate).turn(), Turn::Now);
        gate.add_deleted(50);
        gate.close();
        assert_eq!((Behind(&gate).turn(), gate.owed()), (Turn::Now, 1));
        gate.add_deleted(1);
        assert_eq!(Behind(&gate).turn(), Turn::Never);
    }

    /// Both sides wait often here; a lost wake-up would hang the test.
    #[test]
    fn nobody_waits_for_ever_and_the_distance_is_kept() {
        const ROWS: u64 = 200_000;
        for patience in [Patience::Punctual, Patience::Thrifty] {
            let gate = Gate::new(1, patience);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let order = Ahead(&gate);
                    for _ in 0..ROWS {
                        while order.turn() == Turn::Later {
                            order.wait(None);
                        }
                        gate.add_inserted(1);
                    }
                    gate.close();
                });
                let order = Behind(&gate);
                loop {
                    match order.turn() {
                        Turn::Now => {
                            assert!((1..=LEAD).contains(&gate.owed()));
                            gate.add_deleted(1);
                        }
                        Turn::Later => order.wait(None),
                        Turn::Never => break,
                    }
                }
            });
            assert_eq!((gate.inserted(), gate.deleted()), (ROWS, ROWS));
        }
    }

    #[test]
    fn the_thrifty_sleep_until_there_are_several_statements() {
        let gate = Gate::new(50, Patience::Thrifty);
        let slept = |wait: &dyn Fn()| {
            let begin = Instant::now();
            wait();
            begin.elapsed() >= MOMENT
        };
        let deleter = || Behind(&gate).wait(Some(MOMENT));
        let inserter = || Ahead(&gate).wait(Some(MOMENT));
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
        let gate = Gate::new(1, Patience::Punctual);
        Behind(&gate).wait(Some(Duration::from_millis(1)));
        assert_eq!(Behind(&gate).turn(), Turn::Later);
    }
}
