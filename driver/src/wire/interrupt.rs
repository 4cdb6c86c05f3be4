//! The end of a connection that another thread decides on: the thread of its client waits for an
//! answer that may never come, and nothing is added to what an operation costs.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Failure;

/// Asks the server to stop what it does for a connection.
type Cancel = dyn Fn() -> Result<(), Failure> + Send + Sync;

pub enum Peer {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    /// The connection that a client has now; none between two.
    Current(Mutex<Option<Arc<Interrupt>>>),
}

/// Ends a connection, and the statement that its server executes for it.
pub struct Interrupt {
    peer: Peer,
    cancel: OnceLock<Box<Cancel>>,
}

impl Interrupt {
    pub fn of(peer: Peer) -> Self {
        Self {
            peer,
            cancel: OnceLock::new(),
        }
    }

    /// Cancel statements so: a server that executes one does not see that its client has gone.
    pub fn cancel_by(&self, cancel: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) {
        // A connection begins once.
        let _ = self.cancel.set(Box::new(cancel));
    }

    /// Ask the server to stop, and end the connection, whether the server could be asked or not.
    pub fn fire(&self) {
        fire_all([self].into_iter());
    }

    /// Name the connection that a client has now, if this is the interrupt of several in turn.
    pub fn now_of(&self, connection: Option<Arc<Self>>) {
        if let Peer::Current(current) = &self.peer {
            *current.lock().unwrap_or_else(PoisonError::into_inner) = connection;
        }
    }

    fn shut_down(&self) -> io::Result<()> {
        match &self.peer {
            Peer::Unix(stream) => stream.shutdown(Shutdown::Both),
            Peer::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Peer::Current(current) => {
                let current = current.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(connection) = current.as_ref() {
                    connection.fire();
                }
                Ok(())
            }
        }
    }
}

/// End connections to one server. A server that cannot be asked once is not asked again.
pub fn fire_all<'a>(interrupts: impl Iterator<Item = &'a Interrupt> + Clone) {
    let mut cancels = interrupts.clone().filter_map(|each| each.cancel.get());
    let _ = cancels.try_for_each(|cancel| cancel());
    for interrupt in interrupts {
        let _ = interrupt.shut_down(); // the server may have ended the connection already
    }
}
