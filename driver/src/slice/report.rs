//! The measurements of a slice.

use super::freshness;
use super::session::Session;
use super::{traffic, Side};
use crate::measure::{client_use, Nanosecond, Recorder, ThreadUse, WindowClock, NANOSECONDS};
use crate::protocol::event::{Ran, RanBeside, Schedule as ScheduleKept};
use crate::protocol::job::{Rate, Run};
use crate::wire::is_in_process;
use crate::workload::Unit;

/// Report on a slice whose foreground side stopped at `ended`.
pub fn report(
    sides: &[Side<'_>],
    job: &Run,
    clock: WindowClock,
    ended: Nanosecond,
    uses: &[ThreadUse],
) -> Ran {
    let (side, beside) = sides.split_first().expect("a side");
    let session = &*side.session;
    let total = session.total();
    let after = traffic(session);
    let apart = !is_in_process(session.target.protocol());
    let last_completion = session
        .clients()
        .map(|client| client.tally.last_completion)
        .max();
    let seconds = last_completion.unwrap_or(0) as f64 / NANOSECONDS;
    let unit = session.test.unit();
    let (rows, unit_size) = match unit {
        Unit::Operations => (total.rows, 1.0),
        Unit::RowsScanned(rows) => (rows * total.operations, rows as f64),
    };
    Ran {
        id: job.id,
        session: job.session.clone(),
        started: clock.started,
        seconds,
        operations: total.operations,
        statements: total.statements,
        rows,
        qps: rate(session) * unit_size,
        unit: unit.name().to_owned(),
        bytes_sent: apart.then(|| after.sent - side.traffic.sent),
        bytes_received: apart.then(|| after.received - side.traffic.received),
        latency: total.latency(),
        per_second: per_second(total),
        errors: total.errors.clone(),
        error_texts: total.error_texts.clone(),
        retries: total.retries,
        client: apart.then(|| client_use(uses, seconds)),
        schedule: side.rate.map(|rate| schedule_kept(rate, total)),
        positions: positions(session),
        beside: beside
            .iter()
            .zip(&job.beside)
            .map(|(side, named)| report_beside(side, named.session.clone(), ended))
            .collect(),
        freshness: freshness::of(sides.iter().map(|side| &*side.session)),
    }
}

fn report_beside(side: &Side<'_>, name: String, ended: Nanosecond) -> RanBeside {
    let session = &*side.session;
    let total = session.total();
    let seconds = ended as f64 / NANOSECONDS;
    // Running operations continued without the foreground session, so they are not counted.
    let completed = session.clients().map(|client| client.tally.until(ended));
    let operations = completed.sum();
    RanBeside {
        session: name,
        seconds,
        operations,
        statements: total.statements,
        rows: total.rows,
        qps: operations as f64 / seconds,
        latency: total.latency(),
        errors: total.errors.clone(),
        error_texts: total.error_texts.clone(),
        retries: total.retries,
        schedule: side.rate.map(|rate| schedule_kept(rate, total)),
        positions: positions(session),
    }
}

/// Return the position of each client, by its number.
fn positions(session: &Session) -> Vec<u64> {
    let mut positions = vec![0; session.clients().count()];
    for client in session.clients() {
        positions[client.place.client as usize] = client.position();
    }
    positions
}

fn per_second(total: &Recorder) -> Vec<(u64, Nanosecond)> {
    let seconds = total.per_second.iter();
    seconds
        .map(|second| (second.operations, second.max))
        .collect()
}

/// Return the sum of the clients' rates, in operations per second.
fn rate(session: &Session) -> f64 {
    session.clients().map(|client| client.tally.rate()).sum()
}

fn schedule_kept(rate: Rate, total: &Recorder) -> ScheduleKept {
    ScheduleKept {
        rate: rate.per_second,
        arrivals: rate.arrivals,
        late_operations: total.lag.late,
        max_lag_ns: total.lag.max,
        mean_lag_ns: total.lag.mean(),
    }
}
