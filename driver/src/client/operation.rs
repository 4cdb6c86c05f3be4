//! Operations: the requests that a client sends for one unit of its work.

use std::ops::Range;

use crate::wire::{Failure, Kinds, Request, TextQueries, Value};

/// A source of one client's operations. It owns everything that it needs to compose them without
/// allocation.
pub trait Generator: Send {
    /// Fill `operation` with the operation of this index in the test's sequence.
    fn compose(&mut self, index: u64, operation: &mut Operation);

    /// Continue or end the operation, whose last call returned or changed `rows` rows.
    fn next_call(
        &mut self,
        rows: u64,
        _operation: &mut Operation,
        _connection: &mut dyn TextQueries,
    ) -> Result<NextCall, Failure> {
        Ok(NextCall::Done { rows })
    }
}

/// The continuation of an operation after its last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextCall {
    /// The operation is complete; `rows` is the row count of its last call.
    Done { rows: u64 },
    /// The operation now has more calls; `rows` is the row count of the last one so far.
    Continue { rows: u64 },
}

/// One transaction, or one statement that commits by itself. All its values are fixed before it
/// begins, so a retry repeats it exactly.
#[derive(Debug, Default, PartialEq)]
pub struct Operation {
    pub calls: Vec<Call>,
    pub values: Vec<Value>,
    /// The bytes of text values and of complete statements.
    pub text: Vec<u8>,
}

/// One request of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub form: Form,
    pub expected: Expected,
}

/// The form of a statement for sending; ranges refer to the operation's values and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    Prepared {
        statement: usize,
        values: Range<usize>,
        kinds: Kinds,
    },
    Text(Range<usize>),
}

/// The number of rows that a statement returns or changes, if the data determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    Anything,
    Rows(u64),
}

impl Expected {
    pub fn admits(self, rows: u64) -> bool {
        match self {
            Self::Anything => true,
            Self::Rows(expected) => rows == expected,
        }
    }

    /// Describe a row count that is not admitted.
    pub fn refusal(self, rows: u64) -> String {
        match self {
            Self::Anything => format!("row count {rows}"),
            Self::Rows(expected) => format!("row count {rows}, expected {expected}"),
        }
    }
}

impl Operation {
    pub fn clear(&mut self) {
        self.calls.clear();
        self.values.clear();
        self.text.clear();
    }

    pub fn request(&self, call: usize) -> Request<'_> {
        match &self.calls[call].form {
            Form::Prepared {
                statement,
                values,
                kinds,
            } => Request::Prepared {
                statement: *statement,
                kinds: *kinds,
                values: &self.values[values.clone()],
                text: &self.text,
            },
            Form::Text(sql) => Request::Text(
                std::str::from_utf8(&self.text[sql.clone()]).expect("statements are ASCII"),
            ),
        }
    }

    /// Append a value as SQL to the text; a text value refers to this operation. `doubled` is the
    /// dialect's.
    pub fn write_literal(&mut self, value: Value, doubled: &[u8]) {
        match value {
            Value::Text { start, end } | Value::Written { start, end } => {
                let (start, end) = (start as usize, end as usize);
                self.text.push(b'\'');
                if self.text[start..end]
                    .iter()
                    .any(|byte| doubled.contains(byte))
                {
                    for place in start..end {
                        let byte = self.text[place];
                        self.text.push(byte);
                        if doubled.contains(&byte) {
                            self.text.push(byte);
                        }
                    }
                } else {
                    self.text.extend_from_within(start..end);
                }
                self.text.push(b'\'');
            }
            Value::Bytes { start, end } => {
                let bytes = self.text[start as usize..end as usize].to_vec();
                let value = Value::Bytes {
                    start: 0,
                    end: end - start,
                };
                value.write_literal(&bytes, doubled, &mut self.text);
            }
            number => number.write_literal(&[], doubled, &mut self.text),
        }
    }
}
