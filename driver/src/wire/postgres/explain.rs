//! The plans of prepared statements.

use super::super::dialect::Dialect as _;
use super::super::{Failure, Request, TextQueries as _, Value};
use super::dialect::PostgresDialect;
use super::PostgresConnection;

/// Executions after which the plan no longer changes. The server plans a prepared statement for its
/// parameters five times before it may choose a generic plan (`plan_cache_mode` in its manual); the
/// sixth plan runs millions of times.
const EXECUTIONS_TO_FINAL_PLAN: usize = 6;

pub fn explain(
    connection: &mut PostgresConnection,
    request: Request<'_>,
) -> Result<String, Failure> {
    let mut plan = String::new();
    match request {
        Request::Text(sql) => plan = plan_of(connection, sql)?,
        Request::Prepared {
            statement,
            values,
            text,
            ..
        } => {
            let execution = execution(&connection.names[statement], values, text);
            for _ in 0..EXECUTIONS_TO_FINAL_PLAN {
                plan = plan_of(connection, &execution)?;
            }
        }
    }
    Ok(plan)
}

/// Return the plan as a JSON document, with costs, because the server reports JIT only with them.
fn plan_of(connection: &mut PostgresConnection, sql: &str) -> Result<String, Failure> {
    let table = connection.query(&format!("EXPLAIN (FORMAT JSON, COSTS ON) {sql}"))?;
    let rows = table.rows.into_iter().flatten().flatten();
    Ok(rows.map(|row| on_one_line(&row)).collect())
}

/// Return a document without line ends and indentation, the largest part of a deep plan.
fn on_one_line(document: &str) -> String {
    document.lines().map(str::trim_start).collect()
}

/// Return the statement's execution as SQL.
pub fn execution(name: &str, values: &[Value], text: &[u8]) -> String {
    let mut sql = format!("EXECUTE {name}").into_bytes();
    for (index, value) in values.iter().enumerate() {
        sql.extend_from_slice(if index == 0 { b"(" } else { b", " });
        value.write_literal(text, PostgresDialect.doubled(), &mut sql);
    }
    if !values.is_empty() {
        sql.push(b')');
    }
    String::from_utf8_lossy(&sql).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_the_blanks_of_their_texts() {
        let document = "[\n  {\n    \"Filter\": \"(a  = 'x\\n  y')\"\n  }\n]";
        assert_eq!(
            on_one_line(document),
            "[{\"Filter\": \"(a  = 'x\\n  y')\"}]"
        );
    }

    #[test]
    fn executions_are_written_with_literals() {
        let values = [Value::Int(-3), Value::Text { start: 1, end: 3 }];
        assert_eq!(execution("s0", &values, b"0123"), "EXECUTE s0(-3, '12')");
        assert_eq!(execution("s1", &[], b""), "EXECUTE s1");
    }
}
