/**
 * EC2's quotas of vCPUs: refuses instant fleets and RunInstances that would pass them. Other fleets, and launches whose
 * type only a launch template names, are not counted.
 */

import {
  DescribeFleetsCommand,
  type EC2Client,
  type Instance,
  paginateDescribeInstances,
  type Reservation,
} from '@aws-sdk/client-ec2';
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { vcpuQuotaOf } from '@tidewheel/declaration/instance-types.ts';
import { Ec2Error } from './ec2-error.ts';
import type { Ec2Query } from './query.ts';
import type { Ec2Answer } from './service.ts';

type PurchaseOption = 'spot' | 'on-demand';

interface Launch {
  readonly types: readonly string[];
  readonly count: number;
  readonly purchaseOption: PurchaseOption;
}

export interface VcpuGate {
  /**
   * One launch after the other, so that two at once cannot share what is left.
   * @param launch called where the quotas allow it
   * @returns what a refused fleet is answered with; undefined when `launch` was called
   * @throws Ec2Error for a refused RunInstances
   */
  pass(action: string, query: Ec2Query, launch: () => Promise<void>): Promise<Ec2Answer | undefined>;
}

/** EC2's words: users of On-Demand cite the first; "Spot Instance quotas" of the user guide has the second. */
const ON_DEMAND = (limit: number) =>
  ({
    code: 'VcpuLimitExceeded',
    message:
      `You have requested more vCPU capacity than your current vCPU limit of ${limit} allows for the instance bucket ` +
      'that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to ' +
      'request an adjustment to this limit.',
  }) as const;
const SPOT = { code: 'MaxSpotInstanceCountExceeded', message: 'Max spot instance count exceeded' } as const;

/** @param quotaOf vCPUs that may run at once of the class of a type, in each purchase option */
export function vcpuGate(client: EC2Client, quotaOf: (instanceType: string) => number): VcpuGate {
  let turn: Promise<unknown> = Promise.resolve();
  const passInTurn = async (
    action: string,
    query: Ec2Query,
    launch: () => Promise<void>,
  ): Promise<Ec2Answer | undefined> => {
    const wanted = launchOf(action, query);
    if (wanted === undefined || (await hasRoom(client, wanted, quotaOf))) {
      await launch();
      return undefined;
    }
    const refusals = wanted.types.map((type) => ({
      type,
      ...(wanted.purchaseOption === 'spot' ? SPOT : ON_DEMAND(quotaOf(type))),
    }));
    if (action === 'CreateFleet') return fleetAnswer(refusals, wanted);
    const [refused = SPOT] = refusals;
    throw new Ec2Error(refused.code, refused.message);
  };
  return {
    pass: (action, query, launch) => {
      const passed = turn.then(() => passInTurn(action, query, launch));
      turn = passed.catch(() => undefined);
      return passed;
    },
  };
}

function launchOf(action: string, query: Ec2Query): Launch | undefined {
  if (action === 'RunInstances') {
    const type = query.text('InstanceType');
    if (type === undefined) return undefined;
    const purchaseOption = query.text('InstanceMarketOptions.MarketType') === 'spot' ? 'spot' : 'on-demand';
    return { types: [type], count: query.integer('MaxCount') ?? 1, purchaseOption };
  }
  if (action !== 'CreateFleet' || query.text('Type') !== 'instant') return undefined;
  const overrides = [...query.under('LaunchTemplateConfigs.')];
  const types = overrides.flatMap(([name, type]) =>
    /^\d+\.Overrides\.\d+\.InstanceType$/.test(name) ? [type] : [],
  );
  if (types.length === 0) return undefined;
  const capacity = 'TargetCapacitySpecification.';
  return {
    types,
    count: query.integer(`${capacity}TotalTargetCapacity`) ?? 1,
    purchaseOption: query.text(`${capacity}DefaultTargetCapacityType`) === 'spot' ? 'spot' : 'on-demand',
  };
}

/** Whether any of the types may be launched: EC2 launches all of them or none here. */
async function hasRoom(
  client: EC2Client,
  { types, count, purchaseOption }: Launch,
  quotaOf: (instanceType: string) => number,
): Promise<boolean> {
  const used = await usage(client, purchaseOption);
  return types.some((type) => {
    const inUse = used.get(codeOf(type, purchaseOption)) ?? 0;
    return inUse + count * vcpusOf(type) <= quotaOf(type);
  });
}

const codeOf = (type: string, purchaseOption: PurchaseOption): string =>
  vcpuQuotaOf(type, purchaseOption).codes[0];
/** A type that the catalog does not know counts nothing: the market must not stop what it cannot judge. */
const vcpusOf = (type: string): number => instanceFacts(type)?.vcpu ?? 0;

/** vCPUs in use, by the code of the quota. */
async function usage(
  client: EC2Client,
  purchaseOption: PurchaseOption,
): Promise<ReadonlyMap<string, number>> {
  const spotIds = await spotInstances(client);
  const used = new Map<string, number>();
  for await (const { Reservations = [] } of paginateDescribeInstances({ client }, {})) {
    for (const { InstanceId = '', InstanceType = '' } of Reservations.flatMap(livingOf)) {
      if (spotIds.has(InstanceId) !== (purchaseOption === 'spot')) continue;
      const code = codeOf(InstanceType, purchaseOption);
      used.set(code, (used.get(code) ?? 0) + vcpusOf(InstanceType));
    }
  }
  return used;
}

const livingOf = ({ Instances = [] }: Reservation): readonly Instance[] =>
  Instances.filter(({ State }) => State?.Name === 'pending' || State?.Name === 'running');

/** Only fleets tell the emulator's Spot instances from the others. */
async function spotInstances(client: EC2Client): Promise<ReadonlySet<string>> {
  const { Fleets = [] } = await client.send(new DescribeFleetsCommand({}));
  const parts = Fleets.flatMap(({ Instances = [] }) => Instances);
  return new Set(
    parts.filter(({ Lifecycle }) => Lifecycle === 'spot').flatMap(({ InstanceIds = [] }) => InstanceIds),
  );
}

/** An instant fleet that launches nothing is HTTP 200, with the reasons. */
export const fleetAnswer = (
  refusals: readonly { readonly type: string; readonly code: string; readonly message: string }[],
  { purchaseOption }: Pick<Launch, 'purchaseOption'>,
): Ec2Answer => ({
  fleetId: `fleet-${crypto.randomUUID()}`,
  fleetInstanceSet: [],
  errorSet: refusals.map(({ type, code, message }) => ({
    launchTemplateAndOverrides: { overrides: { instanceType: type } },
    lifecycle: purchaseOption,
    errorCode: code,
    errorMessage: message,
  })),
});
