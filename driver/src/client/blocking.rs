//! A thread for one client: nothing is faster while threads are few.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::gate::{Free, Order, Turn};
use super::{Client, Context, Progress};
use crate::measure::pacing::{Clock, Next, Pace};
use crate::wire::Failure;

/// Runs the client's slice. `abandoned`: another client has failed, so the slice is void.
pub fn run<C: Clock>(
    client: &mut Client,
    pace: &mut Pace,
    context: &mut Context<'_, C>,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    run_in_order(client, pace, &Free, context, abandoned)
}

/// As `run`, where operations have to wait for what another client does.
pub fn run_in_order<C: Clock>(
    client: &mut Client,
    pace: &mut Pace,
    order: &impl Order,
    context: &mut Context<'_, C>,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    while !abandoned.load(Ordering::Relaxed) {
        match order.turn() {
            Turn::Now => {}
            Turn::Never => break,
            Turn::Later => {
                let left = pace
                    .deadline()
                    .map(|time| time.saturating_sub(context.clock.now()));
                if left == Some(0) {
                    break;
                }
                order.wait(left.map(Duration::from_nanos));
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
