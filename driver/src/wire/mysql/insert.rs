//! Bulk loads by multi-row INSERT statements. The server executes one while the next is written.

use super::super::dialect::Dialect as _;
use super::super::{BulkLoad, Failure, Value};
use super::dialect::MysqlDialect;
use super::{command, MysqlConnection, Packet};

/// The size of a statement, well below the 1 MB that servers before 5.6 accept.
const STATEMENT: usize = 256 * 1024;
/// The statements of a transaction: few enough for MyRocks' limit of row locks, and enough that a
/// commit's wait for the disk matters little.
const STATEMENTS_PER_TRANSACTION: u32 = 32;

pub struct Inserts<'a> {
    connection: &'a mut MysqlConnection,
    head: String,
    /// The rows of the statement that is being written, each preceded by a comma.
    rows: Vec<u8>,
    waiting: bool,
    in_transaction: u32,
    sent: u64,
}

impl<'a> Inserts<'a> {
    pub fn start(
        connection: &'a mut MysqlConnection,
        table: &str,
        columns: &[&str],
    ) -> Result<Self, Failure> {
        run(connection, "BEGIN")?;
        let columns = columns.join(", ");
        Ok(Self {
            connection,
            head: format!("INSERT INTO {table} ({columns}) VALUES "),
            rows: Vec::with_capacity(STATEMENT + STATEMENT / 8),
            waiting: false,
            in_transaction: 0,
            sent: 0,
        })
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.wait()?;
        if self.in_transaction == STATEMENTS_PER_TRANSACTION {
            run(self.connection, "COMMIT")?;
            run(self.connection, "BEGIN")?;
            self.in_transaction = 0;
        }
        let mut packet = Packet::command(&mut self.connection.output, command::QUERY);
        packet.bytes(self.head.as_bytes());
        packet.bytes(&self.rows[1..]);
        self.connection.socket.send(packet.end(0)?)?;
        self.sent += self.rows.len() as u64;
        self.rows.clear();
        self.waiting = true;
        self.in_transaction += 1;
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.waiting) {
            self.connection.converse(|_| Ok(()))?;
        }
        Ok(())
    }
}

impl BulkLoad for Inserts<'_> {
    fn row(&mut self, values: &[Value], text: &[u8]) -> Result<(), Failure> {
        let mut separator: &[u8] = b",(";
        for value in values {
            self.rows.extend_from_slice(separator);
            separator = b",";
            value.write_literal(text, MysqlDialect.doubled(), &mut self.rows);
        }
        self.rows.push(b')');
        if self.rows.len() >= STATEMENT {
            self.send()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64, Failure> {
        if !self.rows.is_empty() {
            self.send()?;
        }
        self.wait()?;
        run(self.connection, "COMMIT")?;
        Ok(self.sent)
    }
}

fn run(connection: &mut MysqlConnection, sql: &str) -> Result<(), Failure> {
    connection.send_text(sql)?;
    connection.converse(|_| Ok(())).map(drop)
}
