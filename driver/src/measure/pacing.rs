//! The pace of a client: when operations begin and when a slice ends. Time is an argument in this
//! module.

use crate::keys::Stream;
use crate::protocol::job::{Arrivals, Second};

/// Time since the window opened.
pub type Nanosecond = u64;

pub const NANOSECONDS: f64 = 1e9;
pub const SECOND: Nanosecond = 1_000_000_000;
/// The longest slice or step, a year, so that even an endless one fits a clock.
const LONGEST: Second = 365.0 * 86_400.0;

/// Return whether this is a possible length of a slice or step.
pub fn is_duration(seconds: Second) -> bool {
    seconds > 0.0 && seconds <= LONGEST
}

/// Return whether this is a possible rate of operations.
pub fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second.is_finite()
}

pub fn nanoseconds(seconds: Second) -> Nanosecond {
    (seconds * NANOSECONDS) as Nanosecond
}

pub trait Clock {
    fn now(&self) -> Nanosecond;
    fn sleep_until(&self, time: Nanosecond);
}

/// The next action of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Begin an operation; in an open loop with the time at which it was due.
    Begin(Option<Nanosecond>),
    /// Ask for the next action at that time.
    Wait(Nanosecond),
    /// The client's slice is over.
    Stop,
}

/// The plan of one client for one slice.
#[derive(Debug)]
pub struct Pace {
    end: End,
    /// The end of the current chunk, unless it is the end of the work.
    pause: Option<End>,
    schedule: Option<Schedule>,
    responses: Responses,
}

/// The start of an operation's response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Responses {
    /// The time at which the operation was due, if there is a schedule: lateness is part of the
    /// response time.
    SinceDue,
    /// The time at which it began: lateness is reported separately.
    SinceBegin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The time after which no operation begins or is due.
    At(Nanosecond),
    /// The time after which no operation begins, even if it was due before.
    Cutoff(Nanosecond),
    /// The client's position at which it stops.
    Position(u64),
}

const ENDLESS: End = End::Position(u64::MAX);

impl Pace {
    pub fn new(end: End, schedule: Option<Schedule>) -> Self {
        Self {
            end,
            pause: None,
            schedule,
            responses: Responses::SinceDue,
        }
    }

    /// Return the pace of a client that stops only when another one has stopped.
    pub fn endless() -> Self {
        Self::new(ENDLESS, None)
    }

    /// Return the pace of a background writer, which catches up until the cutoff if it is late.
    pub fn background(cutoff: Nanosecond, schedule: Schedule) -> Self {
        Self {
            end: End::Cutoff(cutoff),
            pause: None,
            schedule: Some(schedule),
            responses: Responses::SinceBegin,
        }
    }

    /// Set the end of a chunk, if it comes before the end of the work: a time, or a position. A
    /// position does not apply to a client that follows another one or catches up until a cutoff.
    pub fn pause(&mut self, at: Option<End>) {
        self.pause = match (at, self.end) {
            (Some(End::Position(_)), End::Cutoff(_) | ENDLESS) => None,
            // In a closed loop the next operation begins when the last one has finished.
            (Some(End::Cutoff(time)), End::At(_)) => Some(End::At(time)),
            (at, _) => at,
        };
    }

    /// Return whether this is the end of the work, not only of a chunk. A client that stops only when
    /// another one has stopped is always at its end.
    pub fn is_over(&self, clock: &impl Clock, finished: Nanosecond, position: u64) -> bool {
        self.end == ENDLESS || self.reaches(self.end, clock, finished, position)
    }

    fn reaches(&self, end: End, clock: &impl Clock, finished: Nanosecond, position: u64) -> bool {
        let begins = || self.schedule.as_ref().map_or(finished, Schedule::due);
        match end {
            End::At(time) => begins() >= time,
            End::Cutoff(time) => begins() >= time || clock.now() >= time,
            End::Position(last) => position >= last,
        }
    }

    /// Return the time after which no operation may begin unless it is due before.
    pub fn deadline(&self) -> Option<Nanosecond> {
        let ends = [Some(self.end), self.pause];
        let times = ends.into_iter().flatten().filter_map(|end| match end {
            End::At(time) | End::Cutoff(time) => Some(time),
            End::Position(_) => None,
        });
        times.min()
    }

    /// Return the start of the response time of an operation that was due at `due` and begins
    /// `now`.
    pub fn response_from(&self, due: Option<Nanosecond>, now: Nanosecond) -> Nanosecond {
        match self.responses {
            Responses::SinceDue => due.unwrap_or(now),
            Responses::SinceBegin => now,
        }
    }

    /// Return the next action of a client whose last operation ended at `finished`. In a closed loop
    /// the next one begins at that instant, so the clock need not be read. In an open loop all
    /// operations that are due before the end begin, however late, unless there is a cutoff.
    #[inline(always)] // called for every operation
    pub fn next(&mut self, clock: &impl Clock, finished: Nanosecond, position: u64) -> Next {
        let due = self.schedule.as_ref().map(Schedule::due);
        let reaches = |end| self.reaches(end, clock, finished, position);
        if reaches(self.end) || self.pause.is_some_and(reaches) {
            return Next::Stop;
        }
        match (due, &mut self.schedule) {
            (Some(due), _) if due > finished && due > clock.now() => Next::Wait(due),
            (_, Some(schedule)) => Next::Begin(Some(schedule.advance())),
            (_, None) => Next::Begin(None),
        }
    }

    /// Return whether a failed operation may be retried at this time.
    pub fn allows_retry(&self, now: Nanosecond) -> bool {
        match (self.end, &self.schedule) {
            (End::At(time), None) | (End::Cutoff(time), _) => now < time,
            _ => true,
        }
    }
}

/// The times at which one client's operations are due.
#[derive(Debug)]
pub struct Schedule {
    first: f64,
    due: f64,
    /// The number of operations that were due before this one.
    passed: u64,
    mean_gap: f64,
    arrivals: Arrivals,
    stream: Stream,
}

impl Schedule {
    /// Return the share of client `client` of `clients` in `per_second` operations: Poisson
    /// processes add up to a Poisson process, and evenly spaced clients take turns.
    pub fn new(
        per_second: f64,
        arrivals: Arrivals,
        client: u64,
        clients: u64,
        stream: Stream,
    ) -> Self {
        let gap = NANOSECONDS / per_second;
        let mut schedule = Self {
            first: gap * client as f64,
            due: gap * client as f64,
            passed: 0,
            mean_gap: gap * clients as f64,
            arrivals,
            stream,
        };
        if arrivals == Arrivals::Poisson {
            schedule.due = schedule.drawn_gap();
        }
        schedule
    }

    /// Return the number of remaining operations that are due before `end`, for even spacing.
    pub fn due_before(&self, end: Nanosecond) -> u64 {
        // Less than any relevant gap, and more than rounding errors.
        const HAIR: f64 = 1e-6;
        ((end as f64 - self.due) / self.mean_gap - HAIR).ceil() as u64
    }

    fn due(&self) -> Nanosecond {
        self.due.round() as Nanosecond
    }

    /// Advance to the next operation, and return the time at which this one was due.
    fn advance(&mut self) -> Nanosecond {
        let due = self.due();
        self.passed += 1;
        self.due = match self.arrivals {
            // A product, because the rounding errors of a sum would add up.
            Arrivals::Uniform => self.first + self.passed as f64 * self.mean_gap,
            Arrivals::Poisson => self.due + self.drawn_gap(),
        };
        due
    }

    fn drawn_gap(&mut self) -> f64 {
        -(1.0 - self.stream.unit()).ln() * self.mean_gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Sequence;

    /// A clock that always returns the same time.
    struct StoppedClock(Nanosecond);

    impl Clock for StoppedClock {
        fn now(&self) -> Nanosecond {
            self.0
        }

        fn sleep_until(&self, _: Nanosecond) {}
    }

    fn uniform(per_second: f64, client: u64, clients: u64) -> Schedule {
        let stream = Sequence::new(1, "arrivals").stream(0);
        Schedule::new(per_second, Arrivals::Uniform, client, clients, stream)
    }

    #[test]
    fn a_closed_loop_begins_at_once_until_the_end() {
        let mut pace = Pace::new(End::At(100), None);
        let clock = StoppedClock(0);
        assert_eq!(pace.next(&clock, 0, 0), Next::Begin(None));
        assert_eq!(pace.next(&clock, 99, 1), Next::Begin(None));
        assert_eq!(pace.next(&clock, 100, 2), Next::Stop);
    }

    #[test]
    fn positions_end_a_slice_whatever_the_time() {
        let mut pace = Pace::new(End::Position(3), None);
        let clock = StoppedClock(0);
        assert_eq!(pace.next(&clock, u64::MAX, 2), Next::Begin(None));
        assert_eq!(pace.next(&clock, 0, 3), Next::Stop);
        assert_eq!(pace.next(&clock, 0, 4), Next::Stop);
    }

    #[test]
    fn uniform_clients_take_turns() {
        let times = |client| {
            let mut schedule = uniform(1000.0, client, 2);
            [schedule.advance(), schedule.advance(), schedule.advance()]
        };
        assert_eq!(times(0), [0, 2_000_000, 4_000_000]);
        assert_eq!(times(1), [1_000_000, 3_000_000, 5_000_000]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_their_law() {
        let stream = Sequence::new(1, "arrivals").stream(0);
        let mut schedule = Schedule::new(1000.0, Arrivals::Poisson, 0, 1, stream);
        let count = 100_000;
        let gaps: Vec<f64> = (0..count).map(|_| schedule.drawn_gap()).collect();
        let mean = gaps.iter().sum::<f64>() / f64::from(count);
        let above_mean = gaps.iter().filter(|&&gap| gap > 1e6).count() as f64 / f64::from(count);
        // The standard deviation of the mean is 0.3%.
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((above_mean - (-1.0f64).exp()).abs() < 0.01, "{above_mean}");
    }

    #[test]
    fn an_open_loop_waits_for_what_is_due() {
        let mut pace = Pace::new(End::At(3_000_000), Some(uniform(1000.0, 1, 2)));
        let (early, due) = (StoppedClock(500_000), StoppedClock(1_000_000));
        assert_eq!(pace.next(&early, 0, 0), Next::Wait(1_000_000));
        assert_eq!(pace.next(&due, 0, 0), Next::Begin(Some(1_000_000)));
        assert_eq!(pace.next(&due, 0, 1), Next::Stop);
    }

    #[test]
    fn late_operations_begin_even_after_the_end() {
        let mut pace = Pace::new(End::At(5_000_000), Some(uniform(1000.0, 0, 2)));
        let clock = StoppedClock(90_000_000);
        for due in [0, 2_000_000, 4_000_000] {
            assert_eq!(pace.next(&clock, 90_000_000, 0), Next::Begin(Some(due)));
        }
        assert_eq!(pace.next(&clock, 90_000_000, 3), Next::Stop);
    }

    #[test]
    fn writers_in_the_background_stop_at_the_cutoff_whatever_is_due() {
        // Due at 0, 10 ms, 20 ms, ...
        let mut pace = Pace::background(100_000_000, uniform(100.0, 0, 1));
        let late = StoppedClock(55_000_000);
        for due in [0, 10_000_000, 20_000_000] {
            assert_eq!(pace.next(&late, 55_000_000, 0), Next::Begin(Some(due)));
        }
        let over = StoppedClock(100_000_000);
        assert_eq!(pace.next(&over, 55_000_000, 3), Next::Stop);
        assert!(!pace.allows_retry(100_000_000));
        assert!(pace.allows_retry(99_999_999));
        assert_eq!(pace.response_from(Some(5), 7), 7);
        assert_eq!(
            Pace::new(End::At(9), None).response_from(Some(5), 7),
            5,
            "lateness counts in an open loop"
        );
    }

    #[test]
    fn a_chunk_ends_before_the_work_does_and_the_next_one_goes_on() {
        let mut pace = Pace::background(100_000_000, uniform(100.0, 0, 1));
        pace.pause(Some(End::Cutoff(15_000_000)));
        let (first, second) = (StoppedClock(12_000_000), StoppedClock(16_000_000));
        assert_eq!(pace.next(&first, 0, 0), Next::Begin(Some(0)));
        assert_eq!(pace.next(&first, 0, 1), Next::Begin(Some(10_000_000)));
        assert_eq!(pace.next(&first, 12_000_000, 2), Next::Stop);
        assert_eq!(pace.deadline(), Some(15_000_000));
        assert!(!pace.is_over(&second, 12_000_000, 2));
        assert!(pace.is_over(&StoppedClock(100_000_000), 12_000_000, 2));
        pace.pause(None);
        assert_eq!(pace.next(&second, 16_000_000, 2), Next::Wait(20_000_000));
        let mut counted = Pace::new(End::Position(3), None);
        counted.pause(Some(End::Position(2)));
        assert_eq!(counted.next(&first, 0, 2), Next::Stop);
        assert!(!counted.is_over(&first, 0, 2) && counted.is_over(&first, 0, 3));
        let mut timed = Pace::new(End::At(100_000_000), None);
        timed.pause(Some(End::Position(2)));
        assert_eq!(timed.next(&first, 0, 1), Next::Begin(None));
        assert_eq!(timed.next(&first, 0, 2), Next::Stop);
        assert!(!timed.is_over(&first, 0, 2));
        let mut endless = Pace::endless();
        endless.pause(Some(End::Position(2)));
        assert_eq!(endless.next(&first, 0, 2), Next::Begin(None));
    }

    #[test]
    fn what_is_due_before_the_end_is_what_begins_before_it() {
        for (per_second, client, clients, end) in [
            (20.0, 0, 2, 2_000_000_000),
            (20.0, 1, 2, 2_000_000_000),
            (7.0, 2, 3, 10_000_000_000),
            (400.0 / 3.0, 0, 1, 30_000_000_000),
        ] {
            let schedule = || uniform(per_second, client, clients);
            let mut pace = Pace::new(End::At(end), Some(schedule()));
            let mut started = 0;
            while pace.next(&StoppedClock(u64::MAX), u64::MAX, started) != Next::Stop {
                started += 1;
            }
            assert_eq!(schedule().due_before(end), started);
        }
    }
}
