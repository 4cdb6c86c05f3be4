//! The exact work of an execution, as counted by the session's status.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::super::{Amounts, Connection as _, Failure, Reply, Request, TextQueries as _};
use super::{MysqlConnection, Statement};

const HANDLER_READS: [&str; 7] = [
    "Handler_read_first",
    "Handler_read_key",
    "Handler_read_last",
    "Handler_read_next",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Handler_read_rnd_next",
];
const HANDLER_WRITES: [&str; 3] = ["Handler_write", "Handler_update", "Handler_delete"];
const SEARCHES: &str = "Handler_read_key";
const MERGE_PASSES: &str = "Sort_merge_passes";
const TABLES_ON_DISK: &str = "Created_tmp_disk_tables";
/// A counter of the whole server: all sessions and background threads.
const PAGE_REQUESTS: &str = "Innodb_buffer_pool_read_requests";
const PAGE_READS: &str = "Innodb_buffer_pool_reads";
const PAGE_WRITES: &str = "Innodb_buffer_pool_write_requests";

/// The longest execution that is repeated to check that nothing else requests pages.
const REPEATED: Duration = Duration::from_secs(1);
/// Largest relative difference of two executions if nothing else requested pages.
const ALIKE: f64 = 0.01;

/// The schemas, the connection's first.
const SCHEMAS: &str = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA \
    ORDER BY SCHEMA_NAME = DATABASE() DESC";
/// The tables of a schema that cannot roll back.
const LASTING: &str = "SELECT t.TABLE_NAME FROM information_schema.TABLES t \
    JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
    WHERE e.TRANSACTIONS = 'NO' AND t.TABLE_SCHEMA = ";
/// Views and triggers, which statements on a schema's tables may execute.
const DEFINITIONS: [&str; 2] = [
    "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ",
    "SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = ",
];

type Status = BTreeMap<&'static str, f64>;

/// Return whether all tables of the connection's schema, and of others that the statements name, can
/// roll back; false if one of their views or triggers is hidden, or names yet another schema.
pub fn rolls_back(
    connection: &mut MysqlConnection,
    statements: &[String],
) -> Result<bool, Failure> {
    let all: Vec<String> = first_column(connection, SCHEMAS)?
        .into_iter()
        .flatten()
        .collect();
    let is_named = |name: &String| statements.iter().any(|sql| names(sql, name));
    let is_used = |(place, name): &(usize, &String)| *place == 0 || is_named(name);
    let (used, others): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(is_used);
    for (_, schema) in used {
        let literal = format!("'{}'", schema.replace('\\', "\\\\").replace('\'', "''"));
        if !first_column(connection, &format!("{LASTING}{literal}"))?.is_empty() {
            return Ok(false);
        }
        for query in DEFINITIONS {
            let definitions = first_column(connection, &format!("{query}{literal}"))?;
            let stays = |text: &String| !others.iter().any(|(_, other)| names(text, other));
            let is_known = |text: &Option<String>| {
                text.as_ref()
                    .is_some_and(|text| !text.is_empty() && stays(text))
            };
            if !definitions.iter().all(is_known) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn first_column(
    connection: &mut MysqlConnection,
    sql: &str,
) -> Result<Vec<Option<String>>, Failure> {
    let rows = connection.query(sql)?.rows.into_iter();
    Ok(rows.filter_map(|row| row.into_iter().next()).collect())
}

/// Return whether a text may name a schema: it has the name as a whole word, or as a substring if the
/// name has characters that are not part of words.
fn names(text: &str, schema: &str) -> bool {
    let is_other = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$';
    let (text, schema) = (text.to_lowercase(), schema.to_lowercase());
    match schema.contains(is_other) {
        true => text.contains(&schema),
        false => text.split(is_other).any(|word| word == schema),
    }
}

/// Facts about its server that a connection collects before it counts.
pub struct Look {
    /// The increase of the status caused by reading it.
    cost: Status,
    /// Whether the server counts a request for every eight rows of a page, as MySQL 5.6 does.
    requests_by_rows: bool,
}

/// Execute the request, and return its work. A read is executed twice: page requests count if both
/// executions agree. A write cannot be repeated: its written pages are known if nothing else writes
/// right after it.
pub fn count(connection: &mut MysqlConnection, request: Request<'_>) -> Result<Amounts, Failure> {
    let look = match connection.look.take() {
        Some(look) => look,
        None => first_look(connection)?,
    };
    let amounts = count_with(connection, request, &look);
    connection.look = Some(look);
    amounts
}

fn first_look(connection: &mut MysqlConnection) -> Result<Look, Failure> {
    let before = status(connection)?;
    let after = status(connection)?;
    let is_old = connection.query("SELECT VERSION() LIKE '5.%'")?;
    Ok(Look {
        cost: difference(&after, &before),
        requests_by_rows: is_old.into_value()?.as_deref() == Some("1"),
    })
}

fn count_with(
    connection: &mut MysqlConnection,
    request: Request<'_>,
    look: &Look,
) -> Result<Amounts, Failure> {
    let begun = Instant::now();
    let before = status(connection)?;
    let reply = execute(connection, request)?;
    let after = status(connection)?;
    let counted = difference(&difference(&after, &before), &look.cost);
    let mut amounts = amounts(&counted, &reply);
    if writes(connection, request) {
        let written = HANDLER_WRITES.iter().filter_map(|name| counted.get(name));
        amounts.insert("rows_written", written.sum());
        amounts.remove("rows_returned");
        let meanwhile = difference(&difference(&status(connection)?, &after), &look.cost);
        if meanwhile.get(PAGE_WRITES) == Some(&0.0) {
            let written = counted.get(PAGE_WRITES).copied();
            amounts.extend(written.map(|written| ("page_writes", written)));
        }
    } else if begun.elapsed() < REPEATED {
        execute(connection, request)?;
        let again = difference(&difference(&status(connection)?, &after), &look.cost);
        add_pages(look, &counted, &again, &mut amounts);
    }
    Ok(amounts)
}

/// Add the pages requested by two executions, if nothing else requested pages meanwhile.
fn add_pages(look: &Look, first: &Status, second: &Status, amounts: &mut Amounts) {
    let requests = [first, second].map(|status| status.get(PAGE_REQUESTS).copied());
    let [Some(first), Some(again)] = requests else {
        return;
    };
    // MariaDB 11.8 counts some of them later.
    if first.min(again) > 0.0 && (first - again).abs() <= ALIKE * first.max(again) {
        let requested = first.min(again);
        if look.requests_by_rows {
            amounts.insert("pages_at_most", requested);
            return;
        }
        let read = second.get(PAGE_READS).copied().unwrap_or_default();
        amounts.insert("pages_read", read);
        amounts.insert("pages_hit", (requested - read).max(0.0));
    }
}

fn writes(connection: &MysqlConnection, request: Request<'_>) -> bool {
    let sql = match request {
        Request::Text(sql) => sql,
        Request::Prepared { statement, .. } => match &connection.statements[statement] {
            Statement::Prepared { source, .. } => source,
            Statement::Text(sql) => sql,
        },
    };
    let mut words = sql.split_ascii_whitespace();
    let is_verb = |word: &str, verbs: &[&str]| verbs.iter().any(|v| word.eq_ignore_ascii_case(v));
    match words.next() {
        Some(word) if is_verb(word, &["WITH"]) => {
            words.any(|word| is_verb(word, &["UPDATE", "DELETE"]))
        }
        Some(word) => !is_verb(word, &["SELECT"]),
        None => false,
    }
}

fn execute(connection: &mut MysqlConnection, request: Request<'_>) -> Result<Reply, Failure> {
    connection.send(request)?;
    connection.converse(|_| Ok(()))
}

fn difference(after: &Status, before: &Status) -> Status {
    after
        .iter()
        .filter_map(|(&name, after)| Some((name, (after - before.get(name)?).max(0.0))))
        .collect()
}

fn status(connection: &mut MysqlConnection) -> Result<Status, Failure> {
    let names = || {
        let others = [
            MERGE_PASSES,
            TABLES_ON_DISK,
            PAGE_REQUESTS,
            PAGE_READS,
            PAGE_WRITES,
        ];
        HANDLER_READS
            .into_iter()
            .chain(HANDLER_WRITES)
            .chain(others)
    };
    let quoted: Vec<_> = names().map(|name| format!("'{name}'")).collect();
    let table = connection.query(&format!(
        "SHOW SESSION STATUS WHERE Variable_name IN ({})",
        quoted.join(", ")
    ))?;
    let rows = table.rows.into_iter().filter_map(|row| {
        let [name, value] = <[_; 2]>::try_from(row).ok()?;
        let name = name?;
        let known = names().find(|known| *known == name)?;
        Some((known, value?.parse().ok()?))
    });
    Ok(rows.collect())
}

fn amounts(status: &Status, reply: &Reply) -> Amounts {
    let sum = |names: &[&str]| names.iter().filter_map(|name| status.get(*name)).sum();
    Amounts::from([
        ("rows_returned", reply.rows as f64),
        ("rows_read", sum(&HANDLER_READS)),
        ("index_searches", sum(&[SEARCHES])),
        ("sorts_spilled", sum(&[MERGE_PASSES])),
        ("temp_tables_on_disk", sum(&[TABLES_ON_DISK])),
    ])
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn schemas_are_named_by_whole_words() {
        for (sql, schema, expected) in [
            ("DELETE FROM logs.t", "logs", true),
            ("DELETE FROM `Logs` . `t`", "logs", true),
            ("SELECT catalogs.a FROM t", "logs", false),
            ("UPDATE `my-logs`.t SET a = 1", "my-logs", true),
            ("UPDATE t SET my_logs = 1", "my-logs", false),
        ] {
            assert_eq!(names(sql, schema), expected, "{sql}");
        }
    }
}
