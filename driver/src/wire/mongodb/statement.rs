//! The workloads' statements as MongoDB commands.
//!
//! Workloads are written in the SQL that every other DBMS accepts. It has few forms, and each has one
//! command: rows are documents, and the primary key, `id` or `transactionid`, is `_id`. A hole
//! (`Kind::hole`) replaces each `?` in the command; values keep their order.

use bson::{doc, Bson, Document};

use super::super::Failure;
use super::command::{object_id, Kind};
use crate::protocol::target::Names;

/// More documents than a statement of the workloads returns. FerretDB reserves memory for all.
const BATCH_SIZE: i32 = 20_000;
const SHORT_NAMES: [(&str, &str); 6] = [
    ("dateandtime", "dt"),
    ("cashregisterid", "cr"),
    ("customerid", "cu"),
    ("productid", "pr"),
    ("price", "pc"),
    ("data", "da"),
];

/// Return the command of a statement, without the name of its database.
pub fn command(sql: &str, names: Names) -> Result<Document, Failure> {
    Translator { names }
        .command(sql)
        .ok_or_else(|| Failure::usage(format!("MongoDB has no command for this statement: {sql}")))
}

/// Return the command; a write waits until it is in the journal on disk.
pub fn journaled(mut command: Document) -> Document {
    let writes = ["insert", "update", "delete"];
    if writes.iter().any(|verb| command.contains_key(verb)) {
        command.insert("writeConcern", doc! { "w": 1, "j": true });
    }
    command
}

/// Return a command for display, with `?` for values.
pub fn text(command: &Document) -> String {
    let json = serde_json::to_string(command).expect("documents are JSON");
    json.replace(r#"{"$undefined":true}"#, "?")
        .replace(r#"{"$minKey":1}"#, "?")
}

/// Return the name of a column's field.
pub fn field(column: &str, names: Names) -> &str {
    if kind(column) == Kind::Key {
        return "_id";
    }
    let short = SHORT_NAMES.iter().find(|(long, _)| *long == column);
    match (names, short) {
        (Names::Short, Some((_, short))) => short,
        _ => column,
    }
}

/// Return the kind of a column's values.
pub fn kind(column: &str) -> Kind {
    match column {
        "id" | "transactionid" => Kind::Key,
        _ => Kind::Other,
    }
}

struct Translator {
    names: Names,
}

impl Translator {
    fn command(&self, sql: &str) -> Option<Document> {
        let (verb, rest) = sql.split_once(' ')?;
        match verb {
            "SELECT" => self.select(rest),
            "UPDATE" => self.update(rest),
            "DELETE" => self.delete(rest.strip_prefix("FROM ")?),
            "INSERT" => self.insert(rest.strip_prefix("INTO ")?),
            "CREATE" => self.create(rest),
            "DROP" => Some(doc! { "drop": rest.strip_prefix("TABLE IF EXISTS ")? }),
            _ => None,
        }
    }

    fn select(&self, rest: &str) -> Option<Document> {
        if rest == "1" {
            return Some(doc! { "ping": 1 });
        }
        let (columns, rest) = rest.split_once(" FROM ")?;
        let (rest, limit) = split_off(rest, " LIMIT ");
        let (rest, order) = split_off(rest, " ORDER BY ");
        let (table, condition) = split_off(rest, " WHERE ");
        let filter = condition.map_or_else(|| Some(Document::new()), |test| self.filter(test))?;
        if let Some(column) = columns.strip_prefix("DISTINCT ") {
            return Some(doc! { "distinct": table, "key": self.field(column), "query": filter });
        }
        if let Some(call) = columns.strip_suffix(')') {
            return self.aggregate(table, call.split_once('(')?, filter);
        }
        let mut find = doc! { "find": table, "filter": filter };
        if columns != "*" {
            find.insert("projection", self.projection(columns));
        }
        if let Some(columns) = order {
            find.insert("sort", self.order(columns));
        }
        if let Some(limit) = limit {
            find.insert("limit", limit.parse::<i32>().ok()?);
        } else if !condition.is_some_and(is_of_one) {
            // All documents in one reply, like all rows in SQL.
            find.insert("batchSize", BATCH_SIZE);
        }
        Some(find)
    }

    fn aggregate(
        &self,
        table: &str,
        (function, column): (&str, &str),
        filter: Document,
    ) -> Option<Document> {
        let sum = match function.to_ascii_uppercase().as_str() {
            "SUM" => Bson::String(format!("${}", self.field(column))),
            "COUNT" => Bson::Int32(1),
            _ => return None,
        };
        let group = doc! { "_id": Bson::Null, "result": { "$sum": sum } };
        let pipeline = [doc! { "$match": filter }, doc! { "$group": group }];
        Some(doc! { "aggregate": table, "pipeline": pipeline.to_vec(), "cursor": {} })
    }

    /// A document's key is returned unless it is excluded.
    fn projection(&self, columns: &str) -> Document {
        let mut projection = self.order(columns);
        if !projection.contains_key("_id") {
            projection.insert("_id", 0);
        }
        projection
    }

    /// Return the fields of columns with 1, or -1 for descending order.
    fn order(&self, columns: &str) -> Document {
        let field = |column: &str| match column.strip_suffix(" DESC") {
            Some(column) => (self.field(column).to_owned(), Bson::Int32(-1)),
            None => (self.field(column).to_owned(), Bson::Int32(1)),
        };
        columns.split(", ").map(field).collect()
    }

    fn update(&self, rest: &str) -> Option<Document> {
        let (table, rest) = rest.split_once(" SET ")?;
        let (assignment, condition) = rest.split_once(" WHERE ")?;
        let (column, value) = assignment.split_once(" = ")?;
        let change = match value.strip_prefix(column) {
            Some(addition) => {
                let added: i32 = addition.strip_prefix(" + ")?.parse().ok()?;
                doc! { "$inc": { self.field(column): added } }
            }
            None if value == "?" => doc! { "$set": { self.field(column): kind(column).hole() } },
            None => return None,
        };
        // The change precedes the condition, as its value does in SQL.
        let mut update = doc! { "u": change, "q": self.filter(condition)? };
        if !is_of_one(condition) {
            update.insert("multi", true);
        }
        Some(doc! { "update": table, "updates": [update] })
    }

    fn delete(&self, rest: &str) -> Option<Document> {
        let (table, condition) = rest.split_once(" WHERE ")?;
        let limit = i32::from(is_of_one(condition));
        Some(
            doc! { "delete": table, "deletes": [{ "q": self.filter(condition)?, "limit": limit }] },
        )
    }

    fn insert(&self, rest: &str) -> Option<Document> {
        let (target, rows) = rest.split_once(" VALUES ")?;
        let (table, columns) = target.strip_suffix(')')?.split_once(" (")?;
        let columns: Vec<&str> = columns.split(", ").collect();
        let hole = |column: &&str| (self.field(column).to_owned(), kind(column).hole());
        let documents = rows
            .strip_prefix('(')?
            .strip_suffix(')')?
            .split("), (")
            .map(|row| {
                let holes = row.split(", ").filter(|value| *value == "?").count();
                (holes == columns.len()).then(|| columns.iter().map(hole).collect::<Document>())
            })
            .collect::<Option<Vec<_>>>()?;
        Some(doc! { "insert": table, "documents": documents })
    }

    fn create(&self, rest: &str) -> Option<Document> {
        if let Some(rest) = rest.strip_prefix("TABLE ") {
            let (table, _) = rest.split_once(" (")?;
            return Some(doc! { "create": table });
        }
        let (name, rest) = rest.strip_prefix("INDEX ")?.split_once(" ON ")?;
        let (table, columns) = rest.split_once(" (")?;
        let (columns, _) = columns.split_once(')')?;
        let key = self.order(columns);
        Some(doc! { "createIndexes": table, "indexes": [{ "key": key, "name": name }] })
    }

    /// Return the condition as a filter.
    fn filter(&self, condition: &str) -> Option<Document> {
        // A condition that no row fulfils and no index can decide.
        let impossible = condition.strip_prefix("LENGTH(");
        if let Some((column, _)) = impossible.and_then(|rest| rest.split_once(") < 0")) {
            return Some(doc! { self.field(column): { "$lt": "" } });
        }
        if let Some(column) = condition.strip_suffix(" BETWEEN ? AND ?") {
            let hole = kind(column).hole();
            return Some(doc! { self.field(column): { "$gte": hole.clone(), "$lte": hole } });
        }
        if let Some((column, list)) = condition.split_once(" IN (") {
            let holes = list.strip_suffix(')')?.split(", ");
            let values = holes.map(|value| self.value(column, value));
            let values = values.collect::<Option<Vec<_>>>()?;
            return Some(doc! { self.field(column): { "$in": values } });
        }
        if let Some(column) = condition.strip_suffix(" = ?") {
            return Some(doc! { self.field(column): kind(column).hole() });
        }
        self.range(condition)
    }

    /// Return a condition of one or two ends of a range: `a >= ? AND a < ?`.
    fn range(&self, condition: &str) -> Option<Document> {
        let mut filter = Document::new();
        for test in condition.split(" AND ") {
            let [column, operator, value] = test.split(' ').collect::<Vec<_>>().try_into().ok()?;
            let operator = match operator {
                ">=" => "$gte",
                "<" => "$lt",
                _ => return None,
            };
            let ends = filter.entry(self.field(column).to_owned());
            let ends = ends.or_insert_with(|| Bson::Document(Document::new()));
            ends.as_document_mut()?
                .insert(operator, self.value(column, value)?);
        }
        Some(filter)
    }

    /// Return the hole for a `?`, or the key for a number.
    fn value(&self, column: &str, value: &str) -> Option<Bson> {
        match (value, kind(column)) {
            ("?", kind) => Some(kind.hole()),
            (number, Kind::Key) => number.parse().ok().map(object_id).map(Bson::ObjectId),
            _ => None,
        }
    }

    fn field<'a>(&self, column: &'a str) -> &'a str {
        field(column, self.names)
    }
}

/// Split at the last `separator`.
fn split_off<'a>(text: &'a str, separator: &str) -> (&'a str, Option<&'a str>) {
    match text.rsplit_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Return whether at most one document can fulfil a condition.
fn is_of_one(condition: &str) -> bool {
    let column = condition.strip_suffix(" = ?");
    column.is_some_and(|column| kind(column) == Kind::Key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_statement_has_its_command() {
        let all = r#","batchSize":20000}"#;
        for (sql, expected) in [
            ("SELECT 1", r#"{"ping":1}"#.to_owned()),
            (
                "SELECT c FROM t WHERE id = ?",
                r#"{"find":"t","filter":{"_id":?},"projection":{"c":1,"_id":0}}"#.to_owned(),
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
            (
                "DELETE FROM t WHERE transactionid >= ? AND transactionid < ?",
                r#"{"delete":"t","deletes":[{"q":{"_id":{"$gte":?,"$lt":?}},"limit":0}]}"#.to_owned(),
            ),
            (
                "SELECT price, data FROM t WHERE price >= ? ORDER BY price, data LIMIT 10",
                r#"{"find":"t","filter":{"price":{"$gte":?}},"projection":{"price":1,"data":1,"_id":0},"sort":{"price":1,"data":1},"limit":10}"#.to_owned(),
            ),
            (
                "SELECT transactionid FROM t ORDER BY transactionid DESC LIMIT 1",
                r#"{"find":"t","filter":{},"projection":{"_id":1},"sort":{"_id":-1},"limit":1}"#.to_owned(),
            ),
            ("DROP TABLE IF EXISTS t", r#"{"drop":"t"}"#.to_owned()),
            ("CREATE TABLE t (id INTEGER, PRIMARY KEY (id))", r#"{"create":"t"}"#.to_owned()),
            (
                "CREATE INDEX k_1 ON t (k)",
                r#"{"createIndexes":"t","indexes":[{"key":{"k":1},"name":"k_1"}]}"#.to_owned(),
            ),
        ] {
            let command = command(sql, Names::Long).unwrap();
            assert_eq!(text(&command), expected, "{sql}");
        }
    }

    #[test]
    fn what_has_no_command_is_refused() {
        for sql in [
            "BEGIN",
            "SELECT MAX(k) FROM t WHERE id = ?",
            "SELECT c FROM t WHERE id > ?",
            "SELECT c FROM t WHERE c >= 7",
            "UPDATE t SET c = d WHERE id = ?",
            "INSERT INTO t (id) VALUES (1)",
        ] {
            let refused = command(sql, Names::Long);
            assert!(matches!(refused, Err(Failure::Usage(_))), "{sql}");
        }
    }

    #[test]
    fn writes_alone_wait_for_the_journal() {
        let text_of = |sql| text(&journaled(command(sql, Names::Long).unwrap()));
        let deleted = text_of("DELETE FROM t WHERE id = ?");
        assert!(
            deleted.ends_with(r#","writeConcern":{"w":1,"j":true}}"#),
            "{deleted}"
        );
        assert_eq!(text_of("SELECT 1"), r#"{"ping":1}"#);
    }

    #[test]
    fn keys_are_object_ids_of_their_numbers() {
        let sql = "SELECT transactionid FROM t WHERE transactionid >= 258 LIMIT 1";
        let command = command(sql, Names::Long).unwrap();
        let filter = r#""filter":{"_id":{"$gte":{"$oid":"000000000000000000000102"}}}"#;
        assert!(text(&command).contains(filter), "{command}");
    }

    #[test]
    fn documents_have_short_names_where_they_are_asked_for() {
        let sql = "INSERT INTO t (transactionid, dateandtime, price) VALUES (?, ?, ?)";
        let command = command(sql, Names::Short).unwrap();
        let expected = r#"{"insert":"t","documents":[{"_id":?,"dt":?,"pc":?}]}"#;
        assert_eq!(text(&command), expected);
    }
}
