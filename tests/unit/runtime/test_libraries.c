/* The libraries we stand on use our hook table: their allocations fail when ours do, and they take it well. */
#include <curl/curl.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/defs.h"
#include "base/str.h"
#include "stores/library.h"
#include "support/fault.h"
#include "support/test.h"
#include "upp/http/curl.h"

static void close_db(sqlite3 **db)
{
    (void)sqlite3_close(*db);
}

TEST(libraries_sqlite_uses_our_memory_and_files)
{
    char name[600];
    struct fault_account before = fault_account();
    WB_CLEANUP(close_db) sqlite3 *db = NULL;
    (void)snprintf(name, sizeof name, "%s/x.db", test_folder());
    CHECK_INT(sqlite3_open(name, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db,
                           "create table t(a); insert into t values (zeroblob(100000)); select sum(length(a)) from t;",
                           NULL, NULL, NULL),
              SQLITE_OK);
    struct fault_account now = fault_account();
    CHECK(now.blocks > before.blocks && now.fds > before.fds);
    CHECK_INT(sqlite3_exec(db, "pragma integrity_check", NULL, NULL, NULL), SQLITE_OK);
}

TEST(libraries_curl_uses_our_memory)
{
    struct fault_account before = fault_account();
    CURL *easy = curl_easy_init();
    CHECK(easy);
    CURLcode r = curl_easy_setopt(easy, CURLOPT_URL, "http://127.0.0.1:1/");
    struct fault_account now = fault_account();
    curl_easy_cleanup(easy);
    CHECK(r == CURLE_OK && now.blocks > before.blocks);
}

TEST(libraries_say_their_versions)
{
    struct wb_library curl = upp__curl_library(), sqlite = weft__sqlite_library();
    CHECK(curl.built && curl.running[0] && sqlite.built && sqlite.running[0]);
    CHECK_STR(wb_cstr(curl.name), UPP_STR("libcurl"));
}
