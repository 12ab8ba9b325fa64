//! How our connections are set up: TLS, limits, timers.

use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
use quinn::{
    AckFrequencyConfig, ClientConfig, IdleTimeout, NoneTokenStore, ServerConfig, TransportConfig,
    ValidationTokenConfig,
};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::congestion::Congestion;

/// The one protocol that both sides name.
const PROTOCOL: &[u8] = b"farhold";
/// What a connection may have on its way to us before its other end is authenticated.
pub(super) const UNPROVEN_WINDOW: u32 = 16 << 10;
/// The same of a session's connection: twice what 330 ms of 1.5 Gbit/s hold.
pub(super) const WINDOW: u32 = 128 << 20;
/// The same of one stream.
const STREAM_WINDOW: u32 = 64 << 20;
/// What a connection may have sent, or be about to send, that is not acknowledged.
pub(super) const SEND_WINDOW: u64 = 64 << 20;
/// The streams that the dialer of a session may have: its lanes, and those that take their place.
pub(super) const LANES: u32 = 40;
/// Hops on the way forget a flow of datagrams after 30 s and more (RFC 4787, requirement 5, asks for 120 s).
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Packets that one acknowledgement may wait for, up to 25 ms: every second one, as usual, would be 1.4 % of the other
/// direction and a good part of the receiver's work.
const ACKNOWLEDGED_AT_ONCE: u32 = 10;
/// What somebody begins here and nobody has looked at yet: no more than these, and bytes of each and of all. Where nobody
/// looks any more, as on a way through the relay that has its connection, it stays until the socket goes.
const BEGUN: usize = 1024;
const BEGUN_BYTES: u64 = 16 << 10;
const ALL_BEGUN_BYTES: u64 = 1 << 20;
/// A session is given up sooner, by what it hears itself. A connection whose very first packet closes it ends only with
/// this.
const IDLE: Duration = Duration::from_secs(45);

/// Why QUIC cannot be set up here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("no certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("no TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("no cipher for first packets")]
    Suite(#[from] NoInitialCipherSuite),
    #[error("a limit is beyond QUIC's")]
    Limit(#[from] quinn::VarIntBoundsExceeded),
}

/// Both roles' configurations, made at each start.
#[derive(Debug)]
pub(super) struct Configs {
    pub(super) client: ClientConfig,
    pub(super) server: ServerConfig,
}

impl Configs {
    pub(super) fn new() -> Result<Self, ConfigError> {
        let provider = Arc::new(CryptoProvider {
            kx_groups: vec![aws_lc_rs::kx_group::X25519MLKEM768],
            ..aws_lc_rs::default_provider()
        });
        let mut client = ClientConfig::new(Arc::new(client_tls(&provider)?));
        client.transport_config(Arc::new(transport(0)?)).token_store(Arc::new(NoneTokenStore));
        let mut server = ServerConfig::with_crypto(Arc::new(server_tls(provider)?));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        server
            .transport_config(Arc::new(transport(1)?))
            .validation_token_config(tokens)
            .migration(true)
            .max_incoming(BEGUN)
            .incoming_buffer_size(BEGUN_BYTES)
            .incoming_buffer_size_total(ALL_BEGUN_BYTES);
        Ok(Self { client, server })
    }
}

/// `streams` are those that the other end may open before it is authenticated.
fn transport(streams: u32) -> Result<TransportConfig, ConfigError> {
    let mut acknowledgements = AckFrequencyConfig::default();
    acknowledgements.ack_eliciting_threshold((ACKNOWLEDGED_AT_ONCE - 1).into());
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(streams.into())
        .max_concurrent_uni_streams(0_u32.into())
        .datagram_receive_buffer_size(None)
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(UNPROVEN_WINDOW.into())
        .send_window(SEND_WINDOW)
        .ack_frequency_config(Some(acknowledgements))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(IdleTimeout::try_from(IDLE)?))
        .congestion_controller_factory(Arc::new(Congestion));
    Ok(config)
}

fn client_tls(provider: &Arc<CryptoProvider>) -> Result<QuicClientConfig, ConfigError> {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(Arc::clone(provider))))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.resumption = Resumption::disabled();
    tls.enable_sni = false;
    Ok(tls.try_into()?)
}

fn server_tls(provider: Arc<CryptoProvider>) -> Result<QuicServerConfig, ConfigError> {
    let certificate = rcgen::generate_simple_self_signed([super::SERVER_NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.session_storage = Arc::new(NoServerSessionStorage {});
    tls.send_tls13_tickets = 0;
    Ok(tls.try_into()?)
}

/// Takes every certificate whose key its sender has. Who that is shows in the handshake inside, which is bound to this
/// TLS connection.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
