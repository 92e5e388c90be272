#include <cairo-svg.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/plot/layout.h"
#include "cli/plot/palette.h"
#include "cli/plot/plot_file.h"

namespace fleetperf::cli {
namespace {

// In pixels, the unit of the files.
constexpr double kWidth = 1200;
constexpr double kHeightOfPanel = 360;
constexpr double kFontSize = 13;
constexpr double kLine = 20;
// Slightly wider than a sans-serif digit.
constexpr double kCharacter = 8;
constexpr double kMargin = 16;
constexpr double kHeightOfTitles = kMargin + 2 * kLine;
constexpr double kTick = 6;
constexpr double kCurveWidth = 2;

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const {
    cairo_surface_destroy(surface);
  }
};
using Surface = std::unique_ptr<cairo_surface_t, DestroySurface>;

struct DestroyContext {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Context = std::unique_ptr<cairo_t, DestroyContext>;

bool IsSvg(const std::string& path) {
  return absl::EndsWithIgnoreCase(path, ".svg");
}

// Draws a layout on any Cairo surface.
class Painter {
 public:
  explicit Painter(cairo_t* cairo) : cairo_(cairo) {
    cairo_set_font_size(cairo_, kFontSize);
  }

  void Paint(const Layout& layout) {
    SetColor(kBackground);
    cairo_paint(cairo_);
    for (const Panel& panel : layout.panels) PaintPanel(panel);
    SetColor(kInk);
    SetWeight(CAIRO_FONT_WEIGHT_BOLD);
    Write(layout.title);
    SetWeight(CAIRO_FONT_WEIGHT_NORMAL);
    Write(layout.subtitle);
  }

 private:
  void PaintPanel(const Panel& panel) {
    SetWeight(CAIRO_FONT_WEIGHT_NORMAL);
    PaintGrid(panel);
    PaintAxes(panel);
    for (const Curve& curve : panel.curves) PaintCurve(curve);
    for (const LegendMark& mark : panel.legend) {
      SetCurve(mark.curve);
      Line(mark.left, {mark.left.x + kLegendMark * kCharacter, mark.left.y});
      cairo_stroke(cairo_);
    }
    SetColor(kInk);
    for (const Text& text : panel.texts) Write(text);
  }

  void PaintGrid(const Panel& panel) {
    SetStroke(kGrid, 1);
    for (const double y : panel.value_ticks) {
      Line({panel.left, y}, {panel.right, y});
    }
    for (const double x : panel.time_ticks) {
      Line({x, panel.top}, {x, panel.bottom});
    }
    cairo_stroke(cairo_);
  }

  void PaintAxes(const Panel& panel) {
    SetStroke(kInk, 1);
    Line({panel.left, panel.top}, {panel.left, panel.bottom});
    Line({panel.left, panel.bottom}, {panel.right, panel.bottom});
    for (const double x : panel.time_ticks) {
      Line({x, panel.bottom}, {x, panel.bottom + kTick});
    }
    cairo_stroke(cairo_);
  }

  void PaintCurve(const Curve& curve) {
    SetCurve(curve.number);
    for (const std::vector<Position>& piece : curve.pieces) {
      // A value between two gaps is a line of zero length, which round line
      // ends turn into a dot.
      Line(piece.front(), piece.front());
      for (const Position& at : piece) cairo_line_to(cairo_, at.x, at.y);
    }
    cairo_stroke(cairo_);
  }

  void Line(const Position& from, const Position& to) {
    cairo_move_to(cairo_, from.x, from.y);
    cairo_line_to(cairo_, to.x, to.y);
  }

  void Write(const Text& text) {
    const std::string printable = Printable(text.text);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, printable.c_str(), &extents);
    cairo_font_extents_t font;
    cairo_font_extents(cairo_, &font);
    double x = text.at.x;
    if (text.align == Align::kCenter) x -= extents.x_advance / 2;
    if (text.align == Align::kRight) x -= extents.x_advance;
    cairo_move_to(cairo_, x, text.at.y + (font.ascent - font.descent) / 2);
    cairo_show_text(cairo_, printable.c_str());
  }

  void SetWeight(cairo_font_weight_t weight) {
    cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           weight);
  }

  // Charts are drawn in light colors; see WithDarkColors.
  void SetColor(const Color& color) {
    const uint32_t rgb = color.light;
    cairo_set_source_rgb(cairo_, (rgb >> 16) / 255.0, (rgb >> 8 & 0xFF) / 255.0,
                         (rgb & 0xFF) / 255.0);
  }

  void SetStroke(const Color& color, double width) {
    SetColor(color);
    cairo_set_line_width(cairo_, width);
    cairo_set_dash(cairo_, nullptr, 0, 0);
  }

  // Curves with equal colors have different dashes.
  void SetCurve(size_t number) {
    SetStroke(ColorOf(number).color, kCurveWidth);
    cairo_set_line_cap(cairo_, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
    const size_t round = number / std::size(kPalette);
    if (round == 0) return;
    const double dashes[] = {6.0 / static_cast<double>(round), 4};
    cairo_set_dash(cairo_, dashes, std::size(dashes), 0);
  }

  cairo_t* const cairo_;
};

cairo_status_t Append(void* to, const unsigned char* data,
                      unsigned int length) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data),
                                        length);
  return CAIRO_STATUS_SUCCESS;
}

absl::Status ToStatus(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("Cairo: ", cairo_status_to_string(status)));
}

absl::Status PaintOn(cairo_surface_t* surface, const Layout& layout) {
  const Context context(cairo_create(surface));
  Painter(context.get()).Paint(layout);
  return ToStatus(cairo_status(context.get()));
}

std::string EscapedXml(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// Cairo draws letters as shapes. The chart's text is added as words, for search
// and for screen readers.
void AddWords(const Chart& chart, std::string* svg) {
  const size_t root = svg->find("<svg");
  if (root == std::string::npos) return;
  const std::string labels =
      absl::StrJoin(chart.lines, "\n", [](std::string* out, const auto& line) {
        absl::StrAppend(out, EscapedXml(line.label));
      });
  svg->insert(
      svg->find('>', root) + 1,
      absl::StrCat("\n<title>", EscapedXml(chart.title), "</title>\n<desc>",
                   EscapedXml(chart.subtitle), "\n", labels, "</desc>"));
}

// Returns the color of the attribute or style property `name` in an SVG tag, as
// Cairo writes it: "stroke:rgb(20%,20%,20%)" or stroke="rgb(20%, 20%, 20%)".
std::optional<uint32_t> ColorIn(absl::string_view tag, absl::string_view name) {
  for (const absl::string_view separator : {":", "=\""}) {
    const std::string start = absl::StrCat(name, separator, "rgb(");
    const size_t at = tag.find(start);
    if (at == absl::string_view::npos) continue;
    absl::string_view rest = tag.substr(at + start.size());
    rest = rest.substr(0, rest.find(')'));
    uint32_t rgb = 0;
    for (absl::string_view part : absl::StrSplit(rest, ',')) {
      double percent = 0;
      part = absl::StripSuffix(absl::StripAsciiWhitespace(part), "%");
      if (!absl::SimpleAtod(part, &percent)) return std::nullopt;
      rgb = rgb << 8 | static_cast<uint32_t>(std::lround(percent * 2.55));
    }
    return rgb;
  }
  return std::nullopt;
}

// Returns the dark variant of a light color, "1A1A1A"; empty if there is none.
std::string DarkVariantOf(uint32_t light) {
  std::vector<Color> colors = {kBackground, kGrid, kInk};
  for (const LineColor& line : kPalette) colors.push_back(line.color);
  for (const Color& color : colors) {
    if (color.light == light) return absl::StrFormat("%06X", color.dark);
  }
  return "";
}

// Makes the picture dark for viewers that prefer dark colors: a class names the
// dark color of each element, which a rule for dark viewers applies.
std::string WithDarkColors(absl::string_view svg) {
  std::string tagged;
  std::map<std::string, std::string> rules;  // by class
  for (absl::string_view rest = svg; !rest.empty();) {
    const size_t end = std::min(rest.find('>'), rest.size() - 1) + 1;
    const absl::string_view tag = rest.substr(0, end);
    rest.remove_prefix(end);
    std::vector<std::string> classes;
    for (const std::string name : {"fill", "stroke"}) {
      const std::optional<uint32_t> light = ColorIn(tag, name);
      const std::string dark = light.has_value() ? DarkVariantOf(*light) : "";
      if (dark.empty()) continue;
      classes.push_back(absl::StrCat(name, "-", dark));
      rules[classes.back()] = absl::StrCat(name, ":#", dark);
    }
    const size_t name_end = tag.find(' ', tag.find('<'));
    if (classes.empty() || name_end == absl::string_view::npos) {
      absl::StrAppend(&tagged, tag);
    } else {
      absl::StrAppend(&tagged, tag.substr(0, name_end), " class=\"",
                      absl::StrJoin(classes, " "), "\"", tag.substr(name_end));
    }
  }
  const size_t root = tagged.find("<svg");
  if (root == std::string::npos) return tagged;
  std::string style =
      "\n<style>:root{color-scheme:light dark}"
      "@media (prefers-color-scheme:dark){";
  for (const auto& [name, rule] : rules) {
    absl::StrAppend(&style, ".", name, "{", rule, "!important}");
  }
  tagged.insert(tagged.find('>', root) + 1, style + "}</style>");
  return tagged;
}

absl::StatusOr<std::string> DrawSvg(const Chart& chart, const Layout& layout) {
  std::string svg;
  const Surface surface(
      cairo_svg_surface_create_for_stream(Append, &svg, kWidth, layout.height));
  cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  RETURN_IF_ERROR(PaintOn(surface.get(), layout));
  cairo_surface_finish(surface.get());
  RETURN_IF_ERROR(ToStatus(cairo_surface_status(surface.get())));
  svg = WithDarkColors(svg);
  AddWords(chart, &svg);
  return svg;
}

absl::StatusOr<std::string> DrawPng(const Layout& layout) {
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(kWidth),
                                 static_cast<int>(std::ceil(layout.height))));
  RETURN_IF_ERROR(PaintOn(surface.get(), layout));
  std::string png;
  RETURN_IF_ERROR(
      ToStatus(cairo_surface_write_to_png_stream(surface.get(), Append, &png)));
  return png;
}

}  // namespace

absl::Status CheckPlotFile(const std::string& path) {
  if (IsSvg(path) || absl::EndsWithIgnoreCase(path, ".png")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--output: \"", path, "\" does not end in .svg or .png"));
}

absl::Status WritePlotFile(const Chart& chart, const std::string& path) {
  RETURN_IF_ERROR(CheckPlotFile(path));
  const Layout layout = MakeLayout(
      chart, {.width = kWidth,
              .height = kHeightOfTitles +
                        kHeightOfPanel * static_cast<double>(PanelCount(chart)),
              .character = kCharacter,
              .line = kLine,
              .margin = kMargin,
              .axis = kTick});
  ASSIGN_OR_RETURN(const std::string drawn,
                   IsSvg(path) ? DrawSvg(chart, layout) : DrawPng(layout));
  return WriteFile(path, drawn);
}

}  // namespace fleetperf::cli
