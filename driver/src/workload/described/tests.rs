use serde_json::{json, Value as Json};

use crate::allocations::assert_allocates_nothing;
use crate::client::operation::Operation;
use crate::wire::dialect::Dialect;
use crate::wire::{mongodb, mysql, postgres, Failure, Request, Value};
use crate::workload::{self, Shape, Test, TestRequest};

pub const SQL: &dyn Dialect = postgres::WIRE.dialect;

pub fn test_on(
    described: Json,
    clients: u64,
    dialect: &dyn Dialect,
) -> Result<Box<dyn Test>, Failure> {
    let described = serde_json::from_value(described).unwrap();
    let request = TestRequest {
        benchmark: "described",
        test: "t",
        described: Some(&described),
    };
    let shape = Shape {
        tables: 1,
        rows: 1,
        clients,
        seed: 7,
    };
    workload::test(&request, shape, dialect)
}

fn test_of(described: Json) -> Box<dyn Test> {
    test_on(described, 1, SQL).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Return a test of one statement with values of one type.
pub fn statement(sql: &str, kind: &str, draws: &Json) -> Json {
    let draws = draws.as_array().unwrap().iter();
    let values: Vec<_> = draws
        .map(|draw| json!({"type": {"kind": kind}, "draw": draw}))
        .collect();
    json!({"transactions": [{"name": "x", "calls": [{"sql": sql, "values": values}]}]})
}

fn operation(test: &dyn Test, index: u64) -> Operation {
    let mut operation = Operation::default();
    test.generator().compose(index, &mut operation);
    operation
}

fn numbers(test: &dyn Test, index: u64) -> Vec<i64> {
    let numbers = operation(test, index).values.into_iter();
    numbers
        .map(|value| match value {
            Value::Int(number) => number.into(),
            Value::BigInt(number) => number,
            other => panic!("{other:?}"),
        })
        .collect()
}

pub fn refusal(described: Json, clients: u64) -> String {
    match test_on(described, clients, SQL) {
        Err(Failure::Usage(message)) => message,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn numbers_stay_in_their_ranges() {
    let draws = json!([
        {"by": "uniform", "low": -3, "high": 4},
        {"by": "zipf", "low": 10, "high": 19, "exponent": 0.8},
        {"by": "span", "low": 1, "high": 9, "count": 4},
        {"by": "distinct", "low": 5, "high": 8, "count": 3},
        {"by": "cycle", "start": 1, "each": 2, "count": 3},
        {"by": "serial", "start": 100, "step": 10},
        {"by": "same", "place": 0},
        {"by": "listed", "values": [7, 5, 5], "step": 2, "count": 4},
    ]);
    let test = test_of(statement("? ? ? ? ? ? ? ? ? ? ?", "int", &draws));
    let mut lowest = [i64::MAX; 11];
    let mut highest = [i64::MIN; 11];
    for index in 0..500 {
        let drawn = numbers(test.as_ref(), index);
        assert_eq!(drawn[3] - drawn[2], 3);
        let mut distinct = drawn[4..7].to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 3);
        assert_eq!(drawn[7], 1 + (index as i64 / 2) % 3);
        assert_eq!(drawn[8], 100 + 10 * index as i64);
        assert_eq!(drawn[9], drawn[0]);
        let listed = [7, 5, 5][index as usize % 3];
        assert_eq!(drawn[10], listed + 2 * (index as i64 / 3 % 4));
        for (place, number) in drawn.into_iter().enumerate() {
            lowest[place] = lowest[place].min(number);
            highest[place] = highest[place].max(number);
        }
    }
    assert_eq!(lowest[..5], [-3, 10, 1, 4, 5]);
    assert_eq!(highest[..4], [4, 19, 6, 9]);
    assert_eq!(highest[4..7].iter().max(), Some(&8));
}

#[test]
fn operations_depend_on_seed_test_and_index_alone() {
    let draws = json!([{"by": "uniform", "low": 1, "high": 1_000_000}]);
    let test = test_of(statement("?", "bigint", &draws));
    let first = operation(test.as_ref(), 5);
    assert_eq!(
        first,
        operation(test_of(statement("?", "bigint", &draws)).as_ref(), 5)
    );
    assert_ne!(first, operation(test.as_ref(), 6));
}

#[test]
fn clients_have_numbers_of_their_own() {
    let draws = json!([{"by": "own", "low": 11, "high": 20}]);
    let test = test_on(statement("?", "int", &draws), 3, SQL).unwrap();
    for index in 0..300 {
        let number = numbers(test.as_ref(), index)[0];
        assert!((11..=20).contains(&number));
        assert_eq!((number - 11) as u64 % 3, index % 3);
    }
    let message = refusal(statement("?", "int", &draws), 11);
    assert!(
        message.contains("10 numbers cannot be divided among 11 clients"),
        "{message}"
    );
}

#[test]
fn transactions_come_by_their_weights() {
    let transaction = |name, weight: f64| {
        let call = json!({"sql": format!("SELECT {name}")});
        json!({"name": name, "weight": weight, "calls": [{"sql": "BEGIN"}, call]})
    };
    let test = test_of(json!({"transactions": [transaction("1", 3.0), transaction("2", 1.0)]}));
    assert_eq!(test.prepared(), ["BEGIN", "SELECT 1", "SELECT 2"]);
    let is_second = |index: &u64| {
        let operation = operation(test.as_ref(), *index);
        matches!(operation.request(1), Request::Prepared { statement: 2, .. })
    };
    let seconds = (0..10_000).filter(is_second).count();
    // 2,500 expected; the standard deviation is 43.
    assert!(seconds.abs_diff(2500) < 250, "{seconds}");
}

#[test]
fn a_test_alone_has_every_transaction_once_and_its_values_in_their_places() {
    let call = |sql: &str, draw: Json| json!({"sql": sql, "values": [{"type": {"kind": "int"}, "draw": draw}]});
    let repeated = |sql, start| {
        let mut call = call(
            sql,
            json!({"by": "uniform", "low": start, "high": start + 99}),
        );
        call["repeat"] = json!(3);
        call
    };
    let same = || call("b ?", json!({"by": "same", "place": 2}));
    let transactions = json!([
        {"name": "x", "calls": [repeated("a ?", 100), same()]},
        {"name": "y", "calls": [repeated("c ?", 200), same()]},
    ]);
    let test = test_of(json!({"transactions": transactions}));
    assert_eq!(operation(test.as_ref(), 0).calls.len(), 4);
    let alone = test.alone();
    assert_eq!(alone.statements(), ["a ?", "b ?", "c ?"]);
    assert_eq!(alone.statement_of_calls(), [0, 0, 0, 1, 2, 2, 2, 1]);
    let drawn = numbers(alone.as_ref(), 0);
    assert_eq!((drawn[3], drawn[7]), (drawn[2], drawn[6]));
    assert!((100..200).contains(&drawn[3]) && (200..300).contains(&drawn[7]));
}

#[test]
fn texts_are_written_with_what_the_dialect_doubles() {
    let described = json!({"transactions": [{"name": "x", "calls": [{"sql": "a = ? AND b = ?",
    "form": "text", "values": [
        {"type": {"kind": "text"}, "draw": {"by": "choice", "values": ["it's \\ ?"]}},
        {"type": {"kind": "int"}, "draw": {"by": "choice", "values": [null]}},
    ]}]}]});
    let text_on = |dialect| {
        let test = test_on(described.clone(), 1, dialect).unwrap();
        let operation = operation(test.as_ref(), 0);
        let Request::Text(sql) = operation.request(0) else {
            panic!("not a text");
        };
        sql.to_owned()
    };
    assert_eq!(text_on(SQL), r"a = 'it''s \ ?' AND b = NULL");
    assert_eq!(
        text_on(mysql::WIRE.dialect),
        r"a = 'it''s \\ ?' AND b = NULL"
    );
}

#[test]
fn values_of_a_call_are_of_one_sample() {
    let value = |kind: &str, column: u64| {
        json!({"type": {"kind": kind},
        "draw": {"by": "sample", "set": 0, "column": column}})
    };
    let samples: Vec<_> = (0..20)
        .map(|number| json!([number, format!("n{number}")]))
        .collect();
    let test = test_of(json!({
        "samples": [samples],
        "transactions": [{"name": "x", "calls": [{"sql": "? ?",
            "values": [value("int", 0), value("text", 1)]}]}],
    }));
    let mut seen = std::collections::HashSet::new();
    for index in 0..200 {
        let operation = operation(test.as_ref(), index);
        let [Value::Int(number), Value::Text { start, end }] = operation.values[..] else {
            panic!("{:?}", operation.values);
        };
        assert_eq!(
            Value::slice(&operation.text, start, end),
            format!("n{number}").as_bytes()
        );
        seen.insert(number);
    }
    assert_eq!(seen.len(), 20);
}

#[test]
fn decimals_are_written_for_the_server_to_convert() {
    let kind = json!({"kind": "sql", "name": "NUMERIC(9, 2)"});
    let draw = json!({"by": "uniform", "low": -5, "high": -5, "scale": 2});
    let test = test_of(json!({"transactions": [{"name": "x",
        "calls": [{"sql": "?", "values": [{"type": kind, "draw": draw}]}]}]}));
    let operation = operation(test.as_ref(), 0);
    assert_eq!(operation.values, [Value::Written { start: 0, end: 5 }]);
    assert_eq!(operation.text, b"-0.05");
}

#[test]
fn vectors_are_taken_in_turn() {
    let file = std::env::temp_dir().join(format!("slowdust-vectors-{}", std::process::id()));
    let numbers = [0.5f32, 1.0, -2.0, 3.25];
    std::fs::write(&file, numbers.map(f32::to_le_bytes).concat()).unwrap();
    let path = file.to_str().unwrap();
    let described = |dimensions: u32| {
        json!({"transactions": [{"name": "x", "calls": [{"sql": "?",
        "values": [{"type": {"kind": "vector", "dimensions": dimensions},
                    "draw": {"by": "vectors", "file": path}}]}]}]})
    };
    let test = test_of(described(2));
    assert_eq!(operation(test.as_ref(), 3).text, b"[-2,3.25]");
    assert_eq!(operation(test.as_ref(), 4).text, b"[0.5,1]");
    let message = refusal(described(3), 1);
    assert!(
        message.contains("16 bytes, which is not a multiple of 3"),
        "{message}"
    );
    std::fs::remove_file(file).unwrap();
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let cases = [
        (
            json!([{"by": "uniform", "low": 2, "high": 1}]),
            "2 to 1 is not a range",
        ),
        (
            json!([{"by": "uniform", "low": 1, "high": 3_000_000_000u64}]),
            "exceeds the range of int",
        ),
        (
            json!([{"by": "zipf", "low": 1, "high": 9, "exponent": 1.0}]),
            "the exponent 1 must be",
        ),
        (
            json!([{"by": "span", "low": 1, "high": 3, "count": 4}]),
            "4 numbers cannot be drawn from 1 to 3",
        ),
        (
            json!([{"by": "text", "shortest": 1, "longest": 2}]),
            "cannot be drawn",
        ),
        (
            json!([{"by": "choice", "values": ["a"]}]),
            "not a value of the type",
        ),
        (
            json!([{"by": "choice", "values": [1], "weights": [1.0, 2.0]}]),
            "2 weights for 1",
        ),
        (
            json!([{"by": "listed", "values": []}]),
            "a list needs values",
        ),
        (
            json!([{"by": "listed", "values": [1], "step": 2, "count": i64::MAX}]),
            "the numbers are too large",
        ),
        (
            json!([{"by": "choice", "values": []}]),
            "weights must be positive",
        ),
        (
            json!([{"by": "same", "place": 0}]),
            "value 0 is not drawn before",
        ),
        (
            json!([{"by": "sample", "set": 0, "column": 0}]),
            "there is no sample 0",
        ),
        (
            json!([{"by": "serial", "start": 1}, {"by": "serial", "start": 1}]),
            "2 values for 1",
        ),
        (
            json!([{"by": "vectors", "file": "/"}]),
            "columns of the type vector",
        ),
    ];
    for (draws, expected) in cases {
        let message = refusal(statement("SELECT ?", "int", &draws), 1);
        assert!(message.contains(expected), "{message}");
    }
    let message = refusal(json!({"transactions": []}), 1);
    assert!(message.contains("no transactions"), "{message}");
    let described = statement("SELECT ?", "int", &json!([{"by": "serial", "start": 1}]));
    assert!(test_on(described, 1, mongodb::WIRE.dialect).is_err());
}

#[test]
fn an_operation_allocates_nothing() {
    let draws = json!([
        {"by": "uniform", "low": 1, "high": 9, "scale": 2},
        {"by": "zipf", "low": 1, "high": 9, "exponent": 0.8},
        {"by": "distinct", "low": 1, "high": 99, "count": 3},
        {"by": "choice", "values": ["it's", "b", null], "weights": [1.0, 2.0, 1.0]},
        {"by": "text", "shortest": 20, "longest": 20},
        {"by": "sample", "set": 0, "column": 0},
        {"by": "same", "place": 1},
    ]);
    let mut described = statement("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?", "text", &draws);
    described["samples"] = json!([[["a"], ["b"]]]);
    for form in ["prepared", "text"] {
        described["transactions"][0]["calls"][0]["form"] = json!(form);
        let test = test_of(described.clone());
        assert_allocates_nothing(form, 1, || test.generator());
    }
}
