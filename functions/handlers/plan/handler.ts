import { setTimeout as sleep } from 'node:timers/promises';
import { httpEvent, requestIn, resultOf } from '../../api/http-event.ts';
import { answerPlan } from '../../api/plan/answer-plan.ts';
import { trainingViewIn } from '../../aws/account/training-view.ts';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { regionPaths, whyClosed } from '../../aws/s3/region-buckets.ts';
import { config } from '../../aws/shared/config.ts';
import { capacityOffers, marketOf, reservations } from '../../wiring/markets.ts';
import { clock, objects, tableStores } from '../../wiring/services.ts';

/** API Gateway waits 30 seconds. */
const LONGEST_LOOK_MILLISECONDS = 20_000;

export const handler = lambdaHandler('plan', httpEvent, async (event) => {
  const bucket = config.bucket();
  const deps = {
    ...tableStores(),
    ...objects(),
    ...config.plan(),
    bucket,
    stateMachineArn: config.stateMachineArn(),
    notifiedMarker: config.notifiedMarker(),
    allowed: config.allowed(),
    people: config.people(),
    market: marketOf(config.region()),
    reservations: reservations(),
    offers: capacityOffers(),
    regions: {
      market: marketOf,
      whyClosed: (region: string) => whyClosed(region, regionPaths(region)),
    },
    viewIn: trainingViewIn,
    tooLate: () => sleep(LONGEST_LOOK_MILLISECONDS),
    clock,
  };
  return resultOf(await answerPlan(deps, requestIn(event)));
});
