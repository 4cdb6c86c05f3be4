//! Loading of described tables. A row is a pure function of seed, table and number, and rows arrive in
//! order, so that the tables of two servers are alike.

use super::draw::{Draws, Source};
use super::extent::check_row;
use crate::client::operation::Operation;
use crate::keys::{DistinctSampler, Sequence};
use crate::protocol::described::{DescribedColumn, DescribedTable, DescribedType};
use crate::protocol::job::Load;
use crate::wire::dialect::{ColumnTypes, Definitions};
use crate::wire::{self, Failure, Session};
use crate::workload::load::{fill_tables, ROWS_PER_REPORT};
use crate::workload::Loaded;

/// Load all tables; `progress` is called with the number of rows loaded.
pub fn load(job: &Load, progress: &mut dyn FnMut(u64)) -> Result<Loaded, Failure> {
    let described = job.described.as_ref().filter(|all| !all.tables.is_empty());
    let described = described.ok_or_else(|| Failure::usage("no tables are described"))?;
    if job.parallel == 0 {
        return Err(Failure::usage("a load needs a connection"));
    }
    let tables = &described.tables;
    let sources = tables
        .iter()
        .map(sources)
        .collect::<Result<Vec<_>, Failure>>()?;
    if !described.before.is_empty() {
        let mut session = wire::connect(&job.target)?;
        for statement in &described.before {
            session.query(statement)?;
        }
    }
    let types = wire::dialect(&job.target)?.column_types();
    fill_tables(
        job,
        tables.len(),
        progress,
        &|session, definitions, number, report| {
            let table = &tables[number];
            create(table, session, definitions, &types)?;
            let bytes = fill(table, &sources[number], job.seed, session, report)?;
            for statement in &table.after {
                session.query(&statement.replace(INDEX_OPTIONS, definitions.index_options))?;
            }
            Ok(bytes)
        },
    )
}

const INDEX_OPTIONS: &str = "{index_options}";

fn sources(table: &DescribedTable) -> Result<Vec<Source>, Failure> {
    if table.columns.is_empty() {
        return Err(Failure::usage(format!("{} has no columns", table.name)));
    }
    let sources = table.columns.iter().map(|column| {
        Source::of_column(column, table.rows).map_err(|message| {
            Failure::usage(format!(
                "column {} of {}: {message}",
                column.name, table.name
            ))
        })
    });
    let sources = sources.collect::<Result<Vec<_>, Failure>>()?;
    check_row(&sources).map_err(|message| Failure::usage(format!("{}: {message}", table.name)))?;
    Ok(sources)
}

fn create(
    table: &DescribedTable,
    session: &mut dyn Session,
    definitions: &Definitions,
    types: &ColumnTypes,
) -> Result<(), Failure> {
    let name = &table.name;
    let mut parts: Vec<_> = table
        .columns
        .iter()
        .map(|column| definition(column, types))
        .collect();
    if !table.primary_key.is_empty() {
        parts.push(format!(
            "PRIMARY KEY ({}){}",
            table.primary_key.join(", "),
            definitions.index_options
        ));
    }
    parts.extend(table.constraints.iter().cloned());
    session.query(&format!("DROP TABLE IF EXISTS {name}"))?;
    session.query(&format!(
        "CREATE TABLE {name} ({}){}{}",
        parts.join(", "),
        definitions.table_options,
        table.options
    ))?;
    Ok(())
}

fn definition(column: &DescribedColumn, types: &ColumnTypes) -> String {
    let kind = match &column.kind {
        DescribedType::Int => "INTEGER".to_owned(),
        DescribedType::Bigint => "BIGINT".to_owned(),
        DescribedType::Real => types.real.to_owned(),
        DescribedType::Timestamp => types.date_time.to_owned(),
        DescribedType::Varchar { length } => format!("VARCHAR({length})"),
        DescribedType::Char { length } => format!("CHAR({length})"),
        DescribedType::Text => "TEXT".to_owned(),
        DescribedType::Vector { dimensions } => format!("VECTOR({dimensions})"),
        DescribedType::Sql { name } => name.clone(),
    };
    let null = if column.nullable || column.values.may_be_null() {
        "NULL"
    } else {
        "NOT NULL"
    };
    format!("{} {kind} {null}", column.name)
}

fn fill(
    table: &DescribedTable,
    sources: &[Source],
    seed: u64,
    session: &mut dyn Session,
    report: &mut dyn FnMut(u64),
) -> Result<u64, Failure> {
    let columns: Vec<_> = table.columns.iter().map(|column| &*column.name).collect();
    let sequence = Sequence::new(seed, &table.name);
    let mut sampler = DistinctSampler::new(1);
    let mut row = Operation::default();
    let mut load = session.load(&table.name, &columns)?;
    for index in 0..table.rows {
        row.clear();
        let mut draws = Draws {
            stream: sequence.stream(index),
            sampler: &mut sampler,
            index,
            client: 0,
            clients: 1,
            first_value: 0,
            tuples: &mut [],
        };
        for source in sources {
            source
                .append(&mut draws, &mut row)
                .map_err(Failure::usage)?;
        }
        load.row(&row.values, &row.text)?;
        if (index + 1) % ROWS_PER_REPORT == 0 {
            report(ROWS_PER_REPORT);
        }
    }
    report(table.rows % ROWS_PER_REPORT);
    load.finish()
}
