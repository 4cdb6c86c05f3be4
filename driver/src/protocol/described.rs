//! Tables and tests that are described by commands.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::job::Statements;

/// Tables with the generators of their rows.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedTables {
    /// Statements that are executed before any table is created.
    #[serde(default)]
    pub before: Vec<String>,
    pub tables: Vec<DescribedTable>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedTable {
    pub name: String,
    pub rows: u64,
    pub columns: Vec<DescribedColumn>,
    #[serde(default)]
    pub primary_key: Vec<String>,
    /// Definitions within the parentheses of CREATE TABLE other than columns and primary key.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// The text after the parentheses.
    #[serde(default)]
    pub options: String,
    /// Statements that are executed after the rows are loaded. `{index_options}` is replaced by the
    /// DBMS's options after the columns of an index.
    #[serde(default)]
    pub after: Vec<String>,
}

/// A column. Its values are never NULL unless a choice says so.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedColumn {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: DescribedType,
    pub values: Draw,
    /// Whether statements may write NULL into it.
    #[serde(default)]
    pub nullable: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum DescribedType {
    Int,
    Bigint,
    /// 32 bits.
    Real,
    /// A date and a time of day without a time zone.
    Timestamp,
    Varchar {
        length: u32,
    },
    Char {
        length: u32,
    },
    Text,
    Vector {
        dimensions: u32,
    },
    /// Any other type by name; its values are sent as text that the server converts.
    Sql {
        name: String,
    },
}

/// A test; each operation is one of its transactions.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedTest {
    /// Statements that each connection executes before it prepares others.
    #[serde(default)]
    pub session: Vec<String>,
    pub transactions: Vec<DescribedTransaction>,
    /// Sets of tuples that statements draw from.
    #[serde(default)]
    pub samples: Vec<Vec<Vec<Literal>>>,
    /// The role of its operations in measuring the freshness of the data that queries see.
    #[serde(default)]
    pub freshness: Option<Freshness>,
}

/// The role of operations in measuring freshness. A transaction writes its own index in the test's
/// sequence into the row of its client, whose number is index % clients.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Freshness {
    /// Each operation writes such a row and commits.
    Writes,
    /// Each operation leaves a transaction open. In its snapshot this statement reads all rows (number
    /// and index), before it is committed.
    Reads { statement: String },
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedTransaction {
    pub name: String,
    /// The share of operations, relative to the other weights.
    #[serde(default = "equal_weight")]
    pub weight: f64,
    pub calls: Vec<DescribedCall>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedCall {
    /// The statement with `?` for its values.
    pub sql: String,
    #[serde(default)]
    pub values: Vec<DescribedValue>,
    /// The number of rows that it returns or changes; absent: any.
    #[serde(default)]
    pub rows: Option<u64>,
    #[serde(default = "prepared")]
    pub form: Statements,
    /// Consecutive executions, each with other values.
    #[serde(default = "one")]
    pub repeat: u32,
}

fn equal_weight() -> f64 {
    1.0
}

fn prepared() -> Statements {
    Statements::Prepared
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedValue {
    #[serde(rename = "type")]
    pub kind: DescribedType,
    pub draw: Draw,
}

/// The source of a value: a function of the seed, of the table or test, and of an index (of the row,
/// or of the operation in its sequence, from 0). Ranges include both ends.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "lowercase", deny_unknown_fields)]
pub enum Draw {
    /// `start + step * index`
    Serial {
        start: i64,
        #[serde(default = "one_step")]
        step: i64,
    },
    /// `start + index / each % count`
    Cycle { start: i64, each: u64, count: u64 },
    /// `values[index % n] + step * (index / n % count)` for n values
    Listed {
        values: Vec<i64>,
        #[serde(default)]
        step: i64,
        #[serde(default = "one_round")]
        count: u64,
    },
    Uniform {
        low: i64,
        high: i64,
        /// Digits after the point.
        #[serde(default)]
        scale: u32,
    },
    /// The most frequent numbers are scattered over the range.
    Zipf { low: i64, high: i64, exponent: f64 },
    /// The first and the last of `count` adjacent numbers: two values.
    Span { low: i64, high: i64, count: u64 },
    /// `count` distinct numbers.
    Distinct { low: i64, high: i64, count: u64 },
    /// A number that no other client draws.
    Own { low: i64, high: i64 },
    Text {
        shortest: u32,
        longest: u32,
        #[serde(default)]
        alphabet: Alphabet,
    },
    Choice {
        values: Vec<Literal>,
        /// One weight per value; absent: equal weights.
        #[serde(default)]
        weights: Option<Vec<f64>>,
    },
    /// The value with this index in the transaction.
    Same { place: usize },
    /// A column of a tuple, the same tuple for all values of a call.
    Sample { set: usize, column: usize },
    /// The next vector in a file of 32-bit numbers, little-endian.
    Vectors {
        file: String,
        #[serde(default)]
        encoding: Encoding,
    },
}

impl Draw {
    pub fn may_be_null(&self) -> bool {
        matches!(self, Self::Choice { values, .. } if values.contains(&Literal::Null(())))
    }
}

fn one_round() -> u64 {
    1
}

fn one_step() -> i64 {
    1
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Alphabet {
    #[default]
    Letters,
    Digits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// `[0.5,1]`
    #[default]
    Text,
    /// The bytes as in the file.
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Literal {
    Whole(i64),
    Number(f64),
    Text(String),
    Null(()),
}
