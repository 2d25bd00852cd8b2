//! What a template would cost by a file of the operator's: the answer to `EstimateTemplateCost`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::actors::Preview;
use crate::model::JsonMap;

/// The prices of types, of a YAML file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices<P = Price> {
    /// Where people read on; the estimate is in its query.
    url: String,
    currency: String,
    /// For how long the prices are, as `month`.
    per: String,
    prices: BTreeMap<String, P>,
}

/// The price of one resource.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Price {
    Fixed(f64),
    /// For each of what a property counts.
    Counted {
        property: String,
        price: f64,
    },
    /// By what a property says.
    Listed {
        property: String,
        prices: BTreeMap<String, f64>,
    },
}

impl Price {
    fn all(&self) -> Vec<f64> {
        match self {
            Self::Fixed(price) | Self::Counted { price, .. } => vec![*price],
            Self::Listed { prices, .. } => prices.values().copied().collect(),
        }
    }

    /// `None` where what it depends on is not known, or not in the file.
    fn of(&self, properties: &JsonMap) -> Option<f64> {
        match self {
            Self::Fixed(price) => Some(*price),
            Self::Counted { property, price } => {
                let count: f64 = text(properties.get(property)?)?.parse().ok()?;
                (count.is_finite() && count >= 0.0).then_some(price * count)
            }
            Self::Listed { property, prices } => {
                prices.get(&text(properties.get(property)?)?).copied()
            }
        }
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[derive(Default)]
struct Sum {
    total: f64,
    /// The types of what has no price.
    unpriced: BTreeSet<String>,
}

impl Sum {
    fn add(&mut self, prices: &Prices, plan: &Preview) {
        for entry in &plan.added {
            let price = prices.prices.get(&entry.type_name);
            // What stands for a stack costs what is in it, where nothing else is said.
            let has_stack = plan.within.iter().any(|within| within.resource == entry.name);
            match price.and_then(|price| price.of(&entry.properties)) {
                Some(price) => self.total += price,
                None if price.is_none() && has_stack => {}
                None => drop(self.unpriced.insert(entry.type_name.clone())),
            }
        }
        for within in &plan.within {
            self.add(prices, &within.plan);
        }
    }
}

impl Prices {
    /// Reads them. Errors: why they cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: Prices<serde_yaml::Value> =
            serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        let url = Url::parse(&file.url).map_err(|error| format!("url: {error}"))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err("url: it begins with neither http: nor https:".to_owned());
        }
        let mut prices = BTreeMap::new();
        for (name, price) in file.prices {
            let price: Price = serde_yaml::from_value(price).map_err(|_| {
                format!("prices.{name}: neither a number nor a property with price or prices")
            })?;
            if !price.all().iter().all(|price| price.is_finite() && *price >= 0.0) {
                return Err(format!("prices.{name}: a price is a number from 0 on"));
            }
            prices.insert(name, price);
        }
        Ok(Self { url: file.url, currency: file.currency, per: file.per, prices })
    }

    /// The URL of what a stack costs that is made as planned.
    pub(super) fn estimate(&self, plan: &Preview) -> String {
        let mut sum = Sum::default();
        sum.add(self, plan);
        let mut url = url::form_urlencoded::Serializer::new(String::new());
        url.append_pair("total", &format!("{:.2}", sum.total));
        url.append_pair("currency", &self.currency).append_pair("per", &self.per);
        for unpriced in sum.unpriced {
            url.append_pair("unpriced", &unpriced);
        }
        let and = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{and}{}", self.url, url.finish())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::{PreviewWithin, PreviewedResource};

    const FILE: &str = "
url: https://cloud.example.org/prices
currency: EUR
per: month
prices:
  OS::Neutron::FloatingIP: 3
  OS::Cinder::Volume: { property: size, price: 0.08 }
  OS::Nova::Server: { property: flavor, prices: { small: 12.5, large: 50 } }
";

    fn added(name: &str, type_name: &str, properties: Value) -> PreviewedResource {
        let Value::Object(properties) = properties else { panic!("no properties") };
        let (name, type_name) = (name.to_owned(), type_name.to_owned());
        PreviewedResource { name, type_name, properties, ..PreviewedResource::default() }
    }

    #[test]
    fn a_stack_costs_what_its_resources_and_those_within_it_cost() {
        let prices = Prices::parse(FILE).unwrap();
        let within = Preview {
            added: vec![
                added("0", "OS::Nova::Server", json!({ "flavor": "small" })),
                added("1", "OS::Nova::Server", json!({ "flavor": "huge" })),
            ],
            ..Preview::default()
        };
        let plan = Preview {
            added: vec![
                added("address", "OS::Neutron::FloatingIP", json!({})),
                added("disk", "OS::Cinder::Volume", json!({ "size": "10" })),
                added("odd", "OS::Cinder::Volume", json!({ "size": "1e999" })),
                added("group", "OS::Heat::ResourceGroup", json!({ "count": 2 })),
                added("net", "OS::Neutron::Net", json!({})),
            ],
            within: vec![PreviewWithin {
                resource: "group".to_owned(),
                name: "group".to_owned(),
                stack: None,
                plan: within,
            }],
            ..Preview::default()
        };
        assert_eq!(
            prices.estimate(&plan),
            "https://cloud.example.org/prices?total=16.30&currency=EUR&per=month\
             &unpriced=OS%3A%3ACinder%3A%3AVolume&unpriced=OS%3A%3ANeutron%3A%3ANet&unpriced=OS%3A%3ANova%3A%3AServer"
        );
    }

    #[test]
    fn a_file_that_is_none_says_why() {
        for (from, to, why) in [
            ("https:", "ftp:", "url: it begins with neither"),
            ("0.08", "-1", "prices.OS::Cinder::Volume: a price is a number from 0 on"),
            ("50", ".nan", "prices.OS::Nova::Server: a price is a number from 0 on"),
            ("currency", "money", "unknown field `money`"),
            (
                "{ property: size, price: 0.08 }",
                "{ size: 1 }",
                "prices.OS::Cinder::Volume: neither a number",
            ),
        ] {
            let error = Prices::parse(&FILE.replace(from, to)).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
