/**
 * Workers that are killed with SIGKILL at seeded requests, beside a server that throttles, resets, truncates, corrupts,
 * shortens and dawdles by the same seed, has checksums or none, and lists empty pages. However often, the sealed bytes must be those of an undisturbed run.
 */
import { crc32 } from 'node:zlib';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import type { StoredChecksum } from '../../support/memory-s3/checksum-headers.ts';
import { regularCorpus } from '../../support/memory-s3/listing.ts';
import { type Fault, type MemoryS3, startMemoryS3 } from '../../support/memory-s3/memory-s3.ts';

const PIPELINE = 'faulty';
const RUN = 'faulty-000001';
const DATE = 'Sat, 21 Nov 2026 04:00:00 GMT';
const FAULTS: readonly Fault[] = [
  'slowDown',
  'internalError',
  'reset',
  'truncate',
  'corrupt',
  'slow',
  'short',
];
/** An undisturbed run makes some 650 requests: the first kill of a campaign always comes, later ones where enough is left. */
const REQUESTS = 400;

export interface WorkerRun {
  readonly endpoint: string;
  readonly bucket: string;
  readonly pipeline: string;
  readonly runId: string;
  readonly settings: object;
}

export interface WorkerEnd {
  readonly killed: boolean;
  readonly code: number | null;
  readonly errors: string;
}

export interface RunningWorker {
  readonly ended: Promise<WorkerEnd>;
  kill(): void;
}

export type StartWorker = (run: WorkerRun) => RunningWorker;

/** CRC-32 of every object of the generation, by its key. */
export type Sealed = ReadonlyMap<string, number>;

export interface Survival {
  readonly sealed: Sealed;
  readonly kills: number;
  readonly faults: number;
}

const corpus = regularCorpus({
  prefix: bucketKeys.incoming(PIPELINE),
  count: 600,
  size: (index) => (index * 7_919) % 30_000,
  suffix: 'jpg',
});

const workerAt = ({ url }: MemoryS3): WorkerRun => ({
  endpoint: url,
  bucket: 'faulty',
  pipeline: PIPELINE,
  runId: RUN,
  settings: { shardMegabytes: 2 },
});

const sealedIn = (server: MemoryS3): Sealed => {
  const prefix = bucketKeys.generation(PIPELINE, RUN);
  const objects = [...server.objects.entries()].filter(([key]) => key.startsWith(prefix));
  return new Map(objects.map(([key, { body }]) => [key, crc32(body)]));
};

/** What an undisturbed worker seals. */
export async function undisturbed(start: StartWorker): Promise<Sealed> {
  const server = await startMemoryS3({ corpus, date: DATE, md5Etags: true });
  try {
    const end = await start(workerAt(server)).ended;
    if (end.code !== 0) throw new Error(end.errors);
    return sealedIn(server);
  } finally {
    await server.stop();
  }
}

/** Of the objects of this seed's server. */
const checksumOf = (seed: number): StoredChecksum => (seed % 3 === 2 ? 'none' : 'crc32');

/** The worker is killed when the server sees its n-th request, which is never answered; then another goes on. */
export async function survive(start: StartWorker, seed: number, mostKills: number): Promise<Survival> {
  const next = seededUint32(`faults ${seed}`);
  let faults = 0;
  let left = Number.POSITIVE_INFINITY;
  let worker: RunningWorker | undefined;
  const decide = ({ method }: { method: string }): Fault | undefined => {
    left -= 1;
    if (left === 0) {
      worker?.kill();
      return 'stall';
    }
    if (next() % 50 !== 0) return undefined;
    faults += 1;
    const fault = FAULTS[next() % FAULTS.length];
    // Only of a read is the length known before.
    return fault === 'short' && method !== 'GET' ? 'slow' : fault;
  };
  const checksum = checksumOf(seed);
  const server = await startMemoryS3({
    corpus,
    date: DATE,
    faults: { decide },
    md5Etags: true,
    checksum,
    emptyPages: seed % 2 === 1,
  });
  try {
    for (let kills = 0; ; kills += 1) {
      left = kills < mostKills ? 1 + (next() % REQUESTS) : Number.POSITIVE_INFINITY;
      worker = start(workerAt(server));
      const end = await worker.ended;
      if (end.code === 0) return { sealed: sealedIn(server), kills, faults };
      if (!end.killed) throw new Error(`seed ${seed}: ${end.errors}`);
    }
  } finally {
    await server.stop();
  }
}
