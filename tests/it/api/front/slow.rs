//! Clients that take their time: each of them holds a connection, and nothing else.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{SHORT, answer_head, connect, patience, until_closed};
use crate::api::app::App;

/// Sends a byte now and then, for as long as anybody takes it.
async fn trickle(socket: &mut tokio::net::TcpStream, bytes: &[u8]) -> String {
    let (mut from, mut to) = socket.split();
    let mut answer = Vec::new();
    let dripping = async {
        for byte in bytes.iter().cycle() {
            if to.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = dripping => {}
        _ = from.read_to_end(&mut answer) => {}
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[actix::test]
async fn a_head_that_trickles_in_is_not_waited_for() {
    let app = App::behind(patience(|it| it.head = SHORT)).await;
    let began = Instant::now();
    let mut socket = connect(&app).await;
    socket.write_all(b"GET /healthcheck HTTP/1.1\r\nhost: a\r\nx-a: ").await.unwrap();
    let answer = trickle(&mut socket, b"a").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    // The HTTP library's clock has steps of half a second.
    let at_least = SHORT - Duration::from_millis(600);
    assert!(began.elapsed() >= at_least && began.elapsed() < 10 * SHORT, "{:?}", began.elapsed());
    app.stop().await;
}

#[actix::test]
async fn nor_is_the_head_of_the_next_request_on_a_connection_that_was_good_once() {
    let app = App::behind(patience(|it| it.head = SHORT)).await;
    let mut socket = connect(&app).await;
    socket.write_all(b"GET /healthcheck HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(answer_head(&mut socket).await.starts_with("HTTP/1.1 200 "));
    // A client may rest between two requests, and only there.
    tokio::time::sleep(SHORT + Duration::from_millis(300)).await;
    let began = Instant::now();
    socket.write_all(b"GET /healthcheck HTTP/1.1\r\nx-a: ").await.unwrap();
    trickle(&mut socket, b"a").await;
    assert!(began.elapsed() >= SHORT && began.elapsed() < 10 * SHORT, "{:?}", began.elapsed());
    app.stop().await;
}

#[actix::test]
async fn a_connection_that_says_nothing_is_closed() {
    let app = App::behind(patience(|it| it.head = SHORT)).await;
    let mut silent = connect(&app).await;
    until_closed(&mut silent).await;
    app.stop().await;
    let app = App::behind(patience(|it| it.idle = SHORT)).await;
    let mut kept = connect(&app).await;
    kept.write_all(b"GET /healthcheck HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(answer_head(&mut kept).await.starts_with("HTTP/1.1 200 "));
    until_closed(&mut kept).await;
    app.stop().await;
}

#[actix::test]
async fn a_body_that_trickles_in_is_408_in_its_time() {
    let front = patience(|it| {
        it.body = SHORT;
        // After the answer the rest of a body is read for as long as another head.
        it.head = SHORT;
    });
    let app = App::behind(front).await;
    let began = Instant::now();
    let held = (0..20).map(|number| {
        let head = format!(
            "POST /v1/{}/stacks HTTP/1.1\r\nhost: a\r\nx-auth-token: {}\r\n\
             content-type: application/json\r\n{}\r\n\r\n",
            app.project,
            app.token,
            if number % 2 == 0 { "content-length: 100000" } else { "transfer-encoding: chunked" },
        );
        let bytes: &[u8] = if number % 2 == 0 { b"{" } else { b"1\r\n{\r\n" };
        let app = &app;
        async move {
            let mut socket = connect(app).await;
            socket.write_all(head.as_bytes()).await.unwrap();
            trickle(&mut socket, bytes).await
        }
    });
    for answer in futures::future::join_all(held).await {
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("\"HTTPRequestTimeout\""), "{answer}");
    }
    assert!(began.elapsed() < 10 * SHORT, "{:?}", began.elapsed());
    app.stop().await;
}

#[actix::test]
async fn a_body_that_nobody_reads_holds_nothing_either() {
    let app = App::behind(patience(|it| it.head = SHORT)).await;
    let mut socket = connect(&app).await;
    let head = b"POST /v1/p/stacks HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head).await.unwrap();
    let answer = trickle(&mut socket, b"1\r\n{\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    app.stop().await;
}

#[actix::test]
async fn an_answer_that_nobody_takes_is_given_up() {
    let app = App::behind(patience(|it| it.answer = SHORT)).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = app.url.trim_start_matches("http://").parse().unwrap();
    let mut socket = socket.connect(address).await.unwrap();
    // Requests for a long answer, one after the other, none of which is read.
    let request = format!(
        "GET /v1/{}/resource_types/OS::Nova::Server HTTP/1.1\r\nhost: a\r\nx-auth-token: {}\r\n\r\n",
        app.project, app.token
    );
    let began = Instant::now();
    let ended = async {
        loop {
            if socket.write_all(request.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the connection is held");
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    app.stop().await;
}
