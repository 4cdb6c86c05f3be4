//! The exact work of an execution: the counts of EXPLAIN ANALYZE for its plan, and the counts of rows
//! of tables and indexes in the session's statistics.

use serde_json::Value as Json;

use super::super::{Amounts, Failure, Request, TextQueries as _};
use super::explain::execution;
use super::PostgresConnection;

const ANALYZE: &str = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY ON, FORMAT JSON)";

/// The session's own statistics since some moment, except for the catalog: the rows returned by
/// sequential scans and the entries returned by index scans, the index searches, and the rows written.
/// They are whole numbers in every version; in a plan the rows of a node are their mean per loop,
/// which versions before 18 round.
const COUNTED: &str = "SELECT \
    sum(pg_stat_get_xact_tuples_returned(c.oid)), \
    sum(CASE WHEN c.relkind = 'i' THEN pg_stat_get_xact_numscans(c.oid) ELSE 0 END), \
    sum(pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) \
        + pg_stat_get_xact_tuples_deleted(c.oid)) \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'i', 'm') \
    AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')";
const ROWS_READ: &str = "rows_read";
const INDEX_SEARCHES: &str = "index_searches";
const COUNTS: [&str; 3] = [ROWS_READ, INDEX_SEARCHES, "rows_written"];

/// Execute the request within the open transaction, and return its work.
pub fn count(
    connection: &mut PostgresConnection,
    request: Request<'_>,
) -> Result<Amounts, Failure> {
    let sql = match request {
        Request::Text(sql) => sql.to_owned(),
        Request::Prepared {
            statement,
            values,
            text,
            ..
        } => execution(&connection.names[statement], values, text),
    };
    let before = counts(connection)?;
    let table = connection.query(&format!("{ANALYZE} {sql}"))?;
    let after = counts(connection)?;
    let document = table.into_value()?.unwrap_or_default();
    let document: Json = serde_json::from_str(&document).map_err(Failure::protocol)?;
    let mut amounts = Amounts::new();
    let mut has_workers = false;
    for query in document.as_array().into_iter().flatten() {
        add_query(query, &mut amounts);
        has_workers |= has_launched_workers(&query["Plan"]);
    }
    for (name, (after, before)) in COUNTS.into_iter().zip(after.into_iter().zip(before)) {
        // Workers have their own statistics.
        if !has_workers || ![ROWS_READ, INDEX_SEARCHES].contains(&name) {
            amounts.insert(name, after - before);
        }
    }
    Ok(amounts)
}

fn counts(connection: &mut PostgresConnection) -> Result<Vec<f64>, Failure> {
    let row = connection.query(COUNTED)?.rows.pop().unwrap_or_default();
    let counts = row.into_iter().map(|value| match value {
        Some(count) => count.parse().map_err(Failure::protocol),
        None => Ok(0.0), // there are no tables
    });
    counts.collect()
}

/// Add the counts of a query's plan, its planning and its execution.
fn add_query(query: &Json, amounts: &mut Amounts) {
    let plan = &query["Plan"];
    let mut add = |name, amount| *amounts.entry(name).or_default() += amount;
    add("rows_returned", number(plan, "Actual Rows"));
    for (name, key) in [
        ("pages_hit", "Shared Hit Blocks"),
        ("pages_read", "Shared Read Blocks"),
        ("pages_dirtied", "Shared Dirtied Blocks"),
        ("temp_pages_read", "Temp Read Blocks"),
        ("temp_pages_written", "Temp Written Blocks"),
    ] {
        add(name, number(plan, key));
    }
    let planning = &query["Planning"];
    if planning.is_object() {
        let pages = number(planning, "Shared Hit Blocks") + number(planning, "Shared Read Blocks");
        add("planning_pages", pages);
    }
    for (name, key) in [
        ("planning_s", "Planning Time"),
        ("execution_s", "Execution Time"),
    ] {
        add(name, number(query, key) / 1000.0);
    }
    for name in [ROWS_READ, INDEX_SEARCHES, "rows_filtered", "loops"] {
        add(name, 0.0);
    }
    for name in ["sorts_spilled", "hash_batches"] {
        add(name, 0.0);
    }
    add_node(plan, amounts);
}

/// Add the counts of a node and its inputs, each over all its loops.
fn add_node(node: &Json, amounts: &mut Amounts) {
    let mut add = |name, amount| *amounts.entry(name).or_default() += amount;
    let loops = number(node, "Actual Loops");
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let filtered = [
        "Rows Removed by Filter",
        "Rows Removed by Join Filter",
        "Rows Removed by Index Recheck",
    ];
    let filtered = filtered.map(|key| number(node, key)).iter().sum::<f64>() * loops;
    add("rows_filtered", filtered);
    let reads_table = node["Relation Name"].is_string() && kind.ends_with("Scan");
    if reads_table {
        add(ROWS_READ, number(node, "Actual Rows") * loops + filtered);
        add("loops", loops);
    }
    if node["Index Name"].is_string() {
        let searches = node["Index Searches"].as_f64();
        add(INDEX_SEARCHES, searches.unwrap_or(loops));
    }
    add("sorts_spilled", spilled_sorts(node));
    let batches = number(node, "Hash Batches").max(number(node, "HashAgg Batches"));
    if batches > 1.0 {
        add("hash_batches", batches);
    }
    for input in inputs(node) {
        add_node(input, amounts);
    }
}

fn inputs(node: &Json) -> impl Iterator<Item = &Json> {
    node["Plans"].as_array().into_iter().flatten()
}

/// Return the number of processes whose part of the node's sort did not fit in memory.
fn spilled_sorts(node: &Json) -> f64 {
    let is_on_disk = |process: &&Json| process["Sort Space Type"] == "Disk";
    let workers = node["Workers"].as_array().into_iter().flatten();
    let groups = ["Full-sort Groups", "Pre-sorted Groups"];
    let spilled_groups = groups.into_iter().filter(|groups| {
        let space = &node[groups]["Sort Space Disk"];
        space.is_object()
    });
    (std::iter::once(node)
        .chain(workers)
        .filter(is_on_disk)
        .count()
        + spilled_groups.count()) as f64
}

fn has_launched_workers(node: &Json) -> bool {
    number(node, "Workers Launched") > 0.0 || inputs(node).any(has_launched_workers)
}

/// Return a number; 0 if the node has none.
fn number(node: &Json, key: &str) -> f64 {
    node[key].as_f64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_of_all_nodes_and_loops_are_added() {
        let inner = json!({"Node Type": "Index Scan", "Relation Name": "b", "Index Name": "b_k",
            "Actual Rows": 2, "Actual Loops": 10, "Rows Removed by Filter": 1});
        let outer = json!({"Node Type": "Seq Scan", "Relation Name": "a", "Actual Rows": 10,
            "Actual Loops": 1});
        let sort = json!({"Node Type": "Sort", "Sort Space Type": "Disk", "Actual Rows": 20,
            "Actual Loops": 1, "Shared Hit Blocks": 7, "Temp Written Blocks": 3,
            "Plans": [{"Node Type": "Nested Loop", "Actual Rows": 20, "Actual Loops": 1,
                       "Plans": [outer, inner]}]});
        let mut amounts = Amounts::new();
        add_query(&json!({"Plan": sort, "Execution Time": 2.5}), &mut amounts);
        for (name, expected) in [
            ("rows_returned", 20.0),
            ("rows_read", 40.0),
            ("rows_filtered", 10.0),
            ("index_searches", 10.0),
            ("loops", 11.0),
            ("pages_hit", 7.0),
            ("temp_pages_written", 3.0),
            ("sorts_spilled", 1.0),
            ("hash_batches", 0.0),
            ("execution_s", 0.0025),
        ] {
            assert_eq!(amounts.get(name), Some(&expected), "{name}");
        }
        assert!(!amounts.contains_key("planning_pages"));
    }

    #[test]
    fn workers_are_those_of_any_node() {
        let gather = json!({"Node Type": "Gather", "Workers Launched": 2});
        assert!(has_launched_workers(&json!({"Plans": [gather]})));
        assert!(!has_launched_workers(
            &json!({"Plans": [{"Workers Launched": 0}]})
        ));
    }
}
