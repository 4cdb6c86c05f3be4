//! Postgres' SQL.

use std::fmt::Write as _;
use std::iter::once;

use super::super::dialect::{ColumnTypes, Definitions, Dialect, Ranges};
use super::super::{Connection, Failure};

/// The first version whose partitioned tables can have a primary key.
const PARTITIONS_SINCE: u32 = 110_000;

pub struct PostgresDialect;

impl Dialect for PostgresDialect {
    /// Write `?` as `$1`, `$2`, ...
    fn with_placeholders(&self, statement: &str) -> String {
        let mut numbered = String::with_capacity(statement.len() * 2);
        let mut parts = statement.split('?');
        numbered.push_str(parts.next().unwrap_or_default());
        for (index, part) in parts.enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(numbered, "${}{part}", index + 1);
        }
        numbered
    }

    fn definitions(&self, engine: Option<&str>) -> Result<Definitions, Failure> {
        match engine {
            None => Ok(Definitions::default()),
            Some(_) => Err(Failure::usage("Postgres has no storage engines")),
        }
    }

    fn column_types(&self) -> ColumnTypes {
        ColumnTypes {
            generated_key: "BIGSERIAL",
            date_time: "TIMESTAMP",
            real: "REAL",
        }
    }

    fn check_partitioning(&self, connection: &mut dyn Connection) -> Result<(), Failure> {
        let version = connection.query("SHOW server_version_num")?.into_value()?;
        let version = version.unwrap_or_default().parse();
        if version.is_ok_and(|version: u32| version >= PARTITIONS_SINCE) {
            return Ok(());
        }
        Err(Failure::usage(
            "this Postgres cannot have primary keys of partitioned tables: use version 11 or later",
        ))
    }

    fn create_partitioned(&self, definition: &str, ranges: &Ranges<'_>) -> Vec<String> {
        let table = ranges.table;
        let starts = || ranges.starts.iter().map(u64::to_string);
        let from = once("MINVALUE".to_owned()).chain(starts());
        let to = starts().chain(once("MAXVALUE".to_owned()));
        let partitions = (0..).zip(from.zip(to)).map(|(place, (from, to))| {
            format!(
                "CREATE TABLE {table}_p{place} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to})"
            )
        });
        let partitioned = format!("{definition} PARTITION BY RANGE ({})", ranges.column);
        once(partitioned).chain(partitions).collect()
    }

    /// Give each partition its own key: version 10 does not support keys of partitioned tables.
    fn create_keyed_partitions(
        &self,
        columns: &str,
        _engine: Option<&str>,
        ranges: &Ranges<'_>,
    ) -> Option<Vec<String>> {
        let (table, column) = (ranges.table, ranges.column);
        let mut statements =
            self.create_partitioned(&format!("CREATE TABLE {table} ({columns})"), ranges);
        let key = |place| format!("ALTER TABLE {table}_p{place} ADD PRIMARY KEY ({column})");
        statements.extend((0..=ranges.starts.len()).map(key));
        Some(statements)
    }

    fn begin_repeatable_read(&self) -> &'static str {
        "BEGIN ISOLATION LEVEL REPEATABLE READ"
    }
}
