//! Commands and replies against hand-made bytes of a server.

use std::io::Write;
use std::os::unix::net::UnixStream;

use super::packets::packet;
use super::*;
use crate::wire::ServerError;

/// The definition of a column `c`.
const COLUMN: &[u8] = b"\x03def\x02db\x01t\x01t\x01c\x01c\x0c\x08\0\x78\0\0\0\xfe\0\0\0\0\0";
const OK: &[u8] = b"\0\x01\0\x02\0\0\0";
const OK_IN_TRANSACTION: &[u8] = b"\0\0\0\x03\0\0\0";
const EOF: &[u8] = b"\xfe\0\0\x02\0";
const OK_AT_END: &[u8] = b"\xfe\0\0\x02\0\0\0";
const BINARY_ROW: &[u8] = b"\0\0\x02ab";
const TEXT_ROW: &[u8] = b"\x02ab";
const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
const LOCK_WAIT: &[u8] = b"\xff\xb5\x04#HY000Lock wait timeout";

/// Number the packets of a reply.
fn numbered(packets: &[&[u8]]) -> Vec<u8> {
    let numbered = packets.iter().zip(1..);
    numbered
        .flat_map(|(body, place)| packet(place, body))
        .collect()
}

fn connection(endings: Endings, replies: &[&[&[u8]]]) -> (MysqlConnection, UnixStream) {
    let (socket, mut server) = Socket::pair();
    for packets in replies {
        server.write_all(&numbered(packets)).unwrap();
    }
    (
        MysqlConnection::over(socket, Frames::new(), endings),
        server,
    )
}

fn reply_of(endings: Endings, packets: &[&[u8]]) -> Result<Reply, Failure> {
    let (mut connection, server) = connection(endings, &[packets]);
    drop(server);
    loop {
        connection.receive()?;
        if let Some(reply) = connection.reply()? {
            return Ok(reply);
        }
    }
}

fn rows(rows: u64) -> Reply {
    Reply {
        rows,
        ..Reply::default()
    }
}

#[test]
fn types_of_parameters_are_sent_once_and_when_they_change() {
    let mut types = Vec::new();
    let mut output = Vec::new();
    let mut encode = |values: &[Value]| {
        encode_execution(7, &mut types, values, Kinds::Usual, b"xyz", &mut output)
            .unwrap()
            .to_vec()
    };
    let values = [Value::Int(-2), Value::Text { start: 1, end: 3 }];
    let head = b"\x17\x07\0\0\0\0\x01\0\0\0";
    let with_types = [
        &b"\x17\0\0\0"[..],
        head,
        b"\0\x01\x03\0\xfd\0",
        b"\xfe\xff\xff\xff\x02yz",
    ];
    let known = [&b"\x13\0\0\0"[..], head, b"\0\0", b"\xfe\xff\xff\xff\x02yz"];
    assert_eq!(encode(&values), with_types.concat());
    assert_eq!(encode(&values), known.concat());
    assert_eq!(encode(&values[..1])[14..18], *b"\0\x01\x03\0");
    assert_eq!(encode(&values), with_types.concat());
    assert_eq!(encode(&[]), [&b"\x0a\0\0\0"[..], head].concat());
}

#[test]
fn a_bit_for_null_is_sent_for_each_of_many_values() {
    let mut values = [Value::Int(1); 9];
    let packet = |values: &[Value], kinds| {
        let (mut types, mut output) = (Vec::new(), Vec::new());
        let packet = encode_execution(0, &mut types, values, kinds, b"", &mut output);
        packet.unwrap().to_vec()
    };
    for kinds in [Kinds::Usual, Kinds::Any] {
        let packet = packet(&values, kinds);
        assert_eq!(packet[14..17], [0, 0, 1]);
        assert_eq!(packet.len(), 14 + 2 + 1 + 9 * 2 + 9 * 4);
    }
    values[1] = Value::Null;
    values[8] = Value::Null;
    let packet = packet(&values, Kinds::Any);
    assert_eq!(packet[14..17], [2, 1, 1]);
    assert_eq!(packet.len(), 14 + 2 + 1 + 9 * 2 + 7 * 4);
}

#[test]
fn rows_are_counted_with_either_ending() {
    let old: &[&[u8]] = &[b"\x01", COLUMN, EOF, BINARY_ROW, BINARY_ROW, EOF];
    let new: &[&[u8]] = &[b"\x01", COLUMN, BINARY_ROW, BINARY_ROW, OK_AT_END];
    assert_eq!(reply_of(Endings::Eof, old), Ok(rows(2)));
    assert_eq!(reply_of(Endings::Ok, new), Ok(rows(2)));
    let two_columns: &[&[u8]] = &[b"\x02", COLUMN, COLUMN, OK_AT_END];
    assert_eq!(reply_of(Endings::Ok, two_columns), Ok(rows(0)));
}

#[test]
fn rows_of_writes_are_read() {
    assert_eq!(reply_of(Endings::Ok, &[OK]), Ok(rows(1)));
    let many = reply_of(Endings::Eof, &[b"\0\xfc\0\x01\0\x02\0\0\0"]);
    assert_eq!(many, Ok(rows(256)));
}

#[test]
fn a_reply_is_found_wherever_the_stream_is_cut() {
    let bytes = numbered(&[b"\x01", COLUMN, EOF, BINARY_ROW, EOF]);
    for cut in 1..bytes.len() {
        let (mut connection, mut server) = connection(Endings::Eof, &[]);
        server.write_all(&bytes[..cut]).unwrap();
        connection.receive().unwrap();
        assert_eq!(connection.reply(), Ok(None), "cut at {cut}");
        server.write_all(&bytes[cut..]).unwrap();
        connection.receive().unwrap();
        assert_eq!(connection.reply(), Ok(Some(rows(1))), "cut at {cut}");
    }
}

#[test]
fn an_error_among_the_rows_ends_the_reply() {
    let packets: &[&[u8]] = &[b"\x01", COLUMN, BINARY_ROW, DEADLOCK];
    let error = reply_of(Endings::Ok, packets).unwrap().error.unwrap();
    let expected = ServerError {
        sqlstate: "40001".into(),
        message: "Deadlock found".into(),
        collision: true,
    };
    assert_eq!(error, expected);
}

#[test]
fn errors_without_a_state_are_distinguished_by_their_number() {
    let full = b"\xff\x5a\x04#HY000The table is full";
    for (packet, sqlstate, collision) in
        [(LOCK_WAIT, "HY000/1205", true), (full, "HY000/1114", false)]
    {
        let error = reply_of(Endings::Ok, &[packet]).unwrap().error.unwrap();
        assert_eq!((&*error.sqlstate, error.collision), (sqlstate, collision));
    }
}

#[test]
fn a_transaction_goes_on_until_an_ok_says_otherwise() {
    let replies: &[&[&[u8]]] = &[&[LOCK_WAIT], &[OK_IN_TRANSACTION], &[LOCK_WAIT], &[OK]];
    let (mut connection, _server) = connection(Endings::Ok, replies);
    connection.receive().unwrap();
    let mut state = || {
        let reply = connection.reply().unwrap().unwrap();
        (reply.error.is_some(), reply.in_transaction)
    };
    assert_eq!(state(), (true, false));
    assert_eq!(state(), (false, true));
    assert_eq!(state(), (true, true));
    assert_eq!(state(), (false, false));
}

#[test]
fn a_result_inside_a_transaction_says_so_with_either_ending() {
    let old: &[&[u8]] = &[b"\x01", COLUMN, EOF, b"\xfe\0\0\x03\0"];
    let new: &[&[u8]] = &[b"\x01", COLUMN, b"\xfe\0\0\x03\0\0\0"];
    assert!(reply_of(Endings::Eof, old).unwrap().in_transaction);
    assert!(reply_of(Endings::Ok, new).unwrap().in_transaction);
}

#[test]
fn one_reply_does_not_leak_into_the_next() {
    let result: &[&[u8]] = &[b"\x01", COLUMN, BINARY_ROW, OK_AT_END];
    let (mut connection, _server) = connection(Endings::Ok, &[result, &[DEADLOCK], result]);
    connection.receive().unwrap();
    assert_eq!(connection.reply(), Ok(Some(rows(1))));
    assert!(connection.reply().unwrap().unwrap().error.is_some());
    assert_eq!(connection.reply(), Ok(Some(rows(1))));
    assert_eq!(connection.reply(), Ok(None));
}

#[test]
fn malformed_replies_are_protocol_failures() {
    let malformed: [&[&[u8]]; 6] = [
        &[b""],
        &[b"\0\x01"],
        &[b"\xff\xbd"],
        &[b"\xfc\x01"],
        &[b"\x01", COLUMN, b"\0"],
        &[b"\x01", COLUMN, EOF, b"\xfe\0"],
    ];
    for packets in malformed {
        let outcome = reply_of(Endings::Eof, packets);
        assert!(
            matches!(outcome, Err(Failure::Protocol(_))),
            "{packets:?}: {outcome:?}"
        );
    }
}

#[test]
fn a_reply_that_breaks_off_is_a_connection_failure() {
    let whole = [&b"\x01"[..], COLUMN, BINARY_ROW];
    for count in 0..=whole.len() {
        let outcome = reply_of(Endings::Ok, &whole[..count]);
        assert!(
            matches!(outcome, Err(Failure::Connection { .. })),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_shutdown_is_a_connection_failure_with_its_reason() {
    for (packet, state) in [
        (
            &b"\xff\x1d\x04#08S01Server shutdown in progress"[..],
            "08S01",
        ),
        (b"\xff\x87\x07#70100Connection was killed", "70100"),
    ] {
        let Err(Failure::Connection { sqlstate, .. }) = reply_of(Endings::Ok, &[packet]) else {
            panic!("the connection is gone");
        };
        assert_eq!(sqlstate.as_deref(), Some(state));
    }
}

#[test]
fn a_query_gives_its_table() {
    let other = b"\x03def\x02db\x01t\x01t\x03two\x03two\x0c\x08\0\x78\0\0\0\xfe\0\0\0\0\0";
    let row = [TEXT_ROW, b"\xfb"].concat();
    let replies: &[&[&[u8]]] = &[&[b"\x02", COLUMN, other, &row, OK_AT_END]];
    let (mut connection, _server) = connection(Endings::Ok, replies);
    let expected = Table {
        columns: vec!["c".into(), "two".into()],
        rows: vec![vec![Some("ab".into()), None]],
    };
    assert_eq!(
        connection.query("SELECT 'ab' AS c, NULL AS two"),
        Ok(expected)
    );
}

#[test]
fn statements_are_prepared_with_either_ending_of_descriptions() {
    let prepared: &[u8] = b"\0\x05\0\0\0\x01\0\x02\0\0\0\0";
    let old: &[&[u8]] = &[prepared, COLUMN, COLUMN, EOF, COLUMN, EOF];
    let new: &[&[u8]] = &[prepared, COLUMN, COLUMN, COLUMN];
    for (endings, reply) in [(Endings::Eof, old), (Endings::Ok, new)] {
        let (mut connection, _server) = connection(endings, &[reply, &[OK]]);
        let statements = ["BEGIN", "SELECT c FROM t WHERE a = ? AND b = ?"];
        connection.prepare(&statements.map(Into::into)).unwrap();
        assert!(matches!(&connection.statements[0], Statement::Text(sql) if sql == "BEGIN"));
        assert!(matches!(
            connection.statements[1],
            Statement::Prepared { number: 5, .. }
        ));
        assert_eq!(
            connection.reply(),
            Ok(Some(rows(1))),
            "nothing is left over"
        );
    }
}

#[test]
fn a_statement_that_cannot_be_prepared_is_an_error_of_the_server() {
    let (mut connection, _server) =
        connection(Endings::Ok, &[&[b"\xff\x7a\x04#42S02no such table"]]);
    let outcome = connection.prepare(&["SELECT 1 FROM t".into()]);
    assert!(matches!(outcome, Err(Failure::Server(error)) if error.sqlstate == "42S02"));
}

#[test]
fn a_load_sends_inserts_of_many_rows_in_transactions() {
    let (mut connection, mut server) = connection(Endings::Ok, &[&[OK], &[OK], &[OK]]);
    let mut load = connection.load("t", &["a", "b"]).unwrap();
    load.row(&[Value::Int(1), Value::Text { start: 0, end: 2 }], b"x-")
        .unwrap();
    load.row(&[Value::Int(2), Value::Text { start: 1, end: 2 }], b"x-")
        .unwrap();
    assert!(load.finish().unwrap() > 0);
    drop(connection);
    let mut received = Vec::new();
    std::io::Read::read_to_end(&mut server, &mut received).unwrap();
    let insert = b"\x03INSERT INTO t (a, b) VALUES (1,'x-'),(2,'-')";
    let expected: Vec<u8> = [&b"\x03BEGIN"[..], insert, b"\x03COMMIT"]
        .iter()
        .flat_map(|body| packet(0, body))
        .collect();
    assert_eq!(received, expected);
}
