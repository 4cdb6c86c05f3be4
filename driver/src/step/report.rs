//! The measurements of a step as an event.

use std::collections::BTreeMap;

use super::connections::StepConnection;
use super::threads::{ConnectionResult, StepRun};
use super::Step;
use crate::measure::{client_use, Recorder, ThreadUse, NANOSECONDS};
use crate::protocol::event::{self, Performed, RoleSecond, WriteSchedule};
use crate::protocol::job::Second;
use crate::wire::Traffic;
use crate::workload::{Due, Role};

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
        session: step.job.session.clone(),
        started: run.started,
        seconds,
        bytes_sent: after.sent - before.sent,
        bytes_received: after.received - before.received,
        client: client_use(&uses, seconds),
        roles: roles(step, run),
        growth: step.work.growth(),
    }
}

/// Return the time of the last completion of the roles that the step measures.
fn seconds(step: &Step, run: &StepRun) -> Second {
    let pairs = step.connections.iter().zip(&run.results);
    let main = pairs.filter(|(connection, _)| step.work.is_main(connection.role));
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
        .map(|(&role, connections)| (role.to_owned(), report_role(step, role, connections)))
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
    let due = step.work.due(role);
    let end = due.as_ref().and_then(|_| step.work.end());
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
        schedule: due.map(|due| schedule(&due, &total)),
        errors: total.errors,
        retries: total.retries,
    }
}

fn schedule(due: &Due, total: &Recorder) -> WriteSchedule {
    WriteSchedule {
        rate: due.rate,
        due: due.rows,
        backlog: due.rows.saturating_sub(total.rows),
        late_statements: total.lag.late,
        max_lag_ns: total.lag.max,
        mean_lag_ns: total.lag.mean(),
    }
}
