//! The microbenchmarks over the tables `sbtest1`..`sbtestN`.

mod catalog;
mod generator;
pub mod load;
mod slap;
mod statements;
mod template;

use crate::keys::Sequence;
use crate::wire::Failure;
use template::{Form, Template};

pub use generator::MicroGenerator;

/// The data a test runs on, and who runs it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub tables: u64,
    /// Of each table.
    pub rows: u64,
    pub clients: u64,
    pub seed: u64,
}

impl Shape {
    fn rows_of_all_tables(self) -> u64 {
        self.tables * self.rows
    }
}

/// A test, ready to produce operations.
#[derive(Clone)]
pub struct Micro {
    shape: Shape,
    sequence: Sequence,
    templates: Vec<Template>,
    /// By template: the number of its prepared statement for the first table.
    first_statements: Vec<usize>,
    scans: bool,
    table_choice: TableChoice,
}

/// Which table an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableChoice {
    First,
    Drawn,
    /// Each client has its own, as far as there are enough.
    OfClient,
    /// That of the row whose turn it is.
    InTurn,
}

impl TableChoice {
    fn of(test: &str, templates: &[Template]) -> Self {
        if test == catalog::SCAN {
            Self::OfClient
        } else if templates.iter().any(Template::takes_turns) {
            Self::InTurn
        } else if templates.iter().any(Template::shares_row) {
            Self::First
        } else {
            Self::Drawn
        }
    }
}

/// What a test's rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Operations,
    Rows,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations/s",
            Self::Rows => "rows/s",
        }
    }
}

impl Micro {
    pub fn new(test: &str, shape: Shape) -> Result<Self, Failure> {
        let templates = catalog::transaction(test)
            .or_else(|| slap::transaction(test))
            .ok_or_else(|| Failure::usage(format!("there is no test {test:?}")))?;
        check(test, shape, &templates)?;
        let mut statements = 0;
        let first_statements = templates
            .iter()
            .map(|template| {
                let first = statements;
                statements += template.prepared_statements(shape.tables);
                first
            })
            .collect();
        Ok(Self {
            shape,
            sequence: Sequence::new(shape.seed, test),
            table_choice: TableChoice::of(test, &templates),
            templates,
            first_statements,
            scans: test == catalog::SCAN,
        })
    }

    pub fn unit(&self) -> Unit {
        if self.scans {
            Unit::Rows
        } else {
            Unit::Operations
        }
    }

    /// Rows that an operation reads without returning them, if that is what the test is about.
    pub fn rows_scanned(&self) -> Option<u64> {
        self.scans.then_some(self.shape.rows)
    }

    /// All statements to prepare, with `?`, by their numbers.
    pub fn prepared(&self) -> Vec<String> {
        self.templates
            .iter()
            .filter(|template| template.form == Form::Prepared)
            .flat_map(|template| {
                let tables = template.prepared_statements(self.shape.tables) as u64;
                (0..tables).map(|table| template.statement(table))
            })
            .collect()
    }

    /// The statements of a transaction, each once, over the first table.
    pub fn statements(&self) -> Vec<String> {
        self.templates
            .iter()
            .map(|template| template.statement(0))
            .collect()
    }

    /// By call of a transaction: the place of its statement in `statements`.
    pub fn statement_of_calls(&self) -> impl Iterator<Item = usize> + '_ {
        self.templates
            .iter()
            .enumerate()
            .flat_map(|(place, template)| std::iter::repeat_n(place, template.repeat))
    }

    /// The same test over one table, by one client.
    pub fn alone(&self) -> Self {
        let mut alone = self.clone();
        alone.shape.tables = 1;
        alone.shape.clients = 1;
        alone.first_statements = (0..self.templates.len()).collect();
        alone
    }

    pub fn generator(&self) -> MicroGenerator {
        MicroGenerator::new(self.clone())
    }
}

fn check(test: &str, shape: Shape, templates: &[Template]) -> Result<(), Failure> {
    if shape.tables == 0 || shape.clients == 0 {
        return Err(Failure::usage("a session needs a table and a client"));
    }
    if shape.rows > i32::MAX as u64 {
        return Err(Failure::usage("ids are 32-bit integers: too many rows"));
    }
    let least = templates
        .iter()
        .map(|template| template.least_rows(shape.clients))
        .max()
        .unwrap_or(1);
    if shape.rows < least {
        return Err(Failure::usage(format!(
            "{test} needs tables of at least {least} rows, these have {}",
            shape.rows
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
