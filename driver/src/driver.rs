//! The execution of commands.

use std::collections::{HashMap, HashSet};

use crate::fetch;
use crate::protocol::event::{ErrorEvent, ErrorKind, Event, Rows};
use crate::protocol::job::{Close, Command, Explain, Load, Open, Perform, Prepare, Run};
use crate::slice::session::Session;
use crate::slice::{self, Companion};
use crate::sql;
use crate::step::Step;
use crate::wire::{Failure, Table};
use crate::workload;

/// The open sessions by name.
#[derive(Default)]
pub struct Driver {
    sessions: HashMap<String, OpenSession>,
}

enum OpenSession {
    Slices(Box<Session>),
    Step(Box<Step>),
}

impl Driver {
    /// Execute a command from one line; events go to `emit`, the terminal one last.
    pub fn execute(&mut self, line: &str, emit: &mut dyn FnMut(&Event)) {
        let event = match serde_json::from_str::<Command>(line) {
            Ok(command) => {
                let id = command.id();
                self.dispatch(command, emit)
                    .unwrap_or_else(|failure| error_event(Some(id), failure))
            }
            Err(error) => {
                let failure = Failure::usage(format!("the line is not a valid command: {error}"));
                error_event(id_of(line), failure)
            }
        };
        emit(&event);
    }

    fn dispatch(
        &mut self,
        command: Command,
        emit: &mut dyn FnMut(&Event),
    ) -> Result<Event, Failure> {
        match command {
            Command::Load(job) => load_tables(&job, emit),
            Command::Open(job) => self.open(job),
            Command::Explain(job) => self.explain(&job),
            Command::Run(job) => self.run(&job),
            Command::Create(job) => {
                workload::create(&job)?;
                Ok(Event::Created { id: job.id })
            }
            Command::Prepare(job) => self.prepare(job),
            Command::Perform(job) => self.perform(&job, emit),
            Command::Close(job) => self.close(job),
            Command::Sql(job) => Ok(Event::Rows {
                id: job.id,
                results: sql::run(&job)?.into_iter().map(rows_of).collect(),
            }),
            Command::Sample(job) => Ok(Event::Rows {
                id: job.id,
                results: sql::sample(&job)?.into_iter().map(rows_of).collect(),
            }),
            Command::Fetch(job) => {
                let fetched = fetch::fetch(&job)?;
                Ok(Event::Fetched {
                    id: job.id,
                    reads: fetched.reads,
                    seconds: fetched.seconds,
                })
            }
        }
    }

    fn open(&mut self, job: Open) -> Result<Event, Failure> {
        self.check_new(&job.session)?;
        let session = Session::open(&job)?;
        let event = Event::Opened {
            server_processes: session.server_processes.clone(),
            id: job.id,
            session: job.session.clone(),
            unit: session.test.unit().name().to_owned(),
            statements: session.statements()?,
        };
        self.sessions
            .insert(job.session, OpenSession::Slices(Box::new(session)));
        Ok(event)
    }

    fn prepare(&mut self, job: Prepare) -> Result<Event, Failure> {
        self.check_new(&job.session)?;
        let (id, name) = (job.id, job.session.clone());
        let step = Step::prepare(job)?;
        let event = Event::Prepared {
            id,
            session: name.clone(),
            statements: step.statements()?,
            seats: step.seats(),
        };
        self.sessions
            .insert(name, OpenSession::Step(Box::new(step)));
        Ok(event)
    }

    fn perform(&mut self, job: &Perform, emit: &mut dyn FnMut(&Event)) -> Result<Event, Failure> {
        let OpenSession::Step(step) = self.session(&job.session)? else {
            return Err(wrong_kind(&job.session, "run"));
        };
        let id = job.id;
        let performed = step.perform(job, |done, total| {
            emit(&Event::Progress { id, done, total })
        })?;
        Ok(Event::Performed(Box::new(performed)))
    }

    fn explain(&mut self, job: &Explain) -> Result<Event, Failure> {
        Ok(Event::Explained {
            id: job.id,
            plans: match self.session(&job.session)? {
                OpenSession::Slices(session) => session.explain(job.operations)?,
                OpenSession::Step(step) => step.explain(job.operations)?,
            },
        })
    }

    fn run(&mut self, job: &Run) -> Result<Event, Failure> {
        let named = || job.beside.iter().map(|beside| &beside.session);
        let is_named = |name: &String| named().any(|other| other == name);
        if is_named(&job.session) || named().collect::<HashSet<_>>().len() < job.beside.len() {
            return Err(Failure::usage("a session can run only once in a slice"));
        }
        let mut open: HashMap<&String, &mut OpenSession> = self
            .sessions
            .iter_mut()
            .filter(|(name, _)| **name == job.session || is_named(name))
            .collect();
        let mut take = |name: &String| match open.remove(name) {
            Some(OpenSession::Slices(session)) => Ok(session),
            Some(OpenSession::Step(_)) => Err(wrong_kind(name, "perform")),
            None => Err(unknown(name)),
        };
        let session = take(&job.session)?;
        let mut companions = Vec::new();
        for beside in &job.beside {
            companions.push(Companion {
                session: take(&beside.session)?,
                job: beside,
            });
        }
        let ran = slice::run(session, &mut companions, job)?;
        Ok(Event::Ran(Box::new(ran)))
    }

    fn close(&mut self, job: Close) -> Result<Event, Failure> {
        match self.sessions.remove(&job.session) {
            Some(_) => Ok(Event::Closed {
                id: job.id,
                session: job.session,
            }),
            None => Err(unknown(&job.session)),
        }
    }

    fn check_new(&self, name: &str) -> Result<(), Failure> {
        if self.sessions.contains_key(name) {
            return Err(Failure::usage(format!("session {name:?} is already open")));
        }
        Ok(())
    }

    fn session(&mut self, name: &str) -> Result<&mut OpenSession, Failure> {
        self.sessions.get_mut(name).ok_or_else(|| unknown(name))
    }
}

fn load_tables(job: &Load, emit: &mut dyn FnMut(&Event)) -> Result<Event, Failure> {
    let id = job.id;
    let total = job.all_rows();
    let loaded = workload::load(job, &mut |done| emit(&Event::Progress { id, done, total }))?;
    Ok(Event::Loaded {
        id,
        rows: loaded.rows,
        bytes: loaded.bytes,
        seconds: loaded.seconds,
    })
}

fn wrong_kind(session: &str, command: &str) -> Failure {
    Failure::usage(format!(
        "session {session:?} accepts only the command {command}"
    ))
}

fn unknown(session: &str) -> Failure {
    Failure::usage(format!("there is no session {session:?}"))
}

fn rows_of(table: Table) -> Rows {
    Rows {
        columns: table.columns,
        rows: table.rows,
    }
}

/// Return the event of a command that failed.
pub fn error_event(id: Option<u64>, failure: Failure) -> Event {
    let (kind, sqlstate, message) = match failure {
        Failure::Connection { sqlstate, message } => (ErrorKind::Connection, sqlstate, message),
        Failure::Server(error) => (ErrorKind::Server, Some(error.sqlstate), error.message),
        Failure::Timeout(message) => (ErrorKind::Timeout, None, message),
        Failure::Protocol(message) => (ErrorKind::Protocol, None, message),
        Failure::Usage(message) => (ErrorKind::Usage, None, message),
    };
    Event::Error(ErrorEvent {
        id,
        kind,
        sqlstate,
        message,
    })
}

/// Return the id of an otherwise invalid command.
fn id_of(line: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    value.get("id")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    fn execute(driver: &mut Driver, line: &str) -> Value {
        let mut events = Vec::new();
        driver.execute(line, &mut |event| {
            events.push(serde_json::to_value(event).unwrap());
        });
        assert_eq!(events.len(), 1);
        events.remove(0)
    }

    fn usage_error_of(line: &Value) -> (Value, Value) {
        let event = execute(&mut Driver::default(), &line.to_string());
        assert_eq!(
            (&event["event"], &event["kind"]),
            (&json!("error"), &json!("usage"))
        );
        (event["id"].clone(), event["message"].clone())
    }

    #[test]
    fn what_is_not_a_command_is_answered_with_its_id_if_it_has_one() {
        let event = execute(&mut Driver::default(), "not even JSON");
        assert_eq!(
            (&event["kind"], &event["id"]),
            (&json!("usage"), &Value::Null)
        );
        let (id, _) = usage_error_of(&json!({"id": 3, "command": "dance"}));
        assert_eq!(id, json!(3));
    }

    #[test]
    fn unknown_fields_are_refused_at_every_depth() {
        let close = json!({"id": 1, "command": "close", "session": "s", "force": true});
        let rate = json!({"per_second": 1.0, "arrivals": "uniform", "burst": 2});
        let run = json!({"id": 1, "command": "run", "session": "s",
                         "stop": {"seconds": 1}, "rate": rate});
        let target = json!({"dbms": "postgres", "socket": "/", "port": 1, "user": "u",
                            "database": "d", "force": true});
        let sql = json!({"id": 1, "command": "sql", "target": target,
                         "statements": [], "parallel": 1});
        for (line, field) in [(close, "force"), (run, "burst"), (sql, "force")] {
            let (_, message) = usage_error_of(&line);
            assert!(message.as_str().unwrap().contains(field), "{message}");
        }
    }

    #[test]
    fn samples_need_a_pause() {
        let target = json!({"dbms": "postgres", "socket": "/", "port": 1, "user": "u",
                            "database": "d"});
        for (every, seconds) in [(0.0, 1.0), (1.0, -1.0)] {
            let (_, message) = usage_error_of(&json!({"id": 1, "command": "sample",
                "target": target, "statement": "s", "every": every, "seconds": seconds}));
            assert_eq!(message, json!("every and seconds must be positive"));
        }
    }

    #[test]
    fn sessions_have_to_be_open() {
        for command in ["close", "explain", "perform"] {
            let (_, message) =
                usage_error_of(&json!({"id": 1, "command": command, "session": "s"}));
            assert_eq!(message, json!("there is no session \"s\""));
        }
    }

    #[test]
    fn benchmarks_have_to_be_known() {
        let target = json!({"dbms": "postgres", "socket": "/", "port": 1, "user": "u",
                            "database": "d"});
        let (_, message) = usage_error_of(&json!({"id": 1, "command": "create",
            "benchmark": "b", "target": target, "tables": 1}));
        assert_eq!(message, json!("there is no benchmark \"b\" of long steps"));
    }

    #[test]
    fn a_target_is_reached_by_socket_or_by_host_and_not_by_both() {
        let both = json!({"dbms": "postgres", "socket": "/", "host": "h", "port": 1,
                          "user": "u", "database": "d"});
        let neither = json!({"dbms": "postgres", "port": 1, "user": "u", "database": "d"});
        for target in [both, neither] {
            let (_, message) = usage_error_of(&json!({"id": 1, "command": "sql",
                "target": target, "statements": ["SELECT 1"], "parallel": 1}));
            assert_eq!(message, json!("a target needs either a host or a socket"));
        }
    }
}
