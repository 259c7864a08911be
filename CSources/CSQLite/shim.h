// SPDX-License-Identifier: Apache-2.0

/// SQLite, and what of it Swift cannot import: constants that are casts, and functions with variable arguments.

#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

/// Binds bytes; SQLite copies them. A null pointer with size 0 binds an empty blob, not NULL.
static inline int csqlite_bind_bytes(sqlite3_stmt *statement, int place, const void *bytes, int size) {
  return size == 0 ? sqlite3_bind_zeroblob(statement, place, 0)
                   : sqlite3_bind_blob(statement, place, bytes, size, SQLITE_TRANSIENT);
}

/// Switches off what a damaged or planted database file could use against its reader.
static inline int csqlite_defend(sqlite3 *connection) {
  int result = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (result == SQLITE_OK) {
    result = sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
  }
  return result;
}

#endif
