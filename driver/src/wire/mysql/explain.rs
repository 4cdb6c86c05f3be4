//! The plans of statements. The server plans a prepared statement again for the values of each
//! execution, so its plan is the plan of the statement with these values as literals.
//!
//! Plans are read from the tabular EXPLAIN: every version and fork since 5.5 prints the same columns,
//! while there are three dialects of JSON plans, and 5.5 has none.

use super::super::dialect::Dialect as _;
use super::super::{Failure, Request, Table, TextQueries as _, Value};
use super::dialect::MysqlDialect;
use super::{MysqlConnection, Statement};

/// The forms of EXPLAIN. The first one shows partitions, except in MySQL from 8.0 on; the second one
/// asks for a table where a tree is the default, and shows partitions there; for some statements MySQL
/// 5.5 knows only the last one.
const FORMS: [&str; 3] = [
    "EXPLAIN PARTITIONS",
    "EXPLAIN FORMAT=TRADITIONAL",
    "EXPLAIN",
];
const NOT_UNDERSTOOD: &str = "42000";
/// A remark that is omitted for the primary key, which stores the rows: there it says nothing about
/// the access path, and MariaDB no longer prints it.
const INDEX_ONLY: &str = "Using index";
const ROWS: &str = "PRIMARY";

/// Return the plan; None if the server cannot explain the statement (writes, in MySQL 5.5), or has no
/// choice.
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

/// Return a line for each table that is read: the access type, the index, the values looked up in it,
/// and the remarks. Estimates are excluded, and so are names and lengths of keys, which differ between
/// versions.
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
    let number = columns
        .get("id")
        .filter(|id| *id != "1")
        .unwrap_or_default();
    let part = (!plain).then(|| format!("{} {number}", part.to_lowercase()));
    let key = columns.get("key");
    if let Some(key) = key {
        line.push(' ');
        line.push_str(key);
    }
    if let Some(values) = columns.get("ref") {
        line.push_str(&format!(" ({})", without_databases(values)));
    }
    let partitions = columns
        .get("partitions")
        .map(|names| names.split(',').count());
    let partitions = partitions.map(|count| format!("partitions: {count}"));
    let extra = columns.get("Extra").into_iter();
    let extra = extra
        .flat_map(|words| words.split("; "))
        .filter(|word| !(key == Some(ROWS) && *word == INDEX_ONLY));
    let words = part.as_deref().map(str::trim).into_iter().chain(extra);
    for more in words.chain(partitions.as_deref()) {
        line.push_str("; ");
        line.push_str(more);
    }
    Some(line)
}

/// Return the values looked up in an index, `const,sbtest.a.id`, as `const, a.id`.
fn without_databases(values: &str) -> String {
    let names = values
        .split(',')
        .map(|value| match value.splitn(3, '.').collect::<Vec<_>>()[..] {
            [_, table, column] => format!("{table}.{column}"),
            _ => value.to_owned(),
        });
    names.collect::<Vec<_>>().join(", ")
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
    fn a_line_has_the_subquery_the_keys_and_the_number_of_partitions() {
        let row = [
            ("id", "2"),
            ("select_type", "DEPENDENT SUBQUERY"),
            ("table", "t2"),
            ("partitions", "p1,p2"),
            ("type", "ref"),
            ("key", "k_1"),
            ("key_len", "9"),
            ("ref", "const,slowdust.t1.id"),
            ("rows", "17"),
            ("Extra", "Using where"),
        ];
        let table = Table {
            columns: row.iter().map(|(name, _)| (*name).into()).collect(),
            rows: vec![row.iter().map(|(_, value)| Some((*value).into())).collect()],
        };
        let expected =
            "t2: ref k_1 (const, t1.id); dependent subquery 2; Using where; partitions: 2";
        assert_eq!(plan(&table).as_deref(), Some(expected));
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
