/** Reads proven progress: the agent's note counts only if the checkpoint that it names is complete. */
import * as z from 'zod';
import { bucketKeys, CHECKPOINT_MARKER } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { AttemptRecord, Progress } from './run-records.ts';

const percent = z.number().min(0).max(100);

export const progressSchema = z.object({
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
  updatedAt: z.iso.datetime({ offset: true }),
});

/** The furthest proven progress of any attempt. */
export const furthestProgress = (
  attempts: readonly Pick<AttemptRecord, 'progressAfter'>[],
): Progress | undefined =>
  attempts
    .flatMap(({ progressAfter }) => (progressAfter ? [progressAfter] : []))
    .reduce<Progress | undefined>((best, each) => (best && best.step >= each.step ? best : each), undefined);

/** @returns undefined without a readable note or without the complete checkpoint that it names */
export async function readProgress(
  store: ObjectStore,
  pipeline: string,
  runId: string,
): Promise<Progress | undefined> {
  const note = await store.readText(bucketKeys.progress(pipeline, runId));
  const parsed = progressSchema.safeParse(parseJson(note?.text));
  if (!parsed.success) return undefined;
  const path = `${bucketKeys.checkpoints(pipeline, runId)}${parsed.data.checkpoint}`;
  if (!OUR_LAYOUT.test(parsed.data.checkpoint)) return (await isThere(store, path)) ? parsed.data : undefined;
  const marker = await store.readText(`${path}/${CHECKPOINT_MARKER}`);
  return marker && { ...parsed.data, ...checkpointBytesOf(marker.text) };
}

const markerSchema = z.object({ files: z.record(z.string(), z.object({ bytes: z.number().min(0) })) });

/** Markers of other writers may list no files. */
function checkpointBytesOf(marker: string): Pick<Progress, 'checkpointBytes'> {
  const parsed = markerSchema.safeParse(parseJson(marker));
  if (!parsed.success) return {};
  return { checkpointBytes: Object.values(parsed.data.files).reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Tidewheel's checkpoint folders end with the marker. Layouts of other frameworks have none. */
const OUR_LAYOUT = /^step-\d+$/;

/** A file of that name (Lightning's .ckpt and Keras' .keras appear whole or not at all) or a folder with an object. */
async function isThere(store: ObjectStore, path: string): Promise<boolean> {
  for await (const { key } of store.list(path)) if (key === path || key.startsWith(`${path}/`)) return true;
  return false;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
