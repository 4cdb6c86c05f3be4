//! A thread for many clients: it serves each client whose reply has arrived, and sleeps when there is
//! none. The busier the server, the more replies one wake-up finds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{epoll, Timespec};
use rustix::io::Errno;

use super::gate::{Start, StartCondition};
use super::{Client, Context, Progress};
use crate::measure::{Clock, Nanosecond, Next, Pace};
use crate::wire::Failure;

/// Clients that wait until their next operation is due.
type Waiting = BinaryHeap<Reverse<(Nanosecond, usize)>>;

/// The epoll set of a thread's clients, kept from slice to slice.
pub struct Readiness {
    epoll: OwnedFd,
}

impl Readiness {
    /// Watch the clients by their indices in the slice.
    pub fn watch(clients: &[Client]) -> Result<Self, Failure> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(Failure::connection)?;
        for (place, client) in clients.iter().enumerate() {
            let data = epoll::EventData::new_u64(place as u64);
            let Some(descriptor) = client.connection().descriptor() else {
                return Err(Failure::usage(
                    "a client without a server needs a thread of its own",
                ));
            };
            epoll::add(&epoll, descriptor, data, epoll::EventFlags::IN)
                .map_err(Failure::connection)?;
        }
        Ok(Self { epoll })
    }

    /// Wait for a reply, at most until `until`, and put the ready clients into `events`.
    fn wait(
        &self,
        events: &mut Vec<epoll::Event>,
        clock: &impl Clock,
        until: Option<Nanosecond>,
        at_most: Option<Duration>,
    ) -> Result<(), Failure> {
        let timeout = until.map(|time| {
            let rest = Duration::from_nanos(time.saturating_sub(clock.now()));
            let rest = at_most.map_or(rest, |longest| rest.min(longest));
            Timespec::try_from(rest).expect("584 years at most")
        });
        match epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Failure::connection(error)),
        }
    }
}

/// Run the slice of all clients, each with its pace, while the condition allows further operations.
pub fn run_when<C: Clock>(
    condition: &impl StartCondition,
    clients: &mut [Client],
    paces: &mut [Pace],
    readiness: &Readiness,
    context: &mut Context<'_, C>,
    abandoned: &AtomicBool,
) -> Result<(), Failure> {
    let mut events = Vec::with_capacity(clients.len());
    let mut slice = Slice {
        waiting: BinaryHeap::with_capacity(clients.len()),
        clients,
        paces,
        context,
        condition,
        busy: 0,
    };
    for place in 0..slice.clients.len() {
        slice.next(place)?;
    }
    while slice.is_under_way() && !abandoned.load(Ordering::Relaxed) {
        let due = slice.next_due();
        readiness.wait(&mut events, slice.context.clock, due, condition.ask_again())?;
        for event in events.drain(..) {
            slice.serve(event.data.u64() as usize)?;
        }
        if due.is_some() {
            slice.begin_due()?;
        }
    }
    Ok(())
}

struct Slice<'a, 'b, C, S> {
    clients: &'a mut [Client],
    paces: &'a mut [Pace],
    context: &'a mut Context<'b, C>,
    waiting: Waiting,
    condition: &'a S,
    /// The number of clients with a running operation.
    busy: usize,
}

impl<C: Clock, S: StartCondition> Slice<'_, '_, C, S> {
    fn is_under_way(&self) -> bool {
        self.busy > 0 || !self.waiting.is_empty()
    }

    fn next_due(&self) -> Option<Nanosecond> {
        self.waiting.peek().map(|Reverse((time, _))| *time)
    }

    fn serve(&mut self, place: usize) -> Result<(), Failure> {
        let progress = self.clients[place].pump(&self.paces[place], self.context)?;
        if progress == Progress::Idle {
            self.busy -= 1;
            self.next(place)?;
        }
        Ok(())
    }

    fn next(&mut self, place: usize) -> Result<(), Failure> {
        if self.condition.start() == Start::Never {
            return Ok(());
        }
        let client = &mut self.clients[place];
        match self.paces[place].next(self.context.clock, client.finished, client.position) {
            Next::Stop => {}
            Next::Wait(time) => self.waiting.push(Reverse((time, place))),
            Next::Begin(due) => {
                client.begin(due, &self.paces[place], self.context)?;
                self.busy += 1;
            }
        }
        Ok(())
    }

    fn begin_due(&mut self) -> Result<(), Failure> {
        let now = self.context.clock.now();
        while let Some(&Reverse((time, place))) = self.waiting.peek() {
            if time > now {
                break;
            }
            self.waiting.pop();
            self.next(place)?;
        }
        if self.condition.start() == Start::Never {
            self.waiting.clear();
        }
        Ok(())
    }
}
