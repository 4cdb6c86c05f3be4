//! The measurements of a step as an event.

use std::collections::BTreeMap;

use super::connections::StepConnection;
use super::threads::{Chunk, ChunkRun};
use super::Step;
use crate::measure::{client_use, End, Recorder, ThreadUse, NANOSECONDS};
use crate::protocol::event::{self, Performed, RoleSecond, WriteSchedule};
use crate::protocol::job::Second;
use crate::wire::{is_in_process, Traffic};
use crate::workload::{Due, Role};

/// Return the traffic of all connections so far.
pub fn traffic(connections: &[StepConnection]) -> Traffic {
    let connections = connections.iter();
    connections.map(|step| step.connection().traffic()).sum()
}

/// Report the progress of the step after a chunk.
pub fn report(step: &Step, id: u64, chunk: Chunk, run: &ChunkRun) -> Performed {
    let before = step.progress.traffic_before;
    let after: Traffic = step
        .connections
        .iter()
        .map(|connection| connection.traffic)
        .sum();
    let main = || {
        step.connections
            .iter()
            .filter(|main| step.work.is_main(main.role))
    };
    let seconds = last(main());
    let apart = !is_in_process(step.job.target.protocol());
    let uses: Vec<ThreadUse> = step
        .connections
        .iter()
        .map(|connection| connection.used)
        .collect();
    Performed {
        id,
        session: step.job.session.clone(),
        over: step.progress.over,
        chunk_seconds: chunk_seconds(step, chunk, run),
        started: step.progress.started.unwrap_or(run.started),
        seconds,
        bytes_sent: apart.then(|| after.sent - before.sent),
        bytes_received: apart.then(|| after.received - before.received),
        client: apart.then(|| client_use(&uses, seconds)),
        roles: roles(step),
        growth: step.work.growth(),
    }
}

/// Return the time of the main roles in a chunk. If the chunk ends by time, each connection has its own
/// time to its last completion, and the time of all is the time of their operations at the sum of
/// their rates.
fn chunk_seconds(step: &Step, chunk: Chunk, run: &ChunkRun) -> Second {
    let main: Vec<(f64, f64)> = step
        .connections
        .iter()
        .zip(&run.results)
        .filter(|(connection, result)| step.work.is_main(connection.role) && result.operations > 0)
        .map(|(_, result)| {
            let time = result.last_completion.saturating_sub(chunk.begin);
            (result.operations as f64, time as f64 / NANOSECONDS)
        })
        .collect();
    if step.work.end().is_none() {
        return main.iter().map(|&(_, seconds)| seconds).fold(0.0, f64::max);
    }
    let operations: f64 = main.iter().map(|&(operations, _)| operations).sum();
    let rate: f64 = main
        .iter()
        .map(|&(operations, seconds)| operations / seconds)
        .sum();
    match chunk.end {
        _ if operations > 0.0 => operations / rate,
        Some(End::At(time) | End::Cutoff(time)) => {
            time.saturating_sub(chunk.begin) as f64 / NANOSECONDS
        }
        _ => 0.0,
    }
}

fn last<'a>(connections: impl Iterator<Item = &'a StepConnection>) -> Second {
    let last = connections
        .map(|connection| connection.last_completion)
        .max();
    last.unwrap_or(0) as f64 / NANOSECONDS
}

fn roles(step: &Step) -> BTreeMap<String, event::Role> {
    let mut roles: BTreeMap<Role, Vec<&StepConnection>> = BTreeMap::new();
    for connection in &step.connections {
        roles.entry(connection.role).or_default().push(connection);
    }
    roles
        .iter()
        .map(|(&role, connections)| (role.to_owned(), report_role(step, role, connections)))
        .collect()
}

fn report_role(step: &Step, role: Role, connections: &[&StepConnection]) -> event::Role {
    let mut total = Recorder::new();
    for connection in connections {
        total.merge(&connection.recorder);
    }
    let due = step.work.due(role);
    let end = due.as_ref().and_then(|_| step.work.end());
    event::Role {
        connections: connections.len() as u64,
        statements: total.operations,
        rows: total.rows,
        seconds: last(connections.iter().copied())
            .max(end.map_or(0.0, |end| end as f64 / NANOSECONDS)),
        latency: total.latency(),
        per_second: total
            .per_second
            .iter()
            .map(|second| RoleSecond(second.operations, second.rows, second.max, second.lag))
            .collect(),
        client_cpu_s: connections
            .iter()
            .map(|connection| connection.used.cpu)
            .sum(),
        schedule: due.map(|due| schedule(&due, &total)),
        errors: total.errors,
        error_texts: total.error_texts,
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
