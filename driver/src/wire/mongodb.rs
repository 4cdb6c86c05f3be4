//! MongoDB 3.6 and newer, and compatible servers: OP_MSG, one command and one reply at a time.
//!
//! Commands are BSON that is built once, with holes for values; of a reply, the outcome is read and
//! the documents are counted.

mod command;
mod dialect;
mod load;
mod plan;
mod reply;
mod scram;
mod statement;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use bson::spec::BinarySubtype;
use bson::{doc, Binary, Bson, Document};

use self::command::{key_of, Command, Encoder, Field};
use self::load::Inserts;
use self::reply::MessageHeader;
use self::scram::Scram;
use super::frames::Frames;
use super::interrupt::Interrupt;
use super::socket::Socket;
use super::{
    Amounts, BulkLoad, Connection, Failure, Reply, Request, ServerError, Session, Table,
    TextQueries, Traffic, Wire,
};
use crate::protocol::secret::Secret;
use crate::protocol::target::{Names, Target};

pub const WIRE: Wire = Wire {
    connect: |target| Ok(Box::new(MongoConnection::connect(target)?)),
    dialect: &dialect::LONG_NAMES,
    in_process: false,
};

/// The wire version of 3.6, the first with OP_MSG.
const OLDEST_WIRE_VERSION: i64 = 6;
/// A statement without a result in MongoDB if there are no documents, because there is no group.
const COUNT: &str = "SELECT COUNT(";
const NOT_FOUND: &str = "mongodb/26";
const NONCE_SIZE: usize = 18;
/// The database of commands about the whole server; it defines most users.
const ADMIN: &str = "admin";

pub struct MongoConnection {
    socket: Socket,
    frames: Frames<MessageHeader>,
    encoder: Encoder,
    database: String,
    names: Names,
    journaled: bool,
    prepared: Vec<Command>,
}

impl MongoConnection {
    fn connect(target: &Target) -> Result<Self, Failure> {
        let name = format!("mongodb-{}.sock", target.port);
        let mut socket = Socket::connect(target, &name)?;
        if target.tls.is_some() {
            socket = socket.secure(target)?;
        }
        let mut connection = Self::over(socket, &target.database, target.names);
        connection.journaled = target.journaled;
        let hello = connection.run(&doc! { "isMaster": 1 }, ADMIN)?;
        match hello.get("maxWireVersion").and_then(number) {
            Some(version) if version >= OLDEST_WIRE_VERSION => {}
            _ => {
                return Err(Failure::usage(
                    "servers before MongoDB 3.6 are not supported",
                ))
            }
        }
        if let Some(password) = &target.password {
            let source = target.auth_source.as_deref().unwrap_or(ADMIN);
            connection.authenticate(&target.user, password, source)?;
        }
        connection.socket.be_patient(target.patience()?)?;
        Ok(connection)
    }

    fn over(socket: Socket, database: &str, names: Names) -> Self {
        Self {
            socket,
            frames: Frames::new(),
            encoder: Encoder::default(),
            database: database.to_owned(),
            names,
            journaled: false,
            prepared: Vec::new(),
        }
    }

    /// Authenticate as a user of the database `source`.
    fn authenticate(&mut self, user: &str, password: &Secret, source: &str) -> Result<(), Failure> {
        let mut nonce = [0; NONCE_SIZE];
        getrandom::fill(&mut nonce).map_err(Failure::usage)?;
        let scram = Scram::new(user, password, &STANDARD.encode(nonce));
        let start = doc! {
            "saslStart": 1,
            "mechanism": scram::MECHANISM,
            "payload": payload(&scram.first_message()),
            "options": { "skipEmptyExchange": true },
        };
        let challenge = self.run(&start, source).map_err(refused)?;
        let proof = scram.answer(&text_of(&challenge)?)?;
        let conversation = challenge
            .get("conversationId")
            .cloned()
            .unwrap_or(Bson::Int32(1));
        let next = |message: &str| {
            doc! {
                "saslContinue": 1,
                "conversationId": conversation.clone(),
                "payload": payload(message),
            }
        };
        let mut last = self.run(&next(&proof.message), source).map_err(refused)?;
        proof.verify(&text_of(&last)?)?;
        while matches!(last.get_bool("done"), Ok(false)) {
            last = self.run(&next(""), source).map_err(refused)?;
        }
        Ok(())
    }

    /// Run a command on a database, unless the command names another one, and return the successful
    /// reply.
    fn run(&mut self, command: &Document, database: &str) -> Result<Document, Failure> {
        let command = on_database(command.clone(), database);
        self.socket.send(self.encoder.command(&command)?)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Document, Failure> {
        let frame = self.frames.wait(&mut self.socket)?;
        let document = reply::document(frame.header, frame.body)?;
        match reply::read(document)?.error {
            Some(error) => Err(Failure::Server(error)),
            None => bson::deserialize_from_slice(document).map_err(Failure::protocol),
        }
    }

    /// Parse a text: a command as JSON, or a statement of a workload.
    fn parse(&self, text: &str) -> Result<Document, Failure> {
        if is_json(text) {
            serde_json::from_str(text).map_err(Failure::usage)
        } else {
            let command = statement::command(text, self.names)?;
            Ok(self.with_concern(command))
        }
    }

    /// Return a command of a workload; it waits for the disk if requested.
    fn with_concern(&self, command: Document) -> Document {
        if self.journaled {
            statement::journaled(command)
        } else {
            command
        }
    }
}

/// Return whether a text is a command instead of a statement of a workload.
fn is_json(text: &str) -> bool {
    text.starts_with('{')
}

fn on_database(mut command: Document, database: &str) -> Document {
    if !command.contains_key("$db") {
        command.insert("$db", database);
    }
    command
}

fn payload(message: &str) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: message.as_bytes().to_vec(),
    }
}

fn text_of(reply: &Document) -> Result<String, Failure> {
    let bytes = reply
        .get_binary_generic("payload")
        .map_err(Failure::protocol)?;
    String::from_utf8(bytes.clone()).map_err(Failure::protocol)
}

/// The failure of a connection whose user the server rejects.
fn refused(failure: Failure) -> Failure {
    match failure {
        Failure::Server(error) => Failure::refused(error),
        other => other,
    }
}

fn number(value: &Bson) -> Option<i64> {
    match *value {
        Bson::Int32(number) => Some(number.into()),
        Bson::Int64(number) => Some(number),
        Bson::Double(number) => Some(number as i64),
        _ => None,
    }
}

/// Return the documents of a reply as rows of their values. The key of the only group is not a value.
fn rows_of(reply: &Document) -> Result<Table, Failure> {
    let cursor = reply.get_document("cursor").map_err(Failure::protocol)?;
    let batch = cursor.get_array("firstBatch").map_err(Failure::protocol)?;
    let mut table = Table::default();
    for document in batch.iter().filter_map(Bson::as_document) {
        let fields = || document.iter().filter(|(_, value)| **value != Bson::Null);
        table.columns = fields().map(|(name, _)| name.clone()).collect();
        table
            .rows
            .push(fields().map(|(_, value)| value_of(value)).collect());
    }
    Ok(table)
}

fn value_of(value: &Bson) -> Option<String> {
    match value {
        Bson::ObjectId(id) => Some(key_of(*id).to_string()),
        Bson::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Return the reply as one row with one value, JSON.
fn whole(reply: &Document) -> Result<Table, Failure> {
    let json = serde_json::to_string(reply).map_err(Failure::protocol)?;
    Ok(Table {
        columns: vec!["reply".into()],
        rows: vec![vec![Some(json)]],
    })
}

impl TextQueries for MongoConnection {
    /// Run a command or a statement; its documents are rows. Dropping a missing object succeeds.
    fn query(&mut self, text: &str) -> Result<Table, Failure> {
        let command = self.parse(text)?;
        let database = self.database.clone();
        let reply = match self.run(&command, &database) {
            Err(Failure::Server(ServerError { sqlstate, .. }))
                if sqlstate == NOT_FOUND && command.contains_key("drop") =>
            {
                Document::new()
            }
            other => other?,
        };
        if is_json(text) || !reply.contains_key("cursor") {
            return whole(&reply);
        }
        let mut table = rows_of(&reply)?;
        let start = text.get(..COUNT.len());
        if table.rows.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(COUNT)) {
            table.rows.push(vec![Some("0".into())]);
        }
        Ok(table)
    }
}

impl Connection for MongoConnection {
    fn send(&mut self, request: Request<'_>) -> Result<(), Failure> {
        match request {
            Request::Prepared {
                statement,
                values,
                text,
                ..
            } => {
                let command = &self.prepared[statement];
                self.socket
                    .send(self.encoder.execution(command, values, text))
            }
            Request::Text(text) => {
                let command = on_database(self.parse(text)?, &self.database);
                self.socket.send(self.encoder.command(&command)?)
            }
        }
    }

    fn wait_readable(&mut self) -> Result<(), Failure> {
        self.socket.wait_readable()
    }

    fn receive(&mut self) -> Result<(), Failure> {
        self.frames.fill(&mut self.socket)
    }

    fn reply(&mut self) -> Result<Option<Reply>, Failure> {
        let Some(frame) = self.frames.next()? else {
            return Ok(None);
        };
        reply::read(reply::document(frame.header, frame.body)?).map(Some)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn traffic(&self) -> Traffic {
        self.socket.traffic()
    }
}

impl Session for MongoConnection {
    /// Return None: the thread that serves a connection is unknown.
    fn server_process(&mut self) -> Result<Option<u32>, Failure> {
        Ok(None)
    }

    /// The server notices by itself that a client has gone, and stops its operation.
    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        Some(Arc::clone(self.socket.interrupt()))
    }

    fn prepare(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            let command = on_database(self.parse(statement)?, &self.database);
            self.prepared.push(Command::compile(&command)?);
        }
        Ok(())
    }

    /// Explain a read. Writes, and reads that a server does not explain, have no plan.
    fn explain(&mut self, request: Request<'_>) -> Result<Option<String>, Failure> {
        let reply = self.explained(request, "queryPlanner")?;
        Ok(reply.and_then(|reply| plan::text(&reply)))
    }

    /// Count the work of a read. Writes are not executed, because they cannot be rolled back.
    fn count_work(&mut self, request: Request<'_>) -> Result<Option<Amounts>, Failure> {
        let reply = self.explained(request, "executionStats")?;
        Ok(reply.and_then(|reply| plan::work(&reply)))
    }

    fn load<'a>(
        &'a mut self,
        table: &str,
        columns: &[&str],
    ) -> Result<Box<dyn BulkLoad + 'a>, Failure> {
        let field = |column: &&str| Field {
            name: [statement::field(column, self.names).as_bytes(), b"\0"].concat(),
            kind: statement::kind(column),
        };
        let insert = self.with_concern(doc! { "insert": table, "ordered": true });
        let command = on_database(insert, &self.database);
        let fields = columns.iter().map(field).collect();
        Ok(Box::new(Inserts::new(self, command, fields)))
    }
}

impl MongoConnection {
    /// Return the server's explanation of a read; None for writes, or if there is no explanation.
    fn explained(
        &mut self,
        request: Request<'_>,
        verbosity: &str,
    ) -> Result<Option<Document>, Failure> {
        let Request::Prepared {
            statement,
            values,
            text,
            ..
        } = request
        else {
            return Ok(None);
        };
        let command = &self.prepared[statement];
        let mut command = self.encoder.document(command, values, text)?;
        if !["find", "aggregate", "distinct"]
            .iter()
            .any(|verb| command.contains_key(verb))
        {
            return Ok(None);
        }
        command.remove("$db");
        let explain = doc! { "explain": command, "verbosity": verbosity };
        let database = self.database.clone();
        match self.run(&explain, &database) {
            Ok(reply) => Ok(Some(reply)),
            Err(Failure::Server(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// Return a connection to a test that has prepared these statements.
#[cfg(test)]
pub fn test_connection(statements: &[String]) -> (MongoConnection, std::os::unix::net::UnixStream) {
    let (socket, server) = Socket::pair();
    let mut connection = MongoConnection::over(socket, "slowdust", Names::Long);
    connection
        .prepare(statements)
        .expect("statements of a workload");
    (connection, server)
}
