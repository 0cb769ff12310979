/** What a plan reads, over a ground in memory and an account in order. */
import type { PlanDeps } from '../../../functions/api/plan/answer-plan.ts';
import { account, network, seen } from '../builders/account.ts';
import { market, vpc } from '../builders/placement.ts';
import { marketSource } from '../market/source.ts';
import type { Ground } from './ground.ts';

/** Those of the declared network, each in its zone. */
const SUBNETS = network().subnets.flatMap((subnet) =>
  vpc.subnets.map((declared) => ({ ...subnet, ...declared })),
);

export const planDeps = (at: Ground, over: Partial<PlanDeps> = {}): PlanDeps => ({
  ...at,
  bucket: at.store.bucket,
  market: marketSource(market),
  roles: new Map(['LaunchRole', 'PackShardsRole', 'OnArrivalRole'].map((id) => [id, `tw-${id}`])),
  stage: 'dev',
  stateMachineArn: 'arn:aws:states:us-east-1:123456789012:stateMachine:tidewheel-dev-run',
  viewIn: () => account({ network: async () => seen(network({ subnets: SUBNETS })) }),
  tooLate: () => new Promise(() => {}),
  ...over,
});
