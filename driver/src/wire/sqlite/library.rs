//! SQLite's C interface, loaded from a shared library that is named when the process starts.
//!
//! A process loads one library: to compare two versions, each runs in its own process.
#![allow(unsafe_code, reason = "a foreign library is called")]

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, Symbol, RTLD_LOCAL, RTLD_NOW};

use super::super::{Failure, ServerError};

/// Flags of dlopen(3): missing functions are reported when the library is loaded.
const BIND_NOW: c_int = RTLD_NOW | RTLD_LOCAL;
const OK: c_int = 0;
const BUSY: c_int = 5;
const LOCKED: c_int = 6;
const ROW: c_int = 100;
const DONE: c_int = 101;
const INTEGER: c_int = 1;
const FLOAT: c_int = 2;
const NULL: c_int = 5;
const OPEN_READWRITE: c_int = 0x2;
const OPEN_CREATE: c_int = 0x4;
const OPEN_NOMUTEX: c_int = 0x8000;
/// Names of the primary result codes from 1 on: <https://www.sqlite.org/rescode.html>.
const CODES: [&str; 26] = [
    "ERROR",
    "INTERNAL",
    "PERM",
    "ABORT",
    "BUSY",
    "LOCKED",
    "NOMEM",
    "READONLY",
    "INTERRUPT",
    "IOERR",
    "CORRUPT",
    "NOTFOUND",
    "FULL",
    "CANTOPEN",
    "PROTOCOL",
    "EMPTY",
    "SCHEMA",
    "TOOBIG",
    "CONSTRAINT",
    "MISMATCH",
    "MISUSE",
    "NOLFS",
    "AUTH",
    "FORMAT",
    "RANGE",
    "NOTADB",
];
/// Attempts to get a lock that another connection holds. SQLite's own waiting sleeps 1 to 100 ms
/// between two attempts, enough time for dozens of transactions: two writing clients would measure
/// sleep.
const LOOKS_WITHOUT_SLEEP: c_int = 10;
const SLEEP_BETWEEN_LOOKS: Duration = Duration::from_micros(50);
/// Instructions of the virtual machine between two checks of the time.
const INSTRUCTIONS_BETWEEN_LOOKS: c_int = 100_000;
/// Attempts before the statement fails, after about a minute.
const MOST_LOOKS: c_int = 600_000;

enum Database {}
enum Prepared {}

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;
type ProgressHandler = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;
type BusyHandler = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions that the driver calls.
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            /// Find all functions in a library.
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the types are as in sqlite3.h, where they have been the same in
                        // every version 3.
                        let symbol: Symbol<unsafe extern "C" fn($($argument),*) -> $result> =
                            unsafe { library.get($symbol.as_bytes()) }?;
                        *symbol
                    },)*
                })
            }
        }
    };
}

functions! {
    libversion = "sqlite3_libversion"() -> *const c_char;
    threadsafe = "sqlite3_threadsafe"() -> c_int;
    open = "sqlite3_open_v2"(*const c_char, *mut *mut Database, c_int, *const c_char) -> c_int;
    close = "sqlite3_close"(*mut Database) -> c_int;
    busy_handler = "sqlite3_busy_handler"(*mut Database, BusyHandler, *mut c_void) -> c_int;
    message = "sqlite3_errmsg"(*mut Database) -> *const c_char;
    code_text = "sqlite3_errstr"(c_int) -> *const c_char;
    changes = "sqlite3_changes"(*mut Database) -> c_int;
    autocommit = "sqlite3_get_autocommit"(*mut Database) -> c_int;
    prepare = "sqlite3_prepare_v2"(
        *mut Database, *const c_char, c_int, *mut *mut Prepared, *mut *const c_char
    ) -> c_int;
    finalize = "sqlite3_finalize"(*mut Prepared) -> c_int;
    reset = "sqlite3_reset"(*mut Prepared) -> c_int;
    step = "sqlite3_step"(*mut Prepared) -> c_int;
    bind_int64 = "sqlite3_bind_int64"(*mut Prepared, c_int, i64) -> c_int;
    bind_double = "sqlite3_bind_double"(*mut Prepared, c_int, f64) -> c_int;
    bind_null = "sqlite3_bind_null"(*mut Prepared, c_int) -> c_int;
    bind_text = "sqlite3_bind_text"(
        *mut Prepared, c_int, *const c_char, c_int, Destructor
    ) -> c_int;
    column_count = "sqlite3_column_count"(*mut Prepared) -> c_int;
    column_name = "sqlite3_column_name"(*mut Prepared, c_int) -> *const c_char;
    column_type = "sqlite3_column_type"(*mut Prepared, c_int) -> c_int;
    column_int64 = "sqlite3_column_int64"(*mut Prepared, c_int) -> i64;
    column_double = "sqlite3_column_double"(*mut Prepared, c_int) -> f64;
    column_text = "sqlite3_column_text"(*mut Prepared, c_int) -> *const c_char;
    column_bytes = "sqlite3_column_bytes"(*mut Prepared, c_int) -> c_int;
    statement_status = "sqlite3_stmt_status"(*mut Prepared, c_int, c_int) -> c_int;
    database_status = "sqlite3_db_status"(
        *mut Database, c_int, *mut c_int, *mut c_int, c_int
    ) -> c_int;
    progress_handler = "sqlite3_progress_handler"(
        *mut Database, c_int, ProgressHandler, *mut c_void
    ) -> ();
}

/// The library of this process, and the common state of its connections.
struct Loaded {
    functions: Functions,
    /// The library stays open because the functions belong to it.
    _library: Library,
}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// Load the library of this process, once.
pub fn load(path: &Path) -> Result<(), Failure> {
    let refused = |error: libloading::Error| {
        Failure::usage(format!(
            "{} is not a library of SQLite: {error}",
            path.display()
        ))
    };
    // SAFETY: SQLite runs no code when it is loaded.
    let library = unsafe { Library::open(Some(path), BIND_NOW) }.map_err(refused)?;
    let functions = Functions::of(&library).map_err(refused)?;
    // SAFETY: the function takes no arguments.
    if unsafe { (functions.threadsafe)() } == 0 {
        return Err(Failure::usage(format!(
            "{} was compiled with SQLITE_THREADSAFE=0, which allows only one thread",
            path.display()
        )));
    }
    let loaded = Loaded {
        functions,
        _library: library,
    };
    LOADED
        .set(loaded)
        .map_err(|_| Failure::usage("a process loads only one library of SQLite"))
}

fn functions() -> Result<&'static Functions, Failure> {
    LOADED.get().map(|loaded| &loaded.functions).ok_or_else(|| {
        Failure::usage("this process has no library of SQLite: name one with --library")
    })
}

/// Return the version of the library: "3.50.2".
pub fn version() -> Result<String, Failure> {
    // SAFETY: the function returns a constant string.
    Ok(unsafe { text((functions()?.libversion)()) })
}

/// A connection for one thread at a time.
pub struct Handle {
    functions: &'static Functions,
    database: *mut Database,
    /// The deadline of running statements, if any.
    deadline: Option<Box<Instant>>,
}

/// Counts of a statement since it was prepared: SQLITE_STMTSTATUS_... of sqlite3.h.
#[derive(Clone, Copy)]
pub enum StatementCount {
    FullScanSteps = 1,
    Sorts = 2,
    AutoIndexRows = 3,
    MachineSteps = 4,
}

/// Counts of a connection since it was opened: SQLITE_DBSTATUS_... of sqlite3.h.
#[derive(Clone, Copy)]
pub enum ConnectionCount {
    CacheHits = 7,
    CacheMisses = 8,
}

// SAFETY: a library that is compiled for threads lets a connection move between them, as long as
// one at a time uses it, which `&mut` ensures.
unsafe impl Send for Handle {}

/// A prepared statement; it must be finalized before its connection is closed.
pub struct Statement {
    functions: &'static Functions,
    prepared: *mut Prepared,
    /// The type of each column's first non-NULL value; empty if it returns no rows.
    pub types: Vec<c_int>,
}

// SAFETY: as for `Handle`.
unsafe impl Send for Statement {}

/// The outcome of a step of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    Row,
    Done,
    Failed,
}

impl Handle {
    /// Open a database, creating it if it is missing. An empty name creates a private one.
    pub fn open(path: &str) -> Result<Self, Failure> {
        let functions = functions()?;
        let name = CString::new(path).map_err(Failure::usage)?;
        let mut database = null_mut();
        let flags = OPEN_READWRITE | OPEN_CREATE | OPEN_NOMUTEX;
        // SAFETY: the name ends with a zero, and the handle has a place.
        let code = unsafe { (functions.open)(name.as_ptr(), &raw mut database, flags, null()) };
        let handle = Self {
            functions,
            database,
            deadline: None,
        };
        if code == OK && !database.is_null() {
            // SAFETY: the connection is open.
            unsafe { (functions.busy_handler)(database, Some(wait_for_lock), null_mut()) };
            return Ok(handle);
        }
        // SAFETY: the function returns a constant string.
        let reason = unsafe { text((functions.code_text)(code)) };
        Err(Failure::connection(format!("cannot open {path}: {reason}")))
    }

    /// Prepare the first statement of a text; return it with the rest of the text. A blank text has
    /// no statement.
    pub fn prepare<'a>(&mut self, sql: &'a str) -> Result<(Option<Statement>, &'a str), Failure> {
        let size = c_int::try_from(sql.len()).map_err(Failure::usage)?;
        let (mut prepared, mut rest) = (null_mut(), null());
        // SAFETY: the text has that size, and the results have their places.
        let code = unsafe {
            (self.functions.prepare)(
                self.database,
                sql.as_ptr().cast(),
                size,
                &raw mut prepared,
                &raw mut rest,
            )
        };
        if code != OK {
            return Err(Failure::Server(self.error(code)));
        }
        let used = (rest as usize).saturating_sub(sql.as_ptr() as usize);
        let statement = (!prepared.is_null()).then(|| Statement {
            functions: self.functions,
            prepared,
            // SAFETY: the statement was prepared.
            types: vec![NULL; unsafe { (self.functions.column_count)(prepared) } as usize],
        });
        Ok((statement, &sql[used..]))
    }

    /// Return the number of rows changed by the last INSERT, UPDATE or DELETE.
    pub fn changes(&self) -> u64 {
        // SAFETY: the connection is open.
        let changes = unsafe { (self.functions.changes)(self.database) };
        u64::try_from(changes).unwrap_or(0)
    }

    pub fn in_transaction(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { (self.functions.autocommit)(self.database) == 0 }
    }

    /// Interrupt statements that are still running at that time.
    pub fn stop_at(&mut self, deadline: Instant) {
        let deadline: &mut Instant = self.deadline.insert(Box::new(deadline));
        let argument = std::ptr::from_mut(deadline).cast();
        let (every, look) = (INSTRUCTIONS_BETWEEN_LOOKS, Some(is_late as _));
        // SAFETY: the connection is open; the deadline stays in place as long as the connection.
        unsafe { (self.functions.progress_handler)(self.database, every, look, argument) };
    }

    pub fn count(&self, what: ConnectionCount) -> u64 {
        let (mut current, mut highest) = (0, 0);
        // SAFETY: the connection is open, and the results have their places.
        unsafe {
            let (current, highest) = (&raw mut current, &raw mut highest);
            (self.functions.database_status)(self.database, what as c_int, current, highest, 0);
        }
        u64::try_from(current).unwrap_or(0)
    }

    /// Return the error of the last call, which returned this code.
    pub fn error(&self, code: c_int) -> ServerError {
        let primary = code & 0xff;
        let name = usize::try_from(primary - 1)
            .ok()
            .and_then(|at| CODES.get(at));
        ServerError {
            sqlstate: name.map_or(format!("SQLITE_{primary}"), |name| format!("SQLITE_{name}")),
            // SAFETY: the connection is open; the text is copied before the next call.
            message: unsafe { text((self.functions.message)(self.database)) },
            collision: matches!(primary, BUSY | LOCKED),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the connection was opened; NULL is allowed. Its statements are finalized before.
        unsafe { (self.functions.close)(self.database) };
    }
}

impl Statement {
    pub fn bind_integer(&mut self, place: usize, value: i64) {
        // SAFETY: the statement is prepared; an invalid index is rejected.
        unsafe { (self.functions.bind_int64)(self.prepared, place as c_int, value) };
    }

    pub fn bind_real(&mut self, place: usize, value: f64) {
        // SAFETY: as for an integer.
        unsafe { (self.functions.bind_double)(self.prepared, place as c_int, value) };
    }

    pub fn bind_null(&mut self, place: usize) {
        // SAFETY: as for an integer.
        unsafe { (self.functions.bind_null)(self.prepared, place as c_int) };
    }

    /// Bind a text that SQLite reads in place.
    ///
    /// # Safety
    /// The text must stay in place until the statement has finished.
    pub unsafe fn bind_text(&mut self, place: usize, value: &[u8]) {
        let (start, size) = (value.as_ptr().cast(), value.len() as c_int);
        // SAFETY: the caller's promise; no destructor (SQLITE_STATIC) means that it is not copied.
        unsafe { (self.functions.bind_text)(self.prepared, place as c_int, start, size, None) };
    }

    /// Take a step, and return its code if it failed.
    pub fn step(&mut self) -> (Stepped, c_int) {
        // SAFETY: the statement is prepared.
        match unsafe { (self.functions.step)(self.prepared) } {
            ROW => (Stepped::Row, ROW),
            DONE => (Stepped::Done, DONE),
            code => (Stepped::Failed, code),
        }
    }

    /// End the execution: its locks are released, and it can be executed again.
    pub fn reset(&mut self) {
        // SAFETY: the statement is prepared.
        unsafe { (self.functions.reset)(self.prepared) };
    }

    /// Return a count, and reset it.
    pub fn take_count(&mut self, what: StatementCount) -> u64 {
        // SAFETY: the statement is prepared.
        let count = unsafe { (self.functions.statement_status)(self.prepared, what as c_int, 1) };
        u64::try_from(count).unwrap_or(0)
    }

    /// Read all values of the row, like a program that uses them and knows their types. Texts are not
    /// copied.
    pub fn read_row(&mut self) {
        for (column, kind) in (0..).zip(&mut self.types) {
            // SAFETY: the statement is at a row, which has this column.
            unsafe {
                if *kind == NULL {
                    *kind = (self.functions.column_type)(self.prepared, column);
                }
                match *kind {
                    INTEGER => {
                        (self.functions.column_int64)(self.prepared, column);
                    }
                    FLOAT => {
                        (self.functions.column_double)(self.prepared, column);
                    }
                    NULL => {}
                    _ => {
                        (self.functions.column_text)(self.prepared, column);
                    }
                }
            }
        }
    }

    fn columns(&self) -> c_int {
        self.types.len() as c_int
    }

    pub fn column_names(&self) -> Vec<String> {
        (0..self.columns())
            // SAFETY: the statement has this column.
            .map(|column| unsafe { text((self.functions.column_name)(self.prepared, column)) })
            .collect()
    }

    /// Return the values of the row as text.
    pub fn texts(&mut self) -> Vec<Option<String>> {
        (0..self.columns())
            .map(|column| {
                // SAFETY: the statement is at a row, which has this column; text comes before size.
                unsafe {
                    let start = (self.functions.column_text)(self.prepared, column);
                    let size = (self.functions.column_bytes)(self.prepared, column);
                    (!start.is_null()).then(|| {
                        let bytes = std::slice::from_raw_parts(start.cast(), size as usize);
                        String::from_utf8_lossy(bytes).into_owned()
                    })
                }
            })
            .collect()
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement was prepared, and its connection is open.
        unsafe { (self.functions.finalize)(self.prepared) };
    }
}

/// Return whether a deadline has passed.
unsafe extern "C" fn is_late(deadline: *mut c_void) -> c_int {
    // SAFETY: the deadline lives as long as this function is registered.
    let deadline = unsafe { &*deadline.cast::<Instant>() };
    c_int::from(Instant::now() > *deadline)
}

/// Wait before the next attempt to get a lock; return 0 after the last one.
unsafe extern "C" fn wait_for_lock(_: *mut c_void, looks: c_int) -> c_int {
    if looks < LOOKS_WITHOUT_SLEEP {
        std::thread::yield_now();
    } else {
        std::thread::sleep(SLEEP_BETWEEN_LOOKS);
    }
    c_int::from(looks < MOST_LOOKS)
}

/// Copy a C string.
///
/// # Safety
/// It must be NULL, or end with a zero.
unsafe fn text(start: *const c_char) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_string_lossy().into_owned()
}
