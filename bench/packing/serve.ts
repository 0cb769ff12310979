/**
 * The made-up S3 in a process of its own: `serve.ts <set> <files> [crc32|crc64nvme|composite]`. Prints its address. At a
 * second address, GET tells what it has seen, DELETE empties it, and PUT has it keep shards and not only their sizes.
 */
import { serveLocally } from '@tidewheel/emulators/access/local-server.ts';
import { startMemoryS3 } from '../../test/support/memory-s3/memory-s3.ts';
import { SETS } from './sets.ts';

const [name = 'A', files, checksum] = process.argv.slice(2);
const set = SETS[name];
if (set === undefined) throw new Error(`there is no set ${name}, only ${Object.keys(SETS).join(', ')}`);
const keepsShards = { now: false };
const server = await startMemoryS3({
  corpus: set.corpus(Number(files ?? set.files)),
  keepsShards,
  checksum: checksum === 'crc64nvme' || checksum === 'composite' ? checksum : 'crc32',
});
const control = await serveLocally((request, response) => {
  if (request.method === 'DELETE') server.clear();
  if (request.method === 'PUT') keepsShards.now = true;
  const stored = [...server.objects].map(([key, { size }]) => [key, size]);
  response.end(JSON.stringify({ requests: Object.fromEntries(server.requests), stored }));
});
process.stdout.write(`${JSON.stringify({ url: server.url, control: control.url })}\n`);
