//! How cost grows, drawn: three panels with logarithmic axes, readable in light and in dark.

use std::fmt::Write;

use super::{
    growth::{Panel, Point},
    measure::Unit,
};

const PANEL_WIDTH: f64 = 300.0;
const PANEL_HEIGHT: f64 = 230.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 46.0;
/// One for each server, told apart also by people who see few colours.
const COLORS: [&str; 4] = ["#1f77b4", "#d9541e", "#7a9a01", "#9467bd"];
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#444}.grid{stroke:#888;stroke-opacity:.3}\
.title{font-weight:600}@media(prefers-color-scheme:dark){text{fill:#ccc}}";

/// The points of one server.
pub(crate) struct Series {
    /// Who.
    pub(crate) name: String,
    /// Of all panels.
    pub(crate) points: Vec<Point>,
}

/// The drawing, or nothing when there is nothing to draw.
pub(crate) fn svg(series: &[Series]) -> Option<String> {
    if series.iter().all(|it| it.points.is_empty()) {
        return None;
    }
    let width = PANEL_WIDTH * Panel::ALL.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {PANEL_HEIGHT}\" \
         role=\"img\" aria-label=\"How cost grows\">\n<style>{STYLE}</style>\n"
    );
    legend(&mut text, series);
    for (index, panel) in Panel::ALL.into_iter().enumerate() {
        let _ = writeln!(
            text,
            "<g transform=\"translate({},0)\">",
            PANEL_WIDTH * index as f64
        );
        draw(&mut text, panel, series);
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    Some(text)
}

fn legend(text: &mut String, series: &[Series]) {
    for (index, one) in series.iter().enumerate() {
        let x = LEFT + 220.0 * index as f64;
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
        let low = low.floor() as i32;
        Self {
            low,
            high: (high.ceil() as i32).max(low + 1),
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

fn draw(text: &mut String, panel: Panel, series: &[Series]) {
    let points = series.iter().flat_map(|it| &it.points);
    let points = points.filter(|point| point.panel == panel);
    let across = Axis::around(points.clone().map(|point| point.size as f64));
    let up = Axis::around(points.map(|point| point.seconds));
    let x = |size: f64| LEFT + across.part(size) * (PANEL_WIDTH - LEFT - RIGHT);
    let y = |seconds: f64| PANEL_HEIGHT - BOTTOM - up.part(seconds) * (PANEL_HEIGHT - TOP - BOTTOM);
    let _ = writeln!(
        text,
        "<text class=\"title\" x=\"{LEFT}\" y=\"46\">{}</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        panel.title(),
        PANEL_WIDTH - RIGHT,
        PANEL_HEIGHT - 8.0,
        panel.sizes()
    );
    for mark in up.marks() {
        let _ = writeln!(
            text,
            "<path class=\"grid\" d=\"M{LEFT} {0:.1}H{1}\"/>\
             <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
            y(mark),
            PANEL_WIDTH - RIGHT,
            LEFT - 6.0,
            y(mark) + 4.0,
            power_text(mark)
        );
    }
    for mark in across.marks() {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(mark),
            PANEL_HEIGHT - BOTTOM + 17.0,
            Unit::Count.text(mark)
        );
    }
    for (index, one) in series.iter().enumerate() {
        let points = one
            .points
            .iter()
            .filter(|it| it.panel == panel && it.seconds > 0.0);
        let places: Vec<(f64, f64)> = points
            .map(|it| (x(it.size as f64), y(it.seconds)))
            .collect();
        line(text, &places, COLORS[index % COLORS.len()]);
    }
}

fn line(text: &mut String, places: &[(f64, f64)], color: &str) {
    let path: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let path = path.join(" ");
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

    fn series(name: &str, seconds: f64) -> Series {
        let points = [1_000, 10_000].map(|size| Point {
            panel: Panel::Create,
            size,
            seconds: seconds * size as f64,
        });
        Series {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    #[test]
    fn every_server_is_a_line_with_its_points() {
        let drawing = svg(&[series("ours", 1e-8), series("theirs", 1e-7)]).unwrap();
        assert_eq!(drawing.matches("<circle").count(), 4);
        assert!(drawing.contains(">ours</text>") && drawing.contains(">10 µs</text>"));
        assert!(drawing.ends_with("</svg>\n"));
    }

    #[test]
    fn without_points_there_is_no_drawing() {
        assert_eq!(svg(&[]), None);
    }

    #[test]
    fn an_axis_reaches_over_whole_powers_of_ten() {
        let axis = Axis::around([0.002, 0.3].into_iter());
        assert_eq!((axis.low, axis.high), (-3, 0));
        assert!((axis.part(1.0) - 1.0).abs() < 1e-9);
        let axis = Axis::around([100.0].into_iter());
        assert_eq!((axis.low, axis.high), (2, 3));
    }
}
