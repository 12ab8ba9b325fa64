//! Measured figures, and the table of them.

use serde_json::{Value, json};

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Printed for its own sake.
    None,
}

/// One thing measured in one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Row of the table of targets, such as `P8`.
    pub(crate) row: &'static str,
    /// What, with its unit.
    pub(crate) what: &'static str,
    pub(crate) value: f64,
    pub(crate) target: Target,
    /// What the link allows, measured in the same run.
    pub(crate) limit: Option<f64>,
}

/// The same figure of several runs on one link and path.
#[derive(Debug)]
struct Line {
    link: String,
    path: String,
    /// What carried it in the last run, such as `direct quic`.
    by: String,
    figure: Figure,
    values: Vec<f64>,
    limits: Vec<f64>,
}

/// All figures so far, in the order in which they first came.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Line>);

impl Table {
    pub(crate) fn add(&mut self, link: &str, path: &str, by: &str, figure: Figure) {
        let same = |line: &&mut Line| {
            line.link == link
                && line.path == path
                && line.figure.row == figure.row
                && line.figure.what == figure.what
        };
        let (value, limit) = (figure.value, figure.limit);
        let line = if let Some(line) = self.0.iter_mut().find(same) {
            by.clone_into(&mut line.by);
            line
        } else {
            let (link, path, by) = (link.to_owned(), path.to_owned(), by.to_owned());
            self.0.push(Line { link, path, by, figure, values: Vec::new(), limits: Vec::new() });
            let Some(line) = self.0.last_mut() else { return };
            line
        };
        line.values.push(value);
        line.limits.extend(limit);
    }

    /// As text: the medians.
    pub(crate) fn text(&self) -> String {
        let row = |cells: [&str; 7]| {
            let [row, what, link, by, target, limit, value] = cells;
            format!(
                "| {row:<3} | {what:<42} | {link:<19} | {by:<12} | {target:>8} | {limit:>6} | {value:>8} |\n"
            )
        };
        let mut text = row(["row", "what", "link", "by", "target", "limit", "median"]);
        text += &row(["---"; 7]);
        for line in &self.0 {
            let target = match line.figure.target {
                Target::AtLeast(value) => format!(">= {}", number(value)),
                Target::AtMost(value) => format!("<= {}", number(value)),
                Target::None => "-".into(),
            };
            let limit = median(&line.limits).map_or_else(|| "-".into(), number);
            let value = median(&line.values).map_or_else(|| "-".into(), number);
            let value = if line.met() { value } else { format!("{value} !") };
            text += &row([line.figure.row, line.figure.what, &line.link, &line.by, &target, &limit, &value]);
        }
        text
    }

    /// As JSON: every value.
    pub(crate) fn json(&self) -> Value {
        let line = |line: &Line| {
            let target = match line.figure.target {
                Target::AtLeast(value) => json!({"at_least": value}),
                Target::AtMost(value) => json!({"at_most": value}),
                Target::None => Value::Null,
            };
            json!({
                "row": line.figure.row,
                "what": line.figure.what,
                "link": line.link,
                "path": line.path,
                "by": line.by,
                "target": target,
                "limit": median(&line.limits),
                "median": median(&line.values),
                "values": line.values,
                "met": line.met(),
            })
        };
        self.0.iter().map(line).collect()
    }
}

impl Line {
    fn met(&self) -> bool {
        median(&self.values).is_none_or(|value| match self.figure.target {
            Target::AtLeast(target) => value >= target,
            Target::AtMost(target) => value <= target,
            Target::None => true,
        })
    }
}

fn number(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

/// The middle value, or the mean of the two.
fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}

/// The value that `share` of all do not exceed, by nearest rank.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * share).ceil() as usize;
    values[rank.clamp(1, values.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!((percentile(&values, 0.5), percentile(&values, 0.95)), (10.0, 19.0));
        assert_eq!((percentile(&values, 1.0), percentile(&values, 0.0)), (20.0, 1.0));
    }

    #[test]
    fn a_figure_of_several_runs_is_one_line() {
        let mut table = Table::default();
        for value in [70.0, 60.0, 65.0] {
            let figure =
                Figure { row: "P1", what: "pull", value, target: Target::AtLeast(66.0), limit: Some(72.0) };
            table.add("200 ms", "direct", "direct quic", figure);
        }
        let json = table.json();
        assert_eq!(json[0]["median"], 65.0);
        assert_eq!(json[0]["met"], false);
        assert_eq!(json[0]["values"].as_array().unwrap().len(), 3);
        assert_eq!(table.text().lines().count(), 3);
        assert!(table.text().contains("65.0 !"));
    }
}
