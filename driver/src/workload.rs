//! What clients do: operations made of requests, in terms that every DBMS understands.

pub mod insert;
pub mod sbtest;

use std::ops::Range;

use crate::wire::{Connection, Failure, Request, Value};

/// Produces the operations of one client. It owns what it needs to do so without allocating.
pub trait Generator: Send {
    /// Makes `operation` the one with this index in the test's sequence.
    fn compose(&mut self, index: u64, operation: &mut Operation);

    /// Hears that the last call of the operation returned or changed so many rows, and says what
    /// follows from that.
    fn follow(
        &mut self,
        rows: u64,
        _operation: &mut Operation,
        _connection: &mut dyn Connection,
    ) -> Result<Course, Failure> {
        Ok(Course::Over { rows })
    }
}

/// How an operation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// It is done, and the last call has been about so many rows.
    Over { rows: u64 },
    /// There is more to do, which the operation now holds; the last call was about so many rows.
    On { rows: u64 },
}

/// One transaction, or one statement that commits by itself. All its values are fixed before it
/// begins, so a retry repeats exactly the same.
#[derive(Debug, Default, PartialEq)]
pub struct Operation {
    calls: Vec<Call>,
    values: Vec<Value>,
    text: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    form: Form,
    expected: Expected,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Prepared {
        statement: usize,
        values: Range<usize>,
    },
    Text(Range<usize>),
}

/// The rows that a statement returns or changes, where the data defines them.
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
}

impl Operation {
    pub fn clear(&mut self) {
        self.calls.clear();
        self.values.clear();
        self.text.clear();
    }

    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    pub fn request(&self, call: usize) -> Request<'_> {
        match &self.calls[call].form {
            Form::Prepared { statement, values } => Request::Prepared {
                statement: *statement,
                values: &self.values[values.clone()],
                text: &self.text,
            },
            Form::Text(sql) => Request::Text(
                std::str::from_utf8(&self.text[sql.clone()]).expect("statements are ASCII"),
            ),
        }
    }

    /// Writes a value as SQL behind the text; a text is one of this operation.
    fn spell(&mut self, value: Value) {
        match value {
            Value::Text { start, end } => {
                self.text.push(b'\'');
                self.text.extend_from_within(start as usize..end as usize);
                self.text.push(b'\'');
            }
            number => number.write_literal(&[], &mut self.text),
        }
    }

    pub fn expected(&self, call: usize) -> Expected {
        self.calls[call].expected
    }
}
