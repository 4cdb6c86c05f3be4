//! Statements of a workload, ready for sending.

use std::ops::Range;

use crate::client::operation::{Call, Expected, Form, Operation};
use crate::protocol::job::Statements;
use crate::wire::Kinds;

/// A statement with its placeholders `?`.
pub enum Statement {
    /// The number under which the connection has prepared it.
    Prepared { number: usize, kinds: Kinds },
    /// The parts of a complete text between the placeholders, and the bytes to double in the text
    /// values that replace them.
    Text {
        parts: Vec<String>,
        doubled: &'static [u8],
    },
}

impl Statement {
    /// `number` is the statement's index among the prepared ones.
    pub fn new(number: usize, sql: &str, form: Statements) -> Self {
        match form {
            Statements::Prepared => Self::Prepared {
                number,
                kinds: Kinds::Usual,
            },
            Statements::Text => Self::Text {
                parts: sql.split('?').map(str::to_owned).collect(),
                doubled: b"'",
            },
        }
    }

    /// Return the statement for values of any kind, and texts with any content; `doubled` is the
    /// dialect's.
    pub fn with_any_values(self, doubled: &'static [u8]) -> Self {
        match self {
            Self::Text { parts, .. } => Self::Text { parts, doubled },
            Self::Prepared { number, .. } => Self::Prepared {
                number,
                kinds: Kinds::Any,
            },
        }
    }

    /// Append a call with the operation's values from `first_value` on.
    #[inline]
    pub fn call(&self, first_value: usize, expected: Expected, operation: &mut Operation) {
        let form = match self {
            Self::Prepared { number, kinds } => Form::Prepared {
                statement: *number,
                kinds: *kinds,
                values: first_value..operation.values.len(),
            },
            Self::Text { parts, doubled } => {
                Form::Text(write_text(parts, doubled, first_value, operation))
            }
        };
        operation.calls.push(Call { form, expected });
    }
}

/// Append the complete statement with literal values to the operation's text; return its range.
#[inline(never)]
fn write_text(
    parts: &[String],
    doubled: &[u8],
    first_value: usize,
    operation: &mut Operation,
) -> Range<usize> {
    let start = operation.text.len();
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            operation.write_literal(operation.values[first_value + place - 1], doubled);
        }
        operation.text.extend_from_slice(part.as_bytes());
    }
    start..operation.text.len()
}

/// Abbreviate a statement for display: keep the first row of values, and the number of rows.
pub fn abbreviate(sql: &str) -> String {
    let Some((head, rows)) = sql.split_once(" VALUES ") else {
        return sql.to_owned();
    };
    let count = rows.matches('(').count();
    match rows.find(')') {
        Some(end) if count > 1 => {
            format!("{head} VALUES {}, ... {count} rows", &rows[..=end])
        }
        _ => sql.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Request, Value};

    #[test]
    fn texts_have_their_values_in_place() {
        let statement = Statement::new(0, "SELECT ? FROM t WHERE d = ?", Statements::Text);
        let mut operation = Operation::default();
        operation.text.extend_from_slice(b"abc");
        operation.values.push(Value::Real(124.75));
        operation.values.push(Value::Text { start: 1, end: 3 });
        statement.call(0, Expected::Anything, &mut operation);
        let Request::Text(sql) = operation.request(0) else {
            panic!("not a text");
        };
        assert_eq!(sql, "SELECT 124.75 FROM t WHERE d = 'bc'");
    }

    #[test]
    fn repeated_rows_are_counted() {
        let short = abbreviate("INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?)");
        assert_eq!(short, "INSERT INTO t (a, b) VALUES (?, ?), ... 3 rows");
        let single = "INSERT INTO t (a) VALUES (?)";
        assert_eq!(abbreviate(single), single);
    }
}
