//! The messages of a byte stream, each a header with its size and a body, in a reused buffer.

use std::marker::PhantomData;

use super::socket::Socket;
use super::Failure;

/// The size of a new buffer: large enough that a reply of thousands of rows takes few system calls,
/// and small enough to stay in the cache while it is read.
const INITIAL_SIZE: usize = 64 * 1024;

/// The header of a protocol's messages.
pub trait Header: Copy {
    const SIZE: usize;

    /// Read the header from `SIZE` bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Return the size of the body that follows. An impossible length is a failure.
    fn body_size(self) -> Result<usize, Failure>;
}

pub struct Frames<H> {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    header: PhantomData<H>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a, H> {
    pub header: H,
    pub body: &'a [u8],
}

impl<H: Header> Frames<H> {
    pub fn new() -> Self {
        Self {
            buffer: vec![0; INITIAL_SIZE],
            start: 0,
            end: 0,
            header: PhantomData,
        }
    }

    /// Return the next complete message, if there is one.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Frame<'_, H>>, Failure> {
        let Some((header, size)) = self.pending()? else {
            return Ok(None);
        };
        if self.end - self.start < size {
            return Ok(None);
        }
        let frame = &self.buffer[self.start..self.start + size];
        self.start += size;
        Ok(Some(Frame {
            header,
            body: &frame[H::SIZE..],
        }))
    }

    /// Return the next message, and wait until it is complete.
    pub fn wait(&mut self, socket: &mut Socket) -> Result<Frame<'_, H>, Failure> {
        while !matches!(self.pending()?, Some((_, size)) if size <= self.end - self.start) {
            socket.wait_patiently()?;
            self.fill(socket)?;
        }
        Ok(self.next()?.expect("a complete message"))
    }

    /// Receive once, after making room for the current message.
    pub fn fill(&mut self, socket: &mut Socket) -> Result<(), Failure> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if let Some((_, size)) = self.pending()? {
            if size > self.buffer.len() {
                self.buffer.resize(size.next_power_of_two(), 0);
            }
        }
        loop {
            match socket.receive(&mut self.buffer[self.end..])? {
                0 => return Err(Failure::connection("the server closed the connection")),
                received => self.end += received,
            }
            // Only the socket knows whether there is more to receive.
            if !socket.holds_bytes()? {
                return Ok(());
            }
            if self.end == self.buffer.len() {
                self.buffer.resize(2 * self.end, 0);
            }
        }
    }

    /// Return the header of the first message that has not been taken yet, and the size of both.
    #[inline]
    fn pending(&self) -> Result<Option<(H, usize)>, Failure> {
        let Some(bytes) = self.buffer[self.start..self.end].get(..H::SIZE) else {
            return Ok(None);
        };
        let header = H::read(bytes);
        Ok(Some((header, H::SIZE + header.body_size()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Arc;
    use std::time::Duration;

    /// A tag and a length of two bytes; a length of 0 is impossible.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct TestHeader {
        tag: u8,
        length: u16,
    }

    impl Header for TestHeader {
        const SIZE: usize = 3;

        fn read(bytes: &[u8]) -> Self {
            Self {
                tag: bytes[0],
                length: u16::from_be_bytes([bytes[1], bytes[2]]),
            }
        }

        fn body_size(self) -> Result<usize, Failure> {
            match usize::from(self.length) {
                0 => Err(Failure::protocol("a length of 0")),
                length => Ok(length),
            }
        }
    }

    type Taken = Vec<(u8, Vec<u8>)>;

    fn frames_of(chunks: &[&[u8]]) -> Result<Taken, Failure> {
        let (mut socket, mut server) = Socket::pair();
        let mut frames = Frames::<TestHeader>::new();
        let mut taken = Vec::new();
        for chunk in chunks {
            server.write_all(chunk).unwrap();
            frames.fill(&mut socket)?;
            while let Some(frame) = frames.next()? {
                taken.push((frame.header.tag, frame.body.to_vec()));
            }
        }
        Ok(taken)
    }

    #[test]
    fn messages_are_found_wherever_the_stream_is_cut() {
        let bytes = b"D\0\x02\0\0Z\0\x01I";
        for cut in 1..bytes.len() {
            let frames = frames_of(&[&bytes[..cut], &bytes[cut..]]);
            let expected = vec![(b'D', vec![0, 0]), (b'Z', vec![b'I'])];
            assert_eq!(frames.unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_message_larger_than_the_buffer_makes_it_grow() {
        let whole = vec![7; usize::from(u16::MAX)];
        let message = [b"D\xff\xff", &whole[..]].concat();
        let (mut socket, mut server) = Socket::pair();
        let writer = std::thread::spawn(move || server.write_all(&message));
        let mut frames = Frames::<TestHeader>::new();
        let body = frames.wait(&mut socket).unwrap().body.to_vec();
        writer.join().unwrap().unwrap();
        assert_eq!(body, whole);
    }

    #[test]
    fn impossible_lengths_are_a_protocol_failure() {
        assert!(matches!(frames_of(&[b"D\0\0"]), Err(Failure::Protocol(_))));
    }

    #[test]
    fn a_server_that_says_nothing_is_waited_for_only_as_long_as_the_socket_is_patient() {
        let (mut socket, mut server) = Socket::pair();
        let cancelled = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&cancelled);
        socket.interrupt().cancel_by(move || {
            told.store(true, Ordering::SeqCst);
            Ok(())
        });
        socket.be_patient(Some(Duration::from_millis(20))).unwrap();
        server.write_all(b"D\0").unwrap();
        let failure = Frames::<TestHeader>::new().wait(&mut socket).unwrap_err();
        assert!(matches!(failure, Failure::Timeout(_)));
        assert!(cancelled.load(Ordering::SeqCst));
        assert_eq!(
            server.read(&mut [0]).unwrap(),
            0,
            "the connection has ended"
        );
    }

    #[test]
    fn the_end_of_the_stream_is_a_connection_failure() {
        let (mut socket, server) = Socket::pair();
        drop(server);
        let failure = Frames::<TestHeader>::new().fill(&mut socket).unwrap_err();
        assert!(matches!(failure, Failure::Connection { .. }));
    }
}
