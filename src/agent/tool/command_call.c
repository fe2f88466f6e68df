/* agent/tool/command_call.c — formats a program's outcome for the model. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/tool/command.h"
#include "base/mask.h"
#include "base/utf8.h"
#include "json/read.h"

/* Whether the text is one JSON value. The parsed value is discarded: such a text is passed on verbatim. */
static int is_json(struct upp_str text, bool *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 * text.n + (64u << 10));
    yyjson_val *v;
    int r = text.n ? wj_read(&a, text, NULL, &v, err) : -UPP_EINVALID;
    if (r == -UPP_ENOMEM)
        return r;
    *ret = r == 0;
    return 0;
}

static struct upp_str without_line_end(struct upp_str s)
{
    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* "exit code 3", "killed by signal 9 (Killed)". */
static void describe(int status, struct wb_buf *to)
{
    if (WIFSIGNALED(status))
        wb_buf_addf(to, "the program was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        wb_buf_addf(to, "the program ended with exit code %d", WEXITSTATUS(status));
}

/* Failing programs tend to print their environment: masks secrets, which are not for the model. */
static int add_error(struct wb_buf *text, struct upp_str why, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf masked = WB_BUF(2 * why.n + 64);
    (void)wb_mask_add(&masked, why, false);
    wb_utf8_add_clean(text, wb_buf_str(&masked));
    return wb_buf_check(&masked, err);
}

int wa_command_result(const struct wa_command_end *e, struct wb_buf *text, bool *json, bool *failed,
                      struct upp_err *err)
{
    struct upp_str out = wb_buf_str(&e->out);
    int r = 0;
    *json = false;
    *failed = e->cut || e->status != 0;
    if (e->cut) {
        wb_utf8_add_clean(text, wb_str_sub(out, 0, wb_utf8_cut(out, out.n)));
        wb_buf_addf(text, "\n[cut: the program wrote more than %zu KiB and was ended]", e->out.max >> 10);
    } else if (e->status != 0) {
        describe(e->status, text);
        struct upp_str why = without_line_end(wb_buf_str(e->error.n ? &e->error : &e->out));
        if (why.n)
            wb_buf_add(text, UPP_STR(":\n"));
        r = add_error(text, why, err);
        if (r < 0)
            return r;
    } else {
        r = is_json(wb_str_trim(out), json, err);
        if (r < 0)
            return r;
        if (*json)
            wb_buf_add(text, wb_str_trim(out));
        else
            wb_utf8_add_clean(text, without_line_end(out));
    }
    return wb_buf_check(text, err);
}

WEFT_SUSPENDS int wa_command_call(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    WB_CLEANUP(wa_command_end_done) struct wa_command_end end = {0};
    int r = wa_command_run(call->arg, call->arguments, weft_call_key(call), &end, err);
    bool json, failed;
    if (r < 0)
        return r;
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(3 * end.out.max + 4 * WA_COMMAND_TAIL); /* U+FFFD is 3 bytes */
    r = wa_command_result(&end, &text, &json, &failed, err);
    if (r == 0)
        r = (json ? upp_value_json : upp_value_text)(ret, wb_buf_str(&text), err);
    if (r == 0 && failed)
        upp_value_error(ret);
    return r;
}
