import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { writtenSchema } from '@tidewheel/declaration/pipeline.ts';
import { pastScheduleProblems } from '@tidewheel/declaration/read.ts';
import * as z from 'zod';
import { readAllowedDeclaration } from '../../run/ingest/allowed.ts';
import { registerPipeline } from '../../run/ingest/register-pipeline.ts';
import { ok, problem } from '../shared/answers.ts';
import { declaredBeyond } from '../shared/fence.ts';
import type { Fence } from '../shared/fence-headers.ts';
import { type ApiDeps, CHANGES, defineOperation } from '../shared/operation.ts';
import { rulesOf } from '../shared/stored-declaration.ts';

const woken = z.union([
  z.object({ kind: z.enum(['started', 'running']), runId: z.string() }),
  z.object({ kind: z.literal('ignored'), reason: z.string() }),
]);

export const storedPipeline = z.object({
  name: z.string(),
  kind: z.enum(['valid', 'gone']),
  woken: woken.optional().describe('The run that data which was there before started.'),
});

/** The body is the declaration in YAML or JSON. Only a valid one is stored. */
export const putPipeline = defineOperation(
  {
    ...CHANGES,
    route: 'PUT /pipelines/{name}',
    id: 'putPipeline',
    risk: 'money',
    summary: 'Declares a pipeline. Only a valid declaration is stored.',
    body: { schema: writtenSchema, required: true, yaml: true },
    answer: storedPipeline,
    refusals: [409],
  },
  async (deps, { parameters: { name }, body, fence }) => declare(deps, name, body, fence),
);

export async function declare(deps: ApiDeps, name: string, text: string, fence?: Fence) {
  const declaration = readAllowedDeclaration(rulesOf(deps), name, text);
  const problems = declaration.valid
    ? pastScheduleProblems(declaration.pipeline, deps.clock.now())
    : declaration.problems;
  if (problems.length > 0) return problem(400, `the declaration of "${name}" is not valid`, problems);
  const beyond = declaration.valid ? await declaredBeyond(deps, fence, declaration.pipeline) : undefined;
  if (beyond !== undefined) return beyond;
  await deps.store.writeText(bucketKeys.pipeline(name), text);
  const registered = await registerPipeline(deps, name);
  if (registered.kind === 'invalid')
    return problem(400, `the declaration of "${name}" is stored, but not valid`, registered.problems);
  return ok({ name, ...registered });
}
