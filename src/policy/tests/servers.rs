//! Rules that another server decides.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A server that says the same to everybody; what it was asked comes back from the channel.
async fn server(says: &'static str) -> (String, tokio::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = tokio::sync::mpsc::channel(8);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = Vec::new();
            // The form ends with the credentials, whose last one is this.
            while !String::from_utf8_lossy(&asked).contains("is_admin%22") {
                let mut chunk = [0; 4096];
                let read = stream.read(&mut chunk).await.unwrap();
                asked.extend_from_slice(&chunk[..read]);
            }
            sender.send(String::from_utf8_lossy(&asked).into_owned()).await.unwrap();
            let length = says.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{says}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (address.to_string(), receiver)
}

#[tokio::test]
async fn another_server_is_told_who_asks_for_what_and_only_true_lets_pass() {
    for (says, passes) in [("True", true), ("\"True\"", true), ("False", false), ("true", false)] {
        let (address, mut asked) = server(says).await;
        let policy = policy(&format!(
            "\"stacks:create\": \"role:member and http://{address}/%(project_id)s\""
        ));
        assert_eq!(policy.may(&caller(&["member"]), "stacks:create").await, passes, "{says}");
        let request = asked.recv().await.unwrap();
        assert!(request.starts_with("POST /p1 HTTP/1.1"), "{request}");
        for part in ["rule=%22stacks%3Acreate%22", "%22project_id%22%3A%22p1%22", "%22member%22"] {
            assert!(request.contains(part), "{part} is not in {request}");
        }
        assert!(!policy.may(&caller(&["reader"]), "stacks:create").await);
        assert!(asked.try_recv().is_err(), "it was asked although the role did not do");
    }
}

#[tokio::test]
async fn a_server_that_is_silent_or_gone_refuses_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    let gone = {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        closed.local_addr().unwrap()
    };
    let began = Instant::now();
    for address in [silent, gone] {
        let mut policy = policy(&format!("\"stacks:create\": \"@ and http://{address}/\""));
        policy.settings.remote.timeout = Duration::from_millis(200);
        policy.remote = OnceLock::new();
        assert!(!policy.may(&caller(&["admin"]), "stacks:create").await);
    }
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn another_server_may_decide_on_types_and_is_asked_once_for_a_family() {
    let (address, mut asked) = server("False").await;
    let policy = policy(&format!("\"resource_types:OS::Trove::*\": \"http://{address}/\""));
    let types = ["OS::Heat::Value", "OS::Trove::Cluster", "OS::Trove::Instance"].map(str::to_owned);
    let forbidden = policy.forbidden(&caller(&["member"]), types.into()).await;
    assert_eq!(Vec::from_iter(forbidden), ["OS::Trove::Cluster", "OS::Trove::Instance"]);
    let request = asked.recv().await.unwrap();
    for part in ["rule=%22resource_types%3AOS%3A%3ATrove%3A%3A*%22", "target=%7B%7D"] {
        assert!(request.contains(part), "{part} is not in {request}");
    }
    assert!(asked.try_recv().is_err(), "it was asked again for the second type");
}
