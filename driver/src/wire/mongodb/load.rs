//! Bulk loads.

use bson::Document;

use super::super::{BulkLoad, Failure, Value};
use super::command::{Documents, Field};
use super::MongoConnection;

/// The approximate size of a load command, far less than the 16 MB limit of a document.
const BYTES_PER_LOAD: usize = 1 << 20;

/// A load by commands that insert many documents each.
pub struct Inserts<'a> {
    connection: &'a mut MongoConnection,
    command: Document,
    fields: Vec<Field>,
    documents: Documents,
    bytes: u64,
}

impl<'a> Inserts<'a> {
    /// Begin a load by this command, which the documents will be added to.
    pub fn new(connection: &'a mut MongoConnection, command: Document, fields: Vec<Field>) -> Self {
        Self {
            connection,
            command,
            fields,
            documents: Documents::default(),
            bytes: 0,
        }
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.documents.count == 0 {
            return Ok(());
        }
        let body = self.documents.take_into(&self.command, "documents")?;
        self.bytes += body.len() as u64;
        let connection = &mut self.connection;
        connection.socket.send(connection.encoder.encoded(&body))?;
        connection.answer().map(drop)
    }
}

impl BulkLoad for Inserts<'_> {
    fn row(&mut self, values: &[Value], text: &[u8]) -> Result<(), Failure> {
        self.documents.push(&self.fields, values, text);
        if self.documents.bytes.len() >= BYTES_PER_LOAD {
            self.send()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64, Failure> {
        self.send()?;
        Ok(self.bytes)
    }
}
