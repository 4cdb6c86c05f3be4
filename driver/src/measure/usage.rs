//! The CPU time and the context switches of the driver's threads.

use std::ops::Add;

use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeVal;
use nix::time::{clock_gettime, ClockId};

use crate::protocol::event::ClientUse;
use crate::protocol::job::Second;

/// The use of one thread since it was started or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadUse {
    pub cpu: Second,
    pub user: Second,
    pub system: Second,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl ThreadUse {
    /// Read the use of the calling thread.
    pub fn now() -> Self {
        // Through the C library: rustix reads this clock from the vDSO, which valgrind hides.
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        let time = time.expect("every thread has its clock");
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("every thread has its usage");
        Self {
            cpu: time.tv_sec() as Second + time.tv_nsec() as Second * 1e-9,
            user: seconds(usage.user_time()),
            system: seconds(usage.system_time()),
            voluntary_switches: usage.voluntary_context_switches() as u64,
            involuntary_switches: usage.involuntary_context_switches() as u64,
        }
    }

    /// Return the use since an earlier reading. The clock counts nanoseconds, but only the kernel's
    /// coarser accounting separates user from system time, so it determines the shares.
    pub fn since(self, earlier: Self) -> Self {
        let cpu = self.cpu - earlier.cpu;
        let user = (self.user - earlier.user).max(0.0);
        let system = (self.system - earlier.system).max(0.0);
        let user_share = if user + system > 0.0 {
            user / (user + system)
        } else {
            1.0
        };
        Self {
            cpu,
            user: cpu * user_share,
            system: cpu * (1.0 - user_share),
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
        }
    }
}

impl Add for ThreadUse {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            user: self.user + other.user,
            system: self.system + other.system,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// Return the use of all threads in a window of `seconds`.
pub fn client_use(uses: &[ThreadUse], seconds: Second) -> ClientUse {
    let busiest = uses.iter().map(|thread| thread.cpu).fold(0.0, f64::max);
    ClientUse {
        cpu_user_s: uses.iter().map(|thread| thread.user).sum(),
        cpu_system_s: uses.iter().map(|thread| thread.system).sum(),
        voluntary_switches: uses.iter().map(|thread| thread.voluntary_switches).sum(),
        involuntary_switches: uses.iter().map(|thread| thread.involuntary_switches).sum(),
        threads: uses.len() as u64,
        busiest_thread: if seconds > 0.0 {
            busiest / seconds
        } else {
            0.0
        },
    }
}

fn seconds(time: TimeVal) -> Second {
    time.tv_sec() as Second + time.tv_usec() as Second * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_and_sleep_does_not() {
        let before = ThreadUse::now();
        let mut sum = 0u64;
        while ThreadUse::now().cpu - before.cpu < 0.02 {
            sum = std::hint::black_box(sum + 1);
        }
        let worked = ThreadUse::now();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let slept = ThreadUse::now().since(worked);
        let work = worked.since(before);
        assert!(work.cpu >= 0.02 && (work.user + work.system - work.cpu).abs() < 1e-6);
        assert!(slept.cpu < 0.01 && slept.voluntary_switches >= 1);
    }
}
