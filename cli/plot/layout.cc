#include "cli/plot/layout.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/plot/ticks.h"

namespace fleetperf::cli {
namespace {

// Per panel; a longer legend is not useful.
constexpr size_t kMaxLegendEntries = 12;
// A lower panel is not readable.
constexpr double kMinPanelLines = 4;
// The minimum distances of labels, in characters and in lines.
constexpr double kTimeTickDistance = 14;
constexpr double kValueTickDistance = 2;

using Lines = std::vector<const ChartLine*>;

// Groups the chart's lines by unit, in the order in which units appear.
std::vector<Lines> ByUnit(const Chart& chart) {
  std::vector<Lines> groups;
  for (const ChartLine& line : chart.lines) {
    const auto same = [&](const Lines& group) {
      return group.front()->unit == line.unit;
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), Lines());
    group->push_back(&line);
  }
  return groups;
}

// Returns the time range of all panels.
TimeRange RangeOf(const Chart& chart) {
  TimeRange range = chart.range;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      range.Include({point.time, point.time});
    }
  }
  if (range.begin == range.end) {  // one point, in the middle
    range.begin -= absl::Seconds(1);
    range.end += absl::Seconds(1);
  }
  return range;
}

std::string CutToFit(const std::string& text, double width,
                     const Canvas& canvas) {
  const double characters = std::max(1.0, width / canvas.character);
  return CutEnd(text, static_cast<size_t>(characters));
}

// Lays out one panel.
class PanelMaker {
 public:
  PanelMaker(const Lines& lines, const TimeRange& times, const Canvas& canvas,
             double top, double height)
      : lines_(lines), times_(times), canvas_(canvas), top_(top) {
    // The axis, the time labels and the legend.
    const double below = canvas_.axis + canvas_.line + LayOutLegend();
    panel_.top = top + canvas_.line;
    panel_.bottom = std::max(panel_.top + kMinPanelLines * canvas_.line,
                             top + height - below - canvas_.margin);
    panel_.end = panel_.bottom + below + canvas_.margin;
    ChooseValueAxis();
    panel_.right = canvas_.width - canvas_.margin;
  }

  double end() const { return panel_.end; }

  // Returns the width of the value labels.
  double LabelWidth() const {
    size_t widest = 0;
    for (const double tick : axis_.Ticks()) {
      widest = std::max(widest, DisplayWidth(axis_.Label(tick)));
    }
    return canvas_.character * static_cast<double>(widest);
  }

  // `label_width` is the widest label of all panels.
  Panel Make(double label_width) {
    panel_.left = canvas_.margin + label_width + canvas_.character;
    AddValueTicks();
    AddTimeAxis();
    AddHeading();
    for (size_t i = 0; i < lines_.size(); ++i) AddCurve(i);
    PlaceLegend();
    return std::move(panel_);
  }

 private:
  void ChooseValueAxis() {
    double smallest = 0, largest = 0;
    for (const ChartLine* line : lines_) {
      for (const ChartPoint& point : line->points) {
        smallest = std::min(smallest, point.value.value_or(0));
        largest = std::max(largest, point.value.value_or(0));
      }
    }
    scale_ = ScaleFor(std::max(-smallest, largest), lines_.front()->unit);
    const double steps =
        (panel_.bottom - panel_.top) / (canvas_.line * kValueTickDistance);
    axis_ = MakeValueAxis(smallest / scale_.divisor, largest / scale_.divisor,
                          std::max(2, static_cast<int>(steps)));
  }

  void AddValueTicks() {
    for (const double tick : axis_.Ticks()) {
      const double y = YOf(tick);
      panel_.value_ticks.push_back(y);
      panel_.texts.push_back({.at = {panel_.left - canvas_.character, y},
                              .align = Align::kRight,
                              .text = axis_.Label(tick)});
    }
  }

  void AddTimeAxis() {
    const double ticks =
        (panel_.right - panel_.left) / (canvas_.character * kTimeTickDistance);
    const absl::Duration step =
        RoundDuration(times_.length() / std::max(1.0, ticks));
    for (const absl::Time tick : TimeTicks(times_.begin, times_.end, step)) {
      const std::string label = TimeLabel(tick, step);
      const double x = XOf(tick);
      panel_.time_ticks.push_back(x);
      // Keeps the label inside the canvas, even at the right edge.
      const double half =
          canvas_.character * static_cast<double>(label.size()) / 2;
      panel_.texts.push_back(
          {.at = {std::min(x, canvas_.width - half),
                  panel_.bottom + canvas_.axis + canvas_.line / 2},
           .align = Align::kCenter,
           .text = label});
    }
  }

  // The heading: the counter, if all lines have the same, and the unit.
  void AddHeading() {
    const std::string& counter = lines_.front()->counter;
    const bool same = std::all_of(
        lines_.begin(), lines_.end(),
        [&](const ChartLine* line) { return line->counter == counter; });
    std::string heading = same ? counter : "";
    if (!scale_.unit.empty()) {
      absl::StrAppend(&heading, heading.empty() ? "in " : ", in ", scale_.unit);
    }
    panel_.texts.push_back(
        {.at = {panel_.left, top_ + canvas_.line / 2},
         .align = Align::kLeft,
         .text = CutToFit(heading, panel_.right - panel_.left, canvas_)});
  }

  void AddCurve(size_t number) {
    Curve curve{.number = number};
    bool in_piece = false;
    for (const ChartPoint& point : lines_[number]->points) {
      if (point.value.has_value()) {
        if (!in_piece) curve.pieces.emplace_back();
        curve.pieces.back().push_back(
            {XOf(point.time), YOf(*point.value / scale_.divisor)});
      }
      in_piece = point.value.has_value();
    }
    panel_.curves.push_back(std::move(curve));
  }

  // Places entries side by side as long as they fit, with y starting at 0.
  // Returns their height.
  double LayOutLegend() {
    const double width = canvas_.width - 2 * canvas_.margin;
    double x = 0;
    double y = canvas_.line / 2;
    const auto place = [&](double wanted) {
      if (x > 0 && x + wanted > width) {
        x = 0;
        y += canvas_.line;
      }
      const Position at = {canvas_.margin + x, y};
      x += wanted + 2 * canvas_.character;
      return at;
    };
    const double mark = canvas_.character * (kLegendMark + 1);
    const auto width_of = [&](const std::string& text) {
      return canvas_.character * static_cast<double>(DisplayWidth(text));
    };
    const size_t shown = std::min(lines_.size(), kMaxLegendEntries);
    for (size_t i = 0; i < shown; ++i) {
      const std::string label =
          CutToFit(lines_[i]->label, width - mark, canvas_);
      const Position at = place(mark + width_of(label));
      panel_.legend.push_back({.left = at, .curve = i});
      legend_texts_.push_back({{at.x + mark, at.y}, Align::kLeft, label});
    }
    if (shown < lines_.size()) {
      const std::string rest =
          absl::StrCat("and ", lines_.size() - shown, " more");
      legend_texts_.push_back({place(width_of(rest)), Align::kLeft, rest});
    }
    return y + canvas_.line / 2;
  }

  void PlaceLegend() {
    const double top = panel_.bottom + canvas_.axis + canvas_.line;
    for (LegendMark& mark : panel_.legend) mark.left.y += top;
    for (Text& text : legend_texts_) {
      text.at.y += top;
      panel_.texts.push_back(std::move(text));
    }
  }

  double XOf(absl::Time time) const {
    return panel_.left +
           (panel_.right - panel_.left) *
               absl::FDivDuration(time - times_.begin, times_.length());
  }

  double YOf(double value) const {
    return panel_.bottom - (panel_.bottom - panel_.top) * (value - axis_.low) /
                               (axis_.high - axis_.low);
  }

  const Lines& lines_;
  const TimeRange times_;
  const Canvas canvas_;
  const double top_;
  Panel panel_;
  Scale scale_;
  ValueAxis axis_;
  std::vector<Text> legend_texts_;
};

}  // namespace

size_t PanelCount(const Chart& chart) { return ByUnit(chart).size(); }

Layout MakeLayout(const Chart& chart, const Canvas& canvas) {
  const double width = canvas.width - 2 * canvas.margin;
  const auto text_in_line = [&](int line, const std::string& text) {
    return Text{
        .at = {canvas.margin, canvas.margin + (line + 0.5) * canvas.line},
        .align = Align::kLeft,
        .text = CutToFit(text, width, canvas)};
  };
  Layout layout{.height = 0,
                .title = text_in_line(0, chart.title),
                .subtitle = text_in_line(1, chart.subtitle)};
  const double top = canvas.margin + 2 * canvas.line;
  const std::vector<Lines> groups = ByUnit(chart);
  // Whole lines, so that a terminal's panels start at a row.
  const double height = std::floor((canvas.height - top) / canvas.line /
                                   static_cast<double>(groups.size())) *
                        canvas.line;
  const TimeRange times = RangeOf(chart);
  std::vector<PanelMaker> panels;
  double label_width = 0;
  double panel_top = top;
  for (const Lines& lines : groups) {
    const PanelMaker& panel =
        panels.emplace_back(lines, times, canvas, panel_top, height);
    label_width = std::max(label_width, panel.LabelWidth());
    panel_top = panel.end();
  }
  for (PanelMaker& panel : panels) {
    layout.panels.push_back(panel.Make(label_width));
  }
  layout.height = std::max(canvas.height, panel_top);
  return layout;
}

}  // namespace fleetperf::cli
