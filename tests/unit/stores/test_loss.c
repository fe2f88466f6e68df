/* A store whose process dies has all that it acknowledged, and is never refused for nothing; one of which something is
 * missing is refused by name, or opened without. (tests/server/loss.py damages logs of the real program.) */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/random.h"
#include "stores/sqlite/store.h"
#include "support/stores.h"

static char path_of[512];

static const char *db_path(void)
{
    (void)snprintf(path_of, sizeof path_of, "%s/weft.db", test_folder());
    return path_of;
}

static const char *name(const char *with)
{
    static char text[600];
    (void)snprintf(text, sizeof text, "%s%s", path_of, with);
    return text;
}

enum { MOST = 1 << 20 };

/* Shared with the process that dies. */
struct life {
    _Atomic uint64_t next;    /* the node that is added next */
    _Atomic uint64_t told;    /* how many are acknowledged */
    _Atomic bool is[MOST];    /* which */
    _Atomic unsigned refused; /* it could not be opened */
    char why[512];
};

static struct life *life;

/* Nodes one after the other, each with a row of its own or none, every other one not synced: the log begins anew all
 * the time. */
WEFT_SUSPENDS static int add_forever(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    int r = ws_sqlite_open(
        UPP_OPTS(ws_sqlite_opts, .path = path_of, .wal_pages = 8, .reserve_kib = UINT32_MAX, .flush_ms = 5), &s, err);
    if (r < 0) {
        (void)snprintf(life->why, sizeof life->why, "%s: %s", err->where, err->msg);
        atomic_store(&life->refused, 1);
        return r;
    }
    for (uint64_t k; (k = atomic_fetch_add(&life->next, 1)) < MOST;) {
        struct wl_node n = test_node(k + 1);
        struct wl_row row = test_row(k + 1, 0, 1, "a row");
        struct wl_change changes[2] = {ADD_NODE(&n), ADD_ROW(&row)};
        struct wl_commit c = {.owner = ALICE, .changes = changes, .n = 1 + k % 3 / 2, .flags = k % 2 ? WL_SYNCED : 0};
        TRY(wl_store_commit(s, &c, err));
        atomic_store(&life->is[k], true);
        (void)atomic_fetch_add(&life->told, 1);
    }
    return 0;
}

WEFT_SUSPENDS static int count(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    uint64_t *missing = arg;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of, .reserve_kib = UINT32_MAX), &s, err));
    uint64_t next = atomic_load(&life->next);
    struct wl_node n;
    int r = 0;
    for (uint64_t k = next > 500 ? next - 500 : 0; r >= 0 && k < next; k++) {
        int one = atomic_load(&life->is[k]) ? wl_get_node(s, &ALICE, k + 1, &n, err) : 0;
        *missing += one == -UPP_ENOTFOUND;
        r = one == -UPP_ENOTFOUND ? 0 : one;
    }
    s->ops->close(s);
    return r;
}

TEST_WITH(store_loss_is_never_claimed_wherever_it_dies, .no_torture = "it is another process that dies", .seconds = 240)
{
    const int lives = (int)test_times("WEFT_LIVES", 60);
    life = mmap(NULL, sizeof *life, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(life != MAP_FAILED);
    (void)db_path();
    uint64_t missing = 0, before = 0;
    unsigned worked = 0;
    int r = 0;
    for (int i = 0; r >= 0 && i < lives && !atomic_load(&life->refused); i++) {
        struct upp_err err = {0};
        pid_t pid = fork();
        if (pid == 0)
            _exit(test_on_loop(add_forever, NULL, &err) < 0);
        for (int k = 0; k < 2000 && atomic_load(&life->told) == before && !atomic_load(&life->refused); k++)
            (void)usleep(5000);
        (void)usleep((useconds_t)(wb_mix((uint64_t)i) % 40000));
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        worked += atomic_load(&life->told) > before;
        before = atomic_load(&life->told);
        if (i % 4 == 3 || i + 1 == lives) { /* else the next one finds it as it is */
            r = test_on_loop(count, &missing, &err);
            if (r < 0)
                (void)snprintf(life->why, sizeof life->why, "%s: %s", err.where, err.msg);
        }
    }
    test_note("%llu commits in %u lives: %s", (unsigned long long)before, worked, life->why);
    bool refused = atomic_load(&life->refused);
    (void)munmap(life, sizeof *life);
    CHECK_INT(r, 0);
    CHECK(!refused);
    CHECK_INT(missing, 0);
    CHECK_INT(worked, lives);
}

/* A store that is not closed: its descriptors go, and what it wrote is there. */
WEFT_SUSPENDS static int leave(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of, .reserve_kib = UINT32_MAX), &s, err));
    int r = 0;
    for (uint64_t k = 1; r >= 0 && k <= 20; k++) {
        struct wl_node n = test_node(k);
        struct wl_row row = test_row(k, 0, 1, "a row");
        r = COMMIT(s, ALICE, NULL, err, ADD_NODE(&n), ADD_ROW(&row));
    }
    atomic_store(&ws_sqlite(s)->vfs.sync_failed, r >= 0); /* as if it had died: the log stays */
    s->ops->close(s);
    return r;
}

static bool damage(void)
{
    unsigned char b = 0;
    int fd = open(name("-wal"), O_RDWR | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && pread(fd, &b, 1, st.st_size / 2) == 1;
    b ^= 1;
    ok = ok && pwrite(fd, &b, 1, st.st_size / 2) == 1;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static int try_open(bool accept, bool read_only, struct upp_err *err)
{
    struct wl_store *s = NULL;
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of, .reserve_kib = UINT32_MAX, .accept_loss = accept,
                                    .read_only = read_only),
                           &s, err);
    if (r >= 0)
        s->ops->close(s);
    return r;
}

TEST(store_loss_is_refused_and_can_be_accepted)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf accepted = WB_BUF(1 << 16);
    static const char *const all[] = {"", "-wal", "-shm", ".lock"};
    struct ws_losses losses = {.accepted = &accepted};
    struct upp_err err = {0};
    (void)db_path();
    for (size_t i = 0; i < WB_LEN(all); i++)
        (void)unlink(name(all[i])); /* of the run before, under faults */
    CHECK_INT(test_on_loop(leave, NULL, &err), 0);
    CHECK_INT(ws_sqlite_losses(path_of, &losses, &err), 0);
    CHECK(!losses.missing[0] && !accepted.n);
    CHECK(damage());
    CHECK_INT(try_open(false, false, &err), -UPP_ESTORE);
    CHECK(strstr(err.where, "weft.db-wal") && strstr(err.msg, "is damaged"));
    CHECK_INT(try_open(true, true, &err), -UPP_ESTORE); /* who only reads accepts nothing */
    CHECK_INT(ws_sqlite_losses(path_of, &losses, &err), 0);
    CHECK(strstr(losses.missing, "acknowledged"));
    CHECK_INT(try_open(true, false, &err), 0);
    CHECK_INT(try_open(false, false, &err), 0);
    CHECK_INT(ws_sqlite_losses(path_of, &losses, &err), 0);
    CHECK(!losses.missing[0] && accepted.n);
}
