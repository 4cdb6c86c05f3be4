//! The start of a session, from the socket to the authenticated user.

use super::super::body::Body;
use super::super::frames::Frames;
use super::super::socket::Socket;
use super::super::Failure;
use super::authentication::{encrypted, terminated, Method, NONCE};
use super::packets::{Packet, PacketHeader};
use super::reply::{error, Endings};
use crate::protocol::secret::Secret;
use crate::protocol::target::Target;

const PROTOCOL_VERSION: u8 = 10;
/// The collation `latin1_swedish_ci`: known to all versions, and one byte per character.
const LATIN1: u8 = 8;
const LARGEST_PACKET: u32 = 16 * 1024 * 1024;

/// Capability flags.
mod can {
    pub const LONG_PASSWORD: u32 = 1;
    /// An UPDATE counts the rows that match, changed or not.
    pub const FOUND_ROWS: u32 = 1 << 1;
    pub const LONG_FLAG: u32 = 1 << 2;
    pub const CONNECT_WITH_DATABASE: u32 = 1 << 3;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const TLS: u32 = 1 << 11;
    pub const TRANSACTIONS: u32 = 1 << 13;
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const DEPRECATE_EOF: u32 = 1 << 24;

    pub const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION;
    pub const WANTED: u32 = NEEDED
        | LONG_PASSWORD
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DATABASE
        | TRANSACTIONS
        | PLUGIN_AUTH
        | DEPRECATE_EOF;
}

mod answer {
    pub const OK: u8 = 0x00;
    pub const MORE: u8 = 0x01;
    pub const SWITCH: u8 = 0xfe;
    pub const ERROR: u8 = 0xff;
}

/// The steps of `caching_sha2_password`.
mod sha2_step {
    pub const KEY_PLEASE: u8 = 2;
    pub const KNOWN: u8 = 3;
    pub const PASSWORD_PLEASE: u8 = 4;
}

/// The exchange before the first command.
pub struct Handshake<'a> {
    pub socket: Socket,
    pub frames: &'a mut Frames<PacketHeader>,
    pub target: &'a Target,
}

/// An authenticated session.
pub struct Shaken {
    pub socket: Socket,
    pub endings: Endings,
    /// The server's number of the connection.
    pub connection: u32,
}

struct Greeting {
    connection: u32,
    capabilities: u32,
    nonce: Vec<u8>,
    method: Option<Method>,
}

struct Received {
    sequence: u8,
    body: Vec<u8>,
}

impl Handshake<'_> {
    pub fn run(mut self) -> Result<Shaken, Failure> {
        let received = self.receive()?;
        let greeting = Greeting::read(&received.body)?;
        if greeting.capabilities & can::NEEDED != can::NEEDED {
            return Err(Failure::usage("servers before MySQL 4.1 are not supported"));
        }
        let capabilities = greeting.capabilities & self.wanted();
        // A server with another default method names the user's method later.
        let method = greeting.method.unwrap_or(Method::Native);
        let proof = method.proof(self.password(), &greeting.nonce);
        let mut sequence = received.sequence;
        if self.target.tls.is_some() {
            self = self.secured(sequence, greeting.capabilities, capabilities)?;
            sequence += 1;
        }
        self.send(sequence, |packet, target| {
            begin_answer(packet, capabilities);
            packet.terminated(target.user.as_bytes());
            packet.counted(&proof);
            if capabilities & can::CONNECT_WITH_DATABASE != 0 {
                packet.terminated(target.database.as_bytes());
            }
            if capabilities & can::PLUGIN_AUTH != 0 {
                packet.terminated(method.name().as_bytes());
            }
        })?;
        self.authenticate(greeting.nonce)?;
        let endings = match capabilities & can::DEPRECATE_EOF {
            0 => Endings::Eof,
            _ => Endings::Ok,
        };
        Ok(Shaken {
            socket: self.socket,
            endings,
            connection: greeting.connection,
        })
    }

    /// Request encryption with the beginning of an answer, and encrypt the connection.
    fn secured(mut self, sequence: u8, theirs: u32, ours: u32) -> Result<Self, Failure> {
        if theirs & can::TLS == 0 {
            return Err(Failure::connection("the server does not speak TLS"));
        }
        self.send(sequence, |packet, _| begin_answer(packet, ours))?;
        let socket = self.socket.secure(self.target)?;
        Ok(Self { socket, ..self })
    }

    fn wanted(&self) -> u32 {
        let mut wanted = can::WANTED;
        if self.target.database.is_empty() {
            wanted &= !can::CONNECT_WITH_DATABASE;
        }
        if self.target.tls.is_some() {
            wanted |= can::TLS;
        }
        wanted
    }

    fn authenticate(&mut self, mut nonce: Vec<u8>) -> Result<(), Failure> {
        loop {
            let received = self.receive()?;
            match received.body.split_first() {
                Some((&answer::OK, _)) => return Ok(()),
                Some((&answer::SWITCH, request)) => {
                    let (method, salt) = switch(request)?;
                    let proof = method.proof(self.password(), &salt);
                    self.send(received.sequence, |packet, _| packet.bytes(&proof))?;
                    nonce = salt;
                }
                Some((&answer::MORE, [sha2_step::KNOWN])) => {}
                Some((&answer::MORE, [sha2_step::PASSWORD_PLEASE])) => {
                    self.show_password(received.sequence, &nonce)?;
                }
                _ => {
                    return Err(Failure::protocol(
                        "the server began an unknown authentication step",
                    ))
                }
            }
        }
    }

    /// Send the password itself, in clear text if the connection is private. The server needs it if
    /// it has not seen the user since its start.
    fn show_password(&mut self, sequence: u8, nonce: &[u8]) -> Result<(), Failure> {
        if self.socket.is_private() {
            let password = terminated(self.password());
            return self.send(sequence, |packet, _| packet.bytes(&password));
        }
        self.send(sequence, |packet, _| packet.byte(sha2_step::KEY_PLEASE))?;
        let received = self.receive()?;
        let Some((&answer::MORE, public_key)) = received.body.split_first() else {
            return Err(Failure::protocol("the server did not send its public key"));
        };
        let password = encrypted(self.password(), nonce, public_key)?;
        self.send(received.sequence, |packet, _| packet.bytes(&password))
    }

    /// Return the password, empty for most private servers.
    fn password(&self) -> &str {
        self.target.password.as_ref().map_or("", Secret::reveal)
    }

    fn receive(&mut self) -> Result<Received, Failure> {
        let frame = self.frames.wait(&mut self.socket)?;
        if frame.body.first() == Some(&answer::ERROR) {
            return Err(Failure::refused(error(frame.body)?));
        }
        Ok(Received {
            sequence: frame.header.sequence,
            body: frame.body.to_vec(),
        })
    }

    /// Answer the packet with that number.
    fn send(
        &mut self,
        sequence: u8,
        write: impl FnOnce(&mut Packet<'_>, &Target),
    ) -> Result<(), Failure> {
        let mut buffer = Vec::new();
        let mut packet = Packet::begin(&mut buffer);
        write(&mut packet, self.target);
        self.socket.send(packet.end(sequence.wrapping_add(1))?)
    }
}

/// Write the first fields of an answer to the greeting; a request for TLS consists of them.
fn begin_answer(packet: &mut Packet<'_>, capabilities: u32) {
    packet.bytes(&capabilities.to_le_bytes());
    packet.bytes(&LARGEST_PACKET.to_le_bytes());
    packet.byte(LATIN1);
    packet.zeros(23);
}

impl Greeting {
    fn read(packet: &[u8]) -> Result<Self, Failure> {
        let mut body = Body::new(packet);
        let version = body.byte()?;
        if version != PROTOCOL_VERSION {
            return Err(Failure::protocol(format!(
                "the protocol has version {version}, not {PROTOCOL_VERSION}: is this a MySQL server?"
            )));
        }
        let _server_version = body.string()?;
        let connection = u32::from_le_bytes(body.array()?);
        let mut nonce = body.bytes(8)?.to_vec();
        body.byte()?;
        let low = u16::from_le_bytes(body.array()?);
        // Collation (1) and status (2).
        body.bytes(3)?;
        let high = u16::from_le_bytes(body.array()?);
        // The nonce's length, always the same (1), and reserved bytes (10).
        body.bytes(11)?;
        nonce.extend_from_slice(body.bytes(NONCE - nonce.len())?);
        Ok(Self {
            connection,
            capabilities: u32::from(low) | u32::from(high) << 16,
            nonce,
            method: Method::named(&method_name(body.remaining())),
        })
    }
}

/// Read the method's name, after the zero that ends the nonce. Some servers before 5.5.10 omit the
/// name's own zero.
fn method_name(rest: &[u8]) -> String {
    let mut parts = rest.split(|&byte| byte == 0).skip(1);
    String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned()
}

/// Read the user's method and its nonce.
fn switch(request: &[u8]) -> Result<(Method, Vec<u8>), Failure> {
    let mut body = Body::new(request);
    let name = match request {
        // The form without a name asks for the method of MySQL 4.0.
        [] => "mysql_old_password".to_owned(),
        _ => body.string()?,
    };
    let method = Method::named(&name).ok_or_else(|| {
        Failure::usage(format!(
            "authentication method {name} is not supported: use {} or {}",
            Method::Native.name(),
            Method::CachingSha2.name()
        ))
    })?;
    Ok((method, body.bytes(NONCE)?.to_vec()))
}

#[cfg(test)]
mod tests;
