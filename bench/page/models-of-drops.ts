/** Drops of the bench's pipeline with scored models: better, equal and worse ones, as the service itself judges them. */
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { RunRecord } from '../../functions/records/run-records.ts';
import { modelsOf, recordModel } from '../../functions/run/models/decide-models.ts';
import { declarationOf } from '../../test/support/builders/records.ts';
import type { Ground } from '../../test/support/world/ground.ts';

const SAMPLES = 2_000;
const LABELS = 10;
/** How often each model is right; the last one is too close to the one in use. */
const SHARES = [0.86, 0.88, 0.879, 0.84, 0.902, 0.903, 0.921, 0.9, 0.935, 0.936, 0.91, 0.944, 0.946];

/** @param runs as many as `SHARES`, oldest first; the last one waits for a person */
export async function fillModels(at: Ground, runs: readonly RunRecord[]): Promise<void> {
  const declared = declarationOf('digits');
  const objective = { metric: 'val_accuracy', mode: 'max' } as const;
  for (const [place, share] of SHARES.entries()) {
    const run = runs[place];
    if (run === undefined) return;
    const key = `${bucketKeys.models('digits', run.runId)}model.tar.gz`;
    at.store.put(key, `weights ${place} `.repeat(4_000));
    at.store.put(bucketKeys.scores('digits', run.runId), scoresOf(share, place));
    const declaration = {
      ...declared,
      promote: { whenBetterBy: 0, confidence: 0.95 },
      training: { ...declared.training, objective },
    };
    const { known } = await modelsOf(at, 'digits');
    const current = known.models.find(({ state }) => state === 'current');
    if (current !== undefined)
      Object.assign(run, { startedFrom: { runId: current.runId, uri: current.uri } });
    await at.runs.create(run);
    const clock = { ...at.clock, now: () => new Date(run.updatedAt) };
    await recordModel({ ...at, clock }, { ...run, declaration }, s3Uri(at.store.bucket, key));
  }
}

/** Mostly the same samples are hard for all models. */
const scoresOf = (share: number, model: number): string =>
  Array.from({ length: SAMPLES }, (_, sample) => {
    const hard = ((sample * 7_919) % SAMPLES) / SAMPLES;
    const luck = 0.08 * Math.sin(sample * 12.9898 * (model + 1));
    const label = String((sample * 31) % LABELS);
    const key = `${label}/${String(sample).padStart(4, '0')}.png`;
    return JSON.stringify({ key, val_accuracy: Number(hard + luck < share), label });
  }).join('\n');
