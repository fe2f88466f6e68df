/* cli/chat/question.c — frames what an agent asks: its text, its members and its choices, with the name of the
 * agent. */
#include "cli/chat/view.h"

#include "base/arena.h"
#include "cli/terminal.h"
#include "dialects/aitp/capabilities.h"
#include "json/read.h"
#include "json/value.h"

enum {
    ARENA_MAX = 16 << 20,
    SHOWN_MAX = 12 * CLI_QUESTION_MAX, /* of revealed text: <U+10FFFF> for four bytes at most */
    LISTED = 100,                      /* options or fields */
    ROWS = 6                           /* of a line */
};

static int put_line(struct cli_chat_view *v, unsigned style, const struct wb_buf *line, struct upp_err *err)
{
    int r = wb_buf_check(line, err);
    if (r < 0)
        return r;
    return cli_chat_note_text(v, &(struct cli_note){.style = style, .indent = 4, .rows = ROWS, .framed = true},
                              wb_buf_str(line), err);
}

static int put_member(struct cli_chat_view *v, unsigned style, yyjson_val *object, const char *name,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(SHOWN_MAX);
    struct upp_str text = wj_text_at(object, name);
    if (!text.n)
        return 0;
    cli_reveal(&line, text, 0);
    return put_line(v, style, &line, err);
}

/* An option or a field: what it is called, and its id if that is something else. */
static int put_choice(struct cli_chat_view *v, yyjson_val *choice, const char *title, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(SHOWN_MAX);
    struct upp_str name = wj_text_at(choice, title), id = wj_text_at(choice, "id");
    struct upp_str more = wj_text_at(choice, "description");
    wb_buf_add(&line, UPP_STR("- "));
    cli_reveal(&line, name.n ? name : id, 0);
    if (name.n && !wb_str_eq(name, id)) {
        wb_buf_add(&line, UPP_STR(" ("));
        cli_reveal(&line, id, 0);
        wb_buf_addc(&line, ')');
    }
    if (more.n) {
        wb_buf_add(&line, UPP_STR(": "));
        cli_reveal(&line, more, 0);
    }
    return put_line(v, 0, &line, err);
}

static int put_choices(struct cli_chat_view *v, yyjson_val *list, const char *title, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf more = WB_BUF(256);
    yyjson_val *choice;
    size_t i, max;
    yyjson_arr_foreach(list, i, max, choice)
    {
        if (i == LISTED) {
            wb_buf_addf(&more, "... and %zu more", max - i);
            return put_line(v, 0, &more, err);
        }
        int r = put_choice(v, choice, title, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int put_question(struct cli_chat_view *v, struct upp_str asker, yyjson_val *body, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(SHOWN_MAX);
    cli_reveal(&line, asker, 0);
    wb_buf_add(&line, UPP_STR(" asks. This is a question of the agent, not of Weft."));
    int r = put_line(v, CLI_STYLE_BOLD, &line, err);
    if (r >= 0)
        r = put_member(v, 0, body, "title", err);
    if (r >= 0)
        r = put_member(v, 0, body, "description", err);
    if (r >= 0)
        r = put_choices(v, yyjson_obj_get(body, "options"), "name", err);
    if (r >= 0)
        r = put_choices(v, yyjson_obj_get(yyjson_obj_get(body, "form"), "fields"), "label", err);
    wb_buf_clear(&line);
    wb_buf_add(&line, UPP_STR("What you answer is sent to the agent as you type it."));
    return r < 0 ? r : put_line(v, CLI_STYLE_FAINT, &line, err);
}

int cli_chat_question(struct cli_chat_view *v, struct upp_str asker, struct upp_str text, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena arena = WB_ARENA(ARENA_MAX);
    yyjson_val *message, *body;
    if (text.n > CLI_QUESTION_MAX || wj_read(&arena, text, NULL, &message, NULL) < 0)
        return 0;
    const struct wd_aitp_kind *kind = wd_aitp_kind(message, &body);
    if (!kind || kind->does != WD_AITP_ASKS)
        return 0;
    if (kind->capability != WD_AITP_DECISIONS && kind->capability != WD_AITP_DATA_REQUEST)
        return 0; /* a frame would leave out what it asks */
    int r = put_question(v, asker, body, err);
    return r < 0 ? r : 1;
}
