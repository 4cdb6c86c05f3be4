//! Authentication methods for passwords.

use rsa::pkcs8::DecodePublicKey as _;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use sha1::{Digest as _, Sha1};
use sha2::{Digest as _, Sha256};

use super::super::Failure;

/// The number of the server's random bytes.
pub const NONCE: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `mysql_native_password`: all servers but MySQL 9.
    Native,
    /// `caching_sha2_password`: MySQL 8 and later.
    CachingSha2,
}

impl Method {
    pub fn named(name: &str) -> Option<Self> {
        [Self::Native, Self::CachingSha2]
            .into_iter()
            .find(|method| method.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// Return a proof that the client knows the password, without revealing it.
    pub fn proof(self, password: &str, nonce: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        match self {
            Self::Native => {
                let hash = Sha1::digest(password);
                let twice = Sha1::digest(hash);
                let salted = Sha1::new().chain_update(nonce).chain_update(twice);
                xor(&hash, &salted.finalize())
            }
            Self::CachingSha2 => {
                let hash = Sha256::digest(password);
                let twice = Sha256::digest(hash);
                let salted = Sha256::new().chain_update(twice).chain_update(nonce);
                xor(&hash, &salted.finalize())
            }
        }
    }
}

/// Encrypt the password for a server that needs it; only the server's private key decrypts it.
pub fn encrypted(password: &str, nonce: &[u8], public_key: &[u8]) -> Result<Vec<u8>, Failure> {
    let pem = std::str::from_utf8(public_key).map_err(Failure::protocol)?;
    let key = RsaPublicKey::from_public_key_pem(pem).map_err(Failure::protocol)?;
    let hidden = xor(terminated(password).as_slice(), nonce);
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &hidden)
        .map_err(Failure::protocol)
}

pub fn terminated(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

/// Combine the bytes with the mask, repeated as often as needed.
fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    let masks = mask.iter().cycle();
    bytes
        .iter()
        .zip(masks)
        .map(|(byte, mask)| byte ^ mask)
        .collect()
}
