//! CloudWatch's API.

use std::sync::Arc;

use chrono::TimeDelta;
use hearth::clock::{Clock, SystemClock};
use hearth::events::Position;
use hearth::events::log::Filter;
use hearth::policy::{Policy, PolicyPaths, PolicySettings};
use serde_json::{Value, json};

use super::desk::{Desk, key, within};
use crate::api::app::{Answered, SetUp};

/// A client's alarm on `cpu`.
const ALARM: [(&str, &str); 10] = [
    ("AlarmName", "hot"),
    ("Namespace", "system/linux"),
    ("MetricName", "cpu"),
    ("Statistic", "Average"),
    ("ComparisonOperator", "GreaterThanThreshold"),
    ("Threshold", "80"),
    ("Period", "60"),
    ("EvaluationPeriods", "1"),
    ("Dimensions.member.1.Name", "Group"),
    ("Dimensions.member.1.Value", "web"),
];

const DATUM: [(&str, &str); 6] = [
    ("Namespace", "system/linux"),
    ("MetricData.member.1.MetricName", "cpu"),
    ("MetricData.member.1.Unit", "Percent"),
    ("MetricData.member.1.Value", "90.5"),
    ("MetricData.member.1.Dimensions.member.1.Name", "Group"),
    ("MetricData.member.1.Dimensions.member.1.Value", "web"),
];

/// A datum's value.
const VALUE: &str = "MetricData.member.1.Value";

fn code(answer: &Answered) -> (u16, String) {
    (answer.status, within(&answer.text, "Code").to_owned())
}

fn but<'a>(given: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = given.iter().copied().filter(|(other, _)| *other != name);
    others.chain([(name, value)]).collect()
}

async fn alarms(desk: &Desk, params: &[(&str, &str)]) -> Value {
    let params: Vec<_> = params.iter().copied().chain([("ContentType", "JSON")]).collect();
    let answer = desk.watch("DescribeAlarms", &params).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer: Value = serde_json::from_str(&answer.text).unwrap();
    answer["DescribeAlarmsResponse"]["DescribeAlarmsResult"].clone()
}

#[actix::test]
async fn an_alarm_is_made_fed_looked_at_and_deleted() {
    let desk = Desk::open().await;
    assert_eq!(
        code(&desk.watch("PutMetricData", &DATUM).await),
        (400, "InvalidParameterValue".into())
    );
    let made = desk.watch("PutMetricAlarm", &ALARM).await;
    assert_eq!((made.status, made.text.contains("<PutMetricAlarmResult/>")), (200, true));
    let put = desk.watch("PutMetricData", &DATUM).await;
    assert_eq!(put.status, 200, "{}", put.text);
    let told = desk.watch("DescribeAlarms", &[("AlarmName", "hot")]).await.text;
    for (element, value) in [
        ("AlarmName", "hot"),
        ("StateValue", "NODATA"),
        ("ActionsEnabled", "true"),
        ("Threshold", "80.0"),
        ("Period", "60"),
    ] {
        assert_eq!(within(&told, element), value);
    }
    let metrics = desk.watch("ListMetrics", &[("MetricName", "cpu")]).await.text;
    assert_eq!(within(&metrics, "Namespace"), "system/linux");
    let none = desk
        .watch(
            "ListMetrics",
            &[("Dimensions.member.1.Name", "Group"), ("Dimensions.member.1.Value", "db")],
        )
        .await
        .text;
    assert!(none.contains("<Metrics/>"), "{none}");
    let asked = [
        ("Namespace", "system/linux"),
        ("MetricName", "cpu"),
        ("StartTime", "2020-01-01T00:00:00"),
        ("EndTime", "2100-01-01T00:00:00Z"),
        ("Period", "3600"),
        ("Statistics.member.1", "Average"),
        ("Statistics.member.2", "SampleCount"),
        ("Dimensions.member.1.Name", "Group"),
        ("Dimensions.member.1.Value", "web"),
    ];
    let statistics = desk.watch("GetMetricStatistics", &asked).await.text;
    assert_eq!(within(&statistics, "Average"), "90.5");
    assert_eq!(
        (within(&statistics, "SampleCount"), within(&statistics, "Unit")),
        ("1.0", "Percent")
    );
    for (action, enabled) in [("DisableAlarmActions", "false"), ("EnableAlarmActions", "true")] {
        desk.watch(action, &[("AlarmNames.member.1", "hot")]).await;
        let told = desk.watch("DescribeAlarms", &[]).await.text;
        assert_eq!(within(&told, "ActionsEnabled"), enabled);
    }
    let drill = [("AlarmName", "hot"), ("StateValue", "ALARM"), ("StateReason", "a drill")];
    assert_eq!(desk.watch("SetAlarmState", &drill).await.status, 200);
    let told = alarms(&desk, &[("StateValue", "ALARM")]).await;
    assert_eq!(told["MetricAlarms"][0]["StateReason"], "a drill");
    let history = desk.watch("DescribeAlarmHistory", &[("HistoryItemType", "StateUpdate")]).await;
    assert!(within(&history.text, "HistoryData").contains("a drill"), "{}", history.text);
    let of_metric = &[
        ("MetricName", "cpu"),
        ("Namespace", "system/linux"),
        ("Dimensions.member.1.Name", "Group"),
        ("Dimensions.member.1.Value", "web"),
    ];
    let told = desk.watch("DescribeAlarmsForMetric", of_metric).await;
    assert_eq!(within(&told.text, "AlarmName"), "hot");
    let told = desk.watch("DescribeAlarmsForMetric", &of_metric[..2]).await;
    assert!(told.text.contains("<MetricAlarms/>"), "{}", told.text);
    // An alarm watches data of every namespace.
    let elsewhere = desk.watch("DescribeAlarmsForMetric", &but(of_metric, "Namespace", "n")).await;
    assert_eq!(within(&elsewhere.text, "AlarmName"), "hot");
    for (name, value, is_its) in [
        ("Period", "60", true),
        ("Period", "300", false),
        ("Statistic", "Average", true),
        ("Statistic", "Sum", false),
    ] {
        let asked = [&of_metric[..], &[(name, value)]].concat();
        let told = desk.watch("DescribeAlarmsForMetric", &asked).await.text;
        assert_eq!(told.contains("<AlarmName>hot<"), is_its, "{name} {value}: {told}");
    }
    let counted = but(&but(&DATUM, "MetricData.member.1.Unit", "Count"), VALUE, "7");
    assert_eq!(desk.watch("PutMetricData", &counted).await.status, 200);
    for (unit, average) in [("Percent", "90.5"), ("Count", "7.0")] {
        let told = desk.watch("GetMetricStatistics", &but(&asked, "Unit", unit)).await.text;
        assert_eq!((within(&told, "Unit"), within(&told, "Average")), (unit, average), "{told}");
    }
    let told = desk.watch("GetMetricStatistics", &but(&asked, "Unit", "Bytes")).await.text;
    assert!(told.contains("<Datapoints/>"), "{told}");
    // Data that name an alarm are taken, of whichever metric.
    let named = but(&DATUM, "MetricData.member.1.MetricName", "other");
    let named = but(&named, "MetricData.member.1.Dimensions.member.1.Name", "AlarmName");
    let dimension = "MetricData.member.1.Dimensions.member.1.Value";
    assert_eq!(desk.watch("PutMetricData", &but(&named, dimension, "hot")).await.status, 200);
    let refused = desk.watch("PutMetricData", &but(&named, dimension, "cold")).await;
    assert_eq!(code(&refused), (400, "InvalidParameterValue".into()));
    let deleted = desk.watch("DeleteAlarms", &[("AlarmNames.member.1", "hot")]).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    assert_eq!(alarms(&desk, &[]).await["MetricAlarms"], json!([]));
    let gone = desk.watch("DescribeAlarms", &[("AlarmName", "hot")]).await;
    assert_eq!(code(&gone), (400, "InvalidParameterValue".into()));
    desk.app.stop().await;
}

#[actix::test]
async fn values_that_were_taken_together_are_data_of_their_own_time() {
    let desk = Desk::open().await;
    assert_eq!(desk.watch("PutMetricAlarm", &ALARM).await.status, 200);
    let hours = |ago: i64| (SystemClock.now() - TimeDelta::hours(ago)).to_rfc3339();
    let several = |sum: &str, at: &str| -> Vec<(String, String)> {
        let values = [("SampleCount", "4"), ("Sum", sum), ("Minimum", "1"), ("Maximum", "9")];
        let of = |name: &str| format!("MetricData.member.1.{name}");
        let values = values.map(|(name, value)| (of("StatisticValues.") + name, value.to_owned()));
        let datum = DATUM.iter().filter(|(name, _)| !name.ends_with(".Value"));
        let datum = datum.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let dimension = (of("Dimensions.member.1.Value"), "web".to_owned());
        let at = (of("Timestamp"), at.to_owned());
        datum.chain(values).chain([dimension, at]).collect()
    };
    let put = async |data: &[(String, String)]| {
        let data = data.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let data: Vec<_> = data.collect();
        desk.watch("PutMetricData", &data).await
    };
    let (then, before) = (hours(30), hours(50));
    for (sum, at) in [("20", &then), ("12", &then), ("99", &before)] {
        let answer = put(&several(sum, at)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let listed = |counts: &[&str]| -> Vec<(String, String)> {
        let mut datum = several("20", &then);
        datum.retain(|(name, _)| !name.contains(".StatisticValues."));
        let all = [("Values", ["1", "9"].as_slice()), ("Counts", counts)];
        for (list, numbers) in all {
            datum.extend(numbers.iter().zip(1..).map(|(number, at)| {
                (format!("MetricData.member.1.{list}.member.{at}"), (*number).to_owned())
            }));
        }
        datum
    };
    for counts in [["3", "1"].as_slice(), &[]] {
        let answer = put(&listed(counts)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    for (counts, error) in [
        (["1"].as_slice(), "InvalidParameterCombination"),
        (&["0", "1"], "InvalidParameterValue"),
        (&["NaN", "1"], "InvalidParameterValue"),
        (&["1e300", "1"], "InvalidParameterValue"),
    ] {
        let refused = put(&listed(counts)).await;
        assert_eq!(code(&refused), (400, error.into()), "{}", refused.text);
    }
    let many = (3..=151).map(|at| (format!("MetricData.member.1.Values.member.{at}"), "5".into()));
    let many: Vec<_> = listed(&[]).into_iter().chain(many).collect();
    assert_eq!(code(&put(&many).await), (400, "InvalidParameterValue".into()));
    assert_eq!(put(&many[..many.len() - 1]).await.status, 200);
    let mut both = several("20", &then);
    both.extend(listed(&[]).into_iter().filter(|(name, _)| name.contains(".Values.")));
    assert_eq!(code(&put(&both).await), (400, "InvalidParameterCombination".into()));
    let (from, to) = (hours(32), hours(28));
    let asked = [
        ("Namespace", "system/linux"),
        ("MetricName", "cpu"),
        ("StartTime", from.as_str()),
        ("EndTime", to.as_str()),
        ("Period", "14400"),
        ("Dimensions.member.1.Name", "Group"),
        ("Dimensions.member.1.Value", "web"),
    ];
    let names = ["SampleCount", "Sum", "Average", "Minimum", "Maximum"];
    let members: Vec<String> =
        (1..=5).map(|number| format!("Statistics.member.{number}")).collect();
    let statistics = members.iter().map(String::as_str).zip(names);
    let asked: Vec<_> = asked.into_iter().chain(statistics).collect();
    let told = desk.watch("GetMetricStatistics", &asked).await.text;
    let seen = names.map(|name| within(&told, name));
    // Those taken together, those with counts and without, and the many.
    let (count, sum) = (8 + 4 + 2 + 150, 32 + 12 + 10 + 750);
    let average = f64::from(sum) / f64::from(count);
    let [count, sum] = [count, sum].map(|number| format!("{number}.0"));
    assert_eq!(seen, [&count, &sum, &format!("{average}"), "1.0", "9.0"], "{told}");
    let mut both = several("20", &hours(1));
    both.push(("MetricData.member.1.Value".to_owned(), "1".to_owned()));
    let refused = put(&both).await;
    assert_eq!(code(&refused), (400, "InvalidParameterCombination".into()));
    for (sum, at) in [("many", hours(1)), ("20", hours(15 * 24)), ("20", hours(-3))] {
        let refused = put(&several(sum, &at)).await;
        assert_eq!(code(&refused), (400, "InvalidParameterValue".into()), "{}", refused.text);
    }
    let lacking: Vec<_> = several("20", &hours(1));
    let lacking: Vec<_> =
        lacking.into_iter().filter(|(name, _)| !name.ends_with(".Minimum")).collect();
    assert_eq!(code(&put(&lacking).await), (400, "MissingParameter".into()));
    desk.app.stop().await;
}

#[actix::test]
async fn alarms_are_told_by_pages_and_by_what_is_asked_of_them() {
    let desk = Desk::open().await;
    for (name, told) in [("a1", "OKActions"), ("a2", "InsufficientDataActions"), ("b1", "")] {
        let actions = match told {
            "" => vec![],
            told => vec![(format!("{told}.member.1"), format!("https://{name}.example"))],
        };
        let actions = actions.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let alarm: Vec<_> = but(&ALARM, "AlarmName", name).into_iter().chain(actions).collect();
        let made = desk.watch("PutMetricAlarm", &alarm).await;
        assert_eq!(made.status, 200, "{}", made.text);
    }
    let names = |told: &Value| -> Vec<String> {
        let all = told["MetricAlarms"].as_array().unwrap().iter();
        all.map(|it| it["AlarmName"].as_str().unwrap().to_owned()).collect()
    };
    let first = alarms(&desk, &[("MaxRecords", "2")]).await;
    assert_eq!(names(&first), ["a1", "a2"]);
    let token = first["NextToken"].as_str().unwrap();
    let second = alarms(&desk, &[("MaxRecords", "2"), ("NextToken", token)]).await;
    assert_eq!((names(&second), &second["NextToken"]), (vec!["b1".to_owned()], &Value::Null));
    assert_eq!(names(&alarms(&desk, &[("AlarmNamePrefix", "a")]).await), ["a1", "a2"]);
    assert_eq!(names(&alarms(&desk, &[("AlarmNames.member.1", "b1")]).await), ["b1"]);
    for (prefix, expected) in [
        ("https://a", ["a1", "a2"].as_slice()),
        ("https://a2.example", &["a2"]),
        ("a1", &[]),
        ("", &["a1", "a2", "b1"]),
    ] {
        assert_eq!(names(&alarms(&desk, &[("ActionPrefix", prefix)]).await), expected, "{prefix}");
    }
    assert_eq!(names(&alarms(&desk, &[("StateValue", "OK")]).await), [""; 0]);
    assert_eq!(names(&alarms(&desk, &[("StateValue", "INSUFFICIENT_DATA")]).await).len(), 3);
    desk.app.stop().await;
}

#[actix::test]
async fn the_history_of_alarms_is_told_by_pages_and_times() {
    let desk = Desk::open().await;
    let before = SystemClock.now();
    assert_eq!(desk.watch("PutMetricAlarm", &ALARM).await.status, 200);
    for (state, reason) in [("ALARM", "first"), ("OK", "second"), ("ALARM", "third")] {
        let set = [("AlarmName", "hot"), ("StateValue", state), ("StateReason", reason)];
        assert_eq!(desk.watch("SetAlarmState", &set).await.status, 200);
    }
    let history = async |asked: &[(&str, &str)]| {
        let asked = [&[("ContentType", "JSON"), ("AlarmName", "hot")], asked].concat();
        let told = desk.watch("DescribeAlarmHistory", &asked).await;
        assert_eq!(told.status, 200, "{}", told.text);
        told.json()["DescribeAlarmHistoryResponse"]["DescribeAlarmHistoryResult"].clone()
    };
    let whole = history(&[]).await;
    let all = whole["AlarmHistoryItems"].as_array().unwrap().clone();
    let kinds: Vec<_> = all.iter().map(|item| item["HistoryItemType"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["StateUpdate", "StateUpdate", "StateUpdate", "ConfigurationUpdate"]);
    // The newest comes first.
    assert!(all[0]["HistoryData"].as_str().unwrap().contains("third"), "{whole}");
    assert_eq!(whole["NextToken"], Value::Null);

    let (mut found, mut token) = (Vec::new(), None);
    loop {
        let next = token.iter().map(|token: &String| ("NextToken", token.as_str()));
        let asked: Vec<_> = [("MaxRecords", "3")].into_iter().chain(next).collect();
        let page = history(&asked).await;
        found.extend(page["AlarmHistoryItems"].as_array().unwrap().iter().cloned());
        token = page["NextToken"].as_str().map(str::to_owned);
        if token.is_none() {
            break;
        }
    }
    assert_eq!(found, all);

    let [early, late] =
        [before, SystemClock.now() + TimeDelta::seconds(1)].map(|at| at.to_rfc3339());
    let (start, end) = ("StartDate", "EndDate");
    for (asked, count) in [
        (vec![(start, early.as_str())], 4),
        (vec![(start, &early), (end, &late)], 4),
        (vec![(start, &late)], 0),
        (vec![(end, &early)], 0),
        (vec![(end, &late), ("HistoryItemType", "ConfigurationUpdate")], 1),
    ] {
        let told = history(&asked).await;
        assert_eq!(told["AlarmHistoryItems"].as_array().unwrap().len(), count, "{asked:?}");
    }
    let refused = desk.watch("DescribeAlarmHistory", &[("NextToken", "last")]).await;
    assert_eq!(code(&refused), (400, "InvalidParameterValue".into()));
    desk.app.stop().await;
}

#[actix::test]
async fn what_is_wrong_or_too_much_is_refused() {
    let desk = Desk::open().await;
    assert_eq!(desk.watch("PutMetricAlarm", &ALARM).await.status, 200);
    let long = "x".repeat(2_000);
    let alarm = |name: &'static str, value| ("PutMetricAlarm", but(&ALARM, name, value));
    let datum = |name: &'static str, value| ("PutMetricData", but(&DATUM, name, value));
    let missing = |name: &str| format!("MissingParameter {name}");
    let value = "InvalidParameterValue";
    let period = [("StartTime", "2100-01-01T00:00:00Z"), ("EndTime", "2020-01-01T00:00:00Z")];
    let statistics: Vec<_> = DATUM[..1]
        .iter()
        .copied()
        .chain([("MetricName", "cpu"), ("Period", "60"), ("Statistics.member.1", "Sum")])
        .chain(period)
        .collect();
    for ((action, params), expected) in [
        (alarm("Threshold", "much"), value.to_owned()),
        (alarm("Threshold", "inf"), value.to_owned()),
        (alarm("Period", "1"), value.to_owned()),
        (alarm("Period", "-60"), value.to_owned()),
        (alarm("Statistic", "Median"), value.to_owned()),
        (alarm("AlarmName", long.as_str()), value.to_owned()),
        (alarm("AlarmDescription", long.as_str()), value.to_owned()),
        (alarm("MetricName", ""), missing("")),
        (datum("MetricData.member.1.Value", "NaN"), value.to_owned()),
        (datum("MetricData.member.1.Value", "1e308"), value.to_owned()),
        (datum("MetricData.member.1.Value", ""), missing("")),
        (datum("MetricData.member.1.MetricName", long.as_str()), value.to_owned()),
        (datum("MetricData.member.1.MetricName", ""), missing("")),
        (datum("Namespace", long.as_str()), value.to_owned()),
        (datum("MetricData.member.1.Dimensions.member.1.Value", "db"), value.to_owned()),
        (("SetAlarmState", vec![("AlarmName", "hot")]), missing("")),
        (("SetAlarmState", vec![("AlarmName", "hot"), ("StateValue", "NORMAL")]), value.to_owned()),
        (("SetAlarmState", vec![("AlarmName", "no"), ("StateValue", "OK")]), value.to_owned()),
        (
            (
                "SetAlarmState",
                vec![("AlarmName", "hot"), ("StateValue", "OK"), ("StateReason", &long)],
            ),
            value.to_owned(),
        ),
        (("EnableAlarmActions", vec![("AlarmNames.member.1", "no")]), value.to_owned()),
        (("DeleteAlarms", vec![]), missing("")),
        (("EnableAlarmActions", vec![]), missing("")),
        (("DisableAlarmActions", vec![]), missing("")),
        (("DescribeAlarms", vec![("MaxRecords", "101")]), value.to_owned()),
        (("DescribeAlarmHistory", vec![("StartDate", "once")]), value.to_owned()),
        (("GetMetricStatistics", vec![("Namespace", "n")]), missing("")),
        (("GetMetricStatistics", statistics), "InvalidParameterCombination".to_owned()),
        (("ListStacks", vec![]), "InvalidAction".to_owned()),
    ] {
        let refused = desk.watch(action, &params).await;
        let expected = expected.split(' ').next().unwrap().to_owned();
        assert_eq!(code(&refused), (400, expected), "{action} {params:?}: {}", refused.text);
    }
    let mut many: Vec<(String, String)> = Vec::new();
    for number in 1..=21 {
        many.push((format!("MetricData.member.{number}.MetricName"), "cpu".to_owned()));
        many.push((format!("MetricData.member.{number}.Value"), "1".to_owned()));
        many.push((
            format!("MetricData.member.{number}.Dimensions.member.1.Name"),
            "AlarmName".to_owned(),
        ));
        many.push((
            format!("MetricData.member.{number}.Dimensions.member.1.Value"),
            "hot".to_owned(),
        ));
    }
    let many: Vec<(&str, &str)> =
        many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let put = desk.watch("PutMetricData", &[&[("Namespace", "n")][..], &many[..80]].concat()).await;
    assert_eq!(put.status, 200, "{}", put.text);
    let refused = desk.watch("PutMetricData", &[&[("Namespace", "n")][..], &many].concat()).await;
    assert_eq!(code(&refused), (400, "RequestLimitExceeded".into()));
    desk.app.stop().await;
}

#[actix::test]
async fn an_alarm_that_would_be_another_than_asked_for_is_refused() {
    let desk = Desk::open().await;
    for (name, value) in [
        ("TreatMissingData", "breaching"),
        ("TreatMissingData", "notBreaching"),
        ("TreatMissingData", "ignore"),
        ("DatapointsToAlarm", "2"),
        ("DatapointsToAlarm", "most"),
        ("ExtendedStatistic", "p90"),
        ("EvaluateLowSampleCountPercentile", "ignore"),
        ("ThresholdMetricId", "band"),
        ("Metrics.member.1.Id", "m1"),
        ("Metrics.member.1.MetricStat.Metric.MetricName", "cpu"),
        ("Tags.member.1.Key", "team"),
        ("EvaluationCriteria.PromQLCriteria.Query", "up == 0"),
        ("EvaluationInterval", "60"),
    ] {
        let refused = desk.watch("PutMetricAlarm", &but(&ALARM, name, value)).await;
        assert_eq!(code(&refused), (400, "InvalidParameterValue".into()), "{name}");
        let parameter = name.split('.').next().unwrap();
        let message = within(&refused.text, "Message");
        assert!(message.contains(parameter), "{name}: {message}");
    }
    // What stands in the place of something else is what is named.
    let percentile = ALARM.iter().copied().filter(|(name, _)| *name != "Statistic");
    let percentile: Vec<_> = percentile.chain([("ExtendedStatistic", "p90")]).collect();
    let refused = desk.watch("PutMetricAlarm", &percentile).await;
    assert!(within(&refused.text, "Message").ends_with("ExtendedStatistic is not supported"));
    // Sums and counts of no data are 0, as in Heat, and so never missing.
    for statistic in ["Sum", "SampleCount"] {
        let missing = but(&ALARM, "TreatMissingData", "missing");
        let refused = desk.watch("PutMetricAlarm", &but(&missing, "Statistic", statistic)).await;
        assert_eq!(code(&refused), (400, "InvalidParameterValue".into()), "{statistic}");
    }
    assert_eq!(alarms(&desk, &[]).await["MetricAlarms"], json!([]));
    for (name, value) in [
        ("TreatMissingData", "missing"),
        ("TreatMissingData", ""),
        ("DatapointsToAlarm", "1"),
        ("EvaluateLowSampleCountPercentile", "evaluate"),
        // As some clients send a list with nothing in it.
        ("Tags", ""),
    ] {
        let made = desk.watch("PutMetricAlarm", &but(&ALARM, name, value)).await;
        assert_eq!(made.status, 200, "{name}: {}", made.text);
    }
    desk.app.stop().await;
}

#[actix::test]
async fn alarms_are_seen_by_their_own_project_and_by_who_may() {
    let desk = Desk::open().await;
    assert_eq!(desk.watch("PutMetricAlarm", &ALARM).await.status, 200);
    let (token, project) = desk.app.login("admin", "admin").await;
    let other = key(&desk.app, &token, &project).await;
    let told = desk.watch_as(&other, "DescribeAlarms", &[]).await;
    assert!(told.text.contains("<MetricAlarms/>"), "{}", told.text);
    let refused = desk.watch_as(&other, "PutMetricData", &DATUM).await;
    assert_eq!(code(&refused), (400, "InvalidParameterValue".into()));
    desk.app.stop().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"cloudwatch:DescribeAlarms": "!"}"#).unwrap();
    let paths = PolicyPaths { file: Some(file.path().into()), ..PolicyPaths::default() };
    let settings = PolicySettings { paths, ..PolicySettings::default() };
    let policy = Policy::load(settings, Arc::new(SystemClock)).unwrap();
    let desk = Desk::set_up(SetUp { policy, ..SetUp::default() }).await;
    let refused = desk.watch("DescribeAlarms", &[]).await;
    assert_eq!(code(&refused), (403, "AccessDenied".into()));
    assert_eq!(desk.watch("ListMetrics", &[]).await.status, 200);
    desk.app.stop().await;
}

#[actix::test]
async fn no_signature_of_an_address_that_is_told_is_kept() {
    let desk = Desk::open().await;
    let arn = "arn:openstack:heat::p:stacks/web/1/resources/up";
    let signed = format!("http://h/v1/signal/{arn}?AWSAccessKeyId=a&Signature=geheim");
    let hook = "https://u:geheim@h/hook?token=geheim";
    let told = [("AlarmActions.member.1", signed.as_str()), ("OKActions.member.1", hook)];
    let made = desk.watch("PutMetricAlarm", &[&ALARM[..], &told].concat()).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let shown = &alarms(&desk, &[]).await["MetricAlarms"][0];
    assert_eq!(shown["AlarmActions"], json!([arn]));
    assert_eq!(shown["OKActions"], json!(["https://h"]));
    let events = desk.app.log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap();
    assert!(events.iter().any(|event| &*event.event_type == "AlarmMade"));
    assert!(events.iter().all(|event| !event.body.contains("geheim")));
    desk.app.stop().await;
}
