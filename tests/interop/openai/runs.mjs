// runs.mjs MAJOR WEFT FOLDER: every way in which the real client starts, streams, polls, answers, cancels and looks at runs.
// covers: AITP-25/2, AITP-25/3
import { report } from '../ai/client.mjs';
import { Server } from '../ai/server.mjs';

const [major, weft, folder] = process.argv.slice(2);
process.env.WEFT_CONFIG = new URL('runs.yaml', import.meta.url).pathname;
const { default: OpenAI } = await import(`openai-${major}`);
let server = await Server.start(weft, folder);
const connect = () => new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
let client = connect();
const title = (what) => `openai ${major}, runs: ${what}`;

// 4 takes (thread, run, body), the later ones (run, { thread_id, ...body }). The requests are the same.
const of = (name) => (run, body = {}, ...rest) => (major === '4'
  ? client.beta.threads.runs[name](run.thread_id, run.id, ...(name === 'retrieve' || name === 'cancel' || name === 'poll' ? [] : [body]), ...rest)
  : client.beta.threads.runs[name](run.id, { thread_id: run.thread_id, ...body }, ...rest));
const steps = (run, query = {}) => (major === '4'
  ? client.beta.threads.runs.steps.list(run.thread_id, run.id, query)
  : client.beta.threads.runs.steps.list(run.id, { thread_id: run.thread_id, ...query }));
const step = (run, id) => (major === '4'
  ? client.beta.threads.runs.steps.retrieve(run.thread_id, run.id, id)
  : client.beta.threads.runs.steps.retrieve(id, { thread_id: run.thread_id, run_id: run.id }));

const asked = (text) => ({ assistant_id: 'main', thread: { messages: [{ role: 'user', content: text }] } });
const threadWith = (text) => client.beta.threads.create({ messages: [{ role: 'user', content: text }] });
const approve = (run, approved = true) => server.ask('POST', `/v1/runs/${run.id}/answers`, { answers: [{ call_id: 'c1', approved }] });
const outputs = (calls) => ({ tool_outputs: calls.map((c) => ({ tool_call_id: c.id, output: `${c.function.name} says so` })) });
const said = async (run) => (await client.beta.threads.messages.list(run.thread_id)).data[0].content[0].text.value;
const refusal = async (promise, status, ...words) => {
  try { await promise; } catch (e) {
    return e.status === status && words.every((w) => e.message.includes(w)) ? '' : `${e.status} ${e.message}`;
  }
  return 'it was accepted';
};

// What applications do, as OpenAI's guide has it: run the functions that the run asks for, until it asks for none. What is left is somebody else's.
const executed = [];
async function work(run) {
  while (run.status === 'requires_action' && run.required_action.submit_tool_outputs?.tool_calls) {
    const calls = run.required_action.submit_tool_outputs.tool_calls;
    executed.push(...calls.map((c) => c.function.name));
    run = await of('submitToolOutputsAndPoll')(run, outputs(calls));
  }
  return run;
}

// The same on a stream. The text of all its messages, and the last run.
async function workStreamed(stream) {
  let text = '', run;
  for (;;) {
    const seen = [];
    stream.on('textDelta', (d) => { text += d.value; });
    stream.on('event', (e) => seen.push(e.event));
    run = await stream.finalRun();
    await stream.finalMessages();
    const calls = run.required_action?.submit_tool_outputs?.tool_calls;
    if (!calls) return { run, text, seen };
    executed.push(...calls.map((c) => c.function.name));
    stream = of('submitToolOutputsStream')(run, outputs(calls));
  }
}

await report(title('create and run, polled'), async () => {
  const run = await client.beta.threads.createAndRunPoll(asked('hello'));
  if (run.status !== 'completed' || await said(run) !== 'All done.') return JSON.stringify(run);
  return (await client.beta.threads.retrieve(run.thread_id)).id === run.thread_id ? '' : 'there is no thread';
});

await report(title('create and run, streamed'), async () => {
  const { run, text, seen } = await workStreamed(client.beta.threads.createAndRunStream(asked('weather')));
  if (seen[0] !== 'thread.created' || seen[1] !== 'thread.run.created') return seen.join();
  return run.status === 'completed' && text === 'Let me see.All done.' ? '' : `${run.status} ${text}`;
});

await report(title('neither thread nor run where it is refused'), async () => {
  const before = (await server.ask('GET', '/v1/threads')).data.length;
  const wrong = await refusal(client.beta.threads.createAndRun({ ...asked('hello'), assistant_id: 'nobody' }), 404, 'nobody');
  return wrong || ((await server.ask('GET', '/v1/threads')).data.length === before ? '' : 'a thread is left');
});

await report(title('two calls in one step, polled'), async () => {
  executed.length = 0;
  const thread = await threadWith('both');
  const run = await work(await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id: 'main' }));
  if (run.status !== 'completed' || executed.join() !== 'locate,clock') return `${run.status} ${executed}`;
  const [, calls] = (await steps(run, { order: 'asc' })).data;
  return calls.step_details.tool_calls.map((c) => c.function.output).join() === 'locate says so,clock says so' ? '' : JSON.stringify(calls);
});

await report(title('two calls in one step, streamed'), async () => {
  executed.length = 0;
  const thread = await threadWith('both');
  const { run, text } = await workStreamed(client.beta.threads.runs.stream(thread.id, { assistant_id: 'main' }));
  return run.status === 'completed' && text === 'Both.All done.' && executed.join() === 'locate,clock' ? '' : `${run.status} ${text} ${executed}`;
});

await report(title('outputs that are wrong, late or for nobody'), async () => {
  let run = await client.beta.threads.createAndRunPoll(asked('both'));
  const submit = (...ids) => of('submitToolOutputs')(run, { tool_outputs: ids.map((id) => ({ tool_call_id: id, output: 'x' })) });
  const wrong = await refusal(submit('c1'), 400, "'c2'", 'requires_action') || await refusal(submit('c1', 'c2', 'c3'), 400, "'c3'", 'requires_action')
    || await refusal(submit('c1', 'c2', 'c1'), 400, "'c1'", 'requires_action');
  if (wrong) return wrong;
  await submit('c1', 'c2');
  run = await of('poll')(run);
  return run.status === 'completed' ? refusal(submit('c1', 'c2'), 400, "'c1'", 'completed') : run.status;
});

await report(title('an approval is nobody\'s function, polled'), async () => {
  executed.length = 0;
  let run = await work(await client.beta.threads.createAndRunPoll(asked('remove')));
  if (executed.length || run.status !== 'requires_action' || run.required_action.type !== 'approval') return `${executed} ${JSON.stringify(run)}`;
  const [call] = run.required_action.approval.calls;
  if (call.id !== 'c1' || call.name !== 'remove' || call.arguments !== '{"path":"x"}') return JSON.stringify(call);
  const wrong = await refusal(of('submitToolOutputs')(run, { tool_outputs: [{ tool_call_id: 'c1', output: 'gone' }] }), 400, "'c1'", 'approval')
    || await refusal(of('submitToolOutputsAndPoll')(run, { tool_outputs: [{ tool_call_id: 'c1', output: 'gone' }] }), 400, "'c1'", 'approval');
  if (wrong) return wrong;
  await approve(run);
  run = await of('poll')(run);
  return run.status === 'completed' && await said(run) === 'All done.' && !executed.length ? '' : `${run.status} ${executed}`;
});

await report(title('an approval is nobody\'s function, streamed'), async () => {
  executed.length = 0;
  const { run, seen } = await workStreamed(client.beta.threads.createAndRunStream(asked('remove')));
  if (executed.length || run.required_action?.type !== 'approval' || seen.at(-1) !== 'thread.run.requires_action') return `${executed} ${seen}`;
  await approve(run, false);
  return (await of('poll')(run)).status === 'completed' ? '' : 'it is not over';
});

await report(title('a function and an approval at once'), async () => {
  executed.length = 0;
  let run = await work(await client.beta.threads.createAndRunPoll(asked('mixed')));
  if (executed.join() !== 'locate' || run.required_action?.type !== 'approval') return `${executed} ${JSON.stringify(run.required_action)}`;
  await approve(run);
  run = await of('poll')(run);
  if (run.status !== 'completed') return run.status;
  const streamed = await workStreamed(client.beta.threads.createAndRunStream(asked('mixed')));
  if (executed.join() !== 'locate,locate' || streamed.run.required_action?.type !== 'approval') return `${executed} ${JSON.stringify(streamed.run)}`;
  await approve(streamed.run);
  return (await of('poll')(streamed.run)).status === 'completed' ? '' : 'it is not over';
});

await report(title('steps are those of the stream'), async () => {
  const stream = client.beta.threads.createAndRunStream(asked('weather'));
  const told = [];
  stream.on('runStepDone', (s) => told.push(s));
  const run = await stream.finalRun();
  const listed = [], paged = [];
  for await (const s of steps(run, { order: 'asc', include: ['step_details.tool_calls[*].file_search.results[*].content'] })) listed.push(s);
  for await (const s of steps(run, { limit: 1 })) paged.unshift(s);
  if (listed.length !== 3 || JSON.stringify(paged) !== JSON.stringify(listed)) return JSON.stringify(listed);
  const ids = (list) => list.map((s) => `${s.id} ${s.status} ${s.type}`).join();
  if (ids(told) !== ids(listed)) return `${ids(told)} were streamed, ${ids(listed)} listed`;
  return JSON.stringify(await step(run, listed[1].id)) === JSON.stringify(listed[1]) ? '' : 'one alone is another';
});

await report(title('metadata and lists'), async () => {
  const first = await client.beta.threads.createAndRunPoll({ ...asked('hello'), metadata: { a: '1' } });
  const changed = await of('update')(first, { metadata: { b: '2' } });
  if (JSON.stringify(changed.metadata) !== '{"b":"2"}' || (await of('retrieve')(first)).metadata.b !== '2') return JSON.stringify(changed.metadata);
  const second = await client.beta.threads.runs.createAndPoll(first.thread_id, { assistant_id: 'main', additional_messages: [{ role: 'user', content: 'hi' }] });
  const ids = [];
  for await (const r of client.beta.threads.runs.list(first.thread_id, { limit: 1, order: 'asc' })) ids.push(r.id);
  return ids.join() === [first.id, second.id].join() ? '' : ids.join();
});

await report(title('cancel in each state'), async () => {
  const thread = await threadWith('slow');
  const slow = await client.beta.threads.runs.create(thread.id, { assistant_id: 'main' });
  const queued = await server.ask('POST', `/v1/threads/${thread.id}/runs`, { assistant_id: 'main', on_busy: 'enqueue', additional_messages: [{ role: 'user', content: 'hi' }] });
  if ((await of('cancel')(queued)).status !== 'cancelled') return 'a queued run goes on';
  const cancelled = await of('cancel')(slow);
  if (!['cancelling', 'cancelled'].includes(cancelled.status) || (await of('poll')(slow)).status !== 'cancelled') return cancelled.status;
  const waits = await client.beta.threads.createAndRunPoll(asked('both'));
  await of('cancel')(waits);
  if ((await of('poll')(waits)).status !== 'cancelled') return 'a run that waits goes on';
  const done = await client.beta.threads.createAndRunPoll(asked('hello')), failed = await client.beta.threads.createAndRunPoll(asked('half'));
  return await refusal(of('cancel')(done), 400, "Cannot cancel run with status 'completed'.")
    || await refusal(of('cancel')(failed), 400, "Cannot cancel run with status 'failed'.")
    || refusal(of('cancel')(waits), 400, "Cannot cancel run with status 'cancelled'.");
});

await report(title('what a run that ended early has said'), async () => {
  const stream = client.beta.threads.createAndRunStream(asked('slow'));
  let run, asking;
  stream.on('event', (e) => {
    if (e.event === 'thread.run.created') run = e.data;
    if (e.event === 'thread.message.delta') asking ??= of('cancel')(run);
  });
  const last = await stream.finalRun();
  await asking;
  const failed = await client.beta.threads.createAndRunStream(asked('half')).finalRun();
  const reason = async (r) => (await client.beta.threads.messages.list(r.thread_id)).data[0].incomplete_details?.reason;
  if (last.status !== 'cancelled' || await reason(last) !== 'run_cancelled') return `${last.status} ${await reason(last)}`;
  if (failed.status !== 'failed' || await reason(failed) !== 'run_failed') return `${failed.status} ${await reason(failed)}`;
  return (await steps(last)).data[0].status === 'cancelled' && (await steps(failed)).data[0].status === 'failed' ? '' : 'the steps say something else';
});

// The frames of a run's events, from behind an id on.
async function frames(run, after) {
  const r = await fetch(`${server.url}/v1/runs/${run.id}/events?as=assistants`, { headers: after ? { 'last-event-id': after } : {} });
  return (await r.text()).split('\n\n').filter((f) => f.includes('data: '));
}

await report(title('the server is killed in the middle'), async () => {
  const waits = await client.beta.threads.createAndRunPoll(asked('both'));
  const before = JSON.stringify((await steps(waits)).data);
  const r = await fetch(`${server.url}/v1/threads/runs`, { method: 'POST', body: JSON.stringify({ ...asked('slow'), stream: true }) });
  let text = '';
  try {
    for await (const piece of r.body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if ((text.match(/event: thread.message.delta/g) ?? []).length >= 2) await server.end('SIGKILL');
    }
  } catch { /* the connection is gone */ }
  const had = text.split('\n\n').slice(0, -1).filter((f) => f.includes('data: '));
  const run = JSON.parse(/^data: (.*)$/m.exec(had[1])[1]);
  const last = /^id: (.*)$/m.exec(had.at(-1))[1];
  server = await Server.start(weft, folder);
  client = connect();
  const rest = await frames(run, last), polled = await of('poll')(run);
  if (polled.status !== 'completed' || !/^Once .* thread\.$/.test(await said(polled))) return `${JSON.stringify(polled)} ${await said(polled)}`;
  if (!rest.at(-1).includes('[DONE]') || !rest.at(-2).includes(`"id":"${run.id}"`)) return rest.at(-1);
  if (JSON.stringify((await steps(waits)).data) !== before) return 'the steps of the run that waits are others';
  const calls = waits.required_action.submit_tool_outputs.tool_calls;
  return (await of('submitToolOutputsAndPoll')(waits, outputs(calls))).status === 'completed' ? '' : 'the run that waited is not over';
});

const code = await server.end('SIGTERM');
await report(title('the server ends'), async () => (code === 0 ? '' : `exit ${code}`));
