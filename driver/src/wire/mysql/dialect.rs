//! The SQL of MySQL and MariaDB.

use super::super::dialect::{ColumnTypes, Definitions, Dialect, Ranges};
use super::super::Failure;

pub struct MysqlDialect;

impl Dialect for MysqlDialect {
    /// Without a hint MySQL 9.7 spends ten times as long on choosing the index as on reading ten rows.
    fn index_hint(&self, index: &str) -> String {
        format!(" FORCE INDEX ({index})")
    }

    fn doubled(&self) -> &'static [u8] {
        b"'\\"
    }

    /// Indexes are B-trees in every engine (MEMORY's default is hashes, which cannot find ranges), and
    /// a character is one byte in every version, so that rows have the same size everywhere.
    fn definitions(&self, engine: Option<&str>) -> Result<Definitions, Failure> {
        let mut table_options = " DEFAULT CHARSET=latin1".to_owned();
        if let Some(engine) = engine {
            if engine.is_empty() || !engine.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(Failure::usage(format!(
                    "{engine:?} is not the name of a storage engine"
                )));
            }
            table_options.push_str(" ENGINE=");
            table_options.push_str(engine);
        }
        Ok(Definitions {
            index_options: " USING BTREE",
            table_options,
        })
    }

    fn column_types(&self) -> ColumnTypes {
        ColumnTypes {
            generated_key: "BIGINT NOT NULL AUTO_INCREMENT",
            date_time: "DATETIME",
            real: "FLOAT",
        }
    }

    fn create_partitioned(&self, definition: &str, ranges: &Ranges<'_>) -> Vec<String> {
        let ends = ranges.starts.iter().map(|start| format!("({start})"));
        let ends = ends.chain(std::iter::once("MAXVALUE".to_owned()));
        let partitions: Vec<_> = (0..)
            .zip(ends)
            .map(|(place, end): (u32, _)| format!("PARTITION p{place} VALUES LESS THAN {end}"))
            .collect();
        vec![format!(
            "{definition} PARTITION BY RANGE ({}) ({})",
            ranges.column,
            partitions.join(", ")
        )]
    }

    /// MySQL 8.0 and later cannot partition MEMORY tables. Persistent statistics of InnoDB are rows for
    /// each partition, which it continues to write and purge after the load.
    fn create_keyed_partitions(
        &self,
        columns: &str,
        engine: Option<&str>,
        ranges: &Ranges<'_>,
    ) -> Option<Vec<String>> {
        let options = self.definitions(engine).ok()?.table_options;
        let (table, column) = (ranges.table, ranges.column);
        let definition = format!(
            "CREATE TABLE {table} ({columns}, PRIMARY KEY ({column})){options} \
             /*!50606 STATS_PERSISTENT=0 */"
        );
        (engine != Some("memory")).then(|| self.create_partitioned(&definition, ranges))
    }

    fn session_isolation(&self) -> Option<&'static str> {
        Some("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    }

    fn begin_repeatable_read(&self) -> &'static str {
        "BEGIN"
    }
}
