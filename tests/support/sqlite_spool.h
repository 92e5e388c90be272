// Creates spools as agents of versions up to 0.1 did: SQLite databases.

#ifndef FLEETPERF_TESTS_SUPPORT_SQLITE_SPOOL_H_
#define FLEETPERF_TESTS_SUPPORT_SQLITE_SPOOL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/deliver/spool/sqlite.h"

namespace fleetperf::testing {

// Creates an empty spool at `path` and executes `sql` on it.
inline absl::Status MakeSqliteSpool(const std::string& path,
                                    const std::string& sql) {
  constexpr char kSchema[] = R"(
    CREATE TABLE epochs(
      number INTEGER PRIMARY KEY, id INTEGER NOT NULL,
      forked_from INTEGER NOT NULL, acknowledged INTEGER NOT NULL,
      last_sequence INTEGER NOT NULL);
    CREATE TABLE batches(
      key INTEGER PRIMARY KEY, age INTEGER NOT NULL, ticks INTEGER NOT NULL,
      first_tick INTEGER NOT NULL, last_tick INTEGER NOT NULL,
      losses BLOB NOT NULL, dropped INTEGER, compression INTEGER NOT NULL,
      content_size INTEGER NOT NULL, size INTEGER NOT NULL, payload BLOB);
    CREATE TABLE ticks(
      number INTEGER PRIMARY KEY, ticks INTEGER NOT NULL,
      first_tick INTEGER NOT NULL, last_tick INTEGER NOT NULL,
      content BLOB NOT NULL);
    CREATE TABLE definitions(
      epoch INTEGER NOT NULL, id INTEGER NOT NULL, kind INTEGER NOT NULL,
      definition BLOB NOT NULL, PRIMARY KEY(epoch, id)) WITHOUT ROWID;
    CREATE TABLE process(
      one INTEGER PRIMARY KEY, age INTEGER NOT NULL,
      last_tick INTEGER NOT NULL, ended INTEGER NOT NULL,
      boot_id TEXT NOT NULL, losses BLOB NOT NULL);
    INSERT INTO process VALUES (1, 0, 0, 1, '', x'');
    PRAGMA user_version = 1;
  )";
  auto database = agent::SqliteDatabase::Open(path);
  if (!database.ok()) return database.status();
  return (*database)->Execute(absl::StrCat(kSchema, sql));
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SQLITE_SPOOL_H_
