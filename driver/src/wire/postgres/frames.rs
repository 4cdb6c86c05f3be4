//! Messages out of the byte stream: a tag, a length, a body; in a buffer that is reused.

use super::super::socket::Socket;
use super::super::Failure;

/// Large enough that a reply of thousands of rows takes few system calls, and small enough to stay
/// in the cache while it is read.
const INITIAL_SIZE: usize = 64 * 1024;
const HEADER: usize = 5;
/// No message we ask for comes near; a longer one means that the stream is not understood.
const LONGEST: usize = 256 * 1024 * 1024;

pub struct Frames {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub tag: u8,
    pub body: &'a [u8],
}

impl Frames {
    pub fn new() -> Self {
        Self {
            buffer: vec![0; INITIAL_SIZE],
            start: 0,
            end: 0,
        }
    }

    /// The next complete message, if one is there.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Failure> {
        let Some(size) = self.pending_size()? else {
            return Ok(None);
        };
        if self.end - self.start < size {
            return Ok(None);
        }
        let frame = &self.buffer[self.start..self.start + size];
        self.start += size;
        Ok(Some(Frame {
            tag: frame[0],
            body: &frame[HEADER..],
        }))
    }

    /// Receives once, after making room for the message under way.
    pub fn fill(&mut self, socket: &mut Socket) -> Result<(), Failure> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if let Some(size) = self.pending_size()? {
            if size > self.buffer.len() {
                self.buffer.resize(size.next_power_of_two(), 0);
            }
        }
        match socket.receive(&mut self.buffer[self.end..])? {
            0 => Err(Failure::connection("the server closed the connection")),
            received => {
                self.end += received;
                Ok(())
            }
        }
    }

    /// Size, with its header, of the first message that has not been taken yet.
    #[inline]
    fn pending_size(&self) -> Result<Option<usize>, Failure> {
        let Some(header) = self.buffer[self.start..self.end].first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let [_, length @ ..] = *header;
        let length = u32::from_be_bytes(length) as usize;
        if !(HEADER - 1..=LONGEST).contains(&length) {
            return Err(Failure::protocol(format!(
                "message {:?} of {length} bytes",
                char::from(header[0])
            )));
        }
        Ok(Some(length + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    type Taken = Vec<(u8, Vec<u8>)>;

    fn frames_of(chunks: &[&[u8]]) -> Result<Taken, Failure> {
        let (mut socket, mut server) = Socket::pair();
        let mut frames = Frames::new();
        let mut taken = Vec::new();
        for chunk in chunks {
            server.write_all(chunk).unwrap();
            frames.fill(&mut socket)?;
            while let Some(frame) = frames.next()? {
                taken.push((frame.tag, frame.body.to_vec()));
            }
        }
        Ok(taken)
    }

    #[test]
    fn messages_are_found_wherever_the_stream_is_cut() {
        let bytes = b"2\0\0\0\x04D\0\0\0\x06\0\0Z\0\0\0\x05I";
        for cut in 1..bytes.len() {
            let frames = frames_of(&[&bytes[..cut], &bytes[cut..]]);
            let expected = vec![(b'2', vec![]), (b'D', vec![0, 0]), (b'Z', vec![b'I'])];
            assert_eq!(frames.unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_message_larger_than_the_buffer_makes_it_grow() {
        let size = 3 * INITIAL_SIZE;
        let mut message = vec![b'D'];
        message.extend_from_slice(&(size as u32 + 4).to_be_bytes());
        message.resize(1 + 4 + size, 7);
        let (mut socket, mut server) = Socket::pair();
        let writer = std::thread::spawn(move || server.write_all(&message));
        let mut frames = Frames::new();
        let body = loop {
            if let Some(frame) = frames.next().unwrap() {
                break frame.body.to_vec();
            }
            frames.fill(&mut socket).unwrap();
        };
        writer.join().unwrap().unwrap();
        assert_eq!(body, vec![7; size]);
    }

    #[test]
    fn impossible_lengths_are_a_protocol_failure() {
        for length in [0u32, 3, u32::MAX] {
            let mut message = vec![b'D'];
            message.extend_from_slice(&length.to_be_bytes());
            let frames = frames_of(&[&message]);
            assert!(matches!(frames, Err(Failure::Protocol(_))), "{length}");
        }
    }

    #[test]
    fn the_end_of_the_stream_is_a_connection_failure() {
        let (mut socket, server) = Socket::pair();
        drop(server);
        let failure = Frames::new().fill(&mut socket).unwrap_err();
        assert!(matches!(failure, Failure::Connection { .. }));
    }
}
