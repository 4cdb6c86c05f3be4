//! The generator of operations, which draws their values.

use super::planning::PARTITIONED_ROWS;
use super::template::{least_rows, Draw, Expectation, Template};
use super::{SbTest, Shape, TableChoice};
use crate::client::operation::{Expected, Generator, Operation};
use crate::keys::{DistinctSampler, Permutation, Sequence, Stream, Zipf};
use crate::protocol::job::Statements;
use crate::wire::Value;
use crate::workload::statement::Statement;

/// The default of sysbench's `--rand-zipfian-exp`.
const ZIPF_EXPONENT: f64 = 0.8;
pub const CONTENTS_GROUPS: usize = 10;
pub const PADDING_GROUPS: usize = 5;

pub struct SbGenerator {
    test: SbTest,
    /// The statements of each template, one per table if the template names its table.
    statements: Vec<Vec<Statement>>,
    sampler: DistinctSampler,
    zipf: Zipf,
    turns: Permutation,
}

impl SbGenerator {
    pub fn new(test: SbTest) -> Self {
        let shape = test.shape;
        Self {
            statements: statements(&test.templates, shape.tables),
            sampler: DistinctSampler::new(least_rows(&test.templates, 1) as usize),
            zipf: Zipf::new(shape.rows, ZIPF_EXPONENT),
            turns: Permutation::new(
                shape.tables * shape.rows,
                Sequence::new(shape.seed, "turns"),
            ),
            test,
        }
    }
}

/// Number the prepared statements as in `Test::prepared`.
fn statements(templates: &[Template], tables: u64) -> Vec<Vec<Statement>> {
    let mut number = 0;
    templates
        .iter()
        .map(|template| {
            let first = number;
            let statements: Vec<_> = (first..)
                .zip(template.statements(tables))
                .map(|(number, sql)| Statement::new(number, &sql, template.form))
                .collect();
            if template.form == Statements::Prepared {
                number += statements.len();
            }
            statements
        })
        .collect()
}

impl Generator for SbGenerator {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        operation.clear();
        let SbTest {
            shape, templates, ..
        } = &self.test;
        let mut stream = self.test.sequence.stream(index);
        let client = index % shape.clients;
        let table = match self.test.table_choice {
            TableChoice::First => 0,
            TableChoice::Drawn => stream.below(shape.tables),
            TableChoice::OfClient => client % shape.tables,
            TableChoice::InTurn => self.turns.at(index) / shape.rows,
        } as usize;
        let mut draws = Draws {
            stream: &mut stream,
            sampler: &mut self.sampler,
            zipf: &self.zipf,
            turns: &self.turns,
            rows: shape.rows,
            clients: shape.clients,
            client,
            index,
            own_id: 0,
        };
        for (template, statements) in templates.iter().zip(&self.statements) {
            let statement = &statements[if template.names_table { table } else { 0 }];
            let expected = expected(template, shape, index);
            for _ in 0..template.repeat {
                let first_value = operation.values.len();
                for &draw in &template.values {
                    draws.append(draw, operation);
                }
                statement.call(first_value, expected, operation);
            }
        }
    }
}

fn expected(template: &Template, shape: &Shape, index: u64) -> Expected {
    match template.expected {
        Expectation::Rows(rows) => Expected::Rows(rows),
        Expectation::RowsIfAlone(rows) if shape.clients == 1 => Expected::Rows(rows),
        Expectation::RowIfFirstTurn => Expected::Rows(u64::from(index < shape.tables * shape.rows)),
        Expectation::RowsIfAlone(_) | Expectation::Nothing => Expected::Anything,
    }
}

/// The state for drawing the values of one operation.
struct Draws<'a> {
    stream: &'a mut Stream,
    sampler: &'a mut DistinctSampler,
    zipf: &'a Zipf,
    turns: &'a Permutation,
    rows: u64,
    clients: u64,
    client: u64,
    index: u64,
    own_id: u64,
}

impl Draws<'_> {
    fn append(&mut self, draw: Draw, operation: &mut Operation) {
        let Operation { values, text, .. } = operation;
        let mut push = |key: u64| values.push(int(key));
        match draw {
            Draw::Key => push(1 + self.stream.below(self.rows)),
            Draw::FirstId | Draw::SharedId => push(1),
            Draw::ZipfId => push(self.zipf.key(self.stream)),
            Draw::DistinctKeys(count) => {
                self.sampler.sample(self.stream, count, self.rows, push);
            }
            Draw::MiddleIds(count) => {
                let before = (self.rows - count) / 2;
                (1..=count).for_each(|place| push(before + place));
            }
            Draw::Span(count) => {
                let first = 1 + self.stream.below(self.rows - count + 1);
                push(first);
                push(first + count - 1);
            }
            Draw::InTurn => push(1 + self.turns.at(self.index) % self.rows),
            Draw::OwnId => {
                self.own_id = self.draw_own_id();
                push(self.own_id);
            }
            Draw::SameId => push(self.own_id),
            Draw::PartitionedId => push(1 + self.stream.below(PARTITIONED_ROWS)),
            Draw::NewId => push(self.rows + 1 + self.index),
            Draw::Contents => values.push(digits(self.stream, CONTENTS_GROUPS, text)),
            Draw::Padding => values.push(digits(self.stream, PADDING_GROUPS, text)),
        }
    }

    /// Draw an id whose remainder modulo the number of clients is the client's number.
    fn draw_own_id(&mut self) -> u64 {
        let first = match self.client {
            0 => self.clients,
            client => client,
        };
        let ids = (self.rows - first) / self.clients + 1;
        first + self.clients * self.stream.below(ids)
    }
}

/// Append groups of digits to the text, and return them as a value.
pub fn digits(stream: &mut Stream, groups: usize, text: &mut Vec<u8>) -> Value {
    let start = text.len() as u32;
    stream.digit_groups(groups, text);
    Value::Text {
        start,
        end: text.len() as u32,
    }
}

/// Convert a key, which fits: this was checked when the session was opened.
fn int(key: u64) -> Value {
    Value::Int(key as i32)
}
