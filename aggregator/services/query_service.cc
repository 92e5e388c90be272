#include "aggregator/services/query_service.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "aggregator/rpc/working_call.h"
#include "aggregator/services/admission.h"
#include "aggregator/services/query_answers.h"
#include "base/rpc_error.h"
#include "fleetperf/v1/query.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

class QueryService : public v1::QueryService::Service {
 public:
  explicit QueryService(QueryAnswers answers) : answers_(std::move(answers)) {}

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

std::unique_ptr<grpc::Service> MakeQueryService(Store* store, Fleet* fleet,
                                                MachineNow now_of,
                                                WorkSlots* slots) {
  return std::make_unique<QueryService>(
      QueryAnswers({.store = store,
                    .fleet = fleet,
                    .now_of = std::move(now_of),
                    .slots = slots}));
}

}  // namespace fleetperf::aggregator
