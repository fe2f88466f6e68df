/* Every C name of the tables of docs/uap.md, in C and in C++ (UAP 14.3). What is a macro of C alone has a function
 * beside it, which C++ uses. */
#include <upp/upp.h>
#include <weft/weft.h>

typedef void (*any)(void);
#define NAME(f) (any)(f)

/* Entry points. */
static const any functions[] = {
    NAME(upp_llm_new),
    NAME(upp_part_next),
    NAME(upp_stream_open),
    NAME(upp_thread_from_json),
    NAME(upp_thread_id),
    NAME(upp_thread_new),
    NAME(upp_thread_to_json),
    NAME(weft_agent_derive),
    NAME(weft_agent_id),
    NAME(weft_agent_model),
    NAME(weft_agent_new),
    NAME(weft_agent_run),
    NAME(weft_agent_run_with),
    NAME(weft_agent_stream),
    NAME(weft_agent_system),
    NAME(weft_agent_to_tool),
    NAME(weft_agent_tools),
    NAME(weft_ask),
    NAME(weft_context_get),
    NAME(weft_context_set),
    NAME(weft_event_name),
    NAME(weft_node_child),
    NAME(weft_node_id),
    NAME(weft_node_metadata),
    NAME(weft_node_name),
    NAME(weft_node_parent),
    NAME(weft_node_set_metadata),
    NAME(weft_node_thread),
    NAME(weft_query),
    NAME(weft_query_continue),
    NAME(weft_run_agent_id),
    NAME(upp_wait_stopped),
    NAME(weft_run_ask),
    NAME(weft_run_history),
    NAME(weft_run_offered),
    NAME(weft_run_id),
    NAME(weft_run_messages),
    NAME(weft_run_reasoning),
    NAME(weft_run_set_metadata),
    NAME(weft_run_set_plan),
    NAME(weft_run_tools),
    NAME(weft_session_agent),
    NAME(weft_session_checkpoint),
    NAME(weft_session_checkpoints),
    NAME(weft_session_close),
    NAME(weft_session_erase),
    NAME(weft_session_fork),
    NAME(weft_session_from_json),
    NAME(weft_session_id),
    NAME(weft_session_metadata),
    NAME(weft_session_new),
    NAME(weft_session_open),
    NAME(weft_session_query),
    NAME(weft_session_query_open),
    NAME(weft_session_restore),
    NAME(weft_session_resume),
    NAME(weft_session_run),
    NAME(weft_session_run_with),
    NAME(weft_session_save),
    NAME(weft_session_stream),
    NAME(weft_session_to_json),
    NAME(weft_session_tree),
    NAME(weft_stream_abort),
    NAME(weft_stream_close),
    NAME(weft_stream_next),
    NAME(weft_stream_turn),
    NAME(weft_tree_branch),
    NAME(weft_tree_checkout),
    NAME(weft_tree_current),
    NAME(weft_tree_from_json),
    NAME(weft_tree_history),
    NAME(weft_tree_merge),
    NAME(weft_tree_new),
    NAME(weft_tree_next),
    NAME(weft_tree_node),
    NAME(weft_tree_root),
    NAME(weft_tree_to_json),
};

/* Types that programs see the inside of. */
static const size_t types[] = {
    sizeof(struct upp_call),
    sizeof(enum upp_code),
    sizeof(struct upp_err),
    sizeof(struct upp_event),
    sizeof(enum upp_event_type),
    sizeof(struct upp_execution),
    sizeof(struct upp_input),
    sizeof(struct upp_llm_opts),
    sizeof(struct upp_message),
    sizeof(struct upp_model_ref),
    sizeof(struct upp_part),
    sizeof(struct upp_provider_opts),
    sizeof(struct upp_tool),
    sizeof(struct upp_tool_strategy),
    sizeof(struct upp_turn),
    sizeof(struct upp_usage),
    sizeof(struct weft_agent_opts),
    sizeof(struct weft_budget),
    sizeof(struct weft_checkpoint),
    sizeof(struct weft_context),
    sizeof(struct weft_event),
    sizeof(enum weft_event_type),
    sizeof(struct weft_guard_rule),
    sizeof(struct weft_hooks),
    sizeof(struct weft_logging_opts),
    sizeof(struct weft_middleware),
    sizeof(struct weft_persistence),
    sizeof(struct weft_query_result),
    sizeof(struct weft_run),
    sizeof(struct weft_session_opts),
    sizeof(struct weft_state),
    sizeof(struct weft_step_result),
    sizeof(struct weft_strategy),
    sizeof(struct weft_strategy_loop_opts),
    sizeof(struct weft_strategy_plan_opts),
    sizeof(struct weft_strategy_react_opts),
    sizeof(struct weft_stream_opts),
    sizeof(struct weft_to_tool),
};

/* And those that they do not. */
struct opaque {
    struct upp_llm *upp_llm_;
    struct upp_stream *upp_stream_;
    struct upp_thread *upp_thread_;
    struct weft_agent *weft_agent_;
    struct weft_node *weft_node_;
    struct weft_session *weft_session_;
    struct weft_stream *weft_stream_;
    struct weft_tree *weft_tree_;
};

static const int constants[] = {UPP_ECANCELED,   UPP_PART_CALL,      UPP_PART_IMAGE, UPP_PART_RESULT,
                                UPP_PART_TEXT,   UPP_ROLE_ASSISTANT, UPP_ROLE_TOOL,  UPP_ROLE_USER,
                                WEFT_SOURCE_UAP, WEFT_SOURCE_UPP,    WEFT_CHECKPOINT};

/* What is said with options after the name. */
#ifndef __cplusplus
static int in_c(struct weft_agent *a)
{
    struct weft_strategy strategies[] = {weft_loop(.max_iterations = 1), weft_react(.max_steps = 1), weft_plan()};
    struct weft_middleware around[] = {weft_logging(.level = "info"), weft_guardrails(), weft_memory(),
                                       weft_budget(.max_steps = 1)};
    struct weft_tools tools = WEFT_TOOLS(WEFT_TOOL_AGENT(a));
    struct upp_model_ref model = upp_anthropic("claude-sonnet-4-20250514");
    return strategies[0].execute && around[0].kind && tools.n && model.name;
}
#else
static int in_c(struct weft_agent *)
{
    struct weft_strategy strategies[] = {weft_loop_with(NULL), weft_react_with(NULL), weft_plan_with(NULL)};
    struct weft_middleware around[] = {weft_logging_with(NULL), weft_guardrails_with(NULL), weft_memory_with(NULL),
                                       weft_budget_with(NULL)};
    struct upp_model_ref model = {"anthropic", "claude-sonnet-4-20250514", NULL};
    return strategies[0].execute && around[0].kind && model.name;
}
#endif

int main(void)
{
    struct opaque nothing = {};
    (void)nothing;
    return !(functions[0] && types[0] && constants[0]) || in_c(NULL);
}
