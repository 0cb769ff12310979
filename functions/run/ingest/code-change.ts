/**
 * Whether a run has new code to train: its source, or what the declaration says of training, differs from what the run
 * before it closed with. Then a marker, or an arrival that brings nothing new, still leads to a training.
 */

import { createHash } from 'node:crypto';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { belongsToSource } from '@tidewheel/declaration/script.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { keptClose } from '../../records/record-copies.ts';
import { isChanged } from '../../records/requests.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { RunStore } from '../../records/stores.ts';

/** A source of more is refused at the launch. */
const MOST_FILES = 5_000;
/** Runs that found nothing new lie in between. */
const MOST_RUNS_BACK = 50;

export interface CodeState {
  readonly code: string;
  readonly trainsCode: boolean;
}

interface CodeDeps {
  readonly store: ObjectStore;
  readonly runs: Pick<RunStore, 'get'>;
}

/**
 * @param declaration as it is stored
 * @param byMarker whether a marker closed the batch: the first run then trains on the declared channels alone
 */
export async function codeStateOf(
  { store, runs }: CodeDeps,
  run: RunRecord,
  { declaration, byMarker }: { readonly declaration: Pipeline; readonly byMarker: boolean },
): Promise<CodeState> {
  const code = await fingerprintOf(store, declaration);
  if (run.trigger !== 'arrival') return { code, trainsCode: false };
  const before = await lastThatTrained(runs, run);
  if (before === undefined)
    return { code, trainsCode: byMarker && declaration.training.channels !== undefined };
  const earlier = (await keptClose(store, before))?.code;
  return { code, trainsCode: earlier !== undefined && earlier !== code };
}

/** A source in another bucket is only read by the job, so its changes are not seen. */
async function fingerprintOf(store: ObjectStore, { name, training }: Pipeline): Promise<string> {
  // What leads in the report changes no model.
  const hash = createHash('sha256').update(JSON.stringify({ ...training, objective: undefined }));
  if (training.source.startsWith('s3://')) return hash.digest('hex');
  const prefix = bucketKeys.sourceAt(name, training.source);
  let files = 0;
  for await (const { key, etag } of store.list(prefix)) {
    if (!belongsToSource(key.slice(prefix.length))) continue;
    hash.update(`${key}\n${etag}\n`);
    files += 1;
    if (files > MOST_FILES) break;
  }
  return hash.digest('hex');
}

async function lastThatTrained(
  runs: CodeDeps['runs'],
  { pipeline, batch }: RunRecord,
): Promise<RunRecord | undefined> {
  for (let earlier = batch - 1; earlier >= Math.max(1, batch - MOST_RUNS_BACK); earlier -= 1) {
    const run = await runs.get(runIdOf(pipeline, earlier)).catch(noneIfUnreadable);
    // A run with changes of its own says nothing of what the pipeline declares.
    const hasTrained = run?.status !== 'empty' && run?.status !== 'notNeeded';
    if (run?.declaration !== undefined && hasTrained && !isChanged(run)) return run;
  }
  return undefined;
}
