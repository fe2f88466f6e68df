/* examples/team.c — an agent that calls two sub-agents at the same time.
 *
 *     team
 *
 * Each sub-agent takes 200 ms. The last line of output shows that both together take little more.
 */
#include <stdio.h>
#include <time.h>
#include <weft/weft.h>

static const char slowly[] = "{\"replies\":[{\"parts\":[{\"text\":\"nothing to see here\"}],\"delay_ms\":200}]}";
static const char asks[] =
    "{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"north\",\"arguments\":{\"task\":\"look\"}}},"
    "{\"tool_call\":{\"name\":\"south\",\"arguments\":{\"task\":\"look\"}}}]},"
    "{\"parts\":[{\"text\":\"Nothing, north and south.\"}]}]}";

static long long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int agent(struct weft_runtime *rt, const char *name, const char *script, struct weft_tools tools,
                 struct weft_agent **ret, struct upp_err *err)
{
    return weft_agent_new(rt,
                          UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = script}, .name = name,
                                   .description = name, .tools = tools),
                          ret, err);
}

int main(void)
{
    struct upp_err       err = {0};
    struct weft_runtime *rt  = NULL;
    struct weft_agent   *north, *south, *lead;
    struct upp_turn     *turn  = NULL;
    long long            began = 0;

    int r = weft_runtime_open(NULL, &rt, &err);
    if (r >= 0)
        r = agent(rt, "north", slowly, (struct weft_tools){0}, &north, &err);
    if (r >= 0)
        r = agent(rt, "south", slowly, (struct weft_tools){0}, &south, &err);
    if (r >= 0) {
        const struct weft_tools both = WEFT_TOOLS(WEFT_TOOL_AGENT(north), WEFT_TOOL_AGENT(south));
        r                            = agent(rt, "lead", asks, both, &lead, &err);
        began                        = now_ms();
        if (r >= 0)
            r = weft_agent_run(lead, UPP_STR("Have a look around."), &turn, &err);
    }
    for (size_t i = 0; turn && i < turn->n_executions; i++)
        printf("%.*s: %llu ms\n", UPP_FMT(turn->executions[i].name),
               (unsigned long long)turn->executions[i].duration_ms);
    (void)(r < 0 ? fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg) : puts(upp_turn_text(turn)));
    if (r >= 0)
        printf("both: %lld ms\n", now_ms() - began);
    upp_turn_free(turn);
    weft_runtime_close(rt);
    return r < 0;
}
