//! Text in columns: how wide it is, cut to fit, and tables that fit the terminal.

/// How many columns a text takes; ideographs and most emoji take two.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(c: char) -> usize {
    let wide = matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0x1f300..=0x1faff);
    if wide { 2 } else { 1 }
}

/// The text in one line of at most so many columns; what is cut off leaves an ellipsis. A control
/// character, which could move the cursor, is a space.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut cut = String::new();
    let mut used = 0;
    let mut chars = text.chars().map(clean).peekable();
    while let Some(c) = chars.next() {
        let is_last = chars.peek().is_none();
        if used + width_of(c) + usize::from(!is_last) > columns {
            // Only the ellipsis fits, or not even that.
            if used < columns {
                cut.push('…');
            }
            break;
        }
        used += width_of(c);
        cut.push(c);
    }
    cut
}

/// Lines without what could move a terminal's cursor.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// The text, cut or filled up to exactly so many columns.
pub(super) fn fill(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns);
    let missing = columns.saturating_sub(width(&text));
    text.push_str(&" ".repeat(missing));
    text
}

/// The text in lines that fit, broken at spaces.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, columns)),
        }
    }
    lines
}

/// Rows under each other, two spaces between the columns. Where they do not fit, the widest columns
/// are cut; without a width nothing is.
pub(super) fn table(rows: &[Vec<String>], columns: Option<usize>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..count).map(widest).collect();
    if let Some(columns) = columns {
        let gaps = 2 * count.saturating_sub(1);
        narrow(&mut widths, columns.saturating_sub(gaps));
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| fill(cell, *width));
        let line = cells.collect::<Vec<_>>().join("  ");
        let line = columns.map_or(line.clone(), |columns| cut(&line, columns));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Takes columns from the widest until all of them fit.
fn narrow(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        // Of two that are equally wide the latter gives way.
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width) else { return };
        if *widest <= 1 {
            return;
        }
        *widest -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_columns_and_not_at_characters() {
        assert_eq!(cut("network", 7), "network");
        assert_eq!(cut("network", 6), "netwo…");
        assert_eq!(cut("網路網路", 8), "網路網路");
        assert_eq!(cut("網路網路", 6), "網路…");
        assert_eq!(cut("a\u{1b}[2Jb\n", 9), "a [2Jb ");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(clean("a\u{1b}[2J\nb"), "a [2J\nb");
        assert_eq!(fill("網", 4), "網  ");
    }

    #[test]
    fn a_table_gives_up_its_widest_column_first() {
        let rows =
            [["a", "a long sentence"], ["bcd", "short"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows, None), "a    a long sentence\nbcd  short\n");
        assert_eq!(table(&rows, Some(12)), "a    a long…\nbcd  short\n");
        assert!(table(&rows, Some(3)).lines().all(|line| width(line) <= 3));
    }
}
