//! Every test: its transaction, with ranges and statements as METHOD has them.

use super::template::{Draw, Expectation, Template};
use Draw::{
    Contents, DistinctKeys, FirstId, InTurn, Key, MiddleIds, NewId, OwnId, Padding, SameId, Span,
    ZipfId,
};
use Expectation::{Nothing, RowIfFirstTurn, Rows, RowsIfAlone};

pub const SCAN: &str = "scan";
/// Of the tests whose names do not say it.
const RANGE: u64 = 100;
const AGGREGATED: u64 = 1000;
const POINT_QUERIES: usize = 10;
/// Of the tests whose names say it.
const LONGEST_RANGE: u64 = 10_000;

/// The statements of one transaction of a test, in their order.
pub fn transaction(test: &str) -> Option<Vec<Template>> {
    if let Some((family, range)) = test.split_once('.') {
        return ranged(family, range.parse().ok()?);
    }
    let covered = |columns| points(columns, "id", DistinctKeys(RANGE), Rows(RANGE));
    let statement = match test {
        "point-query" => point_query(),
        "hot-points" => points("c", "id", MiddleIds(RANGE), Rows(RANGE)),
        "points-covered-pk" => covered("id"),
        "points-notcovered-pk" => covered("id, c"),
        "points-covered-si" => points("k", "k", DistinctKeys(RANGE), Nothing),
        "points-notcovered-si" => points("k, c", "k", DistinctKeys(RANGE), Nothing),
        "range-covered-pk" => range("id", "id", RANGE, Rows(RANGE)),
        "range-notcovered-pk" => range("id, c", "id", RANGE, Rows(RANGE)),
        "range-covered-si" => range("k", "k", RANGE, Nothing),
        "range-notcovered-si" => range("k, c", "k", RANGE, Nothing),
        SCAN => select("*", "LENGTH(c) < 0", &[], Rows(0)),
        "read-only-simple" => return Some(in_transaction(reads([simple(AGGREGATED)]))),
        "read-only-sum" => return Some(in_transaction(reads([sum(AGGREGATED)]))),
        "read-only-order" => return Some(in_transaction(reads([ordered(AGGREGATED)]))),
        "read-only-distinct" => return Some(in_transaction(reads([distinct(AGGREGATED)]))),
        "read-only-count" => range("count(c)", "id", AGGREGATED, Rows(1)),
        "update-inlist" => update_inlist(),
        "update-index" => update_index(Rows(1)),
        "update-nonindex" => update_nonindex(Key, Rows(1)),
        "update-one" => update_nonindex(FirstId, Rows(1)),
        "update-zipf" => update_nonindex(ZipfId, Rows(1)),
        "write-only" => return Some(in_transaction(writes())),
        "delete" => delete(InTurn, RowIfFirstTurn),
        "insert" => insert(NewId).spelt_out(),
        _ => return None,
    };
    Some(vec![statement])
}

fn ranged(family: &str, range: u64) -> Option<Vec<Template>> {
    if !(1..=LONGEST_RANGE).contains(&range) {
        return None;
    }
    match family {
        "random-points" => Some(vec![points("c", "id", DistinctKeys(range), Rows(range))]),
        "read-only" => Some(in_transaction(read_only(range))),
        "read-write" => Some(in_transaction([read_only(range), writes()].concat())),
        _ => None,
    }
}

fn in_transaction(statements: Vec<Template>) -> Vec<Template> {
    let begin = Template::new("BEGIN", &[], Nothing);
    let commit = Template::new("COMMIT", &[], Nothing);
    [vec![begin], statements, vec![commit]].concat()
}

fn read_only(rows: u64) -> Vec<Template> {
    reads([simple(rows), sum(rows), ordered(rows), distinct(rows)])
}

fn reads<const N: usize>(ranges: [Template; N]) -> Vec<Template> {
    let mut statements = vec![point_query().repeated(POINT_QUERIES)];
    statements.extend(ranges);
    statements
}

fn writes() -> Vec<Template> {
    vec![
        update_index(RowsIfAlone(1)),
        update_nonindex(Key, RowsIfAlone(1)),
        delete(OwnId, Rows(1)),
        insert(SameId),
    ]
}

fn select(columns: &str, condition: &str, values: &[Draw], expected: Expectation) -> Template {
    let sql = format!("SELECT {columns} FROM {{table}} WHERE {condition}");
    Template::new(sql, values, expected)
}

fn point_query() -> Template {
    select("c", "id = ?", &[Key], Rows(1))
}

fn points(columns: &str, column: &str, keys: Draw, expected: Expectation) -> Template {
    let (DistinctKeys(count) | MiddleIds(count)) = keys else {
        unreachable!("points are several keys");
    };
    select(columns, &in_list(column, count), &[keys], expected)
}

fn in_list(column: &str, count: u64) -> String {
    format!("{column} IN ({})", vec!["?"; count as usize].join(", "))
}

fn range(columns: &str, column: &str, rows: u64, expected: Expectation) -> Template {
    let condition = format!("{column} BETWEEN ? AND ?");
    select(columns, &condition, &[Span(rows)], expected)
}

fn simple(rows: u64) -> Template {
    range("c", "id", rows, Rows(rows))
}

fn sum(rows: u64) -> Template {
    range("SUM(k)", "id", rows, Rows(1))
}

fn ordered(rows: u64) -> Template {
    select(
        "c",
        "id BETWEEN ? AND ? ORDER BY c",
        &[Span(rows)],
        Rows(rows),
    )
}

fn distinct(rows: u64) -> Template {
    let condition = "id BETWEEN ? AND ? ORDER BY c";
    select("DISTINCT c", condition, &[Span(rows)], Nothing)
}

fn update_inlist() -> Template {
    let sql = format!("UPDATE {{table}} SET c = ? WHERE {}", in_list("id", RANGE));
    Template::new(sql, &[Contents, DistinctKeys(RANGE)], Rows(RANGE))
}

fn update_index(expected: Expectation) -> Template {
    Template::new(
        "UPDATE {table} SET k = k + 1 WHERE id = ?",
        &[Key],
        expected,
    )
}

fn update_nonindex(id: Draw, expected: Expectation) -> Template {
    let sql = "UPDATE {table} SET c = ? WHERE id = ?";
    Template::new(sql, &[Contents, id], expected)
}

fn delete(id: Draw, expected: Expectation) -> Template {
    Template::new("DELETE FROM {table} WHERE id = ?", &[id], expected)
}

fn insert(id: Draw) -> Template {
    let sql = "INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)";
    Template::new(sql, &[id, Key, Contents, Padding], Rows(1))
}
