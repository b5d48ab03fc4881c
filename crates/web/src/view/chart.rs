//! Bar charts, rendered on the server.

use askama::{Template, filters::HtmlSafe};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// Bars from the oldest value to the newest, each with a tooltip.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<figure class="chart"><figcaption>{{ title }} <span class="muted">{{ range }}</span></figcaption><svg viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label="{{ title }}, {{ range }}">{% for bar in bars %}<rect x="{{ bar.x }}" y="{{ bar.y }}" width="{{ bar.width }}" height="{{ bar.height }}"><title>{{ bar.tooltip }}</title></rect>{% endfor %}</svg></figure>"#,
    ext = "html"
)]
pub(crate) struct Chart {
    title: &'static str,
    range: String,
    bars: Vec<Bar>,
}

impl HtmlSafe for Chart {}

#[derive(Debug, Clone)]
struct Bar {
    x: String,
    y: String,
    width: String,
    height: String,
    tooltip: String,
}

impl Chart {
    /// `range` describes the range of the values.
    pub(crate) fn new(title: &'static str, range: impl Into<String>, values: Vec<(f64, String)>) -> Self {
        let highest = values.iter().map(|(value, _)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let step = WIDTH / values.len().max(1) as f64;
        let bars = values.into_iter().enumerate().map(|(index, (value, tooltip))| {
            // At least one pixel, so that the tooltip of a zero is reachable.
            let height = (value / highest * HEIGHT).max(1.0);
            Bar {
                x: format!("{:.1}", index as f64 * step),
                y: format!("{:.1}", HEIGHT - height),
                width: format!("{:.1}", (step - 1.0).max(1.0)),
                height: format!("{height:.1}"),
                tooltip,
            }
        });
        Self { title, range: range.into(), bars: bars.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_scaled_to_the_highest() {
        let chart =
            Chart::new("Transactions", "", vec![(1.0, "one".into()), (4.0, "four".into()), (0.0, "none".into())]);
        let heights: Vec<&str> = chart.bars.iter().map(|bar| bar.height.as_str()).collect();
        assert_eq!(heights, ["30.0", "120.0", "1.0"]);
    }

    #[test]
    fn an_empty_chart_is_drawn() {
        assert!(Chart::new("Transactions", "", Vec::new()).render().unwrap().contains("<svg"));
        assert!(Chart::new("Transactions", "", vec![(0.0, String::new())]).render().unwrap().contains("1.0"));
    }
}
