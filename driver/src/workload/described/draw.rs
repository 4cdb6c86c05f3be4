//! The sources of values: checked descriptions in a form that draws quickly.

use super::cumulative::Cumulative;
use super::form::{Fixed, Form};
use super::vectors::{EncodedVectors, Vectors};
use crate::client::operation::Operation;
use crate::keys::{DistinctSampler, Stream, Zipf};
use crate::protocol::described::{
    Alphabet, DescribedColumn, DescribedTest, DescribedType, DescribedValue, Draw, Encoding,
};
use crate::wire::Value;
use crate::workload::Shape;

/// Maximum number of digits after the point, as many as a 64-bit number has.
const MOST_DIGITS: u32 = 18;
/// Maximum number of bytes of a number as text.
const BYTES_OF_NUMBER: usize = 24;
/// The largest exponent of Zipf's distribution.
const MOST_EXPONENT: f64 = 10.0;

/// The state for drawing the values of a row or of an operation.
pub struct Draws<'a> {
    pub stream: Stream,
    pub sampler: &'a mut DistinctSampler,
    pub index: u64,
    pub client: u64,
    pub clients: u64,
    /// The index of the transaction's first value within the operation.
    pub first_value: usize,
    /// The drawn tuple of each set, for the current call.
    pub tuples: &'a mut [u64],
}

/// The source of one or several values.
pub struct Source {
    form: Form,
    kind: Kind,
}

enum Kind {
    Serial {
        start: i64,
        step: i64,
    },
    Cycle {
        start: i64,
        each: u64,
        count: u64,
    },
    Listed {
        values: Vec<i64>,
        step: i64,
        count: u64,
    },
    Uniform {
        low: i64,
        count: u64,
        scale: u32,
    },
    Zipf {
        low: i64,
        zipf: Zipf,
    },
    Span {
        low: i64,
        starts: u64,
        count: u64,
    },
    Distinct {
        low: i64,
        bound: u64,
        count: u64,
    },
    Own {
        low: i64,
        count: u64,
    },
    Text {
        shortest: u64,
        lengths: u64,
        letters: &'static [u8],
    },
    Choice {
        values: Vec<Fixed>,
        weights: Cumulative,
    },
    Same {
        place: usize,
    },
    Sample {
        set: usize,
        values: Vec<Fixed>,
    },
    Vectors {
        vectors: Vectors,
        encoding: Encoding,
    },
    EncodedVectors {
        vectors: EncodedVectors,
        encoding: Encoding,
    },
}

impl Source {
    /// Return the source of a column of a table with `rows` rows.
    pub fn of_column(column: &DescribedColumn, rows: u64) -> Result<Self, String> {
        let form = Form::of(&column.kind);
        let kind = match &column.values {
            &Draw::Serial { start, step } => {
                let last =
                    i128::from(start) + i128::from(step) * i128::from(rows.saturating_sub(1));
                let last = i64::try_from(last).map_err(|_| "the numbers are too large")?;
                form.check_range(start.min(last), start.max(last))?;
                Kind::Serial { start, step }
            }
            Draw::Vectors { file, encoding } => Kind::Vectors {
                vectors: Vectors::open(file, dimensions(&column.kind)?, *encoding)?,
                encoding: *encoding,
            },
            Draw::Span { .. }
            | Draw::Distinct { .. }
            | Draw::Own { .. }
            | Draw::Same { .. }
            | Draw::Sample { .. } => {
                return Err(format!(
                    "{} uses a draw that only statements support",
                    column.name
                ))
            }
            draw => Kind::of(draw, form)?,
        };
        Ok(Self { form, kind })
    }

    /// Return the source of a statement's value; `place` values precede it in its transaction.
    pub fn of_statement(
        value: &DescribedValue,
        test: &DescribedTest,
        shape: Shape,
        values_before: usize,
    ) -> Result<Self, String> {
        let form = Form::of(&value.kind);
        let kind = match &value.draw {
            &Draw::Serial { start, step } => Kind::Serial { start, step },
            &Draw::Span { low, high, count } => {
                form.check_range(low, high)?;
                let starts = starts(low, high, count)?;
                Kind::Span { low, starts, count }
            }
            &Draw::Distinct { low, high, count } => {
                form.check_range(low, high)?;
                starts(low, high, count)?;
                let bound = size(low, high)?;
                Kind::Distinct { low, bound, count }
            }
            &Draw::Own { low, high } => {
                form.check_range(low, high)?;
                let count = size(low, high)?;
                if count < shape.clients {
                    return Err(format!(
                        "{count} numbers cannot be divided among {} clients",
                        shape.clients
                    ));
                }
                Kind::Own { low, count }
            }
            &Draw::Same { place } if place >= values_before => {
                return Err(format!("value {place} is not drawn before"))
            }
            &Draw::Same { place } => Kind::Same { place },
            &Draw::Sample { set, column } => {
                let tuples = test.samples.get(set).filter(|tuples| !tuples.is_empty());
                let tuples = tuples.ok_or_else(|| format!("there is no sample {set}"))?;
                let values = tuples.iter().map(|tuple| {
                    let literal = tuple.get(column);
                    form.fix(literal.ok_or_else(|| format!("a sample has no column {column}"))?)
                });
                let values = values.collect::<Result<_, String>>()?;
                Kind::Sample { set, values }
            }
            Draw::Vectors { file, encoding } => {
                let vectors = Vectors::open(file, dimensions(&value.kind)?, *encoding)?;
                Kind::EncodedVectors {
                    vectors: EncodedVectors::of(&vectors)?,
                    encoding: *encoding,
                }
            }
            draw => Kind::of(draw, form)?,
        };
        Ok(Self { form, kind })
    }

    /// Return the number of its values.
    pub fn count(&self) -> usize {
        match self.kind {
            Kind::Span { .. } => 2,
            Kind::Distinct { count, .. } => count as usize,
            _ => 1,
        }
    }

    /// Return the most bytes that the text of each value has.
    pub fn most_bytes(&self) -> usize {
        let longest = |values: &[Fixed]| values.iter().map(Fixed::bytes).max().unwrap_or(0);
        match &self.kind {
            Kind::Text {
                shortest, lengths, ..
            } => (shortest + lengths - 1) as usize,
            Kind::Choice { values, .. } | Kind::Sample { values, .. } => longest(values),
            Kind::EncodedVectors { vectors, .. } => vectors.most_bytes(),
            _ => BYTES_OF_NUMBER,
        }
    }

    /// Return the set of tuples that it draws from.
    pub fn set(&self) -> Option<usize> {
        match self.kind {
            Kind::Sample { set, .. } => Some(set),
            _ => None,
        }
    }

    /// Append the values to the operation.
    pub fn append(&self, draws: &mut Draws<'_>, operation: &mut Operation) -> Result<(), String> {
        let form = self.form;
        let mut push = |number| form.push(number, 0, operation);
        match &self.kind {
            Kind::Serial { start, step } => {
                push(start.wrapping_add(step.wrapping_mul(draws.index as i64)));
            }
            Kind::Cycle { start, each, count } => {
                push(start + (draws.index / each % count) as i64);
            }
            Kind::Listed {
                values,
                step,
                count,
            } => {
                let listed = values.len() as u64;
                let value = values[(draws.index % listed) as usize];
                push(value + step * (draws.index / listed % count) as i64);
            }
            Kind::Uniform { low, count, scale } => {
                let number = low + draws.stream.below(*count) as i64;
                form.push(number, *scale, operation);
            }
            Kind::Zipf { low, zipf } => push(low + (zipf.key(&mut draws.stream) - 1) as i64),
            Kind::Span { low, starts, count } => {
                let first = low + draws.stream.below(*starts) as i64;
                push(first);
                push(first + (*count - 1) as i64);
            }
            Kind::Distinct { low, bound, count } => {
                let take = |number| push(low + (number - 1) as i64);
                draws
                    .sampler
                    .sample(&mut draws.stream, *count, *bound, take);
            }
            Kind::Own { low, count } => {
                let own = (count - draws.client).div_ceil(draws.clients);
                let number = draws.client + draws.clients * draws.stream.below(own);
                push(low + number as i64);
            }
            Kind::Text {
                shortest,
                lengths,
                letters,
            } => {
                let length = shortest + draws.stream.below(*lengths);
                form.append_text(operation, |text| {
                    for _ in 0..length {
                        text.push(letters[draws.stream.below(letters.len() as u64) as usize]);
                    }
                });
            }
            Kind::Choice { values, weights } => {
                values[weights.draw(&mut draws.stream)].append(form, operation);
            }
            Kind::Same { place } => {
                let value = operation.values[draws.first_value + place];
                operation.values.push(value);
            }
            Kind::Sample { set, values } => {
                values[draws.tuples[*set] as usize].append(form, operation);
            }
            Kind::Vectors { vectors, encoding } => {
                let start = operation.text.len() as u32;
                vectors.write(draws.index, &mut operation.text)?;
                operation.values.push(encoded(*encoding, start, operation));
            }
            Kind::EncodedVectors { vectors, encoding } => {
                let start = operation.text.len() as u32;
                operation.text.extend_from_slice(vectors.get(draws.index));
                operation.values.push(encoded(*encoding, start, operation));
            }
        }
        Ok(())
    }
}

fn encoded(encoding: Encoding, start: u32, operation: &Operation) -> Value {
    let end = operation.text.len() as u32;
    match encoding {
        Encoding::Text => Value::Written { start, end },
        Encoding::Bytes => Value::Bytes { start, end },
    }
}

impl Kind {
    /// Return the draw, for the kinds that columns and statements share.
    fn of(draw: &Draw, form: Form) -> Result<Self, String> {
        Ok(match draw {
            &Draw::Cycle { start, each, count } => {
                if each == 0 || count == 0 {
                    return Err("a cycle needs numbers, and each at least once".into());
                }
                let last = start.checked_add_unsigned(count - 1);
                form.check_range(start, last.ok_or("the numbers are too large")?)?;
                Self::Cycle { start, each, count }
            }
            Draw::Listed {
                values,
                step,
                count,
            } => {
                if values.is_empty() || *count == 0 {
                    return Err("a list needs values, and at least one round".into());
                }
                let last = i128::from(*step) * i128::from(count - 1);
                for &value in values {
                    let end = i64::try_from(i128::from(value) + last);
                    let end = end.map_err(|_| "the numbers are too large")?;
                    form.check_range(value.min(end), value.max(end))?;
                }
                Self::Listed {
                    values: values.clone(),
                    step: *step,
                    count: *count,
                }
            }
            &Draw::Uniform { low, high, scale } => {
                form.check_range(low, high)?;
                if scale > MOST_DIGITS {
                    return Err(format!("{scale} digits exceed the limit of {MOST_DIGITS}"));
                }
                let count = size(low, high)?;
                Self::Uniform { low, count, scale }
            }
            &Draw::Zipf {
                low,
                high,
                exponent,
            } => {
                form.check_range(low, high)?;
                if !(0.0..=MOST_EXPONENT).contains(&exponent) || exponent == 0.0 || exponent == 1.0
                {
                    return Err(format!(
                        "the exponent {exponent} must be positive, at most {MOST_EXPONENT}, and not 1"
                    ));
                }
                let zipf = Zipf::new(size(low, high)?, exponent);
                Self::Zipf { low, zipf }
            }
            &Draw::Text {
                shortest,
                longest,
                alphabet,
            } => {
                if shortest > longest || form.is_number() {
                    return Err(format!(
                        "texts of {shortest} to {longest} letters cannot be drawn"
                    ));
                }
                Self::Text {
                    shortest: shortest.into(),
                    lengths: u64::from(longest - shortest) + 1,
                    letters: match alphabet {
                        Alphabet::Letters => b"abcdefghijklmnopqrstuvwxyz",
                        Alphabet::Digits => b"0123456789",
                    },
                }
            }
            Draw::Choice { values, weights } => {
                let equal = || vec![1.0; values.len()];
                let weights = Cumulative::of(&weights.clone().unwrap_or_else(equal))?;
                if weights.len() != values.len() {
                    return Err(format!(
                        "{} weights for {} values",
                        weights.len(),
                        values.len()
                    ));
                }
                let values = values.iter().map(|literal| form.fix(literal));
                let values = values.collect::<Result<_, String>>()?;
                Self::Choice { values, weights }
            }
            other => return Err(format!("{other:?} is not supported here")),
        })
    }
}

/// Return the number of integers in a range.
fn size(low: i64, high: i64) -> Result<u64, String> {
    let size = high.checked_sub(low).filter(|difference| *difference >= 0);
    let size = size.ok_or_else(|| format!("{low} to {high} is not a range"))?;
    Ok(size as u64 + 1)
}

/// Return the number of positions of `count` adjacent numbers in a range.
fn starts(low: i64, high: i64, count: u64) -> Result<u64, String> {
    let size = size(low, high)?;
    if count == 0 || count > size {
        return Err(format!(
            "{count} numbers cannot be drawn from {low} to {high}"
        ));
    }
    Ok(size - count + 1)
}

fn dimensions(kind: &DescribedType) -> Result<u32, String> {
    match kind {
        DescribedType::Vector { dimensions } => Ok(*dimensions),
        _ => Err("vectors need columns of the type vector".into()),
    }
}
