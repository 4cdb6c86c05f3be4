//! The plans of statements. The server plans a prepared statement again for the values of each
//! execution, so that its plan is that of the statement with these values as literals.

use super::super::dialect::Dialect as _;
use super::super::{Failure, Request, Table, TextQueries as _, Value};
use super::dialect::MysqlDialect;
use super::{MysqlConnection, Statement};

/// The forms of EXPLAIN. MySQL 5.5 knows only the older one; the newer one asks for a table where a
/// tree is the default.
const FORMS: [&str; 2] = ["EXPLAIN FORMAT=TRADITIONAL", "EXPLAIN"];
const NOT_UNDERSTOOD: &str = "42000";
/// A remark that is left out for the primary key, in which the rows are stored: there it says
/// nothing about the access path, and MariaDB no longer prints it.
const INDEX_ONLY: &str = "Using index";
const ROWS: &str = "PRIMARY";

/// Return the plan; None if the server cannot explain the statement (writes, in MySQL 5.5), or has
/// no choice.
pub fn explain(
    connection: &mut MysqlConnection,
    request: Request<'_>,
) -> Result<Option<String>, Failure> {
    let sql = match request {
        Request::Text(sql) => sql.to_owned(),
        Request::Prepared {
            statement,
            values,
            text,
            ..
        } => match &connection.statements[statement] {
            Statement::Prepared { source, .. } => with_literals(source, values, text),
            Statement::Text(_) => return Ok(None),
        },
    };
    for form in FORMS {
        match connection.query(&format!("{form} {sql}")) {
            Err(Failure::Server(error)) if error.sqlstate == NOT_UNDERSTOOD => {}
            outcome => return outcome.map(|table| plan(&table)),
        }
    }
    Ok(None)
}

/// Return the statement with its values in place of `?`.
fn with_literals(statement: &str, values: &[Value], text: &[u8]) -> String {
    let mut sql = Vec::with_capacity(statement.len() * 2);
    let mut values = values.iter();
    for (place, part) in statement.split('?').enumerate() {
        if place > 0 {
            if let Some(value) = values.next() {
                value.write_literal(text, MysqlDialect.doubled(), &mut sql);
            }
        }
        sql.extend_from_slice(part.as_bytes());
    }
    String::from_utf8_lossy(&sql).into_owned()
}

/// Return a line for each table that is read: the access type, the index, and the remarks.
/// Estimates are left out, and so are names that differ between versions.
fn plan(table: &Table) -> Option<String> {
    let lines: Vec<_> = table
        .rows
        .iter()
        .filter_map(|row| line(&Columns { table, row }))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

struct Columns<'a> {
    table: &'a Table,
    row: &'a [Option<String>],
}

impl<'a> Columns<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let place = self
            .table
            .columns
            .iter()
            .position(|column| column == name)?;
        let value = self.row.get(place)?.as_deref()?.trim();
        (!value.is_empty()).then_some(value)
    }
}

fn line(columns: &Columns<'_>) -> Option<String> {
    let part = columns.get("select_type").unwrap_or_default();
    if part == "INSERT" {
        return None;
    }
    let table = columns.get("table")?;
    let mut line = format!("{table}: {}", columns.get("type").unwrap_or("-"));
    // Since 5.7 the plain case has the name of the statement's verb.
    let plain = ["SIMPLE", "UPDATE", "DELETE"].contains(&part);
    let part = (!plain).then(|| part.to_lowercase());
    let key = columns.get("key");
    if let Some(key) = key {
        line.push(' ');
        line.push_str(key);
    }
    let extra = columns.get("Extra").into_iter();
    let extra = extra
        .flat_map(|words| words.split("; "))
        .filter(|word| !(key == Some(ROWS) && *word == INDEX_ONLY));
    for more in part.as_deref().into_iter().chain(extra) {
        line.push_str("; ");
        line.push_str(more);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(row: [Option<&str>; 5]) -> Option<String> {
        let columns = ["select_type", "table", "type", "key", "Extra"];
        plan(&Table {
            columns: columns.map(Into::into).to_vec(),
            rows: vec![row.map(|value| value.map(Into::into)).to_vec()],
        })
    }

    #[test]
    fn a_plan_reads_the_same_whatever_the_version_calls_it() {
        let update = |part| {
            let (table, access, key) = (Some("sbtest1"), Some("range"), Some("PRIMARY"));
            plan_of([Some(part), table, access, key, Some("Using where")])
        };
        let expected = Some("sbtest1: range PRIMARY; Using where".to_owned());
        assert_eq!(
            (update("SIMPLE"), update("UPDATE")),
            (expected.clone(), expected)
        );
        let scan = |extra| plan_of([Some("SIMPLE"), Some("t"), Some("ALL"), None, extra]);
        assert_eq!(
            (scan(Some("")), scan(None)),
            (Some("t: ALL".into()), Some("t: ALL".into()))
        );
    }

    #[test]
    fn reading_the_primary_key_is_reading_rows() {
        let both = "Using where; Using index";
        for (key, extra, expected) in [
            ("PRIMARY", both, "; Using where"),
            ("PRIMARY", "Using where", "; Using where"),
            ("PRIMARY", "Using index", ""),
            ("k_1", both, "; Using where; Using index"),
        ] {
            let (part, table, access) = (Some("SIMPLE"), Some("t"), Some("range"));
            let plan = plan_of([part, table, access, Some(key), Some(extra)]);
            assert_eq!(plan, Some(format!("t: range {key}{expected}")));
        }
    }

    #[test]
    fn an_insert_reads_nothing() {
        let old = [Some("SIMPLE"), None, None, None, Some("No tables used")];
        let new = [Some("INSERT"), Some("sbtest1"), Some("ALL"), None, None];
        assert_eq!((plan_of(old), plan_of(new)), (None, None));
    }

    #[test]
    fn values_take_the_places_of_placeholders() {
        let values = [Value::Text { start: 1, end: 3 }, Value::Int(-3)];
        let sql = with_literals("UPDATE t SET c = ? WHERE id = ?", &values, b"0123");
        assert_eq!(sql, "UPDATE t SET c = '12' WHERE id = -3");
    }
}
