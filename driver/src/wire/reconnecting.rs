//! A client that reconnects in each of its operations. `CONNECT` is the request for it: its reply is
//! complete when the server has authenticated or rejected the client.
//!
//! Connections are not reused in any form: each TLS handshake is a full one.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use super::interrupt::{Interrupt, Peer};
use super::{
    connect, Amounts, BulkLoad, Connection, Failure, Reply, Request, ServerError, Session, Table,
    TextQueries, Traffic, CONNECT,
};
use crate::protocol::target::Target;

pub struct Reconnecting {
    target: Target,
    connection: Option<Box<dyn Session>>,
    /// The reply to `CONNECT`.
    reply: Option<Reply>,
    /// The traffic of earlier connections.
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
            // A server that rejects a client is running.
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

    /// Return None: connecting blocks the client's thread, so other clients cannot share it.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn traffic(&self) -> Traffic {
        let current = self.connection.as_ref();
        let current = current.map(|connection| connection.traffic());
        [self.before, current.unwrap_or_default()].into_iter().sum()
    }

    /// Disconnect. The next operation begins after the server has ended the session, so that its work
    /// for an operation happens in the operation's slice, and sessions do not pile up.
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
    /// Return None: each operation is served by another process.
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

    fn count_work(&mut self, request: Request<'_>) -> Result<Option<Amounts>, Failure> {
        self.current()?.count_work(request)
    }

    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure> {
        self.current()?.load(table, columns)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    const AUTHENTICATED: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const TOO_MANY: &[u8] = b"E\0\0\0\x17SFATAL\0C53300\0Mno\0\0";

    /// Serve one client for each of the answers, one after the other.
    fn server(answers: &'static [&[u8]]) -> (Target, std::thread::JoinHandle<usize>) {
        let name = format!("slowdust-reconnecting-{}", std::process::id());
        let path = std::env::temp_dir().join(format!("{name}-{}", answers.len()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let target = Target {
            socket: Some(path.to_str().unwrap().to_owned()),
            ..Target::of_test("postgres", None)
        };
        let served = std::thread::spawn(move || {
            let mut farewells = 0;
            for answer in answers {
                let (mut client, _) = listener.accept().unwrap();
                let mut start = [0; 4];
                client.read_exact(&mut start).unwrap();
                let mut rest = vec![0; u32::from_be_bytes(start) as usize - 4];
                client.read_exact(&mut rest).unwrap();
                client.write_all(answer).unwrap();
                let mut farewell = Vec::new();
                if *answer == AUTHENTICATED {
                    let mut message = [0; 5];
                    client.read_exact(&mut message).unwrap();
                    farewell.extend(message);
                }
                farewells += usize::from(farewell == b"X\0\0\0\x04");
            }
            std::fs::remove_file(&path).unwrap();
            farewells
        });
        (target, served)
    }

    fn connect_by(client: &mut Reconnecting) -> Reply {
        client.send(Request::Text(CONNECT)).unwrap();
        client.wait_readable().unwrap();
        client.receive().unwrap();
        client.reply().unwrap().expect("a reply")
    }

    #[test]
    fn each_operation_has_a_connection_that_it_ends() {
        let (target, served) = server(&[AUTHENTICATED; 3]);
        let first = connect(&target).unwrap();
        let mut client = Reconnecting::from(first, &target);
        for _ in 0..2 {
            assert_eq!(connect_by(&mut client), Reply::default());
            client.operation_ended().unwrap();
        }
        assert!(client.traffic().sent > 0 && client.descriptor().is_none());
        assert_eq!(served.join().unwrap(), 3);
    }

    #[test]
    fn a_refused_client_is_an_error_of_its_operation() {
        let (target, served) = server(&[AUTHENTICATED, TOO_MANY]);
        let first = connect(&target).unwrap();
        let mut client = Reconnecting::from(first, &target);
        let error = connect_by(&mut client).error.expect("a refusal");
        assert_eq!((error.sqlstate.as_str(), error.collision), ("53300", false));
        assert!(client.query("SELECT 1").is_err());
        served.join().unwrap();
    }

    #[test]
    fn a_server_that_is_gone_ends_the_work() {
        let (target, served) = server(&[AUTHENTICATED]);
        let nowhere = Target::of_test("postgres", None);
        let mut client = Reconnecting::from(connect(&target).unwrap(), &nowhere);
        let gone = client.send(Request::Text(CONNECT));
        assert!(matches!(
            gone,
            Err(Failure::Connection { sqlstate: None, .. })
        ));
        served.join().unwrap();
    }
}
