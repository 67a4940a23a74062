//! What people would rather look at than read: panels with logarithmic axes, in light and dark.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::measure::Unit;

const PANEL_WIDTH: f64 = 300.0;
const PANEL_HEIGHT: f64 = 200.0;
const LEGEND_HEIGHT: f64 = 30.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 46.0;
/// Panels that stand beside each other.
const COLUMNS_MAX: usize = 3;
/// One for each server, told apart also by people who see few colours.
const COLORS: [&str; 4] = ["#2a7fc9", "#d9541e", "#7a9a01", "#9467bd"];
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#444}.grid{stroke:#888;stroke-opacity:.3}\
.title{font-weight:600}@media(prefers-color-scheme:dark){text{fill:#ccc}}";

/// A picture of several panels.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Drawing {
    /// What one of something costs, the more there are.
    Growth,
    /// How long the slowest wait.
    Latency,
}

/// One point of a drawing.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Where it belongs.
    pub(crate) drawing: Drawing,
    /// What stands above its panel.
    pub(crate) panel: String,
    /// Its place on the lower axis.
    pub(crate) across: Across,
    /// Its height.
    pub(crate) seconds: f64,
}

/// A place on the lower axis.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Across {
    /// As many objects were there.
    Objects(u64),
    /// As many watches were open.
    Watches(u64),
    /// This part of all, 0 to 1, waited no longer.
    Part(f64),
}

/// The points of one server.
pub(crate) struct Series<'points> {
    /// Who.
    pub(crate) name: &'points str,
    /// Of all panels.
    pub(crate) points: Vec<&'points Point>,
}

impl Drawing {
    /// All, in the order of the document.
    pub(crate) const ALL: [Self; 2] = [Self::Latency, Self::Growth];

    /// What it is called.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Growth => "How cost grows",
            Self::Latency => "How long the slowest wait",
        }
    }

    /// The file that it is kept in, beside the document.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Growth => "benchmarks-growth.svg",
            Self::Latency => "benchmarks-latency.svg",
        }
    }
}

impl Across {
    /// Grows with what is counted; of a part, with how few are left.
    fn position(self) -> f64 {
        match self {
            Self::Objects(count) | Self::Watches(count) => count as f64,
            Self::Part(part) => 1.0 / (1.0 - part),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Objects(_) => "objects there",
            Self::Watches(_) => "watches",
            Self::Part(_) => "of all waited no longer",
        }
    }

    /// What stands at this position of such an axis.
    fn mark(self, position: f64) -> String {
        match self {
            Self::Objects(_) | Self::Watches(_) => Unit::Count.text(position),
            Self::Part(_) if position < 1.5 => "0 %".to_owned(),
            Self::Part(_) => {
                let decimals = (position.log10().round() as usize).saturating_sub(2);
                format!("{:.decimals$} %", 100.0 - 100.0 / position)
            }
        }
    }

    /// The place itself, for a table.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Objects(_) | Self::Watches(_) => {
                format!("{} {}", self.mark(self.position()), self.label())
            }
            Self::Part(_) => self.mark(self.position()),
        }
    }
}

/// The drawing, or nothing when there is nothing to draw.
pub(crate) fn svg(title: &str, series: &[Series<'_>]) -> Option<String> {
    let panels = panels(series);
    if panels.is_empty() {
        return None;
    }
    let columns = match panels.len() {
        few if few <= COLUMNS_MAX => few,
        many => many.div_ceil(many.div_ceil(COLUMNS_MAX)),
    };
    let width = PANEL_WIDTH * columns as f64;
    let height = LEGEND_HEIGHT + PANEL_HEIGHT * panels.len().div_ceil(columns) as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>{STYLE}</style>\n"
    );
    legend(&mut text, series);
    for (index, panel) in panels.into_iter().enumerate() {
        let x = PANEL_WIDTH * (index % columns) as f64;
        let y = LEGEND_HEIGHT + PANEL_HEIGHT * (index / columns) as f64;
        let _ = writeln!(text, "<g transform=\"translate({x},{y})\">");
        draw(&mut text, panel, series);
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    Some(text)
}

/// The panels that any server has points of, in their order.
pub(crate) fn panels<'points>(series: &[Series<'points>]) -> Vec<&'points str> {
    let mut panels: Vec<&str> = Vec::new();
    for point in series.iter().flat_map(|it| &it.points) {
        if !panels.contains(&&*point.panel) {
            panels.push(&point.panel);
        }
    }
    panels
}

fn legend(text: &mut String, series: &[Series<'_>]) {
    for (index, one) in series.iter().enumerate() {
        let x = LEFT + 180.0 * index as f64;
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"9\" width=\"12\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"20\">{}</text>",
            COLORS[index % COLORS.len()],
            x + 18.0,
            one.name
        );
    }
}

/// Powers of ten that an axis reaches from and to.
#[derive(Clone, Copy)]
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    fn around(values: impl Iterator<Item = f64> + Clone) -> Self {
        let powers = values.filter(|value| *value > 0.0).map(f64::log10);
        let low = powers.clone().fold(f64::INFINITY, f64::min);
        let high = powers.fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return Self { low: 0, high: 1 };
        }
        // A hair, so that what is a power of ten but for rounding needs no other.
        let low = (low + 1e-9).floor() as i32;
        Self {
            low,
            high: ((high - 1e-9).ceil() as i32).max(low + 1),
        }
    }

    /// From 0 at the low end to 1 at the high one.
    fn part(self, value: f64) -> f64 {
        let span = f64::from(self.high - self.low);
        (value.log10() - f64::from(self.low)) / span
    }

    fn marks(self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10_f64.powi(power))
    }
}

/// Where things lie on a panel.
#[derive(Clone, Copy)]
struct Frame {
    across: Axis,
    up: Axis,
}

impl Frame {
    fn x(self, position: f64) -> f64 {
        LEFT + self.across.part(position) * (PANEL_WIDTH - LEFT - RIGHT)
    }

    fn y(self, seconds: f64) -> f64 {
        PANEL_HEIGHT - BOTTOM - self.up.part(seconds) * (PANEL_HEIGHT - TOP - BOTTOM)
    }
}

fn draw(text: &mut String, panel: &str, series: &[Series<'_>]) {
    let points = series.iter().flat_map(|it| &it.points);
    let points = points.filter(|point| point.panel == panel);
    let Some(first) = points.clone().next() else {
        return;
    };
    let frame = Frame {
        across: Axis::around(points.clone().map(|point| point.across.position())),
        up: Axis::around(points.map(|point| point.seconds)),
    };
    let _ = writeln!(
        text,
        "<text class=\"title\" x=\"{LEFT}\" y=\"16\">{panel}</text>"
    );
    axes(text, frame, first.across);
    for (index, one) in series.iter().enumerate() {
        let points = one.points.iter();
        let points = points.filter(|it| it.panel == panel && it.seconds > 0.0);
        let places = points.map(|it| (frame.x(it.across.position()), frame.y(it.seconds)));
        let places: Vec<(f64, f64)> = places.collect();
        line(text, &places, COLORS[index % COLORS.len()]);
    }
}

fn axes(text: &mut String, frame: Frame, across: Across) {
    let right = PANEL_WIDTH - RIGHT;
    let _ = writeln!(
        text,
        "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        PANEL_HEIGHT - 10.0,
        across.label()
    );
    for mark in frame.up.marks() {
        let y = frame.y(mark);
        let _ = writeln!(
            text,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            power_text(mark)
        );
    }
    for mark in frame.across.marks() {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            frame.x(mark),
            PANEL_HEIGHT - BOTTOM + 17.0,
            across.mark(mark)
        );
    }
}

fn line(text: &mut String, places: &[(f64, f64)], color: &str) {
    let path = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    let path = path.collect::<Vec<String>>().join(" ");
    let _ = writeln!(
        text,
        "<polyline points=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>"
    );
    for (x, y) in places {
        let _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{color}\"/>"
        );
    }
}

/// A power of ten of a second, short.
fn power_text(seconds: f64) -> String {
    match seconds {
        long if long >= 0.999 => format!("{seconds:.0} s"),
        medium if medium >= 0.000_999 => format!("{:.0} ms", seconds * 1e3),
        short if short >= 0.000_000_999 => format!("{:.0} µs", seconds * 1e6),
        _ => format!("{:.0} ns", seconds * 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(seconds: f64) -> Vec<Point> {
        let point = |size: u64| Point {
            drawing: Drawing::Growth,
            panel: "CPU per list".to_owned(),
            across: Across::Objects(size),
            seconds: seconds * size as f64,
        };
        vec![point(1_000), point(10_000)]
    }

    #[test]
    fn every_server_is_a_line_with_its_points() {
        let (ours, theirs) = (points(1e-8), points(1e-7));
        let series = [("ours", &ours), ("theirs", &theirs)].map(|(name, points)| Series {
            name,
            points: points.iter().collect(),
        });
        let drawing = svg("growth", &series).unwrap();
        assert_eq!(drawing.matches("<circle").count(), 4);
        assert!(drawing.contains(">ours</text>") && drawing.contains(">10 µs</text>"));
        assert!(drawing.contains(">10,000</text>") && drawing.ends_with("</svg>\n"));
    }

    #[test]
    fn without_points_there_is_no_drawing() {
        assert_eq!(svg("nothing", &[]), None);
    }

    #[test]
    fn an_axis_reaches_over_whole_powers_of_ten() {
        let axis = Axis::around([0.002, 0.3].into_iter());
        assert_eq!((axis.low, axis.high), (-3, 0));
        assert!((axis.part(1.0) - 1.0).abs() < 1e-9);
        let axis = Axis::around([100.0].into_iter());
        assert_eq!((axis.low, axis.high), (2, 3));
    }

    #[test]
    fn parts_of_all_are_told_in_percent() {
        let marks = [1.0, 10.0, 100.0, 1_000.0].map(|mark| Across::Part(0.5).mark(mark));
        assert_eq!(marks, ["0 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(Across::Watches(1_000).text(), "1,000 watches");
    }
}
