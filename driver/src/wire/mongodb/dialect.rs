//! Commands in place of SQL.

use super::super::dialect::{ColumnTypes, Definitions, Dialect, Ranges};
use super::super::{Connection, Failure};
use super::statement;
use crate::protocol::target::Names;

pub struct MongoDialect {
    names: Names,
}

pub static LONG_NAMES: MongoDialect = MongoDialect { names: Names::Long };
static SHORT_NAMES: MongoDialect = MongoDialect {
    names: Names::Short,
};

impl Dialect for MongoDialect {
    /// Return the command; a statement without one is rejected when it is prepared.
    fn with_placeholders(&self, sql: &str) -> String {
        statement::command(sql, self.names)
            .map_or_else(|_| sql.to_owned(), |command| statement::text(&command))
    }

    /// A single server has no transactions of several commands.
    fn has_transactions(&self) -> bool {
        false
    }

    /// Commands are sent whole each time.
    fn prepares(&self) -> bool {
        false
    }

    fn generates_keys(&self) -> bool {
        false
    }

    fn with_short_names(&self) -> Option<&'static dyn Dialect> {
        Some(&SHORT_NAMES)
    }

    fn definitions(&self, engine: Option<&str>) -> Result<Definitions, Failure> {
        match engine {
            None => Ok(Definitions::default()),
            Some(_) => Err(Failure::usage(
                "MongoDB's storage engine is a setting of the server",
            )),
        }
    }

    /// Documents have no declared types.
    fn column_types(&self) -> ColumnTypes {
        ColumnTypes {
            generated_key: "",
            date_time: "",
            real: "",
        }
    }

    fn check_partitioning(&self, _: &mut dyn Connection) -> Result<(), Failure> {
        Err(Failure::usage("MongoDB has no partitioned collections"))
    }

    fn create_partitioned(&self, definition: &str, _: &Ranges<'_>) -> Vec<String> {
        vec![definition.to_owned()]
    }

    fn begin_repeatable_read(&self) -> &'static str {
        ""
    }
}
