//! The handshakes of old and new servers, simulated by hand-made bytes.

use rsa::pkcs8::{EncodePublicKey as _, LineEnding};
use rsa::{Oaep, RsaPrivateKey};
use sha1::Sha1;

use super::*;
use crate::wire::mysql::packets::packet;

const NONCE_BYTES: [u8; NONCE] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
];
/// SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))) of "secret", by another implementation.
const NATIVE_PROOF: &[u8] =
    b"\xb3\x2b\xb3\xa5\x83\xe1\x34\x0c\x0a\x11\x08\xd5\x8b\x1b\xe4\x97\x81\xad\x8c\x2f";
/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce), likewise.
const SHA2_PROOF: &[u8] = b"\x74\x6e\xbe\x20\x5d\x56\xa0\x70\x7a\xcb\x3e\x79\x6e\x83\x4e\x0d\
    \xd7\xb1\xd6\x17\x43\xb2\x6b\xd5\x20\x2c\x7a\x62\x32\x30\xc7\xc9";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const ALL_CAPABILITIES: u32 = u32::MAX;

fn greeting(version: &str, capabilities: u32, method: &[u8]) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let (first, second) = NONCE_BYTES.split_at(8);
    let nonce_length = NONCE as u8 + 1;
    [
        &[PROTOCOL_VERSION],
        version.as_bytes(),
        b"\0\x07\0\0\0",
        first,
        &[0, a, b, LATIN1, 2, 0, c, d, nonce_length],
        &[0; 10],
        second,
        b"\0",
        method,
    ]
    .concat()
}

fn target(password: Option<&str>) -> Target {
    Target::of_test("mysql", password)
}

/// Return the outcome, and the packets of the client.
fn shake_hands(target: &Target, packets: &[&[u8]]) -> (Result<Endings, Failure>, Vec<Vec<u8>>) {
    let numbered = packets.iter().zip((0..).step_by(2));
    let replies = numbered.flat_map(|(body, place)| packet(place, body));
    let (socket, received) = match target.host {
        None => Socket::with_server(replies.collect()),
        Some(_) => Socket::with_tcp_server(replies.collect()),
    };
    let handshake = Handshake {
        socket,
        frames: &mut Frames::new(),
        target,
    };
    let outcome = handshake.run().map(|shaken| shaken.endings);
    let mut received = &received.join().unwrap()[..];
    let mut sent = Vec::new();
    while let [low, middle, high, sequence, rest @ ..] = received {
        assert_eq!(usize::from(*sequence), 2 * sent.len() + 1);
        let length = u32::from_le_bytes([*low, *middle, *high, 0]) as usize;
        sent.push(rest[..length].to_vec());
        received = &rest[length..];
    }
    (outcome, sent)
}

#[test]
fn an_old_server_gets_the_native_proof() {
    let capabilities = ALL_CAPABILITIES & !can::DEPRECATE_EOF;
    // The greeting of 5.5.9: without a zero after the method's name.
    let greeting = greeting("5.5.9", capabilities, b"mysql_native_password");
    let (outcome, sent) = shake_hands(&target(Some("secret")), &[&greeting, OK]);
    assert_eq!(outcome, Ok(Endings::Eof));
    let flags = (can::WANTED & !can::DEPRECATE_EOF).to_le_bytes();
    let expected = [
        &flags[..],
        &[0, 0, 0, 1, LATIN1],
        &[0; 23],
        b"ann\0\x14",
        NATIVE_PROOF,
        b"db\0mysql_native_password\0",
    ];
    assert_eq!(sent, [expected.concat()]);
}

#[test]
fn a_server_without_methods_to_choose_from_gets_none() {
    let capabilities = can::NEEDED | can::CONNECT_WITH_DATABASE;
    let (outcome, sent) = shake_hands(&target(None), &[&greeting("5.1.73", capabilities, b""), OK]);
    assert_eq!(outcome, Ok(Endings::Eof));
    assert!(sent[0].ends_with(b"ann\0\0db\0"));
}

#[test]
fn a_new_server_that_knows_the_user_gets_the_sha2_proof() {
    let greeting = greeting("9.7.4", ALL_CAPABILITIES, b"caching_sha2_password\0");
    let known = [answer::MORE, sha2_step::KNOWN];
    // After a proof comes nothing from the client.
    let (outcome, sent) = shake_hands(&target(Some("secret")), &[&greeting, &known, OK]);
    assert_eq!(outcome, Ok(Endings::Ok));
    let expected = [b"ann\0\x20", SHA2_PROOF, b"db\0caching_sha2_password\0"].concat();
    assert!(sent[0].ends_with(&expected));
    assert_eq!(sent.len(), 1);
}

#[test]
fn a_new_server_that_does_not_know_the_user_sees_the_password_on_a_unix_socket() {
    let greeting = greeting("9.7.4", ALL_CAPABILITIES, b"caching_sha2_password\0");
    let unknown = [answer::MORE, sha2_step::PASSWORD_PLEASE];
    let (outcome, sent) = shake_hands(&target(Some("secret")), &[&greeting, &unknown, OK]);
    assert_eq!(outcome, Ok(Endings::Ok));
    assert_eq!(sent[1], b"secret\0");
}

#[test]
fn over_tcp_the_password_is_encrypted_with_the_key_of_the_server() {
    // As short as the padding allows: a key of the usual length takes long to generate.
    let key = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 768).unwrap();
    let pem = key
        .to_public_key()
        .to_public_key_pem(LineEnding::LF)
        .unwrap();
    let greeting = greeting("8.0.11", ALL_CAPABILITIES, b"caching_sha2_password\0");
    let unknown = [answer::MORE, sha2_step::PASSWORD_PLEASE];
    let public_key = [&[answer::MORE], pem.as_bytes()].concat();
    let over_tcp = Target {
        socket: None,
        host: Some("localhost".into()),
        ..target(Some("secret"))
    };
    let (outcome, sent) = shake_hands(&over_tcp, &[&greeting, &unknown, &public_key, OK]);
    assert_eq!(outcome, Ok(Endings::Ok));
    assert_eq!(sent[1], [sha2_step::KEY_PLEASE]);
    let hidden = key.decrypt(Oaep::new::<Sha1>(), &sent[2]).unwrap();
    let shown: Vec<_> = hidden
        .iter()
        .zip(NONCE_BYTES)
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    assert_eq!(shown, b"secret\0");
}

#[test]
fn the_method_follows_the_user() {
    let greeting = greeting(
        "5.5.5-10.11.5-MariaDB",
        ALL_CAPABILITIES & !1,
        b"client_ed25519\0",
    );
    let switch = [b"\xfemysql_native_password\0", &NONCE_BYTES[..], b"\0"].concat();
    let (outcome, sent) = shake_hands(&target(Some("secret")), &[&greeting, &switch, OK]);
    assert_eq!(outcome, Ok(Endings::Ok));
    assert_eq!(sent[1], NATIVE_PROOF);
}

#[test]
fn without_a_password_nothing_is_proved() {
    let greeting = greeting("9.7.4", ALL_CAPABILITIES, b"caching_sha2_password\0");
    let (outcome, sent) = shake_hands(&target(None), &[&greeting, OK]);
    assert_eq!(outcome, Ok(Endings::Ok));
    assert!(sent[0].ends_with(b"ann\0\0db\0caching_sha2_password\0"));
}

#[test]
fn unsupported_authentication_is_a_failure() {
    let greeting = greeting("8.0.11", ALL_CAPABILITIES, b"caching_sha2_password\0");
    let outcome_of = |answer: &[u8]| shake_hands(&target(None), &[&greeting, answer]).0;
    for method in [&b"\xfe"[..], b"\xfedialog\0salt"] {
        assert!(matches!(outcome_of(method), Err(Failure::Usage(_))));
    }
    for torn in [&b"\xfemysql_native_password\0salt"[..], b"\x01", b"\x07"] {
        assert!(matches!(outcome_of(torn), Err(Failure::Protocol(_))));
    }
    let denied = outcome_of(b"\xff\x15\x04#28000Access denied");
    let expected = Failure::Connection {
        sqlstate: Some("28000".into()),
        message: "Access denied".into(),
    };
    assert_eq!(denied, Err(expected));
}

#[test]
fn a_server_that_refuses_everybody_gives_its_reason() {
    let full = b"\xff\x10\x04Too many connections";
    let (outcome, _) = shake_hands(&target(None), &[full]);
    let expected = Failure::Connection {
        sqlstate: Some("HY000/1040".into()),
        message: "Too many connections".into(),
    };
    assert_eq!(outcome, Err(expected));
}

#[test]
fn strange_greetings_are_failures() {
    let whole = greeting("8.0.11", ALL_CAPABILITIES, b"");
    for length in 0..whole.len() - 1 {
        let (outcome, _) = shake_hands(&target(None), &[&whole[..length]]);
        assert!(
            matches!(outcome, Err(Failure::Protocol(_))),
            "{length}: {outcome:?}"
        );
    }
    let (outcome, _) = shake_hands(&target(None), &[b"\x09"]);
    assert!(matches!(outcome, Err(Failure::Protocol(_))));
    let (outcome, _) = shake_hands(&target(None), &[&greeting("3.23", 0, b"")]);
    assert!(matches!(outcome, Err(Failure::Usage(_))));
}
