// known.mjs: where a body differs from the type of the vendor's client, and why it is right.
export const known = [
  { type: /^ollama$/, title: /./, says: /'"index"' does not exist/, why: 'Ollama: the server writes and reads function.index' },
  { type: /^ollama$/, title: /./, says: /'"tool_call_id"' does not exist/, why: 'Ollama: newer servers know results by tool_call_id' },
  { type: /^chat$/, title: /^(deepseek|moonshot)\//, says: /'"reasoning_content"' does not exist/,
    why: 'DeepSeek, Moonshot: reasoning goes back with the calls' },
  { type: /^chat$/, title: /^openrouter\//, says: /'"reasoning_details"' does not exist/, why: 'OpenRouter: reasoning_details go back as they came' },
  { type: /^chat$/, title: /^openrouter\//, says: /'"cache_control"' does not exist/, why: 'OpenRouter: marks of the prompt cache' },
  { type: /^chat$/, title: /^vllm\//, says: /'"chat_template_kwargs"' does not exist/, why: "vLLM: a parameter of its own, given in the request's params" },
  { type: /^anthropic-2023$/, title: /^anthropic\/server-tools 2$/, says: /web_search_result_location/,
    why: "Anthropic: a citation goes back as the answer had it, and that talk file's has few members" },
];
