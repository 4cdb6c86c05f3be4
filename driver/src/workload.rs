//! Workloads: the benchmarks' tables, and the operations over them, in SQL that every DBMS takes.
//! Where the DBMSs differ, a workload asks their `Dialect`.

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

/// The benchmarks whose tests run in slices: a new benchmark is a module and a line here.
const SLICE_BENCHMARKS: [SliceBenchmark; 3] =
    [sbtest::BENCHMARK, sbtest::WIDE, described::BENCHMARK];
/// The benchmarks of long steps: here too, a new one is a module and a line.
const STEP_BENCHMARKS: [StepBenchmark; 1] = [insert::BENCHMARK];

/// A benchmark of tests over tables of its own.
pub struct SliceBenchmark {
    pub name: &'static str,
    pub load: LoadTables,
    pub test: TestOf,
}

/// Creates and fills the tables; the callback is told the number of rows loaded so far.
type LoadTables = fn(&Load, &mut dyn FnMut(u64)) -> Result<Loaded, Failure>;
/// Returns the test that is asked for.
type TestOf = fn(&TestRequest<'_>, Shape, &dyn Dialect) -> Result<Box<dyn Test>, Failure>;

/// The test that a command asks for.
#[derive(Clone, Copy)]
pub struct TestRequest<'a> {
    pub benchmark: &'a str,
    pub test: &'a str,
    /// The test itself, where the benchmark does not know it.
    pub described: Option<&'a DescribedTest>,
}

/// A benchmark of long steps, which fill and change tables of its own.
pub struct StepBenchmark {
    pub name: &'static str,
    /// Drops and creates the tables, empty.
    pub create: fn(&Create) -> Result<(), Failure>,
    /// Checks the job, and finds out what the step needs to know of its tables.
    pub prepare: fn(&Prepare) -> Result<Box<dyn LongStep>, Failure>,
}

/// The tables that were loaded.
pub struct Loaded {
    pub rows: u64,
    pub bytes: u64,
    pub seconds: f64,
}

/// Create and fill the tables of the benchmark that the command names.
pub fn load(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    (slice_benchmark(&job.benchmark)?.load)(job, progress)
}

/// Return a test over tables of that shape, as a DBMS can have it.
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

/// Create the tables of the benchmark of long steps that the command names.
pub fn create(job: &Create) -> Result<(), Failure> {
    (step_benchmark(&job.benchmark)?.create)(job)
}

/// Return the step of the benchmark that the command names.
pub fn prepare(job: &Prepare) -> Result<Box<dyn LongStep>, Failure> {
    (step_benchmark(&job.benchmark)?.prepare)(job)
}

fn step_benchmark(name: &str) -> Result<&'static StepBenchmark, Failure> {
    let benchmark = STEP_BENCHMARKS.iter().find(|known| known.name == name);
    benchmark.ok_or_else(|| Failure::usage(format!("there is no benchmark {name:?} of long steps")))
}

/// The size of the data of a test, and the number of its clients.
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

/// A test over the tables of its benchmark. All placeholders of its statements are `?`.
pub trait Test {
    fn unit(&self) -> Unit;

    /// Return the statements that each connection executes before it prepares others.
    fn session(&self) -> Vec<String> {
        Vec::new()
    }

    /// Return all statements to prepare, in the order of their numbers.
    fn prepared(&self) -> Vec<String>;

    /// Return the different statements of a transaction over the first table, in their order.
    fn statements(&self) -> Vec<String>;

    /// Return the place in `statements` of the statement of each call of a transaction.
    fn statement_of_calls(&self) -> Vec<usize>;

    /// Return the test, or one like it, with operations that all have the calls of
    /// `statement_of_calls`.
    fn with_every_call(&self) -> Box<dyn Test>;

    /// Return the same test over one table by one client.
    fn alone(&self) -> Box<dyn Test>;

    fn generator(&self) -> Box<dyn Generator>;
}

/// A step of a benchmark: connections in several roles that work side by side, each in a thread of its
/// own, from the opening of the window to their ends.
pub trait LongStep {
    /// Return the connections of all clients, in the order in which they are opened.
    fn connections(&self) -> Result<Vec<RoleConnection>, Failure>;

    /// Return the statements to explain, over the first table, by groups of one connection each.
    fn executions(&self) -> Vec<Executions>;

    /// Return the query of a transaction that is held open beside the step, if it can bear one.
    fn long_read(&self) -> Option<String>;

    /// Return the time at which the step ends, if it is a time.
    fn end(&self) -> Option<Nanosecond>;

    /// Return whether the last operation of this role ends the time of the step.
    fn is_main(&self, role: Role) -> bool;

    /// Return the work that is due by schedule in a role until the end of the step, if it has one.
    fn due(&self, role: Role) -> Option<Due>;

    /// Return the work done and all work, in the step's own unit.
    fn progress(&self, elapsed: Nanosecond) -> (u64, u64);

    /// Return the change of the number of rows of each table.
    fn growth(&self) -> Vec<i64>;
}

/// The name of the kind of work that a connection does.
pub type Role = &'static str;

/// Statements with their placeholders `?`, and an execution of each.
pub type Executions = (Vec<String>, Vec<Operation>);

/// The work of one connection of a step.
pub struct RoleConnection {
    pub role: Role,
    pub client: u32,
    /// The place of its CPU in the list of CPUs, which begins again after its end. None: whatever CPU
    /// the scheduler chooses, even if there is a list.
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
