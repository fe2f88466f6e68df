/* runtime/config_read.h — from nodes to values, with a sentence for everything that is wrong.
 *
 * Functions here do not stop at a mistake: they report it and go on, so that one look at a file finds them all. What
 * was not right keeps its default. Out of memory is seen once, at the end (the arenas are sticky).
 */
#ifndef WC_CONFIG_READ_H
#define WC_CONFIG_READ_H

#include "base/buf.h"
#include "runtime/config.h"
#include "runtime/config_node.h"

struct wc_key;

struct wc_reader {
    struct wc_config     *config;
    struct wc_report     *report;
    const struct wc_opts *opts;
    const struct wc_key  *key;    /* of the map, while its `read` runs */
    const struct wc_node *agents; /* the section: tools and agents may name those that come later; NULL: none */
    int                   failed; /* other than by a mistake of the file */
    bool                  readable; /* the file, by others than its owner */
    struct upp_err       *err;
};

/* A mistake, or a warning, at a node. */
void wc_mistake(struct wc_reader *r, const struct wc_node *at, const char *fmt, ...) UPP_PRINTF(3, 4);
void wc_warning(struct wc_reader *r, const struct wc_node *at, const char *fmt, ...) UPP_PRINTF(3, 4);
void wc_report_at(struct wc_reader *r, struct wc_place at, bool warning, const char *fmt, ...) UPP_PRINTF(4, 5);

/* The whole thing failed, not the file: kept in r. */
void wc_fail(struct wc_reader *r, int code);

/* ---- Values. False: it is not one, and that was reported. -------------------------------------------------- */

bool wc_is(struct wc_reader *r, const struct wc_node *n, enum wc_kind kind, const char *what);
bool wc_null(const struct wc_node *n);

/* Text with its variables put in, in the configuration's arena. */
bool wc_text(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret);

/* The same where it has variables, into a secret that the configuration keeps; else NULL in *ret and the text. */
bool wc_secret(struct wc_reader *r, const struct wc_node *n, const char *what, const struct wb_secret **ret,
               struct upp_str *text);

bool wc_number(struct wc_reader *r, const struct wc_node *n, const char *what, uint64_t min, uint64_t max,
               uint64_t *ret);
bool wc_decimal(struct wc_reader *r, const struct wc_node *n, const char *what, double min, double max, double *ret);
bool wc_truth(struct wc_reader *r, const struct wc_node *n, const char *what, bool *ret);

/* One of some words: its place in the list, which ends with NULL. */
bool wc_word(struct wc_reader *r, const struct wc_node *n, const char *what, const char *const *words, unsigned *ret);

/* Any value as JSON text, of at most 256 KiB. */
bool wc_json(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret);

/* Does it have variables anywhere? Then nothing that was made of it is shown. */
bool wc_has_variables(const struct wc_node *n);

/* A text that C can hold: no NUL inside. */
bool wc_cstr(struct wc_reader *r, const struct wc_node *n, const char *what, const char **ret);

/* A list of at most `max` texts; *ret has room for one more. */
bool wc_texts(struct wc_reader *r, const struct wc_node *n, const char *what, size_t max, struct upp_str **ret,
              size_t *ret_n);

/* A map as JSON text that is a JSON Schema. What is wrong with it is reported where it stands. The schema is the
 * caller's (upp_schema_free); ret NULL: it is only checked. */
bool wc_schema(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *json,
               struct upp_schema **ret);

/* A path, relative to the folder of the file. */
struct upp_str wc_path(struct wc_reader *r, struct upp_str path);

/* A variable of the environment, or NULL. */
const char *wc_env(struct wc_reader *r, const char *name);

/* From now on nobody is shown this value of the variable `name` (no text: it came from none). False: no memory. */
bool wc_hide(struct wc_reader *r, struct upp_str name, struct upp_str value);

/* What stands here is a secret in plain text: a warning where others can read the file. */
void wc_inline_secret(struct wc_reader *r, const struct wc_node *n);

/* Is this the name of a header or a variable that holds a secret: Authorization, GITHUB_TOKEN? */
bool wc_is_secret_name(struct upp_str name);

/* ---- Maps ---------------------------------------------------------------------------------------------------- */

enum { WC_REQUIRED = 1 << 0 };

enum wc_type {
    WC_BY_HAND = 0,
    WC_U32,
    WC_U64,
    WC_F64,
    WC_TRUTH,
    WC_UNTRUTH,
    WC_STR,
    WC_CSTR,
    WC_ENUM, /* uint8_t: the position of the word in `words`, plus min */
    WC_WORD, /* const char *: the word itself */
};

/* A key has a function, or is a member of what is read into. Neither: it is known, and not supported yet. */
struct wc_key {
    const char *name;
    void (*read)(struct wc_reader *r, const struct wc_node *value, void *into);
    unsigned           flags;
    uint8_t            type; /* enum wc_type */
    size_t             at;
    uint64_t           min, max;
    const char        *what;  /* in messages; NULL: the name */
    const char *const *words; /* WC_ENUM, WC_WORD: ends with NULL */
};

#define WC_MEMBER(type_, name_, struct_, member_, min_, max_)                                                          \
    {                                                                                                                  \
        .name = name_, .type = (type_), .at = offsetof(struct_, member_), .min = (min_), .max = (max_)                 \
    }

/* first_: the value of the first word. */
#define WC_CHOICE(type_, name_, struct_, member_, first_, what_, words_)                                               \
    {                                                                                                                  \
        .name = name_, .type = (type_), .at = offsetof(struct_, member_), .min = (first_), .what = (what_),            \
        .words = (words_)                                                                                              \
    }

/* Reads a map by a table; keys that are unknown, double or missing are mistakes. what: "a tool". */
void wc_map(struct wc_reader *r, const struct wc_node *n, const char *what, const struct wc_key *keys, size_t n_keys,
            void *into);

/* Names (1 to 64 letters, digits, '_' and '-') with anything behind them: calls fn for each in order. */
void wc_named(struct wc_reader *r, const struct wc_node *n, const char *what,
              void (*fn)(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into),
              void *into);

/* Was the key of this item there before it? For maps of at most WC_MAX_NAMED items. */
bool wc_repeated(const struct wc_node *map, const struct wc_item *item);

/* The value of a key, or NULL. */
const struct wc_node *wc_get(const struct wc_node *map, const char *key);

/* "; did you mean 'x'?" into a buffer, or "". */
struct wc_guess {
    char     text[96];
    unsigned distance;
};
void        wc_guess(struct wc_guess *g, struct upp_str wrong, struct upp_str right);
const char *wc_guessed(const struct wc_guess *g);

/* ---- Names ------------------------------------------------------------------------------------------------------ */

#define WC_HANDOFF "handoff_to_" /* and the name of an agent: a tool that passes the thread on */

/* The model that a text names; NULL: there is none, and that was reported. */
const struct wc_model *wc_find_model(struct wc_reader *r, const struct wc_node *n);

/* The tool of this name, or NULL; the agent in the section `agents`, or NULL. */
const struct wc_tool *wc_find_tool(const struct wc_reader *r, struct upp_str name, struct wc_guess *guess);
const struct wc_item *wc_find_agent(const struct wc_reader *r, struct upp_str name, struct wc_guess *guess);

/* "there is no WHAT 'x'; did you mean 'y'?" Always false. */
bool wc_no_such(struct wc_reader *r, const struct wc_node *at, const char *what, const struct wc_guess *guess);

/* ---- Parts of an agent: into is the struct wc_agent ------------------------------------------------------------ */

void wc_read_strategy(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_make_strategy(struct wc_reader *r, const struct wc_node *agent, struct wc_agent *a);
void wc_read_allow(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_deny(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_depth(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_budget(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_limits(struct wc_reader *r, const struct wc_node *n, struct weft_budget *into);
void wc_read_middleware(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_handoff(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a); /* after its tools */
void wc_link_handoffs(struct wc_reader *r);                                             /* after all agents */

/* ---- The parts of the file (config_tools.c, config_agents.c, config_models.c) --------------------------------- */

void wc_read_models(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_tools(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_agents(struct wc_reader *r, const struct wc_node *n, void *into); /* after both */

#endif
