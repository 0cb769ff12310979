/**
 * What the agent's files hold (training/agent/tidewheel_agent/evidence): `<attempt>-<host>.jsonl` with a point a line,
 * and `<attempt>-<host>-phases.json`.
 */

import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import type { EvidencePoint, HostStart } from './evidence.ts';

/** Products of such numbers stay below what DynamoDB holds, 1e125. */
const LARGEST = 1e18;
export const amount = z
  .number('write a number')
  .min(0, 'write 0 or more')
  .max(LARGEST, `write at most ${LARGEST}`);
const share = amount.max(1, 'write a share from 0 to 1');
export const count = z.number('write a number').int('write a whole number').min(0, 'write 0 or more');

/** A path in the code folder, a number and a function: the script may have any names, and these are shown. */
const lineOfScript = z.string().regex(/^[\w .,:<>/-]{1,200}$/);
const oneLine = lineOfScript.optional().catch(undefined);
export const linesSchema = z.object({
  loader: oneLine,
  save: oneLine,
  exchange: oneLine,
  shard: oneLine,
  fit: oneLine,
  pyDataset: oneLine,
  map: oneLine,
});

export const pointSchema = z.object({
  at: z.iso.datetime('write an ISO 8601 time that ends with Z'),
  host: count,
  rank: count,
  processes: count.default(1),
  steps: count,
  samples: amount.nullable(),
  stepSeconds: z.object({ median: amount, p95: amount }),
  shares: z.object({ wait: share, compute: share, save: share, exchange: share }),
  hostWork: z
    .object({ share, line: lineOfScript.nullable().catch(null) })
    .nullable()
    .default(null),
  arithmetic: z
    .object({ float32: amount, tf32: amount, bits16: amount, line: lineOfScript.nullable().catch(null) })
    .nullable()
    .default(null),
  rankSkewSeconds: amount.nullable().default(null),
  loader: z.object({
    workers: count,
    workerBusy: share.nullable(),
    decodeShare: share.nullable().default(null),
    batchSize: amount.nullable(),
    pinBusy: share.nullable().default(null),
    restarts: z.object({ share, count: amount }).nullable().default(null),
  }),
  cpu: z.object({
    cores: amount.positive('write a number above 0'),
    main: amount,
    workers: amount,
    all: amount,
    runQueue: amount,
    threads: count.nullable().default(null),
    waitForCore: share.nullable().default(null),
  }),
  memory: z.object({
    usedBytes: amount,
    totalBytes: amount.positive('write a number above 0'),
    majorFaultsPerSecond: amount,
    pageCacheBytes: amount,
  }),
  disk: z.object({ readBytesPerSecond: amount, writtenBytesPerSecond: amount.default(0) }),
  network: z.object({ receivedBytesPerSecond: amount, sentBytesPerSecond: amount }),
  gpu: z
    .object({
      busy: share,
      memoryUsedBytes: amount,
      memoryTotalBytes: amount,
      powerWatts: amount.nullable().default(null),
    })
    .nullable(),
});

/** It is shown, and goes on the timeline. */
const short = z.string().transform((text) => text.slice(0, 500));

const startSchema = z.object({
  startedAt: z.iso.datetime(),
  phases: z.object({
    download: amount.nullable(),
    install: amount.nullable(),
    scriptStart: amount.nullable(),
    firstBatch: amount.nullable(),
    firstStep: amount.nullable(),
  }),
  hooks: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('on') }),
    z.object({ kind: z.literal('declined') }),
    z.object({ kind: z.literal('removed'), hook: short, reason: short }),
  ]),
  lines: linesSchema.default({}).catch({}),
});

const FILE = /\/(?<attempt>[1-9]\d{0,4})-(?<host>[A-Za-z0-9._-]{1,100}?)(?<kind>\.jsonl|-phases\.json)$/;

/** What a key below `bucketKeys.evidence` names, or undefined for another one. */
export function evidenceFileOf(
  key: string,
): { readonly kind: 'points' | 'start'; readonly attempt: number; readonly host: string } | undefined {
  const { attempt, host, kind } = FILE.exec(key)?.groups ?? {};
  if (attempt === undefined || host === undefined) return undefined;
  return { kind: kind === '.jsonl' ? 'points' : 'start', attempt: Number(attempt), host };
}

/** Lines that cannot be read, such as one that a kill has cut short, are passed over. */
export const readPoints = (text: string): readonly EvidencePoint[] =>
  text.split('\n').flatMap((line) => {
    const parsed = pointSchema.safeParse(parseJson(line));
    return parsed.success ? [parsed.data] : [];
  });

export const readHostStart = (text: string): HostStart | undefined =>
  startSchema.safeParse(parseJson(text)).data;
