#include "aggregator/engine/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/os/input_file.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/version.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxQuote = 500;
// An engine that sends more is cut off.
constexpr size_t kMaxHeaders = 64 << 10;
constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
constexpr absl::Duration kMaxRetryAfter = absl::Hours(1);
// Cancel interrupts the wait.
constexpr int kPollMillis = 1000, kPollMillisWithCallback = 100;

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

void InitializeCurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(code);  // without it, requests fail and say why
}

}  // namespace

class HttpClient::Connection {
 public:
  Connection(EngineTarget target, Options options)
      : target_(std::move(target)),
        options_(std::move(options)),
        display_url_(DisplayUrl(target_)) {
    InitializeCurl();
    easy_ = curl_easy_init();
    multi_ = curl_multi_init();
    if (easy_ != nullptr) SetOptions();
  }
  ~Connection() {
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }

  const std::string& display_url() const { return display_url_; }

  absl::StatusOr<HttpAnswer> Post(
      absl::string_view body, const std::function<absl::Status()>& on_wait) {
    if (easy_ == nullptr || multi_ == nullptr) {
      return absl::UnavailableError(
          "libcurl cannot be used; check that its libraries are installed");
    }
    HeaderList headers;
    RETURN_IF_ERROR(AddHeaders(&headers));
    RETURN_IF_ERROR(SetTlsFiles());
    Set(CURLOPT_HTTPHEADER, headers.list());
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    Set(CURLOPT_POSTFIELDS, body.data());
    header_bytes_ = 0;
    answer_ = HttpAnswer();
    error_[0] = '\0';
    absl::Status waited;
    const CURLcode code = Perform(on_wait, &waited);
    Set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    RETURN_IF_ERROR(waited);
    RETURN_IF_ERROR(Outcome(code));
    return std::exchange(answer_, HttpAnswer());
  }

  void Cancel() {
    is_cancelled_ = true;
    if (multi_ != nullptr) curl_multi_wakeup(multi_);
  }

 private:
  // Callbacks of curl. A result other than the size ends the transfer.
  static size_t TakeHeader(char*, size_t size, size_t count, void* connection) {
    size_t& bytes = static_cast<Connection*>(connection)->header_bytes_;
    bytes += size * count;
    return bytes <= kMaxHeaders ? size * count : 0;
  }
  static size_t TakeBody(char* data, size_t size, size_t count,
                         void* connection) {
    auto* own = static_cast<Connection*>(connection);
    HttpAnswer& answer = own->answer_;
    const size_t bytes = size * count;
    const size_t room = own->options_.max_body - answer.body.size();
    answer.body.append(data, std::min(bytes, room));
    answer.is_cut_off = bytes > room;
    return answer.is_cut_off ? 0 : bytes;
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
    Set(CURLOPT_HEADERDATA, this);
    Set(CURLOPT_WRITEFUNCTION, &TakeBody);
    Set(CURLOPT_WRITEDATA, this);
    SetTlsOptions();
  }

  void SetTlsOptions() {
    Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    Set(CURLOPT_CA_CACHE_TIMEOUT, 0L);  // a replaced file holds
    if (target_.authority.empty()) return;
    Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }

  // Gives curl the contents of the files of TLS. curl would open any kind of
  // file, such as a FIFO, and read any size. It keeps the connection while the
  // contents are the same.
  absl::Status SetTlsFiles() {
    RETURN_IF_ERROR(
        SetFile(CURLOPT_CAINFO_BLOB, target_.authority, ReadInputFile));
    RETURN_IF_ERROR(
        SetFile(CURLOPT_SSLCERT_BLOB, target_.certificate, ReadInputFile));
    return SetFile(CURLOPT_SSLKEY_BLOB, target_.key, ReadSecretFile);
  }

  using ReadAny = absl::StatusOr<std::string>(const std::string& path);
  absl::Status SetFile(CURLoption option, const std::string& path,
                       ReadAny* read) {
    if (path.empty()) return absl::OkStatus();
    absl::StatusOr<std::string> text = read(path);
    if (!text.ok()) return Unreadable(text.status());
    curl_blob blob = {
        .data = text->data(), .len = text->size(), .flags = CURL_BLOB_COPY};
    const CURLcode code = curl_easy_setopt(easy_, option, &blob);
    if (code == CURLE_OK) return absl::OkStatus();
    // Without it, curl would use the system's authorities.
    return absl::UnavailableError(
        absl::StrCat("libcurl cannot use ", path, ": ",
                     Printable(curl_easy_strerror(code))));
  }

  // The code of the error would say that the user lacks a right or named no
  // machine.
  static absl::Status Unreadable(const absl::Status& status) {
    return absl::FailedPreconditionError(status.message());
  }

  absl::Status AddHeaders(HeaderList* headers) const {
    for (const std::string& header : options_.headers) headers->Add(header);
    headers->Add(absl::StrCat("User-Agent: fleetperf-aggregator/", kVersion));
    // Without this line, curl would wait for "100 Continue" before large
    // bodies.
    headers->Add("Expect:");
    const auto authorization = ReadAuthorization(target_);
    if (!authorization.ok()) return Unreadable(authorization.status());
    if (!authorization->empty()) {
      headers->Add(absl::StrCat("Authorization: ", *authorization));
    }
    return absl::OkStatus();
  }

  // Runs the transfer until it ends or is cancelled. Sets `waited` to an error
  // of `on_wait`.
  CURLcode Perform(const std::function<absl::Status()>& on_wait,
                   absl::Status* waited) {
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) {
      return CURLE_FAILED_INIT;
    }
    int running = 1;
    while (!is_cancelled_) {
      if (curl_multi_perform(multi_, &running) != CURLM_OK) break;
      if (running == 0) break;
      if (on_wait) *waited = on_wait();
      if (!waited->ok()) break;
      curl_multi_poll(multi_, nullptr, 0,
                      on_wait ? kPollMillisWithCallback : kPollMillis, nullptr);
    }
    int waiting = 0;
    const CURLMsg* message = curl_multi_info_read(multi_, &waiting);
    if (message != nullptr && message->msg == CURLMSG_DONE) {
      code = message->data.result;
    }
    curl_multi_remove_handle(multi_, easy_);
    return code;
  }

  // Completes the answer.
  absl::Status Outcome(CURLcode code) {
    if (is_cancelled_ && code != CURLE_OK) {
      return absl::CancelledError("the client is stopping");
    }
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &answer_.status);
    const bool is_cut_off = code == CURLE_WRITE_ERROR && answer_.is_cut_off;
    if (code != CURLE_OK && !is_cut_off) {
      return absl::UnavailableError(absl::StrCat(
          options_.action, " ", display_url_, ": ",
          Printable(error_[0] != '\0' ? error_ : curl_easy_strerror(code)),
          Advice(code)));
    }
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0) {
      answer_.retry_after = std::min(absl::Seconds(seconds), kMaxRetryAfter);
    }
    return absl::OkStatus();
  }

  const EngineTarget target_;
  const Options options_;
  const std::string display_url_;
  CURL* easy_ = nullptr;
  CURLM* multi_ = nullptr;
  size_t header_bytes_ = 0;
  HttpAnswer answer_;
  char error_[CURL_ERROR_SIZE] = "";
  std::atomic<bool> is_cancelled_ = false;
};

HttpClient::HttpClient(EngineTarget target, Options options)
    : connection_(std::make_unique<Connection>(std::move(target),
                                               std::move(options))) {}

HttpClient::~HttpClient() = default;

absl::StatusOr<HttpAnswer> HttpClient::Post(
    absl::string_view body, const std::function<absl::Status()>& on_wait) {
  return connection_->Post(body, on_wait);
}

std::string HttpClient::Describe(const HttpAnswer& answer) const {
  const absl::string_view text = absl::StripAsciiWhitespace(
      absl::string_view(answer.body).substr(0, kMaxQuote));
  return absl::StrCat(connection_->display_url(), " answers with status ",
                      answer.status, text.empty() ? "" : ": ", Printable(text));
}

void HttpClient::Cancel() { connection_->Cancel(); }

}  // namespace fleetperf::aggregator
