// wire.mjs: a listener that passes bytes on to another port, both ways and as they are (also how they end), and keeps
// the requests that went by: aimock's journal tells them in its own words, and without the keys.
import net from 'node:net';

// Requests with a length, one after the other: all that libupp sends.
function requests(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const [first, ...lines] = bytes.subarray(at, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(lines.map((l) => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 1).trim()]));
    const n = Number(headers['content-length'] ?? 0);
    found.push({ method: first.split(' ')[0], path: first.split(' ')[1], headers, body: bytes.subarray(end + 4, end + 4 + n).toString('utf8') });
    at = end + 4 + n;
  }
  return found;
}

export async function wire(port) {
  let connections = [];
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    const seen = [];
    connections.push(seen);
    const far = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    near.on('data', (d) => seen.push(d));
    near.pipe(far);
    far.pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    take() {
      const all = connections.flatMap((seen) => requests(Buffer.concat(seen)));
      connections = [];
      return all;
    },
    close: () => server.close(),
  };
}
