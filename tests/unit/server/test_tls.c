/* The server's TLS: files, sessions, and what clients do to them. The client is OpenSSL with memory on both sides, in a
 * fiber of its own, so that its bytes come cut and late in the simulated world. */
#include "server/http/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/log.h"
#include "server/keys/key.h"
#include "server/talk.h"
#include "support/certs.h"

#define HOST "Host: localhost\r\n"

/* ---- A certificate in files ---- */

struct pair {
    char certificate[256], key[256];
};

static void write_pair(struct pair *p, const char *name, const struct cert_opts *opts)
{
    struct cert c = cert_new(opts);
    (void)snprintf(p->certificate, sizeof p->certificate, "%s/%s.pem", test_folder(), name);
    (void)snprintf(p->key, sizeof p->key, "%s/%s.key", test_folder(), name);
    cert_write(&c, p->certificate);
    cert_write_key(&c, p->key, NULL);
    cert_done(&c);
}

/* ---- A client ---- */

struct peer {
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out; /* the session's */
    int fd;
};

static void peer_done(struct peer *p)
{
    SSL_free(p->ssl);
    SSL_CTX_free(p->ctx);
    test_closep(&p->fd);
}

static int peer_begin(struct peer *p, int version, struct upp_err *err)
{
    p->ctx = SSL_CTX_new(TLS_client_method());
    FAIL_UNLESS(p->ctx);
    SSL_CTX_set_security_level(p->ctx, 0);
    if (version)
        FAIL_UNLESS(SSL_CTX_set_min_proto_version(p->ctx, version) == 1 &&
                    SSL_CTX_set_max_proto_version(p->ctx, version) == 1);
    p->ssl = SSL_new(p->ctx);
    p->in = BIO_new(BIO_s_mem());
    p->out = BIO_new(BIO_s_mem());
    FAIL_UNLESS(p->ssl && p->in && p->out);
    SSL_set_bio(p->ssl, p->in, p->out);
    SSL_set_connect_state(p->ssl);
    (void)err;
    return 0;
}

WEFT_SUSPENDS static int flush(struct peer *p, struct upp_err *err)
{
    char part[1024];
    for (int n; (n = BIO_read(p->out, part, sizeof part)) > 0;)
        TRY(weft_send(p->fd, part, (size_t)n, err));
    return 0;
}

/* Sends what the session has, receives more for it. 0: the other side has closed. */
WEFT_SUSPENDS static int64_t pump(struct peer *p, struct upp_err *err)
{
    char part[1024];
    int r = flush(p, err);
    if (r < 0)
        return r;
    int64_t n = weft_recv(p->fd, part, sizeof part, err);
    if (n > 0)
        (void)BIO_write(p->in, part, (int)n);
    return n;
}

/* 1: done. 0: refused, or closed. */
WEFT_SUSPENDS static int shake(struct peer *p, struct upp_err *err)
{
    for (;;) {
        ERR_clear_error();
        int r = SSL_do_handshake(p->ssl);
        if (r == 1)
            return flush(p, err) < 0 ? -UPP_ENET : 1;
        if (SSL_get_error(p->ssl, r) != SSL_ERROR_WANT_READ) {
            ERR_clear_error();
            return 0;
        }
        int64_t n = pump(p, err);
        if (n <= 0)
            return (int)n;
    }
}

WEFT_SUSPENDS static int say(struct peer *p, struct upp_str text, struct upp_err *err)
{
    FAIL_UNLESS(SSL_write(p->ssl, text.p, (int)text.n) == (int)text.n);
    return flush(p, err);
}

/* Reads until `what` came, or to the end of the session where `what` is empty. */
WEFT_SUSPENDS static int hear(struct peer *p, struct wb_buf *got, struct upp_str what, struct upp_err *err)
{
    char part[1024];
    for (;;) {
        ERR_clear_error();
        int n = SSL_read(p->ssl, part, sizeof part);
        if (n > 0)
            wb_buf_add(got, wb_str(part, (size_t)n));
        TRY(wb_buf_check(got, err));
        if (n > 0 && what.n && wb_str_find(wb_buf_str(got), what, 0) != SIZE_MAX)
            return 0;
        if (n > 0)
            continue;
        int why = SSL_get_error(p->ssl, n);
        if (why == SSL_ERROR_ZERO_RETURN && !what.n)
            return 0;
        if (why != SSL_ERROR_WANT_READ)
            return upp_fail(err, UPP_EPROTO, "the session ended: %d", why);
        int64_t more = pump(p, err);
        if (more <= 0)
            return more < 0 ? (int)more : upp_fail(err, UPP_EPROTO, "the connection ended without close_notify");
    }
}

WEFT_SUSPENDS static int connect_peer(struct talk *t, struct peer *p, int version, struct upp_err *err)
{
    TRY(peer_begin(p, version, err));
    TRY(talk_connect(t, 0, &p->fd, err));
    return shake(p, err);
}

static int run(int (*client)(struct talk *t, struct upp_err *err), const struct pair *files, uint64_t seed,
               uint64_t limit)
{
    struct talk t = {.client = client,
                     .simulated = seed > 0,
                     .seed = seed,
                     .limit = limit,
                     .opts.certificate = files->certificate,
                     .opts.key = files->key};
    struct upp_err err = {0};
    int r = talk_run(&t, &err);
    test_note("seed %d: %s", (int)seed, err.msg);
    return r;
}

/* ---- Talking ---- */

static int talks(struct talk *t, struct upp_err *err)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(1u << 20), body = WB_BUF(1u << 20);
    FAIL_UNLESS(strncmp(sv_server_url(t->server, 0), "https://127.0.0.1:", 18) == 0);
    wb_buf_addf(&body, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n", 100 * 1000);
    for (int i = 0; i < 10000; i++)
        wb_buf_addf(&body, "%09d;", i);
    TRY(wb_buf_check(&body, err));
    for (size_t i = 0; i < WB_LEN(versions); i++) {
        WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
        int r = connect_peer(t, &p, versions[i], err);
        FAIL_UNLESS(r == 1 && SSL_version(p.ssl) == versions[i]);
        TRY(say(&p, UPP_STR("GET /empty HTTP/1.1\r\n" HOST "\r\n"), err));
        TRY(hear(&p, &got, UPP_STR("\r\n\r\n{}"), err));
        wb_buf_clear(&got);
        TRY(say(&p, wb_buf_str(&body), err));
        TRY(hear(&p, &got, UPP_STR("000009999;"), err));
        FAIL_UNLESS(got.n > 100000 && memcmp(got.p + got.n - 100000, body.p + body.n - 100000, 100000) == 0);
        wb_buf_clear(&got);
        TRY(say(&p, UPP_STR("GET /stream HTTP/1.1\r\n" HOST "\r\n"), err));
        TRY(hear(&p, &got, UPP_STR("0\r\n\r\n"), err));
        FAIL_UNLESS(wb_str_find(wb_buf_str(&got), UPP_STR("data: 0123456789\n"), 0) != SIZE_MAX);
        wb_buf_clear(&got);
        TRY(say(&p, UPP_STR("GET /empty HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"), err));
        TRY(hear(&p, &got, UPP_STR(""), err)); /* with close_notify */
        FAIL_UNLESS(got.n && got.p[got.n - 1] == '}');
        wb_buf_clear(&got);
    }
    return 0;
}

TEST(served_tls_talks)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    for (uint64_t seed = 0; seed <= 3; seed++)
        CHECK_INT(run(talks, &files, seed, 50), 0);
}

/* A large RSA key needs the most stack of a fiber. */
TEST_WITH(served_tls_talks_with_rsa, .no_torture = "as tls_talks; making the key takes long")
{
    struct pair files;
    write_pair(&files, "rsa", &(struct cert_opts){.rsa_bits = 4096});
    CHECK_INT(run(talks, &files, 0, 50), 0);
}

static int old_versions(struct talk *t, struct upp_err *err)
{
    static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION};
    for (size_t i = 0; i < WB_LEN(versions); i++) {
        WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
        FAIL_UNLESS(connect_peer(t, &p, versions[i], err) == 0);
    }
    return 0;
}

/* covers: AITP-26/2 */
TEST(served_tls_refuses_old_versions)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(old_versions, &files, 0, 0), 0);
}

static int other_protocols(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *offers;
        int shakes;
    } cases[] = {{"\x02h2\x08http/1.1", 1}, {"\x08http/1.1", 1}, {"\x02h2", 0}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
        const unsigned char *chosen;
        unsigned n;
        TRY(peer_begin(&p, 0, err));
        FAIL_UNLESS(
            SSL_set_alpn_protos(p.ssl, (const unsigned char *)cases[i].offers, (unsigned)strlen(cases[i].offers)) == 0);
        TRY(talk_connect(t, 0, &p.fd, err));
        FAIL_UNLESS(shake(&p, err) == cases[i].shakes);
        SSL_get0_alpn_selected(p.ssl, &chosen, &n);
        FAIL_UNLESS(!cases[i].shakes || (n == 8 && memcmp(chosen, "http/1.1", 8) == 0));
    }
    return 0;
}

TEST(served_tls_chooses_http)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(other_protocols, &files, 0, 0), 0);
}

/* ---- Clients that do not shake hands ---- */

static int plain(struct talk *t, struct upp_err *err)
{
    struct talk_reply r;
    talk_reply_init(&r);
    int got = talk_once(t, UPP_STR("GET /empty HTTP/1.1\r\n" HOST "\r\n"), &r, err);
    if (got >= 0 && !EXPECT(r.status == 400 && wb_str_find(wb_buf_str(&r.body), UPP_STR("https://"), 0) != SIZE_MAX))
        got = -UPP_EBUG;
    talk_reply_done(&r);
    return got;
}

TEST(served_tls_tells_plain_clients)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(plain, &files, 0, 0), 0);
}

/* A client that stops after so many bytes of its first message; others are served meanwhile. */
static int silent(struct talk *t, struct upp_err *err)
{
    static const size_t bytes[] = {0, 1, 5, 100};
    for (size_t i = 0; i < WB_LEN(bytes); i++) {
        WB_CLEANUP(peer_done) struct peer p = {.fd = -1}, other = {.fd = -1};
        WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(65536);
        char hello[1024];
        TRY(peer_begin(&p, 0, err));
        TRY(talk_connect(t, 0, &p.fd, err));
        (void)SSL_do_handshake(p.ssl);
        FAIL_UNLESS(BIO_read(p.out, hello, sizeof hello) > 100);
        uint64_t since = wb_mono_ms();
        TRY(weft_send(p.fd, hello, bytes[i], err));
        FAIL_UNLESS(connect_peer(t, &other, 0, err) == 1);
        TRY(say(&other, UPP_STR("GET /empty HTTP/1.1\r\n" HOST "\r\n"), err));
        TRY(hear(&other, &got, UPP_STR("{}"), err));
        int64_t n = weft_recv(p.fd, hello, sizeof hello, err);
        int64_t took = (int64_t)(wb_mono_ms() - since);
        test_note("%d bytes: closed after %d ms", (int)bytes[i], (int)took);
        FAIL_UNLESS(n == 0 && took >= 9900 && took <= 13000);
    }
    return 0;
}

TEST(served_tls_handshakes_have_a_time)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(silent, &files, 1, 0), 0);
}

/* A client that goes after every byte of its first message. */
static int goes(struct talk *t, struct upp_err *err)
{
    for (size_t n = 0; n < 200; n += 7) {
        WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
        char hello[1024];
        TRY(peer_begin(&p, 0, err));
        TRY(talk_connect(t, 0, &p.fd, err));
        (void)SSL_do_handshake(p.ssl);
        FAIL_UNLESS(BIO_read(p.out, hello, sizeof hello) > 200);
        TRY(weft_send(p.fd, hello, n, err));
    }
    for (int i = 0; i < 1000 && t->server->n_conns; i++)
        TRY(weft_sleep_ms(1, err));
    FAIL_UNLESS(t->server->n_conns == 0);
    return 0;
}

TEST(served_tls_clients_that_go)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(goes, &files, 0, 0), 0);
}

/* Bytes that are no record end the session; TCP that ends without close_notify is only the end. */
static int breaks(struct talk *t, struct upp_err *err)
{
    for (int i = 0; i < 3; i++) {
        WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
        WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(65536);
        char rest[1024];
        FAIL_UNLESS(connect_peer(t, &p, 0, err) == 1);
        TRY(say(&p, UPP_STR("GET /empty HTTP/1.1\r\n" HOST "\r\n"), err));
        TRY(hear(&p, &got, UPP_STR("{}"), err));
        if (i == 0)
            TRY(weft_send(p.fd, "\x17\x03\x03\x00\x20 this is no record, is it?       ", 37, err));
        else if (i == 1)
            TRY(say(&p, UPP_STR("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nab"), err));
        if (i > 0)
            FAIL_UNLESS(shutdown(p.fd, SHUT_WR) == 0);
        if (i == 1)
            TRY(hear(&p, &got, UPP_STR("the request ends in the middle"), err));
        int64_t n;
        do
            n = weft_recv(p.fd, rest, sizeof rest, err);
        while (n > 0);
        FAIL_UNLESS(n == 0 || n == -UPP_ENET);
    }
    return 0;
}

TEST(served_tls_sessions_that_break)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(breaks, &files, 0, 0), 0);
}

/* A client that ends the session after its request, but not TCP, gets its response, and the connection ends. */
static int ends_first(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(65536);
    static const char ask[] = "GET /empty HTTP/1.1\r\n" HOST "\r\n";
    FAIL_UNLESS(connect_peer(t, &p, 0, err) == 1);
    FAIL_UNLESS(SSL_write(p.ssl, ask, sizeof ask - 1) == sizeof ask - 1 && SSL_shutdown(p.ssl) == 0);
    uint64_t since = wb_mono_ms();
    TRY(hear(&p, &got, UPP_STR(""), err));
    FAIL_UNLESS(got.n && got.p[got.n - 1] == '}' && wb_mono_ms() - since < 5000);
    return 0;
}

TEST(served_tls_client_ends_first)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    for (uint64_t seed = 0; seed <= 3; seed++)
        CHECK_INT(run(ends_first, &files, seed, 0), 0);
}

static int renegotiates(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(65536);
    FAIL_UNLESS(connect_peer(t, &p, TLS1_2_VERSION, err) == 1);
    FAIL_UNLESS(SSL_renegotiate(p.ssl) == 1);
    (void)SSL_do_handshake(p.ssl);
    TRY(flush(&p, err));
    FAIL_UNLESS(hear(&p, &got, UPP_STR("{}"), err) == -UPP_EPROTO); /* no_renegotiation, fatal for this client */
    return 0;
}

TEST(served_tls_does_not_renegotiate)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(renegotiates, &files, 0, 0), 0);
}

/* Over the limit: the error comes over TLS too. */
static int too_many(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(peer_done) struct peer one = {.fd = -1}, two = {.fd = -1};
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(65536);
    FAIL_UNLESS(connect_peer(t, &one, 0, err) == 1);
    FAIL_UNLESS(connect_peer(t, &two, 0, err) == 1);
    TRY(hear(&two, &got, UPP_STR(""), err));
    FAIL_UNLESS(wb_str_starts(wb_buf_str(&got), UPP_STR("HTTP/1.1 503 ")));
    return 0;
}

TEST(served_tls_refuses_over_the_limit)
{
    struct pair files;
    struct upp_err err = {0};
    write_pair(&files, "good", &(struct cert_opts){0});
    struct talk t = {
        .client = too_many, .opts.max_conns = 1, .opts.certificate = files.certificate, .opts.key = files.key};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- Files ---- */

TEST(served_tls_files_that_are_wrong)
{
    struct pair good, other;
    char locked[256], empty[256], none[256], cut[256], want[512];
    struct cert c = cert_new(&(struct cert_opts){0});
    write_pair(&good, "good", &(struct cert_opts){0});
    write_pair(&other, "other", &(struct cert_opts){.rsa_bits = 1024});
    (void)snprintf(locked, sizeof locked, "%s/locked.key", test_folder());
    (void)snprintf(empty, sizeof empty, "%s/empty", test_folder());
    (void)snprintf(none, sizeof none, "%s/none", test_folder());
    (void)snprintf(cut, sizeof cut, "%s/cut.pem", test_folder());
    cert_write_key(&c, locked, "sesame");
    cert_done(&c);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(65536);
    CHECK_INT(wb_file_read(good.certificate, &text, NULL), 0);
    wb_buf_add(&text, wb_str(text.p, text.n / 2)); /* a chain whose second certificate is cut off */
    CHECK_INT(wb_file_write(cut, wb_buf_str(&text), 0600, NULL), 0);
    CHECK_INT(wb_file_write(empty, UPP_STR(""), 0600, NULL), 0);
    const struct {
        const char *certificate, *key, *file, *why;
    } cases[] = {
        {empty, good.key, empty, "no certificate in PEM"},
        {good.key, good.key, good.key, "no certificate in PEM"},
        {cut, good.key, cut, "a certificate of the chain is damaged"},
        {good.certificate, empty, empty, "no private key in PEM"},
        {good.certificate, good.certificate, good.certificate, "no private key in PEM"},
        {good.certificate, locked, locked, "the key has a passphrase, which nobody could enter"},
        {good.certificate, other.key, other.key, "this is not the key of the certificate"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_tls *t = NULL;
        struct upp_err err = {0};
        int r = sv_tls_open(cases[i].certificate, cases[i].key, &t, &err);
        test_note("case %zu", i);
        ALWAYS(r < 0 && !t);
        CHECK_INT(r, -UPP_EINVALID);
        (void)snprintf(want, sizeof want, "%s: %s", cases[i].file, cases[i].why);
        CHECK(wb_str_starts(wb_cstr(want), wb_cstr(err.msg)) || strcmp(err.msg, want) == 0); /* a long path is cut */
    }
    struct sv_tls *t = NULL;
    struct upp_err err = {0};
    CHECK_INT(sv_tls_open(none, good.key, &t, &err), -UPP_ENOTFOUND);
    CHECK_INT(sv_tls_open(good.certificate, none, &t, &err), -UPP_ENOTFOUND);
}

static void counts_lines(void *arg, enum wb_log_level level, struct upp_str line)
{
    static const char *const wanted[] = {"not valid yet", "has expired", "expires soon", "plain HTTP on an address",
                                         "every web page"};
    unsigned *seen = arg;
    (void)level;
    for (size_t i = 0; i < WB_LEN(wanted); i++)
        if (wb_str_find(line, wb_cstr(wanted[i]), 0) != SIZE_MAX)
            seen[i]++;
}

TEST(served_tls_warns_about_dates)
{
    static const struct {
        int from, to;
    } cases[] = {{1, 30}, {-30, -1}, {-30, 2}, {-30, 30}};
    unsigned seen[5] = {0};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct pair files;
        struct sv_tls *t = NULL;
        struct upp_err err = {0};
        write_pair(&files, "dated", &(struct cert_opts){.from_day = cases[i].from, .to_day = cases[i].to});
        wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
        wb_log_to(counts_lines, seen);
        int r = sv_tls_open(files.certificate, files.key, &t, &err);
        wb_log_to(NULL, NULL);
        wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
        sv_tls_close(t);
        CHECK_INT(r, 0);
    }
    CHECK(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
}

static int64_t later_ns; /* the wall clock is so far ahead */
static int64_t later_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + later_ns;
}

TEST_WITH(served_tls_certificate_expires_while_it_is_used, .no_torture = "it replaces the hooks")
{
    static const int days[] = {0, 24, 29, 31};
    unsigned seen[5] = {0};
    struct upp_hooks before = *wb_hooks(), later = *wb_hooks();
    struct pair files;
    struct sv_tls *t = NULL;
    struct upp_err err = {0};
    write_pair(&files, "dated", &(struct cert_opts){.from_day = -30, .to_day = 30});
    CHECK_INT(sv_tls_open(files.certificate, files.key, &t, &err), 0);
    later.wall_ns = later_clock;
    wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
    wb_log_to(counts_lines, seen);
    for (size_t i = 0; i < WB_LEN(days) && upp_global_init(&later, NULL) == 0; i++) {
        later_ns = (int64_t)days[i] * 86400 * 1000000000;
        sv_tls_check(t);
    }
    int r = upp_global_init(&before, NULL);
    int64_t expires = sv_tls_expires(t), now = wb_wall_ms() / 1000;
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    sv_tls_close(t);
    CHECK_INT(r, 0);
    CHECK(seen[0] == 0 && seen[1] == 1 && seen[2] == 2);
    CHECK(expires > now + 29 * 86400 && expires <= now + 30 * 86400);
}

static int waits_for_days(struct talk *t, struct upp_err *err)
{
    (void)t;
    return weft_sleep_ms(3 * 86400000 + 1000, err);
}

/* Time is simulated, and long ago. */
TEST_WITH(served_tls_warns_every_day, .no_torture = "served_tls_talks is")
{
    unsigned seen[5] = {0};
    struct pair files;
    struct upp_err err = {0};
    struct talk t = {.client = waits_for_days, .simulated = true, .patience_ms = 4 * 86400000};
    write_pair(&files, "dated", &(struct cert_opts){.from_day = -1, .to_day = 30});
    t.opts.certificate = files.certificate;
    t.opts.key = files.key;
    wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
    wb_log_to(counts_lines, seen);
    int r = talk_run(&t, &err);
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    CHECK_INT(r, 0);
    CHECK_INT(seen[0], 4); /* at the start and after each day */
}

/* ---- Reloading ---- */

static long serial_of(const struct peer *p)
{
    X509 *x = SSL_get0_peer_certificate(p->ssl);
    return x ? ASN1_INTEGER_get(X509_get0_serialNumber(x)) : 0;
}

static int reloads(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(peer_done) struct peer before = {.fd = -1}, after = {.fd = -1}, last = {.fd = -1};
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(65536);
    struct pair files;
    FAIL_UNLESS(connect_peer(t, &before, 0, err) == 1);
    write_pair(&files, "good", &(struct cert_opts){0}); /* the same names, another certificate */
    TRY(sv_tls_reload(t->server->tls, err));
    FAIL_UNLESS(connect_peer(t, &after, 0, err) == 1);
    FAIL_UNLESS(serial_of(&after) > serial_of(&before));
    FAIL_UNLESS(wb_file_write(files.key, UPP_STR("no key"), 0600, err) == 0);
    FAIL_UNLESS(sv_tls_reload(t->server->tls, err) == -UPP_EINVALID);
    FAIL_UNLESS(connect_peer(t, &last, 0, err) == 1 && serial_of(&last) == serial_of(&after));
    struct peer *all[] = {&before, &after, &last}; /* those of the old certificate stay */
    for (size_t i = 0; i < WB_LEN(all); i++) {
        wb_buf_clear(&got);
        TRY(say(all[i], UPP_STR("GET /empty HTTP/1.1\r\n" HOST "\r\n"), err));
        TRY(hear(all[i], &got, UPP_STR("{}"), err));
    }
    return 0;
}

TEST(served_tls_reloads)
{
    struct pair files;
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(run(reloads, &files, 0, 0), 0);
}

/* ---- A session on a socket pair ---- */

TEST(served_tls_session_on_a_pair)
{
    struct pair files;
    struct sv_tls *t = NULL;
    struct sv_tls_session *s = NULL;
    struct upp_err err = {0};
    int fds[2];
    char text[64];
    WB_CLEANUP(peer_done) struct peer p = {.fd = -1};
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    p.fd = fds[0];
    UPP_CLEANUP(test_closep) int fd = fds[1];
    CHECK_INT(sv_tls_open(files.certificate, files.key, &t, &err), 0);
    int r = sv_tls_session_new(t, fd, &s, &err);
    if (r >= 0 && peer_begin(&p, 0, &err) >= 0) {
        SSL_set_fd(p.ssl, fds[0]);
        for (int i = 0; i < 20; i++) { /* a fault ends it, and then it stays so */
            (void)SSL_do_handshake(p.ssl);
            r = sv_tls_handshake(s);
            if (r != -EAGAIN)
                break;
            EXPECT(s->want == WEFT_READABLE);
        }
        bool shaken = EXPECT(r == 0) && EXPECT(SSL_do_handshake(p.ssl) == 1);
        if (shaken && EXPECT(SSL_write(p.ssl, "hello", 5) == 5)) {
            int64_t n = sv_tls_recv(s, text, sizeof text);
            EXPECT(n == 5 && memcmp(text, "hello", 5) == 0);
            EXPECT(sv_tls_recv(s, text, sizeof text) == -EAGAIN && s->want == WEFT_READABLE);
            EXPECT(sv_tls_send(s, "world", 5) == 5);
            EXPECT(SSL_read(p.ssl, text, sizeof text) == 5);
            sv_tls_end(s);
            EXPECT(SSL_read(p.ssl, text, sizeof text) == 0 && SSL_get_shutdown(p.ssl) & SSL_RECEIVED_SHUTDOWN);
            EXPECT(SSL_shutdown(p.ssl) == 1);
            EXPECT(sv_tls_recv(s, text, sizeof text) == 0 && s->ended);
        }
        if (s->failed)
            test_expect(sv_tls_send(s, "x", 1) == s->failed && sv_tls_recv(s, text, 1) == s->failed, true, __FILE__,
                        __LINE__, "a failed session stays so");
    }
    sv_tls_session_free(s);
    sv_tls_close(t);
}

/* ---- Plain HTTP where others can reach it ---- */

static int opens_elsewhere(struct talk *t, const char *key, struct upp_err *err)
{
    static const char *const all[] = {"*", NULL};
    static const struct wb_network proxy = {.bits = 128};
    struct sv_keys *keys = t->server->opts.keys;
    const struct pair *files = t->arg;
    (void)key;
    const struct {
        struct sv_server_opts opts;
        unsigned plain, pages;
    } cases[] = {
        {{.listen = "0.0.0.0:0", .keys = keys}, 1, 0},
        {{.listen = "0.0.0.0:0", .keys = keys, .certificate = files->certificate, .key = files->key}, 0, 0},
        {{.listen = "0.0.0.0:0", .keys = keys, .proxies = {&proxy, 1}}, 0, 0},
        {{.listen = "127.0.0.1:0"}, 0, 0},
        {{.listen = "127.0.0.1:0", .origins = all}, 0, 1},
        {{.listen = "127.0.0.1:0", .origins = all, .keys = keys}, 0, 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        UPP_CLEANUP(sv_server_closep) struct sv_server *s = NULL;
        struct sv_server_opts opts = cases[i].opts;
        unsigned seen[5] = {0};
        opts.size = sizeof opts;
        wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
        wb_log_to(counts_lines, seen);
        int r = sv_server_open(weft_loop_current(), &opts, &s, err);
        wb_log_to(NULL, NULL);
        wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
        test_note("case %zu", i);
        if (r < 0)
            return r;
        FAIL_UNLESS(seen[3] == cases[i].plain && seen[4] == cases[i].pages);
    }
    return 0;
}

static int with_a_key(struct talk *t, struct upp_err *err)
{
    return talk_with_key(t, SV_SCOPE_RUN, opens_elsewhere, err);
}

/* covers: AITP-26/3 */
TEST_WITH(served_tls_plain_public_addresses_warn, .no_torture = "test_server.c tortures opening")
{
    struct upp_err err;
    struct pair files;
    struct talk t = {.client = with_a_key, .arg = &files};
    write_pair(&files, "good", &(struct cert_opts){0});
    CHECK_INT(talk_run(&t, &err), 0);
}
