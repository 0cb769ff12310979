/** The made-up S3 in a process of its own; prints its address, answers GET /_requests with what it has seen. */
import http from 'node:http';
import { regularCorpus, startMemoryS3 } from './memory-s3.ts';

const [count = '1000', size = '10000'] = process.argv.slice(2);
const corpus = regularCorpus({
  prefix: 'bench/incoming/',
  count: Number(count),
  size: () => Number(size),
  suffix: 'jpg',
});
const server = await startMemoryS3({ corpus });
/** Reads what was written and forgets it, so that every tool starts with an empty bucket. */
const control = http.createServer((request, response) => {
  if (request.method === 'DELETE') {
    server.objects.clear();
    server.requests.clear();
  }
  const stored = [...server.objects].map(([key, { body }]) => [key, body.length]);
  response.end(JSON.stringify({ requests: Object.fromEntries(server.requests), stored }));
});
control.listen(0, '127.0.0.1', () => {
  const address = control.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  console.log(JSON.stringify({ url: server.url, control: `http://127.0.0.1:${port}` }));
});
