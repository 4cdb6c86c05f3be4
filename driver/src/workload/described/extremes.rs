//! Descriptions with extreme values: each is rejected, or its operations can be composed.

use serde_json::{json, Value as Json};

use super::tests::{refusal, statement, test_on, SQL};
use crate::client::operation::Operation;
use crate::workload::Test;

const NUMBERS: [i64; 9] = [
    i64::MIN,
    i64::MIN + 1,
    i32::MIN as i64 - 1,
    -1,
    0,
    1,
    i32::MAX as i64 + 1,
    i64::MAX - 1,
    i64::MAX,
];
const COUNTS: [u64; 6] = [0, 1, 2, 1 << 33, 1 << 63, u64::MAX];
const KINDS: [&str; 5] = ["int", "bigint", "real", "timestamp", "text"];

fn compose(test: &dyn Test) {
    let operation = &mut Operation::default();
    for index in [0, 1, u64::MAX] {
        test.generator().compose(index, operation);
        test.alone().generator().compose(index, operation);
        for call in 0..operation.calls.len() {
            operation.request(call);
        }
    }
}

/// Compose the operations of one statement with this number of values of every supported type.
fn compose_all(draw: &Json, placeholders: usize) -> usize {
    let sql = vec!["?"; placeholders].join(", ");
    let mut taken = 0;
    for kind in KINDS {
        for form in ["prepared", "text"] {
            for clients in [1, 3] {
                let mut described = statement(&sql, kind, &json!([draw]));
                described["transactions"][0]["calls"][0]["form"] = json!(form);
                if let Ok(test) = test_on(described, clients, SQL) {
                    compose(test.as_ref());
                    taken += 1;
                }
            }
        }
    }
    taken
}

#[test]
fn ranges_may_have_any_ends() {
    for (low, high) in NUMBERS
        .iter()
        .flat_map(|low| NUMBERS.map(|high| (low, high)))
    {
        for (draw, values) in [
            (json!({"by": "serial", "start": low, "step": high}), 1),
            (json!({"by": "uniform", "low": low, "high": high}), 1),
            (json!({"by": "own", "low": low, "high": high}), 1),
        ] {
            compose_all(&draw, values);
        }
        for scale in [1, 18, 19, 20, 64, u32::MAX] {
            let draw = json!({"by": "uniform", "low": low, "high": high, "scale": scale});
            assert!(scale <= 18 || compose_all(&draw, 1) == 0);
            compose_all(&draw, 1);
        }
        for exponent in [-1.0, 0.0, 1e-300, 0.5, 1.0 + 1e-9, 1.5, 10.0, 1e300] {
            let draw = json!({"by": "zipf", "low": low, "high": high, "exponent": exponent});
            compose_all(&draw, 1);
        }
        for count in COUNTS {
            for by in ["span", "distinct"] {
                compose_all(
                    &json!({"by": by, "low": low, "high": high, "count": count}),
                    2,
                );
            }
        }
        for (each, count) in COUNTS
            .iter()
            .flat_map(|each| COUNTS.map(|count| (each, count)))
        {
            let draw = json!({"by": "cycle", "start": low, "each": each, "count": count});
            compose_all(&draw, 1);
            let draw = json!({"by": "listed", "values": [low, high], "step": high, "count": count});
            compose_all(&draw, 1);
        }
    }
    assert!(
        compose_all(
            &json!({"by": "span", "low": 0, "high": i64::MAX, "count": 1u64 << 63}),
            2
        ) > 0
    );
}

#[test]
fn what_would_fill_the_memory_is_refused() {
    let long = json!([{"by": "text", "shortest": u32::MAX, "longest": u32::MAX}]);
    let message = refusal(statement("?", "text", &long), 1);
    assert!(
        message.contains("bytes of values exceed the limit"),
        "{message}"
    );
    let serial = json!([{"by": "serial", "start": 1}]);
    let mut often = statement("?", "int", &serial);
    often["transactions"][0]["calls"][0]["repeat"] = json!(u32::MAX);
    let message = refusal(often.clone(), 1);
    assert!(message.contains("statements exceed the limit"), "{message}");
    often["transactions"][0]["calls"][0]["repeat"] = json!(0);
    let message = refusal(often, 1);
    assert!(message.contains("at least"), "{message}");
    let most = json!({"by": "distinct", "low": 0, "high": i64::MAX, "count": 1u64 << 63});
    let message = refusal(statement("SELECT 1", "bigint", &json!([most, most])), 1);
    assert!(message.contains("values for 0 placeholders"), "{message}");
}

#[test]
fn a_query_whose_freshness_is_read_has_a_statement_before_it() {
    let mut described = statement("SELECT ?", "int", &json!([{"by": "serial", "start": 1}]));
    described["freshness"] = json!({"kind": "reads", "statement": "SELECT 1, 1"});
    let message = refusal(described.clone(), 1);
    assert!(
        message.contains("a statement before its query"),
        "{message}"
    );
    let calls = &mut described["transactions"][0]["calls"];
    calls
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"sql": "BEGIN"}));
    assert!(test_on(described, 1, SQL).is_ok());
}
