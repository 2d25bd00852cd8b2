use super::*;
use crate::resource_types::declared::coherence;
use crate::resource_types::finders::Finders;
use crate::resource_types::types::BUILT_IN;

const PAGE: &str = include_str!("../../../../docs/adding-a-resource-type.md");

/// The mistakes of a file, one a line.
fn mistakes(text: &str) -> String {
    let mut looked = look(text);
    coherence::check(&mut looked, &Finders::default());
    looked.notes.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    let lines: Vec<String> = looked.notes.mistakes.iter().map(Mistake::to_string).collect();
    lines.join("\n")
}

#[test]
fn every_mistake_of_a_file_is_told_at_once_with_its_place() {
    let text = "\
type: A::B
clas: B
service: network
properties:
  title: { type: strng, updat_allowed: true }
  size: { required: yes, constraints: [{ rnge: { min: 1 } }, { range: { mn: 1 } }, { range: {}, length: {} }] }
  title: { type: string }
rules:
  - at_most_one: [titel, size]
  - needs: [size]
  - { when: { titel: [a] }, refuses: [size] }
  - { each: size, differ: x, matches: {} }
  - { refuses: [size] }
translation:
  - { replace: title, wth: size }
  - { resolve: size, finder: neutron.netwrk }
wrap: policy
create: { post: /x, nulls: text }
show: { get: \"/x/{di}\" }
delete: { delete: \"/x/{id}\", gone: agin }
ready: { field: status }
secrets: [word]
members:
  - { of: titel, add: { pst: /x }, drop: { delete: \"/x/{itm}\" } }
";
    let expected = "\
1:1: `class` is missing
2:1: unknown key `clas`, did you mean `class`?
5:18: one of `string`, `integer`, `number`, `boolean`, `list`, `map`, `any` is wanted here, not \
`strng`, did you mean `string`?
5:25: unknown key `updat_allowed`, did you mean `update_allowed`?
6:9: `type` is missing
6:21: true or false is wanted here, not `yes`
6:42: unknown key `rnge`, did you mean `range`?
6:64: `range` says nothing of values of type string
6:73: unknown key `mn`, did you mean `min`?
6:84: a constraint is one of `length`, `range`, `modulo`, `allowed_values`, `allowed_pattern` and \
`custom_constraint`
7:3: `title` is in line 5 already
9:19: there is no property `titel`, did you mean `title`?
10:5: `needs` without `when` is what its first property needs: the others
11:15: there is no property `titel`, did you mean `title`?
12:5: a rule is one of `at_most_one`, `at_least_one`, `exactly_one`, `needs`, `refuses`, `differ`, \
`ascending`, `matches` and `satisfies`
13:5: `refuses` goes with `when` or `given`
15:23: unknown key `wth`, did you mean `with`?
16:30: there is no finder `neutron.netwrk`, did you mean `neutron.network`?
18:11: `policys` is hardly the key of a list, by which a creation is found again whose answer was \
lost: say `list`
18:28: a list is wanted here, not `text`
19:14: `{di}` is neither `{id}` nor `{name}` nor a property
20:36: one of `assumed`, `again`, `polled` is wanted here, not `agin`, did you mean `again`?
21:8: `ok` or `exists` has to say what is waited for
22:11: there is no property `word`
24:11: there is no property `titel`, did you mean `title`?
24:23: unknown field `pst`, expected one of `if`, `post`, `put`, `patch`, `delete`, `get`, `query`, \
`body`, `microversion`
24:42: `{itm}` is neither `{id}` nor `{name}` nor a property";
    assert_eq!(mistakes(text), expected);
}

#[test]
fn what_a_creation_is_found_by_is_a_field_that_it_sends() {
    let text = "\
type: A::B
class: B
service: network
properties: { title: { type: string }, kind: { type: string } }
wrap: thing
body: { fields: { kind: sort } }
create: { post: /things }
show: { get: \"/things/{id}\", put: \"/things/{id}\" }
find: { unfiltered: true, by: [title, srt, kind] }
";
    let expected = "\
8:1: only one of `get`, `post`, `put`, `patch`, `delete` is wanted here
9:39: no body has a field `srt`, did you mean `sort`?
9:44: no body has a field `kind`, did you mean `sort`?";
    assert_eq!(mistakes(text), expected);
}

#[test]
fn what_no_value_can_meet_is_told_with_its_place() {
    let text = "\
type: A::B
class: B
service: network
support: [{ status: SUPORTED }]
properties:
  title: { type: string, constraints: [{ allowed_pattern: \"[a-\" }, { range: { min: 1 } }] }
  size: { type: integer, constraints: [{ range: { min: 9, max: 1 } }, { modulo: { step: 0, offset: 0 } }] }
  kind: { type: integer, constraints: [{ allowed_values: [1, b] }, { modulo: { step: 2, offset: 3 } }] }
  parts: { type: list, items: { type: map, keys: { word: { type: string } } } }
  name: { type: string, support: [{ status: HIDDN }] }
attributes:
  shown: { support: [{ status: OLD }] }
rules: [{ matches: { title: \"[a-\" } }]
wrap: thing
body:
  fields: { title: t, size: s, name: t }
  shape: { all: { each: parts, of: { a: \"{item.wrd}\", b: \"{item.word}\", c: \"{item}\" } } }
create: { post: /things }
find: { get: /things, where: { a: \"{titel}\" } }
";
    let expected = "\
4:21: there is no status `SUPORTED`, did you mean `SUPPORTED`?
6:59: this is no regular
6:70: `range` says nothing of values of type string
7:49: `min` is above `max`
7:89: a step of 0 leads nowhere
8:62: Value 'b' is not an integer
8:97: `offset` has to be within one `step`
10:45: there is no status `HIDDN`, did you mean `HIDDEN`?
12:32: there is no status `OLD`
13:29: this is no regular
16:38: `t` is the field of `title` already
17:41: an item of `parts` has no `wrd`, did you mean `{item.word}`?
19:35: there is no property `titel`, did you mean `{title}`?";
    // Why a pattern is none, its library says.
    let told = mistakes(text);
    let told = told.lines().map(|line| line.split(" expression:").next().unwrap_or_default());
    assert_eq!(told.collect::<Vec<_>>().join("\n"), expected);
    let tagged = mistakes("type: A::B\nclass: !!python/object:os.system B\n");
    assert_eq!(
        tagged,
        "2:8: nothing is known of the tag `tag:yaml.org,2002:python/object:os.system`"
    );
}

#[test]
fn what_is_no_map_is_told_and_nothing_more() {
    assert_eq!(mistakes("- a\n").lines().count(), 1);
    assert_eq!(mistakes(""), "1:1: the file is empty");
    assert!(mistakes("type: [\n").starts_with("2:1: "), "{}", mistakes("type: [\n"));
    assert!(mistakes("type: A\nclass: B\nready: x\n").starts_with("3:8: a map with keys of"));
}

#[test]
fn built_in_files_are_read_as_a_plain_reader_of_yaml_reads_them() {
    for built_in in BUILT_IN {
        let plain: serde_json::Value = serde_yaml::from_str(built_in.yaml).unwrap();
        let plain: Declaration = serde_json::from_value(plain).unwrap();
        let read =
            read(built_in.yaml).unwrap_or_else(|error| panic!("{}: {error:?}", built_in.file));
        assert_eq!(format!("{read:?}"), format!("{:?}", plain.completed()), "{}", built_in.file);
    }
}

/// The examples of the page; parts of a file get a head.
fn examples() -> Vec<String> {
    let blocks = PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let whole = |block: &str| match block.starts_with("type:") {
        true => block.to_owned(),
        false => format!("type: A::B\nclass: B\nservice: network\n{block}"),
    };
    blocks.map(whole).collect()
}

#[test]
fn the_page_has_every_key_that_is_read_and_no_other() {
    let mut keys = std::collections::BTreeMap::<_, BTreeSet<String>>::new();
    let mut words = BTreeSet::new();
    for example in examples() {
        let notes = look(&example).notes;
        for (known, used) in notes.keys {
            keys.entry(known).or_default().extend(used);
        }
        words.extend(notes.words);
        assert_eq!(mistakes(&example), "", "{example}");
    }
    let mut missing = Vec::new();
    for (known, used) in keys {
        // The other methods of a call stand in a sentence.
        let is_told = |key: &str| known.contains(&"get") && PAGE.contains(&format!("`{key}`"));
        for key in known.iter().filter(|key| !used.contains(**key) && !is_told(key)) {
            missing.push(format!("{key}, beside {}", known.join(" ")));
        }
    }
    assert!(missing.is_empty(), "in no example of the page:\n{}", missing.join("\n"));
    // Of the actions the page names those that mean something.
    let actions = ["INIT", "CREATE", "DELETE", "UPDATE", "ROLLBACK", "ADOPT", "RESTORE"];
    for word in words.into_iter().filter(|word| !actions.contains(word)) {
        assert!(PAGE.contains(word), "the page does not say {word}");
    }
}

#[test]
fn the_page_has_every_key_of_finders_and_mistakes_in_them_have_places() {
    let block = PAGE.split("```yaml finders\n").nth(1).and_then(|rest| rest.split("\n```").next());
    let text = block.unwrap();
    let (root, notes) = document(text);
    let rows: Rows = all(root.as_ref().unwrap(), &notes).unwrap();
    let notes = notes.into_inner();
    assert_eq!((rows.len(), notes.mistakes.len()), (2, 0));
    for (known, used) in notes.keys {
        assert!(known.iter().all(|key| used.contains(*key)), "{known:?} {used:?}");
    }
    for word in notes.words {
        assert!(PAGE.contains(&format!("`{word}`")), "the page does not say {word}");
    }
    let mistakes = read_finders("a.b: { service: x, at: /x, lst: xs, by: nam, entity: X }\n");
    let lines: Vec<String> = mistakes.unwrap_err().iter().map(Mistake::to_string).collect();
    assert!(lines[0].starts_with("1:28: unknown key `lst`, did you mean `list`?"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("1:41: one of `filters`")), "{lines:?}");
}

#[test]
fn odd_values_are_told_and_nothing_is_made_of_them() {
    let with = |type_name: &str, post: &str, more: &str| {
        let text = format!(
            "type: {type_name}\nclass: B\nservice: network\nproperties: {{ a: {{ type: string }} }}\n\
             wrap: thing\ncreate: {{ post: {post} }}\n{more}"
        );
        mistakes(&text)
    };
    assert_eq!(with("A::B", "\"/a/{a}\"", ""), "");
    let path = "6:17: a path begins with `/` and has no spaces, or is true for that of `at`";
    for post in ["v2.0/x", "http://other.test/x", "\"/a b\"", "\"/a\\r\\nX: y\"", "true"] {
        assert_eq!(with("A::B", post, ""), path, "{post}");
    }
    for post in ["\"/a/{\"", "\"/a/}{\"", "\"/{{a}}\"", "\"/a}\""] {
        assert!(with("A::B", post, "").starts_with("6:17: each `{` wants its `}`"), "{post}");
    }
    let name = "1:7: the name of a type has no spaces, and up to 255 characters";
    for type_name in ["''", "\"A b\"", "\"A\\n\"", &"x".repeat(256)] {
        assert_eq!(with(type_name, "/a", ""), name, "{type_name}");
    }
    assert_eq!(with(&"x".repeat(255), "/a", ""), "");
    let repeats = "attributes: { x: { repeats: b } }\n";
    assert_eq!(with("A::B", "/a", repeats), "7:29: there is no property `b`, did you mean `a`?");
    assert_eq!(
        mistakes("type: A::B\nclass: B\nproperties: { '': { type: string } }\n"),
        "3:15: a name is missing"
    );
}

#[test]
fn the_work_on_a_file_grows_with_its_length_whatever_is_wrong_in_it() {
    let work = |count: usize, property: &str| {
        let mut text = "type: A::B\nclass: B\nservice: network\nproperties:\n".to_owned();
        for number in 0..count {
            text += &format!("  p{number}: {{ {property}, update_allowed: true }}\n");
        }
        let looked = look(&text);
        (looked.notes.entries, looked.notes.mistakes.len())
    };
    for (property, mistakes) in [("type: string", 0), ("type: strng", 1), ("typ: string", 2)] {
        let ((few, _), (many, told)) = (work(100, property), work(400, property));
        assert!(many <= 6 * few, "{property}: {few} entries for 100, {many} for 400");
        assert_eq!(told, 400 * mistakes, "{property}");
    }
}
