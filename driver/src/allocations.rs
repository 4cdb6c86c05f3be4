//! Tests that the steady state does not allocate: allocations would add the allocator's noise to
//! every measurement.
#![allow(unsafe_code, reason = "a global allocator is unsafe by its nature")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::client::gate::Unconditional;
use crate::client::operation::Generator;
use crate::client::readiness::Readiness;
use crate::client::{blocking, readiness, Client, Context, Place};
use crate::measure::{Clock, End, Nanosecond, Pace, Recorder};
use crate::wire::dialect::Dialect;
use crate::wire::{mongodb, mysql, postgres, Connection};
use crate::workload::{self, Shape, TestRequest};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is forwarded unchanged to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller makes the same promises to this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller makes the same promises to this function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller makes the same promises to this function.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

struct RealClock(Instant);

impl Clock for RealClock {
    fn now(&self) -> Nanosecond {
        self.0.elapsed().as_nanos() as Nanosecond
    }

    fn sleep_until(&self, _: Nanosecond) {}
}

/// A connection, and the other end of its socket.
type Connected = (Box<dyn Connection>, UnixStream);

/// A protocol with a server that answers every request with one row.
struct MockProtocol {
    /// The dialect of the tests' statements.
    dialect: &'static dyn Dialect,
    connect: fn(&[String]) -> Connected,
    /// Return the size of the message at the start of the bytes, if its header is there.
    size: fn(&[u8]) -> Option<usize>,
    answer: fn(&[u8]) -> &'static [u8],
}

static PROTOCOLS_OF_SQL: [MockProtocol; 2] = [
    MockProtocol {
        dialect: mysql::WIRE.dialect,
        connect: |statements| {
            let (connection, server) = postgres::test_connection(statements.len());
            (Box::new(connection), server)
        },
        size: |bytes| {
            let [_, length @ ..] = *bytes.first_chunk::<5>()?;
            Some(1 + u32::from_be_bytes(length) as usize)
        },
        answer: |message| match message[0] {
            b'S' | b'Q' => b"C\0\0\0\x0dUPDATE 1\0Z\0\0\0\x05I",
            _ => b"",
        },
    },
    MockProtocol {
        dialect: mysql::WIRE.dialect,
        connect: |statements| {
            let (connection, server) = mysql::test_connection(statements.len() as u32);
            (Box::new(connection), server)
        },
        size: |bytes| {
            let [low, middle, high, _] = *bytes.first_chunk()?;
            Some(4 + u32::from_le_bytes([low, middle, high, 0]) as usize)
        },
        // The number of columns, a column's definition (not read), a row, and the end.
        answer: |_| {
            b"\x01\0\0\x01\x01\x02\0\0\x02\x03c\x02\0\0\x03\0\0\
              \x07\0\0\x04\xfe\0\0\x02\0\0\0"
        },
    },
];

/// Complete statements are not part of this protocol: they are translated, which allocates.
static MONGODB: MockProtocol = MockProtocol {
    dialect: mongodb::WIRE.dialect,
    connect: |statements| {
        let (connection, server) = mongodb::test_connection(statements);
        (Box::new(connection), server)
    },
    size: |bytes| Some(u32::from_le_bytes(*bytes.first_chunk()?) as usize),
    // {cursor: {firstBatch: [{c: 1}], id: 0}, n: 1, ok: 1}
    answer: |_| {
        b"\x5e\0\0\0\0\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
          \x49\0\0\0\x03cursor\0\
          \x2d\0\0\0\x04firstBatch\0\
          \x14\0\0\0\x030\0\
          \x0c\0\0\0\x10c\0\x01\0\0\0\0\0\
          \x10id\0\0\0\0\0\0\x10n\0\x01\0\0\0\x10ok\0\x01\0\0\0\0"
    },
};

impl MockProtocol {
    fn serve(&self, mut stream: UnixStream) {
        let mut bytes = vec![0; 64 * 1024];
        let mut filled = 0;
        while let Ok(count @ 1..) = stream.read(&mut bytes[filled..]) {
            filled += count;
            let mut start = 0;
            while let Some(size) = (self.size)(&bytes[start..filled]) {
                let Some(message) = bytes[start..filled].get(..size) else {
                    break;
                };
                if stream.write_all((self.answer)(message)).is_err() {
                    return;
                }
                start += size;
            }
            bytes.copy_within(start..filled, 0);
            filled -= start;
        }
    }

    fn client(&'static self, test: &str, place: Place) -> Client {
        let shape = Shape {
            tables: 2,
            rows: 20_000,
            clients: place.clients,
            seed: 1,
        };
        let request = TestRequest {
            benchmark: "sbtest",
            test,
            described: None,
        };
        let test = workload::test(&request, shape, self.dialect).unwrap();
        self.client_of(&test.prepared(), test.generator(), place)
    }

    fn client_of(
        &'static self,
        statements: &[String],
        generator: Box<dyn Generator>,
        place: Place,
    ) -> Client {
        let (connection, server) = (self.connect)(statements);
        std::thread::spawn(move || self.serve(server));
        Client::new(connection, generator, place)
    }
}

/// Return each protocol with each test.
fn protocols_and_tests() -> impl Iterator<Item = (&'static MockProtocol, &'static str)> {
    PROTOCOLS_OF_SQL
        .iter()
        .chain([&MONGODB])
        .flat_map(|protocol| TESTS.map(|test| (protocol, test)))
}

const WARM: u64 = 50;
const STEADY: u64 = 300;
const TESTS: [&str; 8] = [
    "point-query",
    "random-points.1000",
    "read-only.100",
    "update-inlist",
    "update-zipf",
    "read-write.100",
    "delete",
    "insert",
];

fn allocations_of(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    act();
    ALLOCATIONS.with(Cell::get) - before
}

/// Return the number of allocations of the client's operations after it has warmed up.
fn allocations_of_client(mut client: Client) -> u64 {
    let mut recorder = Recorder::new();
    let context = &mut Context {
        clock: &RealClock(Instant::now()),
        recorder: &mut recorder,
    };
    let mut run_to = |position| {
        let mut pace = Pace::new(End::Position(position), None);
        blocking::run(&mut client, &mut pace, context, &AtomicBool::new(false)).unwrap();
    };
    run_to(WARM);
    allocations_of(|| run_to(WARM + STEADY))
}

#[test]
fn a_thread_with_one_client_allocates_nothing() {
    for (protocol, test) in protocols_and_tests() {
        let client = protocol.client(test, Place::ALONE);
        assert_eq!(allocations_of_client(client), 0, "{test}");
    }
}

/// Assert that a client does not allocate for the operations of this generator, which calls
/// prepared statements below `statements`.
pub fn assert_allocates_nothing(
    name: &str,
    statements: usize,
    generator: impl Fn() -> Box<dyn Generator>,
) {
    let statements = vec![String::new(); statements];
    for protocol in &PROTOCOLS_OF_SQL {
        let client = protocol.client_of(&statements, generator(), Place::ALONE);
        assert_eq!(allocations_of_client(client), 0, "{name}");
    }
}

#[test]
fn a_thread_with_many_clients_allocates_only_for_the_slice() {
    let clients = 4;
    for (protocol, test) in protocols_and_tests() {
        let places = (0..clients).map(|client| Place {
            client,
            clients,
            first: 0,
        });
        let mut clients: Vec<_> = places.map(|place| protocol.client(test, place)).collect();
        let ready = Readiness::watch(&clients).unwrap();
        let mut recorder = Recorder::new();
        let context = &mut Context {
            clock: &RealClock(Instant::now()),
            recorder: &mut recorder,
        };
        let mut run_to = |position| {
            let mut paces: Vec<_> = clients
                .iter()
                .map(|_| Pace::new(End::Position(position), None))
                .collect();
            let abandoned = AtomicBool::new(false);
            allocations_of(|| {
                readiness::run_when(
                    &Unconditional,
                    &mut clients,
                    &mut paces,
                    &ready,
                    context,
                    &abandoned,
                )
                .unwrap();
            })
        };
        run_to(WARM);
        let short = run_to(WARM + 1);
        let long = run_to(WARM + 1 + STEADY);
        assert_eq!(
            long, short,
            "{test}: as many for {STEADY} operations as for one"
        );
    }
}
