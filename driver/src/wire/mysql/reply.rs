//! The server's reply to a command, packet by packet. It is the same for text and for prepared
//! statements; only the format of the values in their rows differs.

use super::super::body::Body;
use super::super::{Failure, Reply, ServerError};
use super::packets::{counted, nullable, number};

const OK: u8 = 0x00;
const ERROR: u8 = 0xff;
/// The kind of an EOF, and of the OK that replaces it.
const END: u8 = 0xfe;
const FILE_REQUEST: u8 = 0xfb;

const STATUS_IN_TRANSACTION: u16 = 1;

/// The numbers of deadlock, lock wait timeout, and a row that changed since the transaction's
/// snapshot: after these errors sysbench restarts a transaction, too.
const COLLISIONS: [u16; 3] = [1213, 1205, 1020];
/// The numbers of connections that were killed or idle for too long; errors of SQLSTATE class 08 end
/// a connection, too.
const DISCONNECTIONS: [u16; 2] = [1927, 4031];

/// The packet after the rows, and on older servers also after the columns, of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endings {
    /// An EOF after columns and rows.
    Eof,
    /// An OK after the rows.
    Ok,
}

/// A reply in progress.
pub struct Replies {
    endings: Endings,
    stage: Stage,
    reply: Reply,
}

#[derive(Clone, Copy)]
enum Stage {
    Start,
    Columns(u64),
    EndOfColumns,
    Rows,
}

/// The meaning of a packet in a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Column(&'a [u8]),
    Row(&'a [u8]),
    /// A packet without information.
    Between,
    /// The last one of the reply.
    Last,
}

impl Replies {
    pub fn new(endings: Endings) -> Self {
        Self {
            endings,
            stage: Stage::Start,
            reply: Reply::default(),
        }
    }

    #[inline]
    pub fn take<'a>(&mut self, packet: &'a [u8]) -> Result<Part<'a>, Failure> {
        let first = *packet
            .first()
            .ok_or_else(|| Failure::protocol("an empty packet"))?;
        match (self.stage, first) {
            (Stage::Rows, END) => {
                self.reply.in_transaction = in_transaction(self.status_at_end(packet)?);
                Ok(Part::Last)
            }
            (_, ERROR) => {
                self.reply.error = Some(error(packet)?);
                Ok(Part::Last)
            }
            (Stage::Rows, _) => {
                self.reply.rows += 1;
                Ok(Part::Row(packet))
            }
            (Stage::Columns(left), _) => {
                self.stage = match (left, self.endings) {
                    (2.., _) => Stage::Columns(left - 1),
                    (_, Endings::Eof) => Stage::EndOfColumns,
                    (_, Endings::Ok) => Stage::Rows,
                };
                Ok(Part::Column(packet))
            }
            (Stage::EndOfColumns, END) => {
                self.stage = Stage::Rows;
                Ok(Part::Between)
            }
            (Stage::Start, OK) => {
                let ok = Completion::read(packet)?;
                self.reply.rows = ok.rows;
                self.reply.in_transaction = in_transaction(ok.status);
                Ok(Part::Last)
            }
            (Stage::Start, FILE_REQUEST) => Err(Failure::usage(
                "LOAD DATA LOCAL is not supported by this command",
            )),
            (Stage::Start, _) => {
                self.stage = Stage::Columns(number(&mut Body::new(packet))?);
                Ok(Part::Between)
            }
            (Stage::EndOfColumns, _) => {
                Err(Failure::protocol(format!("unexpected packet {first:#x}")))
            }
        }
    }

    /// Return the reply, after its last packet. An error does not show whether a transaction is open,
    /// so the last state is assumed: an unnecessary rollback does no harm.
    #[inline]
    pub fn finish(&mut self) -> Reply {
        self.stage = Stage::Start;
        let next = Reply {
            in_transaction: self.reply.in_transaction,
            ..Reply::default()
        };
        std::mem::replace(&mut self.reply, next)
    }

    fn status_at_end(&self, packet: &[u8]) -> Result<u16, Failure> {
        match self.endings {
            Endings::Ok => Ok(Completion::read(packet)?.status),
            Endings::Eof => {
                let mut body = Body::new(packet);
                // Kind (1) and warnings (2).
                body.bytes(3)?;
                Ok(u16::from_le_bytes(body.array()?))
            }
        }
    }
}

fn in_transaction(status: u16) -> bool {
    status & STATUS_IN_TRANSACTION != 0
}

/// An OK packet.
struct Completion {
    rows: u64,
    status: u16,
}

impl Completion {
    #[inline]
    fn read(packet: &[u8]) -> Result<Self, Failure> {
        let mut body = Body::new(packet);
        body.byte()?;
        let rows = number(&mut body)?;
        let _last_insert_id = number(&mut body)?;
        let status = u16::from_le_bytes(body.array()?);
        Ok(Self { rows, status })
    }
}

/// Read an error packet; errors that end the connection are failures.
pub fn error(packet: &[u8]) -> Result<ServerError, Failure> {
    let mut body = Body::new(packet);
    body.byte()?;
    let code = u16::from_le_bytes(body.array()?);
    let rest = body.remaining();
    // Before the handshake there is no SQLSTATE.
    let (state, message) = match rest {
        [b'#', a, b, c, d, e, message @ ..] => ([*a, *b, *c, *d, *e], message),
        message => (*b"HY000", message),
    };
    let state = String::from_utf8_lossy(&state);
    let message = String::from_utf8_lossy(message).into_owned();
    let sqlstate = match state.as_ref() {
        // The state of hundreds of errors without a state of their own.
        "HY000" => format!("{state}/{code}"),
        state => state.to_owned(),
    };
    if state.starts_with("08") || DISCONNECTIONS.contains(&code) {
        return Err(Failure::Connection {
            sqlstate: Some(sqlstate),
            message,
        });
    }
    Ok(ServerError {
        sqlstate,
        message,
        collision: COLLISIONS.contains(&code),
    })
}

/// Read the name in a column definition.
pub fn column_name(packet: &[u8]) -> Result<String, Failure> {
    let mut body = Body::new(packet);
    // Catalog, schema, table, and the table's real name.
    for _ in 0..4 {
        counted(&mut body)?;
    }
    Ok(String::from_utf8_lossy(counted(&mut body)?).into_owned())
}

/// Read the values of a row of a statement that was sent as text.
pub fn text_values(packet: &[u8], columns: usize) -> Result<Vec<Option<String>>, Failure> {
    let mut body = Body::new(packet);
    (0..columns)
        .map(|_| {
            let value = nullable(&mut body)?;
            Ok(value.map(|text| String::from_utf8_lossy(text).into_owned()))
        })
        .collect()
}

/// The server's answer to a statement that it has prepared.
pub struct Preparation {
    pub statement: u32,
    columns: u16,
    parameters: u16,
}

impl Preparation {
    pub fn read(packet: &[u8]) -> Result<Self, Failure> {
        let mut body = Body::new(packet);
        match body.byte()? {
            OK => Ok(Self {
                statement: u32::from_le_bytes(body.array()?),
                columns: u16::from_le_bytes(body.array()?),
                parameters: u16::from_le_bytes(body.array()?),
            }),
            ERROR => Err(Failure::Server(error(packet)?)),
            kind => Err(Failure::protocol(format!("unexpected packet {kind:#x}"))),
        }
    }

    /// Return the number of packets that follow and describe the parameters and columns.
    pub fn descriptions(&self, endings: Endings) -> u32 {
        [self.parameters, self.columns]
            .into_iter()
            .filter(|&count| count > 0)
            .map(|count| u32::from(count) + u32::from(endings == Endings::Eof))
            .sum()
    }
}
