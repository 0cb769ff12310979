/** Plays one step of any kind and says how it went. */
import { ec2Market } from '../../functions/aws/market/ec2-market.ts';
import { ec2In } from '../../functions/aws/shared/compute-clients.ts';
import { checkDeployment } from '../../functions/core/deployment/check-deployment.ts';
import type { Deployment } from '../deployment/open-deployment.ts';
import { type Ground, playRun, removePipeline } from './play-run.ts';
import type { StepResult } from './results.ts';
import type { RunFacts } from './run-facts.ts';
import type { Hosts, Step } from './steps.ts';

export interface StepDeps {
  readonly deployment: Deployment;
  readonly ground: Ground;
  readonly hosts: Hosts | undefined;
  readonly isLocal: boolean;
  readonly testObjectId: () => string;
}

type Found = Omit<StepResult, 'number' | 'at' | 'seconds'>;

export async function playStep(step: Step, deps: StepDeps): Promise<StepResult> {
  const began = deps.ground.now();
  const found = await foundBy(step, deps);
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
      const pipeline = `first-day-${step.number}`;
      const facts = await playRun({ pipeline, plan: step.plan, hosts: deps.hosts }, deps.ground);
      // The pipeline of a run that goes on stays, so that the next start can wait for it.
      if (facts === undefined)
        return { outcome: 'differs', lines: [`no report within ${step.plan.patienceMinutes} minutes`] };
      await removePipeline(deps.ground.store, pipeline);
      return judge(facts, step.plan.differences(facts));
    }
  }
}

const judge = (facts: RunFacts, differences: readonly string[]): Found => ({
  outcome: differences.length === 0 ? 'asExpected' : 'differs',
  costUsd: facts.costUsd,
  lines: [
    ...differences,
    `${facts.samples} samples sealed, ${facts.attempts.length} attempts, ${facts.interruptions} interruptions, ${facts.lostSeconds.toFixed(0)} s lost`,
    ...facts.attempts.map(
      ({ attempt, outcome, fromStep, toStep, trainingSeconds, message }) =>
        `attempt ${attempt}: ${outcome}, steps ${fromStep} to ${toStep}, ${trainingSeconds.toFixed(0)} s: ${message}`,
    ),
  ],
});

async function foundByCheck({ deployment, testObjectId }: StepDeps): Promise<Found> {
  const { testObject, ...rest } = deployment;
  const findings = await checkDeployment({ ...rest, testObject: { id: testObjectId(), ...testObject } });
  const troubles = findings.flatMap((each) =>
    each.kind === 'passed' ? [] : [`${each.kind}: ${each.check}: ${each.field}: ${each.message}`],
  );
  return {
    outcome: findings.some(({ kind }) => kind === 'fails') ? 'differs' : 'asExpected',
    lines: [...troubles, `${findings.length - troubles.length} checks passed`],
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
