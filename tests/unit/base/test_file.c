#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hooks.h"
#include "base/random.h"
#include "support/fault.h"
#include "support/test.h"

/* PATH in the folder of the test. */
static const char *in_folder(const char *name)
{
    static char path[2][512];
    static int turn;
    turn ^= 1;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", test_folder(), name);
    return path[turn];
}

/* What a file holds, past the hooks: "" when it is not there. */
static struct upp_str content(const char *path)
{
    static char bytes[256 * 1024];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        (void)fclose(f);
    return wb_str(bytes, n);
}

static size_t files_in(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    (void)closedir(d);
    return n;
}

static void old_or_new(int (*write)(const char *path, struct upp_str bytes, unsigned mode, struct upp_err *err))
{
    static char large[200000];
    const char *path = in_folder("f");
    struct upp_err err;
    memset(large, 'n', sizeof large);
    struct upp_str fresh = wb_str(large, sizeof large), old = UPP_STR("old");
    wb_random_forget(); /* so that randomness is asked for, and may fail */

    int r = write(path, old, 0600, &err);
    struct upp_str is = content(path);
    ALWAYS(is.n == 0 || wb_str_eq(is, old));
    ALWAYS(r < 0 || is.n == old.n);
    CHECK(r == 0);
    r = write(path, fresh, 0600, &err);
    is = content(path);
    ALWAYS(wb_str_eq(is, fresh) || wb_str_eq(is, old));
    ALWAYS(r < 0 || is.n == fresh.n);
    CHECK(r == 0);
    CHECK_INT(files_in(test_folder()), 1);
    r = write(path, (struct upp_str){0}, 0600, &err);
    CHECK(r == 0 && content(path).n == 0);
}

TEST(file_is_old_or_new_never_half)
{
    old_or_new(wb_file_write);
}

TEST(file_is_old_or_new_also_where_the_disk_is_not_waited_for)
{
    old_or_new(wb_file_write_unsynced);
}

TEST(file_write_leaves_nothing_behind_when_it_fails)
{
    struct upp_err err;
    CHECK(mkdir(in_folder("d"), 0700) == 0);
    CHECK(mkdir(in_folder("d/e"), 0700) == 0);
    int r = wb_file_write(in_folder("d"), UPP_STR("x"), 0600, &err); /* a folder cannot be replaced */
    CHECK(r < 0);
    CHECK_INT(r, -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.cause), UPP_STR("EISDIR"));
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cannot replace: is a directory"));
    CHECK_STR(wb_cstr(err.where), wb_cstr(in_folder("d")));
    CHECK_INT(files_in(test_folder()), 1);
    r = wb_file_write(in_folder("none/f"), UPP_STR("x"), 0600, &err);
    CHECK_INT(r, -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cannot make a file beside it: no such file or directory"));
}

TEST(file_has_the_mode_asked_for)
{
    struct stat st;
    CHECK(wb_file_write(in_folder("f"), UPP_STR("x"), 0640, NULL) == 0);
    CHECK(stat(in_folder("f"), &st) == 0 && (st.st_mode & 0737) == 0600); /* the umask may take group bits */
    CHECK(wb_file_write(in_folder("f"), UPP_STR("x"), 0600, NULL) == 0);
    CHECK(stat(in_folder("f"), &st) == 0 && (st.st_mode & 0777) == 0600);
}

TEST(file_writes_where_it_stands)
{
    /* No slash in the path: the folder to sync is the current one. */
    char was[512];
    struct upp_err err;
    CHECK(getcwd(was, sizeof was) && chdir(test_folder()) == 0);
    int r = wb_file_write("here", UPP_STR("x"), 0600, &err);
    int back = chdir(was);
    CHECK(back == 0 && r == 0);
    CHECK_STR(content(in_folder("here")), UPP_STR("x"));
}

TEST(file_is_read_whole_up_to_the_maximum)
{
    static char large[200000];
    struct upp_err err;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 2654435761u >> 16);
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, sizeof large};
    for (size_t i = 0; i < WB_LEN(sizes); i++)
        for (size_t spare = 0; spare < 2; spare++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4 + sizes[i] + spare);
            test_note("%zu bytes, %zu spare", sizes[i], spare);
            FILE *f = fopen(in_folder("f"), "wb");
            CHECK(f);
            bool wrote = fwrite(large, 1, sizes[i], f) == sizes[i];
            CHECK(fclose(f) == 0 && wrote);
            wb_buf_add(&b, UPP_STR("kept"));
            int r = wb_file_read(in_folder("f"), &b, &err);
            ALWAYS(r == 0 || b.n <= 4);
            CHECK(r == 0);
            CHECK(wb_str_eq(wb_buf_str(&b), UPP_STR("kept")) == (sizes[i] == 0));
            CHECK(wb_str_eq(wb_str_sub(wb_buf_str(&b), 4, SIZE_MAX), wb_str(large, sizes[i])));
            if (sizes[i] == 0)
                continue;
            WB_CLEANUP(wb_buf_done) struct wb_buf small = WB_BUF(sizes[i] - 1);
            r = wb_file_read(in_folder("f"), &small, &err);
            CHECK_INT(r, -UPP_ELIMIT);
            CHECK_STR(wb_cstr(err.where), wb_cstr(in_folder("f")));
            CHECK(small.n == 0 && !small.failed);
        }
}

TEST(file_read_says_what_and_where)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(100);
    struct upp_err err;
    CHECK_INT(wb_file_read(in_folder("none"), &b, &err), -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cannot open: no such file or directory"));
    CHECK_STR(wb_cstr(err.where), wb_cstr(in_folder("none")));
    CHECK_INT(wb_file_read(test_folder(), &b, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cannot read: is a directory"));
    CHECK_INT(wb_file_read(in_folder("none"), &b, NULL), -UPP_ENOTFOUND);
    b.failed = -UPP_ELIMIT;
    CHECK_INT(wb_file_read("/dev/null", &b, &err), -UPP_ELIMIT);
}

TEST(file_descriptors_move_all_bytes)
{
    char text[8] = "";
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(open)(in_folder("f"), O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0);
    CHECK(wb_fd_write(fd, UPP_STR("hello")) == 0 && wb_fd_write(fd, (struct upp_str){0}) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK(wb_fd_read(fd, text, 3) == 3 && wb_fd_read(fd, text + 3, 5) == 2 && wb_fd_read(fd, text, 1) == 0);
    CHECK_STR(wb_cstr(text), UPP_STR("hello"));
    CHECK(wb_fd_read(-1, text, 1) == -EBADF && wb_fd_write(-1, UPP_STR("x")) == -EBADF);
}

/* What the torture driver takes for success: interruptions and short moves must not be noticed at all. */
TEST_WITH(file_does_not_notice_interruptions, .no_torture = "it injects its own faults")
{
    static const struct {
        int error;
    } kinds[] = {{EINTR}, {FAULT_SHORT}};
    for (size_t k = 0; k < WB_LEN(kinds); k++)
        for (unsigned long n = 1;; n++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(100);
            fault_at(FAULT_FILE, n, kinds[k].error, false);
            int w = wb_file_write(in_folder("f"), UPP_STR("0123456789"), 0600, NULL);
            int r = wb_file_read(in_folder("f"), &b, NULL);
            fault_off();
            test_note("call %lu, error %d", n, kinds[k].error);
            CHECK(w == 0 && r == 0);
            CHECK_STR(wb_buf_str(&b), UPP_STR("0123456789"));
            if (!fault_fired())
                break;
        }
}

static int (*close_below)(int fd);

static int interrupted_close(int fd)
{
    int r = close_below(fd);
    return r < 0 ? r : -EINTR;
}

TEST_WITH(file_is_written_though_close_is_interrupted, .no_torture = "it replaces the table that injects the faults")
{
    struct upp_hooks before = *wb_hooks(), mine = before;
    struct upp_err err;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/file", test_folder());
    close_below = before.close;
    mine.close = interrupted_close;
    int set = upp_global_init(&mine, &err);
    int r = wb_file_write(path, UPP_STR("x"), 0600, &err);
    int back = upp_global_init(&before, &err);
    CHECK(set == 0 && back == 0);
    CHECK_INT(r, 0);
}
