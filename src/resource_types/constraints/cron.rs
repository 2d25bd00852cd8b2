//! Whether a text is a CRON expression, as the library croniter takes it.

/// The columns: their bounds, and the names that stand for numbers.
const COLUMNS: [(u32, u32, &[&str]); 7] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 7, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    (0, 59, &[]),
    (1970, 2099, &[]),
];
const DAY_OF_MONTH: usize = 2;
const DAY_OF_WEEK: usize = 4;

const ALIASES: [&str; 7] =
    ["@midnight", "@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"];

/// The error is croniter's text.
pub(super) fn check(expression: &str) -> Result<(), String> {
    if ALIASES.contains(&expression.to_lowercase().as_str()) {
        return Ok(());
    }
    let columns: Vec<&str> = expression.split_whitespace().collect();
    if !(5..=7).contains(&columns.len()) {
        return Err(
            "Exactly 5, 6 or 7 columns has to be specified for iterator expression.".to_owned()
        );
    }
    for (index, column) in columns.iter().enumerate() {
        for entry in column.to_lowercase().split(',') {
            check_entry(entry, index, expression)?;
        }
    }
    Ok(())
}

fn check_entry(entry: &str, column: usize, expression: &str) -> Result<(), String> {
    let refused = || format!("[{expression}] is not acceptable");
    let is_day = matches!(column, DAY_OF_MONTH | DAY_OF_WEEK);
    if entry == "?" {
        return match is_day {
            true => Ok(()),
            false => Err(format!(
                "{}. Question mark can only used in day_of_month or day_of_week",
                refused()
            )),
        };
    }
    let entry = match (column, entry.split_once('#'), entry.strip_prefix('l')) {
        (DAY_OF_MONTH, _, Some("")) => return Ok(()),
        (DAY_OF_WEEK, _, Some(day)) => day,
        (DAY_OF_WEEK, Some((day, nth)), _) => match nth.parse::<u32>() {
            Ok(1..=5) => day,
            _ => return Err(refused()),
        },
        _ => entry,
    };
    let (range, step) = match entry.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (entry, None),
    };
    match step.map(str::parse::<u32>) {
        Some(Err(_)) => return Err(refused()),
        Some(Ok(0)) => {
            return Err(format!("[{expression}] step '0' in field {column} is not acceptable"));
        }
        Some(Ok(_)) | None => {}
    }
    if range == "*" {
        return Ok(());
    }
    let (low, high, names) = COLUMNS[column];
    let number = |text: &str| {
        let named = names.iter().position(|name| *name == text).and_then(|at| at.try_into().ok());
        named.map(|at: u32| at + low.min(1)).or_else(|| text.parse().ok()).ok_or_else(refused)
    };
    let is_within = |number: u32| (low..=high).contains(&number);
    match range.split_once('-') {
        None if is_within(number(range)?) => Ok(()),
        None => Err(format!("{}, out of range", refused())),
        Some((first, last)) if is_within(number(first)?) && is_within(number(last)?) => Ok(()),
        Some(_) => Err(format!("{expression} is out of bands")),
    }
}
