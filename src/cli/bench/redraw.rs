//! What `up` and `watch` cost while a large stack is at work: the pictures that they draw.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::figure::Figure;
use super::{BenchError, Scale};
use crate::cli::live::{DRAW_EVERY, Focus, State, View, picture};

/// A terminal of common size.
const VIEW: View = View { columns: 120, lines: Some(40), top: None };

/// The share of a core that goes into drawing 1,000 resources as often as they ever are.
pub(super) fn run(scale: Scale) -> Result<Vec<Figure>, BenchError> {
    let (resources, pictures) = match scale {
        Scale::Quick => (100, 10),
        Scale::Full => (1_000, 200),
    };
    let began = DateTime::UNIX_EPOCH;
    let mut state = State::default();
    let stack = json!({ "id": uuid::Uuid::nil(), "stack_name": "large",
                        "stack_status": "CREATE_IN_PROGRESS", "creation_time": began });
    let unread = || BenchError::Unexpected("the stack could not be read".into());
    let id = state.take_stack(&stack).ok_or_else(unread)?;
    state.take_resources(&(0..resources).map(|index| row(index, began)).collect());

    let (focus, mut written, timer) = (Focus::One(id), 0, Instant::now());
    for number in 1..=pictures {
        let drawn = picture(&state, focus, VIEW, began + TimeDelta::milliseconds(number * 100));
        written += drawn.lines.iter().map(|line| line.painted().len()).sum::<usize>();
    }
    let each = timer.elapsed().as_secs_f64() / pictures as f64;
    if written == 0 || state.stacks[&id].counts().working != resources {
        return Err(BenchError::Unexpected("nothing was drawn".into()));
    }
    let share = 100.0 * each / DRAW_EVERY.as_secs_f64();
    Ok(vec![Figure::share(format!("redraw {resources} resources at work"), share, 5.0)])
}

fn row(index: usize, began: DateTime<Utc>) -> Value {
    let href = format!("http://hearth/v1/project/stacks/large/{}", uuid::Uuid::nil());
    json!({ "resource_name": format!("r{index}"), "resource_type": "OS::Heat::TestResource",
            "resource_status": "CREATE_IN_PROGRESS", "updated_time": began,
            "links": [{ "rel": "stack", "href": href }] })
}
