//! Packets of the protocol, and the numbers and strings in them.

use super::super::body::{truncated, Body};
use super::super::frames::Header;
use super::super::Failure;

const HEADER: usize = 4;
/// The size of a packet that is followed by more of the same message. No message to or from the
/// driver comes near it.
const SPLIT: usize = 0xff_ffff;

/// A length, and the packet's number in the current exchange.
#[derive(Clone, Copy)]
pub struct PacketHeader {
    length: u32,
    pub sequence: u8,
}

impl Header for PacketHeader {
    const SIZE: usize = HEADER;

    #[inline]
    fn read(bytes: &[u8]) -> Self {
        Self {
            length: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]),
            sequence: bytes[3],
        }
    }

    #[inline]
    fn body_size(self) -> Result<usize, Failure> {
        match self.length as usize {
            SPLIT => Err(Failure::usage(
                "a row or value has 16 MB, which is too large",
            )),
            length => Ok(length),
        }
    }
}

/// A packet that is being written, in a reused buffer.
pub struct Packet<'a> {
    buffer: &'a mut Vec<u8>,
}

impl<'a> Packet<'a> {
    pub fn begin(buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&[0; HEADER]);
        Self { buffer }
    }

    /// The first packet of a request.
    pub fn command(buffer: &'a mut Vec<u8>, command: u8) -> Self {
        let mut packet = Self::begin(buffer);
        packet.byte(command);
        packet
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.buffer.push(byte);
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub fn zeros(&mut self, count: usize) {
        self.buffer.resize(self.buffer.len() + count, 0);
    }

    /// Write a string that ends with a zero byte.
    pub fn terminated(&mut self, text: &[u8]) {
        self.bytes(text);
        self.byte(0);
    }

    /// Write a string preceded by its length.
    #[inline]
    pub fn counted(&mut self, text: &[u8]) {
        let length = text.len();
        let bytes = (length as u64).to_le_bytes();
        match length {
            0..=0xfa => self.byte(bytes[0]),
            0xfb..=0xffff => {
                self.byte(0xfc);
                self.bytes(&bytes[..2]);
            }
            _ => {
                self.byte(0xfd);
                self.bytes(&bytes[..3]);
            }
        }
        self.bytes(text);
    }

    /// Return the whole packet, with its header.
    #[inline]
    pub fn end(self, sequence: u8) -> Result<&'a [u8], Failure> {
        let length = self.buffer.len() - HEADER;
        if length >= SPLIT {
            return Err(Failure::usage(format!(
                "a statement has {length} bytes, which is too long: the limit is 16 MB"
            )));
        }
        let [low, middle, high, ..] = (length as u32).to_le_bytes();
        self.buffer[..HEADER].copy_from_slice(&[low, middle, high, sequence]);
        Ok(self.buffer)
    }
}

/// Return a whole packet with this body.
#[cfg(test)]
pub fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut packet = Packet::begin(&mut buffer);
    packet.bytes(body);
    packet.end(sequence).unwrap().to_vec()
}

/// Read a number; its first byte gives its length.
#[inline]
pub fn number(body: &mut Body<'_>) -> Result<u64, Failure> {
    let first = body.byte()?;
    number_after(first, body)
}

#[inline]
fn number_after(first: u8, body: &mut Body<'_>) -> Result<u64, Failure> {
    Ok(match first {
        0xfc => u64::from(u16::from_le_bytes(body.array()?)),
        0xfd => {
            let [low, middle, high] = body.array()?;
            u64::from(u32::from_le_bytes([low, middle, high, 0]))
        }
        0xfe => u64::from_le_bytes(body.array()?),
        0xfb | 0xff => return Err(Failure::protocol("a number begins with an invalid byte")),
        small => u64::from(small),
    })
}

/// Read a string preceded by its length.
pub fn counted<'a>(body: &mut Body<'a>) -> Result<&'a [u8], Failure> {
    let first = body.byte()?;
    counted_after(first, body)
}

fn counted_after<'a>(first: u8, body: &mut Body<'a>) -> Result<&'a [u8], Failure> {
    let length = number_after(first, body)?;
    body.bytes(usize::try_from(length).map_err(|_| truncated())?)
}

/// Read a string preceded by its length, or NULL.
pub fn nullable<'a>(body: &mut Body<'a>) -> Result<Option<&'a [u8]>, Failure> {
    const NULL: u8 = 0xfb;
    match body.byte()? {
        NULL => Ok(None),
        first => counted_after(first, body).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_from_their_packets() {
        for length in [0, 1, 0xfa, 0xfb, 0xffff, 0x1_0000] {
            let text = vec![b'x'; length];
            let mut buffer = Vec::new();
            let mut packet = Packet::begin(&mut buffer);
            packet.counted(&text);
            let bytes = packet.end(7).unwrap();
            let header = PacketHeader::read(&bytes[..HEADER]);
            assert_eq!(header.body_size(), Ok(bytes.len() - HEADER));
            assert_eq!(header.sequence, 7);
            assert_eq!(counted(&mut Body::new(&bytes[HEADER..])), Ok(&text[..]));
        }
    }

    #[test]
    fn numbers_tell_their_length() {
        for (bytes, value) in [
            (&b"\xfa"[..], 0xfa),
            (b"\xfc\x01\x02", 0x201),
            (b"\xfd\x01\x02\x03", 0x3_0201),
            (b"\xfe\x01\0\0\0\0\0\0\x02", 0x200_0000_0000_0001),
        ] {
            assert_eq!(number(&mut Body::new(bytes)), Ok(value));
            for length in 0..bytes.len() {
                let torn = number(&mut Body::new(&bytes[..length]));
                assert!(matches!(torn, Err(Failure::Protocol(_))), "{torn:?}");
            }
        }
        assert!(number(&mut Body::new(b"\xff")).is_err());
    }

    #[test]
    fn what_does_not_fit_one_packet_is_a_usage_failure() {
        let mut buffer = Vec::new();
        let mut packet = Packet::begin(&mut buffer);
        packet.zeros(SPLIT);
        assert!(matches!(packet.end(0), Err(Failure::Usage(_))));
        let header = PacketHeader::read(b"\xff\xff\xff\0");
        assert!(matches!(header.body_size(), Err(Failure::Usage(_))));
    }
}
