//! A stack's history read in every way that there is: from the log, from a server, from a file that
//! was exported.

use serde_json::Value;

use super::desk::Desk;
use super::process::Served;

const INNER: &str = "\
heat_template_version: 2021-04-16
parameters: { word: { type: string } }
resources:
  said: { type: OS::Heat::TestResource, properties: { value: { get_param: word } } }
outputs: { said: { value: { get_attr: [said, output] } } }
";

const FIRST: &str = "\
heat_template_version: 2021-04-16
parameters:
  word: { type: string, default: one }
  password: { type: string, hidden: true, default: only-for-the-two-of-us }
resources:
  kept: { type: OS::Heat::TestResource, properties: { value: { get_param: word } } }
  secret: { type: OS::Heat::TestResource, properties: { value: { get_param: password } } }
  gone: { type: OS::Heat::RandomString }
  inner: { type: inner.yaml, properties: { word: { get_param: word } } }
outputs:
  said: { value: { get_attr: [kept, output] } }
";

/// The same with another parameter, a resource more and one less.
fn second() -> String {
    let without = FIRST.replace("  gone: { type: OS::Heat::RandomString }\n", "");
    without.replace("outputs:\n", "  fresh: { type: OS::Heat::TestResource }\noutputs:\n")
}

/// A directory with a stack `web` that was created and updated.
fn desk_with_a_stack() -> Desk {
    let second = second();
    let files = [("inner.yaml", INNER), ("web.yaml", FIRST), ("second.yaml", second.as_str())];
    let desk = Desk::with(&files);
    desk.said("up web.yaml --data d");
    desk.said("up second.yaml --name web -P word=two --data d");
    desk
}

#[test]
fn two_moments_of_a_stack_are_compared() {
    let desk = desk_with_a_stack();
    let text = desk.said("replay web --data d --diff r1 r2");
    for expected in [
        "\nStack\n  stack_status: CREATE_COMPLETE → UPDATE_COMPLETE\n",
        "\nTemplate\n  resources.gone: {\"type\":\"OS::Heat::RandomString\"} → -\n",
        "\nParameters\n  word: one → two\n",
        "\nOutputs\n  said: one → two\n",
        "+  fresh  OS::Heat::TestResource\n",
        "-  gone   OS::Heat::RandomString\n",
        "~  kept   OS::Heat::TestResource\n",
        "      properties.value: one → two\n",
        "      attributes.output: one → two\n",
    ] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    assert!(!text.contains("secret"), "what does not differ is not told:\n{text}");
    let diff = desk.json("replay web --data d --diff r1 r2 --json");
    let changes: Vec<(&str, &str)> = diff["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["resource_name"].as_str().unwrap(), it["change"].as_str().unwrap()))
        .collect();
    let expected =
        [("fresh", "created"), ("gone", "deleted"), ("inner", "changed"), ("kept", "changed")];
    assert_eq!(changes, expected);
    let back = desk.json("replay web --data d --diff r2 r1 --json --resource gone");
    assert_eq!(back["resources"][0]["change"], "created");
    assert_eq!(back["parameters"], Value::Null);

    let end = desk.json("replay web --data d --json");
    let last = &end["position"];
    assert_eq!(diff["to"]["position"], *last);
    let at = diff["from"]["at"].as_str().unwrap();
    let by_time = desk.said(&format!("replay web --data d --diff {at} {last}"));
    assert_eq!(by_time, text, "a time and a position are moments as well");
    let same = desk.said("replay web --data d --diff r2 r2");
    assert!(same.ends_with("\nnothing differs\n"), "{same}");
    let early = desk.refused("replay web --data d --diff 0 r2");
    assert_eq!(early, "hearth replay: the stack was not there yet\n");
    let missing = desk.refused("replay web --data d --until r7");
    assert_eq!(missing, "hearth replay: the stack has no revision 7\n");
    let first = desk.json("replay web --data d --until r1 --json");
    assert_eq!(first["stack"]["stack_status"], "CREATE_COMPLETE");
    assert_eq!(first["position"], diff["from"]["position"]);
}

#[test]
fn each_event_is_shown_with_what_it_changed() {
    let desk = desk_with_a_stack();
    let steps: Vec<Value> = desk
        .said("replay web --data d --step --json")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let events = desk.said("history web --data d --json");
    assert_eq!(steps.len(), events.lines().count());
    let of = |name: &str, kind: &str| {
        let found = steps.iter().find(|it| it["resource_name"] == name && it["type"] == kind);
        found.unwrap_or_else(|| panic!("{name} has no {kind}"))
    };
    let places = |step: &Value| -> Vec<String> {
        let changes = step["changes"].as_array().unwrap().iter();
        changes.map(|it| it["place"].as_str().unwrap().to_owned()).collect()
    };
    let settled = of("kept", "ActionSettled");
    assert!(places(settled).contains(&"resource_status".to_owned()), "{settled:#}");
    let status = settled["changes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["place"] == "resource_status")
        .unwrap();
    assert_eq!(
        (&status["old"], &status["new"]),
        (&"CREATE_IN_PROGRESS".into(), &"CREATE_COMPLETE".into())
    );
    let folded = desk.json("replay web --data d --json");
    assert_eq!(steps.last().unwrap()["position"], folded["position"]);

    let text = desk.said("replay web --data d --step --until r1 --resource gone");
    assert!(text.contains("  gone  ActionStarted: CREATE OS::Heat::RandomString\n"), "{text}");
    assert!(text.contains("\n          resource_status: INIT_COMPLETE → CREATE_IN_PROGRESS\n"));
    assert!(!text.contains("DELETE"), "the rest is later: {text}");
    let none = desk.refused("replay web --data d --step --resource no-such");
    assert_eq!(none, "hearth replay: the stack had no resource no-such\n");
}

#[test]
fn a_history_is_narrowed_to_a_resource_and_to_a_revision() {
    let desk = desk_with_a_stack();
    let said = |more: &str| desk.said(&format!("history web {more} --data d"));
    let revisions = |more: &str| -> Vec<String> {
        let text = said(more);
        let (_, rest) = text.split_once("\nRevisions\n").unwrap();
        let (rows, _) = rest.split_once("\nEvents\n").unwrap();
        rows.lines().map(|row| row.split_whitespace().next().unwrap().to_owned()).collect()
    };
    assert_eq!(revisions("--resource kept"), ["1", "2"]);
    assert_eq!(revisions("--resource fresh"), ["2"]);
    assert_eq!(revisions("--revision 1"), ["1"]);
    assert_eq!(revisions("--resource fresh --revision 1"), Vec::<String>::new());
    let gone = said("--resource gone --revision 1");
    assert!(gone.contains("  gone  ActionStarted: CREATE "), "{gone}");
    assert!(!gone.contains("DELETE") && !gone.contains("(stack)"), "{gone}");
    let lines = |more: &str| said(more).lines().count();
    let of_both = lines("--revision 1 --json") + lines("--revision 2 --json");
    assert_eq!(of_both, lines("--json"), "each event is of one revision");
}

#[test]
fn a_history_in_a_file_is_read_as_the_log_is() {
    let desk = desk_with_a_stack();
    desk.said("export web --history --out web.jsonl --data d");
    let bundle = std::fs::read_to_string(desk.path().join("web.jsonl")).unwrap();
    assert_eq!(bundle, desk.said("export web --history --data d"));
    assert!(!bundle.contains("only-for-the-two-of-us"));
    std::fs::rename(desk.path().join("d"), desk.path().join("away")).unwrap();
    let ways = [
        "replay",
        "replay --json",
        "replay --until r1 --json",
        "replay --diff r1 r2",
        "replay --step",
        "replay --resource kept --json",
        "history --json",
        "history --resource kept --revision 2 --json",
    ];
    for way in ways {
        let (command, rest) = way.split_once(' ').unwrap_or((way, ""));
        let rest = if rest.is_empty() { String::new() } else { format!(" {rest}") };
        let by_log = desk.said(&format!("{command} web --data away{rest}"));
        let by_file = desk.said(&format!("{command} --file web.jsonl{rest}"));
        assert_eq!(by_file, by_log, "{way}");
    }
    let inner = desk.json("replay web --data away --json");
    let inner = inner["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["resource_name"] == "inner")
        .unwrap();
    let inner = inner["physical_resource_id"].as_str().unwrap();
    let nested = desk.json(&format!("replay {inner} --file web.jsonl --json"));
    assert_eq!(nested["resources"][0]["resource_name"], "said");
    let turns = desk.said("replay --file web.jsonl --resource inner --calls");
    let turns: Vec<&str> =
        turns.lines().filter_map(|line| Some(line.split_once("Z  ")?.1)).collect();
    let expected = ["CREATE", "UPDATE"]
        .map(|action| [format!("{action} tell the child"), format!("{action} await the child")]);
    assert_eq!(turns, expected.concat());
    let calls = desk.said("replay --file web.jsonl --resource gone --calls");
    assert!(calls.contains("not replayed") || calls.contains("No answers"), "{calls}");

    let other = desk.refused("replay no-such --file web.jsonl");
    assert_eq!(other, "hearth replay: the log knows no stack no-such\n");
    let cut = bundle.rsplit_once("{\"end\"").unwrap().0;
    std::fs::write(desk.path().join("cut.jsonl"), cut).unwrap();
    let cut = desk.refused("replay --file cut.jsonl");
    assert_eq!(cut, "hearth replay: cut.jsonl cannot be read: it was cut: its end is missing\n");
    let none = desk.refused("history --file web.yaml");
    assert!(none.starts_with("hearth history: web.yaml cannot be read: line 1 is none"), "{none}");
    let missing = desk.refused("replay --file no-such.jsonl");
    assert!(missing.contains("no-such.jsonl cannot be read: No such file"), "{missing}");
}

#[test]
fn a_stack_that_is_gone_is_found_by_its_name_and_prints_nothing_that_moves_a_cursor() {
    let desk = desk_with_a_stack();
    desk.said("up second.yaml --name web -P word=\u{1b}[31mred --data d");
    let ways = ["show web", "replay web", "replay web --diff r2 r3", "replay web --step"];
    for way in ways {
        let text = desk.said(&format!("{way} --data d"));
        assert!(text.contains(" [31mred") && !text.contains('\u{1b}'), "{way}: {text}");
    }
    desk.said("down web --yes --data d");
    let text = desk.said("history web --times --data d");
    assert!(text.contains("DELETE COMPLETE"), "{text}");
    assert!(desk.refused("history no-such --times --data d").contains("no-such"));
}

#[test]
fn a_command_line_that_is_wrong_does_not_end_as_a_plan_with_changes_does() {
    let desk = desk_with_a_stack();
    for words in ["plan", "plan --name web --to -1", "drift", "what-if web", "rollback"] {
        desk.refused(words);
    }
}

#[test]
fn another_template_is_tried_on_what_is_past() {
    let desk = desk_with_a_stack();
    let words = "what-if web --template web.yaml --data d";
    let output = desk.run(&format!("{words} --at r1"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("web: nothing to do, 4 unchanged\n"), "{text}");
    let output = desk.run(&format!("{words} -P word=one"));
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in ["+   gone ", "-   fresh ", "~   kept ", "     value: \"two\" -> \"one\"\n"] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    let output = desk.run("what-if web --template second.yaml -P word=two --data d --at r1 --json");
    assert_eq!(output.status.code(), Some(2));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&plan["id"], &plan["revision"]), (&Value::Null, &1.into()));
    assert_eq!(plan["counts"]["created"], 1);
    let refused = desk.refused("what-if web --template web.yaml --data d --at 0");
    assert!(refused.starts_with("hearth what-if: The Stack ("), "{refused}");
}

#[test]
fn the_views_are_what_the_log_makes_of_them() {
    let desk = desk_with_a_stack();
    let said = desk.said("replay --verify --data d");
    assert!(said.contains("machines and views come to the same\n"), "{said}");
    assert!(said.contains("the views that are kept are what is made anew\n"), "{said}");

    let views = rusqlite::Connection::open(desk.path().join("d/views.db")).unwrap();
    let change = |sql: &str| assert!(views.execute(sql, []).unwrap() > 0, "{sql}");
    change("UPDATE stacks SET reason = 'nobody knows' WHERE name = 'web'");
    let told = desk.refused("replay --verify --data d");
    assert!(told.contains("views.db: stacks: id ") && told.ends_with("has another reason\n"));
    change("UPDATE stacks SET reason = 'Stack UPDATE completed successfully' WHERE name = 'web'");
    change("DELETE FROM event_list WHERE position = (SELECT max(position) FROM event_list)");
    let told = desk.refused("replay --verify --data d");
    assert!(told.contains("views.db: event_list: position ") && told.ends_with(" is missing\n"));
    drop(views);
    desk.said("rebuild --data d");
    desk.said("replay --verify --data d");
    std::fs::remove_file(desk.path().join("d/views.db")).unwrap();
    let said = desk.said("replay --verify --data d");
    assert!(said.contains("no views are kept that could be compared\n"), "{said}");
}

#[test]
fn what_was_purged_is_no_difference() {
    let desk = desk_with_a_stack();
    desk.said("up web.yaml --name gone --data d");
    desk.said("up web.yaml --name left --data d");
    desk.said("down gone --yes --data d");
    desk.said("purge --older-than 0s --data d");
    let verified = "the views that are kept are what is made anew\n";
    let said = desk.said("replay --verify --data d");
    assert!(said.ends_with(verified), "the views are behind the purge: {said}");
    desk.said("up second.yaml --name left --data d");
    let said = desk.said("replay --verify --data d");
    assert!(said.ends_with(verified), "they have numbers that were free before: {said}");
}

#[test]
fn a_server_is_asked_for_what_a_log_would_say() {
    let desk = desk_with_a_stack();
    let by_log = desk.said("replay web --data d --json");
    let diff = desk.said("replay web --data d --diff r1 r2");
    let allowed = [("HEARTH_DEFAULT__ENABLE_STACK_ABANDON", "true")];
    let server = Served::start(&desk.path().join("d"), &[], &allowed);
    let url = server.told("orchestration API").trim_end_matches("/v1").to_owned();
    assert_eq!(desk.said(&format!("replay web --server {url} --json")), by_log);
    assert_eq!(desk.said(&format!("replay web --server {url} --diff r1 r2")), diff);
    assert_eq!(desk.said("replay web --data d --json"), by_log, "while it is being written");
    desk.said("replay --verify --data d");
    let bundle = desk.said(&format!("export web --history --server {url}"));
    assert!(!bundle.contains("only-for-the-two-of-us"));
    std::fs::write(desk.path().join("web.jsonl"), bundle).unwrap();
    assert_eq!(desk.said("replay --file web.jsonl --json"), by_log);
    let document = desk.json(&format!("export web --server {url}"));
    assert_eq!(document["name"], "web");
    let history = |more: &str| desk.said(&format!("history web --times --server {url} {more}"));
    let headings = |text: &str| -> Vec<String> {
        let headings = text.lines().filter(|line| line.contains("  revision "));
        headings.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
    };
    let (created, updated) = ("CREATE COMPLETE", "UPDATE COMPLETE");
    assert_eq!(headings(&history("--revision 1")), [created]);
    assert_eq!(headings(&history("--resource fresh")), [created, updated]);
    for words in ["", "--json", "--resource fresh", "--revision 1 --json"] {
        let said = |place: &str| desk.said(format!("history web {place} {words}").trim_end());
        assert_eq!(said(&format!("--server {url}")), said("--data d"), "{words}");
    }
    for place in ["--data d".to_owned(), format!("--server {url}")] {
        for (words, said) in [
            ("web --resource no-such", "the stack had no resource no-such"),
            ("web --revision 9", "the stack has no revision 9"),
            ("web --revision 0", "the stack has no revision 0"),
            ("no-such", "the log knows no stack no-such"),
        ] {
            for times in ["", " --times"] {
                let told = desk.refused(&format!("history {words}{times} {place}"));
                assert_eq!(told, format!("hearth history: {said}\n"), "{times} {place}");
            }
        }
        let none = desk.said(&format!("history web --times --resource gone --revision 2 {place}"));
        assert!(none.contains("gone"), "{none}");
    }
    let refused = desk.refused(&format!("replay --verify --server {url}"));
    assert!(refused.contains("name its data directory with --data"), "{refused}");
    server.stop();
}
