//! Files of vectors: 32-bit numbers, little-endian, one vector after the other.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use crate::protocol::described::Encoding;

const NUMBER: usize = size_of::<f32>();

/// A file of vectors that are read one by one.
pub struct Vectors {
    file: File,
    size: usize,
    count: u64,
    encoding: Encoding,
}

impl Vectors {
    pub fn open(path: &str, dimensions: u32, encoding: Encoding) -> Result<Self, String> {
        let size = dimensions as usize * NUMBER;
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|error| format!("{path}: {error}"))?;
        if size == 0 || length == 0 || length % size as u64 != 0 {
            return Err(format!(
                "{path} has {length} bytes, which is not a multiple of {dimensions} numbers"
            ));
        }
        Ok(Self {
            file,
            size,
            count: length / size as u64,
            encoding,
        })
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Append the vector with this number, counted from 0, to the text.
    pub fn write(&self, number: u64, text: &mut Vec<u8>) -> Result<(), String> {
        let place = number % self.count * self.size as u64;
        let mut bytes = vec![0; self.size];
        let read = self.file.read_exact_at(&mut bytes, place);
        read.map_err(|error| format!("cannot read a vector: {error}"))?;
        match self.encoding {
            Encoding::Bytes => text.extend_from_slice(&bytes),
            Encoding::Text => {
                for (place, number) in bytes.chunks_exact(NUMBER).enumerate() {
                    text.push(if place == 0 { b'[' } else { b',' });
                    let number = f32::from_le_bytes(number.try_into().expect("four bytes"));
                    write!(text, "{number}").expect("memory");
                }
                text.push(b']');
            }
        }
        Ok(())
    }
}

/// All vectors of a file in the form for sending, so that operations need not format numbers.
pub struct EncodedVectors {
    bytes: Vec<u8>,
    /// The end of each vector in `bytes`.
    ends: Vec<usize>,
}

impl EncodedVectors {
    pub fn of(vectors: &Vectors) -> Result<Self, String> {
        let mut encoded = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
        };
        for number in 0..vectors.count() {
            vectors.write(number, &mut encoded.bytes)?;
            encoded.ends.push(encoded.bytes.len());
        }
        Ok(encoded)
    }

    /// Return the bytes of the longest vector.
    pub fn most_bytes(&self) -> usize {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lengths = self.ends.iter().zip(starts).map(|(end, start)| end - start);
        lengths.max().unwrap_or(0)
    }

    pub fn get(&self, number: u64) -> &[u8] {
        let place = (number % self.ends.len() as u64) as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[place]]
    }
}
