//! A step of the Insert Benchmark: its roles, the connections of each client, and their progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::deletes::Deletes;
use super::indexes::Indexes;
use super::inserts::{Inserts, Keys, MOST_ROWS_PER_COMMIT};
use super::queries::{Queries, INDEXES};
use super::tables::Table;
use crate::client::gate::{Gate, GateSide, WakePolicy};
use crate::client::operation::{Generator, Operation};
use crate::keys::Sequence;
use crate::measure::{is_duration, is_rate, nanoseconds, End, Nanosecond, Pace, Schedule};
use crate::protocol::job::{Arrivals, Prepare, Query, Statements, Work};
use crate::wire::dialect::Dialect;
use crate::wire::{self, Failure};
use crate::workload::{Due, Executions, LongStep, Role, RoleConnection};

const INSERT: Role = "insert";
const DELETE: Role = "delete";
const QUERY: Role = "query";
const INDEX: Role = "index";

/// A step's job, and the state that its connections share.
struct InsertStep {
    job: Prepare,
    dialect: &'static dyn Dialect,
    /// One table for each client, or one for all.
    tables: Vec<Arc<Table>>,
    /// The gate of each client.
    gates: Vec<Arc<Gate>>,
    /// The number of indexes that were created.
    indexes: Arc<AtomicU64>,
}

/// Check the job, and find the ends of its tables.
pub fn prepare(job: &Prepare) -> Result<Box<dyn LongStep>, Failure> {
    check(job)?;
    let mut connection = wire::connect(&job.target)?;
    let tables = (0..)
        .zip(&job.inserted)
        .map(|(number, &inserted)| Table::find(connection.as_mut(), number, inserted).map(Arc::new))
        .collect::<Result<_, Failure>>()?;
    Ok(Box::new(InsertStep {
        tables,
        gates: (0..job.clients).map(|_| Arc::new(gate(job))).collect(),
        indexes: Arc::default(),
        dialect: wire::dialect(&job.target)?,
        job: job.clone(),
    }))
}

fn check(job: &Prepare) -> Result<(), Failure> {
    let usage = |message| Err(Failure::usage(message));
    if job.clients == 0 || (job.tables != job.clients && job.tables != 1) {
        return usage("a step needs a client, and one table per client or one for all".to_owned());
    }
    if job.inserted.len() != job.tables as usize {
        return usage("inserted needs the number of rows ever inserted, for each table".to_owned());
    }
    if job.statements == Statements::Text && !wire::dialect(&job.target)?.prepares() {
        return usage(format!(
            "{} sends whole commands each time: remove `statements = \"text\"`",
            job.target.dbms
        ));
    }
    if !(1..=MOST_ROWS_PER_COMMIT as u64).contains(&rows_per_commit(job)) {
        return usage(format!(
            "rows per commit must be 1 to {MOST_ROWS_PER_COMMIT}"
        ));
    }
    match job.work {
        Work::Query { seconds, .. } if !is_duration(seconds) => {
            usage("the length of a step must be positive".to_owned())
        }
        Work::Query {
            writes_per_second, ..
        } if writes_per_second != 0.0 && !is_rate(writes_per_second) => {
            usage("the rate of writes must not be negative".to_owned())
        }
        Work::Load { rows: 0, .. } | Work::Replace { rows: 0, .. } => {
            usage("a step must insert at least one row".to_owned())
        }
        _ => Ok(()),
    }
}

fn rows_per_commit(job: &Prepare) -> u64 {
    match job.work {
        Work::Load {
            rows_per_commit, ..
        }
        | Work::Replace {
            rows_per_commit, ..
        }
        | Work::Query {
            rows_per_commit, ..
        } => u64::from(rows_per_commit),
        Work::Index => 1,
    }
}

fn gate(job: &Prepare) -> Gate {
    let wake_policy = match job.work {
        Work::Query { .. } => WakePolicy::Immediate,
        Work::Load { .. } | Work::Replace { .. } | Work::Index => WakePolicy::Batched,
    };
    Gate::new(rows_per_commit(job), wake_policy)
}

impl LongStep for InsertStep {
    fn connections(&self) -> Result<Vec<RoleConnection>, Failure> {
        let mut connections = Vec::new();
        for client in 0..self.job.clients {
            let gate = Some(GateSide::Inserter(self.gates[client as usize].clone()));
            match self.job.work {
                Work::Load { rows, .. } => {
                    let pace = self.until_inserted(rows);
                    connections.push(self.inserter(client, pace, Some(rows), None));
                }
                Work::Index if client < self.job.tables => connections.push(self.indexer(client)?),
                Work::Index => {}
                Work::Replace { rows, .. } => {
                    let pace = self.until_inserted(rows);
                    connections.push(self.inserter(client, pace, Some(rows), gate));
                    connections.push(self.deleter(client, Pace::endless()));
                }
                Work::Query {
                    query,
                    seconds,
                    writes_per_second,
                    ..
                } => {
                    let end = nanoseconds(seconds);
                    let pace = |role| {
                        let schedule = self.schedule(role, client, writes_per_second);
                        Pace::background(end, schedule)
                    };
                    connections.push(self.querier(client, query, end));
                    if writes_per_second == 0.0 {
                        continue;
                    }
                    connections.push(self.inserter(client, pace(INSERT), None, gate));
                    connections.push(self.deleter(client, pace(DELETE)));
                }
            }
        }
        Ok(connections)
    }

    fn executions(&self) -> Vec<Executions> {
        // A copy of the table: its ends advance with the statements that are not executed.
        let table = Arc::new(self.tables[0].copy());
        let gate = Arc::new(gate(&self.job));
        gate.add_inserted(rows_per_commit(&self.job));
        let mut executions = Vec::new();
        if let Work::Query { query, .. } = self.job.work {
            let sequence = Sequence::new(self.job.seed, "plans");
            let (statements, queries) = self.queries(&table, query, sequence);
            executions.push((statements, queries.executions()));
        }
        if self.job.work != Work::Index {
            let (statements, inserts) = self.inserts(&table, &gate, None);
            executions.push((statements, vec![first_operation(inserts)]));
        }
        if matches!(self.job.work, Work::Replace { .. } | Work::Query { .. }) {
            let (statements, deletes) = self.deletes(&table, &gate);
            executions.push((statements, vec![first_operation(deletes)]));
        }
        executions
    }

    /// Return a read of the first table, except during the creation of indexes: MySQL's CREATE INDEX
    /// waits for every open transaction that has read the table.
    fn long_read(&self) -> Option<String> {
        let table = &self.tables[0].name;
        (self.job.work != Work::Index)
            .then(|| format!("SELECT transactionid FROM {table} ORDER BY transactionid LIMIT 1"))
    }

    fn end(&self) -> Option<Nanosecond> {
        match self.job.work {
            Work::Query { seconds, .. } => Some(nanoseconds(seconds)),
            _ => None,
        }
    }

    fn is_main(&self, role: Role) -> bool {
        match self.job.work {
            Work::Load { .. } | Work::Replace { .. } => matches!(role, INSERT | DELETE),
            Work::Index => role == INDEX,
            Work::Query { .. } => role == QUERY,
        }
    }

    fn due(&self, role: Role) -> Option<Due> {
        match self.job.work {
            Work::Query {
                seconds,
                writes_per_second,
                ..
            } if matches!(role, INSERT | DELETE) => {
                let statements: u64 = (0..self.job.clients)
                    .map(|client| self.schedule(role, client, writes_per_second))
                    .map(|schedule| schedule.due_before(nanoseconds(seconds)))
                    .sum();
                Some(Due {
                    rate: writes_per_second * f64::from(self.job.clients),
                    rows: statements * rows_per_commit(&self.job),
                })
            }
            _ => None,
        }
    }

    fn progress(&self, elapsed: Nanosecond) -> (u64, u64) {
        match self.job.work {
            Work::Load { rows, .. } | Work::Replace { rows, .. } => {
                let inserted = self.gates.iter().map(|gate| gate.inserted()).sum();
                (inserted, rows * u64::from(self.job.clients))
            }
            Work::Index => {
                let total = INDEXES.len() as u64 * u64::from(self.job.tables);
                (self.indexes.load(Ordering::Relaxed), total)
            }
            Work::Query { seconds, .. } => {
                let total = (seconds * 1e3) as u64;
                ((elapsed / 1_000_000).min(total), total)
            }
        }
    }

    fn growth(&self) -> Vec<i64> {
        let mut growth = vec![0; self.tables.len()];
        for (client, gate) in self.gates.iter().enumerate() {
            let table = client % growth.len();
            growth[table] += gate.inserted() as i64 - gate.deleted() as i64;
        }
        growth
    }
}

impl InsertStep {
    fn until_inserted(&self, rows: u64) -> Pace {
        let statements = rows.div_ceil(rows_per_commit(&self.job));
        Pace::new(End::Position(statements), None)
    }

    /// Return the times at which a writer's statements are due: all writers of the step take turns, a
    /// deleter half a turn after its inserter.
    fn schedule(&self, role: Role, client: u32, writes_per_second: f64) -> Schedule {
        let clients = u64::from(self.job.clients);
        let slot = 2 * u64::from(client) + u64::from(role == DELETE);
        let statements_per_second = writes_per_second / rows_per_commit(&self.job) as f64;
        let per_second = 2.0 * clients as f64 * statements_per_second;
        let stream = Sequence::new(self.job.seed, "turns").stream(0);
        Schedule::new(per_second, Arrivals::Uniform, slot, 2 * clients, stream)
    }

    fn table(&self, client: u32) -> &Arc<Table> {
        &self.tables[client as usize % self.tables.len()]
    }

    /// Return an inserter that adds `rows` rows, or endlessly.
    fn inserter(
        &self,
        client: u32,
        pace: Pace,
        rows: Option<u64>,
        gate: Option<GateSide>,
    ) -> RoleConnection {
        let source = self.inserts(self.table(client), &self.gates[client as usize], rows);
        self.connection(INSERT, client, source, pace, gate)
    }

    fn deleter(&self, client: u32, pace: Pace) -> RoleConnection {
        let gate = &self.gates[client as usize];
        let source = self.deletes(self.table(client), gate);
        let gate = Some(GateSide::Deleter(gate.clone()));
        self.connection(DELETE, client, source, pace, gate)
    }

    fn querier(&self, client: u32, query: Query, end: Nanosecond) -> RoleConnection {
        let sequence = Sequence::new(self.job.seed, &format!("queries of client {client}"));
        let source = self.queries(self.table(client), query, sequence);
        let pace = Pace::new(End::At(end), None);
        self.connection(QUERY, client, source, pace, None)
    }

    fn indexer(&self, client: u32) -> Result<RoleConnection, Failure> {
        let target = &self.job.target;
        let definitions = wire::dialect(target)?.definitions(target.engine.as_deref())?;
        let table = &self.table(client).name;
        let rows = self.job.inserted[client as usize];
        let source = Indexes::new(table, rows, &definitions, self.indexes.clone());
        let pace = Pace::new(End::Position(INDEXES.len() as u64), None);
        Ok(self.connection(INDEX, client, source, pace, None))
    }

    fn connection(
        &self,
        role: Role,
        client: u32,
        (statements, generator): (Vec<String>, impl Generator + 'static),
        pace: Pace,
        gate: Option<GateSide>,
    ) -> RoleConnection {
        RoleConnection {
            role,
            client,
            seat: self.seat(role, client),
            statements,
            form: match role {
                INDEX => Statements::Text,
                _ => self.job.statements,
            },
            generator: Box::new(generator),
            pace,
            gate,
        }
    }

    /// Return the seat of a connection. Queries do not share their CPU with concurrent writes. An
    /// inserter and its deleter share a CPU: they wake each other up constantly, which is expensive
    /// from one CPU to another. A connection that creates an index has no seat, because its server
    /// process may have helpers, which would inherit its CPU.
    fn seat(&self, role: Role, client: u32) -> Option<usize> {
        let offset = match (role, &self.job.work) {
            (INDEX, _) => return None,
            (INSERT | DELETE, Work::Query { .. }) => 1,
            _ => 0,
        };
        Some(client as usize + offset)
    }

    fn inserts(
        &self,
        table: &Arc<Table>,
        gate: &Arc<Gate>,
        rows: Option<u64>,
    ) -> (Vec<String>, Inserts) {
        let (seed, form) = (self.job.seed, self.job.statements);
        let (table, gate, keys) = (table.clone(), gate.clone(), Keys::of(self.dialect));
        let per_commit = rows_per_commit(&self.job);
        Inserts::new(table, gate, seed, per_commit, rows, keys, form)
    }

    fn deletes(&self, table: &Arc<Table>, gate: &Arc<Gate>) -> (Vec<String>, Deletes) {
        let (form, rows_per_commit) = (self.job.statements, rows_per_commit(&self.job));
        Deletes::new(table.clone(), gate.clone(), rows_per_commit, form)
    }

    fn queries(
        &self,
        table: &Arc<Table>,
        query: Query,
        sequence: Sequence,
    ) -> (Vec<String>, Queries) {
        let form = self.job.statements;
        Queries::new(table.clone(), query, self.dialect, form, sequence)
    }
}

fn first_operation(mut generator: impl Generator) -> Operation {
    let mut operation = Operation::default();
    generator.compose(0, &mut operation);
    operation
}
