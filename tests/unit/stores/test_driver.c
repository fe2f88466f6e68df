#include "stores/driver.h"

#include "support/test.h"

TEST(driver_is_found_by_the_scheme_of_an_address)
{
    struct upp_str path;
    CHECK(ws_driver_find(UPP_STR("sqlite:a/b.db"), &path) == &ws_sqlite_driver);
    CHECK_STR(path, UPP_STR("a/b.db"));
    CHECK(ws_driver_find(UPP_STR("sqlite:"), &path) == &ws_sqlite_driver && !path.n); /* its path is checked later */
    CHECK(ws_driver_find(UPP_STR("memory:"), &path) == &ws_memory_driver && !path.n);
    CHECK(!ws_driver_find(UPP_STR("memory:x"), &path));
    CHECK(!ws_driver_find(UPP_STR("memory"), &path));
    CHECK(!ws_driver_find(UPP_STR("postgres:x"), &path));
    CHECK(!ws_driver_find((struct upp_str){0}, &path));
}

/* What the callers rely on: whatever another process can open has an owner to ask, and nothing else has. */
TEST(drivers_that_outlive_the_process_have_owners)
{
    CHECK(ws_sqlite_driver.durable && ws_sqlite_driver.owner && ws_sqlite_driver.socket);
    CHECK(!ws_memory_driver.durable && !ws_memory_driver.owner && !ws_memory_driver.socket);
}
