/** The run of a decided campaign, as the run store knows it before its first attempt. */

import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  runOf,
} from '../../../test/support/builders/records.ts';
import { memoryStores } from '../../../test/support/fakes/stores.ts';
import type { Setting } from '../../../test/support/market/job.ts';
import { TYPE, ZONE_IDS } from './market.ts';

export const HOUR = 3_600;
export const RUN = 'camp-000002';

export async function openCampaign({ workSeconds, deadlineSeconds }: Setting, zoneIds: readonly string[]) {
  const stores = memoryStores();
  const compute = {
    instanceTypes: [TYPE],
    nodes: 1,
    vpc: {
      securityGroupIds: ['sg-1'],
      subnets: zoneIds.map((zoneId, k) => ({ id: `subnet-${k + 1}`, zoneId })),
    },
  };
  const limits = { deadlineHours: deadlineSeconds / HOUR, attempts: 50 };
  // Later images have no code for the V100 of p3.
  const training = { strategy: 'ddp', frameworkVersion: '2.8' };
  const declaration = declarationOf('camp', { training, compute, limits });
  // A former run tells how long the work is, as the simulator's policy knows it.
  await stores.runs.create(runOf('camp', 1, { status: 'succeeded', declaration }));
  const outcome = outcomeOf('completed', { trainingSeconds: workSeconds, endedAt: '2026-10-01T00:00:00Z' });
  const placement = placementOf({
    pool: { instanceType: TYPE, zoneId: ZONE_IDS[0] ?? '', launcher: 'sagemaker', purchaseOption: 'spot' },
    topology: { nodes: 1, acceleratorsPerNode: 1 },
  });
  await stores.attempts.create(attemptOf('camp-000001', 1, { outcome, placement }));
  await stores.runs.create(runOf('camp', 2, { declaration, closedAt: AT }));
  return stores;
}
