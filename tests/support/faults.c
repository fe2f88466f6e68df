/* support/faults.c — the server of faults.h. */
#include "support/faults.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 512, MAX_REQUESTS = 4096, MAX_HEAD = 1 << 20 };

struct connection {
    struct faults *server;
    pthread_t thread;
    int fd;
    unsigned number;
    SSL *ssl;
    char *in; /* what came and is not used */
    size_t n, cap;
};

struct kept {
    char *head, *body;
    size_t n_head, n_body;
    unsigned connection;
};

struct faults {
    struct faults_opts opts;
    struct faults_reply *replies;
    int listener, port, stop, release;
    pthread_t thread;
    pthread_mutex_t lock;
    struct connection *connections[MAX_CONNECTIONS];
    unsigned n_connections, n_requests;
    unsigned *used; /* of each reply */
    size_t bytes;
    struct kept requests[MAX_REQUESTS];
    char url[256];
};

static void must(int bad, const char *what)
{
    if (bad) {
        (void)fprintf(stderr, "faults: %s: %s\n", what, strerror(errno));
        abort();
    }
}

static void *room(void *p, size_t n)
{
    p = realloc(p, n);
    must(!p, "realloc");
    return p;
}

static void lock(struct faults *f)
{
    must(pthread_mutex_lock(&f->lock), "lock");
}

static void unlock(struct faults *f)
{
    must(pthread_mutex_unlock(&f->lock), "unlock");
}

/* ---- One connection ------------------------------------------------------------------------------------------- */

/* Waits for the descriptor; false: the server is stopped. */
static bool wait_fd(const struct connection *c, short events, int other, int ms)
{
    struct pollfd p[3] = {{.fd = c->server->stop, .events = POLLIN},
                          {.fd = events ? c->fd : -1, .events = events},
                          {.fd = other, .events = POLLIN}};
    (void)poll(p, 3, ms);
    return !p[0].revents;
}

/* The bytes moved; 0: the end; -1: broken, or the server is stopped. */
static ssize_t move(struct connection *c, void *p, size_t n, bool out)
{
    for (;;) {
        ssize_t r;
        short wants = out ? POLLOUT : POLLIN;
        if (c->ssl) {
            ERR_clear_error();
            int moved = out ? SSL_write(c->ssl, p, n > 16384 ? 16384 : (int)n) : SSL_read(c->ssl, p, (int)n);
            int why = SSL_get_error(c->ssl, moved);
            if (moved > 0)
                return moved;
            if (why == SSL_ERROR_ZERO_RETURN)
                return 0;
            if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
                return -1;
            wants = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        } else {
            r = out ? send(c->fd, p, n, MSG_NOSIGNAL) : recv(c->fd, p, n, 0);
            if (r >= 0)
                return r;
            if (errno != EAGAIN && errno != EINTR)
                return -1;
        }
        if (!wait_fd(c, wants, -1, -1))
            return -1;
    }
}

static bool put(struct connection *c, const char *p, size_t n)
{
    while (n) {
        ssize_t r = move(c, (void *)(uintptr_t)p, n, true); /* which does not write to it */
        if (r <= 0)
            return false;
        p += r;
        n -= (size_t)r;
    }
    return true;
}

static bool get(struct connection *c)
{
    if (c->cap - c->n < 65536)
        c->in = room(c->in, c->cap = c->cap * 2 + 65536 + 1);
    ssize_t r = move(c, c->in + c->n, 65536 - 1, false);
    if (r <= 0)
        return false;
    c->n += (size_t)r;
    c->in[c->n] = 0;
    lock(c->server);
    c->server->bytes += (size_t)r;
    unlock(c->server);
    return true;
}

static void reset(struct connection *c)
{
    struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static bool chunk(struct connection *c, struct upp_str s)
{
    char head[32];
    int n = snprintf(head, sizeof head, "%zx\r\n", s.n);
    return put(c, head, (size_t)n) && put(c, s.p, s.n) && put(c, "\r\n", 2);
}

static bool drip(struct connection *c, struct upp_str s)
{
    static const int one = 1;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (size_t i = 0; i < s.n; i++)
        if (!put(c, s.p + i, 1))
            return false;
    return true;
}

/* Until the client goes away: what it sends is taken, and counted. */
static void hang(struct connection *c)
{
    while (get(c))
        c->n = 0;
}

/* False: the connection is to be closed. */
static bool act(struct connection *c, const struct faults_step *s)
{
    bool ok = true;
    switch (s->act) {
    case FAULTS_SEND:
        for (size_t i = 0; ok && i < (s->times ? s->times : 1); i++)
            ok = put(c, s->bytes.p, s->bytes.n);
        return ok;
    case FAULTS_DRIP:
        return drip(c, s->bytes);
    case FAULTS_CHUNK:
        return chunk(c, s->bytes);
    case FAULTS_WAIT:
        return wait_fd(c, 0, -1, (int)s->ms);
    case FAULTS_HOLD:
        return wait_fd(c, 0, c->server->release, -1);
    case FAULTS_HANG:
        hang(c);
        return false;
    case FAULTS_RESET:
        reset(c);
        return false;
    case FAULTS_CUT:
        return false;
    case FAULTS_END:
        break;
    }
    if (c->ssl)
        (void)SSL_shutdown(c->ssl);
    return false;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static size_t body_length(const char *head, size_t n)
{
    static const char name[] = "\r\ncontent-length:";
    for (size_t i = 0; i + sizeof name <= n; i++)
        if (strncasecmp(head + i, name, sizeof name - 1) == 0)
            return strtoull(head + i + sizeof name - 1, NULL, 10);
    return 0;
}

static char *cut(struct connection *c, size_t n)
{
    char *p = memcpy(room(NULL, n + 1), c->in, n);
    p[n] = 0;
    memmove(c->in, c->in + n, c->n - n + 1);
    c->n -= n;
    return p;
}

/* A whole request into the book: its number, or -1. */
static int take_request(struct connection *c)
{
    struct faults *f = c->server;
    char *end = NULL;
    while (!c->n || !(end = memmem(c->in, c->n, "\r\n\r\n", 4)))
        if (c->n > MAX_HEAD || !get(c))
            return -1;
    size_t head = (size_t)(end - c->in) + 4, body = body_length(c->in, head);
    while (c->n < head + body)
        if (!get(c))
            return -1;
    struct kept k = {.n_head = head, .n_body = body, .connection = c->number};
    k.head = cut(c, head);
    k.body = cut(c, body);
    lock(f);
    must(f->n_requests == MAX_REQUESTS, "too many requests");
    int i = (int)f->n_requests;
    f->requests[i] = k;
    f->n_requests++;
    unlock(f);
    return i;
}

static const struct faults_reply *choose(struct faults *f, int request)
{
    const struct faults_reply *found = NULL;
    lock(f);
    const char *target = request < 0 ? NULL : strchr(f->requests[request].head, ' ');
    for (size_t i = 0; !found && i < f->opts.n_replies; i++) {
        const struct faults_reply *r = &f->replies[i];
        if ((r->times && f->used[i] >= r->times) ||
            (r->path && target && strncmp(target + 1, r->path, strlen(r->path)) != 0))
            continue;
        f->used[i]++;
        found = r;
    }
    unlock(f);
    return found;
}

static bool answer(struct connection *c, const struct faults_reply *r)
{
    for (size_t i = 0; r && i < r->n; i++)
        if (!act(c, &r->steps[i]))
            return false;
    return r != NULL;
}

static bool shake_hands(struct connection *c)
{
    if (!c->server->opts.tls)
        return true;
    c->ssl = SSL_new(c->server->opts.tls);
    must(!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1, "SSL_new");
    for (;;) {
        int r = SSL_accept(c->ssl), why = SSL_get_error(c->ssl, r);
        if (r == 1)
            return true;
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
            return false;
        if (!wait_fd(c, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, -1, -1))
            return false;
    }
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct faults *f = c->server;
    if (f->opts.no_requests)
        (void)answer(c, choose(f, -1));
    else if (shake_hands(c))
        for (int i; (i = take_request(c)) >= 0;)
            if (!answer(c, choose(f, i)))
                break;
    if (c->ssl)
        SSL_set_quiet_shutdown(c->ssl, 1);
    SSL_free(c->ssl);
    (void)close(c->fd);
    ERR_clear_error();
    OPENSSL_thread_stop();
    return NULL;
}

/* ---- The server ------------------------------------------------------------------------------ */

static void *listen_on(void *arg)
{
    struct faults *f = arg;
    for (;;) {
        struct pollfd p[2] = {{.fd = f->stop, .events = POLLIN}, {.fd = f->listener, .events = POLLIN}};
        (void)poll(p, 2, -1);
        if (p[0].revents)
            return NULL;
        int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            continue;
        struct connection *c = calloc(1, sizeof *c);
        must(!c || f->n_connections == MAX_CONNECTIONS, "too many connections");
        *c = (struct connection){.server = f, .fd = fd, .number = f->n_connections};
        lock(f);
        f->connections[f->n_connections++] = c;
        unlock(f);
        must(pthread_create(&c->thread, NULL, serve, c), "pthread_create");
    }
}

/* Threads of the server take no signal: those belong to the test. */
static void start_thread(struct faults *f)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &before), "sigmask");
    must(pthread_create(&f->thread, NULL, listen_on, f), "pthread_create");
    must(pthread_sigmask(SIG_SETMASK, &before, NULL), "sigmask");
}

struct faults *faults_start(const struct faults_opts *opts)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    struct faults *f = calloc(1, sizeof *f);
    must(!f, "calloc");
    f->opts = *opts;
    f->replies = memcpy(room(NULL, (opts->n_replies + 1) * sizeof *f->replies), opts->replies,
                        opts->n_replies * sizeof *f->replies);
    f->used = calloc(opts->n_replies + 1, sizeof *f->used);
    f->stop = eventfd(0, EFD_CLOEXEC);
    f->release = eventfd(0, EFD_CLOEXEC);
    must(!f->used || f->stop < 0 || f->release < 0 || pthread_mutex_init(&f->lock, NULL), "start");
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(f->listener < 0 || bind(f->listener, (struct sockaddr *)&at, sizeof at) || listen(f->listener, 512) ||
             getsockname(f->listener, (struct sockaddr *)&at, &n),
         "listen");
    f->port = ntohs(at.sin_port);
    start_thread(f);
    return f;
}

static void ring(int fd)
{
    static const uint64_t one = 1;
    must(write(fd, &one, sizeof one) != sizeof one, "eventfd");
}

void faults_stop(struct faults *f)
{
    if (!f)
        return;
    ring(f->stop);
    must(pthread_join(f->thread, NULL), "join");
    for (unsigned i = 0; i < f->n_connections; i++) {
        must(pthread_join(f->connections[i]->thread, NULL), "join");
        free(f->connections[i]->in);
        free(f->connections[i]);
    }
    for (unsigned i = 0; i < f->n_requests; i++) {
        free(f->requests[i].head);
        free(f->requests[i].body);
    }
    (void)close(f->listener);
    (void)close(f->stop);
    (void)close(f->release);
    (void)pthread_mutex_destroy(&f->lock);
    free(f->replies);
    free(f->used);
    free(f);
}

void faults_stopp(struct faults **f)
{
    faults_stop(*f);
}

int faults_port(const struct faults *f)
{
    return f->port;
}

const char *faults_url_of(const struct faults *f, const char *host, const char *path)
{
    static _Thread_local char url[256];
    (void)snprintf(url, sizeof url, "%s://%s:%d%s", f->opts.tls ? "https" : "http", host, f->port, path);
    return url;
}

const char *faults_url(const struct faults *f, const char *path)
{
    return faults_url_of(f, "127.0.0.1", path);
}

unsigned faults_connections(struct faults *f)
{
    lock(f);
    unsigned n = f->n_connections;
    unlock(f);
    return n;
}

unsigned faults_requests(struct faults *f)
{
    lock(f);
    unsigned n = f->n_requests;
    unlock(f);
    return n;
}

size_t faults_bytes(struct faults *f)
{
    lock(f);
    size_t n = f->bytes;
    unlock(f);
    return n;
}

bool faults_request(struct faults *f, unsigned i, struct faults_seen *ret)
{
    lock(f);
    bool there = i < f->n_requests;
    if (there) {
        const struct kept *k = &f->requests[i];
        *ret = (struct faults_seen){{k->head, k->n_head}, {k->body, k->n_body}, k->connection};
    }
    unlock(f);
    return there;
}

void faults_release(struct faults *f)
{
    ring(f->release);
}

bool faults_has_header(struct upp_str head, const char *line)
{
    size_t n = strlen(line);
    for (size_t i = 0; i + n + 4 <= head.n; i++)
        if (head.p[i] == '\r' && head.p[i + 1] == '\n' && strncasecmp(head.p + i + 2, line, n) == 0 &&
            head.p[i + 2 + n] == '\r')
            return true;
    return false;
}

/* ---- gzip, by hand: a test needs no library for it ------------------------------------------- */

struct bits {
    unsigned char *p;
    size_t n;
    unsigned held, count;
};

static void add_bits(struct bits *b, unsigned value, unsigned count)
{
    b->held |= value << b->count;
    for (b->count += count; b->count >= 8; b->count -= 8, b->held >>= 8)
        b->p[b->n++] = (unsigned char)b->held;
}

/* Huffman codes go out with their highest bit first. */
static void add_code(struct bits *b, unsigned code, unsigned count)
{
    while (count--)
        add_bits(b, (code >> count) & 1, 1);
}

static void add_le(struct bits *b, unsigned long v, unsigned bytes)
{
    for (; bytes; bytes--, v >>= 8)
        b->p[b->n++] = (unsigned char)v;
}

static unsigned long crc_more(unsigned long crc, unsigned char byte)
{
    crc ^= byte;
    for (int i = 0; i < 8; i++)
        crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    return crc;
}

static const unsigned char gzip_head[10] = {31, 139, 8, 0, 0, 0, 0, 0, 0, 255};

struct upp_str faults_gzip(struct upp_str body)
{
    struct bits b = {.p = room(NULL, body.n + body.n / 60000 * 5 + 64)};
    unsigned long crc = 0xffffffffu;
    memcpy(b.p, gzip_head, b.n = sizeof gzip_head);
    size_t at = 0;
    do {
        size_t some = body.n - at < 60000 ? body.n - at : 60000;
        b.p[b.n++] = at + some == body.n;
        add_le(&b, some, 2);
        add_le(&b, ~some & 0xffff, 2);
        for (size_t i = 0; i < some; i++)
            crc = crc_more(crc, b.p[b.n++] = (unsigned char)body.p[at + i]);
        at += some;
    } while (at < body.n);
    add_le(&b, crc ^ 0xffffffffu, 4);
    add_le(&b, body.n, 4);
    return (struct upp_str){(char *)b.p, b.n};
}

/* One block with the fixed codes: a blank, and then "258 bytes from one back" again and again, 13 bits each. */
struct upp_str faults_bomb(size_t n)
{
    size_t matches = n / 258;
    struct bits b = {.p = room(NULL, matches * 13 / 8 + 64)};
    unsigned long crc = 0xffffffffu;
    memcpy(b.p, gzip_head, b.n = sizeof gzip_head);
    add_bits(&b, 1, 1);
    add_bits(&b, 1, 2);
    add_code(&b, 0x30 + ' ', 8);
    for (size_t i = 0; i < matches; i++) {
        add_code(&b, 0xc0 + 285 - 280, 8);
        add_code(&b, 0, 5);
    }
    add_code(&b, 0, 7);
    add_bits(&b, 0, 7);
    for (size_t i = 0; n < 4 << 20 && i < 1 + matches * 258; i++) /* a large one is not read to its end */
        crc = crc_more(crc, ' ');
    add_le(&b, crc ^ 0xffffffffu, 4);
    add_le(&b, 1 + matches * 258, 4);
    return (struct upp_str){(char *)b.p, b.n};
}
