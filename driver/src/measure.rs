//! Measurements of a slice or step: its window, its pace, its records and the use of its threads.

mod pacing;
mod recorder;
mod usage;
mod window;

pub use pacing::{
    is_duration, is_rate, nanoseconds, Clock, End, Nanosecond, Next, Pace, Schedule, NANOSECONDS,
};
pub use recorder::{Recorder, WRONG_ROW_COUNT};
pub use usage::{client_use, ThreadUse};
pub use window::{prefer_punctual_sleep, run_on, stay_on, Window, WindowClock};
