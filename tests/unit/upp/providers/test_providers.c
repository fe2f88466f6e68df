/* What docs/providers.md says that providers can do: the talk files that show it, counted.
 *
 * A talk file says by `shows WORD...` what it shows; each word is looked for in the file, so that it cannot say it
 * without showing at least the traces.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/str.h"
#include "support/talk.h"
#include "support/test.h"
#include "upp/providers/vendors.h"

enum place { SETTINGS, REQUEST, EVENTS, FAILS };

/* What there is to show, in the order of the table. */
static const struct word {
    const char *name, *says;
    uint32_t can; /* a model that can must show it; 0: not a matter of `can` */
    bool always;  /* every API must show it */
    enum place place;
    const char *trace; /* stands there, in a round that asked the vendor; NULL: something does */
    unsigned times;
    size_t rounds; /* at least */
} words[] = {
    {"text", "text, streamed", UPP_CAN_STREAM, true, EVENTS, " text\n", 1, 1},
    {"whole", "an answer in one piece", 0, true, SETTINGS, NULL, 1, 1},
    {"tools", "tools", UPP_CAN_TOOLS, true, EVENTS, " call ", 1, 1},
    {"parallel", "several calls in one answer", 0, true, EVENTS, " call ", 2, 1},
    {"results", "results of tools", 0, true, REQUEST, "\"tool_result\"", 1, 1},
    {"result_media", "images in results", 0, false, REQUEST, "\"image\"", 1, 1},
    {"images", "images", UPP_CAN_IMAGES, false, REQUEST, "\"image\"", 1, 1},
    {"documents", "documents", UPP_CAN_DOCUMENTS, false, REQUEST, "\"document\"", 1, 1},
    {"audio", "audio", UPP_CAN_AUDIO, false, REQUEST, "\"audio\"", 1, 1},
    {"video", "video", UPP_CAN_VIDEO, false, REQUEST, "\"video\"", 1, 1},
    {"structure", "structured answers", UPP_CAN_STRUCTURE, true, REQUEST, "\"structure\"", 1, 1},
    {"reasoning", "reasoning", 0, true, EVENTS, " reasoning\n", 1, 1},
    {"replay", "reasoning and native content sent back", 0, false, REQUEST, "\"metadata\"", 1, 2},
    {"caching", "prompt caching, asked for or counted", 0, false, EVENTS, "\"cache_read\"", 1, 1},
    {"native_tools", "tools in `params`", 0, false, REQUEST, "\"params\"", 1, 1},
    {"usage", "usage", 0, true, EVENTS, "\"output\":", 1, 1},
    {"errors", "errors", 0, true, FAILS, NULL, 1, 1},
};
enum { WORDS = WB_LEN(words), APIS = 5 };

static const struct api {
    const char *says, *provider, *name;
} apis[APIS] = {
    {"Anthropic Messages", "anthropic", NULL},
    {"OpenAI Responses", "openai", "responses"},
    {"OpenAI Chat", "openai", "chat"},
    {"Google Gemini", "google", NULL},
    {"Ollama", "ollama", NULL},
};

static const struct {
    unsigned habit;
    const char *says;
} habits[] = {
    {UPP__DEVELOPER_ROLE, "the system text has the role `developer`"},
    {UPP__NO_STREAM_USAGE, "`stream_options` is not sent"},
    {UPP__REASONING_APART, "its output tokens leave reasoning out: those are added"},
    {UPP__REASONING_BACK, "`reasoning_content` goes back with calls"},
    {UPP__REASONING_DETAILS, "`reasoning_details` go back as they came"},
    {UPP__KEY_OPTIONAL, "needs no key"},
};

static const struct {
    uint32_t can;
    const char *says;
} media[] = {
    {UPP_CAN_IMAGES, "images"}, {UPP_CAN_DOCUMENTS, "documents"}, {UPP_CAN_AUDIO, "audio"}, {UPP_CAN_VIDEO, "video"}};

static const struct upp__provider *find(const char *name, const char *api)
{
    const struct upp__provider *p = NULL;
    struct upp_err err;
    (void)EXPECT(upp__provider_find(name, api, &p, &err) == 0);
    return p;
}

/* ---- Counting ------------------------------------------------------------------------------------------------- */

static bool stands(struct upp_str text, const char *what, unsigned times)
{
    struct upp_str needle = wb_cstr(what ? what : "");
    size_t at = 0;
    for (unsigned i = 0; what && i < times; i++) {
        at = wb_str_find(text, needle, at);
        if (at == SIZE_MAX)
            return false;
        at += needle.n;
    }
    return text.n > 0;
}

static bool has_trace(const struct talk *t, const struct word *w)
{
    if (t->n < w->rounds)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        const struct talk_round *r = &t->rounds[i];
        if (!r->sends.n)
            continue;
        if (w->place == SETTINGS ? t->whole
                                 : stands(w->place == REQUEST  ? r->request
                                          : w->place == EVENTS ? r->events
                                                               : r->fails,
                                          w->trace, w->times))
            return true;
    }
    return false;
}

static size_t api_of(const struct talk *t)
{
    static char name[64];
    bool chat = stands(t->options, "\"chat\"", 1);
    (void)snprintf(name, sizeof name, "%.*s", UPP_FMT(t->provider));
    const struct upp__provider *p = find(name, chat ? "chat" : NULL);
    for (size_t i = 0; p && i < APIS; i++)
        if (find(apis[i].provider, apis[i].name)->adapter == p->adapter)
            return i;
    return APIS;
}

static unsigned counts[WORDS][APIS];

static void count_file(const char *path)
{
    static struct talk t;
    struct upp_err err = {0};
    struct upp_str word;
    size_t api;
    test_note("%s", path);
    if (EXPECT(talk_load(path, &t, &err) == 0) && EXPECT((api = api_of(&t)) < APIS))
        while (wb_str_split(&t.shows, ' ', &word)) {
            size_t i = 0;
            while (i < WORDS && !wb_str_eq(wb_str_trim(word), wb_cstr(words[i].name)))
                i++;
            test_note("%s: shows '%.*s'", path, UPP_FMT(word));
            if (EXPECT(i < WORDS) && EXPECT(has_trace(&t, &words[i])))
                counts[i][api]++;
        }
    talk_done(&t);
}

enum { PATH = 256 };

static void each(const char *folder, char path[static PATH], void (*fn)(const char *path))
{
    struct dirent **list;
    int n = scandir(test_source(folder), &list, NULL, alphasort);
    if (!EXPECT(n >= 0))
        return;
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, PATH, "%.100s/%.100s", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            fn(path);
        free(list[i]);
    }
    free(list);
}

static void count_folder(const char *path)
{
    static char file[PATH];
    each(path, file, count_file);
}

static void count_all(void)
{
    static char folder[PATH];
    memset(counts, 0, sizeof counts);
    each("talk", folder, count_folder);
}

/* ---- The section of the page ----------------------------------------------------------------------------------- */

static void add_features(struct wb_buf *out)
{
    wb_buf_addf(out, "| |");
    for (size_t a = 0; a < APIS; a++)
        wb_buf_addf(out, " %s |", apis[a].says);
    wb_buf_addf(out, "\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < WORDS; i++) {
        wb_buf_addf(out, "| %s |", words[i].says);
        for (size_t a = 0; a < APIS; a++)
            if (counts[i][a])
                wb_buf_addf(out, " yes (%u) |", counts[i][a]);
            else
                wb_buf_addf(out, " – |");
        wb_buf_addf(out, "\n");
    }
}

static void add_habits(const struct upp__provider *p, struct wb_buf *out)
{
    const char *between = "";
    unsigned known = 0;
    for (size_t i = 0; i < WB_LEN(habits); i++) {
        known |= habits[i].habit;
        if (p->habits & habits[i].habit && habits[i].says) {
            wb_buf_addf(out, "%s%s", between, habits[i].says);
            between = "; ";
        }
    }
    test_note("%s: a habit has no words", p->name);
    (void)EXPECT(!(p->habits & ~known));
}

static void add_provider(const struct upp__provider *p, struct wb_buf *out)
{
    const char *between = "";
    size_t a = 0;
    while (a < APIS && find(apis[a].provider, apis[a].name)->adapter != p->adapter)
        a++;
    wb_buf_addf(out, "| `%s`%s%s%s | %s |", p->name, p->api ? ", api `" : "", p->api ? p->api : "", p->api ? "`" : "",
                EXPECT(a < APIS) ? apis[a].says : "");
    wb_buf_addf(out, p->base_url ? " `%s` |" : " must be given |", p->base_url);
    wb_buf_addf(out, p->env ? " `%s` | " : " – | ", p->env);
    for (size_t i = 0; i < WB_LEN(media); i++)
        if (p->adapter->can & ~p->cannot & media[i].can) {
            wb_buf_addf(out, "%s%s", between, media[i].says);
            between = ", ";
        }
    wb_buf_addf(out, " | ");
    add_habits(p, out);
    wb_buf_addf(out, " |\n");
}

static void add_providers(struct wb_buf *out)
{
    wb_buf_addf(out, "\n| provider | speaks | where | key | takes | habits |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; upp_provider_name(i); i++) {
        const char *name = upp_provider_name(i);
        if (!strcmp(name, "scripted")) {
            wb_buf_addf(out,
                        "| `scripted` | a script ([scripted.md](scripted.md)) | no network | – | everything | |\n");
            continue;
        }
        for (const struct upp__provider *p = find(name, NULL); p && p->name && !strcmp(p->name, name); p++)
            add_provider(p, out);
    }
}

#define PAGE "../docs/providers.md"

static void compare_page(struct upp_str made)
{
    static const char begin[] = "<!-- generated: providers -->\n", end[] = "<!-- end -->\n";
    const char *mode = getenv("WEFT_GOLDEN");
    size_t n = 0;
    char *text = test_read(PAGE, &n);
    struct upp_str page = wb_str(text ? text : "", text ? n : 0);
    size_t from = wb_str_find(page, wb_cstr(begin), 0);
    size_t to = from == SIZE_MAX ? from : wb_str_find(page, wb_cstr(end), from);
    if (EXPECT(to != SIZE_MAX)) {
        from += sizeof begin - 1;
        if (mode && !strcmp(mode, "write")) {
            FILE *f = fopen(test_source(PAGE), "wb");
            if (EXPECT(f)) {
                (void)EXPECT(fwrite(text, 1, from, f) == from);
                (void)EXPECT(fwrite(made.p, 1, made.n, f) == made.n);
                (void)EXPECT(fwrite(text + to, 1, n - to, f) == n - to);
                (void)EXPECT(fclose(f) == 0);
            }
        } else {
            test_note("the tables of docs/providers.md; WEFT_GOLDEN=write writes them");
            (void)test_expect_str(made, wb_str_sub(page, from, to - from), __FILE__, __LINE__, "the tables");
        }
    }
    free(text);
}

/* covers: UPP-12 */
TEST_WITH(providers_page_says_what_the_talk_files_show, .no_torture = "it reads files of the tests, and makes no model")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    count_all();
    add_features(&out);
    add_providers(&out);
    ALWAYS(!out.failed);
    compare_page(wb_buf_str(&out));
}

/* ---- What must be shown ----------------------------------------------------------------------------------------- */

/* covers: UPP-13, UPP-15/1 */
TEST_WITH(providers_show_what_they_can_do, .no_torture = "it reads files of the tests, and makes no model")
{
    count_all();
    for (size_t a = 0; a < APIS; a++) {
        uint32_t can = find(apis[a].provider, apis[a].name)->adapter->can, known = 0;
        for (size_t i = 0; i < WORDS; i++) {
            known |= words[i].can;
            test_note("%s: %s", apis[a].says, words[i].name);
            (void)EXPECT(counts[i][a] || !(words[i].always || (can & words[i].can)));
            (void)EXPECT(!counts[i][a] || !words[i].can || (can & words[i].can)); /* nor more than that */
        }
        test_note("%s: a bit of `can` has no word", apis[a].says);
        (void)EXPECT(!(can & ~known));
    }
}

/* Every row of the table of providers is talked with, so none is a name alone. covers: UPP-12 */
TEST_WITH(providers_all_have_conversations, .no_torture = "it reads files of the tests, and makes no model")
{
    static char path[128];
    for (size_t i = 1; upp_provider_name(i); i++) {
        const char *name = upp_provider_name(i);
        for (const struct upp__provider *p = find(name, NULL); p && p->name && !strcmp(p->name, name); p++) {
            struct dirent **list;
            (void)snprintf(path, sizeof path, "talk/%s%s%s", p->name, p->api ? "_" : "", p->api ? p->api : "");
            int n = scandir(test_source(path), &list, NULL, alphasort);
            test_note("tests/%s has talk files", path);
            if (!EXPECT(n >= 0))
                continue;
            (void)EXPECT(n > 2); /* . and .. */
            for (int k = 0; k < n; k++)
                free(list[k]);
            free(list);
        }
    }
}
