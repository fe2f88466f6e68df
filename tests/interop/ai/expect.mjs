// What the client should hold in the end, by script: the parts of the one assistant message, for each major.
//
// T text, R reasoning, D data, F file, S the beginning of a step; tool(...) a call. `error`: what the stream reports.
// `answer`: what the user does between the two requests of a run that waits. `more`: metadata beside the usage.

export const S = 'step';
export const T = (text) => ({ text, state: 'done' });
export const R = (reasoning) => ({ reasoning, state: 'done' });
export const D = (name, id, data) => ({ type: `data-${name}`, id, data }); // a system event
export const F = (mediaType, url) => ({ file: mediaType, url });
export const tool = (name, id, state, more) => ({ tool: name, id, state, ...more });
export const done = (name, id, input, output, more) => tool(name, id, 'output-available', { input, output, ...more });
export const failed = (name, id, input, errorText, more) => tool(name, id, 'output-error', { input, errorText, ...more });

// An input that could not be used: 5 shows what it could read of it, 6 keeps the text apart, 7 has it as input.
export const unusable = (major, name, id, text, read, errorText) =>
  major === 5 ? failed(name, id, read, errorText)
  : major === 6 ? failed(name, id, undefined, errorText, { rawInput: text })
  : failed(name, id, text, errorText);

// 6 cannot be told what the user said: where the whole stream is read again, its approval stays without an answer, and
// the client's own validateUIMessages does not take that.
export const asked = (major, answered, approved) =>
  major === 5 ? {} : { approval: major === 6 && !answered ? { id: 'c1' } : { id: 'c1', approved } };
export const invalid = (major, answered) => major === 6 && !answered;

export const expect = {
  text: () => ({ parts: [S, T('Hello, "world"\n')], usage: true }),
  reasoning: () => ({ parts: [S, R('Let me think.'), T('Four.')], usage: true }),
  parallel: () => ({
    parts: [S, T('Both.'), done('weather', 'c1', { city: 'Tokyo' }, 18), done('clock', 'c2', { zone: 'JST' }, { time: '12:00' }),
      S, T('18 degrees at noon.')],
    usage: true,
  }),
  failing: () => ({ parts: [S, failed('weather', 'c1', {}, 'no such city'), S, T('Sorry.')], usage: true }),
  denied: (major, answered) => ({
    parts: [S,
      major === 5 ? failed('remove', 'c1', { path: '/' }, 'denied by the user')
      : tool('remove', 'c1', 'output-denied', { input: { path: '/' }, ...asked(major, answered, false) }),
      S, T('As you wish.')],
    usage: true,
    answer: major === 5 ? undefined : { approve: 'c1', approved: false },
    invalid: invalid(major, answered),
    more: major === 5 ? { weft_pending: [] } : {},
  }),
  approved: (major, answered) => ({
    parts: [S, done('remove', 'c1', { path: '/tmp/x' }, null, asked(major, answered, true)), S, T('Gone.')],
    usage: true,
    answer: major === 5 ? undefined : { approve: 'c1', approved: true },
    invalid: invalid(major, answered),
    more: major === 5 ? { weft_pending: [] } : {},
  }),
  client: () => ({
    parts: [S, T('Where are you?'), done('locate', 'c1', {}, { lat: 1.5 }), S, T('There.')],
    usage: true,
    answer: { tool: 'locate', id: 'c1', output: { lat: 1.5 } },
  }),
  cancel_text: () => ({ parts: [S, T('Once upon')] }),
  cancel_input: (major) => ({
    parts: [S, T('Looking.'), unusable(major, 'search', 'c1', '{"q":"a', { q: 'a' }, 'cut off')],
  }),
  cancel_tool: () => ({ parts: [S, failed('search', 'c1', {}, 'cancelled')] }),
  provider_error: () => ({ parts: [S, T('Well')], error: 'the provider is overloaded' }),
  void: (major) => ({ parts: major === 7 ? [S, T('Right')] : [S, T('Wrong'), T('Right')], usage: true }),
  void_input: (major) => ({
    parts: [S, ...(major === 7 ? [] : [R('Hm.')]), done('search', 'c1', { q: 'b' }, []), S, T('None.')],
    usage: true,
  }),
  media: () => ({
    parts: [S, T('See:'), F('image/png', 'data:image/png;base64,iVBORw0KGgo='), T('and'),
      F('text/plain', 'data:text/plain;base64,bm90ZXM='), F('image/jpeg', 'https://example.org/a.jpg')],
    usage: true,
  }),
  three_steps: () => ({
    parts: [S, done('a', 'c1', {}, 1), S, done('b', 'c2', { x: 1 }, 'two'), S, T('Done.')],
    usage: true,
  }),
  bad_arguments: (major) => ({
    parts: [S, unusable(major, 'search', 'c1', '{"q":oops', {}, 'the arguments are not JSON'), S, T('Again.')],
    usage: true,
  }),
  phases: () => ({ parts: [S, T('I should search.'), S, done('search', 'c1', {}, true)], usage: true }),
  no_tape: () => ({
    parts: [S, R('Hm.'), T('Hello'), done('search', 'c1', { q: 1 }, '{"__proto__":{"x":1}}')],
    usage: true,
  }),
  child: () => ({
    parts: [S, done('ask_helper', 'c1', {}, 'helped'), done('locate', 'd1', {}, 'here')],
    usage: true,
    answer: { tool: 'locate', id: 'd1', output: 'here' },
  }),
  child_answer: () => ({
    parts: [S, done('ask_helper', 'c1', {}, 'helped'), done('locate', 'd1', {}, 'here')],
    usage: true,
    answer: { tool: 'locate', id: 'd1', output: 'here' },
  }),
  react: (major) => ({
    parts: [S, R('I should look.'), R('Hm.'), S, done('search', 'c1', {}, 7),
      S, ...(major === 7 ? [] : [R('Wrong')]), R('That is it.'), S, T('Seven.')],
    usage: true,
  }),
  plan: () => ({ parts: [S, S, T('One.'), S, R('Enough.'), S, T('Two.')], usage: true }),
  rounds: () => ({
    parts: [S, D('x', '00000000-0000-45ee-b400-000008800004', {}),
      S, done('look', 'a1', {}, { n: 1 }), D('y', '00000000-0000-45ee-b400-000010800004', {}),
      S, failed('look', 'a2', {}, 'no'), S, T('Seen.')],
    usage: true,
    more: { weft_events: {
      '00000000-0000-45ee-b400-000008800004': { timestamp: 1770091507010 },
      '00000000-0000-45ee-b400-000010800004': { timestamp: 1770091507018 } } },
  }),
  handoff: () => ({
    parts: [S, T('Travel Planner?'),
      D('agent.handoff', '00000000-0000-45ee-b400-000008800004', { from: 'main', to: 'travel', reason: 'explicit_mention' }),
      S, R('Mild.'), T('Go out.')],
    usage: true,
    more: { weft_events: { '00000000-0000-45ee-b400-000008800004':
      { sourceAgent: 'main', targetAgents: ['travel'], timestamp: 1770091507009 } } },
  }),
  event: (major) => ({
    parts: [D('prompt.enriched', '00000000-0000-45ee-b400-000004800002', { original: 'a' }),
      S, ...(major === 7 ? [] : [T('Wrong')]), D('agent.note', '00000000-0000-45ee-b400-000008820004', '{"__proto__":1}'),
      S, ...(major === 7 ? [] : [T('Wrong again')]), T('Right'), D('x', '00000000-0000-45ee-b400-000010800004', [null])],
    usage: true,
    more: { weft_events: {
      '00000000-0000-45ee-b400-000004800002': { timestamp: 1770091507001 },
      '00000000-0000-45ee-b400-000008820004': { sourceAgent: 'main', timestamp: 1770091507004 },
      '00000000-0000-45ee-b400-000010800004': { timestamp: 1770091507013 } } },
  }),
};
