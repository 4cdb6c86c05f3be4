//! Tests of data that exceeds the server's page cache: reads and updates of single rows, uniform over
//! wide rows, so that nearly every operation needs a page that is not cached.

use super::statements::{select, update_index, update_nonindex};
use super::template::{Draw, Expectation, Template};

/// Return the statement of a test.
pub fn transaction(test: &str) -> Option<Vec<Template>> {
    let one_row = Expectation::Rows(1);
    let statement = match test {
        "page-read-peak" => select("c, pad", "id = ?", &[Draw::Key], one_row),
        "update-beyond-pool" => update_nonindex(Draw::Key, one_row),
        "update-beyond-pool-si" => update_index(Draw::Key, one_row),
        _ => return None,
    };
    Some(vec![statement])
}
