//! Lives of an alarm on the engine itself: data come late, ahead of their time or not at all,
//! periods end, clients say how it stands, and the process is killed between any two writes. What
//! is on record of the alarm follows from the data on record before, and each signal that it was to
//! send is taken, in their order. `SIMULATION_SEED` plays one seed again.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use hearth::clock::{Clock, SimulatedClock};
use hearth::events::alarm::{AlarmRule, AlarmState, Comparison, DataPut, Datum, Sample, Statistic};
use hearth::events::log::Filter;
use hearth::events::{AlarmEvent, MetricEvent, Position, RecordedEvent};
use hearth::model::CommandId;
use serde_json::{Value, json};

use super::number;
use crate::journeys::alarms::{alarm, say};
use crate::support::chance::Chance;
use crate::support::cut_log::CutLog;
use crate::support::wait::{WAIT_MAX, polled};
use crate::support::world::{Ground, World, hot};

/// How many lives there are, and how often the process is killed in each.
const LIVES: u64 = 10;
const KILLS: u64 = 4;
/// How much happens between two kills at most.
const STEPS: u64 = 12;
const PERIOD_SECS: i64 = 60;

/// An alarm that tells of each state.
fn template(chance: &mut Chance) -> Value {
    let statistic = Statistic::ALL[chance.below(5) as usize].0;
    let comparison = Comparison::ALL[chance.below(4) as usize].0;
    let told = json!([{ "get_attr": ["again", "AlarmUrl"] }]);
    hot(json!({
        "again": { "type": "OS::Heat::HARestarter", "properties": { "InstanceId": "none" } },
        "hot": { "type": "OS::Heat::CWLiteAlarm", "properties": {
            "MetricName": "cpu", "Statistic": statistic, "ComparisonOperator": comparison,
            "Threshold": chance.below(12).to_string(), "Period": PERIOD_SECS.to_string(),
            "EvaluationPeriods": (1 + chance.below(3)).to_string(),
            "AlarmActions": told, "OKActions": told, "InsufficientDataActions": told } },
    }))
}

#[actix::test]
async fn what_an_alarm_comes_to_follows_from_its_data_and_is_told_in_order() {
    let seeds = match number("SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIMULATION_LIVES").unwrap_or(LIVES),
    };
    let mut told = 0;
    for seed in seeds {
        told += live(seed).await;
    }
    println!("{told} signals");
    assert!(told > 0, "nothing is told");
}

/// How many signals were to be sent in a life.
async fn live(seed: u64) -> usize {
    let mut chance = Chance::new(seed);
    let clock = Arc::new(SimulatedClock::new(seed));
    let ground = Ground::timed(clock.clone()).await;
    let world = ground.start().await;
    let web = world.create("web", template(&mut chance)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    drop(world);
    for _ in 0..KILLS {
        let appends = 1 + chance.below(15) as i64;
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_on(log.clone()).await;
        for _ in 0..chance.below(STEPS) {
            step(&world, &clock, &mut chance).await;
        }
        log.cut();
        world.engine.shutdown();
        drop(world);
    }
    let world = ground.start().await;
    look(&world).await;
    put(&world, &clock, &mut chance).await;
    clock.advance(TimeDelta::seconds(PERIOD_SECS));
    look(&world).await;
    let model = all_told(&ground, &world, seed).await;
    assert_eq!(model.taken, model.due, "seed {seed}: told otherwise");
    ground.views_catch_up(&world).await;
    let end = alarm(&world).await.unwrap();
    let (state, _) = judged(&end.made.rule, &model.data, model.over(clock.now(), 0));
    assert_eq!(end.state, state, "seed {seed}: {}", end.reason);
    model.due.len()
}

/// Something happens, unless the process is dead.
async fn step(world: &World, clock: &SimulatedClock, chance: &mut Chance) {
    match chance.below(6) {
        0..3 => put(world, clock, chance).await,
        3 => {
            let state = [AlarmState::Alarm, AlarmState::Normal, AlarmState::NoData];
            let _ = say(world, state[chance.below(3) as usize]).await;
        }
        _ => {
            clock.advance(TimeDelta::seconds(chance.below(90) as i64));
            look(world).await;
        }
    }
}

async fn look(world: &World) {
    let project = world.requester().caller.project_id.clone();
    let _ = world.engine.alarms().look(&project).await;
}

async fn put(world: &World, clock: &SimulatedClock, chance: &mut Chance) {
    let away = TimeDelta::seconds(chance.below(300) as i64 - 200);
    let (least, more) = (chance.below(10) as f64, chance.below(5) as f64);
    let several = chance.one_in(3).then_some(Sample {
        count: 2.0,
        sum: least + least + more,
        minimum: least,
        maximum: least + more,
    });
    let datum = Datum {
        metric: "cpu".to_owned(),
        dimensions: Default::default(),
        unit: None,
        value: several.map_or(least, |several| several.average()),
        several,
        at: chance.one_in(2).then(|| clock.now() + away),
    };
    let who = world.requester();
    let project_id = who.caller.project_id.clone();
    let put = DataPut {
        project_id: project_id.clone(),
        stack: None,
        namespace: "n".to_owned(),
        data: vec![datum],
    };
    let _ = world.engine.alarms().put_data(&who, &project_id, put).await;
}

/// What the log says, held to the data in it.
#[derive(Default)]
struct Model {
    rule: Option<AlarmRule>,
    /// From when its periods are counted.
    since: DateTime<Utc>,
    state: AlarmState,
    data: Vec<(DateTime<Utc>, Sample)>,
    /// The signals that were to be sent, and those that their resource has taken.
    due: Vec<CommandId>,
    taken: Vec<CommandId>,
    told: usize,
}

impl Model {
    /// When a period was over: the last one up to a moment, or so many before.
    fn over(&self, at: DateTime<Utc>, back: i64) -> DateTime<Utc> {
        let periods = (at - self.since).num_seconds() / PERIOD_SECS - back;
        self.since + TimeDelta::seconds(periods * PERIOD_SECS)
    }

    fn take(&mut self, event: &RecordedEvent, seed: u64) {
        match &*event.event_type {
            "DataPut" => {
                let MetricEvent::DataPut(put) = event.decode().unwrap();
                let data = put.data.iter();
                self.data.extend(data.map(|it| (it.at.unwrap_or(event.at), it.sample())));
            }
            "SignalTaken" | "ResizeTaken" | "SignalHandled" => {
                let body: Value = serde_json::from_str(&event.body).unwrap();
                let signal = serde_json::from_value(body["signal"].clone()).unwrap();
                if !self.taken.contains(&signal) {
                    self.taken.push(signal);
                }
            }
            name if name.starts_with("Alarm") => match event.decode().unwrap() {
                AlarmEvent::AlarmMade(made) => {
                    (self.rule, self.since) = (Some(made.rule), event.at);
                }
                AlarmEvent::AlarmStateSet(set) => {
                    let rule = self.rule.as_ref().unwrap();
                    let is_news = set.state != self.state || !set.tells.is_empty();
                    assert!(is_news || set.by_hand, "seed {seed}: {set:?}");
                    if !set.by_hand {
                        // Two may be over by the time that somebody looks.
                        let mut either =
                            (0..2).map(|back| judged(rule, &self.data, self.over(event.at, back)));
                        let found = (set.state, set.value);
                        assert!(either.any(|judged| judged == found), "seed {seed}: {set:?}");
                    }
                    self.state = set.state;
                    self.due.extend(set.tells.iter().map(|signal| signal.id));
                }
                AlarmEvent::AlarmActionsTold(told) => self.told += told.signals.len(),
                _ => {}
            },
            _ => {}
        }
    }
}

/// The log, once everybody was told who was to be.
async fn all_told(ground: &Ground, world: &World, seed: u64) -> Model {
    let all = async || {
        let mut model = Model::default();
        let all = ground.log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
        all.iter().for_each(|event| model.take(event, seed));
        if model.told == model.due.len() {
            return Some(model);
        }
        look(world).await;
        None
    };
    polled(WAIT_MAX, format!("seed {seed}: every signal is sent"), all).await
}

/// What data come to when a period is over: the state, and what the newest period's are.
fn judged(
    rule: &AlarmRule,
    data: &[(DateTime<Utc>, Sample)],
    over: DateTime<Utc>,
) -> (AlarmState, Option<f64>) {
    let value = |back: i64| {
        let end = over - TimeDelta::seconds(PERIOD_SECS * back);
        let begin = end - TimeDelta::seconds(PERIOD_SECS);
        let is_of_it = |at: DateTime<Utc>| begin <= at && at < end;
        let samples: Vec<Sample> =
            data.iter().filter(|(at, _)| is_of_it(*at)).map(|(_, sample)| *sample).collect();
        let total = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let (count, sum) = (total(|it| it.count), total(|it| it.sum));
        let found = |value| (!samples.is_empty()).then_some(value);
        match rule.statistic {
            Statistic::SampleCount => Some(count),
            Statistic::Sum => Some(sum),
            Statistic::Average => found(sum / count),
            Statistic::Minimum => samples.iter().map(|it| it.minimum).reduce(f64::min),
            Statistic::Maximum => samples.iter().map(|it| it.maximum).reduce(f64::max),
        }
    };
    let is_beyond = |value: f64| match rule.comparison {
        Comparison::GreaterThanOrEqualToThreshold => value >= rule.threshold,
        Comparison::GreaterThanThreshold => value > rule.threshold,
        Comparison::LessThanThreshold => value < rule.threshold,
        Comparison::LessThanOrEqualToThreshold => value <= rule.threshold,
    };
    let newest = value(0);
    let all = (0..rule.periods.into()).all(|back| value(back).is_some_and(is_beyond));
    let state = match newest {
        None => AlarmState::NoData,
        Some(_) if all => AlarmState::Alarm,
        Some(_) => AlarmState::Normal,
    };
    (state, newest)
}
