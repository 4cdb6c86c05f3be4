//! Plans of statements. The server plans a prepared statement anew for the values of each
//! execution, so that its plan is that of the statement with these values as literals.

use super::super::{Failure, Request, Session as _, Table, Value};
use super::{MysqlConnection, Statement};

/// The older form is what MySQL 5.5 knows; the newer one asks for a table where a tree is the
/// default.
const FORMS: [&str; 2] = ["EXPLAIN FORMAT=TRADITIONAL", "EXPLAIN"];
const NOT_UNDERSTOOD: &str = "42000";

pub fn explain(connection: &mut MysqlConnection, request: Request<'_>) -> Result<String, Failure> {
    let sql = match request {
        Request::Text(sql) => sql.to_owned(),
        Request::Prepared {
            statement,
            values,
            text,
        } => match &connection.statements[statement] {
            Statement::Prepared { source, .. } => with_literals(source, values, text),
            Statement::Text(sql) => sql.clone(),
        },
    };
    for form in FORMS {
        match connection.query(&format!("{form} {sql}")) {
            Err(Failure::Server(error)) if error.sqlstate == NOT_UNDERSTOOD => {}
            outcome => return outcome.map(|table| plan(&table)),
        }
    }
    Ok("this server cannot explain this statement".to_owned())
}

/// The statement with its values in place of `?`.
fn with_literals(statement: &str, values: &[Value], text: &[u8]) -> String {
    let mut sql = Vec::with_capacity(statement.len() * 2);
    let mut values = values.iter();
    for (place, part) in statement.split('?').enumerate() {
        if place > 0 {
            if let Some(value) = values.next() {
                value.write_literal(text, &mut sql);
            }
        }
        sql.extend_from_slice(part.as_bytes());
    }
    String::from_utf8_lossy(&sql).into_owned()
}

const COLUMNS: [&str; 5] = ["select_type", "type", "key", "ref", "Extra"];

fn plan(table: &Table) -> String {
    let shown: Vec<_> = COLUMNS
        .iter()
        .filter_map(|column| table.columns.iter().position(|name| name == column))
        .collect();
    let line = |row: &Vec<Option<String>>| {
        let values = shown.iter().filter_map(|&place| row[place].as_deref());
        values.collect::<Vec<_>>().join(" ")
    };
    table.rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
