//! Encryption of the connection, by the same library that encrypts everything else.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::place::Trust;
use crate::error::StoreError;

/// What encrypts connections to a server that is trusted so far.
pub(super) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS");
    let builder = match trust {
        Trust::Anybody => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified { provider }))
        }
        Trust::System => builder.with_platform_verifier().map_err(|cause| refused(&cause))?,
        Trust::Authorities(path) => builder.with_root_certificates(authorities(path)?),
    };
    Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
}

fn authorities(path: &Path) -> Result<RootCertStore, StoreError> {
    let unreadable = |cause: &dyn std::fmt::Display| StoreError::Refused {
        reason: format!(
            "sslrootcert {} cannot be used: {cause}; it must hold PEM certificates",
            path.display()
        ),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|cause| unreadable(&cause))? {
        let certificate = certificate.map_err(|cause| unreadable(&cause))?;
        roots.add(certificate).map_err(|cause| unreadable(&cause))?;
    }
    if roots.is_empty() {
        return Err(unreadable(&"it holds none"));
    }
    Ok(roots)
}

fn refused(cause: &rustls::Error) -> StoreError {
    StoreError::Refused {
        reason: format!(
            "the certificates that this machine trusts cannot be read: {cause}; name a file with \
             sslrootcert"
        ),
    }
}

/// Encrypts without asking who the other side is: what `sslmode=require` means to every client of
/// PostgreSQL. Whoever wants to know says `verify-full`.
#[derive(Debug)]
struct Unverified {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
