// http.mjs: what bench/server asks `weft serve`, answered by plain node:http without threads, runs or a store: the floor of a server in Node.
import { Agent, createServer, request as ask } from 'node:http';

const vendor = process.argv[2]; // the port of a model's server, for /proxy
const agent = new Agent({ keepAlive: true });

const frames = Array.from({ length: 100 }, (_, i) => `data: {"type":"text-delta","id":"t","delta":"word${String(i).padStart(4, '0')} "}\n\n`);
const head = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
const server = createServer((request, response) => {
  if (request.url === '/livez') {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"status":"ok"}');
    return;
  }
  response.writeHead(200, head);
  if (request.url.startsWith('/proxy')) {
    const chunks = [];
    request.on('data', (c) => chunks.push(c)).on('end', () => {
      const body = Buffer.concat(chunks);
      const path = request.url === '/proxy' ? '/v1/chat/completions' : '/paced/v1/chat/completions';
      const up = ask({ port: vendor, host: '127.0.0.1', method: 'POST', path, agent, headers: { 'content-type': 'application/json', 'content-length': body.length } }, (r) => r.pipe(response));
      up.on('error', () => response.destroy());
      up.end(body);
    });
  } else if (request.url === '/at-once') {
    for (const f of frames) response.write(f);
    response.end();
  } else if (request.url === '/paced') {
    let i = 0;
    const timer = setInterval(() => {
      response.write(frames[i++]);
      if (i === frames.length) {
        clearInterval(timer);
        response.end();
      }
    }, 2);
  } else response.write(frames[0]); // an idle stream
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
