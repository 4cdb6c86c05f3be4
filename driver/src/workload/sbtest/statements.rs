//! The statements of the tests.

use super::template::{Draw, Expectation, Template};
use Draw::{Contents, DistinctKeys, Key, MiddleIds, Padding, Span};
use Expectation::{Nothing, Rows};

const LONGEST_RANGE: u64 = 10_000;

/// Split the name of a test with a range into its family and its number of rows: `read-only.100`.
pub fn family_and_range(test: &str) -> Option<(&str, u64)> {
    let (family, range) = test.split_once('.')?;
    let range = range.parse().ok()?;
    (1..=LONGEST_RANGE)
        .contains(&range)
        .then_some((family, range))
}

pub fn select(columns: &str, condition: &str, values: &[Draw], expected: Expectation) -> Template {
    let sql = format!("SELECT {columns} FROM {{table}} WHERE {condition}");
    Template::new(sql, values, expected)
}

pub fn point_query() -> Template {
    select("c", "id = ?", &[Key], Rows(1))
}

pub fn points(columns: &str, column: &str, keys: Draw, expected: Expectation) -> Template {
    let (DistinctKeys(count) | MiddleIds(count)) = keys else {
        unreachable!("points are several keys");
    };
    select(columns, &in_list(column, count), &[keys], expected)
}

fn in_list(column: &str, count: u64) -> String {
    format!("{column} IN ({})", vec!["?"; count as usize].join(", "))
}

pub fn range(columns: &str, column: &str, rows: u64, expected: Expectation) -> Template {
    let condition = format!("{column} BETWEEN ? AND ?");
    select(columns, &condition, &[Span(rows)], expected)
}

pub fn simple(rows: u64) -> Template {
    range("c", "id", rows, Rows(rows))
}

pub fn sum(rows: u64) -> Template {
    range("SUM(k)", "id", rows, Rows(1))
}

pub fn ordered(rows: u64) -> Template {
    select(
        "c",
        "id BETWEEN ? AND ? ORDER BY c",
        &[Span(rows)],
        Rows(rows),
    )
}

pub fn distinct(rows: u64) -> Template {
    let condition = "id BETWEEN ? AND ? ORDER BY c";
    select("DISTINCT c", condition, &[Span(rows)], Nothing)
}

pub fn update_inlist(rows: u64) -> Template {
    let sql = format!("UPDATE {{table}} SET c = ? WHERE {}", in_list("id", rows));
    Template::new(sql, &[Contents, DistinctKeys(rows)], Rows(rows))
}

pub fn update_index(id: Draw, expected: Expectation) -> Template {
    Template::new("UPDATE {table} SET k = k + 1 WHERE id = ?", &[id], expected)
}

pub fn update_nonindex(id: Draw, expected: Expectation) -> Template {
    let sql = "UPDATE {table} SET c = ? WHERE id = ?";
    Template::new(sql, &[Contents, id], expected)
}

pub fn delete(id: Draw, expected: Expectation) -> Template {
    Template::new("DELETE FROM {table} WHERE id = ?", &[id], expected)
}

pub fn insert(id: Draw) -> Template {
    let sql = "INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)";
    Template::new(sql, &[id, Key, Contents, Padding], Rows(1))
}
