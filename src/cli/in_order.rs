//! Lines answered by several threads, in the order in which they came.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How many lines may wait for one thread.
const LINES_AHEAD: usize = 16;

/// Deeply nested templates are walked on the stack of a thread.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Writes the answer of each line that is not blank. Answers are written as soon as those before
/// them are.
pub(super) fn answer_lines(
    input: impl BufRead + Send,
    mut output: impl Write,
    answer: impl Fn(&str) -> String + Sync,
) -> io::Result<()> {
    let count = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let mut lines = Vec::with_capacity(count);
        let mut answers = Vec::with_capacity(count);
        for _ in 0..count {
            let (to_thread, taken) = sync_channel(LINES_AHEAD);
            let (given, from_thread) = sync_channel(LINES_AHEAD);
            let answer = &answer;
            thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || work(&taken, &given, answer))?;
            lines.push(to_thread);
            answers.push(from_thread);
        }
        let reader = scope.spawn(move || deal(input, &lines));
        // Lines were dealt in turn, so their answers come in turn.
        for from_thread in answers.iter().cycle() {
            let Ok(answer) = from_thread.recv() else { break };
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        drop(answers);
        reader.join().unwrap_or_else(|_| Err(io::Error::other("the reading thread ended early")))
    })
}

/// Hands out lines in turn, until they end or nobody takes them.
fn deal(input: impl BufRead, threads: &[SyncSender<String>]) -> io::Result<()> {
    let mut turn = threads.iter().cycle();
    for line in input.lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let is_taken = turn.next().is_some_and(|thread| thread.send(line).is_ok());
        if !is_taken {
            break;
        }
    }
    Ok(())
}

fn work(lines: &Receiver<String>, answers: &SyncSender<String>, answer: impl Fn(&str) -> String) {
    for line in lines {
        if answers.send(answer(&line)).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_lines() {
        let input: String = (0..500).map(|number| format!("{number}\n\n")).collect();
        let mut output = Vec::new();
        answer_lines(input.as_bytes(), &mut output, |line| {
            if line.ends_with('7') {
                thread::yield_now();
            }
            format!("<{line}>")
        })
        .unwrap();
        let expected: String = (0..500).map(|number| format!("<{number}>\n")).collect();
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }
}
