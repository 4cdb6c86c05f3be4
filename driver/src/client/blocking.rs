//! A thread for one client, the fastest way while threads are few.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::gate::{Start, StartCondition, Unconditional};
use super::{Client, Context, Progress};
use crate::measure::{Clock, Next, Pace};
use crate::wire::Failure;

/// Run the client's slice, until another client's failure sets `abandoned`, which makes it invalid.
pub fn run<C: Clock>(
    client: &mut Client,
    pace: &mut Pace,
    context: &mut Context<'_, C>,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    run_when(&Unconditional, client, pace, context, abandoned)
}

/// Run the client's slice like `run`, each operation when the condition allows it.
pub fn run_when<C: Clock>(
    condition: &impl StartCondition,
    client: &mut Client,
    pace: &mut Pace,
    context: &mut Context<'_, C>,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    while !abandoned.load(Ordering::Relaxed) {
        match condition.start() {
            Start::Now => {}
            Start::Never => break,
            Start::Later => {
                let deadline = pace.deadline();
                let left = deadline.map(|time| time.saturating_sub(context.clock.now()));
                if left == Some(0) {
                    break;
                }
                condition.wait(left.map(Duration::from_nanos));
                continue;
            }
        }
        match pace.next(context.clock, client.finished, client.position) {
            Next::Stop => break,
            Next::Wait(time) => context.clock.sleep_until(time),
            Next::Begin(due) => {
                client.begin(due, pace, context)?;
                loop {
                    client.wait_readable()?;
                    if client.pump(pace, context)? == Progress::Idle {
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}
