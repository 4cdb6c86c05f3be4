//! The address of a server in the commands.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::secret::Secret;
use crate::measure::is_duration;
use crate::protocol::job::Second;
use crate::wire::{Failure, CONNECT_TIMEOUT};

/// A server: either `host` (TCP) or `socket`, its Unix socket or the socket's directory (for MySQL
/// and MariaDB: the directory of `mysql.sock`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `postgres`, `mysql`, `mariadb`, `sqlite`, `mongodb`, `ferretdb`, or a DBMS that speaks the
    /// protocol of one of these.
    pub dbms: String,
    /// The DBMS whose protocol and SQL the server uses; absent: its own.
    #[serde(default)]
    pub protocol: Option<String>,
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub socket: Option<String>,
    pub port: u16,
    pub user: String,
    #[serde(default)]
    pub password: Option<Secret>,
    pub database: String,
    /// The storage engine for new tables, if the DBMS has several.
    #[serde(default)]
    pub engine: Option<String>,
    /// The schema of the tables in the database, if the DBMS has schemas.
    #[serde(default)]
    pub schema: Option<String>,
    /// Whether Slowdust did not start the server, so that its processes may be on another machine.
    #[serde(default)]
    pub foreign: bool,
    /// Encryption of a TCP connection; absent: none.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The length of column names, for DBMSs whose rows contain them.
    #[serde(default)]
    pub names: Names,
    /// Whether each write waits for the disk, if that is the client's choice.
    #[serde(default)]
    pub journaled: bool,
    /// The database that defines the user, if users belong to databases; absent: `admin`.
    #[serde(default)]
    pub auth_source: Option<String>,
    /// The time limit for an answer of the server outside of slices and steps; absent: no limit.
    #[serde(default)]
    pub patience: Option<Second>,
}

impl Target {
    /// Return the DBMS whose protocol and SQL the server uses.
    pub fn protocol(&self) -> &str {
        self.protocol.as_deref().unwrap_or(&self.dbms)
    }

    /// Return the time limit for an answer; None: no limit.
    pub fn patience(&self) -> Result<Option<Duration>, Failure> {
        longest_wait(self.patience)
    }

    /// Return the target for a connection that only cancels another one.
    pub fn for_cancelling(&self) -> Self {
        Self {
            patience: Some(CONNECT_TIMEOUT.as_secs_f64()),
            ..self.clone()
        }
    }
}

/// Convert a wait in seconds to a duration.
pub fn longest_wait(patience: Option<Second>) -> Result<Option<Duration>, Failure> {
    match patience {
        Some(seconds) if !is_duration(seconds) => Err(Failure::usage("patience must be positive")),
        other => Ok(other.map(Duration::from_secs_f64)),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    #[default]
    Long,
    Short,
}

/// The encryption of a connection. All files are in PEM.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    pub verify: Verify,
    /// The file with the certificate authorities; absent: the machine's.
    #[serde(default)]
    pub authorities: Option<String>,
    /// The file with the client's certificate, which needs a key.
    #[serde(default)]
    pub certificate: Option<String>,
    #[serde(default)]
    pub key: Option<String>,
}

/// The part of a server's certificate that is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    Nothing,
    /// The authority that signed it.
    Authority,
    /// The authority and the name of the host.
    Identity,
}

#[cfg(test)]
impl Target {
    /// Return a target over a Unix socket for tests that do not connect to it.
    pub fn of_test(dbms: &str, password: Option<&str>) -> Self {
        Self {
            dbms: dbms.into(),
            protocol: None,
            host: None,
            socket: Some("/".into()),
            port: 0,
            user: "ann".into(),
            password: password.map(Secret::new),
            database: "db".into(),
            engine: None,
            schema: None,
            foreign: false,
            tls: None,
            names: Names::Long,
            journaled: false,
            auth_source: None,
            patience: None,
        }
    }
}
