//! Workloads: the benchmarks' tables, and the operations over them, in SQL that every DBMS takes.
//! Where the DBMSs differ, a workload asks their `Dialect`.

pub mod insert;
pub mod sbtest;
pub mod statement;

use crate::client::operation::Generator;
use crate::protocol::job::Load;
use crate::wire::Failure;

/// The benchmarks whose tests run in slices: a new benchmark is a module and a line here.
const BENCHMARKS: [Benchmark; 1] = [sbtest::BENCHMARK];

/// A benchmark with tables of its own.
pub struct Benchmark {
    pub name: &'static str,
    pub load: LoadTables,
    pub test: TestOf,
}

/// Creates and fills the tables; the callback is told the number of rows loaded so far.
type LoadTables = fn(&Load, &mut dyn FnMut(u64)) -> Result<Loaded, Failure>;
/// Returns the test of that name, if the benchmark has it.
type TestOf = fn(&str, Shape) -> Option<Result<Box<dyn Test>, Failure>>;

/// The tables that were loaded.
pub struct Loaded {
    pub rows: u64,
    pub bytes: u64,
    pub seconds: f64,
}

/// Create and fill the tables of the benchmark that the command names.
pub fn load(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    let benchmark = BENCHMARKS
        .iter()
        .find(|benchmark| benchmark.name == job.benchmark);
    let benchmark = benchmark.ok_or_else(|| {
        Failure::usage(format!(
            "there is no benchmark {:?} with tables to load",
            job.benchmark
        ))
    })?;
    (benchmark.load)(job, progress)
}

/// Return the test of that name over tables of that shape.
pub fn test(name: &str, shape: Shape) -> Result<Box<dyn Test>, Failure> {
    let test = BENCHMARKS
        .iter()
        .find_map(|benchmark| (benchmark.test)(name, shape));
    test.unwrap_or_else(|| Err(Failure::usage(format!("there is no test {name:?}"))))
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

    /// Return all statements to prepare, in the order of their numbers.
    fn prepared(&self) -> Vec<String>;

    /// Return the different statements of a transaction over the first table, in their order.
    fn statements(&self) -> Vec<String>;

    /// Return the place in `statements` of the statement of each call of a transaction.
    fn statement_of_calls(&self) -> Vec<usize>;

    /// Return the same test over one table by one client.
    fn alone(&self) -> Box<dyn Test>;

    fn generator(&self) -> Box<dyn Generator>;
}
