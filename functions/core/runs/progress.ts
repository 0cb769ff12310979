/** Reads proven progress: the agent's note counts only if the checkpoint that it names is complete. */
import { hash } from 'node:crypto';
import * as z from 'zod';
import { parseJson } from '../shared/json.ts';
import { bucketKeys, CHECKPOINT_MARKER } from '../shared/keys.ts';
import type { ListedObject, ObjectStore } from '../shared/ports.ts';
import type { AttemptRecord, Progress } from './run-records.ts';

const percent = z.number().min(0).max(100);

const fileSizes = z.record(
  z.string(),
  z.object({
    bytes: z.number().min(0),
    /** What S3's will be if the object comes in parts of 8 MiB, or in one. */
    etag: z
      .string()
      .regex(/^[0-9a-f]{32}(?:-[1-9]\d{0,4})?$/)
      .optional()
      .catch(undefined),
  }),
);

const checkpointSchema = z.object({
  step: z.number().int().min(0),
  totalSteps: z.number().int().min(0),
  trainingSeconds: z.number().min(0).optional(),
  saveSeconds: z.number().min(0).optional(),
  usage: z
    .object({ cpuPercent: percent.optional(), gpuPercent: percent.optional() })
    .optional()
    .catch(undefined),
  pace: z
    .object({
      stepsPerSecond: z.number().min(0),
      samplesPerSecond: z.number().min(0).optional(),
      stepSeconds: z.number().min(0).optional(),
      stepSecondsP95: z.number().min(0).optional(),
    })
    .optional()
    .catch(undefined),
  metrics: z.record(z.string(), z.number()).optional(),
  checkpoint: z
    .string()
    .min(1)
    .refine((folder) => !folder.includes('..') && !folder.startsWith('/')),
  /** What the step counts; `saves` counts checkpoints of unknown position. */
  unit: z.enum(['step', 'epoch', 'saves']).optional().catch(undefined),
  /** quiet: the format is unknown, and no file changed for a while. */
  proof: z.enum(['whole', 'quiet']).optional().catch(undefined),
  /** By name, relative to the checkpoint prefix. */
  files: fileSizes.optional(),
  updatedAt: z.iso.datetime({ offset: true }),
});

const progressSchema = checkpointSchema.extend({
  /** Copies of the last whole checkpoints, newest first, of a script that saves over its own files. */
  kept: z.array(checkpointSchema).optional().catch(undefined),
});

/** The furthest proven progress of any attempt. */
export const furthestProgress = (
  attempts: readonly Pick<AttemptRecord, 'progressAfter'>[],
): Progress | undefined =>
  attempts
    .flatMap(({ progressAfter }) => (progressAfter ? [progressAfter] : []))
    .reduce<Progress | undefined>((best, each) => (best && best.step >= each.step ? best : each), undefined);

/** @returns undefined without a readable note or without all bytes of the checkpoint that it names */
export async function readProgress(
  store: ObjectStore,
  pipeline: string,
  runId: string,
): Promise<Progress | undefined> {
  const note = await store.readText(bucketKeys.progress(pipeline, runId));
  const parsed = progressSchema.safeParse(parseJson(note?.text ?? ''));
  if (!parsed.success) return undefined;
  const { files, kept = [], ...progress } = parsed.data;
  const folder = bucketKeys.checkpoints(pipeline, runId);
  const savedAt = new Date(progress.updatedAt);
  const trusted = note !== undefined && isMd5(note) ? savedAt : undefined;
  if (!OUR_LAYOUT.test(progress.checkpoint)) {
    const found = await look(store, folder, progress.checkpoint, { files, trusted });
    return found === undefined ? newestKept(store, folder, kept) : { ...progress, ...found };
  }
  const path = `${folder}${progress.checkpoint}`;
  const marker = await store.readText(`${path}/${CHECKPOINT_MARKER}`);
  if (marker === undefined) return undefined;
  const listed = markerSchema.safeParse(parseJson(marker.text));
  // Markers of other writers may list no files.
  if (!listed.success) return progress;
  const named = Object.entries(listed.data.files).map(([name, file]) => {
    const full = `${progress.checkpoint}/${name}`;
    return [full, { ...file, etag: files?.[full]?.etag }] as const;
  });
  const found = await compare(store, folder, progress.checkpoint, {
    files: Object.fromEntries(named),
    trusted,
    isFinal: true,
  });
  if (found === undefined) return undefined;
  const sizes = Object.values(listed.data.files).map(({ bytes }) => bytes);
  return { ...progress, ...found, checkpointBytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

/** A kill in the middle of a save leaves the newest checkpoint cut off. The agent then restores the last whole one. */
async function newestKept(
  store: ObjectStore,
  folder: string,
  kept: readonly z.infer<typeof checkpointSchema>[],
): Promise<Progress | undefined> {
  for (const { files, ...progress } of kept)
    if (files !== undefined && (await compare(store, folder, KEPT_FOLDER, { files })) !== undefined)
      return progress;
  return undefined;
}

/** As checkpoints/kept/generation.py names it. */
const KEPT_FOLDER = 'tidewheel-kept/';

type FileSizes = z.infer<typeof fileSizes>;

const markerSchema = z.object({ files: fileSizes });

/** Tidewheel's checkpoint folders end with the marker. Layouts of other frameworks have none. */
const OUR_LAYOUT = /^step-\d+$/;

interface Comparison {
  readonly files: FileSizes;
  /** When the checkpoint was complete on the host, if ETags in this bucket are made of MD5s. */
  readonly trusted?: Date | undefined;
  /** The files are never written again. */
  readonly isFinal?: boolean;
}

type Compared = Pick<Progress, 'comparedBy'>;

/** Notes of hosts that did not save, and of very many files, list none: then one object under the name has to do. */
async function look(
  store: ObjectStore,
  folder: string,
  checkpoint: string,
  { files, trusted }: { readonly files: FileSizes | undefined; readonly trusted: Date | undefined },
): Promise<Compared | undefined> {
  if (files !== undefined) return compare(store, folder, checkpoint, { files, trusted });
  const path = `${folder}${checkpoint}`;
  for await (const { key } of store.list(path))
    if (key === path || key.startsWith(`${path}/`) || key.startsWith(`${path}.`)) return {};
  return undefined;
}

/**
 * S3 shows uploads in no order, and an interrupted one leaves files out or with their earlier content.
 *
 * @returns undefined where a file is missing, or is another version than the one that was saved
 */
async function compare(
  store: ObjectStore,
  folder: string,
  checkpoint: string,
  comparison: Comparison,
): Promise<Compared | undefined> {
  const { files } = comparison;
  const left = new Map(Object.entries(files).map(([name, file]) => [`${folder}${name}`, file]));
  const elsewhere = [...left.keys()].filter((key) => !key.startsWith(`${folder}${checkpoint}`));
  let equal = 0;
  for (const prefix of [`${folder}${checkpoint}`, ...elsewhere])
    for await (const object of store.list(prefix)) {
      const file = left.get(object.key);
      if (file === undefined || file.bytes !== object.size) continue;
      const etag = compareETag(object, file.etag, comparison);
      if (etag === 'different') continue;
      if (etag === 'equal') equal += 1;
      left.delete(object.key);
    }
  if (left.size > 0) return undefined;
  return { comparedBy: equal === Object.keys(files).length ? 'checksums' : 'sizes' };
}

/** A script may have saved again over its file, so a later object is a newer version, and no damage. */
function compareETag(
  { etag, lastModified }: ListedObject,
  expected: string | undefined,
  { trusted, isFinal = false }: Omit<Comparison, 'files'>,
): 'equal' | 'different' | 'unknown' {
  if (expected === undefined || trusted === undefined) return 'unknown';
  if (etag === expected) return 'equal';
  const parts = partsOf(etag);
  if (parts !== partsOf(expected)) return 'unknown';
  const isOlder = lastModified.getTime() + CLOCK_MS <= trusted.getTime();
  // How SageMaker cuts large files is not documented, so another cut must not pass for damage.
  const isDifferent = parts === 1 ? isFinal || isOlder : parts >= FEW_PARTS && isOlder;
  return isDifferent ? 'different' : 'unknown';
}

/** 0 for an ETag that is made of no MD5. */
function partsOf(etag: string): number {
  const found = ETAG.exec(etag);
  return found === null ? 0 : Number(found[1] ?? 1);
}

/** Fewer parts may be of another size and yet as many: 12 MiB make two parts of 8 MiB or of 10 MiB. */
const FEW_PARTS = 8;

/** An ETag is made of no MD5 where a KMS key encrypts. The note came as its checkpoint did. */
const isMd5 = ({ text, etag }: { readonly text: string; readonly etag: string }): boolean =>
  hash('md5', text) === etag;

const ETAG = /^[0-9a-f]{32}(?:-([1-9]\d{0,4}))?$/;

/** S3 gives whole seconds, and the host has a clock of its own. */
const CLOCK_MS = 2_000;
