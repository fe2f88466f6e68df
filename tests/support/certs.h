/* support/certs.h — certificates made on the spot: a CA of the test's own, and whatever it should not have signed. */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>

struct cert {
    X509 *x509;
    EVP_PKEY *key;
};

/* All zero: a good certificate for 127.0.0.1 and localhost, valid from yesterday to tomorrow. */
struct cert_opts {
    const struct cert *issuer; /* NULL: itself */
    const char *name;          /* CN; NULL: "test" */
    const char *names;         /* subjectAltName as OpenSSL writes it; NULL: the loopback; "": none */
    bool raw_nul;              /* one more name with a NUL in it: "localhost\0.example" */
    int from_day, to_day;      /* from now; both 0: -1 to 1 */
    bool ca;
    const char *constraints;      /* basicConstraints; NULL: as `ca` says */
    const char *key_usage;        /* NULL: as `ca` says; "": none */
    const char *purpose;          /* extendedKeyUsage; NULL: serverAuth, of a CA none */
    const char *permitted;        /* nameConstraints */
    bool critical;                /* an extension nobody knows, marked critical */
    int rsa_bits;                 /* 0: P-256 */
    const char *digest;           /* NULL: sha256 */
    const struct cert *signed_by; /* NULL: the issuer. Else its key signs in the issuer's name */
};

struct cert cert_new(const struct cert_opts *opts); /* aborts where it cannot */
void cert_done(struct cert *c);
void cert_write(const struct cert *c, const char *path);                             /* PEM, without the key */
void cert_write_key(const struct cert *c, const char *path, const char *passphrase); /* NULL: none */

/* A server with this certificate and the chain above it (NULL at its end; may be NULL). It is as lax as it can be. */
SSL_CTX *cert_server(const struct cert *c, const struct cert *const *chain);
void cert_server_freep(SSL_CTX **ctx);
