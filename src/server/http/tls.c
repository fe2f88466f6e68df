/* server/http/tls.c — loads certificates, and shakes hands, receives and sends through OpenSSL. */
#include "server/http/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <time.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/log.h"

enum { FILE_MAX = 1 << 20, DAY = 24 * 60 * 60, SOON_DAYS = 7 };

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void wipe(struct wb_buf *b)
{
    if (b->p)
        OPENSSL_cleanse(b->p, b->cap);
    wb_buf_done(b);
}

WB_DEFINE_CLEANUP(SSL_CTX, SSL_CTX_free)
WB_DEFINE_CLEANUP(X509, X509_free)
WB_DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free)
WB_DEFINE_CLEANUP(BIO, BIO_vfree)

/* The latest reason that OpenSSL has, in words. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "unknown reason";
}

static int bad_file(struct upp_err *err, const char *path, const char *what)
{
    int r = upp_fail(err, UPP_EINVALID, "%s: %s", path, what);
    wb_err_where(err, wb_cstr(path));
    return r;
}

static int open_pem(const char *path, struct wb_buf *text, BIO **ret, struct upp_err *err)
{
    int r = wb_file_read(path, text, err);
    if (r < 0)
        return r;
    *ret = BIO_new_mem_buf(text->p, (int)text->n);
    return *ret ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for %s", path);
}

/* OpenSSL would ask at the terminal. */
static int no_passphrase(char *to, int n, int writing, void *asked)
{
    (void)to, (void)n, (void)writing;
    *(bool *)asked = true;
    return -1;
}

static int read_key(SSL_CTX *ctx, const char *path, struct upp_err *err)
{
    WB_CLEANUP(wipe) struct wb_buf text = WB_BUF(FILE_MAX);
    WB_CLEANUP(BIO_vfreep) BIO *in = NULL;
    WB_CLEANUP(EVP_PKEY_freep) EVP_PKEY *key = NULL;
    bool asked = false;
    int r = open_pem(path, &text, &in, err);
    if (r < 0)
        return r;
    key = PEM_read_bio_PrivateKey(in, NULL, no_passphrase, &asked);
    if (!key)
        return bad_file(err, path,
                        asked ? "the key has a passphrase, which nobody could enter" : "no private key in PEM");
    if (X509_check_private_key(SSL_CTX_get0_certificate(ctx), key) != 1)
        return bad_file(err, path, "this is not the key of the certificate");
    if (SSL_CTX_use_PrivateKey(ctx, key) != 1)
        return bad_file(err, path, reason());
    return 0;
}

/* Since 1970; 0: it is no time. */
static int64_t seconds_of(const ASN1_TIME *t)
{
    struct tm tm;
    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

/* A certificate that is not valid now is used all the same: the clock may be wrong, and clients say more. */
static void check_dates(const X509 *x, const char *path)
{
    int64_t now = wb_wall_ms() / 1000, from = seconds_of(X509_get0_notBefore(x)),
            to = seconds_of(X509_get0_notAfter(x));
    if (from > now)
        wb_log(WB_WARN, "the certificate is not valid yet", WB_LZ("file", path));
    if (!to)
        return;
    if (to <= now)
        wb_log(WB_WARN, "the certificate has expired", WB_LZ("file", path));
    else if (to - now < SOON_DAYS * DAY)
        wb_log(WB_WARN, "the certificate expires soon", WB_LZ("file", path), WB_LI("days", (to - now) / DAY));
}

void sv_tls_check(const struct sv_tls *t)
{
    check_dates(SSL_CTX_get0_certificate(t->ctx), t->certificate);
}

int64_t sv_tls_expires(const struct sv_tls *t)
{
    return seconds_of(X509_get0_notAfter(SSL_CTX_get0_certificate(t->ctx)));
}

static size_t count(struct upp_str text, struct upp_str what)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(text, what, at)) != SIZE_MAX; at += what.n)
        n++;
    return n;
}

/* The server's own certificate, then those that lead to the root. */
static int read_chain(SSL_CTX *ctx, const char *path, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(FILE_MAX);
    WB_CLEANUP(BIO_vfreep) BIO *in = NULL;
    WB_CLEANUP(X509_freep) X509 *x = NULL;
    size_t n = 1;
    int r = open_pem(path, &text, &in, err);
    if (r < 0)
        return r;
    x = PEM_read_bio_X509(in, NULL, NULL, NULL);
    if (!x)
        return bad_file(err, path, "no certificate in PEM");
    if (SSL_CTX_use_certificate(ctx, x) != 1)
        return bad_file(err, path, reason());
    check_dates(x, path);
    for (X509 *more; (more = PEM_read_bio_X509(in, NULL, NULL, NULL)); n++)
        if (SSL_CTX_add0_chain_cert(ctx, more) != 1) {
            X509_free(more);
            return bad_file(err, path, reason());
        }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE || /* OpenSSL ignores one that is cut off */
        n < count(wb_buf_str(&text), UPP_STR("-----BEGIN CERTIFICATE-----")))
        return bad_file(err, path, "a certificate of the chain is damaged");
    return 0;
}

/* ---- The context ------------------------------------------------------------------------------------------------- */

static int choose_http(SSL *ssl, const unsigned char **out, unsigned char *n_out, const unsigned char *in, unsigned n,
                       void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *found;
    (void)ssl, (void)arg;
    if (SSL_select_next_proto(&found, n_out, ours, sizeof ours - 1, in, n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

static int read_files(const char *certificate, const char *key, SSL_CTX **ret, struct upp_err *err)
{
    ERR_clear_error();
    WB_CLEANUP(SSL_CTX_freep) SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) /* of TLS 1.2; those of 1.3 are all good */
        return upp_fail(err, UPP_ENOMEM, "cannot set up TLS: %s", reason());
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                    SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ctx, 1); /* one recv for a record, not two */
    SSL_CTX_set_alpn_select_cb(ctx, choose_http, NULL);
    int r = read_chain(ctx, certificate, err);
    if (r >= 0) {
        ERR_clear_error();
        r = read_key(ctx, key, err);
    }
    ERR_clear_error();
    if (r < 0)
        return r;
    *ret = WB_TAKE(ctx);
    return 0;
}

struct reading {
    const char *certificate, *key;
    SSL_CTX *ctx;
};

static int read_job(void *arg, struct upp_err *err)
{
    struct reading *x = arg;
    return read_files(x->certificate, x->key, &x->ctx, err);
}

static void drop_reading(void *arg)
{
    struct reading *x = arg;
    SSL_CTX_free(x->ctx);
    wb_free(x);
}

WEFT_SUSPENDS int sv_tls_reload(struct sv_tls *t, struct upp_err *err)
{
    int result = 0;
    struct reading *x = wb_calloc(1, sizeof *x);
    if (!x)
        return upp_fail(err, UPP_ENOMEM, "no memory to read a certificate");
    *x = (struct reading){.certificate = t->certificate, .key = t->key};
    int r = weft_work(read_job, x, drop_reading, &result, err);
    if (r < 0)
        return r; /* it is the job's now */
    if (result >= 0) {
        SSL_CTX *old = t->ctx;
        t->ctx = x->ctx;
        x->ctx = old; /* sessions hold it as long as they last */
    }
    drop_reading(x);
    return result;
}

/* ---- Bytes of a session: a BIO over the hook table --------------------------------------------------------------- */

static int moved(struct sv_tls_session *s, BIO *b, int64_t n, int retry)
{
    if (n == -EAGAIN || n == -EWOULDBLOCK || n == -EINTR)
        BIO_set_flags(b, retry | BIO_FLAGS_SHOULD_RETRY);
    else if (n < 0)
        s->failed = (int)n;
    return n < 0 ? -1 : (int)n;
}

static int bio_read(BIO *b, char *to, int n)
{
    struct sv_tls_session *s = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    int64_t got = WB_CALL(recv)(s->fd, to, (size_t)n);
    if (got == 0)
        s->ended = true;
    return moved(s, b, got, BIO_FLAGS_READ);
}

static int bio_write(BIO *b, const char *from, int n)
{
    struct sv_tls_session *s = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    return moved(s, b, WB_CALL(send)(s->fd, from, (size_t)n), BIO_FLAGS_WRITE);
}

static long bio_ctrl(BIO *b, int what, long n, void *p)
{
    const struct sv_tls_session *s = BIO_get_data(b);
    (void)n, (void)p;
    return what == BIO_CTRL_FLUSH ? 1 : what == BIO_CTRL_EOF ? s->ended : 0;
}

static BIO_METHOD *bio_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft socket");
    if (m && BIO_meth_set_read(m, bio_read) == 1 && BIO_meth_set_write(m, bio_write) == 1 &&
        BIO_meth_set_ctrl(m, bio_ctrl) == 1)
        return m;
    BIO_meth_free(m);
    return NULL;
}

int sv_tls_open(const char *certificate, const char *key, struct sv_tls **ret, struct upp_err *err)
{
    struct sv_tls *t = wb_calloc(1, sizeof *t);
    if (!t)
        return upp_fail(err, UPP_ENOMEM, "no memory for TLS");
    t->certificate = certificate;
    t->key = key;
    t->method = bio_method();
    int r = t->method ? read_files(certificate, key, &t->ctx, err) : upp_fail(err, UPP_ENOMEM, "no memory for TLS");
    if (r < 0) {
        sv_tls_close(t);
        return r;
    }
    *ret = t;
    return 0;
}

void sv_tls_close(struct sv_tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    BIO_meth_free(t->method);
    wb_free(t);
}

/* ---- A session --------------------------------------------------------------------------------------------------- */

int sv_tls_session_new(struct sv_tls *t, int fd, struct sv_tls_session **ret, struct upp_err *err)
{
    struct sv_tls_session *s = wb_calloc(1, sizeof *s);
    BIO *b = NULL;
    if (s) {
        s->fd = fd;
        s->ssl = SSL_new(t->ctx);
        b = s->ssl ? BIO_new(t->method) : NULL;
    }
    if (!b) {
        sv_tls_session_free(s);
        ERR_clear_error();
        return upp_fail(err, UPP_ENOMEM, "no memory for a TLS session");
    }
    BIO_set_data(b, s);
    BIO_set_init(b, 1);
    SSL_set_bio(s->ssl, b, b);
    SSL_set_accept_state(s->ssl);
    *ret = s;
    return 0;
}

void sv_tls_session_free(struct sv_tls_session *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    wb_free(s);
}

/* What a call of OpenSSL that did not succeed means: 0 at the end, or a negative errno. */
static int meaning(struct sv_tls_session *s, int r)
{
    int what = SSL_get_error(s->ssl, r);
    switch (what) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        s->want = what == SSL_ERROR_WANT_READ ? WEFT_READABLE : WEFT_WRITABLE;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        s->ended = true;
        return 0;
    default:
        s->plain = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
        s->why = ERR_reason_error_string(ERR_peek_error());
        if (!s->failed)
            s->failed = s->ended && !ERR_peek_error() ? -ECONNRESET : -EPROTO;
        ERR_clear_error();
        return s->failed;
    }
}

int sv_tls_handshake(struct sv_tls_session *s)
{
    if (s->failed)
        return s->failed;
    ERR_clear_error();
    int r = SSL_do_handshake(s->ssl);
    if (r == 1)
        return 0;
    r = meaning(s, r);
    return r ? r : -ECONNRESET;
}

int64_t sv_tls_recv(struct sv_tls_session *s, void *p, size_t n)
{
    size_t got = 0;
    int r = s->failed;
    while (r == 0 && got < n) {
        int part;
        ERR_clear_error();
        part = SSL_read(s->ssl, (char *)p + got, (int)WB_MIN(n - got, (size_t)INT_MAX));
        if (part > 0)
            got += (size_t)part;
        else if ((r = meaning(s, part)) == 0)
            break; /* the end */
    }
    return got ? (int64_t)got : r;
}

int64_t sv_tls_send(struct sv_tls_session *s, const void *p, size_t n)
{
    if (s->failed)
        return s->failed;
    ERR_clear_error();
    int r = SSL_write(s->ssl, p, (int)WB_MIN(n, (size_t)INT_MAX));
    if (r > 0)
        return r;
    r = meaning(s, r);
    return r ? r : -EPIPE;
}

void sv_tls_end(struct sv_tls_session *s)
{
    if (s->failed || !SSL_is_init_finished(s->ssl) || SSL_get_shutdown(s->ssl) & SSL_SENT_SHUTDOWN)
        return;
    ERR_clear_error();
    (void)SSL_shutdown(s->ssl); /* the socket is closed anyway: the other side need not answer */
    ERR_clear_error();
}
