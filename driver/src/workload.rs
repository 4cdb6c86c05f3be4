//! Workloads: the benchmarks' tables, and the operations on them, in SQL that every DBMS accepts.
//! For differences between DBMSs, a workload asks their `Dialect`.

mod described;
mod insert;
mod load;
mod sbtest;
pub mod statement;

use crate::client::gate::GateSide;
use crate::client::operation::{Generator, Operation};
use crate::measure::{Nanosecond, Pace};
use crate::protocol::described::DescribedTest;
use crate::protocol::job::{Create, Load, Prepare, Statements};
use crate::wire::dialect::Dialect;
use crate::wire::Failure;

/// The benchmarks whose tests run in slices: to add one, write a module and a line here.
const SLICE_BENCHMARKS: [SliceBenchmark; 4] = [
    sbtest::BENCHMARK,
    sbtest::PARTITIONED,
    sbtest::WIDE,
    described::BENCHMARK,
];
/// The benchmarks of long steps: to add one, write a module and a line here.
const STEP_BENCHMARKS: [StepBenchmark; 1] = [insert::BENCHMARK];

/// A benchmark of tests on its own tables.
pub struct SliceBenchmark {
    pub name: &'static str,
    pub load: LoadTables,
    pub test: TestOf,
}

/// Creates and fills the tables; the callback gets the number of rows loaded so far.
type LoadTables = fn(&Load, &mut dyn FnMut(u64)) -> Result<Loaded, Failure>;
/// Returns the requested test.
type TestOf = fn(&TestRequest<'_>, Shape, &dyn Dialect) -> Result<Box<dyn Test>, Failure>;

/// A request for a test by a command.
#[derive(Clone, Copy)]
pub struct TestRequest<'a> {
    pub benchmark: &'a str,
    pub test: &'a str,
    /// The test itself, if the benchmark does not know it.
    pub described: Option<&'a DescribedTest>,
}

/// A benchmark of long steps, which fill and change its own tables.
pub struct StepBenchmark {
    pub name: &'static str,
    /// Drops and creates the tables, empty.
    pub create: fn(&Create) -> Result<(), Failure>,
    /// Checks the job, and reads the facts that the step needs about its tables.
    pub prepare: fn(&Prepare) -> Result<Box<dyn LongStep>, Failure>,
}

/// The tables that were loaded.
pub struct Loaded {
    pub rows: u64,
    pub bytes: u64,
    pub seconds: f64,
}

/// Create and fill the tables of the command's benchmark.
pub fn load(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    (slice_benchmark(&job.benchmark)?.load)(job, progress)
}

/// Return a test on tables of this shape, for a DBMS.
pub fn test(
    request: &TestRequest<'_>,
    shape: Shape,
    dialect: &dyn Dialect,
) -> Result<Box<dyn Test>, Failure> {
    (slice_benchmark(request.benchmark)?.test)(request, shape, dialect)
}

fn slice_benchmark(name: &str) -> Result<&'static SliceBenchmark, Failure> {
    let benchmark = SLICE_BENCHMARKS.iter().find(|known| known.name == name);
    benchmark.ok_or_else(|| {
        Failure::usage(format!(
            "there is no benchmark {name:?} with tests in slices"
        ))
    })
}

/// Create the tables of the command's benchmark of long steps.
pub fn create(job: &Create) -> Result<(), Failure> {
    (step_benchmark(&job.benchmark)?.create)(job)
}

/// Return the step of the command's benchmark.
pub fn prepare(job: &Prepare) -> Result<Box<dyn LongStep>, Failure> {
    (step_benchmark(&job.benchmark)?.prepare)(job)
}

fn step_benchmark(name: &str) -> Result<&'static StepBenchmark, Failure> {
    let benchmark = STEP_BENCHMARKS.iter().find(|known| known.name == name);
    benchmark.ok_or_else(|| Failure::usage(format!("there is no benchmark {name:?} of long steps")))
}

/// The size of a test's data, and the number of its clients.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub tables: u64,
    /// Rows of each table.
    pub rows: u64,
    pub clients: u64,
    pub seed: u64,
}

/// The unit of a test's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Operations,
    /// Rows that an operation reads without returning them.
    RowsScanned(u64),
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations/s",
            Self::RowsScanned(_) => "rows/s",
        }
    }
}

/// A test on the tables of its benchmark. All placeholders of its statements are `?`.
pub trait Test {
    fn unit(&self) -> Unit;

    /// Return the statements that each connection executes before it prepares others.
    fn session(&self) -> Vec<String> {
        Vec::new()
    }

    /// Return all statements to prepare, in the order of their numbers.
    fn prepared(&self) -> Vec<String>;

    /// Return the distinct statements of a transaction on the first table, in order.
    fn statements(&self) -> Vec<String>;

    /// Return, for each call of a transaction, the index of its statement in `statements`.
    fn statement_of_calls(&self) -> Vec<usize>;

    /// Return whether each operation reconnects (`CONNECT`), so that nothing can be prepared for it.
    fn reconnects(&self) -> bool {
        false
    }

    /// Return the test, or a similar one, with operations that have all calls of
    /// `statement_of_calls`.
    fn with_every_call(&self) -> Box<dyn Test>;

    /// Return the same test on one table with one client.
    fn alone(&self) -> Box<dyn Test>;

    fn generator(&self) -> Box<dyn Generator>;
}

/// A step of a benchmark: concurrent connections in several roles, each in its own thread, from the
/// opening of the window to their ends.
pub trait LongStep {
    /// Return the connections of all clients, in the order of opening.
    fn connections(&self) -> Result<Vec<RoleConnection>, Failure>;

    /// Return the statements to explain, on the first table, in groups of one connection each.
    fn executions(&self) -> Vec<Executions>;

    /// Return the query of a transaction that is held open during the step, if it allows one.
    fn long_read(&self) -> Option<String>;

    /// Return the time at which the step ends, if it is a time.
    fn end(&self) -> Option<Nanosecond>;

    /// Return whether the last operation of this role ends the time of the step.
    fn is_main(&self, role: Role) -> bool;

    /// Return the work that a role's schedule makes due until the end of the step, if it has one.
    fn due(&self, role: Role) -> Option<Due>;

    /// Return the finished work and all work, in the step's own unit.
    fn progress(&self, elapsed: Nanosecond) -> (u64, u64);

    /// Return the change of the number of rows of each table.
    fn growth(&self) -> Vec<i64>;
}

/// The name of a connection's kind of work.
pub type Role = &'static str;

/// Statements with placeholders `?`, and one execution of each.
pub type Executions = (Vec<String>, Vec<Operation>);

/// The work of one connection of a step.
pub struct RoleConnection {
    pub role: Role,
    pub client: u32,
    /// The index of its CPU in the list of CPUs, modulo the length of the list. None: any CPU, even
    /// if there is a list.
    pub seat: Option<usize>,
    /// The statements that it sends, with `?`.
    pub statements: Vec<String>,
    pub form: Statements,
    pub generator: Box<dyn Generator>,
    pub pace: Pace,
    /// Its side of the gate, if its operations have to wait for another client's.
    pub gate: Option<GateSide>,
}

/// The work of a role that is due by a schedule.
pub struct Due {
    /// Rows per second of all clients.
    pub rate: f64,
    /// Rows until the end of the step.
    pub rows: u64,
}
