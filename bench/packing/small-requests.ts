/**
 * What the requests for a temporary object cost our client: `node_modules/.bin/node bench/packing/small-requests.ts
 * [--rounds 20]`. They are those that would spare a large member of a tar its 5 MiB (decision 44).
 */
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { sumOf } from '../../functions/core/packing/formats/running-sum.ts';
import type { BlobStore, UploadedPart } from '../../functions/core/packing/model/blob-store.ts';
import { openBenchStore } from '../bench-store.ts';
import { type Corpus, corpusBody, corpusEtag } from './listing.ts';
import { BenchServer } from './measuring.ts';
import { SETS } from './sets.ts';

const USAGE = `node_modules/.bin/node bench/packing/small-requests.ts [options]

For each member: CreateMultipartUpload, UploadPartCopy, UploadPart of a tar header, CompleteMultipartUpload. Prints as
JSON the CPU milliseconds of this process for the four requests of one member, the least and the median of all rounds.

  --rounds 20   of 25 members each`;

const spec = {
  options: { rounds: { type: 'string', default: '20' } },
  schema: z.object({ rounds: z.coerce.number('give a whole number').int().min(1, 'give 1 or more') }),
} as const;

/** Files of 64 MB. */
const { E: SET } = SETS;
const MEMBERS = 25;
const HEADER = corpusBody(1, 1_536);
const PART_BYTES = 5 * 1024 * 1024;

async function makeTemporary(store: BlobStore, corpus: Corpus, number: number): Promise<void> {
  const key = corpus.keyAt(number);
  const source = { key, etag: corpusEtag(number), offset: 0, length: PART_BYTES };
  const upload = await store.createUpload(`bench/temporary/${number}`, 'crc32');
  const copied = await store.copyPart(upload, { number: 1 }, source);
  if (copied.kind !== 'copied') throw new Error(`the copy of ${key} is ${copied.kind}`);
  const sum = sumOf('crc32', HEADER);
  const parts: UploadedPart[] = [copied.part, await store.uploadPart(upload, { number: 2, sum }, HEADER)];
  await store.completeUpload(upload, parts);
}

async function measure(args: readonly string[]): Promise<number> {
  const { rounds } = readCommandLine(args, spec).values;
  if (SET === undefined) throw new Error('there is no set E');
  const corpus = SET.corpus(MEMBERS);
  const server = await BenchServer.start('E', MEMBERS);
  try {
    await using opened = await openBenchStore({ endpoint: server.url });
    await server.keepShards(false);
    const milliseconds: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = process.cpuUsage();
      for (let number = 0; number < MEMBERS; number += 1) await makeTemporary(opened.store, corpus, number);
      const { user, system } = process.cpuUsage(start);
      milliseconds.push((user + system) / 1_000 / MEMBERS);
    }
    milliseconds.sort((a, b) => a - b);
    const [least = 0, median = 0] = [milliseconds[0], milliseconds[Math.floor(rounds / 2)]];
    const rounded = (value: number): number => Number(value.toFixed(2));
    process.stdout.write(
      `${JSON.stringify({ requests: 4, cpuMilliseconds: { least: rounded(least), median: rounded(median) } })}\n`,
    );
    return 0;
  } finally {
    server.stop();
  }
}

await runCommand(USAGE, measure);
