use super::*;
use crate::wire::{Request, Value};
use crate::workload::{Expected, Generator, Operation};

/// Tests that draw something.
const ALL: [&str; 38] = [
    "point-query",
    "random-points.10",
    "random-points.100",
    "random-points.1000",
    "hot-points",
    "points-covered-pk",
    "points-covered-si",
    "points-notcovered-pk",
    "points-notcovered-si",
    "range-covered-pk",
    "range-covered-si",
    "range-notcovered-pk",
    "range-notcovered-si",
    "read-only.10",
    "read-only.100",
    "read-only.10000",
    "read-only-simple",
    "read-only-sum",
    "read-only-order",
    "read-only-distinct",
    "read-only-count",
    "update-inlist",
    "update-index",
    "update-nonindex",
    "update-one",
    "update-zipf",
    "write-only",
    "read-write.10",
    "read-write.100",
    "delete",
    "insert",
    "update-same-notindexed",
    "range-pk.10",
    "range-pk.1000",
    "range-si-covered.10",
    "range-si-covered.1000",
    "range-si-notcovered.10",
    "range-si-notcovered.1000",
];

/// Tests that do the same every time.
const UNVARYING: [&str; 2] = ["scan", "update-same-indexed"];

const ROWS: u64 = 20_000;

fn shape(clients: u64) -> Shape {
    Shape {
        tables: 3,
        rows: ROWS,
        clients,
        seed: 7,
    }
}

fn micro(test: &str, clients: u64) -> Micro {
    Micro::new(test, shape(clients)).unwrap_or_else(|failure| panic!("{test}: {failure:?}"))
}

fn operation(micro: &Micro, index: u64) -> Operation {
    let mut operation = Operation::default();
    micro.generator().compose(index, &mut operation);
    operation
}

/// The integers of a call's parameters.
fn ints(operation: &Operation, call: usize) -> Vec<u64> {
    let Request::Prepared { values, .. } = operation.request(call) else {
        panic!("a prepared call");
    };
    let ints = values.iter().filter_map(|value| match value {
        Value::Int(number) => Some(*number as u64),
        _ => None,
    });
    ints.collect()
}

fn statement(micro: &Micro, operation: &Operation, call: usize) -> String {
    match operation.request(call) {
        Request::Prepared { statement, .. } => micro.prepared()[statement].clone(),
        Request::Text(sql) => sql.to_owned(),
    }
}

#[test]
fn the_same_seed_gives_the_same_operations_and_another_does_not() {
    for test in ALL {
        for index in [0, 1, 1000] {
            let again = operation(&micro(test, 4), index);
            assert_eq!(operation(&micro(test, 4), index), again, "{test}");
        }
        let other = Micro::new(
            test,
            Shape {
                seed: 8,
                ..shape(4)
            },
        )
        .unwrap();
        let differs =
            (0..20).any(|index| operation(&other, index) != operation(&micro(test, 4), index));
        assert!(differs, "{test}");
    }
}

#[test]
fn an_operation_does_not_depend_on_those_before_it() {
    let micro = micro("random-points.100", 1);
    let mut generator = micro.generator();
    let mut warm = Operation::default();
    (0..50).for_each(|index| generator.compose(index, &mut warm));
    generator.compose(3, &mut warm);
    assert_eq!(warm, operation(&micro, 3));
}

#[test]
fn every_statement_gets_as_many_values_as_it_has_placeholders() {
    for test in ALL.into_iter().chain(UNVARYING) {
        let micro = micro(test, 4);
        let operation = operation(&micro, 5);
        for call in 0..operation.calls() {
            if let Request::Prepared { values, .. } = operation.request(call) {
                let placeholders = statement(&micro, &operation, call).matches('?').count();
                assert_eq!(values.len(), placeholders, "{test}");
            }
        }
    }
}

#[test]
fn keys_lie_in_the_table_and_ranges_hold_what_they_say() {
    for test in ALL {
        let micro = micro(test, 4);
        for index in 0..50 {
            let operation = operation(&micro, index);
            for call in 0..operation.calls() {
                let statement = statement(&micro, &operation, call);
                if statement.starts_with("INSERT INTO") && test == "insert" {
                    continue;
                }
                let keys = ints(&operation, call);
                assert!(keys.iter().all(|key| (1..=ROWS).contains(key)), "{test}");
                if statement.contains("BETWEEN") && test == "range-covered-pk" {
                    assert_eq!(keys[1] - keys[0], 99);
                    assert_eq!(operation.expected(call), Expected::Rows(100));
                }
            }
        }
    }
}

#[test]
fn lists_hold_different_ids() {
    for (test, count) in [("random-points.1000", 1000), ("update-inlist", 100)] {
        let mut ids = ints(&operation(&micro(test, 1), 9), 0);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}

#[test]
fn hot_points_are_the_middle_of_the_table_every_time() {
    let micro = micro("hot-points", 1);
    let expected: Vec<u64> = (9951..=10_050).collect();
    assert_eq!(ints(&operation(&micro, 0), 0), expected);
    assert_eq!(ints(&operation(&micro, 77), 0), expected);
}

#[test]
fn all_clients_update_the_same_row() {
    for test in ["update-same-indexed", "update-same-notindexed"] {
        let micro = micro(test, 4);
        for index in 0..50 {
            let operation = operation(&micro, index);
            assert!(statement(&micro, &operation, 0).starts_with("UPDATE sbtest1 "));
            assert_eq!(ints(&operation, 0), [1]);
            assert_eq!(operation.expected(0), Expected::Rows(1));
        }
    }
}

#[test]
fn short_ranges_hold_as_many_keys_as_their_names_say() {
    for (test, expected, condition) in [
        (
            "range-pk.10",
            Expected::Rows(10),
            "SELECT c FROM {} WHERE id",
        ),
        (
            "range-si-covered.10",
            Expected::Anything,
            "SELECT k FROM {} WHERE k",
        ),
        (
            "range-si-notcovered.10",
            Expected::Anything,
            "SELECT c FROM {} WHERE k",
        ),
    ] {
        let micro = micro(test, 1);
        let operation = operation(&micro, 3);
        let keys = ints(&operation, 0);
        assert_eq!(keys[1] - keys[0], 9);
        assert_eq!(operation.expected(0), expected);
        let (head, tail) = condition.split_once("{}").unwrap();
        let statement = statement(&micro, &operation, 0);
        assert!(
            statement.starts_with(head) && statement.contains(tail),
            "{statement}"
        );
    }
}

#[test]
fn a_read_only_transaction_is_ten_points_and_four_ranges() {
    let micro = micro("read-only.100", 1);
    let operation = operation(&micro, 0);
    assert_eq!(operation.calls(), 16);
    let statements: Vec<_> = (0..16)
        .map(|call| statement(&micro, &operation, call))
        .collect();
    assert_eq!(statements[0], "BEGIN");
    assert!((1..=10).all(|call| statements[call].ends_with("WHERE id = ?")));
    assert!(statements[12].contains("SUM(k)") && statements[14].contains("DISTINCT"));
    assert_eq!(statements[15], "COMMIT");
    let tables: std::collections::HashSet<_> = statements[1..15]
        .iter()
        .map(|statement| statement.split(' ').find(|word| word.starts_with("sbtest")))
        .collect();
    assert_eq!(tables.len(), 1, "one table for each transaction");
}

#[test]
fn clients_delete_ids_of_their_own_class_and_insert_them_again() {
    for clients in [1, 3, 4] {
        let micro = micro("write-only", clients);
        for index in 0..200 {
            let operation = operation(&micro, index);
            let deleted = ints(&operation, 3)[0];
            assert_eq!(deleted % clients, index % clients);
            assert_eq!(ints(&operation, 4)[0], deleted);
        }
    }
}

#[test]
fn every_row_is_deleted_once_and_then_none() {
    for (tables, rows) in [(1, 1), (1, 2), (3, 7), (2, 1000), (5, 1021)] {
        let shape = Shape {
            tables,
            rows,
            ..shape(4)
        };
        let micro = Micro::new("delete", shape).unwrap();
        let deleted = |index| {
            let operation = operation(&micro, index);
            let statement = statement(&micro, &operation, 0);
            (statement, ints(&operation, 0)[0], operation.expected(0))
        };
        let total = tables * rows;
        let first_turns: std::collections::HashSet<_> = (0..total).map(deleted).collect();
        let all: std::collections::HashSet<_> = (1..=tables)
            .flat_map(|table| (1..=rows).map(move |id| (table, id)))
            .map(|(table, id)| {
                let sql = format!("DELETE FROM sbtest{table} WHERE id = ?");
                (sql, id, Expected::Rows(1))
            })
            .collect();
        assert_eq!(first_turns, all);
        for index in [0, total / 2, total - 1] {
            let (table, id, _) = deleted(index);
            assert_eq!(deleted(total + index), (table, id, Expected::Rows(0)));
        }
    }
}

#[test]
fn updates_among_deletes_are_checked_only_without_company() {
    let expected = |clients| operation(&micro("write-only", clients), 0).expected(1);
    assert_eq!(expected(1), Expected::Rows(1));
    assert_eq!(expected(2), Expected::Anything);
}

#[test]
fn inserts_are_plain_sql_with_ids_after_the_loaded_ones() {
    let micro = micro("insert", 2);
    let first = operation(&micro, 0);
    let sql = statement(&micro, &first, 0);
    let head = "(id, k, c, pad) VALUES (20001, ";
    assert!(
        sql.starts_with("INSERT INTO sbtest") && sql.contains(head),
        "{sql}"
    );
    assert_eq!(sql.matches('\'').count(), 4);
    let second = operation(&micro, 1);
    assert!(statement(&micro, &second, 0).contains("(20002, "));
    assert!(micro.prepared().is_empty());
}

#[test]
fn a_client_scans_its_own_table() {
    let micro = micro("scan", 4);
    let tables = |index| statement(&micro, &operation(&micro, index), 0);
    assert!(tables(0).contains("sbtest1 ") && tables(4).contains("sbtest1 "));
    assert!(tables(1).contains("sbtest2 ") && tables(3).contains("sbtest1 "));
    assert_eq!(
        (micro.unit(), micro.rows_scanned()),
        (Unit::Rows, Some(ROWS))
    );
}

#[test]
fn statements_of_an_operation_alone_are_those_of_the_first_table() {
    for test in ALL.into_iter().chain(UNVARYING) {
        let alone = micro(test, 4).alone();
        let operation = operation(&alone, 0);
        for (call, place) in alone.statement_of_calls().enumerate() {
            if let Request::Prepared { statement, .. } = operation.request(call) {
                assert_eq!(
                    alone.prepared()[statement],
                    alone.statements()[place],
                    "{test}"
                );
            }
        }
    }
}

#[test]
fn impossible_sessions_are_usage_failures() {
    let refused = |test, shape| matches!(Micro::new(test, shape), Err(Failure::Usage(_)));
    assert!(refused("no-such-test", shape(1)));
    assert!(refused("random-points.0", shape(1)));
    assert!(refused("random-points.x", shape(1)));
    assert!(refused(
        "read-only.10000",
        Shape {
            rows: 9999,
            ..shape(1)
        }
    ));
    assert!(refused(
        "write-only",
        Shape {
            rows: 3,
            ..shape(4)
        }
    ));
    assert!(refused(
        "point-query",
        Shape {
            tables: 0,
            ..shape(1)
        }
    ));
    assert!(refused("point-query", shape(0)));
    assert!(refused(
        "point-query",
        Shape {
            rows: 1 << 31,
            ..shape(1)
        }
    ));
}
