/* support/certs.c — signs certificates with OpenSSL: good ones, and some that are wrong in one respect. */
#include "support/certs.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "certs: %s\n", what);
        ERR_print_errors_fp(stderr);
        abort();
    }
}

static void add(X509 *x, const X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, (X509 *)(uintptr_t)issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    must(e && X509_add_ext(x, e, -1) == 1, value);
    X509_EXTENSION_free(e);
}

static void add_unknown(X509 *x)
{
    ASN1_OBJECT *o = OBJ_txt2obj("1.3.6.1.4.1.99999.1", 1);
    ASN1_OCTET_STRING *s = ASN1_OCTET_STRING_new();
    must(o && s && ASN1_OCTET_STRING_set(s, (const unsigned char *)"\x05\x00", 2) == 1, "octets");
    X509_EXTENSION *e = X509_EXTENSION_create_by_OBJ(NULL, o, 1, s);
    must(e && X509_add_ext(x, e, -1) == 1, "unknown extension");
    X509_EXTENSION_free(e);
    ASN1_OCTET_STRING_free(s);
    ASN1_OBJECT_free(o);
}

static void add_nul_name(X509 *x)
{
    static const char name[] = "localhost\0.example";
    GENERAL_NAMES *all = sk_GENERAL_NAME_new_null();
    GENERAL_NAME *g = GENERAL_NAME_new();
    ASN1_IA5STRING *s = ASN1_IA5STRING_new();
    must(all && g && s && ASN1_STRING_set(s, name, sizeof name - 1) == 1, "name");
    GENERAL_NAME_set0_value(g, GEN_DNS, s);
    must(sk_GENERAL_NAME_push(all, g) > 0, "push");
    must(X509_add1_ext_i2d(x, NID_subject_alt_name, all, 0, X509V3_ADD_APPEND) == 1, "names");
    GENERAL_NAMES_free(all);
}

static void add_extensions(X509 *x, const X509 *issuer, const struct cert_opts *o)
{
    const char *constraints = o->constraints ? o->constraints : o->ca ? "critical,CA:TRUE" : "critical,CA:FALSE";
    const char *usage = o->key_usage ? o->key_usage : o->ca ? "critical,keyCertSign" : "critical,digitalSignature";
    const char *names = o->names ? o->names : o->ca ? "" : "IP:127.0.0.1,DNS:localhost";
    add(x, issuer, NID_basic_constraints, constraints);
    add(x, issuer, NID_subject_key_identifier, "hash"); /* these two are what strict clients want: Python 3.13 */
    add(x, issuer, NID_authority_key_identifier, "keyid:always");
    if (usage[0])
        add(x, issuer, NID_key_usage, usage);
    if (o->purpose || !o->ca)
        add(x, issuer, NID_ext_key_usage, o->purpose ? o->purpose : "serverAuth");
    if (o->raw_nul)
        add_nul_name(x);
    else if (names[0])
        add(x, issuer, NID_subject_alt_name, names);
    if (o->permitted)
        add(x, issuer, NID_name_constraints, o->permitted);
    if (o->critical)
        add_unknown(x);
}

struct cert cert_new(const struct cert_opts *o)
{
    static long serial;
    struct cert c = {.x509 = X509_new()};
    const struct cert *issuer = o->issuer ? o->issuer : &c;
    c.key = o->rsa_bits ? EVP_RSA_gen((unsigned)o->rsa_bits) : EVP_EC_gen("P-256");
    must(c.x509 && c.key, "key");
    bool dated = o->from_day || o->to_day;
    const char *cn = o->name ? o->name : "test";
    X509_NAME *name = X509_get_subject_name(c.x509);
    const char *digest = o->digest ? o->digest : "sha256";
    must(X509_set_version(c.x509, 2) && ASN1_INTEGER_set(X509_get_serialNumber(c.x509), ++serial), "serial");
    must(X509_gmtime_adj(X509_getm_notBefore(c.x509), (dated ? o->from_day : -1) * 86400L) &&
             X509_gmtime_adj(X509_getm_notAfter(c.x509), (dated ? o->to_day : 1) * 86400L),
         "dates");
    must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)cn, -1, -1, 0) == 1, "name");
    must(X509_set_pubkey(c.x509, c.key) == 1, "public key");
    must(X509_set_issuer_name(c.x509, X509_get_subject_name(issuer->x509)) == 1, "issuer");
    add_extensions(c.x509, issuer->x509, o);
    must(X509_sign(c.x509, (o->signed_by ? o->signed_by : issuer)->key, EVP_get_digestbyname(digest)) > 0, "sign");
    return c;
}

void cert_done(struct cert *c)
{
    X509_free(c->x509);
    EVP_PKEY_free(c->key);
    *c = (struct cert){0};
}

void cert_write(const struct cert *c, const char *path)
{
    FILE *f = fopen(path, "wb");
    must(f && PEM_write_X509(f, c->x509) == 1 && fclose(f) == 0, path);
}

void cert_write_key(const struct cert *c, const char *path, const char *passphrase)
{
    FILE *f = fopen(path, "wb");
    const char *p = passphrase;
    must(f &&
             PEM_write_PKCS8PrivateKey(f, c->key, p ? EVP_aes_128_cbc() : NULL, p, p ? (int)strlen(p) : 0, NULL,
                                       NULL) == 1 &&
             fclose(f) == 0,
         path);
}

SSL_CTX *cert_server(const struct cert *c, const struct cert *const *chain)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    must(ctx != NULL, "context");
    SSL_CTX_set_security_level(ctx, 0);
    must(SSL_CTX_use_certificate(ctx, c->x509) == 1 && SSL_CTX_use_PrivateKey(ctx, c->key) == 1, "certificate");
    for (; chain && *chain; chain++)
        must(SSL_CTX_add1_chain_cert(ctx, (*chain)->x509) == 1, "chain");
    return ctx;
}

void cert_server_freep(SSL_CTX **ctx)
{
    SSL_CTX_free(*ctx);
}
