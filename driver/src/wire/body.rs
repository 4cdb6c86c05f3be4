//! The body of a message.

use super::Failure;

/// A reader that turns every truncation into a protocol failure.
pub struct Body<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Failure> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Read as many bytes as `from_be_bytes` or `from_le_bytes` of a number needs.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(truncated)?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Failure> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// Read a string that ends with a zero byte.
    pub fn string(&mut self) -> Result<String, Failure> {
        let text = self.until_zero()?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Read the bytes up to a zero byte, and that byte.
    #[inline]
    pub fn until_zero(&mut self) -> Result<&'a [u8], Failure> {
        let length = self.rest.iter().position(|&byte| byte == 0);
        let bytes = self.bytes(length.ok_or_else(truncated)?)?;
        self.bytes(1)?;
        Ok(bytes)
    }

    /// Return the unread bytes without consuming them.
    #[inline]
    pub fn peek(&self) -> &'a [u8] {
        self.rest
    }

    pub fn remaining(self) -> &'a [u8] {
        self.rest
    }
}

pub fn truncated() -> Failure {
    Failure::protocol("a message is shorter than its length")
}
