//! The exact work of an execution, as the session's status counts it.

use std::collections::HashMap;
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
/// The server's own, of all sessions and of its threads.
const PAGE_REQUESTS: &str = "Innodb_buffer_pool_read_requests";
const PAGE_READS: &str = "Innodb_buffer_pool_reads";

/// The longest execution that is repeated to see whether nothing else requests pages.
const REPEATED: Duration = Duration::from_secs(1);
/// Relative difference of two executions up to which nothing else requested pages.
const ALIKE: f64 = 0.01;

/// Whether all tables of the database can roll back.
const LASTING: &str = "SELECT count(*) FROM information_schema.TABLES t \
    JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
    WHERE t.TABLE_SCHEMA = DATABASE() AND e.TRANSACTIONS = 'NO'";

type Status = HashMap<String, f64>;

pub fn rolls_back(connection: &mut MysqlConnection) -> Result<bool, Failure> {
    let lasting = connection.query(LASTING)?.into_value()?;
    Ok(lasting.as_deref() == Some("0"))
}

/// Execute the request, and return its work. A read is executed twice: the pages that both requested
/// alike are its own.
pub fn count(connection: &mut MysqlConnection, request: Request<'_>) -> Result<Amounts, Failure> {
    let begun = Instant::now();
    let (reply, status) = execute(connection, request)?;
    if writes(connection, request) {
        let mut amounts = amounts(&status, &reply);
        let written = HANDLER_WRITES.iter().filter_map(|name| status.get(*name));
        amounts.insert("rows_written", written.sum());
        amounts.remove("rows_returned");
        return Ok(amounts);
    }
    if begun.elapsed() > REPEATED {
        return Ok(amounts(&status, &reply));
    }
    let (reply, again) = execute(connection, request)?;
    let mut amounts = amounts(&again, &reply);
    if let (Some(first), Some(second), false) = (
        status.get(PAGE_REQUESTS),
        again.get(PAGE_REQUESTS),
        requests_by_rows(connection)?,
    ) {
        if (first - second).abs() <= ALIKE * first.max(*second) {
            let read = again.get(PAGE_READS).copied().unwrap_or_default();
            let requested = first.min(*second);
            amounts.insert("pages_read", read);
            amounts.insert("pages_hit", (requested - read).max(0.0));
        }
    }
    Ok(amounts)
}

/// Return whether the server counts a request for every eight rows of a page, as MySQL 5.6 does.
fn requests_by_rows(connection: &mut MysqlConnection) -> Result<bool, Failure> {
    let answer = connection.query("SELECT VERSION() LIKE '5.%'")?;
    Ok(answer.into_value()?.as_deref() == Some("1"))
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

/// Return the reply, and what the execution has added to the status.
fn execute(
    connection: &mut MysqlConnection,
    request: Request<'_>,
) -> Result<(Reply, Status), Failure> {
    let idle = status(connection)?;
    let before = status(connection)?;
    connection.send(request)?;
    let reply = connection.converse(|_| Ok(()))?;
    let after = status(connection)?;
    // What a look at the status adds to it is the difference of two looks.
    let added = |name: &String| Some(after.get(name)? - 2.0 * before.get(name)? + idle.get(name)?);
    let added = after
        .keys()
        .filter_map(|name| Some((name.clone(), added(name)?.max(0.0))))
        .collect();
    Ok((reply, added))
}

fn status(connection: &mut MysqlConnection) -> Result<Status, Failure> {
    let names = HANDLER_READS
        .iter()
        .chain(&HANDLER_WRITES)
        .chain(&[MERGE_PASSES, TABLES_ON_DISK, PAGE_REQUESTS, PAGE_READS])
        .map(|name| format!("'{name}'"));
    let names = names.collect::<Vec<_>>().join(", ");
    let table = connection.query(&format!(
        "SHOW SESSION STATUS WHERE Variable_name IN ({names})"
    ))?;
    let rows = table.rows.into_iter().filter_map(|row| {
        let [name, value] = <[_; 2]>::try_from(row).ok()?;
        Some((name?, value?.parse().ok()?))
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
