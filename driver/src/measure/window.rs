//! The window of a measurement. All times of the measurement count from its opening and exclude the
//! time between windows.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{clock_gettime, ClockId};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

use super::pacing::{Clock, Nanosecond, SECOND};
use crate::wire::Failure;

/// A window, opened by the first thread that leaves the barrier.
#[derive(Default)]
pub struct Window {
    clock: OnceLock<WindowClock>,
    /// The time of the measurement before this window, if there are several.
    before: Nanosecond,
}

/// The clock of an open window.
#[derive(Clone, Copy)]
pub struct WindowClock {
    /// The monotonic clock's reading at which the measurement would have begun without pauses.
    zero: Nanosecond,
    /// Unix time at which the window opened.
    pub started: f64,
}

impl Window {
    /// Return a window that continues a measurement of this duration so far.
    pub fn after(before: Nanosecond) -> Self {
        Self {
            clock: OnceLock::new(),
            before,
        }
    }

    pub fn clock(&self) -> WindowClock {
        *self.clock.get_or_init(|| WindowClock {
            started: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |age| age.as_secs_f64()),
            zero: monotonic().wrapping_sub(self.before),
        })
    }
}

impl Clock for WindowClock {
    fn now(&self) -> Nanosecond {
        monotonic().wrapping_sub(self.zero)
    }

    /// Sleep until `time`, or until another thread unparks this one.
    fn sleep_until(&self, time: Nanosecond) {
        std::thread::park_timeout(Duration::from_nanos(time.saturating_sub(self.now())));
    }
}

/// Read the clock of `Instant` as one number: the difference of two instants costs more than reading
/// them, and every operation reads two.
#[inline]
fn monotonic() -> Nanosecond {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    time.tv_sec() as Nanosecond * SECOND + time.tv_nsec() as Nanosecond
}

/// Ask the kernel for exact timers. By default it may combine timers within 50 us, which an open loop
/// would see as lag. If it refuses, the lag is still measured.
pub fn prefer_punctual_sleep() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Pin the calling thread to a CPU; return its previous CPUs.
pub fn stay_on(cpu: u32) -> Result<CpuSet, Failure> {
    let refused = |reason| Failure::usage(format!("cannot run a client on CPU {cpu}: {reason}"));
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(refused("there are fewer CPUs".to_owned()));
    }
    set.set(cpu as usize);
    let before = sched_getaffinity(None).map_err(Failure::usage)?;
    sched_setaffinity(None, &set).map_err(|error| refused(error.to_string()))?;
    Ok(before)
}

/// Restrict the calling thread to these CPUs.
pub fn run_on(cpus: &CpuSet) -> Result<(), Failure> {
    sched_setaffinity(None, cpus).map_err(Failure::usage)
}
