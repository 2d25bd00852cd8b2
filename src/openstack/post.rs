//! Posts what is told to the URLs that users gave: to where calls may go, along no redirections.
//! What the receiver says is not read.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, Url};

use super::egress::{Egress, Guarded};
use super::fetch::without_url;
use crate::model::AllowedTarget;

/// How long a receiver may take to be connected to, and to answer.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Posts.
#[derive(Debug)]
pub struct Poster {
    clients: Guarded,
}

impl Poster {
    pub fn new(allowed: &[AllowedTarget]) -> Self {
        let clients = Guarded::new(Egress::new(allowed), || {
            Client::builder()
                .user_agent(concat!("hearth/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_WITHIN)
                .timeout(ANSWER_WITHIN)
        });
        Self { clients }
    }

    /// Whether a call may go there, as far as its URL tells.
    pub fn may_go_to(&self, url: &Url) -> bool {
        self.clients.client(url).is_ok()
    }

    /// Posts JSON; only a status from 200 to 299 says that it was taken. The error, which does not
    /// tell the URL, is for the log.
    pub async fn post(
        &self,
        url: Url,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    ) -> Result<(), String> {
        let client = self.clients.client(&url).map_err(|_| "no call may go there".to_owned())?;
        let request = client.post(url).header("content-type", "application/json");
        let request = headers.into_iter().fold(request, |it, (name, value)| it.header(name, value));
        let answer = request.body(body).send().await.map_err(|error| without_url(&error))?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(format!("it answers {}", answer.status())),
        }
    }
}
