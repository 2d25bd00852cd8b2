//! Whom nodes let in that ask who it is: over TLS alone, by a password or by a certificate.

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tonic::body::Body;
use tonic::codegen::http::{Request, header};
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// A server's, of the authority of these tests.
const CERTIFICATE: &str = include_str!("../../../data/tls/server.pem");
const KEY: &str = include_str!("../../../data/tls/server.key");
/// Who gives users their certificates.
const USERS_AUTHORITY: &str = include_str!("../../../data/tls/user_authority.pem");

pub(crate) enum Guard {
    /// Who says this `Authorization`.
    Password(&'static str),
    /// Whoever has a certificate of the users' authority.
    Certificate,
}

impl Guard {
    pub(super) fn tls(&self) -> ServerTlsConfig {
        // One that was chosen before stays.
        let _ = aws_lc_rs::default_provider().install_default();
        ServerTlsConfig::new()
            .identity(Identity::from_pem(CERTIFICATE, KEY))
            .client_ca_root(Certificate::from_pem(USERS_AUTHORITY))
            .client_auth_optional(true)
    }

    pub(super) fn lets_in(&self, request: &Request<Body>) -> bool {
        match self {
            Self::Password(wanted) => {
                let said = request.headers().get(header::AUTHORIZATION);
                said.is_some_and(|said| said == wanted)
            }
            Self::Certificate => {
                let connection = request.extensions().get::<TlsConnectInfo<TcpConnectInfo>>();
                connection.and_then(TlsConnectInfo::peer_certs).is_some()
            }
        }
    }
}
