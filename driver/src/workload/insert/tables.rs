//! The tables: how they are made, and what is known of one while it is written.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::job::{Create, Dbms, Partitions, Target};
use crate::wire::{self, Connection, Definitions, Failure, Session};

/// The first Postgres whose partitioned tables can have a primary key.
const PARTITIONS_SINCE: u32 = 110_000;

/// A table with its ends, which move while it is written.
pub struct Table {
    pub name: String,
    /// The next row to insert is this one of the table's sequence of rows.
    next_row: AtomicU64,
    /// Nothing is below this key, except for gaps that are filled later.
    head: AtomicU64,
    /// Above this key there was nothing when the step was prepared.
    end: u64,
    /// Rows that were inserted since.
    inserted: AtomicU64,
}

pub fn name(number: u64) -> String {
    format!("purchases{}", number + 1)
}

impl Table {
    /// Finds the ends of table `number`, into which `inserted` rows were ever inserted.
    pub fn find(connection: &mut dyn Session, number: u64, inserted: u64) -> Result<Self, Failure> {
        let name = name(number);
        let first = least_key(connection, &name, 0)?;
        let last = key(
            connection,
            &format!("SELECT MAX(transactionid) FROM {name}"),
        )?;
        Ok(Self::between(
            name,
            first.unwrap_or(1),
            last.unwrap_or(0),
            inserted,
        ))
    }

    /// With keys from `first` to `last`.
    pub fn between(name: String, first: u64, last: u64, inserted: u64) -> Self {
        Self {
            name,
            next_row: AtomicU64::new(inserted),
            head: AtomicU64::new(first),
            end: last + 1,
            inserted: AtomicU64::new(0),
        }
    }

    /// The table as it is now, for whoever wants to leave it so.
    pub fn copy(&self) -> Self {
        Self {
            name: self.name.clone(),
            next_row: AtomicU64::new(self.next_row.load(Ordering::Relaxed)),
            head: AtomicU64::new(self.head()),
            end: self.end,
            inserted: AtomicU64::new(self.inserted.load(Ordering::Relaxed)),
        }
    }

    /// The first of `count` rows that nobody else inserts.
    pub fn take_rows(&self, count: u64) -> u64 {
        self.next_row.fetch_add(count, Ordering::Relaxed)
    }

    pub fn add_inserted(&self, rows: u64) {
        self.inserted.fetch_add(rows, Ordering::Relaxed);
    }

    pub fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed)
    }

    /// The first of `count` keys that no other deleter takes.
    pub fn take_head(&self, count: u64) -> u64 {
        self.head.fetch_add(count, Ordering::Relaxed)
    }

    /// There is nothing below `key` any more.
    pub fn move_head(&self, key: u64) {
        self.head.fetch_max(key, Ordering::Relaxed);
    }

    /// Behind the last key, if new keys are given without gaps.
    pub fn tail(&self) -> u64 {
        self.end + self.inserted.load(Ordering::Relaxed)
    }
}

/// The least key from `from` on.
pub fn least_key(
    connection: &mut (impl Connection + ?Sized),
    table: &str,
    from: u64,
) -> Result<Option<u64>, Failure> {
    let sql = format!("SELECT MIN(transactionid) FROM {table} WHERE transactionid >= {from}");
    key(connection, &sql)
}

fn key(connection: &mut (impl Connection + ?Sized), sql: &str) -> Result<Option<u64>, Failure> {
    match single(connection, sql)? {
        None => Ok(None),
        Some(key) => key
            .parse()
            .map(Some)
            .map_err(|_| Failure::protocol(format!("{key:?} is no key"))),
    }
}

/// The only value of a result.
fn single(
    connection: &mut (impl Connection + ?Sized),
    sql: &str,
) -> Result<Option<String>, Failure> {
    let mut table = connection.query(sql)?;
    let value = table.rows.pop().and_then(|mut row| row.pop());
    value.ok_or_else(|| Failure::protocol("a value is missing"))
}

/// Drops and creates the tables, empty and without secondary indexes.
pub fn create(job: &Create) -> Result<(), Failure> {
    if job.tables == 0 {
        return Err(Failure::usage("at least one table is needed"));
    }
    if matches!(job.partitions, Some(Partitions { count, rows_each }) if count < 2 || rows_each == 0)
    {
        return Err(Failure::usage(
            "a partitioned table has two partitions at least, and keys in each",
        ));
    }
    let mut connection = wire::connect(&job.target)?;
    if job.partitions.is_some() {
        check_partitions(connection.as_mut(), &job.target)?;
    }
    let definitions = wire::definitions(&job.target)?;
    for number in 0..u64::from(job.tables) {
        let name = name(number);
        for statement in definition(&name, job.target.dbms, &definitions, job.partitions) {
            connection.query(&statement)?;
        }
    }
    Ok(())
}

fn check_partitions(connection: &mut dyn Session, target: &Target) -> Result<(), Failure> {
    if target.dbms != Dbms::Postgres {
        return Ok(());
    }
    let version = single(connection, "SHOW server_version_num")?.unwrap_or_default();
    if version
        .parse()
        .is_ok_and(|version: u32| version >= PARTITIONS_SINCE)
    {
        return Ok(());
    }
    Err(Failure::usage(
        "Postgres has primary keys and indexes of partitioned tables since 11 only",
    ))
}

/// The statements that make a table anew.
fn definition(
    name: &str,
    dbms: Dbms,
    definitions: &Definitions,
    partitions: Option<Partitions>,
) -> Vec<String> {
    let (key, time, price) = match dbms {
        Dbms::Postgres => ("BIGSERIAL", "TIMESTAMP", "REAL"),
        Dbms::Mysql | Dbms::Mariadb => ("BIGINT NOT NULL AUTO_INCREMENT", "DATETIME", "FLOAT"),
    };
    let Definitions {
        index_options,
        table_options,
    } = definitions;
    let table = format!(
        "CREATE TABLE {name} (transactionid {key}, \
         dateandtime {time} NOT NULL, \
         cashregisterid INTEGER NOT NULL, \
         customerid INTEGER NOT NULL, \
         productid INTEGER NOT NULL, \
         price {price} NOT NULL, \
         data VARCHAR(4000) NOT NULL, \
         PRIMARY KEY (transactionid){index_options}){table_options}"
    );
    let mut statements = vec![format!("DROP TABLE IF EXISTS {name}")];
    match (partitions, dbms) {
        (None, _) => statements.push(table),
        (Some(partitions), Dbms::Postgres) => {
            statements.push(format!("{table} PARTITION BY RANGE (transactionid)"));
            statements.extend(postgres_partitions(name, partitions));
        }
        (Some(partitions), Dbms::Mysql | Dbms::Mariadb) => {
            statements.push(table + &mysql_partitions(partitions));
        }
    }
    statements
}

/// The first key of partition `place`; keys begin at 1.
fn first_key(place: u32, partitions: Partitions) -> u64 {
    1 + u64::from(place) * partitions.rows_each
}

/// The last partition takes what comes after the others.
fn end_key(place: u32, partitions: Partitions) -> Option<u64> {
    (place + 1 < partitions.count).then(|| first_key(place + 1, partitions))
}

fn postgres_partitions(name: &str, partitions: Partitions) -> impl Iterator<Item = String> + '_ {
    (0..partitions.count).map(move |place| {
        let from = match place {
            0 => "MINVALUE".to_owned(),
            _ => first_key(place, partitions).to_string(),
        };
        let to = end_key(place, partitions).map_or("MAXVALUE".to_owned(), |key| key.to_string());
        format!(
            "CREATE TABLE {name}_p{place} PARTITION OF {name} FOR VALUES FROM ({from}) TO ({to})"
        )
    })
}

fn mysql_partitions(partitions: Partitions) -> String {
    let parts: Vec<_> = (0..partitions.count)
        .map(|place| match end_key(place, partitions) {
            Some(key) => format!("PARTITION p{place} VALUES LESS THAN ({key})"),
            None => format!("PARTITION p{place} VALUES LESS THAN MAXVALUE"),
        })
        .collect();
    format!(" PARTITION BY RANGE (transactionid) ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITIONS: Partitions = Partitions {
        count: 3,
        rows_each: 1000,
    };

    #[test]
    fn partitions_follow_each_other_and_the_last_has_no_end() {
        let created: Vec<_> = postgres_partitions("t", PARTITIONS).collect();
        assert_eq!(
            created,
            [
                "CREATE TABLE t_p0 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (1001)",
                "CREATE TABLE t_p1 PARTITION OF t FOR VALUES FROM (1001) TO (2001)",
                "CREATE TABLE t_p2 PARTITION OF t FOR VALUES FROM (2001) TO (MAXVALUE)",
            ]
        );
        assert_eq!(
            mysql_partitions(PARTITIONS),
            " PARTITION BY RANGE (transactionid) (PARTITION p0 VALUES LESS THAN (1001), \
             PARTITION p1 VALUES LESS THAN (2001), PARTITION p2 VALUES LESS THAN MAXVALUE)"
        );
    }

    #[test]
    fn the_head_never_goes_back() {
        let table = Table::between("t".into(), 5, 100, 0);
        assert_eq!(table.take_head(10), 5);
        table.move_head(7);
        assert_eq!(table.head(), 15);
        table.move_head(40);
        assert_eq!((table.head(), table.tail()), (40, 101));
    }
}
