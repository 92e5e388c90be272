#include "aggregator/history/matrix_reader.h"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <cmath>

#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxLabelsOfSeries = 128;
constexpr size_t kMaxBytesOfLabels = 64 << 10;  // of a series
// The limit of nested values that are skipped, which bounds the parser's
// recursion.
constexpr int kMaxDepth = 64;
// Far beyond every clock; in seconds.
constexpr double kMaxTime = 1e11;

// Most values are whole numbers, whose digits are read faster.
bool ReadNumber(absl::string_view text, double* value) {
  constexpr size_t kDigits = 15;  // that a double has
  uint64_t whole = 0;
  if (text.size() <= kDigits && absl::SimpleAtoi(text, &whole)) {
    *value = static_cast<double>(whole);
    return true;
  }
  const char* const end = text.data() + text.size();
  const auto read = absl::from_chars(text.data(), end, *value);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(*value);
}

// Takes the events of the parser. A result of false ends it.
class MatrixHandler
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, MatrixHandler> {
 public:
  explicit MatrixHandler(MatrixSink* sink) : sink_(*sink) {}

  // Returns the error of the events so far.
  const absl::Status& status() const { return status_; }

  absl::Status Finish() const {
    if (!error_.empty()) {
      return absl::UnavailableError(
          absl::StrCat("the engine answers: ", Printable(error_)));
    }
    if (place_ != Place::kEnd || !is_success_ || !has_result_) {
      return absl::DataLossError("its answer has no result");
    }
    return absl::OkStatus();
  }

  // Null, and numbers where none are expected.
  bool Default() { return IsSkipped() || Fail("an unexpected value"); }

  bool Bool(bool value) {
    if (value && place_ == Place::kTop && field_ == Field::kIsPartial) {
      status_ = absl::UnavailableError(
          "the engine answers with a part of its samples, because a part of it "
          "cannot be reached; repair it");
      return false;
    }
    return field_ == Field::kIsPartial || Default();
  }

  bool Int(int value) { return Number(value); }
  bool Uint(unsigned value) { return Number(value); }
  bool Int64(int64_t value) { return Number(static_cast<double>(value)); }
  bool Uint64(uint64_t value) { return Number(static_cast<double>(value)); }
  bool Double(double value) { return Number(value); }

  bool String(const char* text, rapidjson::SizeType size, bool) {
    const absl::string_view value(text, size);
    switch (place_) {
      case Place::kMetric:
        return AddLabel(value);
      case Place::kSample:
        return AddValue(value);
      default:
        break;
    }
    switch (field_) {
      case Field::kStatus:
        is_success_ = value == "success";
        return true;
      case Field::kError:
        error_.assign(value.data(), value.size());
        return true;
      case Field::kResultType:
        return value == "matrix" || Fail("a result that is no matrix");
      default:
        return Default();
    }
  }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (depth_ > 0) return true;
    const absl::string_view name(text, size);
    if (place_ == Place::kMetric) {
      label_.assign(name.data(), name.size());
    } else {
      field_ = FieldOf(name);
    }
    return true;
  }

  bool StartObject() {
    if (IsSkipped()) return Descend();
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && field_ == Field::kData) {
      place_ = Place::kData;
    } else if (place_ == Place::kResult) {
      BeginSeries();
    } else if (field_ == Field::kMetric && !has_metric_) {
      has_metric_ = true;
      place_ = Place::kMetric;
    } else {
      return Fail("an unexpected object");
    }
    field_ = Field::kOther;
    return true;
  }

  bool EndObject(rapidjson::SizeType) {
    if (depth_ > 0) return Ascend();
    switch (place_) {
      case Place::kTop:
        place_ = Place::kEnd;
        break;
      case Place::kData:
        place_ = Place::kTop;
        break;
      case Place::kSeries:
        place_ = Place::kResult;
        break;
      default:  // the parser closes what it has opened
        place_ = Place::kSeries;
        break;
    }
    field_ = Field::kOther;
    return true;
  }

  bool StartArray() {
    if (IsSkipped()) return Descend();
    if (place_ == Place::kValues) {
      place_ = Place::kSample;
      parts_ = 0;
    } else if (field_ == Field::kResult && !has_result_) {
      has_result_ = true;
      place_ = Place::kResult;
    } else if (field_ == Field::kValues && has_metric_ && !has_values_) {
      has_values_ = true;
      samples_ = sink_.Begin(labels_);
      place_ = Place::kValues;
    } else {
      return Fail("an unexpected list");
    }
    field_ = Field::kOther;
    return true;
  }

  bool EndArray(rapidjson::SizeType) {
    if (depth_ > 0) return Ascend();
    switch (place_) {
      case Place::kResult:
        place_ = Place::kData;
        return true;
      case Place::kValues:
        place_ = Place::kSeries;
        return true;
      default:
        place_ = Place::kValues;
        return parts_ == 2 || Fail("a sample without a time or a value");
    }
  }

 private:
  // The innermost object or list that is not skipped.
  enum class Place {
    kStart,
    kTop,
    kData,
    kResult,
    kSeries,
    kMetric,
    kValues,
    kSample,
    kEnd
  };
  // Of the last key, if it has a meaning in its place.
  enum class Field {
    kOther,
    kStatus,
    kError,
    kIsPartial,
    kData,
    kResultType,
    kResult,
    kMetric,
    kValues
  };

  Field FieldOf(absl::string_view name) const {
    switch (place_) {
      case Place::kTop:
        return name == "status"      ? Field::kStatus
               : name == "error"     ? Field::kError
               : name == "isPartial" ? Field::kIsPartial
               : name == "data"      ? Field::kData
                                     : Field::kOther;
      case Place::kData:
        return name == "resultType" ? Field::kResultType
               : name == "result"   ? Field::kResult
                                    : Field::kOther;
      case Place::kSeries:
        return name == "metric"   ? Field::kMetric
               : name == "values" ? Field::kValues
                                  : Field::kOther;
      default:
        return Field::kOther;
    }
  }

  // Whether a value has no meaning here.
  bool IsSkipped() const {
    return depth_ > 0 || (field_ == Field::kOther &&
                          (place_ == Place::kTop || place_ == Place::kData ||
                           place_ == Place::kSeries));
  }
  bool Descend() { return ++depth_ <= kMaxDepth || Fail("too many levels"); }
  bool Ascend() {
    --depth_;
    return true;
  }

  bool Fail(absl::string_view what) {
    status_ = absl::DataLossError(absl::StrCat("its answer has ", what));
    return false;
  }

  void BeginSeries() {
    place_ = Place::kSeries;
    labels_.Clear();
    label_bytes_ = 0;
    has_metric_ = false;
    has_values_ = false;
  }

  bool AddLabel(absl::string_view value) {
    label_bytes_ += label_.size() + value.size();
    if (labels_.size() >= kMaxLabelsOfSeries ||
        label_bytes_ > kMaxBytesOfLabels) {
      return Fail("a series with too many labels");
    }
    labels_.Add(label_, value);
    return true;
  }

  bool Number(double value) {
    if (place_ != Place::kSample || depth_ > 0) return Default();
    if (parts_++ != 0 || !(std::abs(value) < kMaxTime)) {
      return Fail("a sample with a wrong time");
    }
    unix_millis_ = std::llround(value * 1000);
    return true;
  }

  bool AddValue(absl::string_view text) {
    if (parts_++ != 1) return Fail("a sample with a wrong value");
    double value = 0;
    if (samples_ != nullptr && ReadNumber(text, &value)) {
      samples_->push_back({unix_millis_, value});
    }
    return true;
  }

  MatrixSink& sink_;
  absl::Status status_;
  Place place_ = Place::kStart;
  Field field_ = Field::kOther;
  int depth_ = 0;  // of skipped values
  bool is_success_ = false;
  bool has_result_ = false;
  std::string error_;
  // Of the current series.
  EngineLabels labels_;
  std::string label_;  // the name of the next one
  size_t label_bytes_ = 0;
  bool has_metric_ = false;
  bool has_values_ = false;
  std::vector<EngineSample>* samples_ = nullptr;
  // Of the current sample.
  int parts_ = 0;
  int64_t unix_millis_ = 0;
};

}  // namespace

absl::string_view EngineLabels::Find(absl::string_view name) const {
  for (const auto& [known, value] : labels_) {
    if (known == name) return value;
  }
  return "";
}

absl::Status ReadMatrix(std::string json, MatrixSink* sink) {
  // The check of a character of several bytes that the end cuts off reads three
  // bytes beyond the final zero.
  json.append(3, '\0');
  MatrixHandler handler(sink);
  rapidjson::InsituStringStream stream(json.data());
  rapidjson::Reader reader;
  const rapidjson::ParseResult parsed =
      reader.Parse<rapidjson::kParseInsituFlag |
                   rapidjson::kParseValidateEncodingFlag>(stream, handler);
  if (!handler.status().ok()) return handler.status();
  if (parsed.IsError()) {
    return absl::DataLossError(absl::StrCat(
        "its answer is no JSON: ", rapidjson::GetParseError_En(parsed.Code()),
        " at byte ", parsed.Offset()));
  }
  return handler.Finish();
}

}  // namespace fleetperf::aggregator
