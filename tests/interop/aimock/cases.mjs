// cases.mjs: the APIs, and what is asked of each. A case has a name that stands in the user's text, by which aimock finds
// its answer.

export const apis = [
  { name: 'anthropic', provider: 'anthropic', model: 'claude-sonnet-4-20250514', base: '', path: '/v1/messages', words: [],
    auth: ['x-api-key', 'KEY'], type: 'anthropic-2023' },
  { name: 'anthropic 2026-10-21', provider: 'anthropic', model: 'claude-opus-5', base: '/v1', path: '/v1/messages',
    words: ['version=2026-10-21'], auth: ['authorization', 'Bearer KEY'], type: 'anthropic' },
  { name: 'openai responses', provider: 'openai', model: 'gpt-5', base: '/v1', path: '/v1/responses', words: [],
    auth: ['authorization', 'Bearer KEY'], type: 'responses' },
  { name: 'openai chat', provider: 'openai', model: 'gpt-5', base: '/v1', path: '/v1/chat/completions', words: ['api=chat'],
    auth: ['authorization', 'Bearer KEY'], type: 'chat' },
  { name: 'google', provider: 'google', model: 'gemini-2.5-pro', base: '/v1beta',
    path: /^\/v1beta\/models\/gemini-2\.5-pro:(generateContent|streamGenerateContent\?alt=sse)$/, words: [],
    auth: ['x-goog-api-key', 'KEY'], type: 'google' },
  { name: 'ollama', provider: 'ollama', model: 'llama3.2', base: '', path: '/api/chat', words: [],
    auth: ['authorization', 'Bearer KEY'], type: 'ollama' },
  { name: 'openrouter', provider: 'openrouter', model: 'openai/gpt-5', base: '/api/v1', path: '/api/v1/chat/completions', words: [],
    auth: ['authorization', 'Bearer KEY'], type: 'chat' },
];

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const two = [
  { name: 'get_weather', arguments: '{"city":"Zürich"}' },
  { name: 'get_time', arguments: '{"zone":"CET"}' },
];
const is = (name) => (api) => api.name.startsWith(name);

// answers: [match besides the user's text, response, options]. A case without `want.error` ends in a turn.
//   error: [code, status, at least this in the message]    ways: 'stream', 'whole' (both where not said)
//   requests: how many went out (1)
//   not: [which APIs, why]: a fault of aimock that leaves nothing to compare with
export const cases = [
  { name: 'text', answers: [[{}, { content: 'Grüße, 世界! 🙂 "quoted"\nand more' }]], words: ['system=Be brief.'],
    want: { text: 'Grüße, 世界! 🙂 "quoted"\nand more', system: 'Be brief.' } },

  { name: 'one character a chunk', answers: [[{}, { content: 'aé世🙂z' }, { chunkSize: 1 }]], ways: ['stream'], want: { text: 'aé世🙂z' } },

  { name: 'two tools', words: ['tools'], requests: 2,
    answers: [[{ hasToolResult: true }, { content: 'It is mild.' }], [{ hasToolResult: false }, { toolCalls: two }]],
    want: { text: 'It is mild.', calls: two, results: ['18 degrees in Zürich', { hour: 12, zone: 'CET' }] } },

  { name: 'text and a tool', words: ['tools'], requests: 2,
    answers: [[{ hasToolResult: true }, { content: 'Done.' }], [{ hasToolResult: false }, { content: 'I look.', toolCalls: two.slice(0, 1) }]],
    want: { text: 'Done.', calls: two.slice(0, 1), results: ['18 degrees in Zürich'] } },

  { name: 'reasoning', answers: [[{}, { content: 'Four.', reasoning: 'Two and two.', reasoningSignature: 'c2ln' }]],
    want: { text: 'Four.', reasoning: 'Two and two.' } },

  { name: 'reasoning and a tool', words: ['tools'], requests: 2,
    answers: [[{ hasToolResult: true }, { content: 'Done.' }],
      [{ hasToolResult: false }, { reasoning: 'I must look.', reasoningSignature: 'c2ln', toolCalls: two.slice(0, 1) }]],
    want: { text: 'Done.', calls: two.slice(0, 1), results: ['18 degrees in Zürich'] } },

  { name: 'structure', words: [`structure=${JSON.stringify(schema)}`], answers: [[{}, { content: '{"city":"Oslo"}' }]],
    want: { data: { city: 'Oslo' } } },

  { name: 'image', words: ['image'], answers: [[{}, { content: 'A dot.' }]], want: { text: 'A dot.' } },

  { name: 'rate', answers: [[{}, { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 }]],
    want: { error: ['RATE_LIMITED', 429, 'slow down'], retry: 7000 } },

  { name: 'rate, then well', words: ['retry'], requests: 2,
    answers: [[{ sequenceIndex: 0 }, { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429 }], [{}, { content: 'Now.' }]],
    want: { text: 'Now.' } },

  { name: 'bad request', words: ['retry'], // which is not tried again
    answers: [[{}, { error: { message: 'max_tokens: too many', type: 'invalid_request_error' }, status: 400 }]],
    want: { error: ['INVALID_REQUEST', 400, 'max_tokens: too many'] } },

  { name: 'too long', answers: [[{}, { error: { message: 'prompt is too long: 9 tokens > 8 maximum', type: 'invalid_request_error' }, status: 400 }]],
    want: { error: ['CONTEXT_LENGTH_EXCEEDED', 400, 'prompt is too long'] } },

  { name: 'no model', answers: [[{}, { error: { message: 'no such model', type: 'not_found_error', code: 'model_not_found' }, status: 404 }]],
    want: { error: ['MODEL_NOT_FOUND', 404, 'no such model'] } },

  { name: 'overloaded', answers: [[{}, { error: { message: 'Overloaded', type: 'overloaded_error' }, status: 529 }]],
    want: { error: ['PROVIDER_ERROR', 529, 'Overloaded'] } },

  { name: 'unavailable', words: ['retry'], requests: 4, answers: [[{}, { error: { message: 'not now', type: 'server_error' }, status: 503 }]],
    want: { error: ['PROVIDER_ERROR', 503, 'not now'] } },

  { name: 'wrong key', key: 'sk-wrong-0123456789', answers: [], want: { error: ['AUTHENTICATION_FAILED', 401, 'Invalid API key'] } },

  // The first events have come when the connection goes: that is never tried again.
  { name: 'cut', ways: ['stream'], words: ['retry'],
    answers: [[{}, { content: 'a long text that will not come to its end, whatever it may say' }, { chunkSize: 4, latency: 20, truncateAfterChunks: 12 }]],
    want: { error: ['NETWORK_ERROR'] } },

  { name: 'broken JSON', words: ['header=x-aimock-chaos-malformed:1'], answers: [[{}, { content: 'x' }]],
    want: { error: ['INVALID_RESPONSE'] } },
  { name: 'dropped', words: ['header=x-aimock-chaos-drop:1'], answers: [[{}, { content: 'x' }]], want: { error: ['PROVIDER_ERROR', 500] } },
  { name: 'disconnected', words: ['header=x-aimock-chaos-disconnect:1', 'retry'], requests: 4, answers: [[{}, { content: 'x' }]],
    want: { error: ['NETWORK_ERROR'] } },
];

// What aimock does otherwise than the vendors, and what is expected in its place.
export const faults = [
  { api: is('ollama'), case: 'reasoning', want: { reasoning: undefined }, why: 'it says reasoning_content; Ollama says thinking' },
];
