/** Replaces lost hosts in the steps that `nextRefillStep` decides. After a death, the next look continues. */

import { TransientError } from '@tidewheel/kit/errors.ts';
import { fleetRequest } from '../../launch/ec2/fleet-request.ts';
import type { FleetInstance } from '../../launch/ec2/fleet-view.ts';
import { hostRequests, type Round } from '../../launch/ec2/host-requests.ts';
import { nextRefillStep, type RefillStep } from '../../launch/ec2/refill.ts';
import type { CreateOutcome } from '../../launch/job/training-service.ts';
import type { RefillOutcome } from '../../launch/launcher.ts';
import { terminateHosts } from './fleet-hosts.ts';
import { isInstanceType, launchFailure, requestFleet } from './fleet-launch.ts';
import { type FleetDeps, type FleetMemory, readFleet } from './fleet-memory.ts';

/** Enough for two losses of open, launch and begin. The next look takes further steps. */
const STEPS_A_LOOK = 8;

/** @param warned instances with an interruption notice */
export async function refill(
  deps: FleetDeps,
  jobName: string,
  warned: readonly string[],
): Promise<RefillOutcome> {
  // EC2 may list a new instance only after some seconds.
  const launched: FleetInstance[] = [];
  for (let steps = 0; steps < STEPS_A_LOOK; steps += 1) {
    const fleet = await readFleet(deps, jobName);
    if (fleet === undefined) return { kind: 'none' };
    const { memory, instances: listed } = fleet;
    const known = new Set(listed.map(({ instanceId }) => instanceId));
    const instances = [...listed, ...launched.filter(({ instanceId }) => !known.has(instanceId))];
    const now = deps.clock.now();
    const { folder: _, document, ...said } = memory;
    const step = nextRefillStep({ jobName, ...document, ...said, instances, warned, now });
    const instanceType = instances.find((each) => each.instanceType !== undefined)?.instanceType;
    const outcome = await act(deps, { jobName, memory, step, instanceType, launched });
    if (outcome !== undefined) return outcome;
  }
  throw new TransientError(
    `the hosts of ${jobName} changed ${STEPS_A_LOOK} times during one look: the next try continues`,
  );
}

interface RefillContext {
  readonly jobName: string;
  readonly memory: FleetMemory;
  readonly step: RefillStep;
  readonly instanceType: string | undefined;
  readonly launched: FleetInstance[];
}

/** @returns undefined when the next step can follow at once */
async function act(deps: FleetDeps, context: RefillContext): Promise<RefillOutcome | undefined> {
  const { step, memory } = context;
  switch (step.kind) {
    case 'none':
      return memory.rounds === undefined ? { kind: 'none' } : { kind: 'whole', round: memory.rounds.round };
    case 'impossible':
      return step;
    case 'open':
      await deps.store.createText(
        memory.folder + hostRequests.round(step.round.round),
        JSON.stringify(step.round),
      );
      return undefined;
    case 'launch':
      return launchMissing(deps, context, step.round);
    case 'end':
      await terminateHosts(deps.ec2, step.instanceIds);
      return { kind: 'refilling', round: step.round };
    case 'begin': {
      const { round, members } = step;
      const text = JSON.stringify({ round: round.round, members });
      await deps.store.createText(memory.folder + hostRequests.members(round.round), text);
      return { kind: 'refilling', round };
    }
    case 'wait':
      return { kind: 'refilling', round: step.round };
  }
}

async function launchMissing(
  { ec2, clock }: FleetDeps,
  { jobName, memory, instanceType: selected, launched }: RefillContext,
  round: Round,
): Promise<RefillOutcome | undefined> {
  const { Tags, instanceType: requested, managedSpot } = memory.document;
  const instanceType = selected ?? requested.replace(/^ml\./, '');
  if (!isInstanceType(instanceType))
    return { kind: 'impossible', why: `EC2 has no instance type "${instanceType}"` };
  const purchaseOption = managedSpot ? 'spot' : 'on-demand';
  const gang = { instanceType, purchaseOption, hosts: round.missing } as const;
  const request = fleetRequest({
    name: jobName,
    tags: Tags,
    capacityType: purchaseOption,
    instanceTypes: [instanceType],
    hosts: round.missing,
    round: round.round,
  });
  let outcome: CreateOutcome;
  try {
    const answer = await requestFleet(ec2, request, gang);
    ({ outcome } = answer);
    for (const instanceId of answer.instanceIds)
      launched.push({ instanceId, state: 'pending', launchedAt: clock.now(), round: round.round });
  } catch (error) {
    outcome = launchFailure(error, gang);
  }
  if (outcome.kind === 'created' || outcome.kind === 'alreadyExists') return undefined;
  if (outcome.kind === 'throttled')
    throw new TransientError(`EC2 cannot refill ${jobName} now: ${outcome.message}`);
  return { kind: 'impossible', why: `EC2 cannot replace them: ${outcome.message}` };
}
