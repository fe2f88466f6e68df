// What is said to the server of weft.yaml, what the user does meanwhile, and the message that the client should hold.
//
//   say     chooses the replies of script.json
//   agent   main, unless it says
//   lost    not all of what is sent to who reads along is sent to who comes later
//   during  called with the session before the run
//   majors  the ones it is for; all, unless it says
//   answer  what the user does when the run waits
//   want    (major, way, session): see expect.mjs; metadata and finish (the finishReason; 'stop') of the end
import { F, R, S, T, asked, done, failed, invalid, tool, unusable } from './expect.mjs';

const used = (inputTokens, outputTokens, cacheReadTokens = 0) =>
  ({ usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, cacheReadTokens, cacheWriteTokens: 0 } });
const free = used(0, 0);
// An error ends what the chat class reads; only readUIMessageStream reads on to the end.
const broken = (way, error, parts) => ({ parts, error, metadata: way === 'again' ? free : undefined, finish: undefined });

export const story =
  'Once upon a time there was a weaver who wove the same cloth again and again, and whoever came late saw it from its first thread.';

async function said(session) {
  const m = (await session.server.ask('GET', `/v1/threads/${session.thread}/messages?limit=1`)).data[0];
  return m.content[0].text.value;
}

const approval = (name, approved, want) => ({
  name,
  say: 'remove',
  majors: [6, 7],
  answer: { id: 'c1', approved },
  want: (major, way) => ({ parts: want(asked(major, way === 'chat', approved)), metadata: free, invalid: invalid(major, way === 'chat') }),
});
const path = { path: '/tmp/x' };

export const scenarios = [
  { name: 'text', say: 'hello', want: () => ({ parts: [S, T('Hello, "world"\n— ¡olé! 💡')], metadata: used(10, 5, 2) }) },
  { name: 'reasoning', say: 'think', want: () => ({ parts: [S, R('Two and two.'), T('Four.')], metadata: free, finish: 'length' }) },
  {
    name: 'two tools at once',
    say: 'parallel',
    want: () => ({
      parts: [S, T('Both.'), done('weather', 'c1', { city: 'Tokyo' }, 18), done('clock', 'c2', { zone: 'JST' }, { time: '12:00' }),
        S, T('18 degrees at noon.')],
      metadata: used(10, 5),
    }),
  },
  {
    name: 'a tool that fails',
    say: 'fortune',
    want: () => ({ parts: [S, failed('oracle', 'c1', {}, 'the program ended with exit code 3:\nno such city'), S, T('Sorry.')], metadata: free }),
  },
  {
    name: 'a tool of the client',
    say: 'where',
    answer: { tool: 'locate', id: 'c1', output: { lat: 1.5 } },
    want: () => ({ parts: [S, T('Where are you?'), done('locate', 'c1', {}, { lat: 1.5 }), S, T('There.')], metadata: free }),
  },
  {
    name: 'a tool of the client that fails',
    say: 'where',
    answer: { tool: 'locate', id: 'c1', errorText: 'no signal' },
    want: () => ({ parts: [S, T('Where are you?'), failed('locate', 'c1', {}, 'no signal'), S, T('Lost.')], metadata: free }),
  },
  {
    name: 'a tool of the server and one of the client',
    say: 'everything',
    answer: { tool: 'locate', id: 'c2', output: 'here' },
    want: () => ({ parts: [S, done('clock', 'c1', {}, { time: '12:00' }), done('locate', 'c2', {}, 'here'), S, T('Now and here.')], metadata: free }),
  },
  {
    name: 'a tool of the client in a child run',
    say: 'delegate',
    answer: { tool: 'locate', id: 'd1', output: 'here' },
    want: () => ({
      parts: [S, done('helper', 'c1', { task: 'fetch' }, 'There.'), done('locate', 'd1', { far: true }, 'here'), S, T('Helped.')],
      metadata: free,
    }),
  },
  approval('approved', true, (how) => [S, done('remove', 'c1', path, 'gone', how), S, T('Gone.')]),
  approval('denied', false, (how) => [S, tool('remove', 'c1', 'output-denied', { input: path, ...how }), S, T('As you wish.')]),
  // 5 knows no approvals: the stream goes on meanwhile, and its metadata say what is waited for.
  ...[true, false].map((approved) => ({
    name: approved ? 'approved' : 'denied',
    say: 'remove',
    majors: [5],
    during: (session) => session.when('"weft_pending":[{"toolCallId":"c1","toolName":"remove"}]',
      async () => {
        while (await session.status() !== 'approval');
        await session.answer([{ call_id: 'c1', approved }]);
      }),
    want: () => ({
      parts: [S, approved ? done('remove', 'c1', path, 'gone') : failed('remove', 'c1', path, 'Tool execution denied by approval handler'),
        S, T(approved ? 'Gone.' : 'As you wish.')],
      metadata: { weft_pending: [], ...free },
    }),
  })),
  {
    name: 'cancelled in the middle of the text',
    say: 'story',
    during: (session) => session.when('weaver', () => session.cancel()),
    want: async (major, way, session) => {
      const text = await said(session);
      if (!story.startsWith(text) || text.length < 30 || text.length === story.length) throw new Error(`it said ${text}`);
      return { parts: [S, T(text)], metadata: undefined, finish: undefined };
    },
  },
  {
    name: 'cancelled in the middle of a tool',
    say: 'nap',
    during: (session) => session.when('tool-input-available', () => session.cancel()),
    want: () => ({ parts: [S, T('Good night.'), failed('nap', 'c1', {}, 'outcome unknown: the run was cancelled while this ran')], metadata: undefined, finish: undefined }),
  },
  { name: 'a model that fails', say: 'overload', agent: 'once', want: (major, way) => broken(way, 'the provider is overloaded', []) },
  { name: 'a model that breaks off', say: 'half', agent: 'once', want: (major, way) => broken(way, 'the line is dead', [S, T('Well, ')]) },
  // 5 and 6 cannot take back what they have shown. Who comes later is shown the same: every reader gets one stream.
  {
    name: 'a void attempt',
    say: 'retry',
    lost: true,
    want: (major, way) => ({ parts: [S, ...(major < 7 ? [T('Wrong ')] : []), T('Right.')], metadata: free }),
  },
  {
    name: 'a void attempt in the middle of a call',
    say: 'recall',
    lost: true,
    want: (major, way, session) => {
      const id = /"toolCallId":"(call_[0-9a-f]{32})"/.exec(session.sent)?.[1]; // c1 is used, so the engine makes another
      const shown = [R('Hm.'), unusable(major, 'search', 'c1', '', {}, 'taken back')];
      return { parts: [S, ...(major < 7 ? shown : []), done('search', id, { q: 'b' }, []), S, T('None.')], metadata: free };
    },
  },
  {
    name: 'arguments that are no JSON',
    say: 'garbled',
    want: (major) => ({
      parts: [S, unusable(major, 'search', 'c1', '{"q":oops', {}, 'the arguments are not a JSON object'), S, T('Again.')],
      metadata: free,
    }),
  },
  {
    name: 'media',
    say: 'picture',
    want: () => ({
      parts: [S, T('See:'), F('image/png', 'data:image/png;base64,iVBORw0KGgo='), T('and'), F('text/plain', 'data:text/plain;base64,bm90ZXM=')],
      metadata: free,
    }),
  },
];
