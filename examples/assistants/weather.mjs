// A function of the client: the run waits for its output, and the rest is streamed.
import OpenAI from 'openai';

const { threads } = new OpenAI().beta;
const temperature = { name: 'temperature', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const thread = await threads.create({ messages: [{ role: 'user', content: 'How is the weather in Lisbon?' }] });
const run = await threads.runs.stream(thread.id, { assistant_id: 'helper', tools: [{ type: 'function', function: temperature }] }).finalRun();
const tool_outputs = run.required_action.submit_tool_outputs.tool_calls.map((c) => ({ tool_call_id: c.id, output: '21 degrees' }));
const rest = threads.runs.submitToolOutputsStream(run.id, { thread_id: thread.id, tool_outputs });
for await (const event of rest) if (event.event === 'thread.message.delta') process.stdout.write(event.data.delta.content[0].text.value);
console.log();
