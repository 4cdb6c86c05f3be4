//! The JSON schema of commands and events, from the types themselves.

use schemars::{schema_for, JsonSchema};

use crate::protocol::event::Event;
use crate::protocol::job::Command;

/// The protocol: one command per input line, one event per output line.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Protocol {
    command: Command,
    event: Event,
}

/// Return the schema in the format of `schema.json`.
pub fn text() -> String {
    let schema = schema_for!(Protocol);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_is_the_generated_one() {
        let committed = include_str!("../../schema.json");
        assert!(
            committed == super::text(),
            "schema.json is stale: slowdust-driver --schema > driver/schema.json"
        );
    }
}
