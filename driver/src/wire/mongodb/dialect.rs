//! Commands in place of SQL.

use super::super::dialect::{ColumnTypes, Definitions, Dialect, Ranges};
use super::super::{Connection, Failure};
use super::statement;

pub struct MongoDialect;

impl Dialect for MongoDialect {
    /// Return the command; a statement that has none is refused when it is prepared.
    fn with_placeholders(&self, sql: &str) -> String {
        statement::command(sql).map_or_else(|_| sql.to_owned(), |command| statement::text(&command))
    }

    /// A single server has no transactions of several commands.
    fn has_transactions(&self) -> bool {
        false
    }

    /// Commands are sent whole each time.
    fn prepares(&self) -> bool {
        false
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
