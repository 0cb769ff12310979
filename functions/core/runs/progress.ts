/** Reads proven progress: the agent's note counts only if the checkpoint that it names is complete. */
import * as z from 'zod';
import { bucketKeys, CHECKPOINT_MARKER } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { AttemptRecord, Progress } from './run-records.ts';

const percent = z.number().min(0).max(100);

const fileSizes = z.record(z.string(), z.object({ bytes: z.number().min(0) }));

const checkpointSchema = z.object({
  step: z.number().int().min(0),
  totalSteps: z.number().int().min(0),
  trainingSeconds: z.number().min(0).optional(),
  saveSeconds: z.number().min(0).optional(),
  usage: z
    .object({ cpuPercent: percent.optional(), gpuPercent: percent.optional() })
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

export const progressSchema = checkpointSchema.extend({
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
  const parsed = progressSchema.safeParse(parseJson(note?.text));
  if (!parsed.success) return undefined;
  const { files, kept = [], ...progress } = parsed.data;
  const folder = bucketKeys.checkpoints(pipeline, runId);
  if (!OUR_LAYOUT.test(progress.checkpoint))
    return (await areThere(store, folder, progress.checkpoint, files))
      ? progress
      : newestKept(store, folder, kept);
  const path = `${folder}${progress.checkpoint}`;
  const marker = await store.readText(`${path}/${CHECKPOINT_MARKER}`);
  if (marker === undefined) return undefined;
  const listed = markerSchema.safeParse(parseJson(marker.text));
  // Markers of other writers may list no files.
  if (!listed.success) return progress;
  if (!(await haveAllBytes(store, `${path}/`, '', listed.data.files))) return undefined;
  const sizes = Object.values(listed.data.files).map(({ bytes }) => bytes);
  return { ...progress, checkpointBytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

/** A kill in the middle of a save leaves the newest checkpoint cut off. The agent then restores the last whole one. */
async function newestKept(
  store: ObjectStore,
  folder: string,
  kept: readonly z.infer<typeof checkpointSchema>[],
): Promise<Progress | undefined> {
  for (const { files, ...progress } of kept)
    if (files !== undefined && (await haveAllBytes(store, folder, KEPT_FOLDER, files))) return progress;
  return undefined;
}

/** As checkpoints/kept/generation.py names it. */
const KEPT_FOLDER = 'tidewheel-kept/';

type FileSizes = z.infer<typeof fileSizes>;

const markerSchema = z.object({ files: fileSizes });

/** Tidewheel's checkpoint folders end with the marker. Layouts of other frameworks have none. */
const OUR_LAYOUT = /^step-\d+$/;

/** Notes of hosts that did not save, and of very many files, list none: then one object under the name has to do. */
async function areThere(
  store: ObjectStore,
  folder: string,
  checkpoint: string,
  files: FileSizes | undefined,
): Promise<boolean> {
  if (files !== undefined) return haveAllBytes(store, folder, checkpoint, files);
  const path = `${folder}${checkpoint}`;
  for await (const { key } of store.list(path))
    if (key === path || key.startsWith(`${path}/`) || key.startsWith(`${path}.`)) return true;
  return false;
}

/** S3 shows uploads in no order, and an interrupted one leaves files out or with their earlier content. */
async function haveAllBytes(
  store: ObjectStore,
  folder: string,
  checkpoint: string,
  files: FileSizes,
): Promise<boolean> {
  const missing = new Map(Object.entries(files).map(([name, { bytes }]) => [`${folder}${name}`, bytes]));
  const elsewhere = [...missing.keys()].filter((key) => !key.startsWith(`${folder}${checkpoint}`));
  for (const prefix of [`${folder}${checkpoint}`, ...elsewhere])
    for await (const { key, size } of store.list(prefix)) if (missing.get(key) === size) missing.delete(key);
  return missing.size === 0;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
