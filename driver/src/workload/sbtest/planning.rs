//! Tests of the work before execution: connecting and planning. Statements are sent as text, so that
//! the server plans each of them, and read few rows.

use super::statements::point_query;
use super::template::{Draw, Expectation, Template};
use crate::wire::dialect::Ranges;
use crate::wire::CONNECT;

/// The table of `plan-partitions`.
pub const PARTITIONED: &str = "sbtest_partitioned";
const PARTITIONS: u64 = 100;
/// Few, so that the access path does not matter.
const ROWS_OF_PARTITION: u64 = 10;
pub const PARTITIONED_ROWS: u64 = PARTITIONS * ROWS_OF_PARTITION;

/// Joined tables: as many as Postgres orders exhaustively by default (`join_collapse_limit`).
const JOINED: u64 = 8;
/// Rows of the first table. With a single row, by its key, the order would not matter.
const JOINED_ROWS: u64 = 2;

/// Return the statements of a test.
pub fn transaction(test: &str) -> Option<Vec<Template>> {
    let connect = Template::new(CONNECT, &[], Expectation::Nothing);
    let statements = match test {
        "connect" | "connect-tls" => vec![connect],
        "connect-query" => vec![connect, point_query()],
        "plan-simple" => vec![point_query()],
        "plan-joins" => vec![joins()],
        "plan-partitions" => vec![Template::new(
            format!("SELECT c FROM {PARTITIONED} WHERE id = ?"),
            &[Draw::PartitionedId],
            Expectation::Rows(1),
        )],
        _ => return None,
    };
    let as_texts = statements.into_iter().map(Template::sent_as_text);
    Some(as_texts.collect())
}

/// Return the partitions of the table.
pub fn partitions() -> Ranges<'static> {
    Ranges {
        table: PARTITIONED,
        column: "id",
        starts: (1..PARTITIONS)
            .map(|place| 1 + place * ROWS_OF_PARTITION)
            .collect(),
    }
}

/// Return a chain of joins of a table with itself: `k` of each is an `id` of the next. After writes
/// some exceed the last id by one.
fn joins() -> Template {
    let next = |place: u64| format!(" JOIN {{table}} t{place} ON t{place}.id = t{}.k", place - 1);
    let chain: String = (2..=JOINED).map(next).collect();
    let sql = format!("SELECT t{JOINED}.c FROM {{table}} t1{chain} WHERE t1.id BETWEEN ? AND ?");
    Template::new(sql, &[Draw::Span(JOINED_ROWS)], Expectation::Nothing)
}
