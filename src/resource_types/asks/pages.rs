//! Lists that come in pages: what is looked for may be on any of them.

use serde_json::Value;
use url::Url;

use super::Asks;
use crate::openstack::{CloudError, Request};

/// How many pages of a list are read. Whoever has more is told so: what was not seen may be there.
const PAGES_MAX: usize = 100;

impl Asks<'_> {
    /// All objects of a list, which `objects` takes out of the body of a page, as many as it links.
    /// Errors: also where there are more than `PAGES_MAX` pages.
    pub fn list(
        &self,
        request: Request,
        objects: impl Fn(Value) -> Vec<Value>,
    ) -> Result<Vec<Value>, CloudError> {
        let mut request = request;
        let mut all = Vec::new();
        for _ in 0..PAGES_MAX {
            let body = self.send(request.clone())?.json()?;
            let next = next(&body);
            let page = objects(body);
            let is_last = page.is_empty();
            all.extend(page);
            // Some services link a page after the last one, which is empty.
            match next.filter(|query| !is_last && *query != request.query) {
                Some(query) => request.query = query,
                None => return Ok(all),
            }
        }
        let path = &request.path;
        Err(CloudError::Unsendable(format!("{path} has more than {PAGES_MAX} pages")))
    }
}

/// The parameters of the next page, by the link to it; where the link leads is not asked.
///
/// Links are `NAME_links` (Nova, Neutron, Cinder, Octavia, Manila) or `links` (Zaqar), a list of
/// `{rel, href}`, the `next` of a map `links` (Keystone, Designate), or a field `next` (Glance,
/// Barbican, Magnum, Mistral, Ironic).
fn next(body: &Value) -> Option<Vec<(String, String)>> {
    let is_links = |name: &str| name == "links" || name.ends_with("_links");
    let fields = body.as_object()?;
    let of_links = fields.iter().filter(|(name, _)| is_links(name)).find_map(|(_, links)| {
        let listed = links.as_array().into_iter().flatten();
        let mut listed = listed.filter(|link| link["rel"] == "next");
        listed.next().map_or_else(|| links.get("next"), |link| link.get("href"))
    });
    let link = of_links.or_else(|| fields.get("next"))?.as_str()?;
    let anywhere = Url::parse("http://localhost/").ok()?;
    let link = anywhere.join(link).ok()?;
    Some(link.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_page_is_found_by_each_service_s_link() {
        let with_marker = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
        };
        let previous = json!({ "rel": "previous", "href": "http://x/v2.0/networks?marker=a" });
        let next_one =
            json!({ "rel": "next", "href": "http://x/v2.0/networks?name=a%20b&marker=b" });
        let cases = [
            (
                json!({ "networks_links": [previous, next_one] }),
                &[("name", "a b"), ("marker", "b")],
            ),
            (
                json!({ "links": [{ "rel": "next", "href": "/v2/queues?limit=10&marker=c" }] }),
                &[("limit", "10"), ("marker", "c")],
            ),
            (
                json!({ "links": { "self": "x", "next": "http://x/v3/users?a=1&marker=d" } }),
                &[("a", "1"), ("marker", "d")],
            ),
            (
                json!({ "next": "http://x/v1/containers?limit=100&offset=100", "total": 200 }),
                &[("limit", "100"), ("offset", "100")],
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(next(&body), with_marker(expected), "{body}");
        }
        for last in [
            json!({ "networks_links": [previous] }),
            json!({ "links": { "next": null } }),
            json!({ "next": null }),
            json!({ "networks": [] }),
            json!([]),
        ] {
            assert_eq!(next(&last), None, "{last}");
        }
    }
}
