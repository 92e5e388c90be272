#include "cli/plot/text_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/printable.h"
#include "cli/output.h"
#include "cli/plot/layout.h"
#include "cli/plot/palette.h"

namespace fleetperf::cli {
namespace {

constexpr absl::string_view kCurveMarks = "*+xo#@%&";

struct AxisMarks {
  absl::string_view vertical, horizontal, corner, value_tick, time_tick, legend;
};
constexpr AxisMarks kUnicodeAxis = {"│", "─", "└", "┤", "┴", "━"};
constexpr AxisMarks kAsciiAxis = {"|", "-", "+", "+", "+", "-"};

// The dots of a braille character, by column and row.
constexpr uint8_t kDots[2][4] = {{0x01, 0x02, 0x04, 0x40},
                                 {0x08, 0x10, 0x20, 0x80}};

// Returns U+2800 plus the dots, in UTF-8.
std::string Braille(uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 | dots >> 6),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

struct TextCell {
  std::string text = " ";
  uint8_t dots = 0;
  int color = 0;  // 0: the terminal's default
};

class Grid {
 public:
  Grid(size_t columns, size_t rows)
      : columns_(columns), cells_(columns * rows) {}

  // Ignores positions outside of the grid.
  void Put(double x, double y, absl::string_view character, int color = 0) {
    if (TextCell* cell = At(x, y)) *cell = {std::string(character), 0, color};
  }

  void AddDots(double x, double y, uint8_t dots, int color) {
    TextCell* cell = At(x, y);
    if (cell == nullptr) return;
    cell->dots |= dots;
    *cell = {Braille(cell->dots), cell->dots, color};
  }

  void Write(const Text& text) {
    const std::string printable = Printable(text.text);
    const auto width = static_cast<double>(DisplayWidth(printable));
    double x = text.at.x;
    if (text.align == Align::kCenter) x -= std::floor(width / 2);
    if (text.align == Align::kRight) x -= width;
    x = std::max(0.0, x);
    for (size_t i = 0; i < printable.size(); ++x) {
      size_t end = i + 1;
      while (end < printable.size() && !StartsCharacter(printable[end])) ++end;
      Put(x, text.at.y, printable.substr(i, end - i));
      i = end;
    }
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (size_t start = 0; start < cells_.size(); start += columns_) {
      lines.push_back(Line(&cells_[start]));
    }
    return lines;
  }

 private:
  TextCell* At(double x, double y) {
    const auto column = static_cast<size_t>(x);
    const size_t index = static_cast<size_t>(y) * columns_ + column;
    if (x < 0 || y < 0 || column >= columns_ || index >= cells_.size()) {
      return nullptr;
    }
    return &cells_[index];
  }

  std::string Line(const TextCell* cells) const {
    size_t end = columns_;
    while (end > 0 && cells[end - 1].text == " ") --end;
    std::string line;
    int color = 0;
    for (size_t i = 0; i < end; ++i) {
      SetColor(cells[i].color, &color, &line);
      line += cells[i].text;
    }
    SetColor(0, &color, &line);
    return line;
  }

  static void SetColor(int wanted, int* color, std::string* line) {
    if (wanted == *color) return;
    *color = wanted;
    *line += wanted == 0 ? "\x1b[0m" : absl::StrFormat("\x1b[38;5;%dm", wanted);
  }

  const size_t columns_;
  std::vector<TextCell> cells_;
};

class PanelPainter {
 public:
  PanelPainter(const Panel& panel, const TextStyle& style, Grid* grid)
      : panel_(panel),
        colors_(style.colors),
        braille_(style.characters == Characters::kUnicode &&
                 (style.colors || panel.curves.size() == 1)),
        axis_(style.characters == Characters::kUnicode ? kUnicodeAxis
                                                       : kAsciiAxis),
        grid_(*grid) {}

  void Paint() {
    PaintAxes();
    for (const Curve& curve : panel_.curves) {
      for (const auto& piece : curve.pieces) PaintPiece(curve.number, piece);
    }
    for (const LegendMark& mark : panel_.legend) PaintLegendMark(mark);
    for (const Text& text : panel_.texts) grid_.Write(text);
  }

 private:
  void PaintAxes() {
    const double axis = panel_.left - 1;
    for (double y = panel_.top; y < panel_.bottom; ++y) {
      grid_.Put(axis, y, axis_.vertical);
    }
    for (double x = panel_.left; x < panel_.right; ++x) {
      grid_.Put(x, panel_.bottom, axis_.horizontal);
    }
    for (const double y : panel_.value_ticks) {
      grid_.Put(axis, y, axis_.value_tick);
    }
    for (const double x : panel_.time_ticks) {
      grid_.Put(std::min(x, panel_.right - 1), panel_.bottom, axis_.time_tick);
    }
    grid_.Put(axis, panel_.bottom, axis_.corner);
  }

  void PaintPiece(size_t curve, const std::vector<Position>& piece) {
    PaintDot(curve, piece.front());
    for (size_t i = 1; i < piece.size(); ++i) {
      PaintStroke(curve, piece[i - 1], piece[i]);
    }
  }

  // Paints dots along the longer side.
  void PaintStroke(size_t curve, const Position& from, const Position& to) {
    const double across = (to.x - from.x) * (braille_ ? 2 : 1);
    const double down = (to.y - from.y) * (braille_ ? 4 : 1);
    const double dots = std::ceil(std::max(std::fabs(across), std::fabs(down)));
    for (double i = 1; i <= dots; ++i) {
      PaintDot(curve, {from.x + (to.x - from.x) * i / dots,
                       from.y + (to.y - from.y) * i / dots});
    }
  }

  // Dots on the lower or right edge belong to the last cell inside.
  void PaintDot(size_t curve, const Position& at) {
    const double x = std::min(at.x, std::nextafter(panel_.right, 0));
    const double y = std::min(at.y, std::nextafter(panel_.bottom, 0));
    if (!braille_) return grid_.Put(x, y, MarkOf(curve), ColorAt(curve));
    const auto column = static_cast<size_t>((x - std::floor(x)) * 2);
    const auto row = static_cast<size_t>((y - std::floor(y)) * 4);
    grid_.AddDots(x, y, kDots[column][row], ColorAt(curve));
  }

  void PaintLegendMark(const LegendMark& mark) {
    for (double i = 0; i < kLegendMark; ++i) {
      grid_.Put(mark.left.x + i, mark.left.y,
                braille_ ? axis_.legend : MarkOf(mark.curve),
                ColorAt(mark.curve));
    }
  }

  int ColorAt(size_t curve) const {
    return colors_ ? ColorOf(curve).terminal : 0;
  }

  static absl::string_view MarkOf(size_t curve) {
    return kCurveMarks.substr(curve % kCurveMarks.size(), 1);
  }

  const Panel& panel_;
  const bool colors_;
  const bool braille_;
  const AxisMarks& axis_;
  Grid& grid_;
};

}  // namespace

std::vector<std::string> DrawText(const Chart& chart, size_t width, size_t rows,
                                  const TextStyle& style) {
  const Layout layout = MakeLayout(chart, {.width = static_cast<double>(width),
                                           .height = static_cast<double>(rows),
                                           .character = 1,
                                           .line = 1,
                                           .margin = 0,
                                           .axis = 1});
  Grid grid(width, static_cast<size_t>(layout.height));
  for (const Panel& panel : layout.panels) {
    PanelPainter(panel, style, &grid).Paint();
  }
  grid.Write(layout.title);
  grid.Write(layout.subtitle);
  std::vector<std::string> lines = grid.Lines();
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace fleetperf::cli
