//! Secrets in the commands.

use std::fmt;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

/// A text that prints as `***`; `reveal` is the only way to read it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    #[cfg(test)]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Return the text, to send it (or a proof of it) to the server that it is for.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    /// Read a string; errors do not contain the value, as serde's own would.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)
            .map(Self)
            .map_err(|_| serde::de::Error::custom("a password must be a string"))
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::target::Target;

    #[test]
    fn a_password_is_not_printed() {
        let target = Target::of_test("postgres", Some("pencil"));
        let printed = format!("{target:?}");
        assert!(printed.contains("***"), "{printed}");
        assert!(!printed.contains("pencil"), "{printed}");
    }

    #[test]
    fn errors_do_not_have_a_password() {
        for password in ["1234567", "[\"pencil\"]", "{\"pencil\": 1}"] {
            let line = format!(
                "{{\"dbms\": \"postgres\", \"port\": 1, \"user\": \"u\", \"database\": \"d\", \
                 \"password\": {password}}}"
            );
            let error = serde_json::from_str::<Target>(&line)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("a password must be a string"), "{error}");
            assert!(
                !error.contains("pencil") && !error.contains("1234567"),
                "{error}"
            );
        }
    }
}
