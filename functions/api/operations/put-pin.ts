import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type Pipeline, withPin } from '@tidewheel/declaration/pipeline.ts';
import { list } from '@tidewheel/kit/fields.ts';
import { own } from '@tidewheel/kit/own-property.ts';
import { blobVersions, newestVersion, readVersion } from '@tidewheel/packing/dataset.ts';
import * as z from 'zod';
import { readAllowedStored } from '../../run/ingest/allowed.ts';
import { invalidStored, noPipeline, ok, problem, refused } from '../shared/answers.ts';
import { type ApiDeps, CHANGES, defineOperation, jsonBodyOf } from '../shared/operation.ts';
import { rulesOf } from '../shared/stored-declaration.ts';
import { declare } from './put-pipeline.ts';

const NOT_VALID = 'the pin is not valid';

const pinBody = z.strictObject({
  generation: z.string().nullable().describe('Such as digits-000003; null takes the pin out.'),
});

/** A change of the stored declaration. Idempotent. */
export const putPin = defineOperation(
  {
    ...CHANGES,
    route: 'PUT /pipelines/{name}/dataset/pin',
    id: 'putPin',
    summary: 'Pins a version of the dataset in the stored declaration, or takes the pin out.',
    body: { schema: pinBody, required: true },
    answer: z.object({
      name: z.string(),
      pinned: z.string().optional(),
      generations: list(z.string()).describe(
        'What runs that close from now on train on; without a pin, beside what they pack themselves.',
      ),
    }),
  },
  async (deps, { parameters: { name }, body }) => {
    const asked = jsonBodyOf(pinBody, body);
    if (!asked.ok) return refused(NOT_VALID, asked.problems);
    const generation = asked.value.generation ?? undefined;
    const stored = await deps.store.readText(bucketKeys.pipeline(name));
    if (stored === undefined) return noPipeline(name);
    const version = await versionOf(deps, name, generation);
    if ('problem' in version) return refused(NOT_VALID, [{ path: 'generation', message: version.problem }]);
    const changed = await writePin(deps, { name, text: stored.text, generation });
    return changed ?? ok({ name, pinned: generation, generations: version.generations });
  },
);

/** @returns why it cannot be written; undefined once the declaration says so */
async function writePin(
  deps: ApiDeps,
  {
    name,
    text,
    generation,
  }: { readonly name: string; readonly text: string; readonly generation: string | undefined },
) {
  const before = declared(deps, name, text);
  if (before === undefined) return invalidStored(name);
  if (before.dataset?.pin === generation) return undefined;
  const after = withPin(text, generation);
  if (after === undefined || declared(deps, name, after)?.dataset?.pin !== generation)
    return problem(
      409,
      `the declaration of "${name}" writes dataset by an alias: change dataset.pin in its text`,
    );
  const { status, body } = await declare(deps, name, after);
  return 'message' in body ? { status, body } : undefined;
}

const declared = (deps: ApiDeps, name: string, text: string): Pipeline | undefined => {
  const declaration = readAllowedStored(rulesOf(deps), name, text);
  return declaration.valid ? declaration.pipeline : undefined;
};

/** What the next run trains on, beside what it packs itself where nothing is pinned. */
async function versionOf(
  { blobs: open }: ApiDeps,
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
