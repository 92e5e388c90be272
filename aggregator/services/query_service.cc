#include <grpcpp/server_context.h>

#include "aggregator/services/admission.h"
#include "aggregator/services/query_answers.h"
#include "aggregator/services/services.h"
#include "base/rpc/rpc_error.h"
#include "base/server/working_call.h"
#include "fleetperf/v1/query.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

class QueryService : public v1::QueryService::Service {
 public:
  explicit QueryService(const QueryAnswers& answers) : answers_(answers) {}

  grpc::Status QueryRange(
      grpc::ServerContext* context, const v1::QueryRangeRequest* request,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) override {
    return Stream(context, &QueryAnswers::Range, *request, writer);
  }

  grpc::Status QueryRaw(
      grpc::ServerContext* context, const v1::QueryRawRequest* request,
      grpc::ServerWriter<v1::QueryRawResponse>* writer) override {
    return Stream(context, &QueryAnswers::Raw, *request, writer);
  }

  grpc::Status ExplainValue(grpc::ServerContext* context,
                            const v1::ExplainValueRequest* request,
                            v1::ExplainValueResponse* response) override {
    WorkingCall call(context);
    const auto caller = ReaderOf(&call);
    if (!caller.ok()) return RpcFromStatus(caller.status());
    return RpcFromStatus(answers_.Explain(*request, *caller, response));
  }

 private:
  template <typename Request, typename Response>
  grpc::Status Stream(
      grpc::ServerContext* context,
      absl::Status (QueryAnswers::*answer)(const Request&, const Caller&,
                                           const WritePart<Response>&) const,
      const Request& request, grpc::ServerWriter<Response>* writer) {
    WorkingCall call(context);
    const auto caller = ReaderOf(&call);
    if (!caller.ok()) return RpcFromStatus(caller.status());
    return RpcFromStatus(
        (answers_.*answer)(request, *caller, [&](const Response& response) {
          return call.Write(response, writer);
        }));
  }

  const QueryAnswers answers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(const QueryAnswers& answers) {
  return std::make_unique<QueryService>(answers);
}

}  // namespace fleetperf::aggregator
