//! Commands for a DBMS without a server are relayed unchanged to its process (see `embedded`), and
//! its events are returned.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::Deserialize;

use crate::driver::error_event;
use crate::embedded::SOCKET;
use crate::protocol::event::Event;
use crate::protocol::job::{Second, Stop};
use crate::protocol::target::longest_wait;
use crate::wire::{is_in_process, Failure};

/// The connections to these processes, by the directories of their sockets.
#[derive(Default)]
pub struct Relay {
    connections: HashMap<String, BufReader<UnixStream>>,
    /// Session -> its process.
    sessions: HashMap<String, Process>,
    /// Sessions lost with the connection to their process.
    lost: HashSet<String>,
}

/// The parts of a command that determine its destination.
#[derive(Deserialize)]
struct Address {
    id: u64,
    command: String,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    target: Option<Place>,
    #[serde(default)]
    stop: Option<Stop>,
    #[serde(default)]
    patience: Option<Second>,
}

#[derive(Deserialize)]
struct Place {
    dbms: String,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    socket: Option<String>,
    #[serde(default)]
    patience: Option<Second>,
}

#[derive(Clone)]
struct Process {
    directory: String,
    /// The time limit for an event of a command without its own time.
    patience: Option<Second>,
}

/// The parts of an event that show whether it is the last one of a command.
#[derive(Deserialize)]
struct Answer {
    event: String,
    id: Option<u64>,
}

impl Relay {
    /// Execute a command if it is for such a process; return whether it was. `print` is called with
    /// the line of each event.
    pub fn execute(&mut self, line: &str, print: &mut dyn FnMut(&str)) -> bool {
        let Ok(address) = serde_json::from_str::<Address>(line) else {
            return false;
        };
        if let Some(event) = self.answer_for_lost(&address) {
            print(&serde_json::to_string(&event).expect("an event is JSON"));
            return true;
        }
        let Some(process) = self.process(&address) else {
            return false;
        };
        let outcome = address.limit(&process).and_then(|limit| {
            let exchanged = self.exchange(&process.directory, address.id, line, limit, print);
            exchanged.map_err(|error| lost(&process.directory, limit, &error))
        });
        if let Err(failure) = outcome {
            self.lose(&process.directory);
            let event = error_event(Some(address.id), failure);
            print(&serde_json::to_string(&event).expect("an event is JSON"));
        }
        true
    }

    /// Drop a connection; its sessions count as lost until they are closed.
    fn lose(&mut self, directory: &str) {
        self.connections.remove(directory);
        let lost = self
            .sessions
            .extract_if(|_, place| place.directory == directory);
        self.lost.extend(lost.map(|(session, _)| session));
    }

    /// Return the answer to a command for a session whose process has exited, in the form of the
    /// driver's own answer for a server that has exited.
    fn answer_for_lost(&mut self, address: &Address) -> Option<Event> {
        let session = address
            .session
            .as_ref()
            .filter(|session| self.lost.contains(*session))?;
        let id = address.id;
        if address.target.is_some() || address.command == "close" {
            self.lost.remove(session);
        }
        match address.command.as_str() {
            _ if address.target.is_some() => None,
            "close" => Some(Event::Closed {
                id,
                session: session.clone(),
            }),
            _ => {
                let lost = Failure::connection("the process of this session has exited");
                Some(error_event(Some(id), lost))
            }
        }
    }

    fn process(&mut self, address: &Address) -> Option<Process> {
        let Some(place) = &address.target else {
            return self.sessions.get(address.session.as_ref()?).cloned();
        };
        let protocol = place.protocol.as_deref().unwrap_or(&place.dbms);
        let directory = place.socket.clone().filter(|_| is_in_process(protocol));
        let process = directory.map(|directory| Process {
            directory,
            patience: place.patience,
        });
        if let Some(session) = &address.session {
            match &process {
                Some(process) => self.sessions.insert(session.clone(), process.clone()),
                None => self.sessions.remove(session),
            };
        }
        process
    }

    fn exchange(
        &mut self,
        directory: &str,
        id: u64,
        line: &str,
        limit: Option<Duration>,
        print: &mut dyn FnMut(&str),
    ) -> io::Result<()> {
        let connection = self.send(directory, line)?;
        connection.get_ref().set_read_timeout(limit)?;
        loop {
            let mut event = String::new();
            if connection.read_line(&mut event)? == 0 {
                return Err(io::Error::other("the process has closed the connection"));
            }
            let event = event.trim_end();
            print(event);
            let answer: Answer = serde_json::from_str(event)?;
            if answer.event != "progress" && answer.id == Some(id) {
                return Ok(());
            }
        }
    }

    /// Send a command over the open connection, or over a new one in case the process has been
    /// restarted.
    fn send(&mut self, directory: &str, line: &str) -> io::Result<&mut BufReader<UnixStream>> {
        let kept = self.connections.remove(directory);
        let connection = match kept.filter(|kept| is_open(kept.get_ref())) {
            Some(connection) => connection,
            None => BufReader::new(UnixStream::connect(format!("{directory}/{SOCKET}"))?),
        };
        connection
            .get_ref()
            .write_all(format!("{line}\n").as_bytes())?;
        Ok(self
            .connections
            .entry(directory.to_owned())
            .or_insert(connection))
    }
}

impl Address {
    /// Return the time limit for an event of the command; None: no limit.
    fn limit(&self, process: &Process) -> Result<Option<Duration>, Failure> {
        let own = self.patience.map(|patience| {
            patience
                + self
                    .stop
                    .as_ref()
                    .and_then(|stop| stop.seconds)
                    .unwrap_or_default()
        });
        longest_wait(own.or(process.patience))
    }
}

/// Return the failure of a command whose process did not answer properly.
fn lost(directory: &str, limit: Option<Duration>, error: &io::Error) -> Failure {
    match (error.kind(), limit) {
        (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, Some(limit)) => {
            Failure::timeout(format!("no answer within {} s", limit.as_secs_f64()))
        }
        _ => Failure::connection(format!("{directory}/{SOCKET}: {error}")),
    }
}

/// Return whether the peer has not hung up: between two commands there is nothing to read.
fn is_open(stream: &UnixStream) -> bool {
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    let mut descriptors = [PollFd::new(stream, PollFlags::IN)];
    matches!(poll(&mut descriptors, Some(&Timespec::default())), Ok(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    fn answers(relay: &mut Relay, command: &Value) -> Option<Vec<Value>> {
        let mut events = Vec::new();
        let relayed = relay.execute(&command.to_string(), &mut |event| {
            events.push(serde_json::from_str(event).unwrap());
        });
        relayed.then_some(events)
    }

    #[test]
    fn commands_for_servers_are_not_relayed() {
        let target = json!({"dbms": "postgres", "socket": "/", "port": 1, "user": "u",
                            "database": "d"});
        let mut relay = Relay::default();
        let sql = json!({"id": 1, "command": "sql", "target": target});
        assert_eq!(answers(&mut relay, &sql), None);
        let run = json!({"id": 2, "command": "run", "session": "s"});
        assert_eq!(answers(&mut relay, &run), None);
    }

    #[test]
    fn a_process_that_says_nothing_is_waited_for_as_long_as_the_target_says() {
        let directory = std::env::temp_dir().join(format!("slowdust-relay-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(directory.join(SOCKET)).unwrap();
        let target = json!({"dbms": "sqlite", "socket": directory, "port": 1, "user": "u",
                            "database": "d", "patience": 0.02});
        let sql = json!({"id": 1, "command": "sql", "target": target});
        let events = answers(&mut Relay::default(), &sql).unwrap();
        drop(listener);
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(
            (&events[0]["kind"], &events[0]["message"]),
            (&json!("timeout"), &json!("no answer within 0.02 s"))
        );
    }

    #[test]
    fn the_protocol_says_whether_a_dbms_runs_in_a_process_of_its_own() {
        for (dbms, protocol, relayed) in [("own", "sqlite", true), ("sqlite", "postgres", false)] {
            let target = json!({"dbms": dbms, "protocol": protocol, "socket": "/nowhere",
                                "port": 1, "user": "u", "database": "d"});
            let sql = json!({"id": 1, "command": "sql", "target": target});
            let events = answers(&mut Relay::default(), &sql);
            assert_eq!(
                events.is_some(),
                relayed,
                "{dbms} with the protocol of {protocol}"
            );
        }
    }

    #[test]
    fn a_session_of_a_process_that_is_gone_can_be_closed() {
        let target = json!({"dbms": "sqlite", "socket": "/nowhere", "port": 1, "user": "u",
                            "database": "d"});
        let open = json!({"id": 1, "command": "open", "session": "s", "target": target});
        let run = json!({"id": 2, "command": "run", "session": "s"});
        let close = json!({"id": 3, "command": "close", "session": "s"});
        let mut relay = Relay::default();
        for command in [open, run] {
            let events = answers(&mut relay, &command).unwrap();
            assert_eq!(events.len(), 1);
            assert_eq!(events[0]["kind"], json!("connection"), "{command}");
        }
        let events = answers(&mut relay, &close).unwrap();
        assert_eq!(events[0]["event"], json!("closed"));
        assert_eq!(answers(&mut relay, &close), None, "it is closed");
    }
}
