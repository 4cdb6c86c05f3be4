//! The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) for MongoDB's servers: the user's name is
//! part of the exchange, unlike in Postgres.

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::super::Failure;
use crate::protocol::secret::Secret;

pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The fewest iterations that MongoDB's own drivers accept.
const FEWEST_ITERATIONS: u32 = 4096;
const MOST_ITERATIONS: u32 = 10_000_000;

type Key = [u8; 32];

/// An exchange in progress.
pub struct Scram {
    password: Secret,
    /// The first message without its header.
    first: String,
    nonce: String,
}

/// The answer to a challenge, and the signature that proves that the server knows the key.
pub struct Proof {
    pub message: String,
    signature: Key,
}

impl Scram {
    /// `nonce` is printable text that cannot be guessed.
    pub fn new(user: &str, password: &Secret, nonce: &str) -> Self {
        let name = user.replace('=', "=3D").replace(',', "=2C");
        Self {
            password: password.clone(),
            first: format!("n={name},r={nonce}"),
            nonce: nonce.to_owned(),
        }
    }

    pub fn first_message(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// Answer the server's challenge.
    pub fn answer(&self, challenge: &str) -> Result<Proof, Failure> {
        let wrong = || Failure::protocol("the server did not send a challenge of SCRAM-SHA-256");
        let nonce = field(challenge, 'r').ok_or_else(wrong)?;
        let salt = field(challenge, 's').and_then(|salt| STANDARD.decode(salt).ok());
        let salt = salt.ok_or_else(wrong)?;
        let iterations: u32 = field(challenge, 'i')
            .and_then(|number| number.parse().ok())
            .filter(|number| (FEWEST_ITERATIONS..=MOST_ITERATIONS).contains(number))
            .ok_or_else(wrong)?;
        if !nonce.starts_with(&self.nonce) || nonce == self.nonce {
            return Err(wrong());
        }
        let mut salted = Key::default();
        let password = self.password.reveal().as_bytes();
        pbkdf2::pbkdf2_hmac::<Sha256>(password, &salt, iterations, &mut salted);
        let client_key = signed(&salted, b"Client Key");
        let stored_key: Key = Sha256::digest(client_key).into();
        let without_proof = format!("c=biws,r={nonce}");
        let all = format!("{},{challenge},{without_proof}", self.first);
        let mut proof = signed(&stored_key, all.as_bytes());
        for (byte, key) in proof.iter_mut().zip(client_key) {
            *byte ^= key;
        }
        Ok(Proof {
            message: format!("{without_proof},p={}", STANDARD.encode(proof)),
            signature: signed(&signed(&salted, b"Server Key"), all.as_bytes()),
        })
    }
}

impl Proof {
    /// Check that the server knows the key, too.
    pub fn verify(&self, last: &str) -> Result<(), Failure> {
        let expected = STANDARD.encode(self.signature);
        if field(last, 'v') == Some(expected.as_str()) {
            Ok(())
        } else {
            Err(Failure::protocol("the server does not know the password"))
        }
    }
}

fn field(message: &str, name: char) -> Option<&str> {
    let fields = message.split(',');
    fields
        .filter_map(|field| field.split_once('='))
        .find(|(key, _)| key.len() == 1 && key.starts_with(name))
        .map(|(_, value)| value)
}

fn signed(key: &Key, text: &[u8]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_exchange_is_that_of_the_standard() {
        let scram = Scram::new("user", &Secret::new("pencil"), "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(scram.first_message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let challenge = format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        let proof = scram.answer(&challenge).unwrap();
        let expected = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(proof.message, format!("c=biws,r={nonce},p={expected}"));
        let last = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(proof.verify(last), Ok(()));
        assert!(proof.verify("v=AAAA").is_err());
    }

    #[test]
    fn challenges_that_are_none_are_refused() {
        let scram = Scram::new("a=b,c", &Secret::new("pencil"), "abc");
        assert_eq!(scram.first_message(), "n,,n=a=3Db=2Cc,r=abc");
        for challenge in [
            "r=abcd,s=AAAA,i=1",
            "r=xyz,s=AAAA,i=4096",
            "r=abc,s=AAAA,i=4096",
            "r=abcd,s=!,i=4096",
            "e=other-error",
        ] {
            assert!(scram.answer(challenge).is_err(), "{challenge}");
        }
    }
}
