//! The definition of the tables, and the ends of a table during writes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::job::{Create, Partitions};
use crate::wire::dialect::{ColumnTypes, Definitions, Ranges};
use crate::wire::{self, Failure, TextQueries};

/// A table with its ends, which move during writes.
pub struct Table {
    pub name: String,
    /// The index of the next row to insert in the table's sequence of rows.
    next_row: AtomicU64,
    /// The key below which there are no rows, except in gaps that are filled later.
    head: AtomicU64,
    /// The key above which there were no rows when the step was prepared.
    end: u64,
    /// Rows inserted since.
    inserted: AtomicU64,
}

pub fn name(number: u64) -> String {
    format!("purchases{}", number + 1)
}

impl Table {
    /// Find the ends of table `number`, into which `inserted` rows have been inserted so far.
    pub fn find(
        connection: &mut dyn TextQueries,
        number: u64,
        inserted: u64,
    ) -> Result<Self, Failure> {
        let name = name(number);
        let first = least_key(connection, &name, 0)?;
        let last = format!("SELECT transactionid FROM {name} ORDER BY transactionid DESC LIMIT 1");
        let (first, last) = (first.unwrap_or(1), key(connection, &last)?.unwrap_or(0));
        Ok(Self::between(name, first, last, inserted))
    }

    /// Return a table with keys from `first` to `last`.
    pub fn between(name: String, first: u64, last: u64, inserted: u64) -> Self {
        Self {
            name,
            next_row: AtomicU64::new(inserted),
            head: AtomicU64::new(first),
            end: last + 1,
            inserted: AtomicU64::new(0),
        }
    }

    /// Return a copy whose ends move independently.
    pub fn copy(&self) -> Self {
        Self {
            name: self.name.clone(),
            next_row: AtomicU64::new(self.next_row.load(Ordering::Relaxed)),
            head: AtomicU64::new(self.head()),
            end: self.end,
            inserted: AtomicU64::new(self.inserted.load(Ordering::Relaxed)),
        }
    }

    /// Reserve `count` rows for an inserter; return the first of them.
    pub fn take_rows(&self, count: u64) -> u64 {
        self.next_row.fetch_add(count, Ordering::Relaxed)
    }

    pub fn add_inserted(&self, rows: u64) {
        self.inserted.fetch_add(rows, Ordering::Relaxed);
    }

    pub fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed)
    }

    /// Reserve `count` keys for a deleter; return the first of them.
    pub fn take_head(&self, count: u64) -> u64 {
        self.head.fetch_add(count, Ordering::Relaxed)
    }

    /// Advance the head to `key`; there are no more rows below it.
    pub fn move_head(&self, key: u64) {
        self.head.fetch_max(key, Ordering::Relaxed);
    }

    /// Return the key after the last one, if new keys have no gaps.
    pub fn tail(&self) -> u64 {
        self.end + self.inserted.load(Ordering::Relaxed)
    }
}

/// Return the least key that is at least `from`.
pub fn least_key(
    connection: &mut dyn TextQueries,
    table: &str,
    from: u64,
) -> Result<Option<u64>, Failure> {
    let sql = format!(
        "SELECT transactionid FROM {table} WHERE transactionid >= {from} \
         ORDER BY transactionid LIMIT 1"
    );
    key(connection, &sql)
}

fn key(connection: &mut dyn TextQueries, sql: &str) -> Result<Option<u64>, Failure> {
    let table = connection.query(sql)?;
    if table.rows.is_empty() {
        return Ok(None);
    }
    let key = table.into_value()?.unwrap_or_default();
    let number = key.parse().map(Some);
    number.map_err(|_| Failure::protocol(format!("{key:?} is not a key")))
}

/// Drop and create the tables, empty and without secondary indexes.
pub fn create(job: &Create) -> Result<(), Failure> {
    if job.tables == 0 {
        return Err(Failure::usage("at least one table is needed"));
    }
    if matches!(job.partitions, Some(Partitions { count, rows_each }) if count < 2 || rows_each == 0)
    {
        return Err(Failure::usage(
            "a partitioned table needs at least two partitions, and keys in each",
        ));
    }
    let dialect = wire::dialect(&job.target)?;
    let mut connection = wire::connect(&job.target)?;
    if job.partitions.is_some() {
        dialect.check_partitioning(connection.as_mut())?;
    }
    let Definitions {
        index_options,
        table_options,
    } = dialect.definitions(job.target.engine.as_deref())?;
    let ColumnTypes {
        generated_key,
        date_time,
        real,
    } = dialect.column_types();
    for number in 0..u64::from(job.tables) {
        let name = name(number);
        connection.query(&format!("DROP TABLE IF EXISTS {name}"))?;
        let table = format!(
            "CREATE TABLE {name} (transactionid {generated_key}, \
             dateandtime {date_time} NOT NULL, \
             cashregisterid INTEGER NOT NULL, \
             customerid INTEGER NOT NULL, \
             productid INTEGER NOT NULL, \
             price {real} NOT NULL, \
             data VARCHAR(4000) NOT NULL, \
             PRIMARY KEY (transactionid){index_options}){table_options}"
        );
        let statements = match job.partitions {
            None => vec![table],
            Some(partitions) => dialect.create_partitioned(&table, &ranges(&name, partitions)),
        };
        for statement in statements {
            connection.query(&statement)?;
        }
    }
    Ok(())
}

/// Return the ranges of keys of the partitions. Keys begin at 1, and the last partition takes all
/// larger keys.
fn ranges(table: &str, partitions: Partitions) -> Ranges<'_> {
    let start = |place| 1 + u64::from(place) * partitions.rows_each;
    Ranges {
        table,
        column: "transactionid",
        starts: (1..partitions.count).map(start).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_has_its_rows() {
        let partitions = Partitions {
            count: 3,
            rows_each: 1000,
        };
        assert_eq!(ranges("t", partitions).starts, [1001, 2001]);
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
