/**
 * The made-up S3 in a process of its own: `serve.ts <set> <files> [crc32|crc64nvme|composite]`. Prints its address. At a
 * second address, GET tells what it has seen, DELETE empties it, and PUT says whether it keeps shards or only their sizes
 * (`?shards=kept`), or how many of the files have arrived (`?arrived=1000`, of all in order).
 */
import { serveLocally } from '@tidewheel/emulators/access/local-server.ts';
import { startMemoryS3 } from './memory-s3.ts';
import { ALL_SETS } from './sets.ts';

const [name = 'A', files, checksum] = process.argv.slice(2);
const set = ALL_SETS[name];
if (set === undefined) throw new Error(`there is no set ${name}, only ${Object.keys(ALL_SETS).join(', ')}`);
const keepsShards = { now: false };
const all = set.corpus(Number(files ?? set.files));
const arrived = { count: all.count };
const corpus = {
  ...all,
  get count() {
    return arrived.count;
  },
};
const server = await startMemoryS3({
  corpus,
  keepsShards,
  checksum: checksum === 'crc64nvme' || checksum === 'composite' ? checksum : 'crc32',
});
const control = await serveLocally((request, response) => {
  if (request.method === 'DELETE') server.clear();
  if (request.method === 'PUT') {
    const requested = new URL(request.url ?? '/', server.url).searchParams;
    if (requested.has('shards')) keepsShards.now = requested.get('shards') === 'kept';
    arrived.count = Number(requested.get('arrived') ?? arrived.count);
  }
  const stored = [...server.objects].map(([key, { size }]) => [key, size]);
  response.end(JSON.stringify({ requests: Object.fromEntries(server.requests), stored }));
});
process.stdout.write(`${JSON.stringify({ url: server.url, control: control.url })}\n`);
