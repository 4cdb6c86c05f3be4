//! `slowdust-driver`: the load generator of Slowdust. Commands on stdin, events on stdout, both one
//! JSON object a line.
#![deny(unsafe_code)]

#[cfg(test)]
mod allocations;
mod client;
mod driver;
mod keys;
mod measure;
mod protocol;
mod slice;
mod sql;
mod step;
mod wire;
mod workload;

use std::io::{BufRead, Write};
use std::process::{exit, ExitCode};
use std::sync::mpsc;

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
";

fn main() -> ExitCode {
    match text_requested(lexopt::Parser::from_env()) {
        Ok(Some(text)) => print(&text),
        Ok(None) => serve(),
        Err(error) => {
            eprintln!("slowdust-driver: {error}\nTry: slowdust-driver --help");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Return the text that an option asks for, or None without an option.
fn text_requested(mut arguments: lexopt::Parser) -> Result<Option<String>, lexopt::Error> {
    use lexopt::Arg::Long;
    const VERSION: &str = concat!("slowdust-driver ", env!("CARGO_PKG_VERSION"), "\n");
    match arguments.next()? {
        None => Ok(None),
        Some(Long("schema")) => Ok(Some(protocol::schema::text())),
        Some(Long("version")) => Ok(Some(VERSION.to_owned())),
        Some(Long("help")) => Ok(Some(HELP.to_owned())),
        Some(other) => Err(other.unexpected()),
    }
}

fn serve() {
    let mut driver = driver::Driver::default();
    for line in commands() {
        driver.execute(&line, &mut |event| emit(event));
    }
}

/// Return the lines of stdin. A thread of their own reads them, and ends the process at their end,
/// even in the middle of a slice: the process that wrote them has ended.
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
