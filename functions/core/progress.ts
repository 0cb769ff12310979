/** Progress as the bucket proves it: the agent's note counts only if the checkpoint that it names is complete. */
import * as z from 'zod';
import { layout } from './layout.ts';
import type { ObjectStore } from './ports.ts';
import type { Progress } from './records.ts';

/** Written last into every checkpoint folder by the recipes and checked by the agent. */
export const CHECKPOINT_MARKER = 'COMPLETE.json';

const progressSchema = z.object({
  step: z.number().int().min(0),
  totalSteps: z.number().int().min(0),
  trainingSeconds: z.number().min(0).optional(),
  metrics: z.record(z.string(), z.number()).optional(),
  checkpoint: z
    .string()
    .min(1)
    .refine((folder) => !folder.includes('..') && !folder.startsWith('/')),
  updatedAt: z.iso.datetime({ offset: true }),
});

/** undefined when nothing proves any work: no note, a note that cannot be read, or no complete checkpoint behind it. */
export async function readProgress(
  store: ObjectStore,
  pipeline: string,
  runId: string,
): Promise<Progress | undefined> {
  const note = await store.readText(layout.progress(pipeline, runId));
  const parsed = progressSchema.safeParse(parseJson(note?.text));
  if (!parsed.success) return undefined;
  const path = `${layout.checkpoints(pipeline, runId)}${parsed.data.checkpoint}`;
  const complete = OUR_LAYOUT.test(parsed.data.checkpoint)
    ? (await store.readText(`${path}/${CHECKPOINT_MARKER}`)) !== undefined
    : await isThere(store, path);
  return complete ? parsed.data : undefined;
}

/** Folders that end with the marker; other frameworks' layouts have none, and the agent knows their own ends. */
const OUR_LAYOUT = /^step-\d+$/;

/** A file of that name (Lightning's .ckpt, Keras' .keras appear whole or not at all) or a folder that holds something. */
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
