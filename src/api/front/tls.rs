//! The server's certificate: read at the start, and again when the operator says so, while
//! connections go on.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};

use crate::model::front::TlsFiles;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("could not read {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("there is no certificate in {}", path.display())]
    Empty { path: PathBuf },
    #[error("the certificate in {} cannot be used with its key", path.display())]
    Pair {
        path: PathBuf,
        #[source]
        source: Error,
    },
    #[error("the authorities in {} cannot be used: {reason}", path.display())]
    Authorities { path: PathBuf, reason: String },
}

/// The end of a handshake that is not begun, as TLS writes it: a fatal alert, `internal_error`.
pub(super) const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];

/// TLS as the server speaks it.
pub(in crate::api) struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads the files.
    pub(in crate::api) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let current = Arc::new(Current(RwLock::new(read(&files, &provider)?)));
        let unusable = |source| TlsError::Pair { path: files.certificate.clone(), source };
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let config = match &files.client_authorities {
            None => config.with_no_client_auth(),
            Some(path) => {
                let unusable = |error: &dyn fmt::Display| TlsError::Authorities {
                    path: path.clone(),
                    reason: error.to_string(),
                };
                let mut roots = RootCertStore::empty();
                for authority in certificates(path)? {
                    roots.add(authority).map_err(|error| unusable(&error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                    .build()
                    .map_err(|error| unusable(&error))?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let mut config = config.with_cert_resolver(Arc::clone(&current) as _);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { files, current, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// Says something to whoever is let no further: once he has asked, so that he reads it.
    pub(super) async fn say(&self, socket: TcpStream, words: &[u8]) -> io::Result<()> {
        let mut wire = self.acceptor.accept(socket).await?;
        let mut ignored = [0; 1024];
        let _ = wire.read(&mut ignored).await?;
        wire.write_all(words).await?;
        wire.shutdown().await?;
        // What he still sends is read, or the socket's end takes the answer with it.
        while wire.read(&mut ignored).await? > 0 {}
        Ok(())
    }

    /// Reads the certificate and its key again; where they cannot be used, the old ones stay.
    pub(in crate::api) fn reload(&self) -> Result<(), TlsError> {
        let fresh = read(&self.files, &aws_lc_rs::default_provider())?;
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}

/// The certificate that new connections are shown.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|source| TlsError::File { path: files.key.clone(), source })?;
    let pair = CertifiedKey::from_der(chain, key, provider);
    pair.map(Arc::new).map_err(|source| TlsError::Pair { path: files.certificate.clone(), source })
}

fn certificates(path: &PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |source| TlsError::File { path: path.clone(), source };
    let found = CertificateDer::pem_file_iter(path).map_err(failed)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(failed)?;
    if found.is_empty() { Err(TlsError::Empty { path: path.clone() }) } else { Ok(found) }
}
