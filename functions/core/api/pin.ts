/** The answer to a person who pins a version of a dataset, or takes the pin out: a change of the stored declaration. */

import { own } from '@tidewheel/kit/own-property.ts';
import { readAllowedStored } from '../ingest/allowed.ts';
import { blobVersions, newestVersion, readVersion } from '../packing/model/versions.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { withPin } from '../pipeline/tuning.ts';
import { bucketKeys } from '../shared/keys.ts';
import { type AnswerOf, invalidStored, noPipeline, ok, problem, type RequestOf, refused } from './answers.ts';
import { bodyOf } from './body.ts';
import type { DatasetDeps } from './dataset.ts';
import { type PipelineDeps, putPipeline } from './pipelines.ts';
import { pinBody } from './schemas/dataset.ts';

export type PinDeps = PipelineDeps & Pick<DatasetDeps, 'blobs'>;

type Requested = RequestOf<'PUT /pipelines/{name}/dataset/pin'>;

const NOT_VALID = 'the pin is not valid';

/** Idempotent. */
export async function putPin(
  deps: PinDeps,
  request: Requested,
): AnswerOf<'PUT /pipelines/{name}/dataset/pin'> {
  const name = request.parameters['name'] ?? '';
  const asked = bodyOf(pinBody, request.body);
  if (!asked.ok) return refused(NOT_VALID, asked.problems);
  const generation = asked.value.generation ?? undefined;
  const stored = await deps.store.readText(bucketKeys.pipeline(name));
  if (stored === undefined) return noPipeline(name);
  const version = await versionOf(deps, name, generation);
  if ('problem' in version) return refused(NOT_VALID, [{ path: 'generation', message: version.problem }]);
  const changed = await writePin(deps, request, { text: stored.text, generation });
  return changed ?? ok({ name, pinned: generation, generations: version.generations });
}

/** @returns why it cannot be written; undefined once the declaration says so */
async function writePin(
  deps: PinDeps,
  request: Requested,
  { text, generation }: { readonly text: string; readonly generation: string | undefined },
) {
  const name = request.parameters['name'] ?? '';
  const before = declared(deps, name, text);
  if (before === undefined) return invalidStored(name);
  if (before.dataset?.pin === generation) return undefined;
  const after = withPin(text, generation);
  if (after === undefined || declared(deps, name, after)?.dataset?.pin !== generation)
    return problem(
      409,
      `the declaration of "${name}" writes dataset by an alias: change dataset.pin in its text`,
    );
  const { status, body } = await putPipeline(deps, { ...request, body: after });
  return 'message' in body ? { status, body } : undefined;
}

const declared = (deps: PinDeps, name: string, text: string): Pipeline | undefined => {
  const declaration = readAllowedStored({ ...deps, bucket: deps.store.bucket }, name, text);
  return declaration.valid ? declaration.pipeline : undefined;
};

/** What the next run trains on, beside what it packs itself where nothing is pinned. */
async function versionOf(
  { blobs: open }: PinDeps,
  pipeline: string,
  generation: string | undefined,
): Promise<{ readonly generations: readonly string[] } | { readonly problem: string }> {
  const chain = blobVersions(await open());
  const newest = await newestVersion(chain, pipeline);
  if (generation === undefined) return { generations: newest?.generations ?? [] };
  const number = own(newest?.added, generation);
  if (newest === undefined || number === undefined)
    return {
      problem: `is "${generation}", which no version of ${pipeline} ended with: give one of ${Object.keys(newest?.added ?? {}).join(', ') || 'none, as nothing is sealed yet'}`,
    };
  const { generations } = await readVersion(chain, pipeline, number);
  const gone = generations.filter((each) => newest.pruned.includes(each));
  return gone.length > 0
    ? { problem: `is "${generation}", from whose version ${gone.join(', ')} was pruned: give another` }
    : { generations };
}
