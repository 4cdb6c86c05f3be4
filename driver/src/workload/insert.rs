//! The Insert Benchmark over the tables `purchases1`..`purchasesN`: inserts at the tail of a table,
//! deletes at its head, and queries between.

mod deletes;
mod indexes;
mod inserts;
mod queries;
mod rows;
mod tables;

pub use deletes::Deletes;
pub use indexes::Indexes;
pub use inserts::{Inserts, MOST_ROWS_PER_COMMIT};
pub use queries::{Queries, INDEXES};
pub use tables::{create, Table};
