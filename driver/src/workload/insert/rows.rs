//! The rows of a table. Row `i` is a pure function of seed, table and `i`, so that the tables of
//! two servers hold the same rows.

use crate::keys::{Sequence, Stream};
use crate::wire::Value;

pub const CASH_REGISTERS: u64 = 1_000;
pub const CUSTOMERS: u64 = 100_000;
pub const PRODUCTS: u64 = 10_000;
pub const PRICES: u64 = 500;

/// 2024-01-01.
const FIRST_SECOND: u64 = 1_704_067_200;
/// Purchases in the same second.
const ROWS_PER_SECOND: u64 = 1_000;
const SHORTEST_DATA: usize = 10;
const DATA_LENGTHS: u64 = 11;
const LONGEST_DATA: usize = 20;
/// The 32 letters, one for each value of five random bits.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyzABCDEF";
const FILLING: u8 = b'x';

/// The rows of one table.
#[derive(Clone)]
pub struct Rows {
    sequence: Sequence,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub second: i64,
    pub cash_register: i32,
    pub customer: i32,
    pub product: i32,
    pub price: f32,
    data: [u8; LONGEST_DATA],
    data_length: usize,
}

impl Rows {
    pub fn new(seed: u64, table: &str) -> Self {
        Self {
            sequence: Sequence::new(seed, table),
        }
    }

    pub fn row(&self, index: u64) -> Row {
        let mut stream = self.sequence.stream(index);
        let mut numbers = Shares(stream.draw());
        let mut row = Row {
            second: (FIRST_SECOND + index / ROWS_PER_SECOND) as i64,
            cash_register: numbers.below(CASH_REGISTERS) as i32,
            customer: numbers.below(CUSTOMERS) as i32,
            product: numbers.below(PRODUCTS) as i32,
            price: price(numbers.below(PRICES)),
            data: [FILLING; LONGEST_DATA],
            data_length: SHORTEST_DATA + numbers.below(DATA_LENGTHS) as usize,
        };
        let mut bits = stream.draw();
        for letter in &mut row.data[..row.data_length / 2] {
            *letter = LETTERS[(bits % 32) as usize];
            bits /= 32;
        }
        row
    }
}

/// Prices are exact in binary and in decimal.
fn price(step: u64) -> f32 {
    step as f32 * 0.25
}

/// Draw a price.
pub fn draw_price(stream: &mut Stream) -> f32 {
    price(stream.below(PRICES))
}

impl Row {
    /// Return the data; its first half is random, and its second half is filling.
    pub fn data(&self) -> &[u8] {
        &self.data[..self.data_length]
    }

    /// Append the values in the order of the columns.
    pub fn append(&self, values: &mut Vec<Value>, text: &mut Vec<u8>) {
        let start = text.len() as u32;
        text.extend_from_slice(self.data());
        values.extend_from_slice(&[
            Value::Timestamp(self.second),
            Value::Int(self.cash_register),
            Value::Int(self.customer),
            Value::Int(self.product),
            Value::Real(self.price),
            Value::Text {
                start,
                end: text.len() as u32,
            },
        ]);
    }
}

/// A source of several small uniform numbers from one random number: the low half of each product is
/// the random number for the next. The bounds' product is far below 2^64, so there are enough bits
/// for all of them.
struct Shares(u64);

impl Shares {
    fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.0) * u128::from(bound);
        self.0 = product as u64;
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn rows(seed: u64, table: &str) -> Vec<Row> {
        let rows = Rows::new(seed, table);
        (0..20_000).map(|index| rows.row(index)).collect()
    }

    #[test]
    fn a_row_depends_on_seed_table_and_index_alone() {
        let all = rows(7, "purchases1");
        assert_eq!(Rows::new(7, "purchases1").row(19_999), all[19_999]);
        assert_ne!(rows(8, "purchases1")[3], all[3]);
        assert_ne!(rows(7, "purchases2")[3], all[3]);
    }

    #[test]
    fn columns_have_as_many_values_as_they_should() {
        let all = rows(7, "purchases1");
        let distinct = |of: fn(&Row) -> u64| all.iter().map(of).collect::<HashSet<_>>();
        assert_eq!(distinct(|row| row.cash_register as u64).len(), 1_000);
        assert_eq!(distinct(|row| row.price.to_bits().into()).len(), 500);
        // 20,000 draws from 100,000 and 10,000 values yield about 18,130 and 8,650 distinct ones.
        assert!((17_900..18_400).contains(&distinct(|row| row.customer as u64).len()));
        assert!((8_500..8_800).contains(&distinct(|row| row.product as u64).len()));
        assert!(all.iter().all(|row| (0..100_000).contains(&row.customer)));
        assert!(all.iter().all(|row| (0..10_000).contains(&row.product)));
        assert_eq!(distinct(|row| row.data().len() as u64), (10..=20).collect());
    }

    #[test]
    fn numbers_of_one_draw_are_independent() {
        let all = rows(7, "purchases1");
        let pairs: HashSet<_> = all
            .iter()
            .map(|row| (row.cash_register / 100, row.product / 1_000))
            .collect();
        assert_eq!(pairs.len(), 100);
        let mean = |of: fn(&Row) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let covariance =
            mean(|row| f64::from(row.cash_register) * f64::from(row.data_length as u32))
                - mean(|row| row.cash_register.into()) * mean(|row| row.data_length as f64);
        // The product of the standard deviations (289 and 3.2) over the root of the count is 6.5.
        assert!(covariance.abs() < 30.0, "{covariance}");
    }

    #[test]
    fn half_of_the_data_is_random() {
        let all = rows(7, "purchases1");
        for row in &all {
            let (random, filling) = row.data().split_at(row.data().len() / 2);
            assert!(random.iter().all(|byte| byte.is_ascii_alphabetic()));
            assert!(filling.iter().all(|&byte| byte == FILLING));
        }
        let firsts: HashSet<_> = all.iter().map(|row| row.data()[0]).collect();
        assert_eq!(firsts.len(), 32);
        let starts: HashSet<_> = all.iter().map(|row| &row.data()[..5]).collect();
        assert!(starts.len() > 19_900, "{}", starts.len());
    }

    #[test]
    fn time_goes_on_with_the_rows() {
        let all = rows(7, "purchases1");
        assert!(all.windows(2).all(|pair| pair[0].second <= pair[1].second));
        assert_eq!(all[19_999].second - all[0].second, 19);
    }
}
