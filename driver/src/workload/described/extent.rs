//! Limits on the size of a test, so that no description needs more memory than there is.

use super::draw::Source;
use super::PlannedCall;
use crate::protocol::job::Statements;

const MOST_CALLS: usize = 1 << 20;
const MOST_VALUES: usize = 1 << 24;
/// Offsets of texts have 32 bits.
const MOST_BYTES: usize = 1 << 30;

/// The statements of all transactions, their values, and the most bytes of their texts.
#[derive(Default)]
pub struct Extent {
    calls: usize,
    values: usize,
    bytes: usize,
}

impl Extent {
    /// Add a call with all its repetitions, and return the number of its values.
    pub fn add(&mut self, call: &PlannedCall, sql: &str) -> Result<usize, String> {
        let repeat = call.repeat as usize;
        let values: usize = call.sources.iter().map(Source::count).sum();
        let values = values.saturating_mul(repeat);
        let texts = bytes_of(&call.sources);
        let bytes = match call.form {
            Statements::Prepared => texts,
            // Values are followed by their literals, where each byte may be doubled.
            Statements::Text => texts.saturating_mul(3).saturating_add(sql.len()),
        };
        self.calls = self.calls.saturating_add(repeat);
        self.values = self.values.saturating_add(values);
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(repeat));
        check(self.calls, MOST_CALLS, "statements")?;
        check(self.values, MOST_VALUES, "values")?;
        check(self.bytes, MOST_BYTES, "bytes of values")?;
        Ok(values)
    }
}

/// Check that the values of a row are not too long.
pub fn check_row(sources: &[Source]) -> Result<(), String> {
    check(bytes_of(sources), MOST_BYTES, "bytes of values")
}

/// Return the most bytes of all values as texts.
fn bytes_of(sources: &[Source]) -> usize {
    let each = sources
        .iter()
        .map(|source| source.count().saturating_mul(source.most_bytes()));
    each.fold(0, usize::saturating_add)
}

fn check(number: usize, most: usize, what: &str) -> Result<(), String> {
    if number > most {
        return Err(format!("{number} {what} exceed the limit of {most}"));
    }
    Ok(())
}
