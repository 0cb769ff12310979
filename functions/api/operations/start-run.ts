import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { type Pipeline, runPartsOf, withParts } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { list } from '@tidewheel/kit/fields.ts';
import type { Checked } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { isThere } from '../../launch/source/pin-source.ts';
import type { RunRecord, RunRequest } from '../../records/run-records.ts';
import { requestRun } from '../../run/ingest/request-run.ts';
import { accepted, problem } from '../shared/answers.ts';
import { beyondFence, openRunId } from '../shared/fence.ts';
import { type ApiDeps, CHANGES, defineOperation, jsonBodyOf } from '../shared/operation.ts';
import { fieldsOf, readableVersion } from '../shared/overrides.ts';
import { changeAllowed, storedDeclaration } from '../shared/stored-declaration.ts';

/** A part of a declaration that holds for this run alone, and what it is a part of. */
const startBody = z
  .looseObject({
    again: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]*-\d{6,}$/, 'name a run such as digits-000041')
      .optional()
      .describe(
        'Train as this run did: its declaration, data and source. Absent: as the pipeline declares now.',
      ),
    source: z
      .enum(['pinned', 'current'])
      .optional()
      .describe('With `again`, pinned (the usual): the source of that run; current: as it is now.'),
    clientToken: z
      .string()
      .regex(/^[\w-]{1,64}$/, 'write up to 64 letters, digits, - and _')
      .optional()
      .describe('A repeated call with the same token is answered with the same run.'),
  })
  .describe(
    'Besides, parts of a declaration for this run alone, such as { "training": { "startFrom": "none" }, "limits": { "budgetUsd": 6 } }. startFrom is none, last, current, a run or an archive (docs/pipeline.md).',
  );

/**
 * As the pipeline declares, with changes for this run alone, or as an earlier run did. Idempotent by `clientToken`. Without
 * one, the same call again is answered with the same run until that has settled.
 */
export const startRun = defineOperation(
  {
    ...CHANGES,
    route: 'POST /pipelines/{name}/runs',
    id: 'startRun',
    risk: 'money',
    summary: 'Starts the run of the open batch, as declared, with changes, or as an earlier run.',
    body: { schema: startBody, required: false },
    status: 202,
    answer: z.object({
      kind: z.enum(['started', 'running']),
      runId: z.string(),
      changed: list(z.string()).describe('Fields that hold for this run alone.'),
      again: z.string().optional().describe('The run that it does again.'),
    }),
  },
  async (deps, { parameters: { name }, body, caller, fence }) => {
    const declared = await storedDeclaration(deps, name);
    if ('status' in declared) return declared;
    const asked = jsonBodyOf(startBody, body);
    if (!asked.ok) return problem(400, 'the run is not valid', asked.problems);
    const shape = await shapeOf(deps, declared.pipeline, { asked: asked.value, text: body });
    if (!shape.ok) return problem(400, 'the run is not valid', shape.problems);
    const { budgetUsd } = (shape.value.parts ?? declared.pipeline).limits;
    const runId = await openRunId(deps, name);
    const beyond = await beyondFence(deps, fence, { runId, bound: budgetUsd, before: 0 });
    if (beyond !== undefined) return beyond;
    const woken = await requestRun(deps, {
      pipeline: name,
      request: {
        ...shape.value,
        at: deps.clock.now().toISOString(),
        requestedBy: caller,
        tokens: asked.value.clientToken === undefined ? [] : [asked.value.clientToken],
      },
    });
    return woken.kind === 'ignored'
      ? problem(409, woken.reason)
      : accepted({ ...woken, changed: shape.value.changed, again: shape.value.again });
  },
);

type Shape = Pick<RunRequest, 'changed' | 'again' | 'source' | 'parts'>;

/** All that is wrong at once. */
async function shapeOf(
  deps: ApiDeps,
  declared: Pipeline,
  { asked, text }: { readonly asked: z.output<typeof startBody>; readonly text: string },
): Promise<Checked<Shape>> {
  const { again, source = again === undefined ? 'current' : 'pinned', clientToken: _, ...fields } = asked;
  const changed = fieldsOf(fields);
  const model = await modelOf(deps, declared.name, again);
  if (!model.ok) return model;
  const base = model.value === undefined ? declared : withParts(declared, partsAgain(model.value));
  const declaration = changeAllowed(deps, base, text, { besides: OWN_FIELDS });
  const problems = [
    ...packingProblems(changed),
    ...(await sourceProblems(deps, model.value, source)),
    ...(declaration.valid
      ? await versionProblems(deps, declared, declaration.pipeline)
      : declaration.problems),
  ];
  if (!declaration.valid || problems.length > 0) return { ok: false, problems };
  if (model.value === undefined && changed.length === 0) return { ok: true, value: { changed } };
  const pinned = source === 'pinned' ? model.value?.source : undefined;
  return {
    ok: true,
    value: { changed, again, source: pinned, parts: runPartsOf(declaration.pipeline) },
  };
}

const OWN_FIELDS = ['again', 'source', 'clientToken'];

interface Model extends RunRecord {
  readonly declaration: Pipeline;
}

/** The run to do again. */
async function modelOf(
  { runs }: ApiDeps,
  pipeline: string,
  again: string | undefined,
): Promise<Checked<Model | undefined>> {
  if (again === undefined) return { ok: true, value: undefined };
  const run = await runs.get(again);
  if (run?.declaration !== undefined && run.pipeline === pipeline && run.probe === undefined)
    return { ok: true, value: { ...run, declaration: run.declaration } };
  const message =
    run === undefined
      ? `there is no run "${again}": GET /pipelines/${pipeline}/runs lists them`
      : run.probe !== undefined
        ? `"${again}" is a probe, which trains a few steps: start a run with its settings`
        : run.pipeline === pipeline
          ? `"${again}" has no declaration, because it has not settled: name another run`
          : `"${again}" is a run of ${run.pipeline}: start it there (POST /pipelines/${run.pipeline}/runs)`;
  return { ok: false, problems: [{ path: 'again', message }] };
}

/** On the data that it trained on. */
function partsAgain({ declaration, generations }: Model) {
  const parts = runPartsOf(declaration);
  const pin = parts.pin ?? generations?.at(-1);
  return { ...parts, ...(pin !== undefined && { pin }) };
}

/** Of a section that says how generations are packed, one run may have another version alone. */
const packingProblems = (changed: readonly string[]): Problem[] =>
  changed
    .filter((field) => /^(tuning\.)?dataset\./.test(field) && field !== 'dataset.pin')
    .map((path) => ({
      path,
      message: 'cannot be changed for one run: change dataset.pin, or the declaration of the pipeline',
    }));

async function sourceProblems(
  { store }: ApiDeps,
  run: RunRecord | undefined,
  source: 'pinned' | 'current',
): Promise<Problem[]> {
  if (source === 'current') return [];
  const path = 'source';
  if (run === undefined)
    return [{ path, message: 'is "pinned", but no run is named: name it as again, or leave source out' }];
  if (run.source === undefined)
    return [{ path, message: `is "pinned", but no source of ${run.runId} was kept: send "current"` }];
  return (await isThere(store, run.pipeline, run.source))
    ? []
    : [{ path, message: `is "pinned", but the source of ${run.runId} was deleted: send "current"` }];
}

async function versionProblems(
  deps: ApiDeps,
  { name, dataset: declared }: Pipeline,
  declaration: Pipeline,
): Promise<Problem[]> {
  const pin = declaration.dataset?.pin;
  if (pin === undefined || pin === declared?.pin) return [];
  const batch = (await deps.pipelines.get(name))?.openBatch ?? 1;
  const runId = runIdOf(name, batch);
  const version = await readableVersion(deps.store, { runId, pipeline: name, batch, declaration });
  return 'problem' in version ? [version.problem] : [];
}
