//! The shutdown of a connection by another thread: the thread of its client may wait for an answer
//! that never comes. It adds nothing to the cost of an operation.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Failure;

/// Asks the server to cancel its work for a connection.
type Cancel = dyn Fn() -> Result<(), Failure> + Send + Sync;

pub enum Peer {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    /// The client's current connection; none between two of them.
    Current(Mutex<Option<Arc<Interrupt>>>),
}

/// Shuts a connection down, and cancels the statement that its server executes.
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

    /// Set how statements are cancelled: a server does not notice during a statement that its client
    /// has gone.
    pub fn cancel_by(&self, cancel: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) {
        // A connection is set up once.
        let _ = self.cancel.set(Box::new(cancel));
    }

    /// Ask the server to cancel, and shut the connection down even if the server could not be asked.
    pub fn fire(&self) {
        fire_all([self].into_iter());
    }

    /// Set the client's current connection, if this is the interrupt of several consecutive ones.
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

/// Shut down connections to one server. A server that cannot be reached once is not asked again.
pub fn fire_all<'a>(interrupts: impl Iterator<Item = &'a Interrupt> + Clone) {
    let mut cancels = interrupts.clone().filter_map(|each| each.cancel.get());
    let _ = cancels.try_for_each(|cancel| cancel());
    for interrupt in interrupts {
        let _ = interrupt.shut_down(); // the server may have closed the connection already
    }
}
