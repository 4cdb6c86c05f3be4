//! Measurements of a slice or step: its window, its pace, its records and the CPU time of its threads.

pub mod pacing;
pub mod recorder;
pub mod usage;
pub mod window;
