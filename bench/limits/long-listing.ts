/** Settling, sweeping and planning a million keys, each by its own function in a process with that function's memory. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { limitsOf } from '@tidewheel/emulators/limits/profiles.ts';
import { type FunctionName } from '../../functions/handlers/functions.ts';
import { type Corpus, regularCorpus } from '../../test/support/memory-s3/listing.ts';
import { startMemoryS3 } from '../../test/support/memory-s3/memory-s3.ts';
import { bundle } from '../packing/bundle.ts';
import {
  BUCKET,
  type CaseOptions,
  type CaseResult,
  describedAs,
  PIPELINE,
  type Spent,
  spentSchema,
} from './case.ts';
import { keptArrivals, notesOf } from './kept-arrivals.ts';
import { addRequests, priced, type RequestKind } from './lambda-prices.ts';
import { inClasses } from './one-item.ts';

const DECLARATION = `
name: ${PIPELINE}
settle: { quietSeconds: 60 }
tuning: { settle: { maximumWaitSeconds: 900 } }
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge] }
`;

/** What function.ts plays, and the function whose memory and time it has. */
const PARTS: readonly Part[] = [
  { part: 'settle', name: 'settle' },
  { part: 'sweep', name: 'reconcile' },
  { part: 'plan', name: 'plan-shards' },
];

interface Part {
  readonly part: string;
  readonly name: FunctionName;
  /** What lies in the bucket beside the keys and the declaration. */
  readonly beside?: ReadonlyMap<string, Buffer>;
  /** In the figures, if a part is played twice. */
  readonly title?: string;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const MEGABYTES_OF_A_CORE = 1_769;

const corpusOf = (count: number): Corpus =>
  regularCorpus({ prefix: bucketKeys.incoming(PIPELINE), count, size: () => 10_000, suffix: 'jpg' });

export const runLongListing = (keys: number, { profile, small }: CaseOptions): Promise<CaseResult> =>
  playParts(corpusOf(small ? keys / 10 : keys), PARTS, profile);

/** Of a folder in which all but the last keys are sealed: looks, a sweep, and the plan with and without its ranges. */
export function runKeptListing(
  { keys, fresh }: { readonly keys: number; readonly fresh: number },
  { profile, small }: CaseOptions,
): Promise<CaseResult> {
  const corpus = corpusOf(small ? keys / 10 : keys);
  const before = corpus.count - fresh;
  const { sealed, known } = keptArrivals(corpus, before);
  const behindAll = Array.from({ length: fresh }, (_, index) => corpus.keyAt(before + index));
  const everywhere = Array.from({ length: 1_000 }, (_, index) =>
    corpus.keyAt(Math.floor((index * before) / 1_000)),
  );
  return playParts(
    corpus,
    [
      { part: 'settle', name: 'settle' },
      { part: 'sweep', name: 'reconcile' },
      { part: 'plan-new', name: 'plan-shards', beside: known, title: 'plan' },
      { part: 'plan-new', name: 'plan-shards', beside: sealed, title: 'plan without ranges' },
      { part: 'settle-notified', name: 'settle', title: 'settle by notifications' },
      {
        part: 'plan-notified',
        name: 'plan-shards',
        beside: new Map([...known, ...notesOf(behindAll)]),
        title: 'plan around new keys',
      },
      {
        part: 'plan-notified',
        name: 'plan-shards',
        beside: new Map([...known, ...notesOf(everywhere)]),
        title: 'plan around a thousand places',
      },
    ],
    profile,
  );
}

async function playParts(
  corpus: Corpus,
  parts: readonly Part[],
  profile: CaseOptions['profile'],
): Promise<CaseResult> {
  const { latencySeconds } = limitsOf(profile).s3;
  const server = await startMemoryS3({ corpus, latencyMilliseconds: latencySeconds * 1_000 });
  const folder = await mkdtemp(path.join(tmpdir(), 'tidewheel-limits-'));
  try {
    const program = bundle(path.join(import.meta.dirname, 'function.ts'), folder);
    const declared = `${server.url}/${BUCKET}/${bucketKeys.pipeline(PIPELINE)}`;
    const requests = new Map<RequestKind, number>();
    const problems: string[] = [];
    const details: Record<string, number> = {};
    let slowest = 0;
    const outcomes: string[] = [];
    for (const { part, name, beside, title = part } of parts) {
      const { memoryMegabytes, timeoutSeconds } = describedAs(name);
      // Each part begins with the keys and the declaration alone.
      server.clear();
      await fetch(declared, { method: 'PUT', body: DECLARATION });
      for (const [key, body] of beside ?? [])
        server.objects.set(key, { body, size: body.length, etag: 'kept' });
      const spent = await inItsMemory([program, part, server.url], memoryMegabytes);
      outcomes.push(spent.outcome);
      for (const [kind, sent] of inClasses(server.requests)) {
        addRequests(requests, kind, sent);
        details[`${title}: ${kind}`] = sent;
      }
      // The processor of this machine may have been busy with other work; the function's share of a core is certain.
      const seconds = Math.max(spent.seconds, (spent.cpuSeconds * MEGABYTES_OF_A_CORE) / memoryMegabytes);
      slowest = Math.max(slowest, seconds);
      Object.assign(details, {
        [`${title}: seconds of ${timeoutSeconds}`]: round(seconds),
        [`${title}: CPU seconds`]: round(spent.cpuSeconds),
        [`${title}: peak MB of ${memoryMegabytes}`]: Math.round(spent.peakMegabytes),
      });
      if (seconds > timeoutSeconds) problems.push(`${title} takes longer than its timeout`);
      if (spent.peakMegabytes > memoryMegabytes) problems.push(`${title} takes more than its memory`);
    }
    return {
      ok: problems.length === 0,
      outcome: problems.length === 0 ? [...new Set(outcomes)].join(', ') : problems.join('; '),
      seconds: slowest,
      details,
      requests: priced(requests),
    };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

const round = (value: number): number => Math.round(value * 10) / 10;

const run = promisify(execFile);

/**
 * The heap that Lambda's runtime gives Node.js: a tenth of the memory for young objects, the rest for old ones.
 * https://github.com/aws/aws-lambda-base-images/tree/nodejs24.x
 */
async function inItsMemory(command: readonly string[], memoryMegabytes: number): Promise<Spent> {
  const young = Math.floor(memoryMegabytes / 10);
  const heap = [
    `--max-semi-space-size=${Math.floor(young / 2)}`,
    `--max-old-space-size=${memoryMegabytes - young}`,
  ];
  const { stdout } = await run(process.execPath, [...heap, ...command]);
  return spentSchema.parse(JSON.parse(stdout));
}
