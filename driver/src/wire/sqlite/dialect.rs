//! SQLite's SQL.

use super::super::dialect::{ColumnTypes, Definitions, Dialect, Ranges};
use super::super::{Connection, Failure};

pub struct SqliteDialect;

impl Dialect for SqliteDialect {
    fn definitions(&self, engine: Option<&str>) -> Result<Definitions, Failure> {
        match engine {
            None => Ok(Definitions::default()),
            Some(_) => Err(Failure::usage("SQLite has no storage engines")),
        }
    }

    /// A primary key of the type INTEGER is the key of the table's B-tree.
    fn column_types(&self) -> ColumnTypes {
        ColumnTypes {
            generated_key: "INTEGER",
            date_time: "TEXT",
            real: "REAL",
        }
    }

    fn check_partitioning(&self, _: &mut dyn Connection) -> Result<(), Failure> {
        Err(Failure::usage("SQLite has no partitioned tables"))
    }

    fn create_partitioned(&self, definition: &str, _: &Ranges<'_>) -> Vec<String> {
        vec![definition.to_owned()]
    }

    /// A transaction reads the state of the database at its first read.
    fn begin_repeatable_read(&self) -> &'static str {
        "BEGIN"
    }
}
