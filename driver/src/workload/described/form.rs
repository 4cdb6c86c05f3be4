//! The conversion of drawn numbers and literals to values.

use std::io::Write as _;

use crate::client::operation::Operation;
use crate::protocol::described::{DescribedType, Literal};
use crate::wire::calendar::DateTime;
use crate::wire::Value;

/// The form of a value for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Int,
    Bigint,
    Real,
    Timestamp,
    Text,
    /// As a text that the server converts.
    Written,
}

/// A value that is known before drawing.
pub enum Fixed {
    Value(Value),
    Text(Vec<u8>),
}

impl Form {
    pub fn of(kind: &DescribedType) -> Self {
        match kind {
            DescribedType::Int => Self::Int,
            DescribedType::Bigint => Self::Bigint,
            DescribedType::Real => Self::Real,
            DescribedType::Timestamp => Self::Timestamp,
            DescribedType::Varchar { .. } | DescribedType::Char { .. } | DescribedType::Text => {
                Self::Text
            }
            DescribedType::Vector { .. } | DescribedType::Sql { .. } => Self::Written,
        }
    }

    pub fn is_number(self) -> bool {
        !matches!(self, Self::Text | Self::Written)
    }

    pub fn check_range(self, low: i64, high: i64) -> Result<(), String> {
        let fits = |number| i32::try_from(number).is_ok();
        if self == Self::Int && !(fits(low) && fits(high)) {
            return Err(format!("{low} to {high} exceeds the range of int"));
        }
        let is_date = |number| DateTime::SECONDS.contains(&number);
        if self == Self::Timestamp && !(is_date(low) && is_date(high)) {
            return Err(format!(
                "{low} to {high} exceeds the seconds of four-digit years"
            ));
        }
        Ok(())
    }

    pub fn push(self, number: i64, scale: u32, operation: &mut Operation) {
        let value = match self {
            Self::Int => Value::Int(number as i32),
            Self::Bigint => Value::BigInt(number),
            Self::Real => Value::Real((number as f64 / 10f64.powi(scale as i32)) as f32),
            Self::Timestamp => Value::Timestamp(number),
            Self::Text | Self::Written => {
                return self.append_text(operation, |text| write_decimal(number, scale, text));
            }
        };
        operation.values.push(value);
    }

    pub fn append_text(self, operation: &mut Operation, write: impl FnOnce(&mut Vec<u8>)) {
        let start = operation.text.len() as u32;
        write(&mut operation.text);
        let end = operation.text.len() as u32;
        operation.values.push(match self {
            Self::Written => Value::Written { start, end },
            _ => Value::Text { start, end },
        });
    }

    /// Convert a literal to a value of this form.
    pub fn fix(self, literal: &Literal) -> Result<Fixed, String> {
        let wrong = || Err(format!("{literal:?} is not a value of the type"));
        Ok(Fixed::Value(match (self, literal) {
            (_, Literal::Null(())) => Value::Null,
            (Self::Int, Literal::Whole(number)) => match i32::try_from(*number) {
                Ok(number) => Value::Int(number),
                Err(_) => return wrong(),
            },
            (Self::Bigint, Literal::Whole(number)) => Value::BigInt(*number),
            (Self::Timestamp, Literal::Whole(number)) => {
                self.check_range(*number, *number)?;
                Value::Timestamp(*number)
            }
            (Self::Real, Literal::Whole(number)) => Value::Real(*number as f32),
            (Self::Real, Literal::Number(number)) => Value::Real(*number as f32),
            (Self::Text | Self::Written, literal) => {
                return Ok(Fixed::Text(match literal {
                    Literal::Text(text) => text.clone().into_bytes(),
                    Literal::Whole(number) => number.to_string().into_bytes(),
                    Literal::Number(number) => number.to_string().into_bytes(),
                    Literal::Null(()) => Vec::new(),
                }))
            }
            _ => return wrong(),
        }))
    }
}

impl Fixed {
    /// Return the bytes of its text.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Value(_) => 0,
            Self::Text(text) => text.len(),
        }
    }

    pub fn append(&self, form: Form, operation: &mut Operation) {
        match self {
            Self::Value(value) => operation.values.push(*value),
            Self::Text(fixed) => form.append_text(operation, |text| text.extend_from_slice(fixed)),
        }
    }
}

fn write_decimal(number: i64, scale: u32, text: &mut Vec<u8>) {
    if scale == 0 {
        return write!(text, "{number}").expect("memory");
    }
    let unit = 10u64.pow(scale);
    let sign = if number < 0 { "-" } else { "" };
    let (whole, part) = (number.unsigned_abs() / unit, number.unsigned_abs() % unit);
    write!(text, "{sign}{whole}.{part:0width$}", width = scale as usize).expect("memory");
}
