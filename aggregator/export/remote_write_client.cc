#include "aggregator/export/remote_write_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/version.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxQuote = 500;
// An engine that sends more is cut off. Its status is known by then.
constexpr size_t kMaxHeaders = 64 << 10, kMaxBody = 64 << 10;
constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
constexpr absl::Duration kMaxRetryAfter = absl::Hours(1);
// Cancel interrupts the wait.
constexpr int kPollMillis = 1000;

// A list of header lines for curl.
class HeaderList {
 public:
  ~HeaderList() { curl_slist_free_all(list_); }
  void Add(const std::string& line) {
    curl_slist* longer = curl_slist_append(list_, line.c_str());
    if (longer != nullptr) list_ = longer;
  }
  curl_slist* list() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// Returns the next step for some errors of curl.
absl::string_view Advice(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return "; let tls.authority name the authority of the engine's "
             "certificate";
    case CURLE_SSL_CACERT_BADFILE:
      return "; let tls.authority name a file, or install the package "
             "ca-certificates";
    case CURLE_OPERATION_TIMEDOUT:
      return "; check the engine's load, or set a longer timeout";
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return "; check url, and that the engine runs";
    default:
      return "";
  }
}

// Whether the path in the URL is not one where the engine takes samples.
// VictoriaMetrics answers with 400 and this text.
bool IsWrongPath(long status, const std::string& what) {
  return status == 404 || status == 405 ||
         (status == 400 &&
          absl::StrContains(what, "unsupported path requested"));
}

// Whether the engine refuses the samples. Prometheus answers with 500, and not
// with 400, to samples older than its out_of_order_time_window.
bool IsRefusal(long status, const std::string& what) {
  return status / 100 == 4 ||
         (status / 100 == 5 &&
          (absl::StrContains(what, "too old sample") ||
           absl::StrContains(what, "out of bounds") ||
           absl::StrContains(what, "out of order sample")));
}

// Translates the status of an answer other than 2xx.
absl::Status ToStatus(long status, const std::string& what) {
  if (IsWrongPath(status, what)) {
    return absl::UnavailableError(absl::StrCat(
        what,
        "; check url: VictoriaMetrics receives samples at /api/v1/write, and "
        "Prometheus, too, if it runs with --web.enable-remote-write-receiver"));
  }
  switch (status) {
    case 401:
      return absl::UnauthenticatedError(absl::StrCat(
          what, "; check basic_auth or bearer_token_file of the export"));
    case 403:
      return absl::PermissionDeniedError(absl::StrCat(
          what, "; give the export's user the right to write samples"));
    case 408:
    case 421:
    case 425:
    case 429:
      return absl::UnavailableError(what);
    default:
      break;
  }
  if (IsRefusal(status, what)) return absl::InvalidArgumentError(what);
  if (status == 500) return absl::InternalError(what);
  if (status / 100 == 3) {
    return absl::UnavailableError(absl::StrCat(
        what, "; let url name the place that the answer redirects to"));
  }
  return absl::UnavailableError(what);
}

void InitializeCurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(code);  // without it, requests fail and say why
}

}  // namespace

class RemoteWriteClient::Connection {
 public:
  explicit Connection(RemoteWriteTarget target)
      : target_(std::move(target)), display_url_(DisplayUrl(target_)) {
    InitializeCurl();
    easy_ = curl_easy_init();
    multi_ = curl_multi_init();
    if (easy_ != nullptr) SetOptions();
  }
  ~Connection() {
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }

  absl::Status Send(absl::string_view body) {
    retry_after_.reset();
    if (easy_ == nullptr || multi_ == nullptr) {
      return absl::UnavailableError(
          "libcurl cannot be used; check that its libraries are installed");
    }
    HeaderList headers;
    RETURN_IF_ERROR(AddHeaders(&headers));
    Set(CURLOPT_HTTPHEADER, headers.list());
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    Set(CURLOPT_POSTFIELDS, body.data());
    answer_ = Answer();
    error_[0] = '\0';
    const CURLcode code = Perform();
    Set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    return Outcome(code);
  }

  std::optional<absl::Duration> retry_after() const { return retry_after_; }

  void Cancel() {
    is_cancelled_ = true;
    if (multi_ != nullptr) curl_multi_wakeup(multi_);
  }

 private:
  // The kept part of an answer.
  struct Answer {
    size_t header_bytes = 0;
    size_t body_bytes = 0;
    std::string body;  // its start
  };

  // Callbacks of curl. A result other than the size ends the transfer.
  static size_t TakeHeader(char*, size_t size, size_t count, void* answer) {
    size_t& bytes = static_cast<Answer*>(answer)->header_bytes;
    bytes += size * count;
    return bytes <= kMaxHeaders ? size * count : 0;
  }
  static size_t TakeBody(char* data, size_t size, size_t count, void* answer) {
    auto* taken = static_cast<Answer*>(answer);
    const size_t bytes = size * count;
    taken->body.append(data, std::min(bytes, kMaxQuote - taken->body.size()));
    taken->body_bytes += bytes;
    return taken->body_bytes <= kMaxBody ? bytes : 0;
  }

  template <typename Value>
  void Set(CURLoption option, Value value) {
    curl_easy_setopt(easy_, option, value);
  }

  void SetOptions() {
    Set(CURLOPT_URL, target_.url.c_str());
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    // A redirect could lead the samples and the credentials anywhere.
    Set(CURLOPT_FOLLOWLOCATION, 0L);
    Set(CURLOPT_PROXY, "");  // instead of that of the environment
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_TCP_KEEPALIVE, 1L);
    Set(CURLOPT_TIMEOUT_MS,
        static_cast<long>(absl::ToInt64Milliseconds(target_.timeout)));
    Set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(absl::ToInt64Milliseconds(
            std::min(target_.timeout, kConnectTimeout))));
    // Cancel does not wait for a resolver that hangs.
    Set(CURLOPT_QUICK_EXIT, 1L);
    Set(CURLOPT_POST, 1L);
    Set(CURLOPT_ERRORBUFFER, error_);
    Set(CURLOPT_HEADERFUNCTION, &TakeHeader);
    Set(CURLOPT_HEADERDATA, &answer_);
    Set(CURLOPT_WRITEFUNCTION, &TakeBody);
    Set(CURLOPT_WRITEDATA, &answer_);
    SetTlsOptions();
  }

  void SetTlsOptions() {
    Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    Set(CURLOPT_CA_CACHE_TIMEOUT, 0L);  // a replaced file holds
    if (!target_.authority.empty()) {
      Set(CURLOPT_CAINFO, target_.authority.c_str());
      Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (target_.certificate.empty()) return;
    Set(CURLOPT_SSLCERT, target_.certificate.c_str());
    Set(CURLOPT_SSLKEY, target_.key.c_str());
  }

  absl::Status AddHeaders(HeaderList* headers) const {
    headers->Add("Content-Encoding: snappy");
    headers->Add("Content-Type: application/x-protobuf");
    headers->Add("X-Prometheus-Remote-Write-Version: 0.1.0");
    headers->Add(absl::StrCat("User-Agent: fleetperf-aggregator/", kVersion));
    // Without this line, curl would wait for "100 Continue" before large
    // bodies.
    headers->Add("Expect:");
    ASSIGN_OR_RETURN(const std::string authorization,
                     ReadAuthorization(target_));
    if (!authorization.empty()) {
      headers->Add(absl::StrCat("Authorization: ", authorization));
    }
    return absl::OkStatus();
  }

  // Runs the transfer until it ends or is cancelled.
  CURLcode Perform() {
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) {
      return CURLE_FAILED_INIT;
    }
    int running = 1;
    while (!is_cancelled_) {
      if (curl_multi_perform(multi_, &running) != CURLM_OK) break;
      if (running == 0) break;
      curl_multi_poll(multi_, nullptr, 0, kPollMillis, nullptr);
    }
    int waiting = 0;
    const CURLMsg* message = curl_multi_info_read(multi_, &waiting);
    if (message != nullptr && message->msg == CURLMSG_DONE) {
      code = message->data.result;
    }
    curl_multi_remove_handle(multi_, easy_);
    return code;
  }

  absl::Status Outcome(CURLcode code) {
    if (is_cancelled_ && code != CURLE_OK) {
      return absl::CancelledError("the export is stopping");
    }
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    const bool is_cut_off =
        code == CURLE_WRITE_ERROR && answer_.body_bytes > kMaxBody;
    if (code != CURLE_OK && !is_cut_off) {
      return absl::UnavailableError(absl::StrCat(
          "cannot send samples to ", display_url_, ": ",
          Printable(error_[0] != '\0' ? error_ : curl_easy_strerror(code)),
          Advice(code)));
    }
    if (status / 100 == 2) return absl::OkStatus();
    NoteRetryAfter();
    return ToStatus(status, absl::StrCat(display_url_, " answers with status ",
                                         status, Quote()));
  }

  // Returns ": " and what the engine says; "" if that is nothing.
  std::string Quote() const {
    const absl::string_view text = absl::StripAsciiWhitespace(answer_.body);
    return text.empty() ? "" : absl::StrCat(": ", Printable(text));
  }

  void NoteRetryAfter() {
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds <= 0) return;
    retry_after_ = std::min(absl::Seconds(seconds), kMaxRetryAfter);
  }

  const RemoteWriteTarget target_;
  const std::string display_url_;
  CURL* easy_ = nullptr;
  CURLM* multi_ = nullptr;
  Answer answer_;
  char error_[CURL_ERROR_SIZE] = "";
  std::optional<absl::Duration> retry_after_;
  std::atomic<bool> is_cancelled_ = false;
};

RemoteWriteClient::RemoteWriteClient(RemoteWriteTarget target)
    : connection_(std::make_unique<Connection>(std::move(target))) {}

RemoteWriteClient::~RemoteWriteClient() = default;

absl::Status RemoteWriteClient::Send(absl::string_view body) {
  return connection_->Send(body);
}

std::optional<absl::Duration> RemoteWriteClient::retry_after() const {
  return connection_->retry_after();
}

void RemoteWriteClient::Cancel() { connection_->Cancel(); }

}  // namespace fleetperf::aggregator
