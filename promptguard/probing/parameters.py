"""Parameters of requests that say what to do with a prompt, or with the answer, and are no part of the prompt.

The names are those of the references of the APIs, in snake case: OpenAI chat completions, completions and responses; Anthropic
messages; Gemini generateContent and the configuration of its Python SDK; the request fields of llama-server; and what the SDKs of
the first two take beside them.
"""

from __future__ import annotations

import re

_OPENAI = """
    audio background best_of context_management conversation echo frequency_penalty function_call include logit_bias logprobs
    max_completion_tokens max_output_tokens max_tokens max_tool_calls metadata modalities model n parallel_tool_calls prediction
    presence_penalty previous_response_id prompt_cache_options prompt_cache_retention reasoning reasoning_effort
    safety_identifier seed service_tier stop store stream stream_options suffix temperature tool_choice top_logprobs top_p
    truncation user verbosity web_search_options
"""
_ANTHROPIC = """
    anthropic_beta anthropic_version betas cache_control container inference_geo max_tokens_to_sample mcp_servers output_format
    speed stop_sequences thinking top_k
"""
_GEMINI = """
    audio_timestamp automatic_function_calling cached_content candidate_count generation_config http_options image_config labels
    media_resolution model_armor_config model_selection_config response_json_schema response_logprobs response_mime_type
    response_modalities response_schema routing_config safety_settings should_return_http_response speech_config
    thinking_config tool_config
"""
_LLAMA_SERVER = """
    add_generation_prompt cache_prompt dry_allowed_length dry_base dry_multiplier dry_penalty_last_n dry_sequence_breakers
    dynatemp_exponent dynatemp_range grammar grammar_lazy grammar_triggers id_slot ignore_eos json_schema lora min_keep min_p
    mirostat mirostat_eta mirostat_tau n_cache_reuse n_discard n_indent n_keep n_predict n_probs parse_tool_calls
    post_sampling_probs preserved_tokens reasoning_format repeat_last_n repeat_penalty response_fields return_progress
    return_tokens samplers t_max_predict_ms thinking_forced_open timings_per_token top_n_sigma typical_p xtc_probability
    xtc_threshold
"""
_CLIENTS = "extra_headers extra_query timeout"
_NAMES = frozenset(" ".join((_OPENAI, _ANTHROPIC, _GEMINI, _LLAMA_SERVER, _CLIENTS)).split())
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


def is_parameter(key: str) -> bool:
    """Whether a key of a request is a known parameter, in snake case or in camel case."""
    return _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", key) in _NAMES
