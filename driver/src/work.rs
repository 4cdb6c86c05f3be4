//! Exact work: a few operations, executed once on a separate connection and rolled back, with the
//! server's counts for each statement.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use crate::client::operation::Operation;
use crate::protocol::event::Executed;
use crate::protocol::target::Target;
use crate::wire::dialect::Dialect;
use crate::wire::{self, has_plan, Amounts, Failure, Request};

/// Time after which no further operation begins.
const ENOUGH: Duration = Duration::from_millis(500);
/// The time limit for a statement: a window of slower ones would cost more than it shows.
const PATIENCE: Duration = Duration::from_secs(5);

/// The role of a statement in the transaction of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Begins,
    Ends,
    Counted,
    /// A statement that a rollback may not undo.
    Other,
}

impl Part {
    fn of(sql: &str) -> Self {
        let sql = sql.trim().trim_end_matches(';');
        let mut words = sql.split_ascii_whitespace().map(str::to_ascii_uppercase);
        let verb = words.next().unwrap_or_default();
        let is_alone = !sql.contains(';');
        match verb.as_str() {
            "BEGIN" if is_alone => Self::Begins,
            "START" if is_alone && words.next().as_deref() == Some("TRANSACTION") => Self::Begins,
            "ROLLBACK" if words.any(|word| word == "TO") => Self::Other,
            "COMMIT" | "END" | "ROLLBACK" if is_alone => Self::Ends,
            _ if is_alone && has_plan(sql) => Self::Counted,
            _ => Self::Other,
        }
    }
}

/// The work of each statement, in the order of the statements.
pub type Work = Vec<Option<Executed>>;

/// Counts the work of operations.
pub struct Counter {
    connection: Box<dyn wire::Session>,
    has_transactions: bool,
    statements: Vec<String>,
    parts: Vec<Part>,
    /// The statements, with the numbers of prepared ones, whose plan is the one that busy clients
    /// use: the plan for all values, with a warm catalog cache.
    planned: HashSet<(usize, Option<usize>)>,
    work: Work,
}

impl Counter {
    /// Return the target of a connection for a counter.
    pub fn target(target: &Target) -> Target {
        let patience = PATIENCE.as_secs_f64();
        Target {
            patience: Some(target.patience.map_or(patience, |own| own.min(patience))),
            ..target.clone()
        }
    }

    /// Return a counter of operations that consist of these statements; None if a rollback may not
    /// undo one of them. The connection has prepared them.
    pub fn new(
        mut connection: Box<dyn wire::Session>,
        dialect: &dyn Dialect,
        statements: Vec<String>,
    ) -> Result<Option<Self>, Failure> {
        let parts: Vec<Part> = statements.iter().map(|sql| Part::of(sql)).collect();
        let has_transactions = dialect.has_transactions();
        let writes = statements.iter().any(|sql| !is_read(sql));
        if parts.contains(&Part::Other)
            || (has_transactions && writes && !connection.rolls_back(&statements)?)
        {
            return Ok(None);
        }
        connection.limit_statements(PATIENCE);
        Ok(Some(Self {
            work: vec![None; statements.len()],
            connection,
            has_transactions,
            parts,
            statements,
            planned: HashSet::new(),
        }))
    }

    /// Execute up to `most` operations while there is time, and return the work of each statement.
    /// `compose` fills an operation by index; `places` are the statements of its calls. If there is
    /// no time for the first operation, only statements that were executed as often as in a whole
    /// operation have work.
    pub fn count(
        mut self,
        most: u64,
        places: &[usize],
        mut compose: impl FnMut(u64, &mut Operation),
    ) -> Result<Work, Failure> {
        let begun = Instant::now();
        let mut operation = Operation::default();
        let mut operations = 0;
        while operations < most && begun.elapsed() < ENOUGH {
            compose(operations, &mut operation);
            let calls = places.iter().enumerate();
            let before = self.work.clone();
            match self.execute(calls.map(|(call, &place)| (place, operation.request(call)))) {
                Ok(()) => operations += 1,
                Err(Failure::Timeout(_)) if operations == 0 => {
                    self.keep_whole(places);
                    operations = 1;
                    break;
                }
                Err(Failure::Timeout(_)) => {
                    self.work = before;
                    break;
                }
                Err(failure) => return Err(failure),
            }
        }
        let mut work = self.work;
        for executed in work.iter_mut().flatten() {
            executed.operations = operations;
        }
        Ok(work)
    }

    /// Drop the work of statements that were executed less often than the operation has calls.
    fn keep_whole(&mut self, places: &[usize]) {
        for (place, work) in self.work.iter_mut().enumerate() {
            let calls = places.iter().filter(|&&other| other == place).count() as u64;
            work.take_if(|executed| executed.executions < calls);
        }
    }

    /// Execute one operation after the other, each with one call and its own statement, while there
    /// is time.
    pub fn count_each(mut self, operations: &[Operation]) -> Result<Work, Failure> {
        for (place, operation) in operations.iter().enumerate() {
            match self.execute([(place, operation.request(0))].into_iter()) {
                Err(Failure::Timeout(_)) => break,
                outcome => outcome?,
            }
        }
        let mut work = self.work;
        for executed in work.iter_mut().flatten() {
            executed.operations = 1;
        }
        Ok(work)
    }

    fn execute<'a>(
        &mut self,
        calls: impl Iterator<Item = (usize, Request<'a>)> + Clone,
    ) -> Result<(), Failure> {
        for (place, request) in calls.clone() {
            let prepared = match request {
                Request::Prepared { statement, .. } => Some(statement),
                Request::Text(_) => None,
            };
            if self.parts[place] == Part::Counted && self.planned.insert((place, prepared)) {
                self.connection.explain(request)?;
            }
        }
        let begun = Instant::now();
        let mut is_open = false;
        for (place, request) in calls {
            match self.parts[place] {
                Part::Begins => {
                    let sql = self.statements[place].clone();
                    is_open = self.begin(&sql)?;
                }
                Part::Ends => is_open = self.roll_back()?,
                _ => {
                    if !is_open {
                        is_open = self.begin("BEGIN")?;
                    }
                    if let Some(amounts) = self.connection.count_work(request)? {
                        self.add(place, amounts);
                    }
                }
            }
            if begun.elapsed() > PATIENCE {
                return Err(Failure::timeout("an operation takes too long"));
            }
        }
        if is_open {
            self.roll_back()?;
        }
        Ok(())
    }

    fn begin(&mut self, sql: &str) -> Result<bool, Failure> {
        if self.has_transactions {
            self.connection.query(sql)?;
        }
        Ok(true)
    }

    fn roll_back(&mut self) -> Result<bool, Failure> {
        if self.has_transactions {
            self.connection.query("ROLLBACK")?;
        }
        Ok(false)
    }

    fn add(&mut self, place: usize, amounts: Amounts) {
        add_execution(self.work[place].get_or_insert_default(), amounts);
    }
}

/// The suffix of the names of amounts that are times.
const TIME: &str = "_s";

/// Add an execution. An amount that one execution lacks is unknown for all: MariaDB 11.8 counts some
/// page requests later, and a mean over all executions would be too small.
///
/// Other programs lengthen times, so each execution counts with the shortest one.
fn add_execution(executed: &mut Executed, amounts: Amounts) {
    if executed.executions == 0 {
        executed.amounts = amounts
            .iter()
            .map(|(&name, _)| (name.to_owned(), 0.0))
            .collect();
    }
    let before = executed.executions;
    executed.executions += 1;
    let (earlier, all) = (before as f64, executed.executions as f64);
    executed.amounts.retain(|name, total| {
        let Some(&amount) = amounts.get(name.as_str()) else {
            return false;
        };
        match name.ends_with(TIME) && before > 0 {
            true => *total = amount.min(*total / earlier) * all,
            false => *total += amount,
        }
        true
    });
}

/// Return the statements that have a plan or work: the index, the plan or an empty text, and the
/// work.
pub fn beside_work(
    mut plans: BTreeMap<usize, String>,
    work: Work,
    statements: usize,
) -> impl Iterator<Item = (usize, String, Option<Executed>)> {
    let work = work.into_iter().chain(std::iter::repeat(None));
    (0..statements)
        .zip(work)
        .filter_map(move |(place, executed)| {
            let plan = plans.remove(&place);
            (plan.is_some() || executed.is_some())
                .then(|| (place, plan.unwrap_or_default(), executed))
        })
}

/// Return whether a statement only reads.
fn is_read(sql: &str) -> bool {
    let verb = sql.split_ascii_whitespace().next().unwrap_or_default();
    verb.eq_ignore_ascii_case("SELECT") || matches!(Part::of(sql), Part::Begins | Part::Ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_that_all_executions_have() {
        let mut executed = Executed::default();
        for amounts in [
            Amounts::from([("rows_read", 2.0), ("pages_hit", 8.0)]),
            Amounts::from([("rows_read", 3.0)]),
            Amounts::from([("rows_read", 4.0), ("pages_hit", 8.0)]),
        ] {
            add_execution(&mut executed, amounts);
        }
        assert_eq!(executed.executions, 3);
        assert_eq!(
            executed.amounts,
            BTreeMap::from([("rows_read".into(), 9.0)])
        );
    }

    #[test]
    fn times_are_those_of_the_shortest_execution() {
        let mut executed = Executed::default();
        for seconds in [4.0, 2.0, 3.0] {
            add_execution(&mut executed, Amounts::from([("planning_s", seconds)]));
        }
        assert_eq!(
            executed.amounts,
            BTreeMap::from([("planning_s".into(), 6.0)])
        );
    }

    #[test]
    fn statements_that_a_rollback_may_not_undo_are_told_apart() {
        for (sql, part) in [
            ("BEGIN", Part::Begins),
            ("start transaction read only;", Part::Begins),
            ("START REPLICA", Part::Other),
            ("COMMIT", Part::Ends),
            ("END", Part::Ends),
            ("ROLLBACK", Part::Ends),
            ("ROLLBACK TO SAVEPOINT a", Part::Other),
            ("SELECT 1", Part::Counted),
            ("DELETE FROM t;", Part::Counted),
            ("DELETE FROM t; COMMIT", Part::Other),
            ("BEGIN; DELETE FROM t", Part::Other),
            ("TRUNCATE t", Part::Other),
            ("CALL p()", Part::Other),
            ("", Part::Other),
        ] {
            assert_eq!(Part::of(sql), part, "{sql}");
        }
    }
}
