/** client-s3 v3 and tar-stream, 64 sockets: the obvious Node program. */
import { Agent } from 'node:http';
import { GetObjectCommand, PutObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import tar from 'tar-stream';

const PREFIX = 'bench/incoming/';
const PARALLEL = 64;
const client = new S3Client({
  endpoint: process.env['ENDPOINT'] ?? '',
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  requestHandler: { httpAgent: new Agent({ keepAlive: true, maxSockets: PARALLEL }) },
});
const keys: string[] = [];
for await (const page of paginateListObjectsV2({ client }, { Bucket: 'bench', Prefix: PREFIX })) {
  for (const { Key } of page.Contents ?? []) if (Key !== undefined) keys.push(Key);
}
const perShard = Number(process.env['FILES_PER_SHARD']);
const fetchOne = async (key: string): Promise<Uint8Array> => {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: 'bench', Key: key }));
  return (await Body?.transformToByteArray()) ?? new Uint8Array();
};

async function packShard(shard: number): Promise<void> {
  const pack = tar.pack();
  const chunks: Buffer[] = [];
  pack.on('data', (chunk) => {
    if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  });
  const ended = new Promise<void>((resolve) => pack.on('end', () => resolve()));
  const mine = keys.slice(shard * perShard, (shard + 1) * perShard);
  for (let at = 0; at < mine.length; at += PARALLEL * 4) {
    const some = mine.slice(at, at + PARALLEL * 4);
    const bodies = await Promise.all(some.map(fetchOne));
    for (const [index, body] of bodies.entries()) {
      pack.entry(
        { name: (some[index] ?? '').slice(PREFIX.length), mtime: new Date(0), mode: 0o444 },
        Buffer.from(body),
      );
    }
  }
  pack.finalize();
  await ended;
  const name = `out/shard-${String(shard).padStart(6, '0')}.tar`;
  await client.send(new PutObjectCommand({ Bucket: 'bench', Key: name, Body: Buffer.concat(chunks) }));
}

for (let shard = 0; shard * perShard < keys.length; shard += 1) await packShard(shard);
