use std::collections::BTreeMap;

use super::*;
use crate::clock::{Clock, SimulatedClock};
use crate::events::alarm::{Comparison, Statistic};

fn rule() -> AlarmRule {
    AlarmRule {
        description: None,
        namespace: None,
        metric: "cpu".to_owned(),
        dimensions: BTreeMap::new(),
        unit: None,
        statistic: Statistic::Average,
        comparison: Comparison::GreaterThanThreshold,
        threshold: 80.0,
        period: 60,
        periods: 1,
        actions: [(AlarmState::Alarm, vec!["up".to_owned()])].into(),
        tells: true,
    }
}

fn made(rule: AlarmRule) -> AlarmCommand {
    AlarmCommand::Make(Box::new(AlarmMade {
        alarm_id: AlarmId::default(),
        project_id: "p".into(),
        name: "web-hot".to_owned(),
        owner: None,
        rule,
    }))
}

/// An alarm on a clock that is moved by hand.
struct Story {
    clock: SimulatedClock,
    alarm: Alarm,
    last: LastLook,
}

impl Story {
    fn of(rule: AlarmRule) -> Self {
        let clock = SimulatedClock::new(1);
        let last = LastLook(clock.now());
        let mut story = Self { clock, alarm: Alarm::default(), last };
        assert_eq!(story.tell(made(rule)), ["AlarmMade"]);
        story
    }

    fn tell(&mut self, command: AlarmCommand) -> Vec<&'static str> {
        let moment = Moment::of(&self.clock);
        let decision = self.alarm.decide(&mut self.last, command, &moment, &()).unwrap();
        decision.events.iter().for_each(|event| self.alarm.apply(event, moment.now));
        decision.events.iter().map(crate::events::Event::event_type).collect()
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance(TimeDelta::seconds(seconds));
    }

    /// Evaluates data that came so many seconds ago.
    fn evaluate(&mut self, data: &[(i64, f64)]) -> Vec<&'static str> {
        self.evaluate_until(self.clock.now(), data)
    }

    /// Evaluates data that came so many seconds before a moment.
    fn evaluate_until(&mut self, until: DateTime<Utc>, data: &[(i64, f64)]) -> Vec<&'static str> {
        let at =
            |(ago, value): &(i64, f64)| (until - TimeDelta::seconds(*ago), Sample::from(*value));
        self.tell(AlarmCommand::Evaluate { until, data: data.iter().map(at).collect() })
    }

    fn told(&mut self) -> Vec<&'static str> {
        let told = self.alarm.owed.iter().map(|it| SignalTold { id: it.id, refused: None });
        let told = told.collect();
        self.tell(AlarmCommand::Told(told))
    }
}

#[test]
fn it_is_due_by_whole_periods_since_it_began_and_those_that_nobody_saw_are_passed_over() {
    let mut story = Story::of(rule());
    let began = story.clock.now();
    let due = |story: &Story| {
        let due = story.alarm.due(&story.last, story.clock.now()).unwrap();
        (due - began).num_seconds()
    };
    assert_eq!(due(&story), 60);
    story.pass(61);
    assert_eq!(due(&story), 60);
    story.evaluate(&[]);
    assert_eq!(due(&story), 120);
    story.last = LastLook(began + TimeDelta::seconds(605));
    assert_eq!(due(&story), 660);
    story.tell(AlarmCommand::Suspend);
    assert!(story.alarm.due(&story.last, story.clock.now()).is_none());
}

#[test]
fn a_period_is_judged_as_of_when_it_was_over_however_late_somebody_looks() {
    let mut story = Story::of(rule());
    let began = story.clock.now();
    let at = |seconds| began + TimeDelta::seconds(seconds);
    story.pass(60 + 13);
    // Of the period's first moment, and of the first after it.
    assert_eq!(story.evaluate_until(at(60), &[(60, 90.0), (0, 10.0)]), ["AlarmStateSet"]);
    assert_eq!(story.alarm.state, AlarmState::Alarm);
    assert_eq!(story.alarm.due(&story.last, story.clock.now()), Some(at(120)));
    story.pass(2 * 60);
    assert_eq!(story.alarm.due(&story.last, story.clock.now()), Some(at(120)), "each in turn");
    story.evaluate_until(at(120), &[(60, 10.0), (0, 90.0)]);
    assert_eq!(story.alarm.state, AlarmState::Normal);
    assert_eq!(story.alarm.due(&story.last, story.clock.now()), Some(at(180)));
    story.pass(3600);
    let late = story.alarm.due(&story.last, story.clock.now()).unwrap();
    assert_eq!(late, at(3540), "those of the last minutes");
    let seldom = Story::of(AlarmRule { period: 3600, ..rule() });
    seldom.pass(3 * 3600 - 1);
    let newest = seldom.clock.now() - TimeDelta::seconds(3599);
    assert_eq!(seldom.alarm.due(&seldom.last, seldom.clock.now()), Some(newest));
}

#[test]
fn those_who_are_to_be_told_are_told_at_each_evaluation_anew_but_not_while_they_still_are() {
    let mut story = Story::of(rule());
    assert!(story.evaluate(&[]).is_empty(), "there were no data before");
    assert_eq!(story.evaluate(&[(1, 90.0)]), ["AlarmStateSet"]);
    assert_eq!((story.alarm.state, story.alarm.owed.len()), (AlarmState::Alarm, 1));
    assert!(story.evaluate(&[(1, 90.0)]).is_empty());
    assert_eq!(story.told(), ["AlarmActionsTold"]);
    assert_eq!(story.evaluate(&[(1, 90.0)]), ["AlarmStateSet"]);
    assert_eq!(story.told(), ["AlarmActionsTold"]);
    assert_eq!(story.evaluate(&[(1, 80.0)]), ["AlarmStateSet"]);
    assert!(story.evaluate(&[(1, 80.0)]).is_empty(), "nobody is to be told that all is well");
    assert_eq!(story.evaluate(&[(61, 90.0)]), ["AlarmStateSet"]);
    assert_eq!(story.alarm.state, AlarmState::NoData);
}

#[test]
fn what_is_not_there_is_told_again_only_once_there_is_another_state_or_rule() {
    let mut story = Story::of(rule());
    let missing = |story: &mut Story| {
        let refused = Some("There is no such resource".to_owned());
        let told = story.alarm.owed.iter();
        let told = told.map(|it| SignalTold { id: it.id, refused: refused.clone() }).collect();
        assert_eq!(story.tell(AlarmCommand::Told(told)), ["AlarmActionsTold"]);
    };
    assert_eq!(story.evaluate(&[(1, 90.0)]), ["AlarmStateSet"]);
    missing(&mut story);
    assert!(story.evaluate(&[(1, 90.0)]).is_empty());
    assert_eq!(story.evaluate(&[(1, 80.0)]), ["AlarmStateSet"]);
    assert_eq!(story.evaluate(&[(1, 90.0)]), ["AlarmStateSet"]);
    assert_eq!(story.alarm.owed.len(), 1);
    missing(&mut story);
    assert!(story.evaluate(&[(1, 90.0)]).is_empty());
    story.tell(made(AlarmRule { threshold: 70.0, ..rule() }));
    assert_eq!(story.evaluate(&[(1, 90.0)]), ["AlarmStateSet"]);
}

#[test]
fn each_of_several_periods_must_be_beyond_the_threshold() {
    let mut story = Story::of(AlarmRule { periods: 2, ..rule() });
    story.evaluate(&[(1, 90.0), (61, 70.0)]);
    assert_eq!(story.alarm.state, AlarmState::Normal);
    story.evaluate(&[(1, 90.0)]);
    assert_eq!(story.alarm.state, AlarmState::Normal);
    story.evaluate(&[(1, 90.0), (61, 85.0)]);
    assert_eq!(story.alarm.state, AlarmState::Alarm);
    story.evaluate(&[(61, 85.0)]);
    assert_eq!(story.alarm.state, AlarmState::NoData);
}

#[test]
fn many_data_in_many_periods_are_looked_at_once() {
    let periods = 8_640;
    let rule = AlarmRule { period: 10, periods, statistic: Statistic::Sum, ..rule() };
    let mut story = Story::of(AlarmRule { threshold: 11.5, ..rule });
    let began = std::time::Instant::now();
    // Twelve in each period, and one of no period that counts.
    let data: Vec<(i64, f64)> = (0..i64::from(periods) * 12)
        .map(|number| (number / 12 * 10 + number % 10 + 1, 1.0))
        .chain([(86_401, 1_000.0), (0, 1_000.0), (-1, 1_000.0)])
        .collect();
    story.evaluate(&data);
    assert_eq!(story.alarm.state, AlarmState::Alarm);
    let fewer: Vec<_> = data.iter().copied().filter(|(ago, _)| *ago != 500).collect();
    story.evaluate(&fewer);
    assert_eq!(story.alarm.state, AlarmState::Normal);
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn a_client_sets_another_state_until_the_next_evaluation() {
    let set = |state| AlarmCommand::SetState { state, reason: "a drill".to_owned() };
    let mut story = Story::of(rule());
    assert_eq!(story.tell(set(AlarmState::Alarm)), ["AlarmStateSet"]);
    assert_eq!(story.alarm.owed.len(), 1);
    assert!(story.tell(set(AlarmState::Alarm)).is_empty());
    assert_eq!(story.evaluate(&[]), ["AlarmStateSet"]);
    assert_eq!(story.alarm.state, AlarmState::NoData);
}

#[test]
fn commands_that_come_again_change_nothing() {
    let mut story = Story::of(rule());
    assert!(story.tell(made(rule())).is_empty());
    assert_eq!(story.tell(made(AlarmRule { threshold: 1.0, ..rule() })), ["AlarmRevised"]);
    assert_eq!(story.tell(AlarmCommand::Suspend), ["AlarmSuspended"]);
    assert!(story.tell(AlarmCommand::Suspend).is_empty());
    assert!(story.evaluate(&[(1, 90.0)]).is_empty());
    assert_eq!(story.tell(AlarmCommand::Resume), ["AlarmResumed"]);
    assert!(story.tell(AlarmCommand::Resume).is_empty());
    assert_eq!(story.tell(AlarmCommand::Switch { tells: false }), ["AlarmActionsSwitched"]);
    assert!(story.tell(AlarmCommand::Switch { tells: false }).is_empty());
    assert_eq!(story.evaluate(&[(1, 90.0)]), ["AlarmStateSet"]);
    assert!(story.alarm.owed.is_empty(), "nobody is told");
    assert_eq!(story.tell(AlarmCommand::Delete), ["AlarmDeleted"]);
    assert!(story.tell(AlarmCommand::Delete).is_empty());
    assert!(story.alarm.living().is_none());
}
