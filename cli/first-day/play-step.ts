/** Plays one step of any kind and says how it went. */
import { ec2Market } from '../../functions/aws/market/ec2-market.ts';
import { ec2In } from '../../functions/aws/shared/compute-clients.ts';
import { checkDeployment } from '../../functions/core/deployment/check-deployment.ts';
import type { Finding } from '../../functions/core/deployment/finding.ts';
import { launcherChecks } from '../../functions/core/deployment/launcher-checks.ts';
import { readDeclaration } from '../../functions/core/pipeline/declaration.ts';
import { launchersOf } from '../../functions/core/pipeline/launchers.ts';
import type { Pipeline } from '../../functions/core/pipeline/pipeline.ts';
import type { Deployment } from '../deployment/open-deployment.ts';
import { declarationOf, type Ground, playRun } from './play-run.ts';
import type { StepResult } from './results.ts';
import type { RunFacts } from './run-facts.ts';
import { type Hosts, STEPS, type Step } from './steps.ts';

export interface StepDeps {
  readonly deployment: Deployment;
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
      const lacking = await lackingQuotas(step, deps);
      if (lacking.length > 0) return { outcome: 'notPossibleHere', lines: [...lacking] };
      const pipeline = pipelineName(step);
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

export const pipelineName = ({ number }: Step): string => `first-day-${number}`;

function pipelineOf(step: RunStep, hosts: Hosts | undefined): Pipeline {
  const name = pipelineName(step);
  const read = readDeclaration(name, declarationOf({ pipeline: name, plan: step.plan, hosts }));
  if (read.valid) return read.pipeline;
  const problems = read.problems.map(({ path, message }) => `${path}: ${message}`);
  throw new Error(`step ${step.number} cannot be declared: ${problems.join('; ')}`);
}

/** Quotas without which no attempt of the step can start: nothing is dropped for it then. */
async function lackingQuotas(
  step: RunStep,
  { deployment: { region, viewIn }, hosts }: StepDeps,
): Promise<readonly string[]> {
  const pipeline = pipelineOf(step, hosts);
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

/** Of what is declared, and of what the further steps will declare, but for the step in a closed network. */
async function foundByCheck({ deployment, hosts, isLocal, testObjectId }: StepDeps): Promise<Found> {
  const { testObject, ...rest } = deployment;
  const coming = STEPS.flatMap((step) =>
    step.kind === 'run' && !step.needsHosts && obstacleTo(step, { isLocal, hosts }) === undefined
      ? [pipelineOf(step, hosts)]
      : [],
  );
  const declared = rest.pipelines.filter(({ name }) => coming.every((each) => each.name !== name));
  const findings = await checkDeployment({
    ...rest,
    pipelines: [...declared, ...coming],
    testObject: { id: testObjectId(), ...testObject },
  });
  return {
    outcome: findings.some(({ kind }) => kind === 'fails') ? 'differs' : 'asExpected',
    lines: [
      ...findings.flatMap(lineOf),
      `${findings.filter(({ kind }) => kind === 'passed').length} checks passed`,
    ],
  };
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
