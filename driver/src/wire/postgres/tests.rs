//! The protocol against hand-made bytes of a server.

use std::io::Write;
use std::os::unix::net::UnixStream;

use super::*;
use crate::wire::ServerError;

const READY: &[u8] = b"Z\0\0\0\x05I";
const FAILED_TRANSACTION: &[u8] = b"Z\0\0\0\x05E";

/// Return a connection whose server has already sent `replies`.
fn connection(replies: &[&[u8]]) -> (PostgresConnection, UnixStream) {
    let (connection, mut server) = test_connection(1);
    for reply in replies {
        server.write_all(reply).unwrap();
    }
    (connection, server)
}

fn reply_to(replies: &[&[u8]]) -> Result<Reply, Failure> {
    let (mut connection, server) = connection(replies);
    drop(server);
    loop {
        connection.receive()?;
        if let Some(reply) = connection.reply()? {
            return Ok(reply);
        }
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

#[test]
fn an_execution_is_bind_execute_and_sync() {
    let mut output = BytesMut::new();
    let values = [Value::Int(7), Value::Text { start: 1, end: 3 }];
    encode_execution("s0", &values, b"xyz", &[BINARY], &mut output).unwrap();
    let expected: &[u8] =
        b"B\0\0\0\x20\0s0\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02yz\0\x01\0\x01\
        E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(&output[..], expected);
}

#[test]
fn values_of_any_kind_have_a_format_each() {
    let mut output = BytesMut::new();
    let written = Value::Written { start: 1, end: 3 };
    let values = [Value::Int(7), written, Value::Null];
    let formats: Vec<_> = values.iter().map(format_of).collect();
    encode_execution("s0", &values, b"xyz", &formats, &mut output).unwrap();
    let expected: &[u8] =
        b"B\0\0\0\x28\0s0\0\0\x03\0\x01\0\0\0\x01\0\x03\0\0\0\x04\0\0\0\x07\0\0\0\x02yz\xff\xff\xff\xff\0\x01\0\x01\
        E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(&output[..], expected);
}

#[test]
fn rows_of_queries_are_counted_and_those_of_writes_read() {
    let row = message(b'D', b"\0\0");
    let select = message(b'C', b"SELECT 2\0");
    let reply = reply_to(&[b"2\0\0\0\x04", &row, &row, &select, READY]).unwrap();
    assert_eq!(
        (reply.rows, reply.error, reply.in_transaction),
        (2, None, false)
    );
    let update = message(b'C', b"UPDATE 3\0");
    assert_eq!(reply_to(&[b"2\0\0\0\x04", &update, READY]).unwrap().rows, 3);
}

#[test]
fn errors_come_with_the_state_of_the_transaction() {
    let collision = b"SERROR\0C40001\0Mtry again\0\0";
    // The fields come in any order.
    let other = b"SERROR\0VERROR\0Mtry again\0C42P01\0\0";
    for (body, sqlstate) in [(&collision[..], "40001"), (other, "42P01")] {
        let reply = reply_to(&[&message(b'E', body), FAILED_TRANSACTION]).unwrap();
        let expected = ServerError {
            sqlstate: sqlstate.into(),
            message: "try again".into(),
            collision: sqlstate == "40001",
        };
        assert_eq!((reply.error, reply.in_transaction), (Some(expected), true));
    }
}

#[test]
fn one_reply_does_not_leak_into_the_next() {
    let update = message(b'C', b"UPDATE 1\0");
    let begin = message(b'C', b"BEGIN\0");
    let (mut connection, _server) = connection(&[&update, READY, &begin, READY]);
    connection.receive().unwrap();
    assert_eq!(connection.reply().unwrap().unwrap().rows, 1);
    assert_eq!(connection.reply().unwrap().unwrap(), Reply::default());
    assert_eq!(connection.reply().unwrap(), None);
}

#[test]
fn malformed_replies_are_protocol_failures() {
    let unknown = message(b'?', b"");
    let unfinished_tag = message(b'C', b"UPDATE 1");
    let empty_state = [message(b'C', b"BEGIN\0"), message(b'Z', b"")].concat();
    let torn_error = message(b'E', b"SERROR\0C400");
    let impossible_length = b"D\0\0\0\x01".to_vec();
    let ready_without_result = READY.to_vec();
    for bytes in [
        unknown,
        unfinished_tag,
        empty_state,
        torn_error,
        impossible_length,
        ready_without_result,
    ] {
        let outcome = reply_to(&[&bytes]);
        assert!(matches!(outcome, Err(Failure::Protocol(_))), "{outcome:?}");
    }
}

#[test]
fn a_reply_that_breaks_off_is_a_connection_failure() {
    let whole = [message(b'D', b"\0\0"), message(b'C', b"SELECT 1\0")].concat();
    for length in 0..whole.len() {
        let outcome = reply_to(&[&whole[..length]]);
        assert!(
            matches!(outcome, Err(Failure::Connection { .. })),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_shutdown_is_a_connection_failure_with_its_reason() {
    let fatal = message(b'E', b"SFATAL\0C57P01\0Mterminating connection\0\0");
    let expected = Failure::Connection {
        sqlstate: Some("57P01".into()),
        message: "terminating connection".into(),
    };
    assert_eq!(reply_to(&[&fatal]), Err(expected));
}

#[test]
fn a_query_gives_its_table() {
    let description = [b"\0\x02one\0", &[0; 18][..], b"two\0", &[0; 18]].concat();
    let (mut connection, _server) = connection(&[
        &message(b'T', &description),
        &message(b'D', b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff"),
        &message(b'C', b"SELECT 1\0"),
        READY,
    ]);
    let expected = Table {
        columns: vec!["one".into(), "two".into()],
        rows: vec![vec![Some("ab".into()), None]],
    };
    let outcome = connection.query("SELECT 'ab' AS one, NULL AS two");
    assert_eq!(outcome, Ok(expected));
}

fn start_up(
    greeting: Vec<u8>,
    password: Option<&str>,
) -> (Result<Option<Backend>, Failure>, Vec<u8>) {
    let (mut socket, received) = Socket::with_server(greeting);
    let target = Target::of_test("postgres", password);
    let startup = Startup {
        socket: &mut socket,
        frames: &mut Frames::new(),
        target: &target,
    };
    let outcome = startup.run();
    drop(socket);
    (outcome, received.join().unwrap())
}

#[test]
fn md5_passwords_are_hashed_with_the_salt() {
    let greeting = [
        message(b'R', b"\0\0\0\x05salt"),
        message(b'R', b"\0\0\0\0"),
        message(b'K', b"\0\0\x10\x92\0\0\0\x07"),
        READY.to_vec(),
    ]
    .concat();
    let (outcome, received) = start_up(greeting, Some("secret"));
    let backend = Backend {
        process: 4242,
        key: 7,
    };
    assert_eq!(outcome, Ok(Some(backend)));
    let hash = postgres_protocol::authentication::md5_hash(b"ann", b"secret", *b"salt");
    assert!(received.ends_with(&message(b'p', format!("{hash}\0").as_bytes())));
}

#[test]
fn unsupported_authentication_is_a_failure() {
    let md5 = message(b'R', b"\0\0\0\x05salt");
    let Err(Failure::Connection { sqlstate, .. }) = start_up(md5, None).0 else {
        panic!("there is no password");
    };
    assert_eq!(sqlstate.as_deref(), Some("28P01"));
    let kerberos = message(b'R', b"\0\0\0\x02");
    assert!(matches!(start_up(kerberos, None).0, Err(Failure::Usage(_))));
    let foreign = message(b'R', b"\0\0\0\x0aSCRAM-SHA-1\0\0");
    let outcome = start_up(foreign, Some("secret")).0;
    assert!(matches!(outcome, Err(Failure::Protocol(_))));
    let refusal = message(b'E', b"SFATAL\0C28P01\0Mwrong password\0\0");
    let outcome = start_up(refusal, None).0;
    let Err(Failure::Connection { sqlstate, .. }) = outcome else {
        panic!("the server refuses the password");
    };
    assert!(sqlstate.is_some());
    let truncated = message(b'R', b"\0\0\0\x05sa");
    let outcome = start_up(truncated, Some("secret")).0;
    assert!(matches!(outcome, Err(Failure::Protocol(_))));
}

#[test]
fn server_without_tls_is_left() {
    let (socket, server) = Socket::with_server(b"N".to_vec());
    let Err(Failure::Connection { message, .. }) = startup::ask_for_tls(socket) else {
        panic!("a server that says N has not agreed");
    };
    assert_eq!(message, "the server does not speak TLS");
    assert_eq!(server.join().unwrap(), b"\0\0\0\x08\x04\xd2\x16\x2f");
}

#[test]
fn bytes_behind_the_agreement_to_tls_are_left_to_it() {
    let (socket, server) = Socket::with_server(b"Sxyz".to_vec());
    let mut socket = startup::ask_for_tls(socket).unwrap();
    let mut buffer = [0; 8];
    assert_eq!(socket.receive(&mut buffer).unwrap(), 3);
    drop(socket);
    server.join().unwrap();
}
