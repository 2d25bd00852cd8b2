//! Whether a server lives and is ready, as whoever watches it is told.

use std::sync::Arc;

use hearth::events::log::MemoryLog;
use serde_json::json;

use super::app::App;
use crate::support::cut_log::CutLog;

async fn told(app: &App, verb: &str, path: &str) -> (u16, String) {
    let answer = app.send(verb, path, &[], None).await;
    (answer.status, answer.text)
}

#[actix::test]
async fn a_server_is_ready_while_it_can_write_and_lives_while_it_can_read() {
    let log = Arc::new(CutLog::new(Arc::new(MemoryLog::new()), i64::MAX));
    let app = App::over(log.clone()).await;
    let well = (200, String::new());
    for path in ["/healthcheck", "/healthcheck/alive", "/healthcheck/ready"] {
        assert_eq!(told(&app, "GET", path).await, well, "{path}");
        assert_eq!(told(&app, "HEAD", path).await.0, 204, "{path}");
    }
    let asked = [("accept", "application/json")];
    let answer = app.send("GET", "/healthcheck", &asked, None).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "detailed": false, "reasons": [] })));

    log.cut();
    let refuses = (503, "The log cannot be written.".to_owned());
    assert_eq!(told(&app, "GET", "/healthcheck/ready").await, refuses);
    for path in ["/healthcheck", "/healthcheck/alive"] {
        assert_eq!(told(&app, "GET", path).await, well, "{path}");
    }

    app.views.close().await;
    let stand = (503, "The views no longer follow the log.".to_owned());
    for path in ["/healthcheck", "/healthcheck/alive", "/healthcheck/ready"] {
        assert_eq!(told(&app, "GET", path).await, stand, "{path}");
        assert_eq!(told(&app, "HEAD", path).await.0, 503, "{path}");
    }
    let answer = app.send("GET", "/healthcheck", &asked, None).await;
    assert_eq!(answer.json()["reasons"], json!([stand.1]));
    app.stop().await;
}
