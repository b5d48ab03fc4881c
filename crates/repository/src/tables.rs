//! Tables in Markdown.

/// The cells of all rows of tables, without heads. `\|` is part of a cell.
pub fn rows(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    let lines: Vec<&str> = text.lines().collect();
    let is_row = |line: &str| line.starts_with('|');
    let is_rule = |line: &str| is_row(line) && line.chars().all(|letter| "|-: ".contains(letter));
    let rows: Vec<_> = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| is_row(line) && !is_rule(line) && !lines.get(at + 1).is_some_and(|next| is_rule(next)))
        .map(|(_, line)| cells(line))
        .collect();
    rows.into_iter()
}

fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "\u{0}");
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}
