//! Bar charts, rendered on the server.

use askama::{Template, filters::HtmlSafe};
use domain::Block;

use super::grouped;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// Bars of few values are no wider, so that they stay bars.
const MAX_BAR_WIDTH: f64 = 48.0;

/// Bars from the oldest value to the newest, each with its value for the pointer and the keyboard.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<figure class="chart"><figcaption>{{ title }} <span class="muted">{{ range }}</span>{% if axes.is_some() %} <span class="muted value" aria-hidden="true"></span>{% endif %}</figcaption>{% if let Some(axes) = axes %}<div class="plot"><span class="muted num top">{{ axes.highest }}</span><span class="muted num bottom">0</span>{% endif %}<svg viewBox="0 0 600 120" preserveAspectRatio="none" role="{% if axes.is_some() %}group{% else %}img{% endif %}" aria-label="{{ title }}, {{ range }}">{% for bar in bars %}<rect x="{{ bar.x }}" y="{{ bar.y }}" width="{{ bar.width }}" height="{{ bar.height }}"{% if axes.is_some() %} tabindex="{% if loop.last %}0{% else %}-1{% endif %}" role="img" aria-label="{{ bar.tooltip }}"{% endif %}><title>{{ bar.tooltip }}</title></rect>{% endfor %}</svg>{% if let Some(axes) = axes %}<span class="muted left">{{ axes.first }}</span><span class="muted right">{{ axes.last }}</span></div>{% endif %}</figure>"#,
    ext = "html"
)]
pub(crate) struct Chart {
    title: &'static str,
    range: String,
    bars: Vec<Bar>,
    axes: Option<Axes>,
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

/// What the ends of the axes stand for.
#[derive(Debug, Clone)]
pub(crate) struct Axes {
    pub(crate) highest: String,
    pub(crate) first: String,
    pub(crate) last: String,
}

impl Axes {
    /// Of bars for these blocks, which are the newest first.
    pub(crate) fn of_blocks(blocks: &[Block], highest: String) -> Self {
        let end = |block: Option<&Block>| block.map(|block| grouped(block.number)).unwrap_or_default();
        Self { highest, first: end(blocks.last()), last: end(blocks.first()) }
    }
}

impl Chart {
    /// `range` describes the range of the values.
    pub(crate) fn new(title: &'static str, range: impl Into<String>, values: Vec<(f64, String)>) -> Self {
        let highest = values.iter().map(|(value, _)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let step = WIDTH / values.len().max(1) as f64;
        let width = (step - 1.0).clamp(1.0, MAX_BAR_WIDTH);
        // In the middle of its step where it is narrower, with the gap of one pixel after it.
        let margin = ((step - 1.0 - width) / 2.0).max(0.0);
        let bars = values.into_iter().enumerate().map(|(index, (value, tooltip))| {
            // At least one pixel, so that the tooltip of a zero is reachable.
            let height = (value / highest * HEIGHT).max(1.0);
            Bar {
                x: format!("{:.1}", index as f64 * step + margin),
                y: format!("{:.1}", HEIGHT - height),
                width: format!("{width:.1}"),
                height: format!("{height:.1}"),
                tooltip,
            }
        });
        Self { title, range: range.into(), bars: bars.collect(), axes: None }
    }

    /// With bars beside each other, as the steps of one line.
    pub(crate) fn without_gaps(mut self) -> Self {
        let step = WIDTH / self.bars.len().max(1) as f64;
        for (index, bar) in self.bars.iter_mut().enumerate() {
            (bar.x, bar.width) = (format!("{:.1}", index as f64 * step), format!("{step:.1}"));
        }
        self
    }

    /// With axes, and bars that the keyboard reaches.
    pub(crate) fn with_axes(self, axes: Axes) -> Self {
        Self { axes: Some(axes), ..self }
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
    fn few_bars_are_narrow_and_in_the_middle_of_their_steps() {
        let two = || Chart::new("Transactions", "", vec![(1.0, "one".into()), (4.0, "four".into())]);
        let place = |bar: &Bar| (bar.x.clone(), bar.width.clone());
        let text = |x: &str, width: &str| (x.to_owned(), width.to_owned());
        assert_eq!(two().bars.iter().map(place).collect::<Vec<_>>(), [text("125.5", "48.0"), text("425.5", "48.0")]);
        let steps = two().without_gaps();
        assert_eq!(steps.bars.iter().map(place).collect::<Vec<_>>(), [text("0.0", "300.0"), text("300.0", "300.0")]);
    }

    #[test]
    fn an_empty_chart_is_drawn() {
        assert!(Chart::new("Transactions", "", Vec::new()).render().unwrap().contains("<svg"));
        assert!(Chart::new("Transactions", "", vec![(0.0, String::new())]).render().unwrap().contains("1.0"));
    }
}
