/* runtime/config_adapters.h — the files in share/adapters, embedded by scripts/embed. */
#pragma once

#include <upp/base.h>

extern const struct upp_str wc_adapter_claude_yaml, wc_adapter_gpt5_yaml, wc_adapter_gemini_yaml,
    wc_adapter_deepseek_yaml, wc_adapter_generic_yaml;
