//! The tables. A row is a pure function of seed, table and id, and rows arrive in the order of their
//! ids, so that the tables of two servers are identical page for page.

use super::generator::{digits, CONTENTS_GROUPS, PADDING_GROUPS};
use super::planning::{partitions, PARTITIONED, PARTITIONED_ROWS};
use super::template::table_name;
use crate::keys::Sequence;
use crate::protocol::job::Load;
use crate::wire::dialect::Definitions;
use crate::wire::{self, Failure, Session, Value};
use crate::workload::load::{fill_tables, ROWS_PER_REPORT};
use crate::workload::Loaded;

/// The definition of the column `c`.
const C: &str = "c CHAR(120) DEFAULT '' NOT NULL";
const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// The padding of a row: the type of its column, and its groups of digits.
#[derive(Clone, Copy)]
struct Padding {
    column: &'static str,
    groups: usize,
}

const USUAL: Padding = Padding {
    column: "CHAR(60)",
    groups: PADDING_GROUPS,
};
/// Rows of about 1.9 KB: four of them fill a page of Postgres, which stores rows from 2 KB elsewhere.
const WIDE: Padding = Padding {
    column: "VARCHAR(1800)",
    groups: 150,
};

/// Load all tables; `progress` is called with the number of rows loaded.
pub fn load(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    load_padded(job, USUAL, progress)
}

/// Load all tables, and then a partitioned one if the server supports it.
pub fn load_with_partitions(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    let loaded = load(job, progress)?;
    load_partitioned(job)?;
    Ok(loaded)
}

fn load_partitioned(job: &Load) -> Result<(), Failure> {
    let dialect = wire::dialect(&job.target)?;
    let columns = format!("id INTEGER NOT NULL, {C}");
    let engine = job.target.engine.as_deref();
    let Some(created) = dialect.create_keyed_partitions(&columns, engine, &partitions()) else {
        return Ok(());
    };
    let mut session = wire::connect(&job.target)?;
    session.query(&format!("DROP TABLE IF EXISTS {PARTITIONED}"))?;
    for statement in created {
        session.query(&statement)?;
    }
    let mut rows = Rows::new(job.seed, u64::from(job.tables), PARTITIONED_ROWS);
    let mut load = session.load(PARTITIONED, &["id", "c"])?;
    for id in 1..=PARTITIONED_ROWS {
        let [id, _, c, _] = rows.row(id);
        load.row(&[id, c], &rows.text)?;
    }
    load.finish().map(|_| ())
}

/// Load all tables with wide rows, in the same way.
pub fn load_wide(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    load_padded(job, WIDE, progress)
}

fn load_padded(
    job: &Load,
    padding: Padding,
    progress: &mut dyn FnMut(u64),
) -> Result<Loaded, Failure> {
    if !(1..=i32::MAX as u32).contains(&job.rows) || job.tables == 0 || job.parallel == 0 {
        return Err(Failure::usage(
            "a load needs a table, 1 to 2147483647 rows in each, and a connection",
        ));
    }
    let count = u64::from(job.rows);
    fill_tables(
        job,
        job.tables as usize,
        progress,
        &|session, definitions, table, report| {
            let rows = Rows {
                padding_groups: padding.groups,
                ..Rows::new(job.seed, table as u64, count)
            };
            let name = table_name(table as u64);
            create_table(session, definitions, &name, padding)?;
            let bytes = fill_table(session, &name, rows, report)?;
            let (number, options) = (table + 1, definitions.index_options);
            session.query(&format!("CREATE INDEX k_{number} ON {name} (k){options}"))?;
            Ok(bytes)
        },
    )
}

fn create_table(
    session: &mut dyn Session,
    definitions: &Definitions,
    name: &str,
    padding: Padding,
) -> Result<(), Failure> {
    let Definitions {
        index_options,
        table_options,
    } = definitions;
    session.query(&format!("DROP TABLE IF EXISTS {name}"))?;
    session.query(&format!(
        "CREATE TABLE {name} (id INTEGER NOT NULL, \
         k INTEGER DEFAULT 0 NOT NULL, \
         {C}, \
         pad {} DEFAULT '' NOT NULL, \
         PRIMARY KEY (id){index_options}){table_options}",
        padding.column
    ))?;
    Ok(())
}

fn fill_table(
    session: &mut dyn Session,
    name: &str,
    mut rows: Rows,
    report: &mut dyn FnMut(u64),
) -> Result<u64, Failure> {
    let count = rows.count;
    let mut load = session.load(name, &COLUMNS)?;
    for id in 1..=count {
        let values = rows.row(id);
        load.row(&values, &rows.text)?;
        if id % ROWS_PER_REPORT == 0 {
            report(ROWS_PER_REPORT);
        }
    }
    report(count % ROWS_PER_REPORT);
    load.finish()
}

/// The rows of one table.
struct Rows {
    sequence: Sequence,
    count: u64,
    padding_groups: usize,
    text: Vec<u8>,
}

impl Rows {
    fn new(seed: u64, table: u64, count: u64) -> Self {
        Self {
            sequence: Sequence::new(seed, &table_name(table)),
            count,
            padding_groups: PADDING_GROUPS,
            text: Vec::new(),
        }
    }

    /// Return the row's values; its texts are in `text`.
    fn row(&mut self, id: u64) -> [Value; 4] {
        let mut stream = self.sequence.stream(id);
        let k = 1 + stream.below(self.count);
        self.text.clear();
        [
            Value::Int(id as i32),
            Value::Int(k as i32),
            digits(&mut stream, CONTENTS_GROUPS, &mut self.text),
            digits(&mut stream, self.padding_groups, &mut self.text),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_depends_on_seed_table_and_id_alone() {
        let row = |seed, table, id| {
            let mut rows = Rows::new(seed, table, 1000);
            let values = rows.row(id);
            (values, rows.text)
        };
        let mut rows = Rows::new(7, 0, 1000);
        rows.row(1);
        assert_eq!((rows.row(2), rows.text.clone()), row(7, 0, 2));
        assert_ne!(row(7, 0, 2), row(8, 0, 2));
        assert_ne!(row(7, 0, 2).1, row(7, 1, 2).1);
        assert_ne!(row(7, 0, 2).1, row(7, 0, 3).1);
    }
}
