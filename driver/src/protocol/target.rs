//! The address of a server in the commands.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::secret::Secret;
use crate::measure::is_duration;
use crate::protocol::job::Second;
use crate::wire::{Failure, CONNECT_TIMEOUT};

/// A server: either `host` (TCP) or `socket`, its Unix socket or the directory of that (for MySQL
/// and MariaDB: of `mysql.sock`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `postgres`, `mysql`, `mariadb`, `sqlite`, `mongodb`, `ferretdb`, or one that speaks the
    /// protocol of one of these.
    pub dbms: String,
    /// The DBMS whose protocol and SQL the server has; absent: those of its own.
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
    /// The storage engine in which tables are made, where the DBMS has several.
    #[serde(default)]
    pub engine: Option<String>,
    /// The schema of the tables within the database, where the DBMS has schemas.
    #[serde(default)]
    pub schema: Option<String>,
    /// Whether others started the server, whose processes may be those of another machine.
    #[serde(default)]
    pub foreign: bool,
    /// How a TCP connection is encrypted; absent: not at all.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The length of the names of columns, where every row holds them.
    #[serde(default)]
    pub names: Names,
    /// Whether each write asks to wait for the disk, where that is for the client to say.
    #[serde(default)]
    pub journaled: bool,
    /// The database that has the user, where users are of databases; absent: `admin`.
    #[serde(default)]
    pub auth_source: Option<String>,
    /// The longest wait for an answer of the server outside of slices and steps; absent: for ever.
    #[serde(default)]
    pub patience: Option<Second>,
}

impl Target {
    /// Return the DBMS whose protocol and SQL the server has.
    pub fn protocol(&self) -> &str {
        self.protocol.as_deref().unwrap_or(&self.dbms)
    }

    /// Return the longest wait for an answer; None: for ever.
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

/// Return a wait in seconds as a duration.
pub fn longest_wait(patience: Option<Second>) -> Result<Option<Duration>, Failure> {
    match patience {
        Some(seconds) if !is_duration(seconds) => {
            Err(Failure::usage("patience has to be positive"))
        }
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
    /// The file of the authorities; absent: those that this machine trusts.
    #[serde(default)]
    pub authorities: Option<String>,
    /// The file of the client's certificate, which needs a key.
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
    /// The authority that has signed it.
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
