/* dialects/uap/check.c — the rules of UAP sessions. This file reports all problems it can find one by one; for the rest
 * it calls the session reader, which stops at the first one. */
#include "base/err.h"
#include "dialects/upp/doc.h"
#include "json/value.h"
#include "model/session.h"

static yyjson_val *need(struct wd_problems *p, yyjson_val *obj, const char *name, bool list)
{
    char found[WJ_QUOTED];
    yyjson_val *v = wd_last_at(obj, name);
    if (!v)
        wd_problem(p, WD_ERROR, "UAP-13.1", obj, "expected the member '%s'", name);
    else if (list ? !yyjson_is_arr(v) : !yyjson_is_obj(v))
        wd_problem(p, WD_ERROR, "UAP-13.1", v, "expected %s, found %s", list ? "an array" : "an object",
                   wj_found(v, found, sizeof found));
    else
        return v;
    return NULL;
}

static int check_node(struct wd_problems *p, yyjson_val *v, struct upp_err *err)
{
    if (!yyjson_is_obj(v)) {
        wd_problem(p, WD_ERROR, "UAP-13.1", v, "expected a node: an object");
        return 0;
    }
    wd_upp_check_text(p, v, "id", "UAP-13.1");
    (void)need(p, v, "children", true);
    yyjson_val *thread = need(p, v, "thread", false);
    if (!thread)
        return 0;
    wd_upp_check_text(p, thread, "id", "UAP-13.1");
    return wd_upp_check_messages(p, need(p, thread, "messages", true), err);
}

static int check_tree(struct wd_problems *p, yyjson_val *tree, struct upp_err *err)
{
    yyjson_val *v, *nodes;
    size_t i, n;
    int r = 0;
    wd_upp_check_text(p, tree, "rootId", "UAP-13.1");
    wd_upp_check_text(p, tree, "currentId", "UAP-13.1");
    nodes = need(p, tree, "nodes", true);
    yyjson_arr_foreach(nodes, i, n, v)
    {
        if (r >= 0)
            r = check_node(p, v, err);
    }
    return r;
}

_Static_assert((int)WD_DOC_BYTES <= (int)WM_SESSION_BYTES && (int)WD_DOC_DEPTH <= (int)WM_SESSION_JSON,
               "a document that was read is within the limits of sessions");

/* Everything else: references, checkpoints, nested sessions. */
static int check_whole(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    int r = wm_session_check(p->a, root, &why);
    if (r == -UPP_EINVALID || r == -UPP_ELIMIT) {
        wd_problem_at(p, WD_ERROR, "UAP-13.7", why.where, why.msg);
        return 0;
    }
    if (r < 0 && err)
        *err = why;
    return r;
}

int wd_uap_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    char found[WJ_QUOTED];
    yyjson_val *version = yyjson_obj_get(root, "version"), *tree;
    if (!yyjson_is_obj(root)) {
        wd_problem(p, WD_ERROR, "UAP-13.1", root, "expected an object, found %s", wj_found(root, found, sizeof found));
        return 0;
    }
    if (!version || !yyjson_is_str(version))
        wd_problem(p, WD_ERROR, "UAP-13.6c", version ? version : root, "expected a version");
    else if (!wb_str_starts(wj_text(version), UPP_STR("1.0.")))
        wd_problem(p, WD_ERROR, "UAP-13.6c", version, "this version is not 1.0");
    wd_upp_check_text(p, root, "id", "UAP-13.1");
    wd_upp_check_time(p, root, "createdAt", "UAP-6.5d");
    wd_upp_check_time(p, root, "updatedAt", "UAP-6.5d");
    (void)need(p, root, "checkpoints", true);
    tree = need(p, root, "threadTree", false);
    int r = tree ? check_tree(p, tree, err) : 0;
    return r < 0 || p->errors ? r : check_whole(p, root, err);
}
