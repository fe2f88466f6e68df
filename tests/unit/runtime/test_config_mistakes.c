/* Each mistake has its place and a sentence; all of them are found at once; none shows a secret. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "runtime/config.h"
#include "runtime/config_read.h"
#include "support/paths.h"
#include "support/test.h"

static const char *environment(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "KEY") == 0 ? "s3cret" : NULL;
}

static const struct wc_opts opts = {.size = sizeof opts, .env = environment, .reaper = test_reaper, .no_files = true};

/* "LINE:COLUMN: sentence", a line for each; warnings have "warning: " before the sentence. */
static int mistakes(struct upp_str text, struct wb_buf *to)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    struct upp_err err = {0};
    int r = wc_config_parse("/etc/weft.yaml", text, &opts, &report, &c, &err);
    for (size_t i = 0; i < report.n; i++)
        wb_buf_addf(to, "%u:%u: %s%.*s\n", report.list[i].line, report.list[i].column,
                    report.list[i].warning ? "warning: " : "", UPP_FMT(report.list[i].text));
    return r;
}

#define GOOD "models: {e: {provider: scripted, echo: true}}\nagents: {a: {model: e}}\n" /* two lines */
#define A    "models: {e: {provider: scripted, echo: true}}\nagents:\n  a: {model: e, "

#define BAD_HOST "a host is a name or an address without scheme, port and brackets, as in weft.example.org\n"
#define BAD_ORIGIN                                                                                                     \
    "an origin is SCHEME://HOST or SCHEME://HOST:PORT without a path, as in https://app.example.org; '*' alone "       \
    "allows "                                                                                                          \
    "all\n"
#define BAD_PORT "browsers leave out the usual port of an origin (80 of http, 443 of https): so must this one\n"

static const struct {
    const char *text, *want;
} rows[] = {
    {"", "1:1: the file is empty\n"},
    {"# nothing\n", "1:1: the file is empty\n"},
    {"- a\n", "1:1: the configuration must be a map, not a list\n"},
    {"agents: {}\n", "1:1: there is no agent: 'agents' has none\n"},
    {GOOD "servr: {}\n", "3:1: the configuration has no key 'servr'; did you mean 'server'?\n"},
    {GOOD "store: memory\nstore: memory\n", "4:1: 'store' is there a second time\n"},
    {GOOD "store: redis:x\n", "3:8: store is 'memory:' or 'sqlite:FILE'\n"},
    {GOOD "store: postgres://u@h/db\n", "3:8: the PostgreSQL store is not built yet\n"},
    {GOOD "store: [a]\n", "3:8: store must be a value, not a list\n"},
    {GOOD "durability: synk\n",
     "3:13: durability is one of 'sync', 'group', 'async', 'exit', not 'synk'; did you mean 'sync'?\n"},
    {GOOD "server: {listen: 8787}\n", "3:18: listen is ADDRESS:PORT, as in 127.0.0.1:8787 or [::1]:8787\n"},
    {GOOD "server: {listen: '::1:8787'}\n", "3:18: listen is ADDRESS:PORT, as in 127.0.0.1:8787 or [::1]:8787\n"},
    {GOOD "server: {listen: 'a:70000'}\n", "3:18: listen is ADDRESS:PORT, as in 127.0.0.1:8787 or [::1]:8787\n"},
    {GOOD "waits: {tool: 10}\n",
     "3:15: tool must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not '10'\n"},
    {GOOD "waits: {tool: 0s}\n",
     "3:15: tool must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not '0s'\n"},
    {GOOD "waits: {approval: 1w}\n",
     "3:19: approval must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not '1w'\n"},
    {GOOD "waits: {approval: -1d}\n",
     "3:19: approval must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not '-1d'\n"},
    {GOOD "waits: {approval: 40000d}\n",
     "3:19: approval must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not '40000d'\n"},
    {GOOD "waits: {tool: 99999999999999999d}\n",
     "3:15: tool must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not '99999999999999999d'\n"},
    {GOOD "waits: {tool: d}\n", "3:15: tool must be a time from 1s to 36500d, such as 90s, 30m, 24h or 7d, not 'd'\n"},
    {GOOD "waits: {tools: 1h}\n", "3:9: waits has no key 'tools'; did you mean 'tool'?\n"},
    {GOOD "server: {tls: {certificate: c.pem}}\n", "3:15: tls needs 'key'\n"},
    {GOOD "server: {tls: {certificate: c.pem, key: \"\"}}\n", "3:41: key is the path of a PEM file\n"},
    {GOOD "server: {tls: c.pem}\n", "3:15: tls must be a map, not 'c.pem'\n"},
    {GOOD "server: {hosts: weft}\n", "3:17: hosts must be a list, not 'weft'\n"},
    {GOOD "server: {hosts: [a, 'https://a', 'a:80', '[::1]', '::1', '']}\n",
     "3:21: " BAD_HOST "3:34: " BAD_HOST "3:42: " BAD_HOST "3:58: " BAD_HOST},
    {GOOD "server: {origins: ['https://a', 'tauri://localhost']}\n", ""},
    {GOOD "server: {origins: ['*']}\n", ""},
    {GOOD "server: {origins: ['*', 'https://a']}\n", "3:19: '*' allows all origins: it stands alone\n"},
    {GOOD "server: {origins: [a, 'https://a/', 'https://*.a', 'https://', 'null', 'https://u@a']}\n",
     "3:20: " BAD_ORIGIN "3:23: " BAD_ORIGIN "3:37: " BAD_ORIGIN "3:52: " BAD_ORIGIN "3:64: " BAD_ORIGIN
     "3:72: " BAD_ORIGIN},
    {GOOD "server: {origins: ['https://a:443', 'http://a:443', 'http://a:80']}\n", "3:20: " BAD_PORT "3:53: " BAD_PORT},
    {GOOD "telemetry: {otlp: 'http://c:4318', content: false, headers: {a: b, Authorization: '${KEY}'}}\n", ""},
    {GOOD "telemetry: {}\n", "3:12: telemetry needs 'otlp'\n"},
    {GOOD "telemetry: {otlp: 'c:4318', content: true}\n",
     "3:19: the url of a collector begins with https:// or http:// and has at most 2048 bytes\n"
     "3:38: the content of conversations cannot be sent yet: spans hold names, numbers and times\n"},
    {GOOD "telemetry: {otlp: 'http://c:4318/v1/traces'}\n",
     "3:19: the url of a collector is that of all signals, without /v1/traces\n"},
    {GOOD "telemetry: {otlp: 'http://c:4318?a'}\n",
     "3:19: the url of a collector has no query: /v1/traces is appended to it\n"},
    {GOOD "telemetry: {otlp: 'http://c', headers: {'a b': x, Host: y, c: \"a\\nb\", d: e, d: f}}\n",
     "3:41: this is no name of a header\n3:51: the server sets this header itself\n"
     "3:63: a header has at most 8192 bytes, and no line ends\n3:77: this header is there a second time\n"},
    {GOOD "telemetry: {otlp: 'http://c', headers: [a], protocol: grpc}\n",
     "3:40: headers must be a map, not a list\n3:45: telemetry has no key 'protocol'\n"},
    {GOOD "server: {trusted_proxies: [127.0.0.1, 10.0.0.0/8, '::1', 'fc00::/7']}\n", ""},
    {GOOD "server: {trusted_proxies: [localhost, 10.0.0.1/8]}\n",
     "3:28: 'localhost' is no IP address or network (as 127.0.0.1 or 10.0.0.0/8)\n"
     "3:39: '10.0.0.1/8' has bits after its prefix: the network is 10.0.0.0/8\n"},
    {GOOD "server: {trusted_proxies: ['${KEY}']}\n", "3:28: this is no IP address or network\n"},
    {GOOD "log: {level: loud}\n",
     "3:14: a log level is one of 'off', 'error', 'warn', 'info', 'debug', 'trace', not 'loud'\n"},
    {GOOD "default_agent: b\n", "3:16: there is no agent 'b'\n"},
    {GOOD "envelopes: {}\nroutes: []\nadapters: {}\n", ""},
    {GOOD "routes: {}\n", "3:9: routes must be a list, not a map\n"},
    {GOOD "routes: [{intent: plan}, {to: a}]\n", "3:10: a rule needs 'to'\n"
                                                 "3:26: a rule needs 'intent'\n"},
    {GOOD "routes: [{intent: sing, to: b}, {intent: [plan, plan], to: [a, a]}, {intent: [], to: []}]\n",
     "3:19: an intent is one of 'plan', 'decompose', 'execute', 'route', 'retrieve', 'analyze', 'summarize', "
     "'reflect', "
     "'finalize', 'tool.call', not 'sing'\n"
     "3:29: there is no agent 'b'\n"
     "3:49: the intent is there a second time\n"
     "3:64: 'a' is there a second time\n"
     "3:78: there is no intent in the list\n"
     "3:86: a rule has 1 to 64 agents in 'to'\n"},
    {GOOD "routes: [{intent: plan, to: {agent: a, weight: 0}, fallback: [a]}]\n",
     "3:48: weight must be a whole number from 1 to 1000000, not '0'\n"
     "3:63: 'a' would be asked again after it failed: a circle\n"},
    {GOOD "routes: [{intent: plan, to: a}, {intent: plan, when: {role: user}, to: a}]\n",
     "3:33: warning: the rule never fits: earlier ones take every envelope of its intents\n"},
    {GOOD "routes: [{intent: plan, when: {role: boss, type: song, confidence: {below: 0.2, above: 0.3}, cost: {}}, to: "
          "a}]\n",
     "3:38: a role is one of 'agent', 'user', 'system', 'tool', not 'boss'\n"
     "3:50: a content type is one of 'text', 'code', 'json', 'tool_result', 'error', not 'song'; did you mean 'json'?\n"
     "3:68: no confidence is above 0.3 and below 0.2\n"
     "3:100: cost needs 'above'\n"},
    {GOOD "envelopes: {doubt: 2, reflections: 17, parents: all, confidence: {b: 1, a: 2}, actions: {fan_out: 257, "
          "depth: 65, count: 4097}}\n",
     "3:20: doubt must be a number from 0 to 1, not '2'\n"
     "3:36: reflections must be a whole number from 0 to 16, not '17'\n"
     "3:49: parents is one of 'chain', 'direct', not 'all'\n"
     "3:67: there is no agent 'b'\n"
     "3:76: a confidence must be a number from 0 to 1, not '2'\n"
     "3:99: fan_out must be a whole number from 1 to 256, not '257'\n"
     "3:111: depth must be a whole number from 1 to 64, not '65'\n"
     "3:122: count must be a whole number from 1 to 4096, not '4097'\n"},
    {GOOD "envelopes: {budget: {}}\n", "3:21: a budget needs a limit\n"},
    {GOOD "envelopes: {budget: {max_tokens: 1}}\n", ""},
    {A "budget: {}}\n", "3:25: a budget needs a limit\n"},
    {GOOD "adapters: {mine: {match: [x], user: '{{tusk}}'}, all: {user: x}, none: {match: [y]}}\n",
     "3:37: user: 'tusk' is not a field of an envelope's prompt\n"
     "3:50: an adapter without 'match' would fit every model\n"
     "3:72: an adapter needs 'user'\n"},
    {GOOD "encryption: {}\n", "3:13: encryption has no key_file\n"},
    {GOOD "encryption: {key_file: \"\"}\n", "3:24: key_file is the path of a file\n"},
    {GOOD "tools: {t: {command: ls}}\n", "3:22: a command must be a list, not 'ls'\n"},
    {GOOD "tools: {t: {command: []}}\n", "3:22: a command has 1 to 256 words: the program and its arguments\n"},
    {GOOD "tools: {t: {command: ['']}}\n", "3:9: a command has 1 to 256 words, and the first names a program\n"
                                           "3:23: the first word of a command names a program\n"},
    {GOOD "tools: {t: {command: [a], limits: {seconds: 0, memory_mb: x}}}\n",
     "3:45: seconds must be a whole number from 1 to 86400, not '0'\n"
     "3:59: memory_mb must be a whole number from 16 to 1048576, not 'x'\n"},
    {GOOD "tools: {t: {limits: {seconds: 1}, env: [A]}}\n",
     "3:21: a tool without a command is run by the client: 'limits' has no meaning\n"
     "3:40: a tool without a command is run by the client: 'env' has no meaning\n"
     "3:41: the environment variable 'A' is not set\n"},
    {GOOD "tools: {t: {command: [a], delivery: twice}}\n",
     "3:37: delivery is one of 'at_most_once', 'idempotent', 'pure', not 'twice'\n"},
    {GOOD "tools: {t: {parameters: {type: array}}}\n",
     "3:32: the arguments of a tool are always an object: 'type: object'\n"},
    {GOOD "tools: {t: {parameters: {a: 1, a: 2}}}\n", "3:32: 'a' is there a second time\n"},
    {GOOD "tools: {t: {parameters: 7}}\n", "3:25: parameters must be a map, not '7'\n"},
    {GOOD "tools: {'a b': {}}\n", "3:9: 'a b' is no name: 1 to 64 letters, digits, '_' and '-'\n"},
    {GOOD "tools: {t: {}, t: {}}\n", "3:16: there are two tools called 't'\n"},
    {GOOD "tools: {t: {command: [a], env: {'A=B': x}}}\n", "3:33: this is no name of a variable\n"},
    {GOOD "tools: {t: {command: [a], env: {A: '${NOPE}'}}}\n", "3:36: the environment variable 'NOPE' is not set\n"},
    {GOOD "tools: {t: {description: 'a ${'}}\n",
     "3:26: '${' without a name and '}' behind it; write '$${' for the characters themselves\n"},
    {GOOD "search: all\n", "3:9: search is one of 'substrings', 'words', 'off', not 'all'\n"},
    {GOOD "store_cache_mb: 0\n", "3:17: store_cache_mb must be a whole number from 1 to 65536, not '0'\n"},
    {GOOD "store_cache_mb: 65537\n", "3:17: store_cache_mb must be a whole number from 1 to 65536, not '65537'\n"},
    {GOOD "store_cache_mb: 16MB\n", "3:17: store_cache_mb must be a whole number from 1 to 65536, not '16MB'\n"},
    {GOOD "retention: {tapes_days: 0, deleted: 1}\n",
     "3:25: tapes_days must be a whole number from 1 to 36500, not '0'\n3:28: retention has no key 'deleted'\n"},
    {GOOD "on_busy: ${KEY}\n", "3:10: on_busy is one of 'reject', 'enqueue', 'interrupt', 'rollback', not '${KEY}'\n"},
    {GOOD "tools: {t: {command: [a], limits: {seconds: '${KEY}'}}}\n",
     "3:45: seconds must be a whole number from 1 to 86400, not '${KEY}'\n"},
    {"models: {m: {provider: scripted, echo: true, retry: {max_tokens: 0, refill_per_second: .5, retry_after_max_ms: "
     "1h}}}\n"
     "agents: {a: {model: m}}\n",
     "1:66: max_tokens must be a number from 1 to 1000000, not '0'\n"
     "1:88: refill_per_second must be a number from 0.001 to 1000000, not '.5'\n"
     "1:112: retry_after_max_ms must be a whole number from 1 to 86400000, not '1h'\n"},
    {"models: {m: {provider: scripted, echo: true, retry: {max_tokens: 1e7, refill_per_second: 1e999}}}\n"
     "agents: {a: {model: m}}\n",
     "1:66: max_tokens must be a number from 1 to 1000000, not '1e7'\n"
     "1:90: refill_per_second must be a number from 0.001 to 1000000, not '1e999'\n"},
    {"models: {m: {provider: anthropic, model: x, api_key: k, base_url: u}}\nagents: {a: {model: m}}\n",
     "1:10: base_url begins with http:// or https://\n"},
    {"models: {m: {provider: anthropic}}\nagents: {a: {model: m}}\n",
     "1:10: a model of 'anthropic' needs 'model: NAME'\n"},
    {"models: {m: {provider: anthropic, model: x}}\nagents: {a: {model: m}}\n",
     "1:10: warning: this model has no 'api_key', and the environment variable ANTHROPIC_API_KEY is not set\n"},
    {"models: {m: {provider: anthropic, model: x, api_key: '${KEY}'}}\nagents: {a: {model: m}}\n", ""},
    {"models: {m: {provider: ollama, model: x}}\nagents: {a: {model: m}}\n", ""},
    {"models: {m: {provider: openai, model: x, api: assistants}}\nagents: {a: {model: m}}\n",
     "1:10: provider 'openai' has no api 'assistants': there are 'responses', 'chat'\n"},
    {"models: {m: {provider: vllm, model: x}}\nagents: {a: {model: m}}\n", "1:10: provider 'vllm' needs a base_url\n"},
    {"models: {m: {provider: ollama, model: x, echo: true}}\nagents: {a: {model: m}}\n",
     "1:10: only a scripted model has a script or an echo\n"},
    {"models: {m: {provider: antropic}}\nagents: {a: {model: m}}\n",
     "1:24: a provider is one of 'scripted', 'anthropic', 'openai', 'google', 'ollama', 'openrouter', 'xai', "
     "'moonshot', 'groq', 'cerebras', 'deepseek', 'vllm', 'llamacpp', not "
     "'antropic'; did you mean 'anthropic'?\n"},
    {"models: {m: {provider: scripted}}\nagents: {a: {model: m}}\n",
     "1:10: a scripted model has either 'script: FILE' or 'echo: true'\n"},
    {"models: {m: {provider: scripted, echo: true, script: x, model: y}}\nagents: {a: {model: m}}\n",
     "1:10: a scripted model has either 'script: FILE' or 'echo: true'\n"
     "1:64: a scripted model has no use for this\n"},
    {"models: {m: {echo: yes}}\nagents: {a: {model: m}}\n",
     "1:13: a model needs 'provider'\n1:20: echo is one of 'false', 'true', not 'yes'\n"},
    {GOOD "models: 1\n", "3:1: 'models' is there a second time\n"},
    {"models: {e: {provider: scripted, echo: true}}\nagents:\n  a: {model: f}\n  b: {system: x}\n  c: {model: e, "
     "tools: [d, a, a]}\n",
     "3:14: there is no model 'f'\n4:1: the agent 'b' needs 'model': no other agent has it as a tool\n"
     "5:25: there is no tool or agent 'd'\n"
     "5:31: 'a' is there a second time\n"},
    {"models: {e: {provider: scripted, echo: true}}\ntools: {x: }\nagents: {x: {model: e}, y: {model: e, tools: "
     "[x]}}\n",
     "3:47: 'x' is the name of a tool and of an agent\n"},
    {"models: {e: {provider: scripted, echo: true}}\nagents:\n  a: {model: e, tools: [b]}\n  b: {model: e, tools: "
     "[a]}\n",
     "4:1: the agent 'a' is below itself: 'b' has it as a tool\n"},
    {"models: {e: {provider: scripted, echo: true}}\nagents:\n  a: {model: e, tools: [a]}\n",
     "3:1: the agent 'a' is below itself: 'a' has it as a tool\n"},
    {"models: {e: {provider: scripted, echo: true}}\nagents:\n  a: {model: e, id: 5}\n",
     "3:21: an id is a UUID, as in 5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11\n"},
    {"models: {e: {provider: scripted, echo: true}}\nagents:\n"
     "  a: {model: e, id: 5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11}\n"
     "  b: {model: e, id: 5f0c8c1e6a4e4f0e9d0c0b8f6f6a1c11}\n",
     "4:21: the agent 'a' has the same id\n"},
    {A "strategy: {react: {max_steps: 0, observation_format: xml}}, on_disconnect: x}\n",
     "3:47: max_steps must be a whole number from 1 to 1000, not '0'\n"
     "3:70: observation_format is one of 'markdown', 'json', 'text', not 'xml'\n"
     "3:77: warning: 'on_disconnect' is not supported yet and has no effect\n"},
    {A "strategy: {plan: {allow_replan: false, max_replans: 2, max_parallel: 99}}}\n",
     "3:69: max_replans has no meaning with 'allow_replan: false'\n"
     "3:86: max_parallel must be a whole number from 1 to 16, not '99'\n"},
    {A "strategy: {plan: , react: }}\n", "3:27: a strategy is one of 'loop', 'react', 'plan'\n"},
    {A "strategy: raect}\n",
     "3:27: a strategy is one of 'loop', 'react', 'plan', not 'raect'; did you mean 'react'?\n"},
    {A "structure: {type: objekt}}\n", "3:35: structure: schema: expected the name of a type, found 'objekt'\n"},
    {A "structure: [a]}\n", "3:28: structure must be a map, not a list\n"},
    {A "params: 7}\n", "3:25: params must be a map, not '7'\n"},
    {A "handoff: [b, a, {agent: a, on_mention: maybe}, {prompt: x}]}\n",
     "3:27: there is no agent 'b'\n3:30: an agent cannot hand over to itself\n"
     "3:41: an agent cannot hand over to itself\n"
     "3:56: on_mention is one of 'false', 'true', not 'maybe'\n3:64: a handoff needs 'agent'\n"},
    {A "handoff: [b, b]}\n  b: {model: e}\n", "3:30: 'b' is there a second time\n"},
    {A "handoff: [b], tools: [b]}\n  b: {}\n", "3:1: 'a' hands over to 'b', which has no model of its own\n"},
    {A "handoff: b}\n  b: {model: e}\n", "3:26: handoff must be a list, not 'b'\n"},
    {A "handoff: [b], tools: [handoff_to_b]}\n  b: {model: e}\ntools: {handoff_to_b: }\n",
     "3:26: the agent has a tool 'handoff_to_b' already\n"},
    {A "handoff: [b2345678901234567890123456789012345678901234567890123]}\n"
       "  b2345678901234567890123456789012345678901234567890123: {model: e}\n",
     ""},
    {A "handoff: [b23456789012345678901234567890123456789012345678901234]}\n"
       "  b23456789012345678901234567890123456789012345678901234: {model: e}\n",
     "3:27: the name of an agent that is handed over to has at most 53 letters\n"},
    {A "allow: [tt, a, handoff_to_a, handoff_to_c], deny: x, max_depth: 9}\ntools: {t1: }\n",
     "3:25: there is no tool or agent 'tt'; did you mean 't1'?\n"
     "3:46: there is no tool or agent 'handoff_to_c'\n"
     "3:67: deny must be a list, not 'x'\n3:81: max_depth must be a whole number from 0 to 8, not '9'\n"},
    {A "max_agent_messages: 1000001}\n",
     "3:37: max_agent_messages must be a whole number from 0 to 1000000, not '1000001'\n"},
    {A "budget: {max_cost: 1, max_steps: 0, max_token: 1}}\n",
     "3:36: max_cost needs 'input_price' and 'output_price', of a million tokens\n"
     "3:50: max_steps must be a whole number from 1 to 1000000, not '0'\n"
     "3:53: budget has no key 'max_token'; did you mean 'max_tokens'?\n"},
    {A "budget: {max_cost: 0, input_price: -1}}\n",
     "3:36: max_cost must be more than 0\n3:52: input_price must be a number from 0 to 1000000, not '-1'\n"},
    {A "middleware: [budget, guardrails, looging, {memory: {mode: retrieve, keep_last: 0, model: f}}]}\n",
     "3:30: 'budget' needs to be told what to do: {budget: {...}}\n"
     "3:38: 'guardrails' needs to be told what to do: {guardrails: {...}}\n"
     "3:50: a middleware is one of 'logging', 'guardrails', 'memory', 'budget', not 'looging'; did you mean "
     "'logging'?\n"
     "3:75: a mode is one of 'truncate', 'summarise', not 'retrieve'\n"
     "3:96: keep_last must be a whole number from 1 to 10000, not '0'\n3:106: there is no model 'f'\n"
     "3:106: 'model' has a meaning with 'mode: summarise' alone\n"},
    {A "middleware: [{guardrails: {}}, {budget: {}}, {logging: {level: loud}}, {logging: , memory: }, [a]]}\n",
     "3:43: guardrails need rules: 'input', 'output' or 'tools'\n3:57: a budget needs a limit\n"
     "3:80: a level is one of 'debug', 'info', 'warn', 'error', not 'loud'\n"
     "3:88: a middleware is one of 'logging', 'guardrails', 'memory', 'budget'\n"
     "3:111: middleware must be a map, not a list\n"},
    {A "middleware: [{guardrails: {input: [{action: reject}, {action: stop, pattern: '(a'}], output: 1}}]}\n",
     "3:52: a rule needs 'pattern'\n3:79: an action is one of 'reject', 'rewrite', 'flag', not 'stop'\n"
     "3:94: this pattern cannot be used: character 3: expected ')' for a group\n3:110: output must be a list, not "
     "'1'\n"},
    {A "middleware: [{guardrails: {input: [{action: flag, pattern: '${KEY}(', instead: x}]}}]}\n",
     "3:76: this pattern cannot be used: look at its variables\n"
     "3:96: 'instead' has a meaning with 'action: rewrite' alone\n"},
    {"models: {e: {provider: scripted, echo: true}}\ndefault_agent: b\nagents:\n  a: {model: e, tools: [b]}\n"
     "  b: {params: {x: 1}}\n",
     "2:16: the agent 'b' has no model of its own: others ask it\n"
     "5:15: an agent without a model has the params of whoever asks it\n"},
    {GOOD "tools: {t: {after: [u, a, x], sequential: 1}, u: {after: [t]}}\n",
     "3:20: 't' would have to wait for itself\n3:27: there is no tool or agent 'x'\n"
     "3:43: sequential is one of 'false', 'true', not '1'\n"},
    {GOOD "tools: {t: {after: [t], timeout_ms: 5, check: no}}\n",
     "3:20: 't' would have to wait for itself\n"
     "3:37: a tool without a command is run by the client: 'timeout_ms' has no meaning\n"
     "3:47: check is one of 'false', 'true', not 'no'\n"},
    {GOOD "tools: {t: {parameters: {properties: {a/b: {type: [string, strin]}}}}}\n",
     "3:60: parameters: schema: expected the name of a type, found 'strin'\n"},
    {GOOD "tools: {t: {parameters: {properties: {a: {pattern: '${KEY}('}}}}}\n",
     "3:52: parameters: no JSON Schema that can be used; look at its variables\n"},
    {"models: {e: {provider: scripted, echo: true}}\nagents:\n  a: {model: e, strategy: {loop: {max_iterations: "
     "-1}}}\n",
     "3:51: max_iterations must be a whole number from 1 to 1000, not '-1'\n"},
    {GOOD "? [a]\n: b\n", "3:3: a key must be a text\n"},
    {GOOD "store: !x memory\n", "3:8: tags are not read here\n"},
    {GOOD "---\na: b\n", "3:1: a second document: the file has one\n"},
    {GOOD "store: *nope\n", "3:9: there is no anchor 'nope' before this alias\n"},
    {GOOD "routes: &r {a: *r}\n", "3:17: the alias 'r' stands inside its own anchor\n"},
};

TEST_WITH(config_mistakes_have_a_place_and_a_sentence, .no_torture = "config_finds_all_mistakes is tortured")
{
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(1u << 20);
        test_note("%s", rows[i].text);
        int r = mistakes(wb_cstr(rows[i].text), &got);
        CHECK_STR(wb_buf_str(&got), wb_cstr(rows[i].want));
        bool only_warnings = true; /* every line is one */
        for (const char *at = rows[i].want; *at; at = strchr(at, '\n') + 1)
            only_warnings = only_warnings && strstr(at, ": warning: ") && strstr(at, ": warning: ") < strchr(at, '\n');
        CHECK_INT(r, only_warnings ? 0 : -UPP_EINVALID);
        CHECK(wb_str_find(wb_buf_str(&got), UPP_STR("s3cret"), 0) == SIZE_MAX);
    }
}

/* What libfyaml says about broken YAML is its own affair; where it says so is ours. */
TEST_WITH(config_that_is_no_yaml, .no_torture = "libfyaml does not allocate through the table")
{
    static const struct {
        const char *text;
        unsigned line;
    } broken[] = {
        {GOOD "store: [a\n", 3}, {GOOD "a: b: c\n", 3}, {GOOD "\tx: y\n", 3}, {GOOD "store: \"a\n", 3}, {"}\n", 1},
        {GOOD "a: 'x", 3},
    };
    for (size_t i = 0; i < WB_LEN(broken); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        WB_CLEANUP(wc_report_done) struct wc_report report = {0};
        struct upp_err err = {0};
        test_note("%s", broken[i].text);
        CHECK_INT(wc_config_parse("w.yaml", wb_cstr(broken[i].text), &opts, &report, &c, &err), -UPP_EINVALID);
        CHECK(report.n == 1 && report.list[0].line >= broken[i].line && report.list[0].line <= broken[i].line + 1);
    }
}

TEST(config_finds_all_mistakes)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err = {0};
    wb_buf_add(&text, UPP_STR("store: x\nagents:\n"));
    for (int i = 0; i < 300; i++)
        wb_buf_addf(&text, "  a%d: {model: none}\n", i);
    int r = wc_config_parse("dir/w.yaml", wb_buf_str(&text), &opts, &report, &c, &err);
    ALWAYS(r < 0 && !c);
    CHECK_INT(r, -UPP_EINVALID);
    CHECK(report.n == WC_MAX_MISTAKES && report.errors == 301 && report.left_out == 201);
    CHECK_STR(wb_cstr(err.where), UPP_STR("dir/w.yaml:1:8"));
    CHECK_STR(wb_cstr(err.msg), UPP_STR("store is 'memory:' or 'sqlite:FILE' (and 300 more)"));
}

/* ---- Limits ---- */

static int limit(struct wb_buf *text, struct upp_err *err)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    return wc_config_parse("w.yaml", wb_buf_str(text), &opts, NULL, &c, err);
}

TEST_WITH(config_bombs_do_not_go_off, .no_torture = "libfyaml does not allocate through the table")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(2u << 20);
    struct upp_err err = {0};
    wb_buf_add(&text, UPP_STR("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"));
    for (int i = 1; i < 12; i++)
        wb_buf_addf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
                    i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    CHECK_INT(limit(&text, &err), -UPP_EINVALID);
    CHECK(strstr(err.msg, "too large once its aliases are followed") && strncmp(err.where, "w.yaml:", 7) == 0);

    wb_buf_clear(&text); /* depth, in the file and by aliases */
    for (int i = 0; i < 5000; i++)
        wb_buf_add(&text, UPP_STR("["));
    CHECK_INT(limit(&text, &err), -UPP_EINVALID);
    wb_buf_clear(&text);
    wb_buf_add(&text, UPP_STR("a0: &a0 [x]\n"));
    for (int i = 1; i < 100; i++)
        wb_buf_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    CHECK_INT(limit(&text, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("nested deeper than 32 levels"));

    wb_buf_clear(&text);
    for (int i = 0; i < 300; i++)
        wb_buf_addf(&text, "a%d: &a%d x\n", i, i);
    CHECK_INT(limit(&text, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("more than 256 anchors"));
}

TEST_WITH(config_is_not_too_large, .no_torture = "libfyaml does not allocate through the table")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(2u << 20);
    struct upp_err err = {0};
    for (int i = 0; i < 1 << 17; i++)
        wb_buf_add(&text, UPP_STR("# comment\n"));
    CHECK_INT(limit(&text, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the file is larger than 1024 KiB"));

    wb_buf_clear(&text);
    wb_buf_add(&text, UPP_STR("models: {e: {provider: scripted, echo: true}}\nagents: {a: {model: e}}\ntools:\n"));
    for (int i = 0; i < WC_MAX_NAMED; i++)
        wb_buf_addf(&text, "  t%d:\n", i);
    CHECK_INT(limit(&text, &err), 0);
    wb_buf_add(&text, UPP_STR("  more:\n"));
    CHECK_INT(limit(&text, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("1025 tools are more than 1024"));
}

TEST_WITH(config_chains_of_agents_end, .no_torture = "libfyaml does not allocate through the table")
{
    for (int n = 8; n <= 9; n++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
        struct upp_err err = {0};
        wb_buf_add(&text, UPP_STR("models: {e: {provider: scripted, echo: true}}\nagents:\n"));
        for (int i = n; i > 0; i--)
            wb_buf_addf(&text, "  a%d: {model: e, tools: [%s%d]}\n", i, "a", i - 1);
        wb_buf_add(&text, UPP_STR("  a0: {model: e}\n"));
        CHECK_INT(limit(&text, &err), n < 9 ? 0 : -UPP_EINVALID);
        CHECK(n < 9 || strstr(err.msg, "in a chain of more than 8"));
    }
}

TEST_WITH(config_must_be_utf8, .no_torture = "config_finds_all_mistakes is tortured")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(1u << 20);
    CHECK_INT(mistakes(UPP_STR("a: b\nc: \xff\n"), &got), -UPP_EINVALID);
    CHECK_STR(wb_buf_str(&got), UPP_STR("2:4: the file is not UTF-8 here\n"));
}

/* A script that is not there is named, unless its path came from a variable. */
TEST_WITH(config_scripts_are_read, .no_torture = "config_of_the_demo_is_right is tortured")
{
    static const struct {
        const char *script, *want;
    } cases[] = {
        {"nope.json", "/etc/nope.json: "},
        {"'${KEY}.json'", "the script of this model cannot be used: "},
        {"passwd", "the script of this model cannot be used: "},
    };
    struct wc_opts with_files = opts;
    with_files.no_files = false;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4096);
        struct upp_err err = {0};
        wb_buf_addf(&text, "models: {e: {provider: scripted, script: %s}}\nagents: {a: {model: e}}\n", cases[i].script);
        CHECK_INT(wc_config_parse("/etc/w.yaml", wb_buf_str(&text), &with_files, NULL, &c, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.where), UPP_STR("/etc/w.yaml:1:10"));
        test_note("%s", err.msg);
        CHECK(strstr(err.msg, cases[i].want) && !strstr(err.msg, "s3cret"));
    }
}
