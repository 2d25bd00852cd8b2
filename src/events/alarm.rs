//! What happens in the streams of alarms, and of the metric data that they watch. The data of a
//! project stand in a stream for each hour, so that they can be taken away once no alarm needs them.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::model::{AlarmId, CommandId, ProjectId, Refusal, ResourceName, StackId};

events! {
    /// The facts of an alarm.
    AlarmEvent {
        AlarmMade = 1,
        AlarmRevised = 1,
        AlarmSuspended = 1,
        AlarmResumed = 1,
        AlarmStateSet = 1,
        AlarmActionsTold = 1,
        AlarmActionsSwitched = 1,
        AlarmDeleted = 1,
    }
}

events! {
    /// The facts of a project's metric data in an hour.
    MetricEvent {
        DataPut = 1,
    }
}

/// The alarm exists from here on, and is evaluated each time that its period is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmMade {
    pub alarm_id: AlarmId,
    pub project_id: ProjectId,
    pub name: String,
    /// Where its resource stands; none: a client has made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AlarmOwner>,
    pub rule: AlarmRule,
}

/// The resource that an alarm is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmOwner {
    pub stack: StackId,
    pub resource: ResourceName,
}

/// What an alarm watches, and whom it tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub metric: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dimensions: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    pub statistic: Statistic,
    pub comparison: Comparison,
    pub threshold: f64,
    /// Seconds.
    pub period: u32,
    /// How many periods in a row must be beyond the threshold.
    pub periods: u32,
    /// By the state that is come to: references to resources of the alarm's stack, or ARNs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<AlarmState, Vec<String>>,
    /// Whether anybody is told.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub tells: bool,
}

/// What a period's data come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Statistic {
    SampleCount,
    Average,
    Sum,
    Minimum,
    Maximum,
}

/// How a statistic is held against the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    GreaterThanOrEqualToThreshold,
    GreaterThanThreshold,
    LessThanThreshold,
    LessThanOrEqualToThreshold,
}

/// How an alarm stands, in Heat's words; Amazon's are OK, ALARM and INSUFFICIENT_DATA.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum AlarmState {
    Normal,
    Alarm,
    #[default]
    NoData,
    Suspended,
}

/// The alarm watches something else, or tells others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmRevised {
    pub rule: AlarmRule,
}

/// The alarm rests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmSuspended {}

/// The alarm watches again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmResumed {}

/// A period came to a state that is another one or has somebody to be told; or a client says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmStateSet {
    pub state: AlarmState,
    pub reason: String,
    /// What the newest period's data came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// By a client, and no evaluation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// Who is told, each by a signal of an id of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tells: Vec<AlarmSignal>,
}

/// A signal that an alarm sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmSignal {
    pub id: CommandId,
    /// As the rule has it.
    pub to: String,
}

/// Those who were to be told of a state were, or cannot be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmActionsTold {
    pub signals: Vec<SignalTold>,
}

/// What became of a signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalTold {
    pub id: CommandId,
    /// Why it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Others are told of what the alarm comes to from here on, or are not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmActionsSwitched {
    pub tells: bool,
}

/// The alarm is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmDeleted {
    pub alarm_id: AlarmId,
}

/// Metric data came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataPut {
    pub project_id: ProjectId,
    /// Whose user has sent them; none: the project itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackId>,
    pub namespace: String,
    pub data: Vec<Datum>,
}

/// A value of a metric, or several that were taken together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datum {
    pub metric: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dimensions: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Of several: their average.
    pub value: f64,
    /// What several come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several: Option<Sample>,
    /// Of when it is; none: of when it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<DateTime<Utc>>,
}

/// What values come to together, without each of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub count: f64,
    pub sum: f64,
    pub minimum: f64,
    pub maximum: f64,
}

/// How many dimensions an alarm or a datum may have.
pub const DIMENSIONS_MAX: usize = 10;
/// How long a name of a metric, a dimension's name or value and the like may be.
pub const METRIC_TEXT_MAX: usize = 255;
/// How many an alarm may tell of one state.
pub const ACTIONS_MAX: usize = 5;
/// How long a description may be, and an action.
const TEXT_MAX: usize = 1024;
/// The shortest period: Heat looks no more often than each minute, Amazon each ten seconds.
pub const PERIOD_MIN_SECS: u32 = 10;
/// How long the periods that are looked at may be together.
pub const PERIODS_MAX_SECS: u32 = 86_400;
/// How old a datum may be when it comes, as with Amazon.
const AGE_MAX: TimeDelta = TimeDelta::days(14);
/// The largest number that a datum may have, as with Amazon: 2 to the power of 360. So are sums of
/// any number of them.
const VALUE_MAX: f64 = f64::from_bits((1023 + 360) << 52);
/// How far ahead the time of a datum may be when it comes, as with Amazon.
pub const AHEAD_MAX: TimeDelta = TimeDelta::hours(2);

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_yes(it: &bool) -> bool {
    *it
}

impl AlarmMade {
    /// Whether data of a metric with these dimensions are the alarm's. A stack's user sends them for
    /// that stack's own alarms alone.
    pub fn watches(
        &self,
        metric: &str,
        dimensions: &BTreeMap<String, String>,
        sender: Option<StackId>,
    ) -> bool {
        self.hears(sender) && self.rule.watches(&self.name, metric, dimensions)
    }

    /// Whether such data may be put for the alarm's sake: those that it watches, and as in Heat
    /// those of any metric that name it.
    pub fn takes(
        &self,
        metric: &str,
        dimensions: &BTreeMap<String, String>,
        sender: Option<StackId>,
    ) -> bool {
        let is_named = dimensions.get(ALARM_NAME) == Some(&self.name);
        self.hears(sender) && (is_named || self.rule.watches(&self.name, metric, dimensions))
    }

    fn hears(&self, sender: Option<StackId>) -> bool {
        let is_own = |sender| self.owner.as_ref().is_some_and(|owner| owner.stack == sender);
        sender.is_none_or(is_own)
    }
}

impl AlarmRule {
    /// Refuses what is too large to be kept, or to be watched.
    pub fn check(&self) -> Result<(), Refusal> {
        let metric = [Some(&self.metric), self.namespace.as_ref(), self.unit.as_ref()];
        check_texts(metric.into_iter().flatten(), METRIC_TEXT_MAX)?;
        check_dimensions(&self.dimensions)?;
        let texts = self.description.iter().chain(self.actions.values().flatten());
        check_texts(texts, TEXT_MAX)?;
        if self.actions.values().any(|told| told.len() > ACTIONS_MAX) {
            return Err(wrong(format!("An alarm has up to {ACTIONS_MAX} actions of a kind")));
        }
        if !self.threshold.is_finite() {
            return Err(wrong("Threshold is no number"));
        }
        let longest = self.period.checked_mul(self.periods).filter(|all| *all <= PERIODS_MAX_SECS);
        if self.period < PERIOD_MIN_SECS || self.periods == 0 || longest.is_none() {
            return Err(wrong(format!(
                "Period is at least {PERIOD_MIN_SECS} seconds, and EvaluationPeriods of it are no \
                 longer than {PERIODS_MAX_SECS}"
            )));
        }
        Ok(())
    }

    /// How long data are needed.
    pub fn span(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.period) * i64::from(self.periods))
    }

    /// Whether data of a metric with these dimensions are watched, in Heat's way: a dimension
    /// AlarmName says for which alarm they are, and namespaces do not count.
    fn watches(&self, name: &str, metric: &str, dimensions: &BTreeMap<String, String>) -> bool {
        if self.metric != metric {
            return false;
        }
        match dimensions.get(ALARM_NAME) {
            Some(meant) => meant == name,
            None => self.dimensions.iter().all(|(name, value)| dimensions.get(name) == Some(value)),
        }
    }
}

/// The dimension that names an alarm.
pub const ALARM_NAME: &str = "AlarmName";

impl Datum {
    /// Refuses what is too large to be kept, or of no time that counts.
    pub fn check(&self, now: DateTime<Utc>) -> Result<(), Refusal> {
        check_texts([&self.metric].into_iter().chain(&self.unit), METRIC_TEXT_MAX)?;
        check_dimensions(&self.dimensions)?;
        if !is_number(self.value) {
            return Err(wrong("Value is no number, or too large"));
        }
        if self.several.is_some_and(|several| !several.is_sound()) {
            return Err(wrong("StatisticValues are not what values can come to"));
        }
        match self.at {
            Some(at) if at < now - AGE_MAX => {
                Err(wrong("Timestamp must be within the past two weeks"))
            }
            Some(at) if at > now + AHEAD_MAX => {
                Err(wrong("Timestamp must be no more than two hours in the future"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What it adds to a statistic.
    pub fn sample(&self) -> Sample {
        self.several.unwrap_or_else(|| Sample::from(self.value))
    }
}

impl From<f64> for Sample {
    fn from(value: f64) -> Self {
        Self { count: 1.0, sum: value, minimum: value, maximum: value }
    }
}

impl Sample {
    fn is_sound(&self) -> bool {
        let Self { count, sum, minimum, maximum } = *self;
        let all = [count, sum, minimum, maximum];
        all.into_iter().all(is_number) && count > 0.0 && minimum <= maximum
    }

    /// The average of the values.
    pub fn average(&self) -> f64 {
        self.sum / self.count
    }

    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            minimum: self.minimum.min(other.minimum),
            maximum: self.maximum.max(other.maximum),
        }
    }
}

/// Whether a number can be reckoned with.
fn is_number(value: f64) -> bool {
    value.abs() <= VALUE_MAX
}

fn check_dimensions(dimensions: &BTreeMap<String, String>) -> Result<(), Refusal> {
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(wrong(format!("A metric has up to {DIMENSIONS_MAX} dimensions")));
    }
    check_texts(dimensions.iter().flat_map(|(name, value)| [name, value]), METRIC_TEXT_MAX)
}

fn check_texts<'a>(texts: impl IntoIterator<Item = &'a String>, max: usize) -> Result<(), Refusal> {
    match texts.into_iter().find(|text| text.chars().count() > max) {
        None => Ok(()),
        Some(_) => Err(wrong(format!("A text has more than {max} characters"))),
    }
}

fn wrong(text: impl Into<String>) -> Refusal {
    Refusal::new("Invalid", text)
}

impl Statistic {
    pub const ALL: [(&'static str, Statistic); 5] = [
        ("SampleCount", Statistic::SampleCount),
        ("Average", Statistic::Average),
        ("Sum", Statistic::Sum),
        ("Minimum", Statistic::Minimum),
        ("Maximum", Statistic::Maximum),
    ];

    /// By Amazon's name.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, statistic)| statistic)
    }

    /// Amazon's name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, statistic)| *statistic == self);
        found.map_or("", |(name, _)| name)
    }

    /// What samples come to; counts and sums of none are 0, as in Heat, and the rest is nothing.
    pub fn of(self, samples: impl IntoIterator<Item = Sample>) -> Option<f64> {
        let all = samples.into_iter().reduce(Sample::and);
        match self {
            Statistic::SampleCount => Some(all.map_or(0.0, |all| all.count)),
            Statistic::Sum => Some(all.map_or(0.0, |all| all.sum)),
            Statistic::Average => all.map(|all| all.average()),
            Statistic::Minimum => all.map(|all| all.minimum),
            Statistic::Maximum => all.map(|all| all.maximum),
        }
    }
}

impl Comparison {
    pub const ALL: [(&'static str, Comparison); 4] = [
        ("GreaterThanOrEqualToThreshold", Comparison::GreaterThanOrEqualToThreshold),
        ("GreaterThanThreshold", Comparison::GreaterThanThreshold),
        ("LessThanThreshold", Comparison::LessThanThreshold),
        ("LessThanOrEqualToThreshold", Comparison::LessThanOrEqualToThreshold),
    ];

    /// By Amazon's name.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, comparison)| comparison)
    }

    /// Amazon's name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, comparison)| *comparison == self);
        found.map_or("", |(name, _)| name)
    }

    /// Whether a value is beyond the threshold.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::GreaterThanOrEqualToThreshold => value >= threshold,
            Comparison::GreaterThanThreshold => value > threshold,
            Comparison::LessThanThreshold => value < threshold,
            Comparison::LessThanOrEqualToThreshold => value <= threshold,
        }
    }
}

impl AlarmState {
    /// Heat's word.
    pub fn word(self) -> &'static str {
        match self {
            AlarmState::Normal => "NORMAL",
            AlarmState::Alarm => "ALARM",
            AlarmState::NoData => "NODATA",
            AlarmState::Suspended => "SUSPENDED",
        }
    }

    /// By Amazon's word; a suspended one has none.
    pub fn of_amazon(text: &str) -> Option<Self> {
        match text {
            "OK" => Some(AlarmState::Normal),
            "ALARM" => Some(AlarmState::Alarm),
            "INSUFFICIENT_DATA" => Some(AlarmState::NoData),
            _ => None,
        }
    }
}

/// The hour of a moment, since 1970.
pub fn hour_of(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(3600)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> AlarmRule {
        AlarmRule {
            description: None,
            namespace: None,
            metric: "cpu".to_owned(),
            dimensions: [("Group".to_owned(), "web".to_owned())].into(),
            unit: None,
            statistic: Statistic::Average,
            comparison: Comparison::GreaterThanThreshold,
            threshold: 80.0,
            period: 60,
            periods: 1,
            actions: BTreeMap::new(),
            tells: true,
        }
    }

    #[test]
    fn statistics_of_nothing_are_nothing_but_for_counts_and_sums() {
        let of = |samples: &[Sample]| {
            Statistic::ALL.map(|(_, statistic)| statistic.of(samples.iter().copied()))
        };
        let one = Sample::from;
        assert_eq!(of(&[]), [Some(0.0), None, Some(0.0), None, None]);
        let two = [Some(2.0), Some(2.0), Some(4.0), Some(1.0), Some(3.0)];
        assert_eq!(of(&[one(3.0), one(1.0)]), two);
        let several = Sample { count: 2.0, sum: 4.0, minimum: 1.0, maximum: 3.0 };
        assert_eq!(of(&[several]), two);
        let more = [Some(3.0), Some(3.0), Some(9.0), Some(1.0), Some(5.0)];
        assert_eq!(of(&[several, one(5.0)]), more);
    }

    #[test]
    fn a_name_of_an_alarm_selects_it_and_other_dimensions_must_be_among_those_of_the_data() {
        let watches = |metric: &str, dimensions: &[(&str, &str)]| {
            let dimensions = dimensions.iter();
            let dimensions =
                dimensions.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            rule().watches("s-a", metric, &dimensions)
        };
        assert!(watches("cpu", &[("Group", "web"), ("InstanceId", "1")]));
        assert!(watches("cpu", &[("AlarmName", "s-a")]));
        assert!(!watches("cpu", &[("AlarmName", "s-b"), ("Group", "web")]));
        assert!(!watches("cpu", &[("Group", "db")]));
        assert!(!watches("mem", &[("Group", "web")]));
    }

    #[test]
    fn what_a_stacks_user_sends_is_heard_by_that_stacks_alarms_alone() {
        let stack = StackId(uuid::Uuid::from_u128(1));
        let made = |owner: Option<StackId>| AlarmMade {
            alarm_id: AlarmId(uuid::Uuid::nil()),
            project_id: ProjectId::from("p"),
            name: "s-a".to_owned(),
            owner: owner.map(|stack| AlarmOwner { stack, resource: "a".into() }),
            rule: rule(),
        };
        let dimensions = rule().dimensions;
        let other = StackId(uuid::Uuid::from_u128(2));
        for (owner, sender, is_heard) in [
            (Some(stack), Some(stack), true),
            (Some(stack), None, true),
            (None, None, true),
            (Some(other), Some(stack), false),
            (None, Some(stack), false),
        ] {
            assert_eq!(made(owner).watches("cpu", &dimensions, sender), is_heard);
            let named = BTreeMap::from([(ALARM_NAME.to_owned(), "s-a".to_owned())]);
            assert_eq!(made(owner).takes("other", &named, sender), is_heard);
            assert!(!made(owner).watches("other", &named, sender));
            assert!(!made(owner).takes("other", &dimensions, sender));
        }
    }

    #[test]
    fn a_rule_is_bounded() {
        assert!(rule().check().is_ok());
        let many = |count: usize| (0..count).map(|n| (n.to_string(), String::new())).collect();
        let long = "x".repeat(METRIC_TEXT_MAX + 1);
        let told = vec![String::new(); ACTIONS_MAX + 1];
        for wrong in [
            AlarmRule { period: PERIOD_MIN_SECS - 1, ..rule() },
            AlarmRule { periods: 0, ..rule() },
            AlarmRule { periods: PERIODS_MAX_SECS / 60 + 1, ..rule() },
            AlarmRule { period: u32::MAX, periods: 2, ..rule() },
            AlarmRule { threshold: f64::NAN, ..rule() },
            AlarmRule { metric: long.clone(), ..rule() },
            AlarmRule { dimensions: many(DIMENSIONS_MAX + 1), ..rule() },
            AlarmRule { dimensions: [(long, String::new())].into(), ..rule() },
            AlarmRule { actions: [(AlarmState::Alarm, told)].into(), ..rule() },
            AlarmRule { description: Some("x".repeat(TEXT_MAX + 1)), ..rule() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        let datum = Datum {
            metric: "cpu".to_owned(),
            dimensions: many(DIMENSIONS_MAX),
            unit: None,
            value: 1.0,
            several: None,
            at: None,
        };
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(365);
        let of = |at| Datum { at: Some(at), ..datum.clone() };
        let several = |count, sum, minimum, maximum| Datum {
            several: Some(Sample { count, sum, minimum, maximum }),
            ..datum.clone()
        };
        assert!((VALUE_MAX.log2() - 360.0).abs() < f64::EPSILON);
        let largest = Datum { value: VALUE_MAX, ..datum.clone() };
        for right in [datum.clone(), largest, of(now - AGE_MAX), of(now + AHEAD_MAX)] {
            assert!(right.check(now).is_ok(), "{right:?}");
        }
        assert!(several(2.0, 3.0, 1.0, 2.0).check(now).is_ok());
        let moment = TimeDelta::milliseconds(1);
        for wrong in [
            Datum { value: f64::INFINITY, ..datum.clone() },
            Datum { value: f64::NAN, ..datum.clone() },
            Datum { value: -VALUE_MAX * 1.5, ..datum.clone() },
            several(2.0, VALUE_MAX * 2.0, 1.0, 2.0),
            Datum { dimensions: many(DIMENSIONS_MAX + 1), ..datum.clone() },
            of(now - AGE_MAX - moment),
            of(now + AHEAD_MAX + moment),
            several(0.0, 3.0, 1.0, 2.0),
            several(2.0, f64::NAN, 1.0, 2.0),
            several(2.0, 3.0, 2.0, 1.0),
        ] {
            assert!(wrong.check(now).is_err(), "{wrong:?}");
        }
    }
}
