//! The single-row family: all clients update one row, and short ranges by either index.

use super::statements::{family_and_range, range, update_index, update_nonindex};
use super::template::{Draw, Expectation, Template};
use Draw::SharedId;
use Expectation::{Nothing, Rows};

/// Return the statement of a test.
pub fn transaction(test: &str) -> Option<Vec<Template>> {
    let statement = match (test, family_and_range(test)) {
        ("update-same-indexed", _) => update_index(SharedId, Rows(1)),
        ("update-same-notindexed", _) => update_nonindex(SharedId, Rows(1)),
        (_, Some(("range-pk", rows))) => range("c", "id", rows, Rows(rows)),
        (_, Some(("range-si-covered", rows))) => range("k", "k", rows, Nothing),
        (_, Some(("range-si-notcovered", rows))) => range("c", "k", rows, Nothing),
        _ => return None,
    };
    Some(vec![statement])
}
