/* support/events_scripts.c — scripts with a name, and scripts that are made up. */
#include "support/events.h"

const struct events_script events_scripts[] = {
    {"text",
     "run running\nstep\nopen\npart text\n+ 0 Hello\n+ 0 , \"world\"\\n\nclose 0\nmessage\nendstep\ncheckpoint\n"
     "run completed"},
    {"reasoning", "run running\nstep\nopen\npart reasoning\n+ 0 Let me think.\nclose 0\npart text\n+ 1 Four.\nclose 1\n"
                  "message\nendstep\nrun completed"},
    {"parallel",
     "run running\nstep\nopen\npart text\n+ 0 Both.\nclose 0\npart call c1 weather\npart call c2 clock\n"
     "+ 1 {\"city\":\n+ 2 {\"zone\"\n+ 1 \"Tokyo\"}\n+ 2 :\"JST\"}\nclose 1\nclose 2\nmessage tools\n"
     "start c1 weather {\"city\":\"Tokyo\"}\nstart c2 clock {\"zone\":\"JST\"}\nend c2 done {\"time\":\"12:00\"}\n"
     "end c1 done 18\nendstep\ncheckpoint\nstep\nopen\npart text\n+ 0 18 degrees at noon.\nclose 0\nmessage\n"
     "endstep\nrun completed"},
    {"failing", "run running\nstep\nopen\npart call c1 weather\n+ 0 {}\nclose 0\nmessage tools\nstart c1 weather {}\n"
                "end c1 error \"no such city\"\nendstep\nstep\nopen\npart text\n+ 0 Sorry.\nclose 0\nmessage\nendstep\n"
                "run completed"},
    {"denied",
     "run running\nstep\nopen\npart call c1 remove\n+ 0 {\"path\":\"/\"}\nclose 0\nmessage tools\nrun waiting ?c1\n"
     "run running\nend c1 denied \"denied by the user\"\nendstep\nstep\nopen\npart text\n+ 0 As you wish.\nclose 0\n"
     "message\nendstep\nrun completed"},
    {"approved",
     "run running\nstep\nopen\npart call c1 remove\n+ 0 {\"path\":\"/tmp/x\"}\nclose 0\nmessage tools\n"
     "run waiting ?c1\nrun running\nstart c1 remove {\"path\":\"/tmp/x\"}\nend c1 done null\nendstep\nstep\nopen\n"
     "part text\n+ 0 Gone.\nclose 0\nmessage\nendstep\nrun completed"},
    {"client",
     "run running\nstep\nopen\npart text\n+ 0 Where are you?\nclose 0\npart call c1 locate client\n+ 1 {}\nclose 1\n"
     "message tools\nrun waiting c1\nrun running\nend c1 done {\"lat\":1.50}\nendstep\nstep\nopen\npart text\n"
     "+ 0 There.\nclose 0\nmessage\nendstep\nrun completed"},
    {"cancel_text", "run running\nstep\nopen\npart text\n+ 0 Once upon\nrun cancelling\nmessage cut\nrun cancelled"},
    {"cancel_input", "run running\nstep\nopen\npart text\n+ 0 Looking.\nclose 0\npart call c1 search\n+ 1 {\"q\":\"a\n"
                     "run cancelling\nmessage cut\nrun cancelled"},
    {"cancel_tool", "run running\nstep\nopen\npart call c1 search\n+ 0 {}\nclose 0\nmessage tools\nstart c1 search {}\n"
                    "run cancelling\nrun cancelled"},
    {"provider_error",
     "run running\nstep\nopen\npart text\n+ 0 Well\nmessage cut\nrun failed the provider is overloaded"},
    {"void", "run running\nstep\nopen\npart text\n+ 0 Wrong\nvoid\nstep\nopen\npart text\n+ 0 Right\nclose "
             "0\nmessage\nendstep\n"
             "run completed"},
    {"void_input",
     "run running\nstep\nopen\npart reasoning\n+ 0 Hm.\nclose 0\npart call c1 search\n+ 1 {\"q\nvoid\nstep\nopen\n"
     "part call c1 search\n+ 0 {\"q\":\"b\"}\nclose 0\nmessage tools\nstart c1 search {\"q\":\"b\"}\nend c1 done []\n"
     "endstep\nstep\nopen\npart text\n+ 0 None.\nclose 0\nmessage\nendstep\nrun completed"},
    {"media",
     "run running\nstep\nopen\npart text\n+ 0 See:\nclose 0\nmedia image base64 image/png iVBORw0KGgo=\nclose 1\n"
     "part text\n+ 2 and\nclose 2\nmedia late image url image/jpeg https://example.org/a.jpg\nclose 3\n"
     "media document text text/plain notes\nclose 4\nmessage\nendstep\nrun completed"},
    {"three_steps",
     "run queued\nrun running\nstep\nopen\npart call c1 a\n+ 0 {}\nclose 0\nmessage tools\nstart c1 a {}\n"
     "end c1 done 1\nendstep\ncheckpoint\nstep\nopen\npart call c2 b\n+ 0 {\"x\":1}\nclose 0\nmessage tools\n"
     "start c2 b {\"x\":1}\nend c2 done \"two\"\nendstep\ncheckpoint\nstep\nopen\npart text\n+ 0 Done.\nclose 0\n"
     "message length\nendstep\ncheckpoint\nrun completed"},
    {"bad_arguments",
     "run running\nstep\nopen\npart call c1 search\n+ 0 {\"q\":oops\nclose 0\nmessage tools\n"
     "end c1 error \"the arguments are not JSON\"\nendstep\nstep\nopen\npart text\n+ 0 Again.\nclose 0\nmessage\n"
     "endstep\nrun completed"},
    {"phases",
     "run running\nstep\nopen\npart text\n+ 0 I should search.\nclose 0\nmessage\nopen\npart call c1 search\n+ 0 {}\n"
     "void\nopen\npart call c1 search\n+ 0 {}\nclose 0\nmessage tools\nstart c1 search {}\nend c1 done true\nendstep\n"
     "run completed"},
    {"no_tape", "run running\nwhole reasoning Hm.\nwhole text Hello\nwhole call c1 search {\"q\":1}\nmessage tools\n"
                "start c1 search {\"q\":1}\nend c1 done {\"__proto__\":{\"x\":1}}\nendstep\nrun completed"},
    {"child",
     "run running\nstep\nopen\npart call c1 ask_helper\n+ 0 {}\nclose 0\nmessage tools\nstart c1 ask_helper {}\n"
     "child 1 run running\nchild 1 step\nchild 1 open\nchild 1 part text\nchild 1 + 0 Helping.\nchild 1 close 0\n"
     "child 1 part call d1 locate\nchild 1 + 1 {}\nchild 1 close 1\nchild 1 message tools\nrun waiting d1\nrun "
     "running\n"
     "child 1 end d1 done \"here\"\nchild 1 endstep\nchild 1 run completed\nend c1 done \"helped\"\nendstep\n"
     "run completed"},
    {"child_answer", /* the answer comes before the run goes on, as the engine writes them */
     "run running\nstep\nopen\npart call c1 ask_helper\n+ 0 {}\nclose 0\nmessage tools\nstart c1 ask_helper {}\n"
     "child 1 run running\nchild 1 step\nchild 1 open\nchild 1 part call d1 locate\nchild 1 + 0 {}\nchild 1 close 0\n"
     "child 1 message tools\nrun waiting d1\nchild 1 end d1 done \"here\"\nrun running\nchild 1 endstep\n"
     "child 1 run completed\nend c1 done \"helped\"\nendstep\nrun completed"},
    {"react",
     "run running\nstep\nopen reason\npart text\n+ 0 I should\n+ 0  look.\nclose 0\npart reasoning\n+ 1 Hm.\nclose 1\n"
     "message\nopen\npart call c1 search\n+ 0 {}\nclose 0\nmessage tools\nstart c1 search {}\nend c1 done 7\nendstep\n"
     "checkpoint\nstep\nopen reason\npart text\n+ 0 Wrong\nvoid\nstep\nopen reason\npart text\n+ 0 That is it.\nclose "
     "0\n"
     "message\nopen\npart text\n+ 0 Seven.\nclose 0\nmessage\nendstep\nrun completed"},
    {"plan",
     "run running\nstep\nopen plan\npart text\n+ 0 {\"steps\":\nvoid\nstep\nopen plan\npart text\n+ 0 {\"steps\":[]}\n"
     "close 0\npart call x1 sneaky\n+ 1 {}\nclose 1\nmessage\nendstep\nstep\nopen\npart text\n+ 0 One.\nclose 0\n"
     "message\nendstep\nstep\naside plan\nwhole text {}\nmessage\naside reason\nwhole text Enough.\nmessage\nopen\n"
     "part text\n+ 0 Two.\nclose 0\nmessage length\nendstep\nrun completed"},
    {"rounds",
     "run running\nstep\nopen plan\npart text\n+ 0 {}\nclose 0\nmessage\nendstep\ncheckpoint\n"
     "event {\"type\":\"x\",\"data\":{}}\nstep a\nopen\npart call a1 look\n+ 0 {}\nclose 0\nmessage tools\n"
     "start a1 look {}\nevent {\"type\":\"y\",\"data\":{}}\nend a1 done {\"n\":1}\nresults\nopen\npart call a2 look\n"
     "+ 0 {}\nclose 0\nmessage tools\nstart a2 look {}\nend a2 error \"no\"\nresults\nopen\npart text\n+ 0 Seen.\n"
     "close 0\nmessage\nendstep\ncheckpoint\nrun completed"},
    {"handoff",
     "run running\nstep\nopen\npart text\n+ 0 Travel Planner?\nclose 0\nmessage\nendstep\n"
     "event {\"type\":\"agent.handoff\",\"data\":{\"from\":\"main\",\"to\":\"travel\",\"reason\":\"explicit_mention\"},"
     "\"source\":\"main\",\"targets\":[\"travel\"]}\nagent 2\nstep\nopen\npart reasoning\n+ 0 Mild.\nclose 0\npart "
     "text\n"
     "+ 1 Go out.\nclose 1\nmessage\nendstep\nrun completed"},
    {"event",
     "event {\"type\":\"prompt.enriched\",\"data\":{\"original\":\"a\"}}\nrun running\nstep\nopen\npart text\n+ 0 "
     "Wrong\nvoid\n"
     "event {\"type\":\"agent.note\",\"data\":{\"__proto__\":1},\"source\":\"main\"}\nstep\nopen\npart text\n+ 0 Wrong "
     "again\nvoid\nstep\nopen\npart text\n+ 0 Right\nclose 0\nmessage\nendstep\n"
     "event {\"type\":\"x\",\"data\":[null]}\nrun completed"},
};
const size_t events_n_scripts = sizeof events_scripts / sizeof events_scripts[0];

struct inventor {
    struct wb_buf *out;
    unsigned (*pick)(void *arg, unsigned n);
    void *arg;
    unsigned calls; /* made so far: ids are new each time */
    bool ended;
};

static unsigned pick(struct inventor *v, unsigned n)
{
    return v->pick(v->arg, n);
}

/* A run may end anywhere: true when it did. */
static bool ends(struct inventor *v)
{
    static const char *const ways[] = {"run cancelling\nrun cancelled\n", "run failed it broke\n", "run expired\n"};
    if (pick(v, 40) != 0)
        return false;
    wb_buf_add(v->out, wb_cstr(ways[pick(v, 3)]));
    return v->ended = true;
}

enum { SAID, TAKEN_BACK, OVER };

/* One message, in any order of parts, up to four of them open at once. Its calls are numbers from *first on. */
static int invent_message(struct inventor *v, unsigned *first, unsigned *n_calls)
{
    static const char *const texts[] = {"a", "", "{\"x\":", "1}", "\xc3\xa9\"\\", "two words", "\xf0\x9f\x92\xa1"};
    bool open[6] = {0};
    unsigned n = 0, limit = pick(v, 40);
    *first = v->calls;
    *n_calls = 0;
    wb_buf_addf(v->out, "open%s\n", pick(v, 6) ? "" : pick(v, 2) ? " reason" : " plan");
    for (unsigned k = 0; k < limit; k++) {
        unsigned part = n ? pick(v, n) : 0;
        if (pick(v, 30) == 0) {
            wb_buf_addf(v->out, "void\n");
            v->calls = *first;
            return TAKEN_BACK;
        }
        if (ends(v))
            return OVER;
        if (n < WB_LEN(open) && pick(v, 4) == 0) {
            switch (pick(v, 4)) {
            case 0:
                wb_buf_addf(v->out, "part reasoning\n");
                break;
            case 1:
                wb_buf_addf(v->out, "part call k%u tool\n", v->calls++);
                ++*n_calls;
                break;
            case 2:
                wb_buf_addf(v->out, "media %simage base64 image/png AAAA\n", pick(v, 2) ? "late " : "");
                break;
            default:
                wb_buf_addf(v->out, "part text\n");
            }
            open[n++] = true;
        } else if (n && open[part] && pick(v, 5) == 0) {
            wb_buf_addf(v->out, "close %u\n", part);
            open[part] = false;
        } else if (n && open[part])
            wb_buf_addf(v->out, "+ %u %s\n", part, texts[pick(v, WB_LEN(texts))]);
    }
    if (pick(v, 20) == 0) {
        wb_buf_addf(v->out, "message cut\nrun %s\n", pick(v, 2) ? "cancelled" : "failed the stream broke");
        v->ended = true;
        return OVER;
    }
    for (unsigned i = 0; i < n; i++)
        if (open[i])
            wb_buf_addf(v->out, "close %u\n", i);
    wb_buf_addf(v->out, "message%s\n", *n_calls ? " tools" : "");
    return SAID;
}

static void invent_tools(struct inventor *v, unsigned first, unsigned n)
{
    static const char *const outcomes[] = {"done", "done", "error", "unknown", "denied", "stopped"};
    static const char *const results[] = {"{\"a\":[1,null]}", "null", "\"text\"", "{\"__proto__\":1}", "not json"};
    unsigned wait = pick(v, 4); /* 0: all of them wait; 1: for approvals */
    bool done[6] = {0};
    if (n && wait < 2) {
        wb_buf_addf(v->out, "run waiting");
        for (unsigned i = 0; i < n; i++)
            wb_buf_addf(v->out, " %sk%u", wait ? "?" : "", first + i);
        wb_buf_addf(v->out, "\n");
        if (ends(v))
            return;
        wb_buf_addf(v->out, "run running\n");
    }
    for (unsigned i = 0; i < n; i++)
        if (wait)
            wb_buf_addf(v->out, "start k%u tool {}\n", first + i);
    for (unsigned left = n; left; left--) {
        unsigned i = pick(v, n);
        while (done[i])
            i = (i + 1) % n;
        done[i] = true;
        if (ends(v))
            return;
        wb_buf_addf(v->out, "end k%u %s %s\n", first + i, outcomes[pick(v, WB_LEN(outcomes))],
                    results[pick(v, WB_LEN(results))]);
    }
}

void events_invent(struct wb_buf *script, unsigned (*picks)(void *arg, unsigned n), void *arg)
{
    struct inventor v = {.out = script, .pick = picks, .arg = arg};
    unsigned steps = 1 + pick(&v, 4), first, n;
    wb_buf_addf(script, pick(&v, 2) ? "run queued\nrun running\n" : "run running\n");
    for (unsigned s = 0; s < steps && !v.ended; s++) {
        unsigned voids = 0, phases = pick(&v, 5) ? 1 : 2;
        for (unsigned phase = 0; phase < phases && !v.ended; phase++) {
            int r;
            do {
                wb_buf_addf(script, "%s", phase == 0 ? "step\n" : "");
                r = invent_message(&v, &first, &n);
            } while (r == TAKEN_BACK && voids++ < 8);
            if (r == SAID)
                invent_tools(&v, first, n);
            else if (r == TAKEN_BACK) { /* the last attempt is not taken back */
                wb_buf_addf(script, "run failed it broke too often\n");
                v.ended = true;
            }
        }
        if (!v.ended)
            wb_buf_addf(script, "endstep\n%s%s", pick(&v, 2) ? "checkpoint\n" : "",
                        pick(&v, 6) ? "" : "event {\"type\":\"agent.handoff\",\"data\":{}}\nagent 1\n");
    }
    if (!v.ended)
        wb_buf_addf(script, "run %s\n", pick(&v, 3) ? "completed" : "failed in the end");
}
