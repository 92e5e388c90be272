#include "agent/deliver/spool/sqlite.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::agent {

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path) {
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase);
  database->path_ = path;
  const int code = sqlite3_open_v2(
      path.c_str(), &database->database_,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      /*vfs=*/nullptr);
  if (code != SQLITE_OK) return database->Error(code);
  sqlite3_extended_result_codes(database->database_, 1);
  // Triggers and views in a foreign file could run forever.
  for (const int option :
       {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW}) {
    sqlite3_db_config(database->database_, option, 0, /*is_on=*/nullptr);
  }
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(database_); }

absl::Status SqliteDatabase::Error(int code) const {
  const std::string text = absl::StrCat(
      path_, ": ",
      database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(code));
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(text);
    case SQLITE_ERROR:
      return absl::InvalidArgumentError(text);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::FailedPreconditionError(
          absl::StrCat(path_, " is in use by another process"));
    case SQLITE_IOERR:
      // The disk became full while the write-ahead log grew.
      if (sqlite3_system_errno(database_) == ENOSPC) {
        return absl::ResourceExhaustedError(text);
      }
      return absl::UnavailableError(text);
    default:
      return absl::UnavailableError(text);
  }
}

absl::Status SqliteDatabase::Execute(const std::string& sql) {
  const int code =
      sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::StatusOr<int64_t> SqliteDatabase::GetNumber(const std::string& sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool found, statement.Next());
  return found ? statement.Number(0) : 0;
}

absl::StatusOr<std::string> SqliteDatabase::GetText(const std::string& sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool found, statement.Next());
  return found ? std::string(statement.Bytes(0)) : "";
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(absl::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(
      database_, sql.data(), static_cast<int>(sql.size()),
      SQLITE_PREPARE_PERSISTENT, &statement, /*tail=*/nullptr);
  if (code != SQLITE_OK) return Error(code);
  return SqliteStatement(this, statement);
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::Bind(int64_t number) {
  sqlite3_bind_int64(statement_.get(), ++bound_, number);
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(absl::string_view bytes) {
  // A null pointer would be NULL.
  sqlite3_bind_blob64(statement_.get(), ++bound_,
                      bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_STATIC);
  return *this;
}

SqliteStatement& SqliteStatement::BindNull() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

absl::Status SqliteStatement::Run() {
  ASSIGN_OR_RETURN(bool more, Next());
  while (more) {
    ASSIGN_OR_RETURN(more, Next());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> SqliteStatement::Next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  absl::Status status;
  if (code != SQLITE_DONE) status = database_->Error(code);
  Reset();
  if (!status.ok()) return status;
  return false;
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bound_ = 0;
}

int64_t SqliteStatement::Number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

absl::string_view SqliteStatement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return absl::string_view(static_cast<const char*>(bytes),
                           static_cast<size_t>(size));
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace fleetperf::agent
