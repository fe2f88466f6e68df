/* bench/bench_providers.c — one streamed delta of each vendor: its bytes through framing, adapter, step and the turn.
 *
 * The floor is the least a program could do with the same bytes: cut at the blank line, parse, take the text out by its
 * path, append it. The transport is one of memory, so no system call is in either.
 */
#include <string.h>
#include <upp/llm.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/defs.h"
#include "base/str.h"
#include "bench.h"

enum { DELTAS = 2000, PIECE = 16 << 10 };

struct vendor {
    const char *provider, *api;
    const char *head, *delta, *tail; /* bytes of the stream; `delta` is sent DELTAS times */
    const char *path;                /* of the text in a delta */
    const char *type;
};

#define SSE(json) "data: " json "\n\n"

static const struct vendor vendors[] = {
    {"anthropic", NULL,
     "event: message_start\n" SSE("{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\","
                                  "\"role\":\"assistant\","
                                  "\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":"
                                  "1}}}") "event: content_block_start\n" SSE("{\"type\":\"content_block_start\","
                                                                             "\"index\":0,\"content_block\":{"
                                                                             "\"type\":\"text\",\"text\":\"\"}}"),
     "event: content_block_delta\n" SSE("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_"
                                        "delta\",\"text\":\"four byte \"}}"),
     "event: content_block_stop\n" SSE("{\"type\":\"content_block_stop\",\"index\":0}") "event: "
                                                                                        "message_delta\n" SSE(
                                                                                            "{\"type\":\"message_"
                                                                                            "delta\",\"delta\":{"
                                                                                            "\"stop_reason\":\"end_"
                                                                                            "turn\"},\"usage\":{"
                                                                                            "\"output_tokens\":12}"
                                                                                            "}") "event: "
                                                                                                 "message_"
                                                                                                 "stop\n" SSE("{\"t"
                                                                                                              "ype"
                                                                                                              "\":"
                                                                                                              "\"me"
                                                                                                              "ssag"
                                                                                                              "e_"
                                                                                                              "stop"
                                                                                                              "\""
                                                                                                              "}"),
     "/delta/text", "text/event-stream"},
    {"openai", "responses",
     "event: response.created\n" SSE(
         "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":"
         "\"resp_1\",\"status\":\"in_progress\",\"output\":[]}}") "event: "
                                                                  "response.output_"
                                                                  "item.added\n" SSE("{\"type\":"
                                                                                     "\"response."
                                                                                     "output_item."
                                                                                     "added\","
                                                                                     "\"sequence_"
                                                                                     "number\":1,"
                                                                                     "\"output_"
                                                                                     "index\":0,"
                                                                                     "\"item\":{"
                                                                                     "\"type\":"
                                                                                     "\"message\","
                                                                                     "\"id\":\"msg_"
                                                                                     "1\",\"role\":"
                                                                                     "\"assistant\","
                                                                                     "\"status\":\"in_"
                                                                                     "progress\","
                                                                                     "\"content\":[]}"
                                                                                     "}") "event: "
                                                                                          "response."
                                                                                          "content_"
                                                                                          "part."
                                                                                          "added"
                                                                                          "\n" SSE("{"
                                                                                                   "\""
                                                                                                   "ty"
                                                                                                   "pe"
                                                                                                   "\""
                                                                                                   ":"
                                                                                                   "\""
                                                                                                   "re"
                                                                                                   "sp"
                                                                                                   "on"
                                                                                                   "se"
                                                                                                   ".c"
                                                                                                   "on"
                                                                                                   "te"
                                                                                                   "nt"
                                                                                                   "_p"
                                                                                                   "ar"
                                                                                                   "t."
                                                                                                   "ad"
                                                                                                   "de"
                                                                                                   "d"
                                                                                                   "\""
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "se"
                                                                                                   "qu"
                                                                                                   "en"
                                                                                                   "ce"
                                                                                                   "_n"
                                                                                                   "um"
                                                                                                   "be"
                                                                                                   "r"
                                                                                                   "\""
                                                                                                   ":2"
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "it"
                                                                                                   "em"
                                                                                                   "_i"
                                                                                                   "d"
                                                                                                   "\""
                                                                                                   ":"
                                                                                                   "\""
                                                                                                   "ms"
                                                                                                   "g_"
                                                                                                   "1"
                                                                                                   "\""
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "ou"
                                                                                                   "tp"
                                                                                                   "ut"
                                                                                                   "_i"
                                                                                                   "nd"
                                                                                                   "ex"
                                                                                                   "\""
                                                                                                   ":0"
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "co"
                                                                                                   "nt"
                                                                                                   "en"
                                                                                                   "t_"
                                                                                                   "in"
                                                                                                   "de"
                                                                                                   "x"
                                                                                                   "\""
                                                                                                   ":0"
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "pa"
                                                                                                   "rt"
                                                                                                   "\""
                                                                                                   ":{"
                                                                                                   "\""
                                                                                                   "ty"
                                                                                                   "pe"
                                                                                                   "\""
                                                                                                   ":"
                                                                                                   "\""
                                                                                                   "ou"
                                                                                                   "tp"
                                                                                                   "ut"
                                                                                                   "_t"
                                                                                                   "ex"
                                                                                                   "t"
                                                                                                   "\""
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "te"
                                                                                                   "xt"
                                                                                                   "\""
                                                                                                   ":"
                                                                                                   "\""
                                                                                                   "\""
                                                                                                   ","
                                                                                                   "\""
                                                                                                   "an"
                                                                                                   "no"
                                                                                                   "ta"
                                                                                                   "ti"
                                                                                                   "on"
                                                                                                   "s"
                                                                                                   "\""
                                                                                                   ":["
                                                                                                   "]}"
                                                                                                   "}"),
     "event: response.output_text.delta\n" SSE("{\"type\":\"response.output_text.delta\",\"sequence_number\":3,"
                                               "\"item_id\":\"msg_1\",\"output_index\":0,"
                                               "\"content_index\":0,\"delta\":\"four byte \"}"),
     "event: response.content_part.done\n" SSE(
         "{\"type\":\"response.content_part.done\",\"sequence_number\":4,"
         "\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,"
         "\"part\":{\"type\":\"output_text\",\"text\":\"x\",\"annotations\":["
         "]}}") "event: response.output_item.done\n" SSE("{\"type\":\"response.output_item.done\",\"sequence_"
                                                         "number\":5,\"output_index\":0,\"item\":{\"type\":"
                                                         "\"message\",\"id\":\"msg_1\",\"role\":\"assistant\","
                                                         "\"status\":\"completed\",\"content\":[{\"type\":"
                                                         "\"output_text\",\"text\":\"x\",\"annotations\":[]}]}"
                                                         "}") "event: response.completed\n" SSE("{\"type\":"
                                                                                                "\"response."
                                                                                                "completed\","
                                                                                                "\"sequence_"
                                                                                                "number\":6,"
                                                                                                "\"response\":{"
                                                                                                "\"id\":\"resp_"
                                                                                                "1\","
                                                                                                "\"status\":"
                                                                                                "\"completed\","
                                                                                                "\"output\":[],"
                                                                                                "\"usage\":{"
                                                                                                "\"input_"
                                                                                                "tokens\":9,"
                                                                                                "\"output_"
                                                                                                "tokens\":12,"
                                                                                                "\"total_"
                                                                                                "tokens\":21}}"
                                                                                                "}"),
     "/delta", "text/event-stream"},
    {"openai", "chat",
     SSE("{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{"
         "\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}"),
     SSE("{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{"
         "\"index\":0,\"delta\":{\"content\":\"four byte \"},\"finish_reason\":null}]}"),
     SSE("{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{"
         "\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}") "data: [DONE]\n\n",
     "/choices/0/delta/content", "text/event-stream"},
    {"google", NULL, "",
     SSE("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"four byte "
         "\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,"
         "\"candidatesTokenCount\":3,\"totalTokenCount\":12},\"modelVersion\":\"m\"}"),
     SSE("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},\"finishReason\":"
         "\"STOP\","
         "\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":12,"
         "\"totalTokenCount\":"
         "21},\"modelVersion\":\"m\"}"),
     "/candidates/0/content/parts/0/text", "text/event-stream"},
    {"ollama", NULL, "",
     "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":"
     "\"four byte \"},\"done\":false}\n",
     "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":"
     "\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":9,\"eval_count\":12}\n",
     "/message/content", "application/x-ndjson"},
};

static const struct vendor *vendor; /* the one being measured */
static struct wb_buf body;
static size_t at;
static struct upp_llm *llm;

/* ---- A transport of memory ------------------------------------------------------------------- */

static int send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait, struct upp_http_call **ret,
                struct upp_err *err)
{
    (void)req, (void)wait, (void)err;
    at = 0;
    *ret = arg;
    return 0;
}

static int head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    static struct upp_header type = {UPP_STR_INIT("content-type"), {0}};
    (void)c, (void)err;
    type.value = wb_cstr(vendor->type);
    *ret = (struct upp_http_head){200, &type, 1};
    return 0;
}

static int read_piece(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    (void)c, (void)err;
    *ret = wb_str_sub(wb_buf_str(&body), at, PIECE);
    at += ret->n;
    return ret->n > 0;
}

static void close_call(struct upp_http_call *c)
{
    (void)c;
}

static const struct upp_transport memory = {
    .size = sizeof memory, .arg = &at, .send = send, .head = head, .read = read_piece, .close = close_call};

/* ---- Product and floor ----------------------------------------------------------------------- */

static void product(unsigned n)
{
    struct upp_err err = {0};
    for (unsigned done = 0; done < n; done += DELTAS) {
        UPP_CLEANUP(upp_stream_closep) struct upp_stream *s = NULL;
        struct upp_event ev;
        unsigned seen = 0;
        int r = upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("go on")), &s, &err);
        while (r >= 0 && (r = upp_stream_next(s, &ev, &err)) > 0)
            seen += ev.type == UPP_TEXT_DELTA;
        if (r < 0 || seen != DELTAS) {
            fprintf(stderr, "bench_providers: %s: %u deltas, %s\n", vendor->provider, seen, err.msg);
            exit(1);
        }
    }
}

static void plain(unsigned n)
{
    for (unsigned done = 0; done < n; done += DELTAS) {
        struct wb_buf text = WB_BUF(1 << 20);
        struct upp_str rest = wb_buf_str(&body);
        const char *end = vendor->type[0] == 't' ? "\n\n" : "\n";
        size_t cut;
        while ((cut = wb_str_find(rest, wb_cstr(end), 0)) != SIZE_MAX) {
            const char *json = memchr(rest.p, '{', cut);
            yyjson_doc *doc = json ? yyjson_read(json, cut - (size_t)(json - rest.p), 0) : NULL;
            yyjson_val *v = doc ? yyjson_doc_ptr_get(doc, vendor->path) : NULL;
            if (yyjson_is_str(v))
                wb_buf_add(&text, wb_str(yyjson_get_str(v), yyjson_get_len(v)));
            yyjson_doc_free(doc);
            rest = wb_str_sub(rest, cut + strlen(end), SIZE_MAX);
        }
        bench_keep(&text);
        wb_buf_done(&text);
    }
}

int main(void)
{
    for (size_t i = 0; i < WB_LEN(vendors); i++) {
        struct upp_err err = {0};
        char name[64];
        struct upp_provider_opts o = {.size = sizeof o, .api_key = "k", .api = vendors[i].api, .transport = &memory};
        vendor = &vendors[i];
        body = (struct wb_buf)WB_BUF(16 << 20);
        wb_buf_add(&body, wb_cstr(vendor->head));
        for (int k = 0; k < DELTAS; k++)
            wb_buf_add(&body, wb_cstr(vendor->delta));
        wb_buf_add(&body, wb_cstr(vendor->tail));
        if (upp_llm_new(UPP_OPTS(upp_llm_opts, .model = {vendor->provider, "m", &o}), &llm, &err) < 0)
            return fprintf(stderr, "bench_providers: %s\n", err.msg), 1;
        (void)snprintf(name, sizeof name, "%s%s%s delta", vendor->provider, vendor->api ? " " : "",
                       vendor->api ? vendor->api : "");
        BENCH(.name = name, .product = product, .floor = plain, .times = DELTAS, .goal_ns = 400);
        upp_llm_free(llm);
        wb_buf_done(&body);
    }
    return 0;
}
