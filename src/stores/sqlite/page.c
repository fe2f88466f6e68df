/* stores/sqlite/page.c — computes, stamps and verifies the checksums of pages. */
#include "stores/sqlite/page.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#if defined __aarch64__
#include <sys/auxv.h>
#endif

#include "base/buf.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/wal.h"

/* ---- The sum ----------------------------------------------------------------------------------------------- */

/* Three CRC-32C over every third word of eight bytes: the processor computes them at the same time. Up to three changed
 * bits of a page are always found; of random changes one in 2^64 is not. */
struct streams {
    uint64_t a, b, c;
};

enum { GROUP = 5 * 3 * 8, GROUPS = WS_PAGE_BODY / GROUP };
_Static_assert(GROUPS *GROUP == WS_PAGE_BODY, "all of the page is in groups");

static inline uint64_t word_at(const unsigned char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return le64toh(w);
}

/* Four bits at a time: for processors without the instruction. */
static uint64_t crc_plain(uint64_t crc, uint64_t word)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    crc ^= word;
    for (int i = 0; i < 16; i++)
        crc = crc >> 4 ^ table[crc & 15];
    return crc;
}

#define ADD_WORDS(s, p, crc)                                                                                           \
    do {                                                                                                               \
        (s)->a = crc((s)->a, word_at(p));                                                                              \
        (s)->b = crc((s)->b, word_at((p) + 8));                                                                        \
        (s)->c = crc((s)->c, word_at((p) + 16));                                                                       \
    } while (0)

#define ADD_GROUPS(s, p, n, crc)                                                                                       \
    for (; (n); (n)--, (p) += GROUP) {                                                                                 \
        ADD_WORDS(s, p, crc);                                                                                          \
        ADD_WORDS(s, (p) + 24, crc);                                                                                   \
        ADD_WORDS(s, (p) + 48, crc);                                                                                   \
        ADD_WORDS(s, (p) + 72, crc);                                                                                   \
        ADD_WORDS(s, (p) + 96, crc);                                                                                   \
    }

static void add_plain(struct streams *s, const unsigned char *p, size_t groups)
{
    ADD_GROUPS(s, p, groups, crc_plain)
}

#if defined __x86_64__
__attribute__((target("sse4.2"))) static void add_fast(struct streams *to, const unsigned char *p, size_t groups)
{
    struct streams s = *to;
    ADD_GROUPS(&s, p, groups, __builtin_ia32_crc32di)
    *to = s;
}

static bool is_fast(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#elif defined __aarch64__
static inline uint64_t crc_arm(uint64_t crc, uint64_t word)
{
    uint32_t x = (uint32_t)crc;
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(x) : "r"(word));
    return x;
}

static void add_fast(struct streams *to, const unsigned char *p, size_t groups)
{
    struct streams s = *to;
    ADD_GROUPS(&s, p, groups, crc_arm)
    *to = s;
}

static bool is_fast(void)
{
    return getauxval(AT_HWCAP) & 1u << 7; /* HWCAP_CRC32 */
}
#else
#define add_fast add_plain
static bool is_fast(void)
{
    return false;
}
#endif

static void add(struct streams *s, const unsigned char *p, size_t groups, bool plain)
{
    if (plain || !is_fast())
        add_plain(s, p, groups);
    else
        add_fast(s, p, groups);
}

static const char magic[16] = "SQLite format 3";

/* The first page has counters that change no answer: of changes to the file and to the schema, and the version of
 * SQLite that wrote it. Copies that SQLite makes (.backup) have others, and the sums of the original. */
static void blank_counters(unsigned char head[GROUP])
{
    enum { CHANGES = 24, SCHEMA = 40, WRITER = 92 };
    memset(head + CHANGES, 0, 4);
    memset(head + SCHEMA, 0, 4);
    memset(head + WRITER, 0, 8);
}

uint64_t ws_page_sum(const unsigned char page[WS_PAGE], bool plain)
{
    struct streams s = {0x9e3779b9, 0x85ebca6b, 0xc2b2ae35};
    bool first = memcmp(page, magic, sizeof magic) == 0;
    if (first) {
        unsigned char head[GROUP];
        memcpy(head, page, sizeof head);
        blank_counters(head);
        add(&s, head, 1, plain);
    }
    add(&s, page + (first ? GROUP : 0), (size_t)GROUPS - first, plain);
    /* Of a page of the WAL, whose number is not known, only the upper half of the difference is judged. */
    uint64_t h = (s.a | s.b << 32) ^ s.c * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

/* ---- The tail ---------------------------------------------------------------------------------------------- */

/* SQLite adds pairs of words (x, y) to the checksum of a WAL: a += x + b; b += y + a (wal.c). The pair of the balance
 * brings both back to where zeros would have left them. The words have the byte order of this machine. */
static void balance(const uint32_t sum[2], uint32_t ret[2])
{
    ret[0] = 0u - (2 * sum[0] + sum[1]);
    ret[1] = 0u - (sum[0] + sum[1]);
}

void ws_page_stamp(unsigned char page[WS_PAGE], uint32_t number)
{
    uint64_t sum = htole64(ws_page_sum(page, false) + number);
    uint32_t words[4];
    memcpy(words, &sum, sizeof sum);
    balance(words, words + 2);
    memcpy(page + WS_PAGE_BODY, words, sizeof words);
}

/* Written on this machine, or on one with the other byte order. */
static bool is_balanced(const unsigned char tail[WS_PAGE_TAIL])
{
    uint32_t words[4], want[2];
    memcpy(words, tail, sizeof words);
    balance(words, want);
    if (want[0] == words[2] && want[1] == words[3])
        return true;
    for (int i = 0; i < 4; i++)
        words[i] = __builtin_bswap32(words[i]);
    balance(words, want);
    return want[0] == words[2] && want[1] == words[3];
}

bool ws_page_holds(const unsigned char page[WS_PAGE], uint32_t number)
{
    uint64_t is = word_at(page + WS_PAGE_BODY) - ws_page_sum(page, false);
    return (number ? is == number : is <= UINT32_MAX) && is_balanced(page + WS_PAGE_BODY);
}

/* These bytes do not balance. */
enum { SPOILT = 0xff };

void ws_page_spoil(unsigned char page[WS_PAGE])
{
    memset(page + WS_PAGE_BODY, SPOILT, WS_PAGE_TAIL);
}

bool ws_page_is_spoilt(const unsigned char page[WS_PAGE])
{
    unsigned char tail[WS_PAGE_TAIL];
    memset(tail, SPOILT, sizeof tail);
    return memcmp(page + WS_PAGE_BODY, tail, sizeof tail) == 0;
}

bool ws_page_reserves(const unsigned char first[WS_PAGE_HEAD])
{
    enum { PAGE_SIZE = 16 };
    return memcmp(first, magic, sizeof magic) == 0 && first[PAGE_SIZE] << 8 == WS_PAGE && !first[PAGE_SIZE + 1] &&
           ws_page_reserved(first) == WS_PAGE_TAIL;
}

/* A changed byte in the first page is one of its header, its body, its sum or its balance: two of them are as they
 * were. */
bool ws_page_has_sums(const unsigned char first[WS_PAGE])
{
    static const unsigned char none[WS_PAGE_TAIL];
    const unsigned char *tail = first + WS_PAGE_BODY;
    if (memcmp(tail, none, sizeof none) == 0)
        return false;
    return is_balanced(tail) || word_at(tail) == ws_page_sum(first, false) + 1 || ws_page_reserves(first);
}

/* ---- All pages --------------------------------------------------------------------------------------------- */

enum { AT_ONCE = 256 };

struct checking {
    const char *path;
    int fd;
    uint64_t in_file; /* pages */
    struct ws_wal_state wal;
    unsigned char *pages;            /* AT_ONCE of the file */
    unsigned char *in_wal, *is_hurt; /* a bit for each page: the WAL has it; SQLite reads it there, and it is bad */
    struct ws_pages *ret;
};

static void checking_done(struct checking *x)
{
    wb_fd_close(&x->fd);
    wb_free(x->pages);
    wb_free(x->in_wal);
    wb_free(x->is_hurt);
}

static bool has_bit(const unsigned char *bits, uint64_t i)
{
    return bits[i / 8] & 1 << i % 8;
}

static void set_bit(unsigned char *bits, uint64_t i, bool on)
{
    unsigned char bit = (unsigned char)(1 << i % 8);
    bits[i / 8] = (unsigned char)(on ? bits[i / 8] | bit : bits[i / 8] & ~bit);
}

static int check_failed(const struct checking *x, int r, struct upp_err *err)
{
    r = wb_fail_sys(err, r, UPP_ESTORE, "cannot read the database");
    wb_err_where(err, wb_cstr(x->path));
    return r;
}

/* Good or bad, of this WAL or of an older one: the file's own may be between two versions. */
static int note_frames(struct checking *x, const char *wal, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(open)(wal, O_RDONLY | O_CLOEXEC, 0);
    unsigned char head[WS_FRAME_HEAD];
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return check_failed(x, fd, err);
    for (int64_t at = WS_WAL_HEAD;; at += WS_FRAME) {
        int64_t got = ws_pread(fd, head, sizeof head, at);
        if (got < 0)
            return check_failed(x, (int)got, err);
        if (got < (int64_t)sizeof head)
            return 0;
        uint32_t page = ws_frame_head(head).page;
        if (page && page <= x->ret->n)
            set_bit(x->in_wal, page, true);
    }
}

/* As a start would judge it. The last one of a page counts. */
static void note_page(void *arg, uint32_t number, const unsigned char page[WS_PAGE])
{
    struct checking *x = arg;
    if (number <= x->ret->n)
        set_bit(x->is_hurt, number, !ws_page_holds(page, 0));
}

static int note_wal(struct checking *x, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf name = WB_BUF(64 << 10);
    wb_buf_addf(&name, "%s-wal", x->path);
    wb_buf_addc(&name, 0);
    int r = wb_buf_check(&name, err);
    if (r >= 0)
        r = ws_wal_scan(name.p, 0, (struct ws_sum){0}, &x->wal, err);
    if (r < 0)
        return r;
    x->ret->n = WB_MAX(x->in_file, (uint64_t)x->wal.pages);
    x->in_wal = wb_calloc(x->ret->n / 8 + 1, 1);
    x->is_hurt = wb_calloc(x->ret->n / 8 + 1, 1);
    if (!x->in_wal || !x->is_hurt)
        return upp_fail(err, UPP_ENOMEM, "no memory for pages");
    r = note_frames(x, name.p, err);
    return r < 0 ? r : ws_wal_each(name.p, &x->wal, note_page, x, err);
}

/* A page that a checkpoint is just writing is read again. */
static bool is_whole(struct checking *x, unsigned char *page, uint64_t number)
{
    enum { TRIES = 4 };
    for (int i = 0; i < TRIES; i++)
        if (ws_page_holds(page, (uint32_t)number) ||
            ws_pread(x->fd, page, WS_PAGE, (int64_t)(number - 1) * WS_PAGE) != WS_PAGE)
            return true; /* or it was cut off just now */
    return false;
}

static bool is_judged(const struct checking *x, uint64_t number)
{
    enum { LOCKED = (1 << 30) / WS_PAGE + 1 }; /* the page that SQLite's locks are on is never written */
    return number != LOCKED && !has_bit(x->in_wal, number);
}

static void count_wrong(struct checking *x, uint64_t number)
{
    x->ret->first = x->ret->wrong ? x->ret->first : (uint32_t)number;
    x->ret->wrong++;
}

/* Every page as SQLite reads it, also next to its owner: from the WAL, if that has it. The file's own page is not
 * judged then: it may be an older one, or half of one. */
static int check_pages(struct checking *x, struct upp_err *err)
{
    struct stat st;
    x->fd = WB_CALL(open)(x->path, O_RDONLY | O_CLOEXEC, 0);
    if (x->fd < 0 || fstat(x->fd, &st) != 0)
        return check_failed(x, x->fd < 0 ? x->fd : -errno, err);
    x->in_file = x->ret->n = (uint64_t)st.st_size / WS_PAGE;
    x->pages = wb_alloc((size_t)AT_ONCE * WS_PAGE);
    if (!x->pages)
        return upp_fail(err, UPP_ENOMEM, "no memory for pages");
    for (uint64_t i = 0; i < x->in_file; i += AT_ONCE) {
        int64_t n = ws_pread(x->fd, x->pages, (size_t)AT_ONCE * WS_PAGE, (int64_t)i * WS_PAGE);
        if (n < 0)
            return check_failed(x, (int)n, err);
        if (i == 0)
            x->ret->summed = n >= WS_PAGE && ws_page_has_sums(x->pages);
        if (!x->ret->summed)
            return 0;
        int r = i == 0 ? note_wal(x, err) : 0;
        if (r < 0)
            return r;
        for (uint64_t k = 0; k < (uint64_t)n / WS_PAGE; k++) {
            const uint64_t number = i + k + 1;
            if (has_bit(x->is_hurt, number) || (is_judged(x, number) && !is_whole(x, x->pages + k * WS_PAGE, number)))
                count_wrong(x, number);
        }
    }
    for (uint64_t number = x->in_file + 1; number <= x->ret->n; number++)
        if (has_bit(x->is_hurt, number))
            count_wrong(x, number);
    return 0;
}

int ws_sqlite_check_pages(const char *path, struct ws_pages *ret, struct upp_err *err)
{
    WB_CLEANUP(checking_done) struct checking x = {.path = path, .fd = -1, .ret = ret};
    *ret = (struct ws_pages){0};
    int r = check_pages(&x, err);
    if (r >= 0 && ret->wrong)
        ret->index = ws_tables_are_whole(path);
    return r;
}
