//! `slowdust-driver`: the load generator of Slowdust. Commands on stdin, events on stdout, one JSON
//! object per line.
#![deny(unsafe_code)]

#[cfg(test)]
mod allocations;
mod client;
mod driver;
mod embedded;
mod fetch;
mod keys;
mod measure;
mod protocol;
mod relay;
mod slice;
mod sql;
mod step;
mod wire;
mod work;
mod workload;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::{exit, ExitCode};
use std::sync::mpsc;

use embedded::Task;
use protocol::event::Event;

const HELP: &str = "\
The load generator of Slowdust.

Usage: slowdust-driver [OPTION]

Without an option it reads commands from stdin and writes events to stdout, one JSON object a line.
Each command ends with exactly one event of its id; `progress` events may come before. It ends when
stdin is closed, whatever is under way: keep stdin open until the last event has arrived.

Options:
  --schema   Print the JSON schema of commands and events
  --version  Print the version
  --help     Print this

SQLite runs in the process of its client, so each library has a process of its own, to which the
commands for a target with the DBMS `sqlite` are handed on:
  --library FILE --version             Print the version of a library of SQLite
  --library FILE --print-settings      Read settings (name = value) from stdin, and print those that
                                       the library knows, with their values in a new database
  --library FILE --serve DIRECTORY --database FILE --settings FILE
                                       Execute commands from a Unix socket in that directory
";

/// The request of the options.
enum Request {
    Print(String),
    Drive,
    Embedded { library: PathBuf, task: Task },
}

fn main() -> ExitCode {
    match requested(lexopt::Parser::from_env()) {
        Ok(Request::Print(text)) => print(&text),
        Ok(Request::Drive) => drive(),
        Ok(Request::Embedded { library, task }) => embedded::run_and_exit(&library, task),
        Err(error) => {
            eprintln!("slowdust-driver: {error}\nTry: slowdust-driver --help");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn requested(mut arguments: lexopt::Parser) -> Result<Request, lexopt::Error> {
    use lexopt::Arg::Long;
    const VERSION: &str = concat!("slowdust-driver ", env!("CARGO_PKG_VERSION"), "\n");
    match arguments.next()? {
        None => Ok(Request::Drive),
        Some(Long("schema")) => Ok(Request::Print(protocol::schema::text())),
        Some(Long("version")) => Ok(Request::Print(VERSION.to_owned())),
        Some(Long("help")) => Ok(Request::Print(HELP.to_owned())),
        Some(Long("library")) => Ok(Request::Embedded {
            library: arguments.value()?.into(),
            task: task(arguments)?,
        }),
        Some(other) => Err(other.unexpected()),
    }
}

/// Parse the task for a library.
fn task(mut arguments: lexopt::Parser) -> Result<Task, lexopt::Error> {
    use lexopt::Arg::Long;
    let (mut directory, mut database, mut settings) = (None, None, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("version") => return Ok(Task::PrintVersion),
            Long("print-settings") => return Ok(Task::PrintSettings),
            Long("serve") => directory = Some(arguments.value()?.into()),
            Long("database") => database = Some(arguments.value()?.into()),
            Long("settings") => settings = Some(arguments.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    match (directory, database, settings) {
        (Some(directory), Some(database), Some(settings)) => Ok(Task::Serve {
            database,
            settings,
            directory,
        }),
        _ => Err("--library needs --serve, --database and --settings, or --version".into()),
    }
}

/// Execute commands from stdin until it is closed.
fn drive() {
    let mut driver = driver::Driver::default();
    let mut relay = relay::Relay::default();
    for line in commands() {
        let relayed = relay.execute(&line, &mut |event| print(&format!("{event}\n")));
        if !relayed {
            driver.execute(&line, &mut |event| emit(event));
        }
    }
}

/// Return the lines of stdin. A separate thread reads them, and exits the process at the end of the
/// input, even in the middle of a slice: the process that wrote them has exited.
fn commands() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let sent = line.map(|line| line.trim().is_empty() || sender.send(line).is_ok());
            if !matches!(sent, Ok(true)) {
                break;
            }
        }
        exit(0);
    });
    receiver
}

fn emit(event: &Event) {
    let mut line = serde_json::to_string(event).expect("an event is JSON");
    line.push('\n');
    print(&line);
}

/// Write to stdout; exit if it is closed.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .is_err()
    {
        exit(1);
    }
}
