/* run/settings/window.c — estimates tokens, and finds the message at which a request begins. */
#include "run/settings/window.h"

#include "run/run.h"

enum { MESSAGE_TOKENS = 4, MEDIA_TOKENS = 1000 };

uint64_t wr_message_tokens(const struct upp_message *m)
{
    uint64_t bytes = 0, n = MESSAGE_TOKENS;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        bytes += p->text.n + p->name.n;
        if (p->media)
            n += p->media->source == UPP_SOURCE_TEXT ? p->media->data.n / 4 : MEDIA_TOKENS;
    }
    return n + (bytes + 3) / 4;
}

uint64_t wr_frame_tokens(const struct upp_request *q)
{
    uint64_t bytes = q->system.n + q->structure.n;
    for (size_t i = 0; i < q->n_tools; i++)
        bytes += q->tools[i].name.n + q->tools[i].description.n + q->tools[i].parameters.n;
    return (bytes + 3) / 4;
}

/* The index of the newest input, or of the text retrieved for it: that stays, with all that follows. A run without an
 * input of its own answers the last user message of the thread. */
static size_t input_of(const struct wr_run *run, const struct upp_request *q)
{
    bool own = run->pub.input || run->middleware.input;
    const struct upp_message *first = own && run->n_history < run->path.n ? run->path.p[run->n_history] : NULL;
    for (size_t i = 0; first && i < q->n_messages; i++)
        if (q->messages[i] == first)
            return i;
    for (size_t i = q->n_messages; i-- > 0;)
        if (q->messages[i]->role == UPP_ROLE_USER)
            return i;
    return 0;
}

static void begin_at(struct upp_request *q, size_t at)
{
    q->messages += at;
    q->n_messages -= at;
}

/* The first index from `at` on, up to the input, where a list may begin. */
static size_t next_begin(const struct upp_request *q, size_t at, size_t input)
{
    while (at < input && q->messages[at]->role != UPP_ROLE_USER)
        at++;
    return at;
}

bool wr_window_counts(const struct upp_message *m)
{
    if (m->role == UPP_ROLE_TOOL)
        return false;
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind != UPP_PART_CALL && m->parts[i].kind != UPP_PART_REASONING)
            return true;
    return m->role == UPP_ROLE_USER;
}

void wr_window_last(const struct wr_run *run, struct upp_request *q, uint64_t last)
{
    size_t input = input_of(run, q), at = input;
    if (!last)
        return;
    for (uint64_t n = 1; at > 0; at--)
        if (wr_window_counts(q->messages[at - 1]) && n++ == last)
            break;
    begin_at(q, next_begin(q, at, input));
}

bool wr_window_fit(const struct wr_run *run, struct upp_request *q, uint64_t room)
{
    size_t input = input_of(run, q), at = 0;
    uint64_t all = wr_frame_tokens(q);
    for (size_t i = 0; i < q->n_messages; i++)
        all += wr_message_tokens(q->messages[i]);
    while (all > room && at < input) {
        size_t next = next_begin(q, at + 1, input);
        for (; at < next; at++)
            all -= wr_message_tokens(q->messages[at]);
    }
    begin_at(q, at);
    return all <= room;
}
