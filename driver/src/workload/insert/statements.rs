//! How statements are sent: prepared with their values, or as complete texts.

use super::super::{Call, Expected, Form, Operation};
use crate::protocol::job::Statements;

/// A statement with `?`, as text if it is to be sent so.
pub struct Statement {
    number: usize,
    form: Statements,
    /// Between the placeholders.
    parts: Vec<String>,
}

impl Statement {
    /// The `number`th that the connection prepares, if it is to be prepared.
    pub fn new(number: usize, sql: &str, form: Statements) -> Self {
        let parts = match form {
            Statements::Prepared => Vec::new(),
            Statements::Text => sql.split('?').map(str::to_owned).collect(),
        };
        Self {
            number,
            form,
            parts,
        }
    }

    /// Makes it the only call of the operation, about all values that are in it.
    pub fn call(&self, expected: Expected, operation: &mut Operation) {
        let form = match self.form {
            Statements::Prepared => Form::Prepared {
                statement: self.number,
                values: 0..operation.values.len(),
            },
            Statements::Text => self.spell(operation),
        };
        operation.calls.push(Call { form, expected });
    }

    fn spell(&self, operation: &mut Operation) -> Form {
        let begin = operation.text.len();
        for (place, part) in self.parts.iter().enumerate() {
            if place > 0 {
                operation.spell(operation.values[place - 1]);
            }
            operation.text.extend_from_slice(part.as_bytes());
        }
        Form::Text(begin..operation.text.len())
    }
}

/// A statement for people: rows of values that repeat are counted.
pub fn in_brief(sql: &str) -> String {
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
        statement.call(Expected::Anything, &mut operation);
        let Request::Text(sql) = operation.request(0) else {
            panic!("not a text");
        };
        assert_eq!(sql, "SELECT 124.75 FROM t WHERE d = 'bc'");
    }

    #[test]
    fn repeated_rows_are_counted() {
        let brief = in_brief("INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?)");
        assert_eq!(brief, "INSERT INTO t (a, b) VALUES (?, ?), ... 3 rows");
        let single = "INSERT INTO t (a) VALUES (?)";
        assert_eq!(in_brief(single), single);
    }
}
