//! TLS between a socket and a protocol.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{ring, CryptoProvider};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, StreamOwned,
};

use super::socket::CONNECT_TIMEOUT;
use super::Failure;
use crate::protocol::target::{Tls, Verify};

pub type TlsStream = StreamOwned<ClientConnection, Shared>;

/// A stream that another thread may shut down.
pub struct Shared(pub Arc<TcpStream>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

/// Encrypt a connection whose server has agreed to it, and verify the server as requested.
pub fn secure(stream: Arc<TcpStream>, host: &str, tls: &Tls) -> Result<TlsStream, Failure> {
    let name = ServerName::try_from(host.to_owned()).map_err(Failure::usage)?;
    let config = config(tls)?;
    let mut connection =
        ClientConnection::new(Arc::new(config), name).map_err(Failure::connection)?;
    shake_hands(&mut connection, &stream, CONNECT_TIMEOUT)
        .map_err(|what| Failure::connection(format!("TLS with {host} failed: {what}")))?;
    Ok(StreamOwned::new(connection, Shared(stream)))
}

/// Perform the handshake. A server without TLS may wait for the rest of a supposed command.
fn shake_hands(
    connection: &mut ClientConnection,
    mut stream: &TcpStream,
    limit: Duration,
) -> Result<(), String> {
    let wait = |stream: &TcpStream, limit| stream.set_read_timeout(limit);
    wait(stream, Some(limit)).map_err(|error| error.to_string())?;
    while connection.is_handshaking() {
        connection
            .complete_io(&mut stream)
            .map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    format!("no answer within {} s: does it speak TLS?", limit.as_secs())
                }
                _ => error.to_string(),
            })?;
    }
    wait(stream, None).map_err(|error| error.to_string())
}

/// Return whether there are decrypted bytes from the server, so that there is no need to wait.
pub fn holds_bytes(stream: &mut TlsStream) -> io::Result<bool> {
    let state = stream.conn.process_new_packets();
    let state = state.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(state.plaintext_bytes_to_read() > 0)
}

fn config(tls: &Tls) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Failure::usage)?
        .dangerous()
        .with_custom_certificate_verifier(verifier(tls, provider)?);
    match (&tls.certificate, &tls.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| Failure::usage(format!("cannot read {key}: {error}")))?;
            builder
                .with_client_auth_cert(certificates(certificate)?, key)
                .map_err(Failure::usage)
        }
        _ => Err(Failure::usage(
            "a client's certificate needs its key, and the key its certificate",
        )),
    }
}

fn verifier(
    tls: &Tls,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Failure> {
    let schemes = provider
        .signature_verification_algorithms
        .supported_schemes();
    let chain = match tls.verify {
        Verify::Nothing => None,
        Verify::Authority | Verify::Identity => {
            let roots = Arc::new(roots(tls)?);
            let builder = WebPkiServerVerifier::builder_with_provider(roots, provider);
            Some(builder.build().map_err(Failure::usage)?)
        }
    };
    match (tls.verify, chain) {
        (Verify::Identity, Some(chain)) => Ok(chain),
        (_, chain) => Ok(Arc::new(Lenient { chain, schemes })),
    }
}

/// Return the authorities in the file, by default the machine's.
fn roots(tls: &Tls) -> Result<RootCertStore, Failure> {
    let mut store = RootCertStore::empty();
    let found = match &tls.authorities {
        Some(file) => certificates(file)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    store.add_parsable_certificates(found);
    if store.is_empty() {
        return Err(Failure::usage(
            "no certificate of an authority to verify the server with: name a file",
        ));
    }
    Ok(store)
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let unreadable = |error| Failure::usage(format!("cannot read {file}: {error}"));
    CertificateDer::pem_file_iter(file)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)
}

/// Verifies less than the server's whole identity: the signatures of the chain without the name, or
/// nothing at all.
#[derive(Debug)]
struct Lenient {
    chain: Option<Arc<WebPkiServerVerifier>>,
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_not_waited_for() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(silent.local_addr().unwrap()).unwrap();
        let tls = Tls {
            verify: Verify::Nothing,
            authorities: None,
            certificate: None,
            key: None,
        };
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut connection = ClientConnection::new(Arc::new(config(&tls).unwrap()), name).unwrap();
        let limit = Duration::from_millis(50);
        let failure = shake_hands(&mut connection, &stream, limit).unwrap_err();
        assert!(failure.contains("does it speak TLS?"), "{failure}");
    }
}
