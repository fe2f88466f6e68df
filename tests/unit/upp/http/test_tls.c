/* TLS: a CA of the test's own, a good certificate, and every bad one that can be thought of. A bad one is refused
 * before a byte of the request, which holds the key, is sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defs.h"
#include "support/calls.h"
#include "support/certs.h"
#include "support/faults.h"
#include "support/test.h"

#define KEY "s3cr3t-key"
#define SEND(text)                                                                                                     \
    {                                                                                                                  \
        .act = FAULTS_SEND, .bytes = UPP_STR_INIT(text)                                                                \
    }

static const struct faults_step hello[] = {SEND("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")};

#define CERT(name, ...)    WB_CLEANUP(cert_done) struct cert name = cert_new(&(struct cert_opts){__VA_ARGS__})
#define CONTEXT(name, ...) WB_CLEANUP(cert_server_freep) SSL_CTX *name = cert_server(__VA_ARGS__)

static const char *ca_path(const struct cert *ca)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/ca.pem", test_folder());
    cert_write(ca, path);
    return path;
}

static int post(const char *ca_file, const char *url, struct called *got, struct upp_err *err)
{
    const struct upp_header key = {UPP_STR("x-api-key"), UPP_STR(KEY)};
    struct upp_http_request q = {.url = wb_cstr(url), .headers = &key, .n_headers = 1, .body = UPP_STR("{}")};
    HTTP(h);
    int r = upp_http_new(UPP_OPTS(upp_http_opts, .ca_file = ca_file, .proxy = ""), &h, err);
    return r < 0 ? r : call_http(h, &q, NULL, got, err);
}

static struct faults *start(SSL_CTX *tls, const struct faults_step *steps, size_t n)
{
    const struct faults_reply reply = {.steps = steps, .n = n};
    return faults_start(&(struct faults_opts){.replies = &reply, .n_replies = 1, .tls = tls});
}

TEST(outgoing_tls_a_good_certificate_and_connections_used_again)
{
    CERT(ca, .ca = true, .name = "ca");
    CERT(leaf, .issuer = &ca);
    CONTEXT(tls, &leaf, NULL);
    WB_CLEANUP(faults_stopp) struct faults *s = start(tls, hello, 1);
    struct upp_err err = {0};
    HTTP(h);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .ca_file = ca_path(&ca), .proxy = ""), &h, &err), 0);
    for (int i = 0; i < 3; i++) {
        CALLED(got);
        CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), 0);
        CHECK_STR(wb_buf_str(&got.body), UPP_STR("hello"));
    }
    CHECK_INT(faults_connections(s), 1);
    CALLED(by_name);
    CHECK_INT(call_url(h, faults_url_of(s, "localhost", "/"), NULL, &by_name, &err), 0);
}

static void unset(const char *const *name)
{
    (void)unsetenv(*name);
}

TEST(outgoing_tls_the_variable_names_the_ca)
{
    WB_CLEANUP(unset) const char *name = "SSL_CERT_FILE";
    CERT(ca, .ca = true, .name = "ca");
    CERT(leaf, .issuer = &ca);
    CONTEXT(tls, &leaf, NULL);
    WB_CLEANUP(faults_stopp) struct faults *s = start(tls, hello, 1);
    struct upp_err err = {0};
    CALLED(without);
    CALLED(with);
    CALLED(missing);
    CHECK_INT(post(NULL, faults_url(s, "/"), &without, &err), -UPP_ENET);
    CHECK(setenv(name, ca_path(&ca), 1) == 0);
    CHECK_INT(post(NULL, faults_url(s, "/"), &with, &err), 0);
    CHECK_INT(post("/nonexistent/ca.pem", faults_url(s, "/"), &missing, &err), -UPP_EINVALID);
    CHECK_INT(faults_requests(s), 1);
}

/* A body that lasts until the connection closes has no end of its own, and libcurl does not ask for TLS's word of
 * good-bye (newer ones do): whoever reads must know when an answer is whole. With a length or chunks a cut is seen. */
TEST(outgoing_tls_a_connection_that_is_cut)
{
    static const struct faults_step half[] = {SEND("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"),
                                              {.act = FAULTS_CUT}},
                                    cut[] = {SEND("HTTP/1.1 200 OK\r\n\r\nhalf"), {.act = FAULTS_CUT}},
                                    ended[] = {SEND("HTTP/1.1 200 OK\r\n\r\nhalf"), {.act = FAULTS_END}},
                                    length[] = {SEND("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhalf"),
                                                {.act = FAULTS_CUT}},
                                    last[] = {SEND("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                                   "4\r\nhalf\r\n0\r\n\r\n"),
                                              {.act = FAULTS_CUT}};
    static const struct {
        const struct faults_step *steps;
        int code;
    } cases[] = {{half, -UPP_ENET}, {cut, 0}, {ended, 0}, {length, 0}, {last, 0}};
    CERT(ca, .ca = true, .name = "ca");
    CERT(leaf, .issuer = &ca);
    CONTEXT(tls, &leaf, NULL);
    const char *path = ca_path(&ca);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(faults_stopp) struct faults *s = start(tls, cases[i].steps, 2);
        struct upp_err err = {0};
        CALLED(got);
        int r = post(path, faults_url(s, "/"), &got, &err);
        test_note("case %zu: %s", i, err.msg);
        if (cases[i].steps != cut || r != -UPP_ENET)
            CHECK_INT(r, cases[i].code);
        CHECK_STR(wb_buf_str(&got.body), UPP_STR("half"));
    }
}

TEST(outgoing_tls_a_redirect_does_not_leave_it)
{
    static const struct faults_step to[] = {
        SEND("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")};
    CERT(ca, .ca = true, .name = "ca");
    CERT(leaf, .issuer = &ca);
    CONTEXT(tls, &leaf, NULL);
    WB_CLEANUP(faults_stopp) struct faults *s = start(tls, to, 1);
    struct upp_err err = {0};
    CALLED(got);
    HTTP(h);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .ca_file = ca_path(&ca), .proxy = ""), &h, &err), 0);
    CHECK_INT(call_url(h, faults_url(s, "/"), NULL, &got, &err), -UPP_EPROVIDER);
    CHECK(strstr(err.msg, "that is not encrypted"));
}

/* Refused, and nothing of the request was sent. */
static void refused(const char *what, const char *ca, SSL_CTX *tls, const char *host)
{
    WB_CLEANUP(faults_stopp) struct faults *s = start(tls, hello, 1);
    struct upp_err err = {0};
    CALLED(got);
    int r = post(ca, faults_url_of(s, host, "/"), &got, &err);
    test_note("%s: %s (%d)", what, err.msg, r);
    CHECK_INT(r, -UPP_ENET);
    CHECK(err.cause[0] && !strstr(err.msg, KEY) && !strstr(err.cause, KEY));
    CHECK_INT(faults_requests(s), 0);
    CHECK_INT(faults_bytes(s), 0);
}

#define LOOP   "127.0.0.1"
#define NOT_CA "critical,CA:FALSE"

TEST_WITH(outgoing_tls_bad_certificates_are_refused, .no_torture = "many calls; one of them is tortured above")
{
    CERT(ca, .ca = true, .name = "ca", .rsa_bits = 2048); /* no elliptic curve signs with MD5 */
    CERT(stranger, .ca = true, .name = "stranger");
    CERT(impostor, .ca = true, .name = "ca");
    const char *path = ca_path(&ca);
    const struct {
        const char *what, *host;
        struct cert_opts leaf;
    } plain[] = {
        {"expired", LOOP, {.issuer = &ca, .from_day = -10, .to_day = -1}},
        {"not yet valid", LOOP, {.issuer = &ca, .from_day = 1, .to_day = 10}},
        {"another host", LOOP, {.issuer = &ca, .names = "DNS:example.org"}},
        {"another address", LOOP, {.issuer = &ca, .names = "IP:127.0.0.2"}},
        {"the address as a name", LOOP, {.issuer = &ca, .names = "DNS:127.0.0.1"}},
        {"a wildcard one level up", "a.b.localhost", {.issuer = &ca, .names = "DNS:*.localhost"}},
        {"a wildcard for everything", "localhost", {.issuer = &ca, .names = "DNS:*"}},
        {"a NUL in the name", "localhost", {.issuer = &ca, .raw_nul = true}},
        {"no names and another CN", LOOP, {.issuer = &ca, .names = "", .name = "example.org"}},
        {"names and a CN that fits", LOOP, {.issuer = &ca, .names = "DNS:example.org", .name = LOOP}},
        {"self-signed", LOOP, {.name = "self"}},
        {"self-signed, with the name of the CA", LOOP, {.name = "ca"}},
        {"an unknown CA", LOOP, {.issuer = &stranger}},
        {"another CA of the same name", LOOP, {.issuer = &impostor}},
        {"signed by somebody else", LOOP, {.issuer = &ca, .signed_by = &stranger}},
        {"for clients", LOOP, {.issuer = &ca, .purpose = "clientAuth"}},
        {"for code", LOOP, {.issuer = &ca, .purpose = "codeSigning"}},
        {"RSA with 1024 bits", LOOP, {.issuer = &ca, .rsa_bits = 1024}},
        {"RSA with 512 bits", LOOP, {.issuer = &ca, .rsa_bits = 512, .digest = "sha256"}},
        {"signed with SHA-1", LOOP, {.issuer = &ca, .digest = "sha1"}},
        {"signed with MD5", LOOP, {.issuer = &ca, .digest = "md5"}},
        {"an unknown critical extension", LOOP, {.issuer = &ca, .critical = true}},
    };
    for (size_t i = 0; i < WB_LEN(plain) && !test_failed(); i++) {
        WB_CLEANUP(cert_done) struct cert leaf = cert_new(&plain[i].leaf);
        CONTEXT(tls, &leaf, NULL);
        refused(plain[i].what, path, tls, plain[i].host);
    }
}

TEST_WITH(outgoing_tls_bad_chains_are_refused, .no_torture = "many calls; one of them is tortured above")
{
    CERT(ca, .ca = true, .name = "ca");
    CERT(ca_flat, .ca = true, .name = "flat", .constraints = "critical,CA:TRUE,pathlen:0");
    CERT(ca_old, .ca = true, .name = "old", .from_day = -10, .to_day = -1);
    const struct {
        const char *what;
        const struct cert *root;
        struct cert_opts middle;
        bool sent, good; /* the one between is in the handshake; nothing is wrong */
    } cases[] = {
        {"all is well", &ca, {.issuer = &ca, .ca = true, .name = "m"}, true, true},
        {"the one between is missing", &ca, {.issuer = &ca, .ca = true, .name = "m"}, false, false},
        {"the one between has expired",
         &ca,
         {.issuer = &ca, .ca = true, .name = "m", .from_day = -9, .to_day = -1},
         true,
         false},
        {"the one between is no CA",
         &ca,
         {.issuer = &ca, .name = "m", .constraints = NOT_CA, .key_usage = ""},
         true,
         false},
        {"it may not sign",
         &ca,
         {.issuer = &ca, .ca = true, .name = "m", .key_usage = "critical,digitalSignature"},
         true,
         false},
        {"the way is too long", &ca_flat, {.issuer = &ca_flat, .ca = true, .name = "m"}, true, false},
        {"names it may not sign",
         &ca,
         {.issuer = &ca,
          .ca = true,
          .name = "m",
          .permitted = "critical,permitted;DNS:example.org,permitted;IP:10.0.0.0/255.0.0.0"},
         true,
         false},
        {"it is weak", &ca, {.issuer = &ca, .ca = true, .name = "m", .rsa_bits = 1024}, true, false},
        {"the CA has expired", &ca_old, {.issuer = &ca_old, .ca = true, .name = "m"}, true, false},
    };
    for (size_t i = 0; i < WB_LEN(cases) && !test_failed(); i++) {
        WB_CLEANUP(cert_done) struct cert middle = cert_new(&cases[i].middle);
        CERT(leaf, .issuer = &middle);
        const struct cert *const chain[] = {&middle, NULL};
        CONTEXT(tls, &leaf, cases[i].sent ? chain : NULL);
        if (!cases[i].good) {
            refused(cases[i].what, ca_path(cases[i].root), tls, LOOP);
            continue;
        }
        WB_CLEANUP(faults_stopp) struct faults *s = start(tls, hello, 1);
        struct upp_err err = {0};
        CALLED(got);
        CHECK_INT(post(ca_path(cases[i].root), faults_url(s, "/"), &got, &err), 0);
    }
}

TEST_WITH(outgoing_tls_old_and_strange_servers_are_refused, .no_torture = "many calls; one of them is tortured above")
{
    CERT(ca, .ca = true, .name = "ca");
    CERT(leaf, .issuer = &ca);
    const char *path = ca_path(&ca);
    static const int old[] = {TLS1_VERSION, TLS1_1_VERSION};
    for (size_t i = 0; i < WB_LEN(old) && !test_failed(); i++) {
        CONTEXT(tls, &leaf, NULL);
        (void)SSL_CTX_set_min_proto_version(tls, old[i]);
        (void)SSL_CTX_set_max_proto_version(tls, old[i]);
        refused(i ? "TLS 1.1" : "TLS 1.0", path, tls, LOOP);
    }
    CONTEXT(anonymous, &leaf, NULL);
    (void)SSL_CTX_set_max_proto_version(anonymous, TLS1_2_VERSION);
    CHECK_INT(SSL_CTX_set_cipher_list(anonymous, "aNULL:@SECLEVEL=0"), 1);
    refused("no certificate at all", path, anonymous, LOOP);
    CONTEXT(weak, &leaf, NULL);
    (void)SSL_CTX_set_max_proto_version(weak, TLS1_2_VERSION);
    CHECK_INT(SSL_CTX_set_cipher_list(weak, "NULL:@SECLEVEL=0"), 1);
    refused("no encryption", path, weak, LOOP);
}

TEST(outgoing_tls_what_is_no_tls_gets_no_request)
{
    static const struct faults_step http[] = {SEND("HTTP/1.1 400 Bad Request\r\n\r\n"), {.act = FAULTS_HANG}},
                                    garbage[] = {SEND("220 mail.example ESMTP\r\n"), {.act = FAULTS_HANG}},
                                    closes[] = {{.act = FAULTS_END}}, resets[] = {{.act = FAULTS_RESET}};
    static const struct faults_reply replies[] = {FAULTS_REPLY(http), FAULTS_REPLY(garbage), FAULTS_REPLY(closes),
                                                  FAULTS_REPLY(resets)};
    WB_CLEANUP(cert_done) struct cert ca = cert_new(&(struct cert_opts){.ca = true, .name = "ca"});
    char path[300];
    (void)snprintf(path, sizeof path, "%s/ca.pem", test_folder());
    cert_write(&ca, path); /* one that is read faster than all of the system's */
    for (size_t i = 0; i < WB_LEN(replies); i++) {
        WB_CLEANUP(faults_stopp)
        struct faults *s =
            faults_start(&(struct faults_opts){.replies = &replies[i], .n_replies = 1, .no_requests = true});
        struct upp_err err = {0};
        char url[100];
        CALLED(got);
        (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", faults_port(s));
        test_note("case %zu", i);
        CHECK_INT(post(path, url, &got, &err), -UPP_ENET);
        ALWAYS(!strstr(err.msg, KEY) && !strstr(err.cause, KEY));
    }
}
