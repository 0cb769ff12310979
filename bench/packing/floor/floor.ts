/**
 * What no packing of large files can go below: of each file, 5 MiB are read and sent again, and nothing else is done.
 * FLOOR=client: over Node's HTTP client. FLOOR=socket: over one socket, with one call of the kernel for a request, and
 * reads right into the memory that is sent. The made-up S3 keeps no object for it.
 */
import http from 'node:http';
import { listPages } from '../../../functions/core/packing/model/blob-store.ts';
import { openBenchStore } from '../../bench-store.ts';
import { FloorSocket } from './floor-socket.ts';

const HEAD_BYTES = 5 * 1024 * 1024;
const endpoint = new URL(process.env['ENDPOINT'] ?? '');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** @returns how many bytes the answer has */
const send = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Buffer,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = http.request(endpoint, { agent, method, path, headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.on('error', reject);
      response.on('end', () => resolve(bytes));
    });
    request.on('error', reject);
    request.end(body);
  });

const keys: string[] = [];
{
  await using opened = await openBenchStore();
  for await (const page of listPages(opened.store, 'bench/incoming/'))
    keys.push(...page.objects.map(({ key }) => key));
}
const part = Buffer.alloc(HEAD_BYTES);
const range = `bytes=0-${HEAD_BYTES - 1}`;
let bytes = 0;
if (process.env['FLOOR'] === 'socket') {
  const socket = new FloorSocket(endpoint, part);
  for (const key of keys) {
    bytes += await socket.send('GET', `/bench/${key}`, `range: ${range}\r\n`);
    await socket.send('PUT', '/bench/floor/part', `content-length: ${HEAD_BYTES}\r\n`, part);
  }
  socket.close();
} else {
  for (const key of keys) {
    bytes += await send('GET', `/bench/${key}`, { range });
    await send('PUT', '/bench/floor/part', {}, part);
  }
}
agent.destroy();
console.log(JSON.stringify({ objects: keys.length, bytes }));
