//! Nothing is done for a client that is gone.

use std::time::Duration;

use hearth::actors::TemplateLoad;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::connect;
use crate::api::app::App;
use crate::support::wait::polled;

const WITHIN: Duration = Duration::from_secs(20);

/// Waits until the threads for templates do what is expected of them; what they do in the end.
async fn comes_to(app: &App, mut expected: impl FnMut(TemplateLoad) -> bool) -> TemplateLoad {
    let comes = async || match app.template_load() {
        load if expected(load) => Ok(load),
        load => Err(format!("{load:?}")),
    };
    polled(WITHIN, "that is done", comes).await
}

/// A template that takes all the steps of a request, each resource nearly all of a look.
fn hostile() -> String {
    let expression = "range(100).select(range(100).select($ + 1).len()).sum()";
    let resource = |number: u32| {
        format!(
            "  r{number}: {{type: OS::Heat::Value, properties: {{value: {{yaql: {{data: {number}, \
             expression: \"{expression}\"}}}}}}}}\n"
        )
    };
    let resources: String = (0..300).map(resource).collect();
    format!("heat_template_version: 2018-08-31\nresources:\n{resources}")
}

#[actix::test]
async fn who_closes_his_socket_ends_the_work_on_his_template() {
    let app = App::start().await;
    let body = json!({ "stack_name": "hostile", "template": hostile() }).to_string();
    let request = format!(
        "POST /v1/{}/stacks/preview HTTP/1.1\r\nhost: a\r\nx-auth-token: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        app.project,
        app.token,
        body.len()
    );
    let mut socket = connect(&app).await;
    socket.write_all(request.as_bytes()).await.unwrap();
    // Longer than the short jobs before it, such as the reading of the body.
    let mut seen = 0;
    let working = comes_to(&app, |load| {
        seen = if load.at_work == 1 { seen + 1 } else { 0 };
        seen == 10
    });
    assert_eq!(working.await, TemplateLoad { at_work: 1, given_up: 0 });
    // He closes it in the middle of the work, and not at its end.
    drop(socket);
    let free = comes_to(&app, |load| load.at_work == 0).await;
    assert_eq!(free, TemplateLoad { at_work: 0, given_up: 1 });
    app.stop().await;
}
