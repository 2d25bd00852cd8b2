//! The table of the routes of version 1.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{HttpServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, HttpRequest, HttpResponse, Resource, ResponseError, Route, web};

use super::conditions::{PLAN, headers, no_plan};
use super::error::Fault;
use super::query::{AT, Declared, Param};
use super::request::Params;
use super::v1::{
    actions, events, outputs, resource_types, resources, services, snapshots, software_configs,
    software_deployments, stacks, templates, webhooks,
};
use super::{feed, selection, versions};

/// Serves the routes of version 1, the same under each of its prefixes. Every known URL answers
/// 405 to the verbs that it lacks.
///
/// They are looked for by their prefixes: a pattern of all that a URL has costs more than most of
/// the answers, if each is tried in turn.
pub(super) fn register(config: &mut web::ServiceConfig) {
    let not_found = || web::to(versions::not_found);
    let mut stack = web::scope(below(PROJECT, STACK)).default_service(not_found());
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for url in v1().0 {
        if url.path.starts_with(STACK) {
            stack = stack.service(url.service(STACK));
        } else if url.path.starts_with(STACKS) {
            named.push(url);
        } else {
            others.push(url);
        }
    }
    // An ARN has as many parts as a stack's URL.
    let mut project = web::scope(PROJECT).default_service(not_found());
    for url in named {
        project = project.service(url.service(PROJECT));
    }
    project = project.service(stack);
    for url in others {
        project = project.service(url.service(PROJECT));
    }
    config.service(project).default_service(not_found());
}

/// A path without the prefix that it has.
fn below<'a>(prefix: &str, path: &'a str) -> &'a str {
    path.strip_prefix(prefix).unwrap_or(path)
}

/// Every route of version 1: its verb, and its path below the version.
pub fn routes() -> Vec<(&'static str, String)> {
    described().into_iter().map(|(verb, path, _)| (verb, path)).collect()
}

/// Every route of version 1 with what it reads of its query.
pub(super) fn described() -> Vec<(&'static str, String, Vec<Param>)> {
    let urls = v1().0.into_iter();
    urls.flat_map(|url| {
        let verbs: Vec<&'static str> = url.verbs.iter().map(|(verb, _)| *verb).collect();
        verbs.into_iter().map(move |verb| (verb, url.path.clone(), url.reads_of(verb)))
    })
    .collect()
}

/// A URL with the verbs that it takes; the others are refused.
struct Known {
    path: String,
    verbs: Vec<(&'static str, Route)>,
    /// Which of them take `?at=`: whoever gives it must not get what is now.
    past: Past,
    query: Declared,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Past {
    Unknown,
    Reads,
    /// It goes on to another URL.
    Passes,
}

/// The URLs of a version, each before those that its pattern would hide.
struct Table(Vec<Known>);

impl Table {
    fn service(mut self, url: Known) -> Self {
        self.0.push(url);
        self
    }
}

const PROJECT: &str = "/{project}";
const STACKS: &str = "/{project}/stacks";
const STACK: &str = "/{project}/stacks/{name}/{id}";

fn v1() -> Table {
    let under = |path: &str| format!("{STACK}{path}");
    Table(Vec::new())
        .service(
            known("/{project}/validate", [("POST", web::post().to(templates::validate))])
                .reads("POST", templates::VALIDATE_QUERY),
        )
        .service(
            known("/{project}/resource_types", [get(resource_types::list)])
                .reads("GET", resource_types::LIST_QUERY),
        )
        .service(known("/{project}/resource_types/{type}", [get(resource_types::show)]))
        .service(
            known("/{project}/resource_types/{type}/template", [get(resource_types::template)])
                .reads("GET", resource_types::TEMPLATE_QUERY),
        )
        .service(known("/{project}/template_versions", [get(templates::versions)]))
        .service(
            known("/{project}/template_versions/{version}/functions", [get(templates::functions)])
                .reads("GET", templates::FUNCTIONS_QUERY),
        )
        .service(
            known(
                "/{project}/software_configs",
                [get(software_configs::list), ("POST", web::post().to(software_configs::create))],
            )
            .reads("GET", software_configs::LIST_QUERY),
        )
        .service(known(
            "/{project}/software_configs/{config}",
            [get(software_configs::show), ("DELETE", web::delete().to(software_configs::delete))],
        ))
        .service(
            known(
                "/{project}/software_deployments",
                [
                    get(software_deployments::list),
                    ("POST", web::post().to(software_deployments::create)),
                ],
            )
            .reads("GET", software_deployments::LIST_QUERY),
        )
        .service(known(
            "/{project}/software_deployments/metadata/{server}",
            [get(software_deployments::metadata)],
        ))
        .service(known(
            "/{project}/software_deployments/{deployment}",
            [
                get(software_deployments::show),
                ("PUT", web::put().to(software_deployments::update)),
                ("DELETE", web::delete().to(software_deployments::delete)),
            ],
        ))
        .service(known("/{project}/build_info", [get(services::build_info)]))
        .service(known("/{project}/services", [get(services::list)]))
        .service(
            known("/{project}/feed", [get(feed::follow)])
                .reads("GET", feed::QUERY)
                .reads("GET", feed::OF_PROJECT)
                .reads("GET", selection::FILTERS),
        )
        .service(known(
            "/{project}/webhooks",
            [get(webhooks::list), ("POST", web::post().to(webhooks::create))],
        ))
        .service(known(
            "/{project}/webhooks/{webhook}",
            [get(webhooks::show), ("DELETE", web::delete().to(webhooks::delete))],
        ))
        .service(
            known(
                STACKS,
                [get(stacks::list::index), ("POST", web::post().to(stacks::create::create))],
            )
            .reads("GET", &stacks::list::reads())
            .at(Past::Reads),
        )
        .service(known("/{project}/stacks/{arn:arn:.*}", stack_by_one_name()).at(Past::Passes))
        .service(known("/{project}/stacks/{name}", stack_by_one_name()).at(Past::Passes))
        .service(
            known(
                STACK,
                [
                    get(stacks::show::show),
                    ("POST", web::post().to(stacks::lookup::subpath_of_post)),
                    ("PUT", web::put().to(stacks::update::replace)),
                    ("PATCH", web::patch().to(stacks::update::patch)),
                    ("DELETE", web::delete().to(stacks::delete::delete)),
                ],
            )
            .reads("GET", stacks::show::QUERY)
            .at(Past::Reads),
        )
        // First, since agents ask for it all the time.
        .service(known(&under("/resources/{resource}/metadata"), [get(resources::metadata)]))
        .service(known(&under("/template"), [get(stacks::definition::template)]).at(Past::Reads))
        .service(
            known(&under("/environment"), [get(stacks::definition::environment)]).at(Past::Reads),
        )
        .service(known(&under("/files"), [get(stacks::definition::files)]).at(Past::Reads))
        .service(
            known(
                &under("/preview"),
                [
                    ("PUT", web::put().to(stacks::update::preview_replace)),
                    ("PATCH", web::patch().to(stacks::update::preview_patch)),
                ],
            )
            .reads("PUT", stacks::update::PREVIEW_QUERY)
            .reads("PATCH", stacks::update::PREVIEW_QUERY),
        )
        .service(
            known(&under("/plan"), [("POST", web::post().to(stacks::plan::of_stack))])
                .at(Past::Reads),
        )
        .service(known(&under("/export"), [get(stacks::keep::export)]))
        .service(known(&under("/abandon"), [("DELETE", web::delete().to(stacks::keep::abandon))]))
        .service(known(&under("/outputs"), [get(outputs::list)]).at(Past::Reads))
        .service(known(&under("/outputs/{output}"), [get(outputs::show)]).at(Past::Reads))
        .service(known(&under("/actions"), [("POST", web::post().to(actions::act))]))
        .service(known(
            &under("/snapshots"),
            [get(snapshots::list), ("POST", web::post().to(snapshots::take))],
        ))
        .service(known(
            &under("/snapshots/{snapshot}"),
            [get(snapshots::show), ("DELETE", web::delete().to(snapshots::delete))],
        ))
        .service(known(
            &under("/snapshots/{snapshot}/restore"),
            [("POST", web::post().to(snapshots::restore))],
        ))
        .service(
            known(&under("/resources"), [get(resources::list)])
                .reads("GET", resources::LIST_QUERY)
                .at(Past::Reads),
        )
        .service(
            known(
                &under("/resources/{resource}"),
                [get(resources::show), ("PATCH", web::patch().to(resources::mark))],
            )
            .reads("GET", resources::SHOW_QUERY)
            .at(Past::Reads),
        )
        .service(known(
            &under("/resources/{resource}/signal"),
            [("POST", web::post().to(resources::signal))],
        ))
        .service(
            known(&under("/resources/{resource}/events"), [get(events::of_resource)])
                .reads("GET", events::LIST_QUERY)
                .at(Past::Reads),
        )
        .service(
            known(&under("/resources/{resource}/events/{event}"), [get(events::show)])
                .at(Past::Reads),
        )
        .service(
            known(&under("/events"), [get(events::of_stack)])
                .reads("GET", events::LIST_QUERY)
                .at(Past::Reads),
        )
        .service(
            known(&under("/feed"), [get(feed::follow_stack)])
                .reads("GET", feed::QUERY)
                .reads("GET", selection::FILTERS),
        )
        .service(known(&under("/drift"), [get(stacks::drift::show)]))
        .service(
            known(&under("/history"), [get(stacks::history::history)])
                .reads("GET", stacks::history::QUERY),
        )
        .service(known(&under("/history/bundle"), [get(stacks::bundle::show)]))
}

/// Where a stack is only named: every verb is sent on to the canonical URL.
fn stack_by_one_name() -> [(&'static str, Route); 5] {
    [
        ("GET", web::get().to(stacks::lookup::named)),
        ("POST", web::post().to(stacks::lookup::named_in_post)),
        ("PUT", web::put().to(stacks::lookup::stack)),
        ("PATCH", web::patch().to(stacks::lookup::stack)),
        ("DELETE", web::delete().to(stacks::lookup::stack)),
    ]
}

fn get<F, Args>(handler: F) -> (&'static str, Route)
where
    F: actix_web::Handler<Args>,
    Args: actix_web::FromRequest + 'static,
    F::Output: actix_web::Responder + 'static,
{
    ("GET", web::get().to(handler))
}

fn known<const N: usize>(path: &str, verbs: [(&'static str, Route); N]) -> Known {
    let (path, past) = (path.to_owned(), Past::Unknown);
    Known { path, verbs: verbs.into(), past, query: Declared::default() }
}

impl Known {
    fn at(self, past: Past) -> Self {
        Self { past, ..self }
    }

    /// Says what a verb reads of the query.
    fn reads(mut self, verb: &'static str, params: &[Param]) -> Self {
        self.query.add(verb, params);
        self
    }

    /// All that a verb reads of the query.
    fn reads_of(&self, verb: &str) -> Vec<Param> {
        let mut reads = self.query.by(verb).to_vec();
        let is_read = match self.past {
            Past::Reads => verb == "GET" || is_plan(&self.path),
            Past::Passes => true,
            Past::Unknown => false,
        };
        if is_read {
            reads.push(AT);
        }
        reads
    }

    /// Serves it within a scope.
    fn service(self, scope: &str) -> impl HttpServiceFactory + 'static {
        let (past, path) = (self.past, self.path.clone());
        let refuse = move |request, next| refuse_unread(past, path.clone(), request, next);
        self.resource(scope).wrap(from_fn(refuse))
    }

    fn resource(self, scope: &str) -> Resource {
        let allowed: Vec<&str> = self.verbs.iter().map(|(verb, _)| *verb).collect();
        let allowed = allowed.join(",");
        let mut resource = web::resource(below(scope, &self.path)).app_data(self.query);
        for (_, route) in self.verbs {
            resource = resource.route(route);
        }
        resource.default_service(web::to(move |request: HttpRequest| {
            let answer = refused_verb(&request, &allowed);
            async move { answer }
        }))
    }
}

/// What knows nothing of another moment refuses to be asked of one, and a change that is held to no
/// plan to be told of one.
async fn refuse_unread(
    past: Past,
    path: String,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let plan = request.headers().contains_key(PLAN);
    let refusal = if Params::names_moment(request.request()) && !takes_past(past, &request) {
        let text = "'at' is for reading what has been: this knows nothing of another moment.";
        Fault::bad_request(text.to_owned())
    } else if plan && !takes_plan(past, &path, &request) {
        no_plan()
    } else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    Ok(request.into_response(refusal.error_response()))
}

fn takes_past(past: Past, request: &ServiceRequest) -> bool {
    let posts = request.method() == Method::POST;
    match past {
        Past::Unknown => false,
        // A plan is asked for like a command.
        Past::Reads => request.method().is_safe() || (posts && is_plan(request.path())),
        Past::Passes => !(posts && is_of_no_stack(request.path())),
    }
}

fn takes_plan(past: Past, path: &str, request: &ServiceRequest) -> bool {
    let goes_on = past == Past::Passes && path.starts_with(STACKS);
    request.method().is_safe()
        || goes_on
        || headers(request.method().as_str(), path).contains(&PLAN)
}

/// What a create will make: there is no stack yet that could have been another.
fn is_of_no_stack(path: &str) -> bool {
    path.ends_with("/stacks/plan") || path.ends_with("/stacks/preview")
}

fn is_plan(path: &str) -> bool {
    path.ends_with("/plan")
}

fn refused_verb(request: &HttpRequest, allowed: &str) -> HttpResponse {
    if request.method() == Method::OPTIONS {
        return HttpResponse::NoContent().insert_header((ALLOW, allowed)).finish();
    }
    Fault::method_not_allowed().error_response()
}
