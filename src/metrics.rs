//! What is counted while the service runs, and the text in which Prometheus reads it.
//!
//! A room keeps families of its own and shows them when it is asked (`Measured`). How many series
//! a family has is bounded here: what comes after `SERIES_MAX` is counted under `other`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The value of a label.
pub type Label = Cow<'static, str>;

/// The most series of a family whose labels have names of their own.
const SERIES_MAX: usize = 2_048;
/// What stands for the values of all labels beyond that.
const OTHER: Label = Cow::Borrowed("other");
/// Upper bounds of the buckets of a histogram, in seconds.
const BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Somebody who can say how he is doing.
pub trait Measured: Send + Sync {
    /// Writes all that he counts.
    fn measure(&self, page: &mut Page);
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts some more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// How many of something there are now.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

/// One that a gauge counts, until it is dropped.
#[derive(Debug)]
pub struct Counted(Arc<Gauge>);

impl Gauge {
    /// Counts one more.
    pub fn count(self: &Arc<Self>) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(self))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long something took, each time.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The last one is for all that is above the largest bound.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    /// Takes one more in.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BUCKETS.iter().take_while(|bound| seconds > **bound).count();
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// Series of one name, each with its values of the labels.
#[derive(Debug)]
pub struct Family<M, const LABELS: usize> {
    labels: [&'static str; LABELS],
    series: RwLock<BTreeMap<[Label; LABELS], Arc<M>>>,
}

impl<M: Default, const LABELS: usize> Family<M, LABELS> {
    /// A family without series.
    pub fn of(labels: [&'static str; LABELS]) -> Self {
        Self { labels, series: RwLock::default() }
    }

    /// The series with these values, made where it is not there.
    pub fn with(&self, values: [Label; LABELS]) -> Arc<M> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = series.get(&values) {
            return Arc::clone(known);
        }
        drop(series);
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let has_room = series.len() < SERIES_MAX;
        let values = if has_room { values } else { std::array::from_fn(|_| OTHER) };
        Arc::clone(series.entry(values).or_default())
    }
}

/// A kind of metric, as Prometheus calls and writes it.
pub trait Metric {
    const KIND: &'static str;

    /// Writes the samples of a series.
    fn write(&self, page: &mut Page, name: &str, labels: &[(&str, &str)]);
}

impl Metric for Counter {
    const KIND: &'static str = "counter";

    fn write(&self, page: &mut Page, name: &str, labels: &[(&str, &str)]) {
        page.sample(name, labels, self.0.load(Ordering::Relaxed));
    }
}

impl Metric for Gauge {
    const KIND: &'static str = "gauge";

    fn write(&self, page: &mut Page, name: &str, labels: &[(&str, &str)]) {
        page.sample(name, labels, self.0.load(Ordering::Relaxed));
    }
}

impl Metric for Histogram {
    const KIND: &'static str = "histogram";

    fn write(&self, page: &mut Page, name: &str, labels: &[(&str, &str)]) {
        let mut count = 0;
        let bounds = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bucket, bound) in self.buckets.iter().zip(bounds) {
            count += bucket.load(Ordering::Relaxed);
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            page.sample(&format!("{name}_bucket"), &labels, count);
        }
        let sum = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64();
        page.sample(&format!("{name}_sum"), labels, sum);
        page.sample(&format!("{name}_count"), labels, count);
    }
}

/// What Prometheus is answered, in its text format 0.0.4.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// The content type of the text.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// The answers of all who are asked.
    pub fn of<'a>(measured: impl IntoIterator<Item = &'a dyn Measured>) -> String {
        let mut page = Page::default();
        measured.into_iter().for_each(|one| one.measure(&mut page));
        page.0
    }

    /// A single number that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, Gauge::KIND);
        self.sample(name, &[], value);
    }

    /// A single number that only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, Counter::KIND);
        self.sample(name, &[], value);
    }

    /// A number that says all it has to say in its labels.
    pub fn info(&mut self, name: &str, help: &str, labels: &[(&str, &str)]) {
        self.head(name, help, Gauge::KIND);
        self.sample(name, labels, 1);
    }

    /// A metric without labels.
    pub fn metric<M: Metric>(&mut self, name: &str, help: &str, metric: &M) {
        self.head(name, help, M::KIND);
        metric.write(self, name, &[]);
    }

    /// All series of a family.
    pub fn family<M: Metric, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        family: &Family<M, LABELS>,
    ) {
        self.head(name, help, M::KIND);
        for (values, metric) in &*family.series.read().unwrap_or_else(PoisonError::into_inner) {
            let values = values.iter().map(Cow::as_ref);
            let labels: Vec<_> = family.labels.into_iter().zip(values).collect();
            metric.write(self, name, &labels);
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shop {
        sold: Family<Counter, 2>,
        served: Histogram,
        waiting: Arc<Gauge>,
    }

    impl Measured for Shop {
        fn measure(&self, page: &mut Page) {
            page.family("sold_total", "What was sold.", &self.sold);
            page.metric("served_seconds", "How long it took.", &self.served);
            page.metric("waiting", "Who waits.", self.waiting.as_ref());
            page.gauge("open", "Whether it is.", 1);
        }
    }

    fn shop() -> Shop {
        let sold = Family::of(["what", "to"]);
        Shop { sold, served: Histogram::default(), waiting: Arc::default() }
    }

    fn page(shop: &Shop) -> String {
        Page::of([shop as &dyn Measured])
    }

    #[test]
    fn a_page_has_each_series_under_the_head_of_its_family() {
        let shop = shop();
        shop.sold.with(["tea".into(), "me".into()]).add(2);
        shop.sold.with(["a \"b\"\n\\".into(), "me".into()]).add(1);
        let first = shop.waiting.count();
        let _second = shop.waiting.count();
        drop(first);
        let page = page(&shop);
        assert!(page.starts_with(
            "# HELP sold_total What was sold.\n# TYPE sold_total counter\n\
             sold_total{what=\"a \\\"b\\\"\\n\\\\\",to=\"me\"} 1\n\
             sold_total{what=\"tea\",to=\"me\"} 2\n# HELP served_seconds"
        ));
        assert!(page.contains("\n# TYPE waiting gauge\nwaiting 1\n"));
        assert!(page.ends_with("\nopen 1\n"));
    }

    #[test]
    fn the_buckets_of_a_histogram_add_up() {
        let shop = shop();
        for millis in [1, 2, 20_000] {
            shop.served.observe(Duration::from_millis(millis));
        }
        let page = page(&shop);
        for line in [
            "served_seconds_bucket{le=\"0.001\"} 1",
            "served_seconds_bucket{le=\"0.0025\"} 2",
            "served_seconds_bucket{le=\"10\"} 2",
            "served_seconds_bucket{le=\"+Inf\"} 3",
            "served_seconds_sum 20.003",
            "served_seconds_count 3",
        ] {
            assert!(page.contains(&format!("\n{line}\n")), "{line} is missing in {page}");
        }
    }

    #[test]
    fn a_family_has_no_more_series_than_it_may() {
        let shop = shop();
        for number in 0..SERIES_MAX + 7 {
            shop.sold.with([number.to_string().into(), "me".into()]).add(1);
        }
        assert!(page(&shop).contains("\nsold_total{what=\"other\",to=\"other\"} 7\n"));
        assert_eq!(shop.sold.series.read().unwrap().len(), SERIES_MAX + 1);
    }
}
