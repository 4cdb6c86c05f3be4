//! The generator of described operations.

use super::draw::Draws;
use super::Described;
use crate::client::operation::{Generator, Operation};
use crate::keys::DistinctSampler;
use crate::protocol::job::Statements;
use crate::workload::statement::Statement;

pub struct DescribedGenerator {
    test: Described,
    /// By statement number, in the form for sending.
    prepared: Vec<Statement>,
    texts: Vec<Statement>,
    sampler: DistinctSampler,
    tuples: Vec<u64>,
}

impl DescribedGenerator {
    pub fn new(test: Described) -> Self {
        let plan = &test.plan;
        let numbers = plan.prepared();
        let in_form = |form| {
            let statements = plan.statements.iter().enumerate();
            let statement = |(number, sql): (usize, &String)| {
                let place = numbers.iter().position(|known| *known == number);
                Statement::new(place.unwrap_or_default(), sql, form).with_any_values(plan.doubled)
            };
            statements.map(statement).collect()
        };
        Self {
            prepared: in_form(Statements::Prepared),
            texts: in_form(Statements::Text),
            sampler: DistinctSampler::new(plan.largest_sample),
            tuples: vec![0; plan.sets],
            test,
        }
    }
}

impl Generator for DescribedGenerator {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        operation.clear();
        let Described {
            shape,
            sequence,
            plan,
        } = &self.test;
        let mut draws = Draws {
            stream: sequence.stream(index),
            sampler: &mut self.sampler,
            index,
            client: index % shape.clients,
            clients: shape.clients,
            first_value: 0,
            tuples: &mut self.tuples,
        };
        let transaction = plan.weights.draw(&mut draws.stream);
        for call in &plan.transactions[transaction] {
            if call.begins_transaction {
                draws.first_value = operation.values.len();
            }
            for _ in 0..call.repeat {
                for &(set, size) in &call.sets {
                    draws.tuples[set] = draws.stream.below(size);
                }
                let first_value = operation.values.len();
                for source in call.sources.iter() {
                    source
                        .append(&mut draws, operation)
                        .expect("vectors of statements are in memory");
                }
                let statement = match call.form {
                    Statements::Prepared => &self.prepared[call.statement],
                    Statements::Text => &self.texts[call.statement],
                };
                statement.call(first_value, call.expected, operation);
            }
        }
    }
}
