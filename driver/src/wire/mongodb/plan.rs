//! Plans as explained by servers, as lines without values.

use super::super::sqlite::steps::Steps;
use bson::{Bson, Document};

use super::super::Amounts;

const PLANNER: &str = "queryPlanner";
const STATS: &str = "executionStats";

/// Return the plan in a reply to `explain`; None if it has no known one.
pub fn text(reply: &Document) -> Option<String> {
    let planner = planner(reply)?;
    if let Ok(winner) = planner.get_document("winningPlan") {
        // Since 6.0 the reply may contain the slot-based engine's plan next to the plan by stages.
        let stages = winner.get_document("queryPlan").unwrap_or(winner);
        let mut lines = String::new();
        stage(stages, 0, &mut lines);
        return Some(lines);
    }
    // FerretDB's, of SQLite: `id=2 parent=0 notused=216 detail=SCAN t`.
    let mut steps = Steps::default();
    for line in planner.get_array("Plan").ok()? {
        let Some((numbers, detail)) = line.as_str().and_then(|line| line.split_once("detail="))
        else {
            continue;
        };
        let number = |key| {
            let mut words = numbers.split_whitespace();
            words.find_map(|word| word.strip_prefix(key)?.parse().ok())
        };
        steps.push(number("id="), number("parent="), detail);
    }
    steps.into_text()
}

/// Return the work in a reply to `explain` that executed the read; None if it is missing.
pub fn work(reply: &Document) -> Option<Amounts> {
    let stages = reply.get_array("stages").into_iter().flatten();
    let cursor = stages.filter_map(Bson::as_document).next();
    let part = cursor.and_then(|stage| stage.get_document("$cursor").ok());
    let stats = part.unwrap_or(reply).get_document(STATS).ok()?;
    let amounts = [
        ("rows_returned", "nReturned"),
        ("rows_read", "totalDocsExamined"),
        ("index_entries_read", "totalKeysExamined"),
    ];
    let amounts = amounts.into_iter().filter_map(|(name, key)| {
        let amount = stats.get(key).and_then(super::number)?;
        Some((name, amount as f64))
    });
    let amounts: Amounts = amounts.collect();
    (!amounts.is_empty()).then_some(amounts)
}

/// Return the planner's part; an aggregation has it in its first stage.
fn planner(reply: &Document) -> Option<&Document> {
    if let Ok(planner) = reply.get_document(PLANNER) {
        return Some(planner);
    }
    let first = reply.get_array("stages").ok()?.first()?.as_document()?;
    let cursor = first.get_document("$cursor").ok()?;
    cursor.get_document(PLANNER).ok()
}

/// Append a line for a stage and each of its inputs.
fn stage(plan: &Document, depth: usize, lines: &mut String) {
    let word = |key| plan.get_str(key).ok();
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines.push_str(&"  ".repeat(depth));
    lines.push_str(word("stage").unwrap_or("?"));
    for name in ["indexName", "direction"].into_iter().filter_map(word) {
        lines.push(' ');
        lines.push_str(name);
    }
    let inputs = plan.get_array("inputStages").into_iter().flatten();
    let inputs = inputs.filter_map(Bson::as_document);
    for input in plan.get_document("inputStage").into_iter().chain(inputs) {
        stage(input, depth + 1, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn work_is_that_of_the_whole_read() {
        // A reply of MongoDB 7.0 has these fields among others.
        let stats = doc! { "executionSuccess": true, "nReturned": 3, "executionTimeMillis": 1,
        "totalKeysExamined": 5_i64, "totalDocsExamined": 4 };
        let expected = Amounts::from([
            ("rows_returned", 3.0),
            ("rows_read", 4.0),
            ("index_entries_read", 5.0),
        ]);
        let plain = doc! { "queryPlanner": {}, "executionStats": stats.clone() };
        assert_eq!(work(&plain), Some(expected.clone()));
        let cursor = doc! { "$cursor": { "executionStats": stats } };
        assert_eq!(
            work(&doc! { "stages": [cursor, { "$group": {} }] }),
            Some(expected)
        );
        assert_eq!(work(&doc! { "queryPlanner": {}, "ok": 1.0 }), None);
    }

    #[test]
    fn stages_are_lines_without_values() {
        let scan = doc! { "stage": "IXSCAN", "indexName": "k_1", "direction": "forward",
        "indexBounds": { "k": ["[7, 7]"] } };
        let winner = doc! { "stage": "FETCH", "inputStage": scan };
        let plan = doc! { "queryPlanner": { "winningPlan": winner.clone() } };
        let expected = Some("FETCH\n  IXSCAN k_1 forward".to_owned());
        assert_eq!(text(&plan), expected);
        let slots = doc! { "queryPlan": winner, "slotBasedPlan": {} };
        let cursor = doc! { "$cursor": { "queryPlanner": { "winningPlan": slots } } };
        assert_eq!(
            text(&doc! { "stages": [cursor, { "$group": {} }] }),
            expected
        );
        let lines = [
            "id=2 parent=0 notused=216 detail=SCAN t",
            "id=7 parent=2 notused=0 detail=LIST SUBQUERY 1",
            "detail=USE B-TREE",
        ];
        let rows = doc! { "queryPlanner": { "Plan": lines.to_vec() } };
        assert_eq!(
            text(&rows).as_deref(),
            Some("SCAN t\n  LIST SUBQUERY 1\nUSE B-TREE")
        );
        assert_eq!(text(&doc! { "ok": 1.0 }), None);
    }
}
