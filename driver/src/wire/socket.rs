//! A stream to a server, with a count of its bytes.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::retry_on_intr;
use rustix::net::sockopt::socket_peercred;

use super::interrupt::{Interrupt, Peer};
use super::tls::{self, TlsStream};
use super::{Failure, Traffic};
use crate::protocol::target::Target;

/// The time limit for connecting, and for all first answers of a running server together.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub struct Socket {
    stream: Stream,
    traffic: Traffic,
    /// The time limit for bytes outside of measured operations; None: no limit.
    patience: Option<Duration>,
    /// The time of connecting, until the server has answered like the target's kind of server. The
    /// limit applies to all these answers together: their bytes may arrive one by one.
    beginning: Option<Instant>,
    interrupt: Arc<Interrupt>,
}

/// Streams are shared with the socket's `Interrupt`.
enum Stream {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    Tls(Box<TlsStream>),
}

impl Socket {
    /// Connect to a target. `name` is the file of the DBMS's Unix socket, if the target names its
    /// directory.
    pub fn connect(target: &Target, name: &str) -> Result<Self, Failure> {
        let mut socket = match (&target.socket, &target.host) {
            (Some(place), None) if Path::new(place).is_dir() => {
                Self::unix(&format!("{place}/{name}"))
            }
            (Some(file), None) => Self::unix(file),
            (None, Some(host)) => Self::tcp(host, target.port),
            _ => Err(Failure::usage("a target needs either a host or a socket")),
        }?;
        // Slowdust's own server may be slow at first: under valgrind, or right after its start.
        socket.be_patient(match target.foreign {
            true => Some(CONNECT_TIMEOUT),
            false => target.patience()?,
        })?;
        socket.beginning = Some(Instant::now());
        Ok(socket)
    }

    /// Set the time limit for the server's bytes, and for room for ours, from now on.
    pub fn be_patient(&mut self, patience: Option<Duration>) -> Result<(), Failure> {
        self.patience = patience;
        self.beginning = None;
        match &self.stream {
            Stream::Unix(stream) => stream.set_write_timeout(patience),
            Stream::Tcp(stream) => stream.set_write_timeout(patience),
            Stream::Tls(stream) => stream.sock.0.set_write_timeout(patience),
        }
        .map_err(Failure::connection)
    }

    /// Return a handle that shuts the connection down from another thread.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    fn unix(path: &str) -> Result<Self, Failure> {
        let stream = UnixStream::connect(path)
            .map_err(|error| Failure::connection(format!("cannot connect to {path}: {error}")))?;
        Ok(Self::over(Stream::Unix(Arc::new(stream))))
    }

    /// Connect without Nagle's delay: each request is one segment that must leave immediately.
    fn tcp(host: &str, port: u16) -> Result<Self, Failure> {
        let stream = connect_to_any(host, port).map_err(|error| {
            Failure::connection(format!("cannot connect to {host}:{port}: {error}"))
        })?;
        stream.set_nodelay(true).map_err(Failure::connection)?;
        Ok(Self::over(Stream::Tcp(Arc::new(stream))))
    }

    /// Encrypt the connection as the target specifies. The server has agreed to it.
    pub fn secure(self, target: &Target) -> Result<Self, Failure> {
        let (Stream::Tcp(stream), Some(host), Some(wanted)) =
            (self.stream, &target.host, &target.tls)
        else {
            return Err(Failure::usage("TLS needs a TCP connection"));
        };
        let stream = tls::secure(stream, host, wanted)?;
        Ok(Self {
            stream: Stream::Tls(Box::new(stream)),
            ..self
        })
    }

    /// Return whether nothing on the way can read the data: it is encrypted, or stays within this
    /// machine.
    pub fn is_private(&self) -> bool {
        !matches!(self.stream, Stream::Tcp(_))
    }

    /// Return whether there are received bytes that `receive` has not returned yet.
    pub fn holds_bytes(&mut self) -> Result<bool, Failure> {
        match &mut self.stream {
            Stream::Unix(_) | Stream::Tcp(_) => Ok(false),
            Stream::Tls(stream) => tls::holds_bytes(stream).map_err(Failure::connection),
        }
    }

    fn over(stream: Stream) -> Self {
        let peer = match &stream {
            Stream::Unix(stream) => Peer::Unix(Arc::clone(stream)),
            Stream::Tcp(stream) => Peer::Tcp(Arc::clone(stream)),
            Stream::Tls(stream) => Peer::Tcp(Arc::clone(&stream.sock.0)),
        };
        Self {
            stream,
            traffic: Traffic::default(),
            patience: None,
            beginning: None,
            interrupt: Arc::new(Interrupt::of(peer)),
        }
    }

    #[cfg(test)]
    pub fn pair() -> (Self, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        (Self::over(Stream::Unix(Arc::new(ours))), theirs)
    }

    /// Connect to a server that sends its bytes immediately, and finally returns what it received.
    #[cfg(test)]
    pub fn with_server(sent: Vec<u8>) -> (Self, std::thread::JoinHandle<Vec<u8>>) {
        let (socket, server) = Self::pair();
        let end = |server: &UnixStream| server.shutdown(std::net::Shutdown::Write);
        (socket, serve(server, end, sent))
    }

    /// Do the same over TCP.
    #[cfg(test)]
    pub fn with_tcp_server(sent: Vec<u8>) -> (Self, std::thread::JoinHandle<Vec<u8>>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = Self::tcp("127.0.0.1", listener.local_addr().unwrap().port()).unwrap();
        let end = |server: &TcpStream| server.shutdown(std::net::Shutdown::Write);
        (socket, serve(listener.accept().unwrap().0, end, sent))
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.stream {
            Stream::Unix(stream) => (&**stream).write_all(bytes),
            Stream::Tcp(stream) => (&**stream).write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
        .map_err(|error| match (error.kind(), self.patience) {
            (io::ErrorKind::WouldBlock, Some(patience)) => Failure::timeout(format!(
                "the server has not accepted data for {} s",
                patience.as_secs()
            )),
            _ => Failure::connection(format!("sending failed: {error}")),
        })?;
        self.traffic.sent += bytes.len() as u64;
        Ok(())
    }

    /// Receive into `buffer`, waiting if there are no bytes. 0 bytes mean that the server hung up.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let received = loop {
            let result = match &mut self.stream {
                Stream::Unix(stream) => (&**stream).read(buffer),
                Stream::Tcp(stream) => (&**stream).read(buffer),
                Stream::Tls(stream) => stream.read(buffer),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        }
        .map_err(|error| Failure::connection(format!("receiving failed: {error}")))?;
        self.traffic.received += received as u64;
        Ok(received)
    }

    /// Wait until the server has closed the connection, and discard its remaining bytes.
    pub fn wait_closed(&mut self) -> Result<(), Failure> {
        let mut rest = [0; 1024];
        loop {
            self.wait_patiently()?;
            // A server that closes without reading everything resets the connection.
            if matches!(self.receive(&mut rest), Ok(0) | Err(_)) {
                return Ok(());
            }
        }
    }

    /// Wait for bytes from the server, up to the time limit. Then ask the server to cancel its work,
    /// and shut the connection down.
    pub fn wait_patiently(&self) -> Result<(), Failure> {
        let Some(patience) = self.patience else {
            return Ok(());
        };
        let spent = self
            .beginning
            .map_or(Duration::ZERO, |start| start.elapsed());
        let left = patience.saturating_sub(spent);
        let timeout = Timespec::try_from(left).map_err(Failure::usage)?;
        let mut descriptors = [PollFd::new(self, PollFlags::IN)];
        let ready = retry_on_intr(|| poll(&mut descriptors, Some(&timeout)));
        if ready.map_err(Failure::connection)? > 0 && !left.is_zero() {
            return Ok(());
        }
        self.interrupt.fire();
        let seconds = patience.as_secs_f64();
        Err(Failure::timeout(match self.beginning {
            Some(_) => format!("no first answer within {seconds} s: is it a server of this kind?"),
            None => format!("no answer within {seconds} s"),
        }))
    }

    /// Wait for the server's answer. On a Unix socket a reader that sleeps in `recv` is woken twice:
    /// by the answer, and before it when the server takes the request off the queue, which the kernel
    /// signals as room to write. `poll` can wait for only one of the two, which saves that context
    /// switch. TCP does not have this problem, so `recv` itself may wait.
    pub fn wait_readable(&self) -> Result<(), Failure> {
        let Stream::Unix(stream) = &self.stream else {
            return Ok(());
        };
        let mut descriptors = [PollFd::new(&**stream, PollFlags::IN)];
        retry_on_intr(|| poll(&mut descriptors, None)).map_err(Failure::connection)?;
        Ok(())
    }

    /// Return the process at the other end of a Unix socket.
    pub fn peer_process(&self) -> Option<u32> {
        let Stream::Unix(stream) = &self.stream else {
            return None;
        };
        let credentials = socket_peercred(&**stream).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.sock.0.as_fd(),
        }
    }
}

#[cfg(test)]
fn serve<S: Read + Write + Send + 'static>(
    mut server: S,
    end: fn(&S) -> io::Result<()>,
    sent: Vec<u8>,
) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        server.write_all(&sent).unwrap();
        end(&server).unwrap();
        let mut received = Vec::new();
        server.read_to_end(&mut received).unwrap();
        received
    })
}

fn connect_to_any(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_after_the_other_is_no_answer() {
        let (mut socket, mut server) = Socket::pair();
        server.write_all(b"R").unwrap();
        socket.be_patient(Some(CONNECT_TIMEOUT)).unwrap();
        assert!(socket.wait_patiently().is_ok());
        socket.beginning = Instant::now().checked_sub(CONNECT_TIMEOUT);
        let failure = socket.wait_patiently().unwrap_err();
        let message = "no first answer within 10 s: is it a server of this kind?";
        assert_eq!(failure, Failure::timeout(message));
    }
}
