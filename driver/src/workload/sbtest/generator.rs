//! Draws the values of operations.

use super::super::{Call, Expected, Form as Sent, Generator, Operation};
use super::template::{table_name, Draw, Expectation, Form, Template};
use super::{Micro, Shape, TableChoice};
use crate::keys::{DistinctSampler, Permutation, Sequence, Stream, Zipf};
use crate::wire::Value;

/// As sysbench's `--rand-zipfian-exp`.
const ZIPF_EXPONENT: f64 = 0.8;
pub(super) const CONTENTS_GROUPS: usize = 10;
pub(super) const PADDING_GROUPS: usize = 5;

pub struct MicroGenerator {
    micro: Micro,
    table_names: Vec<String>,
    sampler: DistinctSampler,
    zipf: Zipf,
    turns: Permutation,
}

impl MicroGenerator {
    pub(super) fn new(micro: Micro) -> Self {
        let largest = micro
            .templates
            .iter()
            .map(|template| template.least_rows(1))
            .max()
            .unwrap_or(1);
        let shape = micro.shape;
        Self {
            table_names: (0..shape.tables).map(table_name).collect(),
            sampler: DistinctSampler::new(largest as usize),
            zipf: Zipf::new(shape.rows, ZIPF_EXPONENT),
            turns: Permutation::new(
                shape.rows_of_all_tables(),
                Sequence::new(shape.seed, "turns"),
            ),
            micro,
        }
    }
}

impl Generator for MicroGenerator {
    fn compose(&mut self, index: u64, operation: &mut Operation) {
        operation.clear();
        let Micro {
            shape, templates, ..
        } = &self.micro;
        let mut stream = self.micro.sequence.stream(index);
        let client = index % shape.clients;
        let table = match self.micro.table_choice {
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
        for (template, &first_statement) in templates.iter().zip(&self.micro.first_statements) {
            for _ in 0..template.repeat {
                let first_value = operation.values.len();
                for &draw in &template.values {
                    draws.append(draw, operation);
                }
                let form = match template.form {
                    Form::Text => spell(template, &self.table_names[table], first_value, operation),
                    Form::Prepared => Sent::Prepared {
                        statement: first_statement + if template.names_table { table } else { 0 },
                        values: first_value..operation.values.len(),
                    },
                };
                let expected = expected(template, shape, index);
                operation.calls.push(Call { form, expected });
            }
        }
    }
}

fn expected(template: &Template, shape: &Shape, index: u64) -> Expected {
    match template.expected {
        Expectation::Rows(rows) => Expected::Rows(rows),
        Expectation::RowsIfAlone(rows) if shape.clients == 1 => Expected::Rows(rows),
        Expectation::RowIfFirstTurn => {
            Expected::Rows(u64::from(index < shape.rows_of_all_tables()))
        }
        Expectation::RowsIfAlone(_) | Expectation::Nothing => Expected::Anything,
    }
}

/// Appends the complete SQL, with the values from `start` on as literals, to the operation's text.
fn spell(template: &Template, table: &str, start: usize, operation: &mut Operation) -> Sent {
    let begin = operation.text.len();
    for (place, part) in template.sql.split('?').enumerate() {
        if place > 0 {
            operation.spell(operation.values[start + place - 1]);
        }
        let text = &mut operation.text;
        match part.split_once(super::template::TABLE) {
            Some((before, after)) => {
                text.extend_from_slice(before.as_bytes());
                text.extend_from_slice(table.as_bytes());
                text.extend_from_slice(after.as_bytes());
            }
            None => text.extend_from_slice(part.as_bytes()),
        }
    }
    Sent::Text(begin..operation.text.len())
}

/// The state from which the values of one operation are drawn.
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
            Draw::NewId => push(self.rows + 1 + self.index),
            Draw::Contents => values.push(self.digits(CONTENTS_GROUPS, text)),
            Draw::Padding => values.push(self.digits(PADDING_GROUPS, text)),
        }
    }

    /// Uniform over the ids that leave the client's number as remainder by the number of clients.
    fn draw_own_id(&mut self) -> u64 {
        let first = match self.client {
            0 => self.clients,
            client => client,
        };
        let members = (self.rows - first) / self.clients + 1;
        first + self.clients * self.stream.below(members)
    }

    fn digits(&mut self, groups: usize, text: &mut Vec<u8>) -> Value {
        let start = text.len() as u32;
        self.stream.digit_groups(groups, text);
        Value::Text {
            start,
            end: text.len() as u32,
        }
    }
}

/// Keys are checked to fit when the session is opened.
fn int(key: u64) -> Value {
    Value::Int(key as i32)
}
