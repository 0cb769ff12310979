/** The answers about pipelines. */
import { readAllowedDeclaration } from '../ingest/allowed.ts';
import { type RegisterDeps, registerPipeline } from '../ingest/register-pipeline.ts';
import { pastScheduleProblems } from '../pipeline/schedule.ts';
import { upgradedText } from '../pipeline/tuning.ts';
import { bucketKeys } from '../shared/keys.ts';
import { type AnswerOf, noPipeline, ok, problem, type RequestOf } from './answers.ts';
import { pageOf, requestedPage, steppedOver } from './paging.ts';

export type PipelineDeps = RegisterDeps;

export async function listPipelines(
  { pipelines }: PipelineDeps,
  { query }: RequestOf<'GET /pipelines'>,
): AnswerOf<'GET /pipelines'> {
  const page = requestedPage('pipelines', query);
  if ('problem' in page) return problem(400, page.problem);
  const { tell, said } = steppedOver();
  const found = await pipelines.list({ ...page, limit: page.limit + 1, tell });
  const { items, ...next } = pageOf('pipelines', { found, limit: page.limit }, ({ name }) => name);
  return ok({ pipelines: items, ...said(), ...next });
}

export async function getPipeline(
  { pipelines, store }: PipelineDeps,
  { parameters }: RequestOf<'GET /pipelines/{name}'>,
): AnswerOf<'GET /pipelines/{name}'> {
  const name = parameters['name'] ?? '';
  const [record, stored] = await Promise.all([
    pipelines.get(name),
    store.readText(bucketKeys.pipeline(name)),
  ]);
  if (stored === undefined) return noPipeline(name);
  return ok({ ...record, name, declaration: upgradedText(stored.text) });
}

/** The body is the declaration in YAML or JSON. Only a valid one is stored. */
export async function putPipeline(
  deps: PipelineDeps,
  { parameters, body }: RequestOf<'PUT /pipelines/{name}'>,
): AnswerOf<'PUT /pipelines/{name}'> {
  const name = parameters['name'] ?? '';
  const declaration = declarationOf(deps, name, body);
  const problems = declaration.valid
    ? pastScheduleProblems(declaration.pipeline, deps.clock.now())
    : declaration.problems;
  if (problems.length > 0) return problem(400, `the declaration of "${name}" is not valid`, problems);
  await deps.store.writeText(bucketKeys.pipeline(name), body);
  const registered = await registerPipeline(deps, name);
  if (registered.kind === 'invalid')
    return problem(400, `the declaration of "${name}" is stored, but not valid`, registered.problems);
  return ok({ name, ...registered });
}

/** Runs that train finish, and all data stays. */
export async function deletePipeline(
  deps: PipelineDeps,
  { parameters }: RequestOf<'DELETE /pipelines/{name}'>,
): AnswerOf<'DELETE /pipelines/{name}'> {
  const name = parameters['name'] ?? '';
  const key = bucketKeys.pipeline(name);
  const isDeclared = (await deps.store.readText(key)) !== undefined;
  if (isDeclared) await deps.store.delete(key);
  const record = await deps.pipelines.get(name);
  // A second call also ends what the first one, which may have died, did not reach.
  if (!isDeclared && (record === undefined || record.removedAt !== undefined)) return noPipeline(name);
  return ok({ name, ...(await registerPipeline(deps, name)) });
}

const declarationOf = (deps: PipelineDeps, name: string, text: string) =>
  readAllowedDeclaration({ ...deps, bucket: deps.store.bucket }, name, text);
