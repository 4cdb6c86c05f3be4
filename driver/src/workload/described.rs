//! Tables and tests that are described by commands: benchmarks defined as data, and users' own
//! workloads.

mod cumulative;
mod draw;
mod extent;
mod form;
mod generator;
mod tables;
mod vectors;

use std::sync::Arc;

use super::{Shape, SliceBenchmark, Test, TestRequest, Unit};
use crate::client::operation::{Expected, Generator};
use crate::keys::Sequence;
use crate::protocol::described::{DescribedCall, DescribedTest, DescribedTransaction, Freshness};
use crate::protocol::job::Statements;
use crate::wire::dialect::{Dialect, MOST_PARAMETERS};
use crate::wire::Failure;
use cumulative::Cumulative;
use draw::Source;
use extent::Extent;
use generator::DescribedGenerator;

pub const BENCHMARK: SliceBenchmark = SliceBenchmark {
    name: "described",
    load: tables::load,
    test,
};

fn test(
    request: &TestRequest<'_>,
    shape: Shape,
    dialect: &dyn Dialect,
) -> Result<Box<dyn Test>, Failure> {
    let Some(described) = request.described else {
        return Err(Failure::usage(format!(
            "the test {:?} is not described",
            request.test
        )));
    };
    if !dialect.prepares() {
        return Err(Failure::usage("described tests need a DBMS with SQL"));
    }
    let plan = Plan::of(described, shape, dialect).map_err(|message| {
        Failure::usage(format!("the description of {}: {message}", request.test))
    })?;
    Ok(Box::new(Described {
        shape,
        sequence: Sequence::new(shape.seed, request.test),
        plan: Arc::new(plan),
    }))
}

/// A described test, ready to produce operations.
#[derive(Clone)]
struct Described {
    shape: Shape,
    sequence: Sequence,
    plan: Arc<Plan>,
}

/// The transactions of a test, with the sources of their values.
#[derive(Clone)]
struct Plan {
    session: Vec<String>,
    /// The distinct statements, by their numbers.
    statements: Vec<String>,
    transactions: Vec<Vec<PlannedCall>>,
    weights: Cumulative,
    /// The most numbers that a value of a call draws at once.
    largest_sample: usize,
    /// The number of sets of tuples.
    sets: usize,
    doubled: &'static [u8],
}

#[derive(Clone)]
struct PlannedCall {
    /// The number of its statement.
    statement: usize,
    form: Statements,
    sources: Arc<[Source]>,
    expected: Expected,
    repeat: u32,
    /// The sets of tuples that it draws from, and their sizes.
    sets: Vec<(usize, u64)>,
    begins_transaction: bool,
}

impl Plan {
    fn of(test: &DescribedTest, shape: Shape, dialect: &dyn Dialect) -> Result<Self, String> {
        if shape.clients == 0 {
            return Err("a session needs a client".into());
        }
        if test.transactions.is_empty() {
            return Err("the test has no transactions".into());
        }
        let weights: Vec<_> = test.transactions.iter().map(|each| each.weight).collect();
        let mut plan = Self {
            session: test.session.clone(),
            statements: Vec::new(),
            transactions: Vec::new(),
            weights: Cumulative::of(&weights)?,
            largest_sample: 1,
            sets: test.samples.len(),
            doubled: dialect.doubled(),
        };
        let mut extent = Extent::default();
        for transaction in &test.transactions {
            let calls = plan
                .calls(transaction, test, shape, &mut extent)
                .map_err(|message| format!("{}: {message}", transaction.name))?;
            plan.transactions.push(calls);
        }
        Ok(plan)
    }

    fn calls(
        &mut self,
        transaction: &DescribedTransaction,
        test: &DescribedTest,
        shape: Shape,
        extent: &mut Extent,
    ) -> Result<Vec<PlannedCall>, String> {
        if transaction.calls.is_empty() {
            return Err("the transaction has no statements".into());
        }
        let reads = matches!(test.freshness, Some(Freshness::Reads { .. }));
        if reads && transaction.calls.len() == 1 {
            return Err("freshness needs a transaction with a statement before its query".into());
        }
        let mut values_before = 0;
        let mut calls = Vec::new();
        for (place, call) in transaction.calls.iter().enumerate() {
            let planned = self
                .call(call, test, shape, values_before, place == 0)
                .and_then(|planned| {
                    values_before += extent.add(&planned, &call.sql)?;
                    Ok(planned)
                });
            calls.push(planned.map_err(|message| format!("{message}: {}", call.sql))?);
        }
        Ok(calls)
    }

    fn call(
        &mut self,
        call: &DescribedCall,
        test: &DescribedTest,
        shape: Shape,
        values_before: usize,
        begins_transaction: bool,
    ) -> Result<PlannedCall, String> {
        let mut sources = Vec::new();
        let mut sets: Vec<(usize, u64)> = Vec::new();
        let mut in_call = 0usize;
        for value in &call.values {
            let before = values_before.saturating_add(in_call);
            let source = Source::of_statement(value, test, shape, before)?;
            if let Some(set) = source.set() {
                if !sets.iter().any(|(known, _)| *known == set) {
                    sets.push((set, test.samples[set].len() as u64));
                }
            }
            in_call = in_call.saturating_add(source.count());
            self.largest_sample = self.largest_sample.max(source.count());
            sources.push(source);
        }
        let places = call.sql.matches('?').count();
        if places != in_call {
            return Err(format!("{in_call} values for {places} placeholders"));
        }
        if in_call > MOST_PARAMETERS {
            return Err(format!("{in_call} values are too many"));
        }
        if call.repeat == 0 {
            return Err("repeat must be at least 1".into());
        }
        Ok(PlannedCall {
            statement: self.number(&call.sql),
            form: call.form,
            sources: sources.into(),
            expected: call.rows.map_or(Expected::Anything, Expected::Rows),
            repeat: call.repeat,
            sets,
            begins_transaction,
        })
    }

    fn number(&mut self, sql: &str) -> usize {
        if let Some(known) = self.statements.iter().position(|known| known == sql) {
            return known;
        }
        self.statements.push(sql.to_owned());
        self.statements.len() - 1
    }

    /// Return the numbers of the prepared statements, in order.
    fn prepared(&self) -> Vec<usize> {
        let calls = || self.transactions.iter().flatten();
        (0..self.statements.len())
            .filter(|number| {
                calls().any(|call| call.statement == *number && call.form == Statements::Prepared)
            })
            .collect()
    }
}

impl Test for Described {
    fn unit(&self) -> Unit {
        Unit::Operations
    }

    fn session(&self) -> Vec<String> {
        self.plan.session.clone()
    }

    fn prepared(&self) -> Vec<String> {
        let numbers = self.plan.prepared().into_iter();
        numbers
            .map(|number| self.plan.statements[number].clone())
            .collect()
    }

    fn statements(&self) -> Vec<String> {
        self.plan.statements.clone()
    }

    fn statement_of_calls(&self) -> Vec<usize> {
        let calls = self.plan.transactions.iter().flatten();
        calls
            .flat_map(|call| std::iter::repeat_n(call.statement, call.repeat as usize))
            .collect()
    }

    fn with_every_call(&self) -> Box<dyn Test> {
        self.alone()
    }

    /// Return a test whose operations are all transactions, one after the other. Statements are
    /// repeated as usual, since the indices of values count all repetitions.
    fn alone(&self) -> Box<dyn Test> {
        let mut plan = Plan::clone(&self.plan);
        plan.transactions = vec![plan.transactions.concat()];
        plan.weights = Cumulative::of(&[1.0]).expect("a weight");
        Box::new(Self {
            shape: Shape {
                clients: 1,
                ..self.shape
            },
            plan: Arc::new(plan),
            ..self.clone()
        })
    }

    fn generator(&self) -> Box<dyn Generator> {
        Box::new(DescribedGenerator::new(self.clone()))
    }
}

#[cfg(test)]
mod extremes;
#[cfg(test)]
mod tests;
