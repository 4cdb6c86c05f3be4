//! The microbenchmarks: their transactions, with ranges and statements as in METHOD.

use super::statements::{
    delete, distinct, family_and_range, insert, ordered, point_query, points, range, select,
    simple, sum, update_index, update_inlist, update_nonindex,
};
use super::template::{Draw, Expectation, Template};
use Draw::{DistinctKeys, FirstId, InTurn, Key, MiddleIds, NewId, OwnId, SameId, ZipfId};
use Expectation::{Nothing, RowIfFirstTurn, Rows, RowsIfAlone};

pub const SCAN: &str = "scan";
/// The range of tests without one in their name.
const RANGE: u64 = 100;
const AGGREGATED: u64 = 1000;
const POINT_QUERIES: usize = 10;

/// Return the statements of one transaction of a test in order.
pub fn transaction(test: &str) -> Option<Vec<Template>> {
    if let Some((family, range)) = family_and_range(test) {
        return ranged(family, range);
    }
    let covered = |columns| points(columns, "id", DistinctKeys(RANGE), Rows(RANGE));
    let statement = match test {
        "round-trip" => Template::new("SELECT 1", &[], Rows(1)),
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
        "update-inlist" => update_inlist(RANGE),
        "update-index" => update_index(Key, Rows(1)),
        "update-nonindex" => update_nonindex(Key, Rows(1)),
        "update-one" => update_nonindex(FirstId, Rows(1)),
        "update-zipf" => update_nonindex(ZipfId, Rows(1)),
        "write-only" => return Some(in_transaction(writes())),
        "delete" => delete(InTurn, RowIfFirstTurn),
        "insert" => insert(NewId).sent_as_text(),
        _ => return None,
    };
    Some(vec![statement])
}

fn ranged(family: &str, range: u64) -> Option<Vec<Template>> {
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
        update_index(Key, RowsIfAlone(1)),
        update_nonindex(Key, RowsIfAlone(1)),
        delete(OwnId, Rows(1)),
        insert(SameId),
    ]
}
