#include "agent/collect/registrations.h"

#include <string>
#include <vector>

#include "agent/deliver/catalogue.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "proto/conversions.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using perflib::CountersetRegistration;
using perflib::RegistrationRequest;
using ::testing::ElementsAre;
using testing::FakeSource;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

CountersetRegistration WithHelp() {
  CountersetRegistration registration = testing::DiskRegistration();
  registration.help = "What disks do.";
  registration.provider_name = "diskperf";
  registration.counters[0].help = "Reads.";
  registration.counters[2].help = "Writes.";
  return registration;
}

TEST(LoadRegistration, AssemblesTheParts) {
  FakeSource source({WithHelp()});
  ASSERT_OK_AND_ASSIGN(const auto registration,
                       LoadRegistration(source, testing::kDiskGuid));
  EXPECT_EQ(registration, WithHelp());
}

TEST(LoadRegistration, ToleratesMissingHelp) {
  FakeSource source({WithHelp()});
  source.Change([](FakeSource::Script& script) {
    script.refused_requests = {RegistrationRequest::kCountersetHelp,
                               RegistrationRequest::kProviderName,
                               RegistrationRequest::kCounterHelp};
  });
  ASSERT_OK_AND_ASSIGN(const auto registration,
                       LoadRegistration(source, testing::kDiskGuid));
  EXPECT_EQ(registration, testing::DiskRegistration());
}

TEST(LoadRegistration, RequiresAllOtherParts) {
  const std::set<RegistrationRequest> kRequired[] = {
      {RegistrationRequest::kCountersetStruct},
      {RegistrationRequest::kCountersetEnglishName,
       RegistrationRequest::kCountersetName},
      {RegistrationRequest::kCounterEnglishNames,
       RegistrationRequest::kCounterNames}};
  for (const auto& requests : kRequired) {
    FakeSource source({WithHelp()});
    source.Change([&](FakeSource::Script& script) {
      script.refused_requests = requests;
    });
    EXPECT_THAT(LoadRegistration(source, testing::kDiskGuid),
                StatusIs(absl::StatusCode::kNotFound, "refused"));
  }
}

TEST(LoadRegistration, UsesLocalizedNamesWithoutEnglishOnes) {
  FakeSource source({testing::SystemRegistration()});
  source.Change([](FakeSource::Script& script) {
    script.localized_prefix = "de ";
    script.refused_requests = {RegistrationRequest::kCountersetEnglishName,
                               RegistrationRequest::kCounterEnglishNames};
  });
  CountersetRegistration german = testing::SystemRegistration();
  german.name = "de System";
  german.counters[0].name = "de Processes";
  german.counters[1].name = "de Threads";
  ASSERT_OK_AND_ASSIGN(const auto registration,
                       LoadRegistration(source, testing::kSystemGuid));
  EXPECT_EQ(registration, german);
  // A counterset with empty English names has none, either.
  CountersetRegistration nameless = testing::SystemRegistration();
  nameless.name.clear();
  FakeSource empty({nameless});
  empty.Change([](FakeSource::Script& script) {
    script.localized_prefix = "System (de)";
  });
  ASSERT_OK_AND_ASSIGN(const auto named,
                       LoadRegistration(empty, testing::kSystemGuid));
  EXPECT_EQ(named.name, "System (de)");
  EXPECT_EQ(named.counters[0].name, "Processes");
}

// PERF_COUNTER_REG_INFO allows -10 to 10.
TEST(LoadRegistration, ResetsInvalidScales) {
  CountersetRegistration wild = WithHelp();
  wild.counters[0].default_scale = 10;
  wild.counters[1].default_scale = -10;
  wild.counters[2].default_scale = 11;
  wild.counters[3].default_scale = INT32_MIN;
  FakeSource source({wild});
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(const auto registration,
                       LoadRegistration(source, testing::kDiskGuid, &warnings));
  EXPECT_EQ(registration.counters[0].default_scale, 10);
  EXPECT_EQ(registration.counters[1].default_scale, -10);
  EXPECT_EQ(registration.counters[2].default_scale, 0);
  EXPECT_EQ(registration.counters[3].default_scale, 0);
  EXPECT_THAT(
      warnings,
      ElementsAre(HasSubstr("DefaultScale is 11, not between -10 and 10"),
                  HasSubstr("DefaultScale is -2147483648")));
}

TEST(LoadRegistrations, AreSortedByName) {
  FakeSource source({testing::SystemRegistration(), testing::DiskRegistration(),
                     testing::ProcessRegistration()});
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(
      const auto registrations,
      LoadRegistrations(source, {}, std::atomic<bool>(false), &warnings));
  EXPECT_EQ(registrations, testing::TestRegistrations());
  EXPECT_THAT(warnings, IsEmpty());
}

// One bad counterset does not affect the others.
class HalfBrokenSource : public FakeSource {
 public:
  using FakeSource::FakeSource;
  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& counterset, RegistrationRequest request,
      uint32_t argument) override {
    auto bytes = FakeSource::QueryCounterSetRegistrationInfo(counterset,
                                                             request, argument);
    const bool cut = counterset == testing::kProcessGuid &&
                     request == RegistrationRequest::kCountersetStruct;
    return cut ? bytes->substr(0, 31) : bytes;
  }
};

TEST(LoadRegistrations, OmitUnreadableCountersets) {
  HalfBrokenSource source(testing::TestRegistrations());
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(
      const auto registrations,
      LoadRegistrations(source, {}, std::atomic<bool>(false), &warnings));
  EXPECT_THAT(registrations, ElementsAre(testing::DiskRegistration(),
                                         testing::SystemRegistration()));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr(
                            "counterset {0000000f-0000-0000-0000-000000000000}"
                            ": offset 0: PERF_COUNTERSET_REG_INFO needs 32 "
                            "bytes, 31 remain")));
}

TEST(LoadRegistrations, OmitRefusedCountersets) {
  FakeSource source(testing::TestRegistrations());
  source.Change([](FakeSource::Script& script) {
    script.refused_countersets = {
        {testing::kDiskGuid, absl::PermissionDeniedError("denied")},
        {testing::kSystemGuid, absl::UnavailableError("RPC server")}};
  });
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(
      const auto registrations,
      LoadRegistrations(source, {}, std::atomic<bool>(false), &warnings));
  EXPECT_THAT(registrations, ElementsAre(testing::ProcessRegistration()));
  EXPECT_THAT(warnings,
              UnorderedElementsAre(HasSubstr("denied"), HasSubstr("RPC")));
}

// A source that refuses every counterset is a problem of the source, unless
// others of it are known.
TEST(LoadRegistrations, FailIfAllAreRefused) {
  FakeSource source({testing::DiskRegistration()});
  source.Change([](FakeSource::Script& script) {
    script.refused_countersets = {
        {testing::kDiskGuid, absl::PermissionDeniedError("denied")}};
  });
  std::vector<std::string> warnings;
  EXPECT_THAT(
      LoadRegistrations(source, {}, std::atomic<bool>(false), &warnings),
      StatusIs(absl::StatusCode::kPermissionDenied, "denied"));
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto registrations,
                       LoadRegistrations(source, {testing::kSystemGuid},
                                         std::atomic<bool>(false), &warnings));
  EXPECT_THAT(registrations, IsEmpty());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("denied")));
}

TEST(LoadRegistrations, OmitOneCountersetThatHangs) {
  FakeSource source(testing::TestRegistrations());
  source.Change([](FakeSource::Script& script) {
    script.refused_countersets = {
        {testing::kDiskGuid, absl::DeadlineExceededError("no answer")}};
  });
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(
      const auto registrations,
      LoadRegistrations(source, {}, std::atomic<bool>(false), &warnings));
  EXPECT_THAT(registrations, ElementsAre(testing::ProcessRegistration(),
                                         testing::SystemRegistration()));
}

TEST(HasChanged, ComparesAllButHelpTexts) {
  CountersetRegistration registration = WithHelp();
  FakeSource source({registration});
  EXPECT_THAT(HasChanged(source, testing::DiskRegistration()),
              testing::IsOkAndHolds(false));
  registration.counters[0].type = perflib::kPerfCounterLargeRawcount;
  source.Register(registration);
  EXPECT_THAT(HasChanged(source, testing::DiskRegistration()),
              testing::IsOkAndHolds(true));
  registration = WithHelp();
  registration.counters[0].name = "Reads per second";
  source.Register(registration);
  EXPECT_THAT(HasChanged(source, testing::DiskRegistration()),
              testing::IsOkAndHolds(true));
  registration = WithHelp();
  registration.name = "Drive";
  source.Register(registration);
  EXPECT_THAT(HasChanged(source, testing::DiskRegistration()),
              testing::IsOkAndHolds(true));
  source.Change([](FakeSource::Script& script) {
    script.refused_requests = {RegistrationRequest::kCountersetStruct};
  });
  EXPECT_THAT(HasChanged(source, testing::DiskRegistration()),
              StatusIs(absl::StatusCode::kNotFound, "refused"));
}

// Other countersets would fail, too, and missing ones must not look absent.
TEST(LoadRegistrations, FailIfTheSourceDoesNotAnswer) {
  class SilentSource : public FakeSource {
   public:
    using FakeSource::FakeSource;
    absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
        const perflib::Guid&, RegistrationRequest, uint32_t) override {
      return absl::DeadlineExceededError("no answer");
    }
  };
  SilentSource source(testing::TestRegistrations());
  std::vector<std::string> warnings;
  std::atomic<bool> stop = false;
  EXPECT_THAT(LoadRegistrations(source, {}, stop, &warnings),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "no answer"));
  stop = true;
  EXPECT_THAT(LoadRegistrations(source, {}, stop, &warnings),
              StatusIs(absl::StatusCode::kCancelled, "stopped"));
}

// The aggregator would reject their definitions and every batch that uses them.
TEST(LoadRegistrations, OmitCountersetsBeyondLimits) {
  CountersetRegistration long_name = testing::DiskRegistration();
  long_name.counters[0].name = std::string(4097, 'x');
  CountersetRegistration many = testing::ProcessRegistration();
  many.counters.resize(4097);
  FakeSource source({long_name, many, testing::SystemRegistration()});
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(
      const auto registrations,
      LoadRegistrations(source, {}, std::atomic<bool>(false), &warnings));
  EXPECT_THAT(registrations, ElementsAre(testing::SystemRegistration()));
  EXPECT_THAT(
      warnings,
      UnorderedElementsAre(
          HasSubstr("CounterRegistration.name has 4097 bytes, more than 4096"),
          HasSubstr("has 4097 counters, more than 4096")));
}

TEST(Catalogue, HoldsEveryCountersetWithHelp) {
  const HashedCatalogue hashed =
      MakeCatalogue({WithHelp(), testing::SystemRegistration()});
  const v1::Catalogue& catalogue = hashed.catalogue;
  ASSERT_EQ(catalogue.compression(), v1::COMPRESSION_ZSTD);
  std::string bytes;
  ASSERT_OK(
      ZstdDecompress(catalogue.payload(), catalogue.content_size(), &bytes));
  EXPECT_EQ(hashed.hash, Sha256(bytes));
  v1::CatalogueContent content;
  ASSERT_TRUE(content.ParseFromString(bytes));
  std::vector<CountersetRegistration> countersets;
  for (const v1::CountersetRegistration& counterset : content.countersets()) {
    countersets.push_back(FromProto(counterset).value());
  }
  // Sorted by GUID.
  EXPECT_THAT(countersets,
              ElementsAre(testing::SystemRegistration(), WithHelp()));
}

TEST(Catalogue, IsIndependentOfTheOrder) {
  const HashedCatalogue one =
      MakeCatalogue({WithHelp(), testing::SystemRegistration()});
  const HashedCatalogue other =
      MakeCatalogue({testing::SystemRegistration(), WithHelp()});
  EXPECT_EQ(one.hash, other.hash);
  EXPECT_EQ(one.catalogue.SerializeAsString(),
            other.catalogue.SerializeAsString());
  EXPECT_NE(one.hash, MakeCatalogue({WithHelp()}).hash);
}

}  // namespace
}  // namespace fleetperf::agent
