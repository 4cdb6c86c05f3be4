//! A thread for one client: nothing is faster while threads are few.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Client, Context, Progress};
use crate::pacing::{Clock, Next, Pace};
use crate::wire::Failure;

/// Runs the client's slice. `abandoned`: another client has failed, so the slice is void.
pub fn run<C: Clock>(
    client: &mut Client,
    pace: &mut Pace,
    context: &mut Context<'_, C>,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    while !abandoned.load(Ordering::Relaxed) {
        match pace.next(context.clock, client.finished, client.position) {
            Next::Stop => break,
            Next::Wait(time) => context.clock.sleep_until(time),
            Next::Begin(due) => {
                client.begin(due, context)?;
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
