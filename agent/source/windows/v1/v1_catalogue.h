// The countersets of PerfLib V1 that a machine has.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_CATALOGUE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_CATALOGUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "agent/source/windows/v1/performance_data.h"
#include "base/logging.h"
#include "perflib/registration.h"
#include "perflib/v1/counterset.h"
#include "perflib/v1/data_reader.h"
#include "perflib/v1/names.h"

namespace fleetperf::agent {

// A counterset and its object.
struct V1Counterset {
  perflib::CountersetRegistration registration;
  perflib::V1Shape shape;  // of the object
  // The counterset is Process under the name of Process V2, whose instances are
  // called name:pid.
  bool is_process_v2 = false;
};

// Returns the counterset's object if it is sound to its end. Otherwise returns
// null and sets `*error` to ERROR_INVALID_DATA, or to ERROR_NO_DATA if the
// object is absent from sound data.
const perflib::V1Object* FindSoundObject(const perflib::ParsedV1Data& data,
                                         const V1Counterset& counterset,
                                         uint32_t* error);

// Thread-safe.
class V1Catalogue {
 public:
  // `language` names the system's table of names, such as "007" for German, for
  // objects without an English name; empty if it is English. Objects that have
  // no name there either are called "object N", by their title index.
  explicit V1Catalogue(std::string language = "")
      : language_(std::move(language)) {}

  // Lists the objects, which replaces the countersets; those of earlier lists
  // stay while their objects have their names. If the list as a whole
  // fails, because one provider hangs or crashes, reads the objects one by one:
  // the well-known ones, those of earlier lists, and those named by Want; and
  // those that only patterns of Want match in halves of ever fewer. Each read
  // may take as long as `data` allows. Returns an error if there are no names
  // or the machine does not answer.
  absl::Status List(PerformanceData* data);

  // Adds the countersets that a plan names: names, patterns or GUIDs. Returns
  // whether any is new.
  bool Want(const std::vector<std::string>& countersets);

  // Returns the problems of the last List: objects that could not be read, and
  // names that are not readable to their end.
  std::vector<std::string> problems() const;

  // Returns all countersets, by GUID.
  std::vector<std::shared_ptr<const V1Counterset>> all() const;

  // Returns null if there is no such counterset.
  std::shared_ptr<const V1Counterset> Find(const perflib::Guid& guid) const;

  // Replaces the countersets of an object that does not match their shape.
  // Reads the names first, because its title indexes may have another meaning
  // now.
  absl::Status Update(PerformanceData* data,
                      const perflib::ParsedV1Data& parsed,
                      const perflib::V1Object& object);

  // The log of defects in the data of all query handles. A handle is replaced
  // after each failure, so a log of its own would repeat its lines.
  LogOncePerCause& defect_log() { return defect_log_; }

 private:
  using Countersets =
      std::map<perflib::Guid, std::shared_ptr<const V1Counterset>>;

  absl::Status ReadNames(PerformanceData* data);
  // Reads the table of names.
  absl::Status ReadNameBytes(PerformanceData* data, std::string* bytes) const;
  // Returns the names, with one for this object.
  perflib::V1Names NamesWith(const perflib::V1Object& unnamed) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ListAll(PerformanceData* data, Countersets* found);
  void ListParts(PerformanceData* data, Countersets* found,
                 std::vector<std::string>* problems);
  // Reads the objects with these indexes. If that fails, reads each half.
  void ListPart(PerformanceData* data, absl::Span<const uint32_t> indexes,
                Countersets* found, std::vector<std::string>* problems);
  // Sets the indexes to read one by one, and those of counters or objects that
  // match a pattern of the plan.
  void FindCandidates(std::set<uint32_t>* named,
                      std::vector<uint32_t>* matched) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddObjects(const std::string& bytes, Countersets* found) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasItsName(const V1Counterset& counterset) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddObject(const perflib::ParsedV1Data& data,
                 const perflib::V1Object& object, Countersets* found) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string language_;
  mutable LogOncePerCause log_{absl::InfiniteDuration()};
  LogOncePerCause defect_log_;
  mutable absl::Mutex mutex_;
  std::string name_bytes_ ABSL_GUARDED_BY(mutex_);
  perflib::V1Names names_ ABSL_GUARDED_BY(mutex_);
  perflib::V1Names help_ ABSL_GUARDED_BY(mutex_);
  Countersets countersets_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> wanted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> problems_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_CATALOGUE_H_
