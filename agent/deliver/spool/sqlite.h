// A wrapper of SQLite's C functions with absl::Status and ownership.

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

// An open database. Errors: DataLoss if the file is damaged or not an SQLite
// database, InvalidArgument if a statement does not match the tables,
// ResourceExhausted if the disk is full, FailedPrecondition if another process
// has the database open, otherwise Unavailable. Thread-compatible.
class SqliteDatabase {
 public:
  // Opens or creates the file.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  // Runs statements without parameters and discards their results.
  absl::Status Execute(const std::string& sql);
  // Returns the first column of the first row.
  absl::StatusOr<int64_t> GetNumber(const std::string& sql);
  absl::StatusOr<std::string> GetText(const std::string& sql);
  // Compiles a statement that can run many times. It must not outlive the
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

  // Binds the next parameter. The bytes of a blob must stay valid until Run or
  // the last Next.
  SqliteStatement& Bind(int64_t number);
  SqliteStatement& BindBlob(absl::string_view bytes);
  SqliteStatement& BindText(absl::string_view text) { return BindBlob(text); }
  SqliteStatement& BindNull();

  // Runs the statement to its end, after which it can be bound again.
  absl::Status Run();
  // Moves to the next row. Returns false at the end, after which the statement
  // can be bound again. A caller that stops earlier must call Reset.
  absl::StatusOr<bool> Next();
  void Reset();

  // Return columns of the row, from 0. The bytes stay valid until Next.
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
