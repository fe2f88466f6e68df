// server.mjs FOLDER: an HTTP/2 server with the certificate of FOLDER. It answers as Ollama does, a few pieces at a time, and
// says on standard output where it is and, when its input ends, how it was spoken to. Calls to /gone end in the middle, by a
// GOAWAY and the end of the connection.
import http2 from "node:http2";
import { readFileSync } from "node:fs";

const folder = process.argv[2];
const seen = { sessions: 0, calls: 0, versions: {}, keys: {} };
const server = http2.createSecureServer({
  key: readFileSync(`${folder}/key.pem`),
  cert: readFileSync(`${folder}/cert.pem`),
  allowHTTP1: true,
});
server.on("session", () => seen.sessions++);
server.on("request", (request, response) => {
  seen.calls++;
  seen.versions[request.httpVersion] = (seen.versions[request.httpVersion] ?? 0) + 1;
  seen.keys[request.headers.authorization] = true;
  const line = (content, rest) =>
    JSON.stringify({ model: "m", message: { role: "assistant", content }, ...rest }) + "\n";
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    let n = 0;
    const more = () => {
      if (n++ < 4) {
        response.write(line(`${n} `, { done: false }));
        setTimeout(more, 2);
      } else if (request.url.startsWith("/gone")) {
        response.stream.session.goaway();
        response.stream.session.destroy();
      } else response.end(line("end", { done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 5 }));
    };
    more();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
process.stdin.on("end", () => {
  console.log(JSON.stringify(seen));
  process.exit(0);
});
process.stdin.resume();
