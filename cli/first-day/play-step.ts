/** Plays one step of any kind and says how it went. */

import { launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Declaration } from '@tidewheel/declaration/read.ts';
import { problemText } from '@tidewheel/kit/errors.ts';
import { ec2Market } from '../../functions/aws/market/ec2-market.ts';
import { ec2In } from '../../functions/aws/shared/compute-clients.ts';
import { checkDeployment } from '../../functions/check/check-deployment.ts';
import type { Finding } from '../../functions/check/finding.ts';
import { launcherChecks } from '../../functions/check/launcher-checks.ts';
import { readAllowedDeclaration } from '../../functions/run/ingest/allowed.ts';
import type { OpenDeployment } from '../deployment/open-deployment.ts';
import { declarationOf, type Ground, playRun } from './play-run.ts';
import type { StepResult } from './results.ts';
import type { RunFacts } from './run-facts.ts';
import { type Hosts, STEPS, type Step } from './steps.ts';

export interface StepDeps {
  readonly deployment: OpenDeployment;
  readonly ground: Ground;
  readonly hosts: Hosts | undefined;
  readonly isLocal: boolean;
  readonly testObjectId: () => string;
  /** What to change so that what failed in this way succeeds; else what failed. */
  readonly explain: (error: unknown) => string;
}

type RunStep = Extract<Step, { kind: 'run' }>;
type Found = Omit<StepResult, 'number' | 'at' | 'seconds'>;

/**
 * A step that cannot be played to its end is `failed`, with the reason.
 * @throws Error once the signal is aborted
 */
export async function playStep(step: Step, deps: StepDeps): Promise<StepResult> {
  const began = deps.ground.now();
  const found = await foundBy(step, deps).catch((error: unknown): Found => {
    if (deps.ground.signal.aborted) throw error;
    return { outcome: 'failed', lines: [deps.explain(error)] };
  });
  const seconds = (deps.ground.now().getTime() - began.getTime()) / 1_000;
  return { number: step.number, at: began.toISOString(), seconds, ...found };
}

/** Why the step cannot be played; undefined if it can. */
export function obstacleTo(
  step: Step,
  { isLocal, hosts }: Pick<StepDeps, 'isLocal' | 'hosts'>,
): string | undefined {
  if (step.kind !== 'run') return undefined;
  if (isLocal && step.notLocal !== undefined) return `the local region cannot play it: ${step.notLocal}`;
  return step.needsHosts && hosts === undefined
    ? 'name --subnet, --zone-id, --security-group and --image'
    : undefined;
}

async function foundBy(step: Step, deps: StepDeps): Promise<Found> {
  const obstacle = obstacleTo(step, deps);
  if (obstacle !== undefined) return { outcome: 'notPossibleHere', lines: [obstacle] };
  switch (step.kind) {
    case 'byHand':
      return { outcome: 'byHand', lines: [step.instructions] };
    case 'check':
      return foundByCheck(deps);
    case 'scores':
      return foundByScores(deps);
    case 'run': {
      const declaration = declarationIn(step, deps);
      const lacking = declaration.valid
        ? await lackingQuotas(declaration.pipeline, deps.deployment)
        : declaration.problems.map(problemText);
      if (lacking.length > 0) return { outcome: 'notPossibleHere', lines: [...lacking] };
      const pipeline = stepPipeline(step);
      const facts = await playRun({ pipeline, plan: step.plan, hosts: deps.hosts }, deps.ground);
      if (facts === undefined)
        return {
          outcome: 'differs',
          goesOn: true,
          lines: [
            `no report of pipeline ${pipeline} within ${step.plan.patienceMinutes} minutes: start again to wait for it longer`,
          ],
        };
      return judge(facts, step.plan.differences(facts, step.plan));
    }
  }
}

export const stepPipeline = ({ number }: Step): string => `first-day-${number}`;

/** What the step will declare, as the service will judge it: by what the deployment allows. */
function declarationIn(
  step: RunStep,
  { deployment, hosts }: Pick<StepDeps, 'deployment' | 'hosts'>,
): Declaration {
  const pipeline = stepPipeline(step);
  return readAllowedDeclaration(deployment, pipeline, declarationOf({ pipeline, plan: step.plan, hosts }));
}

/** Quotas without which no attempt of the step can start: nothing is dropped for it then. */
async function lackingQuotas(
  pipeline: Pipeline,
  { region, viewIn }: OpenDeployment,
): Promise<readonly string[]> {
  const groups = await Promise.all(
    launchersOf(pipeline.compute).map(async (launcher) =>
      launcherChecks[launcher].quotaFindings(
        { pipelines: [pipeline], region, launcher },
        await viewIn(region).quotas(launcher),
      ),
    ),
  );
  return groups.flat().flatMap((each) => (each.kind === 'fails' ? lineOf(each) : []));
}

function lineOf(finding: Finding): readonly string[] {
  const { kind, check, field } = finding;
  if (kind === 'passed') return [];
  const value = kind === 'notSeen' ? '' : `${finding.value}: `;
  return [`${kind}: ${check}: ${field}: ${value}${finding.message} → ${finding.remedy}`];
}

const judge = (facts: RunFacts, differences: readonly string[]): Found => ({
  outcome: differences.length === 0 ? 'asExpected' : 'differs',
  costUsd: facts.costUsd,
  lines: [
    ...differences,
    `samples sealed: ${facts.samples}, attempts: ${facts.attempts.length}, interruptions: ${facts.interruptions}, seconds lost: ${facts.lostSeconds.toFixed(0)}`,
    ...facts.attempts.map(
      ({ attempt, outcome, fromStep, toStep, trainingSeconds, message }) =>
        `attempt ${attempt}: ${outcome}, steps ${fromStep} to ${toStep}, ${trainingSeconds.toFixed(0)} s: ${message}`,
    ),
  ],
});

/** Of what is declared, and of what the further steps will declare. The network of the closed one would fail by design. */
async function foundByCheck(deps: StepDeps): Promise<Found> {
  const { testObject, ...rest } = deps.deployment;
  const { coming, refused } = comingPipelines(deps);
  const declared = rest.pipelines.filter(({ name }) => coming.every((each) => each.name !== name));
  const findings = await checkDeployment({
    ...rest,
    pipelines: [...declared, ...coming],
    recorded: undefined,
    testObject: { id: deps.testObjectId(), ...testObject },
  });
  const isFailing = refused.length > 0 || findings.some(({ kind }) => kind === 'fails');
  return {
    outcome: isFailing ? 'differs' : 'asExpected',
    lines: [
      ...refused,
      ...findings.flatMap(lineOf),
      `${findings.filter(({ kind }) => kind === 'passed').length} checks passed`,
    ],
  };
}

interface Coming {
  readonly coming: readonly Pipeline[];
  /** What the deployment does not allow the further steps, a line each. */
  readonly refused: readonly string[];
}

function comingPipelines(deps: StepDeps): Coming {
  const coming: Pipeline[] = [];
  const refused: string[] = [];
  for (const step of STEPS) {
    if (step.kind !== 'run' || obstacleTo(step, deps) !== undefined) continue;
    const declaration = declarationIn(step, deps);
    if (!declaration.valid)
      refused.push(...declaration.problems.map((each) => `step ${step.number}: ${problemText(each)}`));
    else if (!step.needsHosts) coming.push(declaration.pipeline);
  }
  return { coming, refused };
}

async function foundByScores({ deployment, ground }: StepDeps): Promise<Found> {
  const { region } = deployment;
  const market = ec2Market({ ec2: ec2In(region), region, clock: { now: ground.now } });
  const answer = await market.scores(['g4dn.xlarge', 'g5.xlarge', 'g6.xlarge'], 1);
  if (answer.kind === 'unknown')
    return { outcome: 'differs', lines: [`${answer.failure}: ${answer.message}`] };
  return {
    outcome: 'asExpected',
    lines: [
      `${answer.value.length} zones with scores from ${Math.min(...answer.value.map(({ score }) => score))}`,
    ],
  };
}
