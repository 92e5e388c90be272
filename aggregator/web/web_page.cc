#include "aggregator/web/web_page.h"

#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/web/api.h"
#include "aggregator/web/assets.h"
#include "aggregator/web/logins.h"
#include "aggregator/web/router.h"
#include "aggregator/web/tls.h"
#include "aggregator/web/web_server.h"
#include "base/os/os.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator::web {
namespace {

bool IsAnyAddress(absl::string_view host) {
  return host.empty() || host == "0.0.0.0" || host == "[::]" || host == "::";
}

// Returns the first name that a link can have, or else the host's own.
std::string LinkHostOf(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (absl::StrContains(name, '*')) continue;
    return absl::StrContains(name, ':') ? absl::StrCat("[", name, "]") : name;
  }
  return HostName();
}

// Returns the start of links to a page that listens at `address`.
std::string UrlOf(const std::string& address,
                  const CertificateInfo& certificate) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (IsAnyAddress(host)) host = LinkHostOf(certificate.names);
  return absl::StrCat("https://", host, address.substr(colon));
}

class RunningWebPage : public WebPage {
 public:
  RunningWebPage(const Options& options, const FleetLists& lists,
                 const QueryAnswers& queries, Subscriptions* subscriptions,
                 const MetricsParts& metrics)
      : options_(options),
        logins_(options.clients.get(), options.clock),
        quota_(metrics.quota),
        api_(lists, queries, subscriptions, metrics, options.others) {}

  absl::Status Serve() {
    ASSIGN_OR_RETURN(auto tls,
                     TlsServer::Make(options_.own, options_.authority));
    ASSIGN_OR_RETURN(
        server_,
        WebServer::Start(
            {.listen = options_.listen, .address_file = options_.address_file},
            std::move(tls), options_.clients, quota_, &router_));
    return absl::OkStatus();
  }

  const std::string& address() const override { return server_->address(); }

  Counts counts() const override {
    const ConnectionCounts counts = server_->CountConnections();
    const int64_t refused = std::accumulate(
        std::begin(counts.refused), std::end(counts.refused), int64_t{0});
    return {.connections = static_cast<uint64_t>(counts.open),
            .refused_connections = static_cast<uint64_t>(refused),
            .requests = router_.requests(),
            .denied_requests = router_.denied(),
            .viewers = server_->streams()};
  }

  absl::StatusOr<std::string> MakeLoginLink(
      const CertificateInfo& certificate) override {
    const auto identity = IdentityOf(certificate);
    if (!identity.has_value()) {
      return absl::PermissionDeniedError(
          "the page is for readers and operators");
    }
    ASSIGN_OR_RETURN(const std::string token, logins_.MakeToken(*identity));
    const std::string url = options_.public_url.empty()
                                ? UrlOf(address(), options_.own->certificate())
                                : options_.public_url;
    return absl::StrCat(url, "/login?token=", token);
  }

 private:
  const Options options_;
  const Assets assets_ = Assets::OfExecutable();
  Logins logins_;
  CallerQuota* const quota_;
  Api api_;
  Router router_{&assets_, &logins_, &api_};
  // Last: its destruction closes the connections, which ends the work of the
  // interface's threads.
  std::unique_ptr<WebServer> server_;
};

static_assert(WebPage::kLoginLinkLife == Logins::kTokenLife);

}  // namespace

absl::StatusOr<std::unique_ptr<WebPage>> WebPage::Start(
    const Options& options, const FleetLists& lists,
    const QueryAnswers& queries, Subscriptions* subscriptions,
    const MetricsParts& metrics) {
  auto page = std::make_unique<RunningWebPage>(options, lists, queries,
                                               subscriptions, metrics);
  RETURN_IF_ERROR(page->Serve());
  return page;
}

}  // namespace fleetperf::aggregator::web
