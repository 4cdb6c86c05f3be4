//! What a step measured.

use std::collections::BTreeMap;

use super::connections::{nanoseconds, Member, Role, Team};
use super::threads::{Part, Shift};
use super::{rows_per_commit, Step, NANOSECONDS};
use crate::measure::pacing::Nanosecond;
use crate::measure::recorder::Recorder;
use crate::measure::usage::ThreadUse;
use crate::protocol::event::{self, ClientUse, Performed, RoleSecond, WriteSchedule};
use crate::protocol::job::{Second, Work};
use crate::wire::Traffic;

/// Of all connections.
pub fn traffic(members: &[Member]) -> Traffic {
    let mut sum = Traffic::default();
    for member in members {
        sum += member.connection().traffic();
    }
    sum
}

pub fn report(step: &Step, id: u64, before: Traffic, shift: &Shift) -> Performed {
    let mut after = Traffic::default();
    shift.parts.iter().for_each(|part| after += part.traffic);
    let seconds = seconds(step, shift);
    let uses: Vec<ThreadUse> = shift.parts.iter().map(|part| part.used).collect();
    Performed {
        id,
        session: step.job.session.clone(),
        started: shift.started,
        seconds,
        bytes_sent: after.sent - before.sent,
        bytes_received: after.received - before.received,
        client: ClientUse::of(&uses, seconds),
        roles: roles(step, shift),
        growth: growth(step),
    }
}

/// To the last completion of the roles that the step is about.
fn seconds(step: &Step, shift: &Shift) -> Second {
    let is_main = |role| match step.job.work {
        Work::Load { .. } | Work::Replace { .. } => matches!(role, Role::Insert | Role::Delete),
        Work::Index => role == Role::Index,
        Work::Query { .. } => role == Role::Query,
    };
    let pairs = step.members.iter().zip(&shift.parts);
    let completions = pairs.filter(|(member, _)| is_main(member.role));
    last(completions.map(|(_, part)| part))
}

fn last<'a>(parts: impl Iterator<Item = &'a Part>) -> Second {
    let last = parts.map(|part| part.last_completion).max();
    last.unwrap_or(0) as f64 / NANOSECONDS
}

fn roles(step: &Step, shift: &Shift) -> BTreeMap<String, event::Role> {
    let mut members: BTreeMap<Role, Vec<(&Member, &Part)>> = BTreeMap::new();
    for (member, part) in step.members.iter().zip(&shift.parts) {
        members.entry(member.role).or_default().push((member, part));
    }
    members
        .iter()
        .map(|(&role, members)| (role.name().to_owned(), report_role(step, role, members)))
        .collect()
}

fn report_role(step: &Step, role: Role, members: &[(&Member, &Part)]) -> event::Role {
    let mut total = Recorder::new();
    for (member, _) in members {
        total.merge(&member.recorder);
    }
    let end = paced_until(step, role);
    event::Role {
        connections: members.len() as u64,
        statements: total.operations,
        rows: total.rows,
        seconds: last(members.iter().map(|(_, part)| *part))
            .max(end.map_or(0.0, |end| end as f64 / NANOSECONDS)),
        latency: total.latency(),
        per_second: total
            .per_second()
            .iter()
            .map(|second| RoleSecond(second.operations, second.rows, second.max, second.lag))
            .collect(),
        errors: total.errors.clone(),
        retries: total.retries,
        client_cpu_s: members.iter().map(|(_, part)| part.used.cpu).sum(),
        schedule: end.map(|end| schedule(step, role, end, &total)),
    }
}

/// The end of the window, if the role writes by a schedule.
fn paced_until(step: &Step, role: Role) -> Option<Nanosecond> {
    match step.job.work {
        Work::Query { seconds, .. } if matches!(role, Role::Insert | Role::Delete) => {
            Some(nanoseconds(seconds))
        }
        _ => None,
    }
}

fn schedule(step: &Step, role: Role, end: Nanosecond, total: &Recorder) -> WriteSchedule {
    let Step {
        job,
        tables,
        gates,
        indexes,
        ..
    } = step;
    let team = Team {
        job,
        tables,
        gates,
        indexes,
    };
    let statements: u64 = (0..job.clients)
        .map(|client| team.schedule(role, client).due_before(end))
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

/// By table.
fn growth(step: &Step) -> Vec<i64> {
    let mut growth = vec![0; step.tables.len()];
    for (client, gate) in step.gates.iter().enumerate() {
        let table = client % growth.len();
        growth[table] += gate.inserted() as i64 - gate.deleted() as i64;
    }
    growth
}
