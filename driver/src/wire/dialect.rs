//! The differences between the SQL of the DBMSs.

use super::{Connection, Failure};

/// Maximum number of parameters of a statement: Postgres counts them with 16 bits, and its
/// libraries use 15 of them.
pub const MOST_PARAMETERS: usize = i16::MAX as usize;

/// The properties of a DBMS that matter when SQL is written. No method is called during a
/// measurement.
pub trait Dialect: Sync {
    /// Return a statement written with `?` in the DBMS's placeholders.
    fn with_placeholders(&self, statement: &str) -> String {
        statement.to_owned()
    }

    /// Return the bytes to double within the quotes of a text.
    fn doubled(&self) -> &'static [u8] {
        b"'"
    }

    /// Return whether statements can be grouped in transactions; otherwise each stands alone.
    fn has_transactions(&self) -> bool {
        true
    }

    /// Return whether prepared statements and text are different ways to send a statement.
    fn prepares(&self) -> bool {
        true
    }

    /// Return whether the server generates ascending keys for rows inserted without one.
    fn generates_keys(&self) -> bool {
        true
    }

    /// Return the dialect with short column names, if rows contain column names.
    fn with_short_names(&self) -> Option<&'static dyn Dialect> {
        None
    }

    /// Return the words after a table's name that make a query use this index, if there are any.
    fn index_hint(&self, _index: &str) -> String {
        String::new()
    }

    /// Return the options of definitions, for tables in this storage engine or the default one.
    fn definitions(&self, engine: Option<&str>) -> Result<Definitions, Failure>;

    fn column_types(&self) -> ColumnTypes;

    /// Fail if the server is too old for a partitioned table with a primary key.
    fn check_partitioning(&self, _connection: &mut dyn Connection) -> Result<(), Failure> {
        Ok(())
    }

    /// Return the statements that create a table by this definition, with its partitions.
    fn create_partitioned(&self, definition: &str, ranges: &Ranges<'_>) -> Vec<String>;

    /// Return the statements that create a table of this storage engine with these columns, and with
    /// partitions whose key is the column of the ranges; None if it cannot be partitioned.
    fn create_keyed_partitions(
        &self,
        _columns: &str,
        _engine: Option<&str>,
        _ranges: &Ranges<'_>,
    ) -> Option<Vec<String>> {
        None
    }

    /// Return the statement that sets the session's isolation level to repeatable read, if
    /// transactions cannot set it when they begin.
    fn session_isolation(&self) -> Option<&'static str> {
        None
    }

    fn begin_repeatable_read(&self) -> &'static str;
}

/// The names of types that differ between DBMSs.
pub struct ColumnTypes {
    /// A 64-bit key that the server generates in ascending order.
    pub generated_key: &'static str,
    /// A date and a time of day without a time zone.
    pub date_time: &'static str,
    /// A floating-point number of 32 bits.
    pub real: &'static str,
}

/// The parts of definitions that are specific to a DBMS.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    /// The options after the columns of an index or primary key.
    pub index_options: &'static str,
    /// The options after the columns of a table.
    pub table_options: String,
}

/// Partitions of a table by ranges of a column. The first range has no start, the last one no end.
pub struct Ranges<'a> {
    pub table: &'a str,
    pub column: &'a str,
    /// The first value of each range except the first one, ascending.
    pub starts: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::super::{mysql, postgres};
    use super::*;

    #[test]
    fn placeholders_are_numbered_for_postgres() {
        let dialect = postgres::WIRE.dialect;
        let numbered = dialect.with_placeholders("a = ? AND b = ?");
        assert_eq!(numbered, "a = $1 AND b = $2");
        assert_eq!(dialect.with_placeholders("BEGIN"), "BEGIN");
    }

    #[test]
    fn partitions_follow_each_other_and_the_last_has_no_end() {
        let ranges = Ranges {
            table: "t",
            column: "id",
            starts: vec![1001, 2001],
        };
        let created = postgres::WIRE.dialect.create_partitioned("T", &ranges);
        assert_eq!(
            created,
            [
                "T PARTITION BY RANGE (id)",
                "CREATE TABLE t_p0 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (1001)",
                "CREATE TABLE t_p1 PARTITION OF t FOR VALUES FROM (1001) TO (2001)",
                "CREATE TABLE t_p2 PARTITION OF t FOR VALUES FROM (2001) TO (MAXVALUE)",
            ]
        );
        let created = mysql::WIRE.dialect.create_partitioned("T", &ranges);
        assert_eq!(
            created.concat(),
            "T PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1001), \
             PARTITION p1 VALUES LESS THAN (2001), PARTITION p2 VALUES LESS THAN MAXVALUE)"
        );
    }

    #[test]
    fn tables_of_mysql_are_of_their_engine() {
        let options = |engine| {
            let definitions = mysql::WIRE.dialect.definitions(engine);
            definitions.map(|definitions| definitions.table_options)
        };
        let plain = " DEFAULT CHARSET=latin1";
        assert_eq!(options(None), Ok(plain.into()));
        let memory = format!("{plain} ENGINE=memory");
        assert_eq!(options(Some("memory")), Ok(memory));
        for engine in ["a b", ""] {
            assert!(matches!(options(Some(engine)), Err(Failure::Usage(_))));
        }
    }
}
