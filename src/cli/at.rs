//! `hearth at`: runs the openstack client in the past. Between the client and the server stands a
//! proxy on loopback, which adds `at` to every read and refuses all else.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use actix_web::http::header::LOCATION;
use actix_web::http::{Method, StatusCode};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use url::Url;
use url::form_urlencoded::Serializer;

use super::client::{ClientError, Lent};
use super::data::with_causes;
use super::place::{Errand, HELP, Place, PlaceArguments};

/// Connections of the one client that there is.
const WORKERS: usize = 1;

/// OpenStack's client.
const CLIENT: &str = "openstack";

/// What goes on to the server of a request's headers.
const PASSED_ON: [&str; 3] = ["x-auth-token", "accept", "user-agent"];

/// Run the openstack client as if it were another time: hearth at 2026-11-21T02:10Z -- stack list
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// A time, a position of the log, or a revision of the stack that is asked for, as r2
    #[arg(value_name = "POSITION|TIME|REVISION")]
    at: String,
    /// What the client is to do: a command about stacks
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// What the proxy knows.
struct Proxy {
    lent: Lent,
    at: String,
    /// Its own address, as `http://127.0.0.1:port`.
    origin: String,
}

/// Runs the client; its exit code is this one's.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match ran(arguments).await {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("hearth at: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn ran(arguments: Arguments) -> Result<ExitCode, String> {
    let command = of_stacks(arguments.command)?;
    let place = Place::open(&arguments.place, Errand::Look).await;
    let place = place.map_err(|error| with_causes(&error))?;
    let code = through_proxy(&place, arguments.at, command).await;
    place.close().await;
    code
}

/// The client's words, if they are about stacks: nothing else is known of another moment.
fn of_stacks(mut command: Vec<String>) -> Result<Vec<String>, String> {
    if command.first().is_some_and(|word| word == CLIENT) {
        command.remove(0);
    }
    if let Some(word) = command.iter().find(|word| word.starts_with("--os-")) {
        return Err(format!(
            "`{word}` would lead past the moment: name the server by the OS_… variables"
        ));
    }
    match command.iter().any(|word| word == "stack") {
        true => Ok(command),
        false => Err(format!(
            "`{}` is not about stacks, and nothing else has a past here: \
             hearth at 57 -- stack list",
            command.join(" ")
        )),
    }
}

async fn through_proxy(
    place: &Place,
    at: String,
    command: Vec<String>,
) -> Result<ExitCode, String> {
    let lent = place.client.lend().map_err(|error| with_causes(&error))?;
    let listener = std::net::TcpListener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
    let listener = listener.map_err(|error| with_causes(&error))?;
    let address = listener.local_addr().map_err(|error| with_causes(&error))?;
    let origin = format!("http://{address}");
    let mut client = std::process::Command::new(CLIENT);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"OS_") {
            client.env_remove(name);
        }
    }
    client
        .args(command)
        .env("OS_AUTH_TYPE", "admin_token")
        .env("OS_ENDPOINT", format!("{origin}{}", lent.endpoint.path()))
        .env("OS_TOKEN", &lent.token);
    let proxy = web::Data::new(Proxy { lent, at, origin });
    let app = move || App::new().app_data(proxy.clone()).default_service(web::to(passed_on));
    let server = HttpServer::new(app).workers(WORKERS).disable_signals().listen(listener);
    let server = server.map_err(|error| with_causes(&error))?.run();
    let handle = server.handle();
    actix::spawn(server);
    let status = tokio::task::spawn_blocking(move || client.status()).await;
    handle.stop(false).await;
    match status {
        Ok(Ok(status)) => {
            Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into())
        }
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Err(format!(
            "{CLIENT} is not installed: pip install python-openstackclient python-heatclient"
        )),
        Ok(Err(error)) => Err(format!("{CLIENT} cannot be run: {error}")),
        Err(error) => Err(with_causes(&error)),
    }
}

async fn passed_on(proxy: web::Data<Proxy>, request: HttpRequest) -> HttpResponse {
    if request.method() != Method::GET {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "What is past cannot be changed.");
    }
    match proxy.ask(&request).await {
        Ok(answer) => answer,
        Err(error) => refused(StatusCode::BAD_GATEWAY, &with_causes(&error)),
    }
}

impl Proxy {
    async fn ask(&self, request: &HttpRequest) -> Result<HttpResponse, ClientError> {
        let mut url = self.lent.endpoint.clone();
        url.set_path(request.path());
        url.set_query(Some(request.query_string()).filter(|query| !query.is_empty()));
        if !url.query_pairs().any(|(name, _)| name == "at") {
            url.query_pairs_mut().append_pair("at", &self.at);
        }
        let mut asked = self.lent.http.get(url.clone());
        for name in PASSED_ON {
            if let Some(value) = request.headers().get(name) {
                asked = asked.header(name, value.as_bytes());
            }
        }
        let unanswered =
            |source| ClientError::Transport { method: "GET", url: url.to_string(), source };
        let reply = asked.send().await.map_err(unanswered)?;
        let status = StatusCode::from_u16(reply.status().as_u16());
        let mut answer = HttpResponse::build(status.unwrap_or(StatusCode::BAD_GATEWAY));
        let header = |name| reply.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(content_type) = header("content-type") {
            answer.content_type(content_type);
        }
        let location = header("location");
        if let Some(location) = location.and_then(|location| Url::parse(location).ok()) {
            answer.insert_header((LOCATION, here(&self.origin, &location)));
        }
        Ok(answer.body(reply.bytes().await.map_err(unanswered)?))
    }
}

/// A URL of the server's, by way of the proxy. The moment is left out: the proxy adds it to all that
/// is asked, and clients put more of a path after what they were sent to.
fn here(origin: &str, url: &Url) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(url.query_pairs().filter(|(name, _)| name != "at"));
    let query = Some(query.finish()).filter(|query| !query.is_empty());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{origin}{}{query}", url.path())
}

/// A refusal in the shape of the API's own.
fn refused(status: StatusCode, message: &str) -> HttpResponse {
    let body = serde_json::json!({
        "code": status.as_u16(),
        "title": status.canonical_reason(),
        "error": { "type": "Error", "message": message, "traceback": null },
    });
    HttpResponse::build(status).content_type("application/json").body(body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_through_the_proxy_without_the_moment() {
        let here = |url: &str| super::here("http://p", &Url::parse(url).unwrap());
        assert_eq!(here("http://s/v1/x/stacks/web/1?at=r1"), "http://p/v1/x/stacks/web/1");
        assert_eq!(here("http://s/v1?at=r1&b=c%20d"), "http://p/v1?b=c+d");
    }

    #[test]
    fn a_command_is_about_stacks_whether_it_names_the_client_or_not() {
        let command = |line: &str| of_stacks(line.split(' ').map(str::to_owned).collect());
        assert_eq!(command("openstack stack list").unwrap(), ["stack", "list"]);
        assert_eq!(command("--debug stack list").unwrap(), ["--debug", "stack", "list"]);
        let refused = command("server list").unwrap_err();
        assert!(refused.starts_with("`server list` is not about stacks"), "{refused}");
        let refused = command("--os-cloud=other stack delete web").unwrap_err();
        assert!(refused.starts_with("`--os-cloud=other` would lead past"), "{refused}");
    }
}
