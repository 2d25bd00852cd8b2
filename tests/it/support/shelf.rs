//! A web server with texts by their path, which a test lays out, takes away and counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
struct Laid {
    texts: BTreeMap<String, String>,
    asked: usize,
}

/// Stands until it is dropped.
pub(crate) struct Shelf {
    base: String,
    laid: Arc<Mutex<Laid>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Shelf {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let laid: Arc<Mutex<Laid>> = Arc::default();
        let of_server = laid.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                answer(stream, &of_server).await;
            }
        });
        Self { base, laid, serving }
    }

    /// Lays a text out under a path, and gives its URL.
    pub(crate) fn lay(&self, path: &str, text: impl ToString) -> String {
        self.laid.lock().unwrap().texts.insert(path.to_owned(), text.to_string());
        self.at(path)
    }

    /// The URL of a path, whether anything is laid out there or not.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(crate) fn clear(&self) {
        self.laid.lock().unwrap().texts.clear();
    }

    /// How often anything was asked for.
    pub(crate) fn asked(&self) -> usize {
        self.laid.lock().unwrap().asked
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(mut stream: TcpStream, laid: &Mutex<Laid>) {
    let mut head = Vec::new();
    let mut bytes = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut bytes).await {
            Ok(read) if read > 0 => head.extend_from_slice(&bytes[..read]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let text = {
        let mut laid = laid.lock().unwrap();
        laid.asked += 1;
        laid.texts.get(path).cloned()
    };
    let (status, text) = match text {
        Some(text) => ("200 OK", text),
        None => ("404 Not Found", String::new()),
    };
    let length = text.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(format!("{head}{text}").as_bytes()).await;
}
