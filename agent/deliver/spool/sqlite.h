// SQLite's C functions, with our errors and without leaks.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fleetperf::agent {

class SqliteStatement;

// An open database. Errors: DataLoss if the file is damaged or none of
// SQLite's, InvalidArgument if a statement does not fit it, ResourceExhausted
// if the disk is full, FailedPrecondition if another process has it open, else
// Unavailable. Not thread-safe.
class SqliteDatabase {
 public:
  // Opens the file, or makes it.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  // Runs statements without parameters whose results nobody wants.
  absl::Status Execute(const std::string& sql);
  // The first column of the first row.
  absl::StatusOr<int64_t> GetNumber(const std::string& sql);
  absl::StatusOr<std::string> GetText(const std::string& sql);
  // A statement that is kept for use again and again. It must not outlive the
  // database.
  absl::StatusOr<SqliteStatement> Prepare(absl::string_view sql);

 private:
  SqliteDatabase() = default;
  absl::Status Error(int code) const;

  friend class SqliteStatement;
  sqlite3* database_ = nullptr;
  std::string path_;
};

class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Binds the next parameter. The bytes of a blob must stay until Run or the
  // last Next.
  SqliteStatement& Bind(int64_t number);
  SqliteStatement& BindBlob(absl::string_view bytes);
  SqliteStatement& BindText(absl::string_view text) { return BindBlob(text); }
  SqliteStatement& BindNull();

  // Runs it to its end, and makes it ready to be bound again.
  absl::Status Run();
  // Whether there is a row, or another one. At the end it is ready to be bound
  // again; whoever stops before must call Reset.
  absl::StatusOr<bool> Next();
  void Reset();

  // The columns of the row, from 0. The bytes stay until the next Next.
  int64_t Number(int column) const;
  absl::string_view Bytes(int column) const;
  bool IsNull(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  friend class SqliteDatabase;
  SqliteStatement(const SqliteDatabase* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  const SqliteDatabase* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_H_
