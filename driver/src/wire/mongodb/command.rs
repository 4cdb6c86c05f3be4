//! Commands as BSON bytes with holes for values, compiled when a statement is prepared.

use bson::oid::ObjectId;
use bson::{Bson, Document};

use super::super::{Failure, Value};

/// The kind of the values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A key: numbers become ObjectIds, like the keys that MongoDB generates.
    Key,
    Other,
}

impl Kind {
    /// Return the value that represents a hole in a command that is not compiled yet.
    pub fn hole(self) -> Bson {
        match self {
            Self::Key => Bson::MinKey,
            Self::Other => Bson::Undefined,
        }
    }
}

/// The name of a field, with a zero, and the kind of its values.
pub struct Field {
    pub name: Vec<u8>,
    pub kind: Kind,
}

/// Return the ObjectId for a key; ObjectIds have the order of the numbers.
pub fn object_id(number: u64) -> ObjectId {
    let mut bytes = [0; OBJECT_ID_SIZE];
    bytes[OBJECT_ID_SIZE - 8..].copy_from_slice(&number.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

/// Return the number of a key.
pub fn key_of(id: ObjectId) -> u64 {
    let bytes = id.bytes();
    let (_, number) = bytes.split_at(OBJECT_ID_SIZE - 8);
    u64::from_be_bytes(number.try_into().expect("8 bytes"))
}

/// The element types that values have.
mod element {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const OBJECT_ID: u8 = 0x07;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const INT: u8 = 0x10;
    pub const LONG: u8 = 0x12;
}

const MESSAGE: u32 = 2013;
const BODY: u8 = 0;
const HEADER_SIZE: usize = 16;
/// Flags and the kind of the body precede a message's document.
const BODY_START: usize = HEADER_SIZE + 5;
const OBJECT_ID_SIZE: usize = 12;

/// A command without its values.
pub struct Command {
    parts: Vec<Part>,
    bytes: Vec<u8>,
}

/// A command is written part by part.
enum Part {
    /// The bytes of `Command::bytes` from the end of the previous part to this offset.
    BytesTo(usize),
    /// The length of a document, which is known at its end.
    Begin,
    End,
    /// The next value. The bytes up to this offset are its name, with a zero.
    Hole(usize, Kind),
}

impl Command {
    /// Compile a document; `Kind::hole` represents a value in it.
    pub fn compile(document: &Document) -> Result<Self, Failure> {
        let mut command = Self {
            parts: Vec::new(),
            bytes: Vec::new(),
        };
        command.document(&mut entries(document))?;
        Ok(command)
    }

    fn document<'a>(
        &mut self,
        elements: &mut dyn Iterator<Item = (&'a str, &'a Bson)>,
    ) -> Result<(), Failure> {
        self.parts.push(Part::Begin);
        for (key, value) in elements {
            match value {
                Bson::Undefined => self.hole(key, Kind::Other),
                Bson::MinKey => self.hole(key, Kind::Key),
                Bson::Document(inner) => {
                    self.open(element::DOCUMENT, key);
                    self.document(&mut entries(inner))?;
                }
                Bson::Array(values) => {
                    self.open(element::ARRAY, key);
                    let keys: Vec<String> = (0..values.len()).map(|at| at.to_string()).collect();
                    self.document(&mut keys.iter().map(String::as_str).zip(values))?;
                }
                value => {
                    let alone = bson::doc! { key: value.clone() };
                    let alone = bson::serialize_to_vec(&alone).map_err(Failure::usage)?;
                    self.bytes.extend_from_slice(&alone[4..alone.len() - 1]);
                    self.parts.push(Part::BytesTo(self.bytes.len()));
                }
            }
        }
        self.parts.push(Part::End);
        Ok(())
    }

    fn hole(&mut self, key: &str, kind: Kind) {
        self.key(key);
        self.parts.push(Part::Hole(self.bytes.len(), kind));
    }

    fn open(&mut self, kind: u8, key: &str) {
        self.bytes.push(kind);
        self.key(key);
        self.parts.push(Part::BytesTo(self.bytes.len()));
    }

    fn key(&mut self, key: &str) {
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.push(0);
    }

    /// Append the command with these values.
    fn write(&self, values: &[Value], text: &[u8], output: &mut Vec<u8>, open: &mut Vec<usize>) {
        let mut values = values.iter();
        let mut done = 0;
        for part in &self.parts {
            match *part {
                Part::BytesTo(end) => {
                    output.extend_from_slice(&self.bytes[done..end]);
                    done = end;
                }
                Part::Begin => begin(output, open),
                Part::End => end(output, open),
                Part::Hole(end, kind) => {
                    let value = *values.next().expect("a value for each hole");
                    write_element(kind, value, text, &self.bytes[done..end], output);
                    done = end;
                }
            }
        }
    }
}

fn entries(document: &Document) -> impl Iterator<Item = (&str, &Bson)> {
    document.iter().map(|(key, value)| (key.as_str(), value))
}

/// Messages under construction, in reused buffers.
#[derive(Default)]
pub struct Encoder {
    output: Vec<u8>,
    /// The offsets of the lengths of incomplete documents.
    open: Vec<usize>,
    last_request: u32,
}

impl Encoder {
    /// Return the message of a command with its values.
    pub fn execution(&mut self, command: &Command, values: &[Value], text: &[u8]) -> &[u8] {
        self.message(|output, open| command.write(values, text, output, open))
    }

    /// Return a command with its values as a document.
    pub fn document(
        &mut self,
        command: &Command,
        values: &[Value],
        text: &[u8],
    ) -> Result<Document, Failure> {
        let message = self.execution(command, values, text);
        bson::deserialize_from_slice(&message[BODY_START..]).map_err(Failure::usage)
    }

    /// Return the message of a complete command.
    pub fn command(&mut self, command: &Document) -> Result<&[u8], Failure> {
        let body = bson::serialize_to_vec(command).map_err(Failure::usage)?;
        Ok(self.message(|output, _| output.extend_from_slice(&body)))
    }

    fn message(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Vec<usize>)) -> &[u8] {
        self.last_request = self.last_request.wrapping_add(1);
        self.output.clear();
        self.output.extend_from_slice(&[0; 4]);
        for word in [self.last_request, 0, MESSAGE, 0] {
            self.output.extend_from_slice(&word.to_le_bytes());
        }
        self.output.push(BODY);
        write(&mut self.output, &mut self.open);
        let length = self.output.len() as u32;
        self.output[..4].copy_from_slice(&length.to_le_bytes());
        &self.output
    }
}

/// Documents with named values, consecutive like the elements of an array.
#[derive(Default)]
pub struct Documents {
    pub bytes: Vec<u8>,
    pub count: usize,
    open: Vec<usize>,
}

impl Documents {
    pub fn push(&mut self, fields: &[Field], values: &[Value], text: &[u8]) {
        self.bytes.push(element::DOCUMENT);
        self.bytes
            .extend_from_slice(self.count.to_string().as_bytes());
        self.bytes.push(0);
        begin(&mut self.bytes, &mut self.open);
        for (field, value) in fields.iter().zip(values) {
            write_element(field.kind, *value, text, &field.name, &mut self.bytes);
        }
        end(&mut self.bytes, &mut self.open);
        self.count += 1;
    }

    /// Append all documents to a command with other elements, as its last element, an array.
    pub fn take_into(&mut self, command: &Document, key: &str) -> Result<Vec<u8>, Failure> {
        let mut output = Vec::with_capacity(self.bytes.len() + 128);
        begin(&mut output, &mut self.open);
        let others = bson::serialize_to_vec(command).map_err(Failure::usage)?;
        output.extend_from_slice(&others[4..others.len() - 1]);
        output.push(element::ARRAY);
        output.extend_from_slice(key.as_bytes());
        output.push(0);
        begin(&mut output, &mut self.open);
        output.append(&mut self.bytes);
        end(&mut output, &mut self.open);
        end(&mut output, &mut self.open);
        self.count = 0;
        Ok(output)
    }
}

impl Encoder {
    /// Return the message of a command that is already encoded.
    pub fn encoded(&mut self, body: &[u8]) -> &[u8] {
        self.message(|output, _| output.extend_from_slice(body))
    }
}

fn begin(output: &mut Vec<u8>, open: &mut Vec<usize>) {
    open.push(output.len());
    output.extend_from_slice(&[0; 4]);
}

fn end(output: &mut Vec<u8>, open: &mut Vec<usize>) {
    output.push(0);
    let start = open.pop().expect("a document that was begun");
    let length = (output.len() - start) as u32;
    output[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Append an element; its name ends with a zero.
#[inline]
fn write_element(kind: Kind, value: Value, text: &[u8], name: &[u8], output: &mut Vec<u8>) {
    if kind == Kind::Key {
        output.push(element::OBJECT_ID);
        output.extend_from_slice(name);
        output.extend_from_slice(&object_id(value.number()).bytes());
        return;
    }
    let element = match value {
        Value::Int(_) => element::INT,
        Value::BigInt(_) => element::LONG,
        Value::Real(_) => element::DOUBLE,
        Value::Timestamp(_) => element::DATE,
        Value::Text { .. } | Value::Written { .. } | Value::Bytes { .. } => element::STRING,
        Value::Null => element::NULL,
    };
    output.push(element);
    output.extend_from_slice(name);
    match value {
        Value::Int(number) => output.extend_from_slice(&number.to_le_bytes()),
        Value::BigInt(number) => output.extend_from_slice(&number.to_le_bytes()),
        Value::Real(number) => output.extend_from_slice(&f64::from(number).to_le_bytes()),
        Value::Timestamp(seconds) => output.extend_from_slice(&(seconds * 1000).to_le_bytes()),
        Value::Null => {}
        Value::Text { start, end }
        | Value::Written { start, end }
        | Value::Bytes { start, end } => {
            let text = Value::slice(text, start, end);
            output.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
            output.extend_from_slice(text);
            output.push(0);
        }
    }
}

pub const fn header_size() -> usize {
    HEADER_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn holes_are_filled_in_their_order() {
        let template = doc! {
            "update": "t",
            "updates": [{ "u": { "$set": { "c": Bson::Undefined } },
                          "q": { "_id": { "$in": [Bson::MinKey, Bson::Undefined] } } }],
            "$db": "d",
        };
        let command = Command::compile(&template).unwrap();
        let mut encoder = Encoder::default();
        let values = [
            Value::Text { start: 1, end: 3 },
            Value::Int(7),
            Value::BigInt(1 << 40),
        ];
        let message = encoder.execution(&command, &values, b"xyz");
        let expected = doc! {
            "update": "t",
            "updates": [{ "u": { "$set": { "c": "yz" } },
                          "q": { "_id": { "$in": [object_id(7), 1_i64 << 40] } } }],
            "$db": "d",
        };
        assert_eq!(message[..4], (message.len() as u32).to_le_bytes());
        assert_eq!(
            message[BODY_START..],
            bson::serialize_to_vec(&expected).unwrap()
        );
        let again = encoder.execution(&command, &values, b"xyz").to_vec();
        assert_eq!(again[4], 2, "the number of the request");
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        let numbers = [0, 1, 255, 256, 1 << 40, u64::MAX];
        assert_eq!(numbers.map(|number| key_of(object_id(number))), numbers);
        assert!(numbers.map(|number| object_id(number).bytes()).is_sorted());
    }

    #[test]
    fn documents_become_the_last_element_of_their_command() {
        let field = |name: &[u8], kind| Field {
            name: name.to_vec(),
            kind,
        };
        let fields = [
            field(b"_id\0", Kind::Key),
            field(b"r\0", Kind::Other),
            field(b"d\0", Kind::Other),
        ];
        let mut documents = Documents::default();
        for id in 1..=2 {
            let values = [Value::Int(id), Value::Real(0.5), Value::Timestamp(60)];
            documents.push(&fields, &values, b"");
        }
        let body = documents
            .take_into(&doc! { "insert": "t", "$db": "d" }, "documents")
            .unwrap();
        let at = bson::DateTime::from_millis(60_000);
        let expected = doc! {
            "insert": "t",
            "$db": "d",
            "documents": [
                { "_id": object_id(1), "r": 0.5, "d": at },
                { "_id": object_id(2), "r": 0.5, "d": at },
            ],
        };
        assert_eq!(body, bson::serialize_to_vec(&expected).unwrap());
        assert_eq!(documents.count, 0);
    }
}
