//! The measurements of a step as an event.

use std::collections::BTreeMap;

use super::connections::{Role, StepConnection};
use super::threads::{ConnectionResult, StepRun};
use super::{rows_per_commit, Step};
use crate::measure::{client_use, nanoseconds, Nanosecond, Recorder, ThreadUse, NANOSECONDS};
use crate::protocol::event::{self, Performed, RoleSecond, WriteSchedule};
use crate::protocol::job::{Second, Work};
use crate::wire::Traffic;

/// Return the traffic of all connections.
pub fn traffic(connections: &[StepConnection]) -> Traffic {
    let connections = connections.iter();
    connections.map(|step| step.connection().traffic()).sum()
}

pub fn report(step: &Step, id: u64, before: Traffic, run: &StepRun) -> Performed {
    let after: Traffic = run.results.iter().map(|result| result.traffic).sum();
    let seconds = seconds(step, run);
    let uses: Vec<ThreadUse> = run.results.iter().map(|result| result.used).collect();
    Performed {
        id,
        session: step.setup.job.session.clone(),
        started: run.started,
        seconds,
        bytes_sent: after.sent - before.sent,
        bytes_received: after.received - before.received,
        client: client_use(&uses, seconds),
        roles: roles(step, run),
        growth: growth(step),
    }
}

/// Return the time of the last completion of the roles that the step measures.
fn seconds(step: &Step, run: &StepRun) -> Second {
    let is_main = |role| match step.setup.job.work {
        Work::Load { .. } | Work::Replace { .. } => matches!(role, Role::Insert | Role::Delete),
        Work::Index => role == Role::Index,
        Work::Query { .. } => role == Role::Query,
    };
    let pairs = step.connections.iter().zip(&run.results);
    let main = pairs.filter(|(connection, _)| is_main(connection.role));
    last(main.map(|(_, result)| result))
}

fn last<'a>(results: impl Iterator<Item = &'a ConnectionResult>) -> Second {
    let last = results.map(|result| result.last_completion).max();
    last.unwrap_or(0) as f64 / NANOSECONDS
}

fn roles(step: &Step, run: &StepRun) -> BTreeMap<String, event::Role> {
    let mut roles: BTreeMap<Role, Vec<(&StepConnection, &ConnectionResult)>> = BTreeMap::new();
    for (connection, result) in step.connections.iter().zip(&run.results) {
        let role = roles.entry(connection.role).or_default();
        role.push((connection, result));
    }
    roles
        .iter()
        .map(|(&role, connections)| (role.name().to_owned(), report_role(step, role, connections)))
        .collect()
}

fn report_role(
    step: &Step,
    role: Role,
    connections: &[(&StepConnection, &ConnectionResult)],
) -> event::Role {
    let mut total = Recorder::new();
    for (connection, _) in connections {
        total.merge(&connection.recorder);
    }
    let results = || connections.iter().map(|(_, result)| *result);
    let end = paced_until(step, role);
    event::Role {
        connections: connections.len() as u64,
        statements: total.operations,
        rows: total.rows,
        seconds: last(results()).max(end.map_or(0.0, |end| end as f64 / NANOSECONDS)),
        latency: total.latency(),
        per_second: total
            .per_second
            .iter()
            .map(|second| RoleSecond(second.operations, second.rows, second.max, second.lag))
            .collect(),
        client_cpu_s: results().map(|result| result.used.cpu).sum(),
        schedule: end.map(|end| schedule(step, role, end, &total)),
        errors: total.errors,
        retries: total.retries,
    }
}

/// Return the end of the window, if the role writes by a schedule.
fn paced_until(step: &Step, role: Role) -> Option<Nanosecond> {
    match step.setup.job.work {
        Work::Query { seconds, .. } if matches!(role, Role::Insert | Role::Delete) => {
            Some(nanoseconds(seconds))
        }
        _ => None,
    }
}

fn schedule(step: &Step, role: Role, end: Nanosecond, total: &Recorder) -> WriteSchedule {
    let job = &step.setup.job;
    let statements: u64 = (0..job.clients)
        .map(|client| step.setup.schedule(role, client).due_before(end))
        .sum();
    let due = statements * rows_per_commit(&job.work);
    let rate = match job.work {
        Work::Query {
            writes_per_second, ..
        } => writes_per_second * f64::from(job.clients),
        _ => unreachable!("only the writers of a q-step have a schedule"),
    };
    WriteSchedule {
        rate,
        due,
        backlog: due.saturating_sub(total.rows),
        late_statements: total.lag.late,
        max_lag_ns: total.lag.max,
        mean_lag_ns: total.lag.mean(),
    }
}

/// Return the change of the number of rows of each table.
fn growth(step: &Step) -> Vec<i64> {
    let mut growth = vec![0; step.setup.tables.len()];
    for (client, gate) in step.setup.gates.iter().enumerate() {
        let table = client % growth.len();
        growth[table] += gate.inserted() as i64 - gate.deleted() as i64;
    }
    growth
}
