/* interop/aimock/client.c — one call of a model at a given address, told in lines that a script can read.
 *
 *     aimock_client PROVIDER MODEL ADDRESS WORD...
 *
 *     key=KEY  api=chat  version=2026-10-21  ask=TEXT  system=TEXT  params=JSON  structure=JSON  header=NAME:VALUE
 *     stream   tools  retry  image
 *
 * Lines: `event JSON` for each event of a stream, `turn JSON`, `error JSON`, `retry MS`, `where TEXT`.
 */
#include <stdio.h>
#include <string.h>
#include <upp/llm.h>

#include "base/buf.h"
#include "base/str.h"
#include "json/write.h"
#include "model/upp_json.h"

enum { MAX_HEADERS = 8 };

struct job {
    struct upp_provider_opts opts;
    struct upp_model_ref ref;
    struct upp_header headers[MAX_HEADERS];
    const char *ask, *system, *params, *structure;
    bool stream, tools, image;
};

static int get_weather(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct upp_str city;
    int r = upp_call_arg_str(call, "city", &city, err);
    return r < 0 ? r : upp_value_printf(ret, err, "18 degrees in %.*s", UPP_FMT(city));
}

static int get_time(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_json(ret, UPP_STR("{\"hour\":12,\"zone\":\"CET\"}"), err);
}

static const struct upp_tool tools[] = {
    UPP_TOOL(get_weather, "The weather of a city", "{city: string}"),
    UPP_TOOL(get_time, "The time in a zone", "{zone: string}"),
};

static void print(const char *word, struct upp_str text)
{
    (void)printf("%s %.*s\n", word, UPP_FMT(text));
}

static int print_error(const struct upp_err *why)
{
    struct wb_buf b = WB_BUF(64 * 1024);
    struct wj_writer w;
    wj_writer_init(&w, &b, NULL);
    wm_err_write(&w, why);
    print("error", wb_buf_str(&b));
    (void)printf("retry %llu\n", (unsigned long long)why->retry_after_ms);
    print("where", wb_cstr(why->where));
    wb_buf_done(&b);
    return 0;
}

static int print_turn(const struct upp_turn *turn, struct upp_err *err)
{
    struct upp_str json;
    int r = upp_turn_to_json(turn, &json, err);
    if (r < 0)
        return r;
    print("turn", json);
    upp_text_free(json);
    return 0;
}

static int by_stream(struct upp_llm *llm, const struct upp_input *in, struct upp_err *err)
{
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *s = NULL;
    const struct upp_turn *turn;
    struct upp_event ev;
    int r = upp_stream_open(llm, in, &s, err);
    while (r >= 0 && (r = upp_stream_next(s, &ev, err)) > 0) {
        struct upp_str json;
        r = upp_event_to_json(&ev, &json, err);
        if (r < 0)
            break;
        print("event", json);
        upp_text_free(json);
    }
    if (r == 0)
        r = upp_stream_turn(s, &turn, err);
    return r < 0 ? r : print_turn(turn, err);
}

static int whole(struct upp_llm *llm, const struct upp_input *in, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    int r = upp_generate(llm, in, &turn, err);
    return r < 0 ? r : print_turn(turn, err);
}

static int ask(struct job *j, struct upp_err *err)
{
    static const struct upp_media dot = {
        .source = UPP_SOURCE_BASE64,
        .mime = UPP_STR_INIT("image/png"),
        .data = UPP_STR_INIT(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    };
    const struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = wb_cstr(j->ask)},
                                     {.kind = UPP_PART_IMAGE, .media = &dot}};
    const struct upp_input in = {.size = sizeof in, .parts = parts, .n_parts = j->image ? 2 : 1};
    struct upp_llm_opts opts = {.size = sizeof opts,
                                .model = j->ref,
                                .system = j->system,
                                .params = j->params,
                                .structure = j->structure,
                                .tools = tools,
                                .n_tools = j->tools ? 2 : 0};
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    int r = upp_llm_new(&opts, &llm, err);
    if (r < 0)
        return r;
    return j->stream ? by_stream(llm, &in, err) : whole(llm, &in, err);
}

static bool take(const char *word, const char *name, const char **ret)
{
    size_t n = strlen(name);
    if (strncmp(word, name, n) != 0 || word[n] != '=')
        return false;
    *ret = word + n + 1;
    return true;
}

static bool read_word(struct job *j, const char *word)
{
    const char *header;
    if (take(word, "key", &j->opts.api_key) || take(word, "api", &j->opts.api) ||
        take(word, "version", &j->opts.api_version) || take(word, "ask", &j->ask) || take(word, "system", &j->system) ||
        take(word, "params", &j->params) || take(word, "structure", &j->structure))
        return true;
    if (take(word, "header", &header)) {
        struct upp_str rest = wb_cstr(header), name;
        if (j->opts.n_headers == MAX_HEADERS || !wb_str_split(&rest, ':', &name) || !rest.p)
            return false;
        j->headers[j->opts.n_headers++] = (struct upp_header){name, rest};
        return true;
    }
    if (strcmp(word, "retry") == 0) {
        j->opts.retry = (struct upp_retry_opts){
            .kind = UPP_RETRY_EXPONENTIAL, .base_delay_ms = 1, .no_jitter = true, .retry_after_max_ms = 10};
        return true;
    }
    bool *flag = strcmp(word, "stream") == 0  ? &j->stream
                 : strcmp(word, "tools") == 0 ? &j->tools
                 : strcmp(word, "image") == 0 ? &j->image
                                              : NULL;
    if (flag)
        *flag = true;
    return flag;
}

int main(int argc, char **argv)
{
    struct job j = {.opts = {.size = sizeof j.opts}, .ask = "Hello"};
    struct upp_err err = {0};
    bool ok = argc > 3;
    for (int i = 4; ok && i < argc; i++)
        ok = read_word(&j, argv[i]);
    if (!ok) {
        (void)fprintf(stderr, "usage: aimock_client PROVIDER MODEL ADDRESS WORD...\n");
        return 2;
    }
    j.opts.base_url = argv[3];
    j.opts.headers = j.headers;
    j.ref = (struct upp_model_ref){.provider = argv[1], .name = argv[2], .opts = &j.opts};
    int r = ask(&j, &err);
    return r < 0 ? print_error(&err) : 0;
}
