import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { list, problemSchema } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { registerPipeline } from '../../run/ingest/register-pipeline.ts';
import { noPipeline, ok } from '../shared/answers.ts';
import { CHANGES, defineOperation } from '../shared/operation.ts';
import { storedPipeline } from './put-pipeline.ts';

/** Runs that train finish, and all data stays. */
export const deletePipeline = defineOperation(
  {
    ...CHANGES,
    route: 'DELETE /pipelines/{name}',
    id: 'deletePipeline',
    risk: 'loss',
    summary: 'Deletes the declaration and ends its schedule. Runs and data stay.',
    /** Another kind than `gone` says that it was declared again meanwhile. */
    answer: storedPipeline.extend({
      kind: z.enum(['valid', 'invalid', 'gone']),
      problems: list(problemSchema).optional(),
    }),
    refusals: [404],
  },
  async (deps, { parameters: { name } }) => {
    const key = bucketKeys.pipeline(name);
    const isDeclared = (await deps.store.readText(key)) !== undefined;
    if (isDeclared) await deps.store.delete(key);
    const record = await deps.pipelines.get(name);
    // A second call also ends what the first one, which may have died, did not reach.
    if (!isDeclared && (record === undefined || record.removedAt !== undefined)) return noPipeline(name);
    return ok({ name, ...(await registerPipeline(deps, name)) });
  },
);
