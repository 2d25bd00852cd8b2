//! A receiver of webhooks, which keeps what it was told and answers as it is asked to.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::wait::Tells;

/// What was posted.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    head: String,
    pub(crate) body: String,
    /// Whether it was not refused.
    pub(crate) is_taken: bool,
}

impl Ring {
    pub(crate) fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default()
    }

    pub(crate) fn position(&self) -> u64 {
        self.header("webhook-id").parse().unwrap()
    }

    pub(crate) fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Whether it is signed with a key, as it was told to who made the webhook.
    pub(crate) fn is_signed_with(&self, key: &str) -> bool {
        let key = STANDARD.decode(key.strip_prefix("whsec_").unwrap()).unwrap();
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(format!("{id}.{at}.{}", self.body).as_bytes());
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.header("webhook-signature") == signature
    }
}

/// What comes of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Status(u16),
    /// It was heard, and nobody learns that.
    Lost,
    /// It was heard, which is said after a while.
    Late(Duration),
    /// The connection ends before it is heard.
    Deaf,
}

/// Stands until it is dropped.
pub(crate) struct Bell {
    pub(crate) url: String,
    rings: Arc<watch::Sender<Vec<Ring>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Bell {
    /// `answers` are given to the first posts; all others are taken.
    pub(crate) async fn new(answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/told?token=of-the-url", listener.local_addr().unwrap());
        let rings: Arc<watch::Sender<Vec<Ring>>> = Arc::default();
        let (heard, answers) = (rings.clone(), answers.to_vec());
        let serving = tokio::spawn(async move {
            let mut answers = answers.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers.next().unwrap_or(Answer::Status(204));
                if answer == Answer::Deaf {
                    continue;
                }
                hear(stream, &heard, answer).await;
            }
        });
        Self { url, rings, serving }
    }

    pub(crate) fn rings(&self) -> Vec<Ring> {
        self.rings.borrow().clone()
    }
}

/// Of what it was told.
impl Tells for Bell {
    fn change(&self) -> BoxFuture<'_, ()> {
        self.rings.change()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn hear(mut stream: TcpStream, heard: &watch::Sender<Vec<Ring>>, answer: Answer) {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    let (head, body) = loop {
        match stream.read(&mut bytes).await {
            Ok(read) if read > 0 => text.push_str(&String::from_utf8_lossy(&bytes[..read])),
            _ => return,
        }
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.unwrap_or("0").parse::<usize>().unwrap() {
            break (head.to_owned(), body.to_owned());
        }
    };
    let is_taken = !matches!(answer, Answer::Status(300..));
    heard.send_modify(|rings| rings.push(Ring { head, body, is_taken }));
    let status = match answer {
        Answer::Status(status) => status,
        Answer::Late(after) => {
            tokio::time::sleep(after).await;
            204
        }
        Answer::Lost | Answer::Deaf => return,
    };
    let head = format!("HTTP/1.1 {status} -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
}
