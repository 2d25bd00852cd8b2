//! What stands between the network and the routes, as an attacker meets it: by raw sockets.

mod bounds;
mod cors;
mod gone;
mod head;
mod slow;

use std::time::Duration;

use hearth::api::{FrontSettings, Patience};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::app::App;

/// So short that a test need not wait, and long enough for a busy machine.
const SHORT: Duration = Duration::from_secs(3);
/// Long enough that nothing ends of it.
const LONG: Duration = Duration::from_secs(60);

/// A front that waits for nothing as long as nobody says so.
fn patience(change: impl FnOnce(&mut Patience)) -> FrontSettings {
    let mut patience = Patience { head: LONG, body: LONG, answer: LONG, idle: LONG };
    change(&mut patience);
    FrontSettings { patience, ..FrontSettings::default() }
}

async fn connect(app: &App) -> TcpStream {
    TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap()
}

/// Sends bytes and reads what comes until the server ends the connection.
async fn exchange(app: &App, bytes: &[u8]) -> String {
    let mut socket = connect(app).await;
    socket.write_all(bytes).await.unwrap();
    until_closed(&mut socket).await
}

/// What comes until the server ends the connection, which it does within reason.
async fn until_closed(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), socket.read_to_end(&mut answer));
    // A reset is an end, too.
    let _ = read.await.expect("the connection is held");
    String::from_utf8_lossy(&answer).into_owned()
}

/// The head of one answer.
async fn answer_head(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(socket.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}
