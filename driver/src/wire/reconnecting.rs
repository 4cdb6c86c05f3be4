//! A client that connects anew in each of its operations. `CONNECT` stands for that: its reply is
//! there when the server has authenticated the client, or has refused it.
//!
//! Connections are not reused in any form: each TLS handshake is a whole one.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use super::interrupt::{Interrupt, Peer};
use super::{
    connect, BulkLoad, Connection, Failure, Reply, Request, ServerError, Session, Table,
    TextQueries, Traffic, CONNECT,
};
use crate::protocol::target::Target;

pub struct Reconnecting {
    target: Target,
    connection: Option<Box<dyn Session>>,
    /// The reply to `CONNECT`.
    reply: Option<Reply>,
    /// The traffic of the connections before this one.
    before: Traffic,
    interrupt: Arc<Interrupt>,
}

impl Reconnecting {
    /// Begin with a connection to the target, which the first operation closes.
    pub fn from(connection: Box<dyn Session>, target: &Target) -> Self {
        let interrupt = Arc::new(Interrupt::of(Peer::Current(Mutex::new(None))));
        interrupt.now_of(connection.interrupt());
        Self {
            target: target.clone(),
            connection: Some(connection),
            reply: None,
            before: Traffic::default(),
            interrupt,
        }
    }

    fn current(&mut self) -> Result<&mut dyn Session, Failure> {
        match &mut self.connection {
            Some(connection) => Ok(connection.as_mut()),
            None => Err(Failure::connection("the client is not connected")),
        }
    }

    fn reconnect(&mut self) -> Result<Reply, Failure> {
        self.operation_ended()?;
        let connection = match connect(&self.target) {
            Ok(connection) => connection,
            // A server that refuses a client is there.
            Err(Failure::Connection {
                sqlstate: Some(sqlstate),
                message,
            }) => {
                return Ok(Reply {
                    error: Some(ServerError {
                        sqlstate,
                        message,
                        collision: false,
                    }),
                    ..Reply::default()
                })
            }
            Err(failure) => return Err(failure),
        };
        self.interrupt.now_of(connection.interrupt());
        self.connection = Some(connection);
        Ok(Reply::default())
    }
}

impl TextQueries for Reconnecting {
    fn query(&mut self, sql: &str) -> Result<Table, Failure> {
        self.current()?.query(sql)
    }
}

impl Connection for Reconnecting {
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure> {
        match request {
            Request::Text(CONNECT) => {
                self.reply = Some(self.reconnect()?);
                Ok(())
            }
            other => self.current()?.send(other),
        }
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        match self.reply {
            Some(_) => Ok(()),
            None => self.current()?.wait_readable(),
        }
    }

    fn receive(&mut self) -> Result<(), Failure> {
        match self.reply {
            Some(_) => Ok(()),
            None => self.current()?.receive(),
        }
    }

    fn reply(&mut self) -> Result<Option<Reply>, Failure> {
        match self.reply.take() {
            Some(reply) => Ok(Some(reply)),
            None => self.current()?.reply(),
        }
    }

    /// Connecting waits in the thread of the client, which no other client can share.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn traffic(&self) -> Traffic {
        let current = self.connection.as_ref();
        let current = current.map(|connection| connection.traffic());
        [self.before, current.unwrap_or_default()].into_iter().sum()
    }

    /// Disconnect. The next operation begins when the server has ended the session: its work for an
    /// operation falls into the operation's slice, and sessions that end do not pile up.
    fn operation_ended(&mut self) -> Result<(), Failure> {
        let Some(mut connection) = self.connection.take() else {
            return Ok(());
        };
        connection.disconnect()?;
        self.interrupt.now_of(None);
        self.before = [self.before, connection.traffic()].into_iter().sum();
        Ok(())
    }
}

impl Session for Reconnecting {
    /// Each operation is served by another process.
    fn server_process(&mut self) -> Result<Option<u32>, Failure> {
        Ok(None)
    }

    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        Some(Arc::clone(&self.interrupt))
    }

    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.current()?.prepare(statements)
    }

    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure> {
        self.current()?.explain(request)
    }

    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure> {
        self.current()?.load(table, columns)
    }
}
