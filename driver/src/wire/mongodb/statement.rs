//! The statements of the workloads as commands of MongoDB.
//!
//! Workloads are written in the SQL that every other DBMS takes. It has few forms, and each has one
//! command: rows are documents, and the primary key `id` is `_id`. A value is `Undefined` in the
//! command, in the place of its `?`; values keep their order.

use bson::{doc, Bson, Document};

use super::super::Failure;

/// Return the command of a statement, without the name of its database.
pub fn command(sql: &str) -> Result<Document, Failure> {
    translated(sql)
        .ok_or_else(|| Failure::usage(format!("MongoDB has no command for this statement: {sql}")))
}

/// Return a command as people write it, with `?` for values.
pub fn text(command: &Document) -> String {
    let json = serde_json::to_string(command).expect("documents are JSON");
    json.replace(r#"{"$undefined":true}"#, "?")
}

fn translated(sql: &str) -> Option<Document> {
    let (verb, rest) = sql.split_once(' ')?;
    match verb {
        "SELECT" => select(rest),
        "UPDATE" => update(rest),
        "DELETE" => delete(rest.strip_prefix("FROM ")?),
        "INSERT" => insert(rest.strip_prefix("INTO ")?),
        "CREATE" => create(rest),
        "DROP" => Some(doc! { "drop": rest.strip_prefix("TABLE IF EXISTS ")? }),
        _ => None,
    }
}

fn select(rest: &str) -> Option<Document> {
    if rest == "1" {
        return Some(doc! { "ping": 1 });
    }
    let (columns, rest) = rest.split_once(" FROM ")?;
    let (table, condition) = rest.split_once(" WHERE ")?;
    let (condition, order) = match condition.split_once(" ORDER BY ") {
        None => (condition, None),
        Some((condition, column)) => (condition, Some(column)),
    };
    let filter = filter(condition)?;
    if let Some(column) = columns.strip_prefix("DISTINCT ") {
        return Some(doc! { "distinct": table, "key": field(column), "query": filter });
    }
    if let Some((function, column)) = columns.strip_suffix(')').and_then(|c| c.split_once('(')) {
        let sum = match function.to_ascii_uppercase().as_str() {
            "SUM" => Bson::String(format!("${}", field(column))),
            "COUNT" => Bson::Int32(1),
            _ => return None,
        };
        let group = doc! { "_id": Bson::Null, "result": { "$sum": sum } };
        let pipeline = [doc! { "$match": filter }, doc! { "$group": group }];
        return Some(doc! { "aggregate": table, "pipeline": pipeline.to_vec(), "cursor": {} });
    }
    let mut find = doc! { "find": table, "filter": filter };
    if columns != "*" {
        find.insert("projection", projection(columns));
    }
    if let Some(column) = order {
        find.insert("sort", doc! { field(column): 1 });
    }
    // All documents in one reply, as all rows of SQL are.
    find.insert("batchSize", i32::MAX);
    find.insert("singleBatch", true);
    Some(find)
}

/// A document's key comes unless it is left out.
fn projection(columns: &str) -> Document {
    let mut projection: Document = columns
        .split(", ")
        .map(|column| (field(column).to_owned(), Bson::Int32(1)))
        .collect();
    if !projection.contains_key("_id") {
        projection.insert("_id", 0);
    }
    projection
}

fn update(rest: &str) -> Option<Document> {
    let (table, rest) = rest.split_once(" SET ")?;
    let (assignment, condition) = rest.split_once(" WHERE ")?;
    let (column, value) = assignment.split_once(" = ")?;
    let change = match value.strip_prefix(column) {
        Some(addition) => {
            let added: i32 = addition.strip_prefix(" + ")?.parse().ok()?;
            doc! { "$inc": { field(column): added } }
        }
        None if value == "?" => doc! { "$set": { field(column): Bson::Undefined } },
        None => return None,
    };
    // The change stands before the condition, as its value does in SQL.
    let mut update = doc! { "u": change, "q": filter(condition)? };
    if !is_of_one(condition) {
        update.insert("multi", true);
    }
    Some(doc! { "update": table, "updates": [update] })
}

fn delete(rest: &str) -> Option<Document> {
    let (table, condition) = rest.split_once(" WHERE ")?;
    let limit = i32::from(is_of_one(condition));
    Some(doc! { "delete": table, "deletes": [{ "q": filter(condition)?, "limit": limit }] })
}

fn insert(rest: &str) -> Option<Document> {
    let (target, rows) = rest.split_once(" VALUES ")?;
    let (table, columns) = target.strip_suffix(')')?.split_once(" (")?;
    let keys: Vec<&str> = columns.split(", ").map(field).collect();
    let documents = rows
        .strip_prefix('(')?
        .strip_suffix(')')?
        .split("), (")
        .map(|row| {
            let holes = row.split(", ").filter(|value| *value == "?").count();
            let document = keys.iter().map(|key| ((*key).to_owned(), Bson::Undefined));
            (holes == keys.len()).then(|| document.collect::<Document>())
        })
        .collect::<Option<Vec<_>>>()?;
    Some(doc! { "insert": table, "documents": documents })
}

fn create(rest: &str) -> Option<Document> {
    if let Some(rest) = rest.strip_prefix("TABLE ") {
        let (table, _) = rest.split_once(" (")?;
        return Some(doc! { "create": table });
    }
    let (name, rest) = rest.strip_prefix("INDEX ")?.split_once(" ON ")?;
    let (table, columns) = rest.split_once(" (")?;
    let (columns, _) = columns.split_once(')')?;
    let key: Document = columns
        .split(", ")
        .map(|column| (field(column).to_owned(), Bson::Int32(1)))
        .collect();
    Some(doc! { "createIndexes": table, "indexes": [{ "key": key, "name": name }] })
}

/// Return the condition as a filter. The condition that no row fulfils is one that no index decides.
fn filter(condition: &str) -> Option<Document> {
    if let Some((column, _)) = condition
        .strip_prefix("LENGTH(")
        .and_then(|rest| rest.split_once(") < 0"))
    {
        return Some(doc! { field(column): { "$lt": "" } });
    }
    let (column, test) = condition.split_once(' ')?;
    let test = match test {
        "= ?" => Bson::Undefined,
        "BETWEEN ? AND ?" => {
            Bson::Document(doc! { "$gte": Bson::Undefined, "$lte": Bson::Undefined })
        }
        list => {
            let list = list.strip_prefix("IN (")?.strip_suffix(')')?;
            let holes = list
                .split(", ")
                .map(|value| (value == "?").then_some(Bson::Undefined));
            Bson::Document(doc! { "$in": holes.collect::<Option<Vec<_>>>()? })
        }
    };
    Some(doc! { field(column): test })
}

/// Return whether a condition is fulfilled by one document at most.
fn is_of_one(condition: &str) -> bool {
    condition == "id = ?"
}

fn field(column: &str) -> &str {
    match column {
        "id" => "_id",
        column => column,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_statement_has_its_command() {
        let all = r#","batchSize":2147483647,"singleBatch":true}"#;
        for (sql, expected) in [
            ("SELECT 1", r#"{"ping":1}"#.to_owned()),
            (
                "SELECT c FROM t WHERE id = ?",
                format!(r#"{{"find":"t","filter":{{"_id":?}},"projection":{{"c":1,"_id":0}}{all}"#),
            ),
            (
                "SELECT id, c FROM t WHERE k IN (?, ?)",
                format!(
                    r#"{{"find":"t","filter":{{"k":{{"$in":[?,?]}}}},"projection":{{"_id":1,"c":1}}{all}"#
                ),
            ),
            (
                "SELECT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c",
                format!(
                    r#"{{"find":"t","filter":{{"_id":{{"$gte":?,"$lte":?}}}},"projection":{{"c":1,"_id":0}},"sort":{{"c":1}}{all}"#
                ),
            ),
            (
                "SELECT DISTINCT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c",
                r#"{"distinct":"t","key":"c","query":{"_id":{"$gte":?,"$lte":?}}}"#.to_owned(),
            ),
            (
                "SELECT SUM(k) FROM t WHERE id BETWEEN ? AND ?",
                r#"{"aggregate":"t","pipeline":[{"$match":{"_id":{"$gte":?,"$lte":?}}},{"$group":{"_id":null,"result":{"$sum":"$k"}}}],"cursor":{}}"#.to_owned(),
            ),
            (
                "SELECT * FROM t WHERE LENGTH(c) < 0",
                format!(r#"{{"find":"t","filter":{{"c":{{"$lt":""}}}}{all}"#),
            ),
            (
                "UPDATE t SET k = k + 1 WHERE id = ?",
                r#"{"update":"t","updates":[{"u":{"$inc":{"k":1}},"q":{"_id":?}}]}"#.to_owned(),
            ),
            (
                "UPDATE t SET c = ? WHERE id IN (?, ?)",
                r#"{"update":"t","updates":[{"u":{"$set":{"c":?}},"q":{"_id":{"$in":[?,?]}},"multi":true}]}"#.to_owned(),
            ),
            (
                "DELETE FROM t WHERE id = ?",
                r#"{"delete":"t","deletes":[{"q":{"_id":?},"limit":1}]}"#.to_owned(),
            ),
            (
                "INSERT INTO t (id, k) VALUES (?, ?), (?, ?)",
                r#"{"insert":"t","documents":[{"_id":?,"k":?},{"_id":?,"k":?}]}"#.to_owned(),
            ),
            ("DROP TABLE IF EXISTS t", r#"{"drop":"t"}"#.to_owned()),
            ("CREATE TABLE t (id INTEGER, PRIMARY KEY (id))", r#"{"create":"t"}"#.to_owned()),
            (
                "CREATE INDEX k_1 ON t (k)",
                r#"{"createIndexes":"t","indexes":[{"key":{"k":1},"name":"k_1"}]}"#.to_owned(),
            ),
        ] {
            assert_eq!(text(&command(sql).unwrap()), expected, "{sql}");
        }
    }

    #[test]
    fn what_has_no_command_is_refused() {
        for sql in [
            "BEGIN",
            "SELECT c FROM t",
            "SELECT MAX(k) FROM t WHERE id = ?",
            "SELECT c FROM t WHERE id > ?",
            "UPDATE t SET c = d WHERE id = ?",
            "INSERT INTO t (id) VALUES (1)",
        ] {
            assert!(matches!(command(sql), Err(Failure::Usage(_))), "{sql}");
        }
    }
}
