//! The start of a session, from the socket to the authenticated user.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256, SCRAM_SHA_256};
use postgres_protocol::message::frontend;

use super::super::body::Body;
use super::super::frames::Frames;
use super::super::socket::Socket;
use super::super::Failure;
use super::backend::{error_response, MessageHeader};
use crate::protocol::secret::Secret;
use crate::protocol::target::Target;

const INVALID_PASSWORD: &str = "28P01";

/// The server process of a connection, and the key to cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    pub process: u32,
    pub key: i32,
}

/// Connect to a server, and encrypt the connection if the target requires it.
pub fn reach(target: &Target) -> Result<Socket, Failure> {
    let socket = Socket::connect(target, &format!(".s.PGSQL.{}", target.port))?;
    match target.tls {
        Some(_) => ask_for_tls(socket)?.secure(target),
        None => Ok(socket),
    }
}

/// Ask the server to cancel a backend's statement, over a connection that it closes afterwards.
pub fn cancel(target: &Target, backend: Backend) -> Result<(), Failure> {
    let mut socket = reach(target)?;
    let mut request = BytesMut::new();
    let process = i32::try_from(backend.process).map_err(Failure::protocol)?;
    frontend::cancel_request(process, backend.key, &mut request);
    socket.send(&request)?;
    socket.wait_patiently()
}

/// Ask the server to encrypt the connection, before anything else.
pub fn ask_for_tls(mut socket: Socket) -> Result<Socket, Failure> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.send(&request)?;
    let mut answer = [0];
    socket.wait_patiently()?;
    match (socket.receive(&mut answer)?, answer) {
        (1, [b'S']) => Ok(socket),
        _ => Err(Failure::connection("the server does not speak TLS")),
    }
}

/// The exchange before the first statement.
pub struct Startup<'a> {
    pub socket: &'a mut Socket,
    pub frames: &'a mut Frames<MessageHeader>,
    pub target: &'a Target,
}

impl Startup<'_> {
    /// Authenticate, and return the backend, if the server names it.
    pub fn run(mut self) -> Result<Option<Backend>, Failure> {
        let schema = self.target.schema.as_deref();
        let parameters = [
            ("user", self.target.user.as_str()),
            ("database", self.target.database.as_str()),
            ("application_name", "slowdust"),
            ("client_encoding", "UTF8"),
        ]
        .into_iter()
        .chain(schema.map(|schema| ("search_path", schema)));
        self.send(|message| frontend::startup_message(parameters, message))?;
        self.authenticate()?;
        let mut backend = None;
        loop {
            match self.message()? {
                (b'K', body) => {
                    let mut body = Body::new(&body);
                    let (process, key) = (code(&mut body)?, code(&mut body)?);
                    backend = u32::try_from(process)
                        .ok()
                        .map(|process| Backend { process, key });
                }
                (b'Z', _) => return Ok(backend),
                _ => {}
            }
        }
    }

    fn authenticate(&mut self) -> Result<(), Failure> {
        loop {
            let body = self.authentication()?;
            let mut body = Body::new(&body);
            match code(&mut body)? {
                0 => return Ok(()),
                3 => {
                    let password = self.password()?.to_owned();
                    self.send(|message| frontend::password_message(password.as_bytes(), message))?;
                }
                5 => self.answer_md5(&mut body)?,
                10 => self.answer_scram(body.remaining())?,
                other => {
                    return Err(Failure::usage(format!(
                        "authentication method {other} is not supported: use trust, md5 or scram"
                    )))
                }
            }
        }
    }

    fn answer_md5(&mut self, body: &mut Body<'_>) -> Result<(), Failure> {
        let salt = body.array()?;
        let user = self.target.user.as_bytes();
        let hash = md5_hash(user, self.password()?.as_bytes(), salt);
        self.send(|message| frontend::password_message(hash.as_bytes(), message))
    }

    fn answer_scram(&mut self, mechanisms: &[u8]) -> Result<(), Failure> {
        let offered = mechanisms
            .split(|&byte| byte == 0)
            .any(|mechanism| mechanism == SCRAM_SHA_256.as_bytes());
        if !offered {
            return Err(Failure::protocol("the server does not offer SCRAM-SHA-256"));
        }
        let password = self.password()?.as_bytes().to_vec();
        let mut scram = ScramSha256::new(&password, ChannelBinding::unsupported());
        self.send(|message| {
            frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), message)
        })?;
        let challenge = self.sasl_step(11)?;
        scram.update(&challenge).map_err(Failure::protocol)?;
        self.send(|message| frontend::sasl_response(scram.message(), message))?;
        let verdict = self.sasl_step(12)?;
        scram.finish(&verdict).map_err(Failure::protocol)
    }

    fn sasl_step(&mut self, expected: i32) -> Result<Vec<u8>, Failure> {
        let body = self.authentication()?;
        let mut body = Body::new(&body);
        match code(&mut body)? {
            step if step == expected => Ok(body.remaining().to_vec()),
            step => Err(Failure::protocol(format!(
                "the server sent step {step} of the authentication instead of {expected}"
            ))),
        }
    }

    fn password(&self) -> Result<&str, Failure> {
        self.target
            .password
            .as_ref()
            .map(Secret::reveal)
            .ok_or_else(|| Failure::Connection {
                sqlstate: Some(INVALID_PASSWORD.to_owned()),
                message: "the server asks for a password, but none is given".to_owned(),
            })
    }

    fn authentication(&mut self) -> Result<Vec<u8>, Failure> {
        match self.message()? {
            (b'R', body) => Ok(body),
            (tag, _) => Err(Failure::protocol(format!(
                "message {:?} instead of an authentication request",
                char::from(tag)
            ))),
        }
    }

    fn message(&mut self) -> Result<(u8, Vec<u8>), Failure> {
        let frame = self.frames.wait(self.socket)?;
        match frame.header.tag {
            b'E' => Err(Failure::refused(error_response(frame.body)?)),
            tag => Ok((tag, frame.body.to_vec())),
        }
    }

    fn send(
        &mut self,
        encode: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let mut message = BytesMut::new();
        encode(&mut message).map_err(Failure::usage)?;
        self.socket.send(&message)
    }
}

/// Read the number at the beginning of these messages.
fn code(body: &mut Body<'_>) -> Result<i32, Failure> {
    Ok(i32::from_be_bytes(body.array()?))
}
