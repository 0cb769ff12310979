/** The answer to `POST /plan`, in a function of its own: it may look at the account, and at nothing that starts anything. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { pipelineNameProblem } from '@tidewheel/declaration/pipeline.ts';
import { changeDeclaration, type Declaration } from '@tidewheel/declaration/read.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { TooManyArrivalsError } from '@tidewheel/packing/plan.ts';
import type * as z from 'zod';
import type { RunRecord } from '../../records/run-records.ts';
import { whyNoRetry } from '../../run/attempts/retry-run.ts';
import {
  type DeploymentRules,
  onlyAllowed,
  readAllowedDeclaration,
  readAllowedStored,
} from '../../run/ingest/allowed.ts';
import { planRun as operation } from '../operations/plan-run.ts';
import {
  type ApiRequest,
  type ApiResponse,
  noPipeline,
  noRun,
  ok,
  problem,
  type Refusal,
  refused,
} from '../shared/answers.ts';
import { roleRefusal, whileAwsAnswers } from '../shared/failures.ts';
import { answering, jsonBodyOf } from '../shared/operation.ts';
import type { PeopleRoles } from '../shared/people.ts';
import { type PlanRunDeps, planRun } from './plan-run.ts';

export interface PlanDeps extends PlanRunDeps, DeploymentRules {
  readonly people: PeopleRoles;
}

export async function answerPlan(deps: PlanDeps, request: ApiRequest): Promise<ApiResponse> {
  const refusal = roleRefusal(deps, request, operation.role);
  return refusal ?? whileAwsAnswers(() => respond(deps, request));
}

const respond = answering(operation, async (deps: PlanDeps, { body }) => {
  const asked = jsonBodyOf(operation.body.schema, body);
  if (!asked.ok) return problem(400, 'the plan is not valid', asked.problems);
  const { pipeline: name, change, data } = asked.value;
  const nameProblem = pipelineNameProblem(name);
  if (nameProblem !== undefined)
    return problem(400, `pipeline is "${name}", which cannot name a pipeline: ${nameProblem}`);
  const declared = await declaredBy(deps, asked.value);
  if ('status' in declared) return declared;
  const declaration = changed(deps, declared.declaration, change);
  if (!declaration.valid)
    return problem(400, `the declaration of "${name}" is not valid`, declaration.problems);
  const { pipeline } = declaration;
  try {
    return ok({ pipeline: name, ...(await planRun(deps, { pipeline, data, ended: declared.ended })) });
  } catch (error: unknown) {
    if (error instanceof TooManyArrivalsError)
      return problem(409, `${error.message}: say how many there are with data.files and data.bytes`);
    // A run would fail with it, such as a split that is not that of earlier generations.
    if (error instanceof ConfigurationError) return problem(409, error.message);
    throw error;
  }
});

async function declaredBy(
  deps: PlanDeps,
  { pipeline: name, declaration: given, data, retryOf }: z.output<typeof operation.body.schema>,
): Promise<Refusal | { readonly declaration: Declaration; readonly ended?: RunRecord }> {
  if (retryOf !== undefined) {
    const beside = Object.entries({ declaration: given, data }).filter(([, value]) => value !== undefined);
    const message = 'is that of the run: leave it out beside retryOf';
    if (beside.length > 0)
      return refused(
        'the plan is not valid',
        beside.map(([path]) => ({ path, message })),
      );
    const ended = await deps.runs.get(retryOf);
    if (ended?.declaration === undefined || ended.pipeline !== name) return noRun(retryOf);
    const why = await whyNoRetry(deps, ended);
    if (why !== undefined) return problem(409, why);
    return { declaration: { valid: true, pipeline: ended.declaration }, ended };
  }
  const text = given ?? (await deps.store.readText(bucketKeys.pipeline(name)))?.text;
  if (text === undefined) return noPipeline(name);
  const read = given === undefined ? readAllowedStored : readAllowedDeclaration;
  return { declaration: read(deps, name, text) };
}

const changed = (
  deployment: DeploymentRules,
  declaration: Declaration,
  change: Readonly<Record<string, unknown>> | undefined,
): Declaration =>
  declaration.valid && change !== undefined
    ? onlyAllowed(deployment, changeDeclaration(declaration.pipeline, JSON.stringify(change)))
    : declaration;
