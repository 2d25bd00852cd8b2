//! Whole templates on the sandbox: each of a directory is created, updated by one parameter and
//! deleted, while a guest says what servers would say. `tests/data/corpus` is played with the rest
//! of the tests; `CORPUS=DIR cargo test --test it corpus -- --nocapture` plays another directory
//! and tells how each of its templates fared. `ONLY=WORD` plays those with a word in their path.

mod guest;
mod source;
mod values;

use std::path::{Path, PathBuf};

use futures::StreamExt;
use hearth::actors::{CreateStack, UpdateStack};
use hearth::model::{JsonMap, Refusal};
use hearth::resource_types::Registry;
use hearth::template::StackSource;
use tokio::task::LocalSet;

use crate::support::world::Ground;
use guest::attend;
use values::Values;

/// How many templates are played at once.
const AT_ONCE: usize = 4;

/// How a template fared.
enum End {
    Refused(Refusal),
    Failed(String),
    /// By the change of which parameter, if it has any that can be changed.
    Played(Option<String>),
}

#[actix::test]
async fn templates_are_made_changed_and_deleted() {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus");
    let other = std::env::var_os("CORPUS").map(PathBuf::from);
    let directory = other.as_deref().unwrap_or(&own);
    let values = Values::read(&own.join("values.yaml"));
    let registry = Registry::built_in().unwrap();
    let only = std::env::var_os("ONLY").unwrap_or_default().to_string_lossy().into_owned();
    let mut paths = source::templates(directory);
    paths.retain(|path| path.to_string_lossy().contains(&only));
    let local = LocalSet::new();
    let played = futures::stream::iter(&paths).map(|path| async {
        let end = play(path, &values, &registry).await;
        let name = path.strip_prefix(directory).unwrap().display();
        match end {
            End::Refused(refusal) => {
                format!("{name}: refused: {}: {}", refusal.class, refusal.message)
            }
            End::Failed(reason) => format!("{name}: failed: {reason}"),
            End::Played(Some(parameter)) => format!("{name}: played, {parameter} changed"),
            End::Played(None) => format!("{name}: played, nothing to change"),
        }
    });
    let lines: Vec<String> = local.run_until(played.buffered(AT_ONCE).collect()).await;
    let report = lines.join("\n") + "\n";
    if other.is_some() {
        let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        let [played, refused, failed] = [": played", ": refused", ": failed"].map(count);
        println!("{report}{played} played, {refused} refused, {failed} failed");
        return;
    }
    let expected = directory.join("expected.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&expected, &report).unwrap();
    }
    assert_eq!(report, std::fs::read_to_string(expected).unwrap());
}

async fn play(path: &Path, values: &Values, registry: &Registry) -> End {
    let ground = Ground::of_user("admin").await;
    let world = ground.start().await;
    let needs = world.create("needs", values.needs()).await.unwrap();
    assert_eq!(
        world.settled(&needs).await,
        "CREATE_COMPLETE",
        "{}",
        world.reason(needs.stack).await
    );
    let resources = world.views.resources(needs.stack).await.unwrap().into_iter();
    let needs = resources.map(|it| (it.name.to_string(), it.physical_id.unwrap_or_default()));
    let needs = needs.collect();
    let before = ground.counts();
    let source = match source::read(path) {
        Ok(source) => source,
        Err(refusal) => return End::Refused(refusal),
    };
    let choices = match values.choices(&source, registry, &needs) {
        Ok(choices) => choices,
        Err(refusal) => return End::Refused(refusal),
    };
    let first =
        choices.iter().filter_map(|choice| Some((choice.name.clone(), choice.first.clone()?)));
    let first: JsonMap = first.collect();
    let ask = CreateStack {
        name: "corpus".into(),
        source: StackSource { parameters: first.clone(), ..source.clone() },
        settings: Default::default(),
    };
    let made = match world.engine.create_stack(&world.requester(), ask).await {
        Ok(made) => made,
        Err(refusal) => return End::Refused(refusal),
    };
    if let Err(reason) = attend(&world, &made, "CREATE_COMPLETE").await {
        return End::Failed(reason);
    }
    let mut changed = None;
    for choice in choices.iter().filter(|choice| choice.other.is_some()) {
        let mut parameters = first.clone();
        parameters.extend(choice.other.clone().map(|other| (choice.name.clone(), other)));
        let ask = UpdateStack {
            template: Some(source.template.clone()),
            environment: source.environment.clone(),
            files: source.files.clone(),
            parameters,
            ..UpdateStack::default()
        };
        // A value that does not do is refused, and another parameter is as good.
        let Ok(updated) = world.update_as(made.stack, ask).await else { continue };
        if let Err(reason) = attend(&world, &updated, "UPDATE_COMPLETE").await {
            return End::Failed(format!("with another {}: {reason}", choice.name));
        }
        changed = Some(choice.name.clone());
        break;
    }
    let deleted = world.delete(made.stack).await.unwrap();
    if let Err(reason) = attend(&world, &deleted, "DELETE_COMPLETE").await {
        return End::Failed(reason);
    }
    let after = ground.counts();
    let kinds = before.as_object().unwrap().keys();
    let left: Vec<&str> =
        kinds.filter(|kind| after[*kind] != before[*kind]).map(String::as_str).collect();
    match left.is_empty() {
        true => End::Played(changed),
        false => End::Failed(format!("the number of {} is another", left.join(", "))),
    }
}
