use crate::client::operation::{Expected, Operation};
use crate::wire::dialect::Dialect;
use crate::wire::{has_plan, mongodb, mysql, postgres, Failure, Request, Value, CONNECT};
use crate::workload::{self, Shape, Test, TestRequest, Unit};

/// Tests whose operations differ.
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

/// Tests whose operations are all the same.
const UNVARYING: [&str; 2] = ["scan", "update-same-indexed"];

const ROWS: u64 = 20_000;
const SQL: &dyn Dialect = postgres::WIRE.dialect;

fn shape(clients: u64) -> Shape {
    Shape {
        tables: 3,
        rows: ROWS,
        clients,
        seed: 7,
    }
}

fn request(test: &str) -> TestRequest<'_> {
    TestRequest {
        benchmark: "sbtest",
        test,
        described: None,
    }
}

fn test_of(name: &str, clients: u64) -> Box<dyn Test> {
    workload::test(&request(name), shape(clients), SQL)
        .unwrap_or_else(|failure| panic!("{name}: {failure:?}"))
}

fn operation(test: &dyn Test, index: u64) -> Operation {
    let mut operation = Operation::default();
    test.generator().compose(index, &mut operation);
    operation
}

/// Return the integers of a call's parameters.
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

fn statement(test: &dyn Test, operation: &Operation, call: usize) -> String {
    match operation.request(call) {
        Request::Prepared { statement, .. } => test.prepared()[statement].clone(),
        Request::Text(sql) => sql.to_owned(),
    }
}

#[test]
fn the_same_seed_gives_the_same_operations_and_another_does_not() {
    for name in ALL {
        for index in [0, 1, 1000] {
            let again = operation(&*test_of(name, 4), index);
            assert_eq!(operation(&*test_of(name, 4), index), again, "{name}");
        }
        let seed = 8;
        let other = workload::test(&request(name), Shape { seed, ..shape(4) }, SQL).unwrap();
        let differs =
            (0..20).any(|index| operation(&*other, index) != operation(&*test_of(name, 4), index));
        assert!(differs, "{name}");
    }
}

#[test]
fn an_operation_does_not_depend_on_those_before_it() {
    let test = test_of("random-points.100", 1);
    let mut generator = test.generator();
    let mut warm = Operation::default();
    (0..50).for_each(|index| generator.compose(index, &mut warm));
    generator.compose(3, &mut warm);
    assert_eq!(warm, operation(&*test, 3));
}

#[test]
fn every_statement_gets_as_many_values_as_it_has_placeholders() {
    for name in ALL.into_iter().chain(UNVARYING) {
        let test = test_of(name, 4);
        let operation = operation(&*test, 5);
        for call in 0..operation.calls.len() {
            if let Request::Prepared { values, .. } = operation.request(call) {
                let placeholders = statement(&*test, &operation, call).matches('?').count();
                assert_eq!(values.len(), placeholders, "{name}");
            }
        }
    }
}

#[test]
fn keys_lie_in_the_table_and_ranges_have_their_length() {
    for name in ALL {
        let test = test_of(name, 4);
        for index in 0..50 {
            let operation = operation(&*test, index);
            for call in 0..operation.calls.len() {
                let statement = statement(&*test, &operation, call);
                if statement.starts_with("INSERT INTO") && name == "insert" {
                    continue;
                }
                let keys = ints(&operation, call);
                assert!(keys.iter().all(|key| (1..=ROWS).contains(key)), "{name}");
                if statement.contains("BETWEEN") && name == "range-covered-pk" {
                    assert_eq!(keys[1] - keys[0], 99);
                    assert_eq!(operation.calls[call].expected, Expected::Rows(100));
                }
            }
        }
    }
}

#[test]
fn lists_hold_different_ids() {
    for (name, count) in [("random-points.1000", 1000), ("update-inlist", 100)] {
        let mut ids = ints(&operation(&*test_of(name, 1), 9), 0);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}

#[test]
fn hot_points_are_the_middle_of_the_table_every_time() {
    let test = test_of("hot-points", 1);
    let expected: Vec<u64> = (9951..=10_050).collect();
    assert_eq!(ints(&operation(&*test, 0), 0), expected);
    assert_eq!(ints(&operation(&*test, 77), 0), expected);
}

#[test]
fn all_clients_update_the_same_row() {
    for name in ["update-same-indexed", "update-same-notindexed"] {
        let test = test_of(name, 4);
        for index in 0..50 {
            let operation = operation(&*test, index);
            assert!(statement(&*test, &operation, 0).starts_with("UPDATE sbtest1 "));
            assert_eq!(ints(&operation, 0), [1]);
            assert_eq!(operation.calls[0].expected, Expected::Rows(1));
        }
    }
}

#[test]
fn short_ranges_hold_as_many_keys_as_their_names_say() {
    let (rows, any) = (Expected::Rows(10), Expected::Anything);
    for (name, expected, condition) in [
        ("range-pk.10", rows, "SELECT c FROM {} WHERE id"),
        ("range-si-covered.10", any, "SELECT k FROM {} WHERE k"),
        ("range-si-notcovered.10", any, "SELECT c FROM {} WHERE k"),
    ] {
        let test = test_of(name, 1);
        let operation = operation(&*test, 3);
        let keys = ints(&operation, 0);
        assert_eq!(keys[1] - keys[0], 9);
        assert_eq!(operation.calls[0].expected, expected);
        let (head, tail) = condition.split_once("{}").unwrap();
        let statement = statement(&*test, &operation, 0);
        assert!(
            statement.starts_with(head) && statement.contains(tail),
            "{statement}"
        );
    }
}

#[test]
fn a_read_only_transaction_is_ten_points_and_four_ranges() {
    let test = test_of("read-only.100", 1);
    let operation = operation(&*test, 0);
    assert_eq!(operation.calls.len(), 16);
    let statements: Vec<_> = (0..16)
        .map(|call| statement(&*test, &operation, call))
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
        let test = test_of("write-only", clients);
        for index in 0..200 {
            let operation = operation(&*test, index);
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
        let test = workload::test(&request("delete"), shape, SQL).unwrap();
        let deleted = |index| {
            let operation = operation(&*test, index);
            let statement = statement(&*test, &operation, 0);
            (
                statement,
                ints(&operation, 0)[0],
                operation.calls[0].expected,
            )
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
fn updates_among_deletes_are_checked_for_a_single_client_only() {
    let expected = |clients| operation(&*test_of("write-only", clients), 0).calls[1].expected;
    assert_eq!(expected(1), Expected::Rows(1));
    assert_eq!(expected(2), Expected::Anything);
}

#[test]
fn inserts_are_plain_sql_with_ids_after_the_loaded_ones() {
    let test = test_of("insert", 2);
    let first = operation(&*test, 0);
    let sql = statement(&*test, &first, 0);
    let head = "(id, k, c, pad) VALUES (20001, ";
    assert!(
        sql.starts_with("INSERT INTO sbtest") && sql.contains(head),
        "{sql}"
    );
    assert_eq!(sql.matches('\'').count(), 4);
    let second = operation(&*test, 1);
    assert!(statement(&*test, &second, 0).contains("(20002, "));
    assert!(test.prepared().is_empty());
}

#[test]
fn a_client_scans_its_own_table() {
    let test = test_of("scan", 4);
    let tables = |index| statement(&*test, &operation(&*test, index), 0);
    assert!(tables(0).contains("sbtest1 ") && tables(4).contains("sbtest1 "));
    assert!(tables(1).contains("sbtest2 ") && tables(3).contains("sbtest1 "));
    assert_eq!(test.unit(), Unit::RowsScanned(ROWS));
}

#[test]
fn statements_of_an_operation_alone_are_those_of_the_first_table() {
    for name in ALL.into_iter().chain(UNVARYING) {
        let alone = test_of(name, 4).alone();
        let operation = operation(&*alone, 0);
        for (call, place) in alone.statement_of_calls().into_iter().enumerate() {
            if let Request::Prepared { statement, .. } = operation.request(call) {
                assert_eq!(
                    alone.prepared()[statement],
                    alone.statements()[place],
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn tests_of_connecting_begin_with_a_new_connection_and_prepare_nothing() {
    for (name, calls) in [("connect", 1), ("connect-tls", 1), ("connect-query", 2)] {
        let test = test_of(name, 4);
        assert!(test.reconnects() && test.prepared().is_empty());
        let operation = operation(&*test, 3);
        assert_eq!(statement(&*test, &operation, 0), CONNECT);
        assert_eq!(operation.calls.len(), calls);
        assert!(!has_plan(&test.statements()[0]));
    }
    assert!(!test_of("plan-simple", 4).reconnects());
}

#[test]
fn tests_of_planning_send_another_text_each_time() {
    for name in ["plan-simple", "plan-joins", "plan-partitions"] {
        let test = test_of(name, 4);
        assert!(test.prepared().is_empty());
        let sql = |index| statement(&*test, &operation(&*test, index), 0);
        let texts: std::collections::HashSet<_> = (0..50).map(sql).collect();
        assert!(texts.len() > 25, "{name}");
    }
}

#[test]
fn a_partitioned_table_has_a_key_in_each_partition_or_does_not_exist() {
    let ranges = super::planning::partitions();
    let created = |dialect: &dyn Dialect, engine| {
        let columns = "id INTEGER NOT NULL";
        dialect.create_keyed_partitions(columns, engine, &ranges)
    };
    let of_postgres = created(SQL, None).unwrap();
    let keys = of_postgres.iter().filter(|sql| sql.contains("PRIMARY KEY"));
    assert_eq!(keys.count(), 100);
    let of_mysql = created(mysql::WIRE.dialect, Some("rocksdb")).unwrap();
    assert!(of_mysql[0].contains("PRIMARY KEY (id)") && of_mysql[0].contains("p99 "));
    assert_eq!(created(mysql::WIRE.dialect, Some("memory")), None);
    assert_eq!(created(mongodb::WIRE.dialect, None), None);
}

#[test]
fn impossible_sessions_are_usage_failures() {
    let refused = |name, shape| {
        matches!(
            workload::test(&request(name), shape, SQL),
            Err(Failure::Usage(_))
        )
    };
    assert!(refused("no-such-test", shape(1)));
    assert!(refused("random-points.0", shape(1)));
    assert!(refused("random-points.x", shape(1)));
    let with_rows = |rows, clients| Shape {
        rows,
        ..shape(clients)
    };
    assert!(refused("read-only.10000", with_rows(9999, 1)));
    assert!(refused("write-only", with_rows(3, 4)));
    let tables = 0;
    assert!(refused("point-query", Shape { tables, ..shape(1) }));
    assert!(refused("point-query", shape(0)));
    assert!(refused("point-query", with_rows(1 << 31, 1)));
}

#[test]
fn every_test_has_commands_of_mongodb_and_no_transactions() {
    let dialect = mongodb::WIRE.dialect;
    for name in ALL.into_iter().chain(UNVARYING) {
        let test = workload::test(&request(name), shape(4), dialect).unwrap();
        for statement in test.prepared() {
            let command = dialect.with_placeholders(&statement);
            assert!(command.starts_with('{'), "{name}: {statement}");
            let holes = |text: &str| text.matches('?').count();
            assert_eq!(holes(&command), holes(&statement), "{name}");
        }
        let operation = operation(&*test, 5);
        assert!((0..operation.calls.len())
            .all(|call| matches!(operation.request(call), Request::Prepared { .. })));
    }
}
