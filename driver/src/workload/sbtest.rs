//! Tests on sysbench's tables `sbtest1`..`sbtestN`: the microbenchmarks, the single-row family, and
//! tests of data that exceeds the server's page cache, with wide rows.

mod beyond_pool;
mod catalog;
mod generator;
mod load;
mod planning;
mod slap;
mod statements;
mod template;

use super::{Shape, SliceBenchmark, Test, TestRequest, Unit};
use crate::client::operation::Generator;
use crate::keys::Sequence;
use crate::protocol::job::Statements;
use crate::wire::dialect::Dialect;
use crate::wire::{is_transaction_control, Failure, CONNECT};
use generator::SbGenerator;
use template::{least_rows, Template};

/// The benchmark of these tables.
pub const BENCHMARK: SliceBenchmark = SliceBenchmark {
    name: "sbtest",
    load: load::load,
    test,
};

/// The same tables, and a partitioned one.
pub const PARTITIONED: SliceBenchmark = SliceBenchmark {
    name: "partitioned",
    load: load::load_with_partitions,
    test,
};

/// The same tables with wide rows, to exceed the server's page cache with few rows.
pub const WIDE: SliceBenchmark = SliceBenchmark {
    name: "wide",
    load: load::load_wide,
    test,
};

/// The families of tests: each returns the transaction of a test that belongs to it.
const FAMILIES: [TransactionOf; 4] = [
    catalog::transaction,
    planning::transaction,
    slap::transaction,
    beyond_pool::transaction,
];

type TransactionOf = fn(&str) -> Option<Vec<Template>>;

/// Return the test of that name, if one of the families has it.
fn test(
    request: &TestRequest<'_>,
    shape: Shape,
    dialect: &dyn Dialect,
) -> Result<Box<dyn Test>, Failure> {
    let name = request.test;
    let mut templates = FAMILIES
        .iter()
        .find_map(|family| family(name))
        .ok_or_else(|| Failure::usage(format!("there is no test {name:?}")))?;
    if !dialect.has_transactions() {
        templates.retain(|template| !is_transaction_control(&template.sql));
    }
    if !dialect.prepares() {
        for template in &mut templates {
            template.form = Statements::Prepared;
        }
    }
    check(name, shape, &templates)?;
    Ok(Box::new(SbTest {
        shape,
        sequence: Sequence::new(shape.seed, name),
        table_choice: TableChoice::of(name, &templates),
        templates,
        unit: match name {
            catalog::SCAN => Unit::RowsScanned(shape.rows),
            _ => Unit::Operations,
        },
    }))
}

/// A test with its transaction, ready to produce operations.
#[derive(Clone)]
struct SbTest {
    shape: Shape,
    sequence: Sequence,
    templates: Vec<Template>,
    unit: Unit,
    table_choice: TableChoice,
}

/// The table that an operation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableChoice {
    First,
    Drawn,
    /// The client's own table, if there are enough.
    OfClient,
    /// The table of the next row in turn.
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

impl Test for SbTest {
    fn unit(&self) -> Unit {
        self.unit
    }

    fn prepared(&self) -> Vec<String> {
        self.templates
            .iter()
            .filter(|template| template.form == Statements::Prepared)
            .flat_map(|template| template.statements(self.shape.tables))
            .collect()
    }

    fn statements(&self) -> Vec<String> {
        let first = |template: &Template| template.statements(1).next();
        self.templates.iter().filter_map(first).collect()
    }

    fn statement_of_calls(&self) -> Vec<usize> {
        self.templates
            .iter()
            .enumerate()
            .flat_map(|(place, template)| std::iter::repeat_n(place, template.repeat))
            .collect()
    }

    fn reconnects(&self) -> bool {
        self.templates
            .iter()
            .any(|template| template.sql == CONNECT)
    }

    fn with_every_call(&self) -> Box<dyn Test> {
        Box::new(self.clone())
    }

    fn alone(&self) -> Box<dyn Test> {
        let mut alone = self.clone();
        alone.shape.tables = 1;
        alone.shape.clients = 1;
        Box::new(alone)
    }

    fn generator(&self) -> Box<dyn Generator> {
        Box::new(SbGenerator::new(self.clone()))
    }
}

fn check(test: &str, shape: Shape, templates: &[Template]) -> Result<(), Failure> {
    if shape.tables == 0 || shape.clients == 0 {
        return Err(Failure::usage("a session needs a table and a client"));
    }
    if shape.rows > i32::MAX as u64 {
        return Err(Failure::usage("too many rows: ids are 32-bit integers"));
    }
    let least = least_rows(templates, shape.clients);
    if shape.rows < least {
        return Err(Failure::usage(format!(
            "{test} needs tables of at least {least} rows, but these have {}",
            shape.rows
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
