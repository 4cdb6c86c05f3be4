//! The process of a DBMS without a server: it loads the library, serves one database over a Unix
//! socket, and executes whole commands, so that statements do not cross a process boundary.
//!
//! It takes the place of a server: the same start, account, limits, probes and shutdown.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::exit;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::retry_on_intr;

use crate::driver::Driver;
use crate::protocol::event::Event;
use crate::wire::sqlite::{self, library, Served, SqliteConnection};
use crate::wire::{Failure, TextQueries as _};

/// The file of the socket in its directory.
pub const SOCKET: &str = "driver.sock";
/// The file in the working directory that names the process which accepts commands.
const READY: &str = "ready";

/// The task of the process.
pub enum Task {
    PrintVersion,
    /// Read settings from stdin, and print their values in a new database.
    PrintSettings,
    Serve {
        database: PathBuf,
        settings: PathBuf,
        /// The directory of the socket.
        directory: PathBuf,
    },
}

/// Load the library and execute the task.
pub fn run(library: &Path, task: Task) -> Result<(), Failure> {
    library::load(library)?;
    match task {
        Task::PrintVersion => {
            println!("SQLite {}", library::version()?);
            Ok(())
        }
        Task::PrintSettings => print_settings(),
        Task::Serve {
            database,
            settings,
            directory,
        } => serve(&database, &settings, &directory),
    }
}

/// Print a line `name = value` for each setting that the library knows, with its value in a new
/// database.
fn print_settings() -> Result<(), Failure> {
    let lines = io::read_to_string(io::stdin()).map_err(Failure::usage)?;
    let settings = lines.lines().map(setting).collect::<Result<Vec<_>, _>>()?;
    let folder = std::env::temp_dir().join(format!("slowdust-settings-{}", std::process::id()));
    fs::create_dir(&folder).map_err(Failure::usage)?;
    let printed = print_settings_in(&folder.join("database"), &settings);
    fs::remove_dir_all(&folder).map_err(Failure::usage)?;
    printed
}

fn print_settings_in(database: &Path, settings: &[(&str, String)]) -> Result<(), Failure> {
    let statements: Vec<_> = settings.iter().map(|(_, pragma)| pragma.clone()).collect();
    let mut connection = SqliteConnection::open_with(&text(database)?, &statements)?;
    for (name, _) in settings {
        let rows = connection.query(&format!("PRAGMA {name}"))?.rows;
        if let [row] = rows.as_slice() {
            if let Some(Some(value)) = row.first() {
                println!("{name} = {value}");
            }
        }
    }
    Ok(())
}

/// Parse `name = value` into the name and the statement that sets it.
fn setting(line: &str) -> Result<(&str, String), Failure> {
    let wrong = || Failure::usage(format!("{line:?} is not a setting: write name = value"));
    let (name, value) = line.split_once(" = ").ok_or_else(wrong)?;
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if name.is_empty() || !is_word(name) || !is_word(value.strip_prefix('-').unwrap_or(value)) {
        return Err(wrong());
    }
    Ok((name, format!("PRAGMA {name} = {value}")))
}

fn serve(database: &Path, settings: &Path, directory: &Path) -> Result<(), Failure> {
    let lines = fs::read_to_string(settings)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", settings.display())))?;
    let settings = lines
        .lines()
        .map(setting)
        .map(|read| read.map(|(_, pragma)| pragma));
    let served = Served {
        path: text(database)?,
        settings: settings.collect::<Result<_, _>>()?,
    };
    // Errors of opening the database appear now, in the log, instead of at the first client.
    SqliteConnection::open_with(&served.path, &served.settings)?;
    sqlite::serve(served)?;
    let socket = directory.join(SOCKET);
    let _ = fs::remove_file(&socket); // left by an earlier process in the same directory
    let listener = UnixListener::bind(&socket).map_err(|error| {
        Failure::connection(format!("cannot listen at {}: {error}", socket.display()))
    })?;
    fs::write(READY, std::process::id().to_string()).map_err(Failure::connection)?;
    let mut commanders = Vec::new();
    loop {
        serve_ready(&listener, &mut commanders)?;
    }
}

/// A connected driver; its sessions end with the connection.
struct Commander {
    stream: BufReader<UnixStream>,
    driver: Driver,
}

/// Wait for drivers and their commands, and execute them. Everything runs in this thread: a second
/// thread, even a sleeping one, makes a point query 5% slower.
fn serve_ready(listener: &UnixListener, commanders: &mut Vec<Commander>) -> Result<(), Failure> {
    let streams = commanders.iter().map(|each| each.stream.get_ref().as_fd());
    let mut watched: Vec<_> = std::iter::once(listener.as_fd())
        .chain(streams)
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    retry_on_intr(|| poll(&mut watched, None)).map_err(Failure::connection)?;
    let ready: Vec<_> = watched
        .iter()
        .map(|descriptor| !descriptor.revents().is_empty())
        .collect();
    let mut has_commands = ready[1..].iter();
    commanders.retain_mut(|each| has_commands.next() != Some(&true) || each.execute());
    if ready[0] {
        let (stream, _) = listener.accept().map_err(Failure::connection)?;
        commanders.push(Commander {
            stream: BufReader::new(stream),
            driver: Driver::default(),
        });
    }
    Ok(())
}

impl Commander {
    /// Execute the commands that have arrived; return whether there may be more.
    fn execute(&mut self) -> bool {
        loop {
            let mut line = String::new();
            if !matches!(self.stream.read_line(&mut line), Ok(size) if size > 0) {
                return false;
            }
            self.driver.execute(line.trim_end(), &mut |event| {
                // Without a reader, the next line is the end of the stream.
                let _ = write_event(self.stream.get_ref(), event);
            });
            if self.stream.buffer().is_empty() {
                return true;
            }
        }
    }
}

fn write_event(mut stream: &UnixStream, event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_string(event).expect("an event is JSON");
    line.push('\n');
    stream.write_all(line.as_bytes())
}

/// Execute the task and exit: 0, or 1 with the reason on stderr.
pub fn run_and_exit(library: &Path, task: Task) -> ! {
    match run(library, task) {
        Ok(()) => exit(0),
        Err(failure) => {
            eprintln!("slowdust-driver: {}", failure.message());
            exit(1)
        }
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_name_and_one_word_or_number() {
        let pragma = |line| setting(line).map(|(name, pragma)| (name.to_owned(), pragma));
        let expected = (
            "cache_size".to_owned(),
            "PRAGMA cache_size = -2000".to_owned(),
        );
        assert_eq!(pragma("cache_size = -2000"), Ok(expected));
        for line in [
            "",
            "a",
            "a=1",
            " = 1",
            "a b = 1",
            "a = 1; DROP TABLE t",
            "a = 'x'",
            "a = b c",
        ] {
            assert!(matches!(pragma(line), Err(Failure::Usage(_))), "{line}");
        }
    }
}
