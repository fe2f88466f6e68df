/* dialects/assistants/steps.c — encodes a run from its first event on, and returns a page of its steps. */
#include "dialects/assistants/steps.h"

#include <string.h>

#include "base/err.h"

/* Every object of a step begins with its id. */
#define HEAD "{\"id\":\"step_"

static bool read_id(struct upp_str json, struct wb_uuid *ret)
{
    struct upp_str head = UPP_STR(HEAD);
    return wb_str_starts(json, head) && wb_uuid_parse(wb_str_sub(json, head.n, WB_UUID_HEX), ret);
}

static bool is_step(const char *event)
{
    struct upp_str name = wb_cstr(event);
    return wb_str_starts(name, UPP_STR("thread.run.step.")) && !wb_str_eq(name, UPP_STR("thread.run.step.delta"));
}

static int set_json(struct asst_kept_step *k, struct upp_str json, struct upp_err *err)
{
    wb_buf_clear(&k->json);
    wb_buf_add(&k->json, json);
    return wb_buf_check(&k->json, err);
}

static void drop_first(struct asst_steps *s)
{
    wb_buf_done(&s->list.p[0].json);
    memmove(s->list.p, s->list.p + 1, (s->list.n - 1) * sizeof *s->list.p);
    s->list.n--;
}

/* A step that comes for the first time: is it on the page? */
static bool is_wanted(struct asst_steps *s, struct wb_uuid id)
{
    bool begun = s->has_after || wb_uuid_is_nil(s->want.after);
    if (!wb_uuid_is_nil(s->want.only))
        return wb_uuid_eq(id, s->want.only);
    s->has_after |= wb_uuid_eq(id, s->want.after);
    s->has_before |= wb_uuid_eq(id, s->want.before);
    return begun && !s->has_before && (s->want.newest || s->list.n <= s->want.limit);
}

/* The object of a step, new or again: steps come one after the other. */
static int keep(struct asst_steps *s, struct wb_uuid id, struct upp_str json, struct upp_err *err)
{
    if (!wb_uuid_eq(id, s->last)) {
        s->last = id;
        if (!is_wanted(s, id))
            return 0;
        if (s->list.n > s->want.limit)
            drop_first(s);
        if (!wb_vec_push(&s->list, ((struct asst_kept_step){.id = id, .json = WB_BUF(WD_FRAMES_TEXT)}),
                         s->want.limit + 1))
            return upp_fail(err, UPP_ENOMEM, "no memory for a step");
    }
    struct asst_kept_step *k = s->list.n ? &s->list.p[s->list.n - 1] : NULL;
    return k && wb_uuid_eq(k->id, id) ? set_json(k, json, err) : 0;
}

int asst_steps_begin(struct asst_steps *s, const struct asst_steps_page *want, const struct wd_stream_opts *opts,
                     struct upp_err *err)
{
    *s = (struct asst_steps){.want = *want};
    wd_frames_init(&s->frames);
    return wd_stream_assistants.begin(&s->stream, opts, err);
}

/* Do more events change nothing? */
static bool is_full(const struct asst_steps *s)
{
    if (!wb_uuid_is_nil(s->want.only))
        return s->list.n && !wb_uuid_eq(s->last, s->want.only);
    if (s->has_before)
        return s->has_after || wb_uuid_is_nil(s->want.after);
    return !s->want.newest && s->list.n > s->want.limit;
}

int asst_steps_event(struct asst_steps *s, const struct wm_event *ev, struct upp_err *err)
{
    wd_frames_clear(&s->frames);
    int r = wd_stream_assistants.event(&s->stream, ev, &s->frames, err);
    for (size_t i = 0; r >= 0 && i < s->frames.list.n; i++) {
        const struct wd_frame *f = &s->frames.list.p[i];
        struct upp_str json = wb_str_sub(wb_buf_str(&s->frames.text), f->from, f->n);
        struct wb_uuid id;
        if (f->name && is_step(f->name) && read_id(json, &id))
            r = keep(s, id, json, err);
    }
    return r < 0 ? r : is_full(s);
}

int asst_steps_end(struct asst_steps *s, struct upp_err *err)
{
    int r = 0;
    if (s->stream.has_step) { /* its calls came as deltas after its last object */
        wd_frames_clear(&s->frames);
        struct wd_out o;
        wd_out_init(&o, &s->frames, err);
        s->stream.step.calls = s->stream.calls.p;
        s->stream.step.n_calls = s->stream.calls.n;
        asst_step_write(&o.w, &s->stream.step);
        r = wd_out_check(&o);
        if (r >= 0)
            r = keep(s, s->stream.step.id, wb_buf_str(&s->frames.text), err);
    }
    if (r < 0)
        return r;
    bool all = is_full(s) ||
               ((s->has_after || wb_uuid_is_nil(s->want.after)) && (s->has_before || wb_uuid_is_nil(s->want.before)));
    return all ? 0 : upp_fail(err, UPP_EINVALID, "a cursor names no step of this run");
}

void asst_steps_done(struct asst_steps *s)
{
    for (size_t i = 0; i < s->list.n; i++)
        wb_buf_done(&s->list.p[i].json);
    wb_vec_done(&s->list);
    wd_frames_done(&s->frames);
    wd_stream_assistants.done(&s->stream);
}
