/* runtime/config_read.h — from nodes to values, with a sentence for every mistake.
 *
 * These functions report a mistake and continue, so that one pass finds all of them. A wrong value keeps its default.
 * Out of memory is checked once, at the end (the arenas are sticky).
 */
#pragma once

#include "base/buf.h"
#include "base/words.h"
#include "runtime/config.h"
#include "base/arena.h"

/* A configuration file as a tree of nodes with their positions.
 *
 * Made from YAML (JSON is YAML). An alias is a second pointer to the node of its anchor, so nothing is copied; the size
 * of the tree with all aliases expanded is counted and limited (WC_MAX_WEIGHT). Scalars are the text of the file:
 * nothing is replaced or converted here.
 */

enum {
    WC_MAX_FILE = 1 << 20,
    WC_MAX_DEPTH = 32,
    WC_MAX_WEIGHT = 4 << 20, /* bytes of text and nodes, aliases counted each time */
    WC_MAX_ANCHORS = 256,
};

enum wc_kind { WC_SCALAR, WC_LIST, WC_MAP };

struct wc_node {
    uint8_t kind;          /* enum wc_kind */
    bool plain;            /* a scalar without quotes: it may be a number, a boolean or null */
    bool open;             /* being read: an alias may not refer to it */
    uint8_t height;        /* 0 for a scalar */
    uint32_t line, column; /* from 1 */
    uint32_t weight;
    struct upp_str text;
    struct wc_item *first, *last;
    size_t n;
};

struct wc_item {
    const struct wc_node *key; /* NULL in a list */
    struct wc_node *value;
    struct wc_item *next;
};

/* The position of a failure. */
struct wc_mark {
    uint32_t line, column;
};

/* The only document of a text; *ret NULL: the text has none. On failure *at has the position. -UPP_EINVALID: not
 * YAML, or YAML that is not supported; -UPP_ELIMIT: too large, too deep, too many aliases. */
int wc_node_read(struct wb_arena *a, struct upp_str text, const struct wc_node **ret, struct wc_mark *at,
                 struct upp_err *err) UPP_MUST_CHECK;

/* The file .env beside a configuration: variables for those that the environment lacks.
 *
 * A line is NAME=VALUE; `export ` may stand before it, a comment (#) behind it or alone. A value in single quotes is
 * taken as it is, one in double quotes knows \n \t \" \\ and \$; without quotes it ends before blanks. Nothing is
 * expanded and nothing continues on the next line. Of a name that is there twice the last one counts.
 */

enum { WC_DOTENV_MAX = 64 << 10 };

/* Values are secrets: the memory is wiped at the end. */
struct wc_dotenv {
    struct wb_buf text; /* NAME, NUL, VALUE, NUL, ... */
    bool exposed;       /* others can read the file */
};

/* Reads a text. 0, or -UPP_EINVALID with the line in *line; the sentence quotes nothing of it. */
int wc_dotenv_parse(struct wc_dotenv *d, struct upp_str text, unsigned *line, struct upp_err *err) UPP_MUST_CHECK;

/* NULL: it has none of that name. */
const char *wc_dotenv_get(const struct wc_dotenv *d, const char *name);

void wc_dotenv_done(struct wc_dotenv *d);

struct wc_key;

struct wc_reader {
    struct wc_config *config;
    struct wc_report *report;
    const struct wc_opts *opts;
    const struct wc_key *key;     /* of the map, while its `read` runs */
    struct wc_dotenv *dotenv;     /* variables that the environment does not have; NULL: no file */
    const struct wc_node *agents; /* the section: tools and agents may name later ones; NULL: none */
    int failed;                   /* not by a mistake in the file */
    bool excuses;                 /* mistakes are warnings (opts.only_store): the section does not matter ... */
    bool excused;                 /* ... and one was found */
    bool readable;                /* others than its owner can read the file */
    struct wb_buf *describe;      /* nothing is read: what would be accepted is written here (config_describe.c) */
    struct upp_err *err;
};

/* A mistake, or a warning, at a node. */
void wc_mistake(struct wc_reader *r, const struct wc_node *at, const char *fmt, ...) UPP_PRINTF(3, 4);
void wc_warning(struct wc_reader *r, const struct wc_node *at, const char *fmt, ...) UPP_PRINTF(3, 4);
void wc_report_at(struct wc_reader *r, struct wc_mark at, bool warning, const char *fmt, ...) UPP_PRINTF(4, 5);

/* A failure that is not a mistake in the file: stored in r. */
void wc_fail(struct wc_reader *r, int code);

/* Values. False: it is not one; reported. */

bool wc_is(struct wc_reader *r, const struct wc_node *n, enum wc_kind kind, const char *what);
bool wc_null(const struct wc_node *n);

/* Text with its variables replaced, in the configuration's arena. */
bool wc_text(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret);

/* If it has variables, the value as a secret of the configuration; else NULL in *ret, and the text. */
bool wc_secret(struct wc_reader *r, const struct wc_node *n, const char *what, const struct wb_secret **ret,
               struct upp_str *text);

bool wc_number(struct wc_reader *r, const struct wc_node *n, const char *what, uint64_t min, uint64_t max,
               uint64_t *ret);
bool wc_decimal(struct wc_reader *r, const struct wc_node *n, const char *what, double min, double max, double *ret);

/* A number with its unit (90s, 30m, 24h, 7d), in milliseconds; min and max are whole seconds. */
bool wc_duration(struct wc_reader *r, const struct wc_node *n, const char *what, uint64_t min, uint64_t max,
                 uint64_t *ret);
bool wc_truth(struct wc_reader *r, const struct wc_node *n, const char *what, bool *ret);

/* One of some words: its index in the list, which ends with NULL. */
bool wc_word(struct wc_reader *r, const struct wc_node *n, const char *what, const char *const *words, unsigned *ret);

/* Any value as JSON text, of at most 256 KiB. */
bool wc_json(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret);

/* Does it contain variables? Then messages do not quote it. */
bool wc_has_variables(const struct wc_node *n);

/* A text that begins with https:// or http://, and not too long for one. */
bool wc_url(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret);

/* A C string: no NUL inside. */
bool wc_cstr(struct wc_reader *r, const struct wc_node *n, const char *what, const char **ret);

/* A list of at most `max` texts; *ret has room for one more. */
bool wc_texts(struct wc_reader *r, const struct wc_node *n, const char *what, size_t max, struct upp_str **ret,
              size_t *ret_n);

/* A map as JSON text that is a JSON Schema. Mistakes are reported with their position. The caller owns the schema
 * (upp_schema_free); ret NULL: only checks. */
bool wc_schema(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *json,
               struct upp_schema **ret);

/* A path, relative to the folder of the file. */
struct upp_str wc_path(struct wc_reader *r, struct upp_str path);

/* An environment variable, or NULL. */
const char *wc_env(struct wc_reader *r, const char *name);

/* Masks this value of the variable `name` (empty: of none) in all output. False: no memory. */
bool wc_hide(struct wc_reader *r, struct upp_str name, struct upp_str value);

/* A secret in plain text: warns if others can read the file. */
void wc_inline_secret(struct wc_reader *r, const struct wc_node *n);

/* Is this the name of a secret header or variable: Authorization, GITHUB_TOKEN? */
bool wc_is_secret_name(struct upp_str name);

enum { WC_REQUIRED = 1 << 0, WC_NOT_STORE = 1 << 1 /* not needed if opts.only_store */ };

enum wc_type {
    WC_BY_HAND = 0,
    WC_U32,
    WC_U64,
    WC_F64,
    WC_DURATION, /* uint64_t: milliseconds */
    WC_TRUTH,
    WC_UNTRUTH,
    WC_STR,
    WC_CSTR,
    WC_ENUM, /* uint8_t: the position of the word in `words`, plus min */
    WC_WORD, /* const char *: the word itself */
};

/* A key has a function, or is a member of the target. Neither: it is known, but not supported yet. */
struct wc_key {
    const char *name;
    void (*read)(struct wc_reader *r, const struct wc_node *value, void *into);
    unsigned flags;
    uint8_t type; /* enum wc_type */
    size_t at;
    uint64_t min, max;
    const char *what;         /* in messages; NULL: the name */
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

/* A map of names (1 to 64 letters, digits, '_' and '-'): calls fn for each in order. */
typedef void wc_named_fn(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into);
void wc_named(struct wc_reader *r, const struct wc_node *n, const char *what, wc_named_fn *fn, void *into);

/* The same, and '.' but not in front: names of agents. */
void wc_named_dotted(struct wc_reader *r, const struct wc_node *n, const char *what, wc_named_fn *fn, void *into);

/* The name of a tool made from that of an agent: providers take no '.'. */
struct upp_str wc_tool_name(struct wc_reader *r, const char *prefix, struct upp_str agent);

/* Does an earlier item have the same key? For maps of at most WC_MAX_NAMED items. */
bool wc_repeated(const struct wc_node *map, const struct wc_item *item);

/* The value of a key, or NULL. */
const struct wc_node *wc_get(const struct wc_node *map, const char *key);

/* Those of base/words.h. */
#define wc_guess   wb_guess
#define wc_guessed wb_guessed

/* The schema: each is false unless r->describe, and then writes what would be accepted. */

#define WC_SCHEMA_TEXT     "{\"type\":[\"string\",\"number\",\"boolean\"]}"
#define WC_SCHEMA_DURATION "{\"type\":\"string\",\"pattern\":\"^[0-9]+[smhd]$|\\\\$\\\\{\"}"
#define WC_SCHEMA_TRUTH                                                                                                \
    "{\"anyOf\":[{\"type\":\"boolean\"},{\"enum\":[\"true\",\"false\"]},{\"type\":\"string\",\"pattern\":\"\\\\$\\\\{" \
    "\"}]}"

bool wc_described(struct wc_reader *r, const char *fmt, ...) UPP_PRINTF(2, 3);
bool wc_describe_words(struct wc_reader *r, const char *const *words);
bool wc_describe_number(struct wc_reader *r, const char *type, double min, double max);
bool wc_describe_map(struct wc_reader *r, const struct wc_key *keys, size_t n);
bool wc_describe_named(struct wc_reader *r, bool dots, wc_named_fn *fn, void *into);

#define WC_HANDOFF "handoff_to_" /* followed by the name of an agent: a handoff tool */

/* The model that a text names; NULL: none; reported. */
const struct wc_model *wc_find_model(struct wc_reader *r, const struct wc_node *n);

/* The tool of this name, or NULL; the agent in the section `agents`, or NULL. */
struct wc_tool *wc_find_tool(const struct wc_reader *r, struct upp_str name, struct wc_guess *guess);
const struct wc_item *wc_find_agent(const struct wc_reader *r, struct upp_str name, struct wc_guess *guess);

/* "there is no WHAT 'x'; did you mean 'y'?" Always false. */
bool wc_no_such(struct wc_reader *r, const struct wc_node *at, const char *what, const struct wc_guess *guess);

/* Keys of an agent: into is the struct wc_agent. */

void wc_read_strategy(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_make_strategy(struct wc_reader *r, const struct wc_node *agent, struct wc_agent *a);
void wc_read_allow(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_deny(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_depth(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_agent_messages(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_budget(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_limits(struct wc_reader *r, const struct wc_node *n, struct weft_budget *into);
void wc_read_middleware(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_handoff(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a); /* after its tools */
void wc_link_handoffs(struct wc_reader *r);                                             /* after all agents */
void wc_read_aliases(struct wc_reader *r, const struct wc_node *n);                     /* likewise */

/* The parts of the file (config_server.c, config_tools.c, config_agents.c, config_models.c). */

void wc_read_server(struct wc_reader *r, const struct wc_node *n, void *into); /* into: the configuration */
/* Reads where an agent is that is behind another server; nothing if it is not. */
void wc_read_remote(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, struct wc_agent *a);
void wc_read_models(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_webhooks(struct wc_reader *r, const struct wc_node *n, void *into);  /* into: the configuration */
void wc_read_telemetry(struct wc_reader *r, const struct wc_node *n, void *into); /* likewise */
void wc_read_tools(struct wc_reader *r, const struct wc_node *n, void *into);
void wc_read_agents(struct wc_reader *r, const struct wc_node *n, void *into); /* after both */

/* After the agents, and in this order (config_adapters.c, config_routes.c, config_envelopes.c). n NULL: the defaults.
 */
void wc_read_adapters(struct wc_reader *r, const struct wc_node *n);
void wc_read_routes(struct wc_reader *r, const struct wc_node *n);
void wc_read_envelopes(struct wc_reader *r, const struct wc_node *n);

/* Intents: one, or a list of them, as bits 1 << enum we_intent. */
bool wc_intents(struct wc_reader *r, const struct wc_node *n, uint32_t *ret);
