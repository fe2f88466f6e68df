/* upp/http/curl_call.h — the inside of outgoing HTTP by libcurl: connections, and a call on them.
 *
 * One multi handle whose sockets are in an epoll descriptor. Whoever waits for an answer waits for that descriptor and
 * drives libcurl for everybody (upp/client/lead.h): the same code for a thread that blocks and for fibers.
 *
 * libcurl's callbacks append to a call's buffers and note that there is news; nothing in them enters libcurl again.
 * What was noted is acted upon when libcurl has returned (upp__curl_dispatch).
 */
#pragma once

#include <curl/curl.h>

#include "upp/http/rules.h"
#include "upp/client/lead.h"

enum {
    UPP__CURL_READ = 8 << 10,   /* bytes of one read from the network: the largest part of what a quiet call holds */
    UPP__CURL_HIGH = 256 << 10, /* unread bytes: above it nothing is read from the network */
};

struct upp_http {
    char *ca_file, *proxy; /* as given; NULL: not */
    long max_connections;
    CURLM *multi; /* NULL: not used yet */
    int epoll, poke;
    uint64_t timer_at, planned; /* libcurl's; the one that the leader knew when it began to wait */
    struct upp__waiters crowd;
    struct wb_link calls; /* all that are open */
    struct wb_link news;  /* those that something came for since libcurl was entered */
    bool lost;            /* the kernel did not take a socket */
    bool spent;           /* libcurl failed half-way: the multi handle is not entered again, but to take it down */
};

struct upp_http_call {
    struct upp__waiter waiter;
    struct wb_link link, news;
    struct upp_http *http;
    CURL *easy;
    struct curl_slist *headers;
    struct upp_http_request req;
    char *host;             /* "host:port" */
    const char *local_path; /* of a Unix socket, borrowed while the call begins; NULL: none */
    uint64_t began, total_at;
    struct upp__head head;
    struct wb_buf in, lent;
    uint64_t got; /* bytes of the body so far */
    bool added, done, get, moved, coded, paused;
    bool away; /* it was sent to another host: credentials stay behind from then on */
    unsigned hops;
    CURLcode result;
    int failed; /* sticky; see `err` */
    struct upp_err err;
    char text[CURL_ERROR_SIZE];
};

/* The moment so many ms after another; more than anything waits (68 years) is for ever. */
static inline uint64_t upp__curl_after(uint64_t at, uint64_t ms)
{
    return ms / 1000 > INT32_MAX ? UPP_FOREVER : at + ms;
}

/* Wakes the reader. */
static inline void upp__curl_note(struct upp_http_call *c)
{
    if (!wb_linked(&c->news))
        wb_list_push(&c->http->news, &c->news);
}

/* What it failed with, again. */
static inline int upp__curl_fail_again(const struct upp_http_call *c, struct upp_err *err)
{
    if (err)
        *err = c->err;
    return c->failed;
}

/* Created on first use. */
int upp__curl_ready(struct upp_http *h, struct upp_err *err) UPP_MUST_CHECK;

/* Outside of libcurl: who has ended, who holds too much, who is to be woken. */
void upp__curl_dispatch(struct upp_http *h);
void upp__curl_timers(struct upp_http *h); /* lets libcurl do what is due */

/* The parts of an address that decide who gets a request. */
struct upp__origin {
    char *scheme, *host, *port;
};
void upp__origin_done(struct upp__origin *o);
bool upp__origin_same(const struct upp__origin *a, const struct upp__origin *b);

/* `base` NULL: the address is whole. -UPP_EINVALID: it is none of the web. */
int upp__address(const char *base, const char *url, CURLU **ret, struct upp__origin *o,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Where it goes: the address, the host that errors name, and the headers that may go there. */
int upp__curl_aim(struct upp_http_call *c, const char *url, const struct upp__origin *o, bool same_origin,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Adds it to those that libcurl works on, and lets it begin at once: the leader may be asleep. */
int upp__curl_begin(struct upp_http_call *c, struct upp_err *err) UPP_MUST_CHECK;
void upp__curl_headers_free(struct curl_slist *list);

/* libcurl's callbacks. */
size_t upp__curl_on_header(char *p, size_t size, size_t count, void *call);
size_t upp__curl_on_body(char *p, size_t size, size_t count, void *call);

/* The answer points elsewhere: goes there, or fails. */
int upp__curl_follow(struct upp_http_call *c, struct upp_err *err) UPP_MUST_CHECK;
