#include "tests/bench/web_viewers.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace fleetperf::bench {
namespace {

using nlohmann::json;

// The headers that Chromium sends with each request, about.
constexpr char kBrowser[] =
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, "
    "like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n"
    "Accept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-US,en;q=0.9\r\nSec-Fetch-Site: same-origin\r\n";

std::string JsonHeaders() {
  return absl::StrCat(kBrowser, "Content-Type: application/json\r\n");
}

// Returns the body of an answer with status 200.
absl::StatusOr<std::string> BodyOf(const std::string& what,
                                   std::string answer) {
  const size_t end = answer.find("\r\n\r\n");
  if (!absl::StartsWith(answer, "HTTP/1.1 200 ") || end == answer.npos) {
    return absl::DataLossError(
        absl::StrCat(what, ": ", answer.substr(0, answer.find("\r\n"))));
  }
  return answer.erase(0, end + 4);
}

// Returns the texts between `begin` and `end`.
std::vector<std::string> AllBetween(absl::string_view text,
                                    absl::string_view begin,
                                    absl::string_view end) {
  std::vector<std::string> all;
  for (size_t at = 0; (at = text.find(begin, at)) != text.npos;) {
    at += begin.size();
    all.emplace_back(text.substr(at, text.find(end, at) - at));
  }
  return all;
}

}  // namespace

absl::StatusOr<std::string> PostToPage(testing::HttpsClient* browser,
                                       const std::string& method,
                                       const std::string& json) {
  return BodyOf(method, browser->Ask("POST", absl::StrCat("/api/v1/", method),
                                     JsonHeaders(), json));
}

absl::StatusOr<uint64_t> ReadFiles(testing::HttpsClient* browser) {
  // The start is small enough to be read without gzip.
  ASSIGN_OR_RETURN(const std::string start,
                   BodyOf("/", browser->Ask("GET", "/")));
  uint64_t bytes = start.size();
  for (const char* const attribute : {"src=\"", "href=\""}) {
    for (const std::string& name : AllBetween(start, attribute, "\"")) {
      if (absl::StartsWith(name, "#")) continue;  // a place of the page
      const std::string path = absl::StrCat(
          "/", absl::StripPrefix(absl::StripPrefix(name, "."), "/"));
      ASSIGN_OR_RETURN(const std::string body,
                       BodyOf(path, browser->Ask("GET", path, kBrowser)));
      bytes += body.size();
    }
  }
  return bytes;
}

absl::StatusOr<uint64_t> ReadMachines(const PageOfFleet& page,
                                      testing::HttpsClient* browser) {
  constexpr char kName[] = "{\"name\":\"host-";
  uint64_t bytes = 0;
  size_t machines = 0;
  std::string token;
  do {
    ASSIGN_OR_RETURN(
        const std::string body,
        PostToPage(
            browser, "machines",
            absl::StrCat("{\"pageSize\":1000,\"pageToken\":\"", token, "\"}")));
    bytes += body.size();
    for (size_t at = 0; (at = body.find(kName, at)) != body.npos; ++at) {
      ++machines;
    }
    const auto tokens = AllBetween(body, "\"nextPageToken\":\"", "\"");
    token = tokens.empty() ? "" : tokens.front();
  } while (!token.empty());
  if (machines == page.machines) return bytes;
  return absl::DataLossError(absl::StrCat("the list has ", machines, " of ",
                                          page.machines, " machines"));
}

LiveViewer::LiveViewer(const PageOfFleet& page, bool checks)
    : page_(page),
      checks_(checks),
      browser_(page.port, page.tls),
      thread_([this] { Run(); }) {}

LiveViewer::~LiveViewer() {
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

absl::Status LiveViewer::AwaitValues() {
  has_values_.WaitForNotification();
  absl::MutexLock lock(&mutex_);
  return status_;
}

absl::Status LiveViewer::Stop() {
  is_stopping_ = true;
  thread_.join();
  absl::MutexLock lock(&mutex_);
  return status_;
}

void LiveViewer::Fail(absl::Status status) {
  {
    absl::MutexLock lock(&mutex_);
    status_.Update(std::move(status));
  }
  if (!has_values_.HasBeenNotified()) has_values_.Notify();
}

void LiveViewer::Run() {
  json request;
  request["paths"] = json::array({WebFleet::kPath});
  request["interval"] = "10s";
  browser_.Send("POST", "/api/v1/subscribe", JsonHeaders(), request.dump());
  const std::string head = browser_.ReadHead();
  if (!absl::StartsWith(head, "HTTP/1.1 200 ")) {
    return Fail(absl::DataLossError(absl::StrCat("subscribe: ", head)));
  }
  while (GoesOn()) {
    const auto line = browser_.ReadLine();
    if (!line.has_value()) {
      return Fail(absl::DataLossError("the stream has ended"));
    }
    Use(*line);
  }
}

void LiveViewer::Use(const std::string& line) {
  bytes_ += line.size() + 1;
  if (absl::StrContains(line, "\"points\":[")) {
    absl::MutexLock lock(&mutex_);
    hashes_.push_back(absl::HashOf(line));
  }
  if (checks_) {
    const absl::Status status = Check(line);
    if (!status.ok()) Fail(status);
  }
  const bool has_values = !checks_ || seen_ == page_.machines;
  if (has_values && !has_values_.HasBeenNotified()) has_values_.Notify();
}

absl::Status LiveViewer::Check(const std::string& line) {
  const json part = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (part.is_discarded()) return absl::DataLossError("a line is not JSON");
  if (part.contains("lagged")) {
    return absl::DataLossError("the viewer was too slow for its values");
  }
  for (const json& series : part.value("series", json::array())) {
    Machine& machine = machines_[series["id"].get<uint32_t>()];
    const auto name = series["machine"].get<std::string>();
    if (!absl::SimpleAtoi(absl::StripPrefix(name, "host-"), &machine.number)) {
      return absl::DataLossError(absl::StrCat("unknown machine ", name));
    }
  }
  for (const json& points : part.value("points", json::array())) {
    const auto known = machines_.find(points["series"].get<uint32_t>());
    if (known == machines_.end()) {
      return absl::DataLossError("values of an unknown series");
    }
    for (size_t i = 0; i < points["t"].size(); ++i) {
      if (!points["v"][i].is_number()) continue;
      RETURN_IF_ERROR(CheckValue(&known->second, points["t"][i].get<double>(),
                                 points["v"][i].get<double>()));
    }
  }
  return absl::OkStatus();
}

absl::Status LiveViewer::CheckValue(Machine* machine, double millis,
                                    double value) {
  const auto time = static_cast<int64_t>(millis);
  const auto expected =
      page_.fleet->ProcessorTime(machine->number, absl::FromUnixMillis(time));
  if (expected.has_value() && std::abs(value - *expected) > 1e-6) {
    return absl::DataLossError(absl::StrCat("host-", machine->number, " at ",
                                            time, ": ", value, " instead of ",
                                            *expected));
  }
  const int64_t window = absl::ToInt64Milliseconds(WebFleet::kWindow);
  if (machine->last_millis != 0 && time != machine->last_millis + window) {
    return absl::DataLossError(
        absl::StrCat("host-", machine->number, " has a gap before ", time));
  }
  seen_ += machine->last_millis == 0;
  machine->last_millis = time;
  return absl::OkStatus();
}

bool LiveViewer::GoesOn() {
  if (!is_stopping_) return true;
  if (!checks_ || CountLate() == 0) return false;
  const absl::Time now = absl::Now();
  end_ = std::min(end_, now + absl::Minutes(1));
  return now < end_;
}

size_t LiveViewer::CountLate() const {
  int64_t newest = 0;
  for (const auto& [id, machine] : machines_) {
    newest = std::max(newest, machine.last_millis);
  }
  // Machines send the values of a window within ten seconds after its end.
  const int64_t limit =
      newest - 2 * absl::ToInt64Milliseconds(WebFleet::kWindow);
  size_t late = page_.machines - machines_.size();
  for (const auto& [id, machine] : machines_) {
    late += machine.last_millis < limit;
  }
  return late;
}

absl::Status LiveViewer::CheckWhole() const {
  const size_t late = CountLate();
  if (late == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(late, " machines have no current values"));
}

uint64_t LiveViewer::lines() const {
  absl::MutexLock lock(&mutex_);
  return hashes_.size();
}

absl::Status LiveViewer::AwaitLinesOf(const LiveViewer& other) const {
  std::vector<size_t> lines;
  {
    absl::MutexLock lock(&other.mutex_);
    lines = other.hashes_;
  }
  // The first line is a snapshot of its own.
  if (!lines.empty()) lines.erase(lines.begin());
  const auto has_lines = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::search(hashes_.begin(), hashes_.end(), lines.begin(),
                       lines.end()) != hashes_.end();
  };
  absl::MutexLock lock(&mutex_);
  if (!lines.empty() &&
      mutex_.AwaitWithTimeout(absl::Condition(&has_lines), absl::Minutes(1))) {
    return absl::OkStatus();
  }
  return absl::DataLossError("a viewer did not get what the others got");
}

ListReader::ListReader(const PageOfFleet& page, size_t viewers)
    : page_(page), viewers_(viewers), thread_([this] { Run(); }) {}

ListReader::~ListReader() {
  if (thread_.joinable()) Stop().IgnoreError();
}

absl::Status ListReader::Stop() {
  is_over_.Notify();
  thread_.join();
  return status_;
}

void ListReader::Run() {
  if (viewers_ == 0) return;
  testing::HttpsClient browser(page_.port, page_.tls);
  const absl::Duration pause = kPeriod / static_cast<double>(viewers_);
  absl::Time next = absl::Now() + pause / 2;
  while (!is_over_.WaitForNotificationWithTimeout(next - absl::Now())) {
    const auto bytes = ReadMachines(page_, &browser);
    status_ = bytes.status();
    if (!status_.ok()) return;
    bytes_ += *bytes;
    ++lists_;
    next += pause;
  }
}

}  // namespace fleetperf::bench
