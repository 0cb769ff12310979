/** Launches an attempt's fleet: first its template and group, then the whole gang or nothing. */

import {
  type _InstanceType,
  CreateFleetCommand,
  type CreateFleetError,
  CreateLaunchTemplateCommand,
  CreatePlacementGroupCommand,
  type EC2Client,
} from '@aws-sdk/client-ec2';
import { isEc2Type, isLaterType } from '@tidewheel/declaration/instance-types.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { FleetPlan } from '../../launch/ec2/fleet.ts';
import type { FleetRequest } from '../../launch/ec2/fleet-request.ts';
import {
  createFleetResult,
  explainedError,
  isNotSeenYet,
  type RequestedGang,
} from '../../launch/ec2/fleet-result.ts';
import { refusalFiles } from '../../launch/ec2/host-requests.ts';
import { type CreateOutcome, refusalOf } from '../../launch/job/training-service.ts';
import { awsErrorClass } from '../../records/aws-error-class.ts';
import { describeError, isAnswer, unlessThere } from '../shared/aws-errors.ts';
import { fleetHosts, terminateHosts } from './fleet-hosts.ts';
import { fleetFolderOf } from './fleet-memory.ts';

export async function launchFleet(
  ec2: EC2Client,
  store: ObjectStore,
  plan: FleetPlan,
): Promise<CreateOutcome> {
  const types = plan.fleet.LaunchTemplateConfigs.flatMap(({ Overrides }) => Overrides).map(
    ({ InstanceType }) => InstanceType,
  );
  const unknown = types.find((type) => !isInstanceType(type));
  if (unknown !== undefined)
    return {
      kind: 'invalid',
      message: `EC2 has no instance type "${unknown}": correct compute.instanceTypes`,
    };
  const { DefaultTargetCapacityType, TotalTargetCapacity } = plan.fleet.TargetCapacitySpecification;
  const gang = {
    instanceType: types[0] ?? '',
    purchaseOption: DefaultTargetCapacityType === 'spot' ? 'spot' : 'on-demand',
    hosts: TotalTargetCapacity,
  } as const;
  try {
    // The token finds only a recent fleet, because EC2 forgets tokens. The tag finds older ones, too.
    if ((await fleetHosts(ec2, plan.name)).length > 0) return { kind: 'alreadyExists' };
    for (const { key, text } of plan.objects) await store.writeText(key, text);
    if (plan.placementGroup !== undefined) {
      await unlessThere(ec2.send(new CreatePlacementGroupCommand(plan.placementGroup)));
    }
    await unlessThere(ec2.send(new CreateLaunchTemplateCommand(plan.launchTemplate)));
    const refused = await refusalsOf(store, plan.name);
    const ClientToken = tokenOf(plan, refused.count);
    const { outcome, errors } = await requestFleet(ec2, { ...plan.fleet, ClientToken }, gang);
    if (outcome.kind !== 'created') await refused.add(errors);
    return outcome;
  } catch (error) {
    return launchFailure(error, gang);
  }
}

/** Ends a gang that comes incomplete. */
export async function requestFleet(ec2: EC2Client, request: FleetRequest, gang: RequestedGang) {
  const LaunchTemplateConfigs = request.LaunchTemplateConfigs.map((config) => ({
    ...config,
    Overrides: config.Overrides.flatMap(({ InstanceType, ...rest }) =>
      isInstanceType(InstanceType) ? [{ InstanceType, ...rest }] : [],
    ),
  }));
  const answer = await ec2.send(new CreateFleetCommand({ ...request, LaunchTemplateConfigs }));
  const { outcome, incompleteGang } = createFleetResult(answer, gang);
  // The end of the attempt, and the sweeps after it, end them too.
  await terminateHosts(ec2, incompleteGang).catch(() => undefined);
  const instanceIds = (answer.Instances ?? []).flatMap(({ InstanceIds = [] }) => InstanceIds);
  return { outcome, instanceIds, errors: answer.Errors ?? [] };
}

/**
 * EC2 does nothing more for a token that it has answered. So a fleet without instances has used its token up, and the
 * next try, when EC2 knows a new role for example, needs another.
 * https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
 */
const tokenOf = ({ fleet }: FleetPlan, refused: number): string =>
  refused === 0 ? fleet.ClientToken : `${fleet.ClientToken}-t${refused + 1}`;

async function refusalsOf(store: ObjectStore, jobName: string) {
  const folder = fleetFolderOf(store, jobName);
  if (folder === undefined) throw new Error(`${jobName} is no job of this installation`);
  let count = 0;
  for await (const _ of store.list(folder + refusalFiles.folder)) count += 1;
  return {
    count,
    add: (errors: readonly CreateFleetError[]) =>
      store.writeText(folder + refusalFiles.key(count + 1), JSON.stringify({ errors })),
  };
}

// The catalog's list, because the SDK's enumeration would add 40 KB to the bundles.
export const isInstanceType = (type: string): type is _InstanceType => isEc2Type(type) || isLaterType(type);

export function launchFailure(error: unknown, gang: RequestedGang): CreateOutcome {
  const kind = awsErrorClass(error);
  const code = error instanceof Error ? error.name : '';
  const message = explainedError(code, describeError(error), gang);
  if (isNotSeenYet(code)) return { kind: 'throttled', message };
  if (kind === 'unknown' && !isAnswer(error)) throw error;
  return refusalOf(kind, message);
}
