// `weft serve` on a free port, and what an application needs around the client: requests, and a transport to its routes.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { once } from 'node:events';

process.on('exit', () => Server.last?.kill('SIGKILL'));
process.on('SIGTERM', () => process.exit(1));
const here = new URL('.', import.meta.url).pathname;

export class Server {
  // One life of the program. Its database is FOLDER/weft.db, its log FOLDER/log. WEFT_CONFIG is another configuration.
  static async start(weft, folder, env = {}) {
    const s = new Server();
    s.process = spawn(weft, ['serve', '--config', process.env.WEFT_CONFIG ?? `${here}weft.yaml`, '--store', `sqlite:${folder}/weft.db`],
      { stdio: ['ignore', 'pipe', openSync(`${folder}/log`, 'a')], env: { ...process.env, ...env } });
    s.gone = once(s.process, 'exit');
    Server.last = s.process;
    let said = '';
    for await (const piece of s.process.stdout) {
      said += piece;
      if (said.includes('\n')) break;
    }
    s.url = /^listening on (\S+)\n/.exec(said)?.[1];
    if (!s.url) throw new Error(`the server said ${JSON.stringify(said)}`);
    return s;
  }

  // Its exit code; null: a signal ended it.
  async end(signal) {
    this.process.kill(signal);
    return (await this.gone)[0];
  }

  async ask(method, path, body) {
    const r = await fetch(this.url + path, { method, body: body && JSON.stringify(body) });
    const answer = await r.json();
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${JSON.stringify(answer)}`);
    return answer;
  }
}

// One thread and its runs, as the client sees them.
export class Session {
  constructor(ai, major, agent) {
    Object.assign(this, { ai, major, agent, sent: '', lastId: null, watches: [], requests: 0 });
  }

  async open(server) {
    this.server = server;
    this.thread = (await server.ask('POST', '/v1/threads', {})).id;
    return this;
  }

  // The run of the newest message: the stream does not tell.
  async findRun() {
    this.run ??= (await this.server.ask('GET', `/v1/threads/${this.thread}/messages?limit=1`)).data[0].run_id;
    return this.run;
  }

  // Its status; where it waits for approvals, 'approval'.
  async status() {
    const run = await this.server.ask('GET', `/v1/threads/${this.thread}/runs/${await this.findRun()}`);
    return run.required_action?.type === 'approval' ? 'approval' : run.status;
  }

  async answer(answers) {
    return this.server.ask('POST', `/v1/runs/${await this.findRun()}/answers`, { answers });
  }

  async cancel() {
    return this.server.ask('POST', `/v1/runs/${await this.findRun()}/cancel`);
  }

  get events() {
    return `${this.server.url}/v1/runs/${this.run}/events?as=ui&target=${this.major}`;
  }

  // Calls act once, when the stream has brought the text, or a model has said it.
  when(text, act) {
    this.watches.push({ text, act, done: null });
  }

  async settled() {
    for (const w of this.watches) {
      if (!w.done) throw new Error(`the stream never brought ${w.text}`);
      await w.done;
    }
  }

  // What was sent goes on as it is, and is kept.
  watched(response) {
    const text = new TextDecoder();
    const watch = new TransformStream({
      transform: (bytes, out) => {
        this.sent += text.decode(bytes, { stream: true });
        this.lastId = [...this.sent.matchAll(/^id: (.*)\n/gm)].at(-1)?.[1];
        out.enqueue(bytes);
        const said = [...this.sent.matchAll(/"delta":"(.*)"}\n/g)].map((m) => m[1]).join('');
        for (const w of this.watches) if (!w.done && (this.sent.includes(w.text) || said.includes(w.text))) w.done = w.act();
      },
    });
    return new Response(response.body.pipeThrough(watch), { status: response.status, headers: response.headers });
  }

  // A first request starts a run; the next one about the same message goes on where the run had waited. Reconnecting
  // reads all of it from the beginning.
  get transport() {
    const api = `${this.server.url}/v1/threads/${this.thread}/runs?as=ui&target=${this.major}`;
    return new this.ai.DefaultChatTransport({
      api,
      prepareSendMessagesRequest: ({ messages }) => ({
        body: {
          assistant_id: this.agent, stream: true,
          additional_messages: [{ role: 'user', content: messages.findLast((m) => m.role === 'user').parts[0].text }],
        },
      }),
      prepareReconnectToStreamRequest: () => ({ api: this.events }),
      fetch: async (url, init) => {
        if (init.method === 'GET') return fetch(url, init);
        if (++this.requests === 1) return this.watched(await fetch(url, init));
        return this.watched(await fetch(this.events, { signal: init.signal, headers: { 'last-event-id': this.lastId } }));
      },
    });
  }
}
