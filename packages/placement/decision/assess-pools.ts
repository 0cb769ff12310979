/** Assesses every pool of a situation by the current beliefs about the market. */

import { once } from '@tidewheel/kit/once.ts';
import { beliefModel } from '../belief/beliefs.ts';
import { fittedRegimes } from '../belief/regimes.ts';
import { assess } from './assess.ts';
import { type Assessed } from './assessment.ts';
import type { Situation } from './situation.ts';

export const model = once(() => beliefModel(fittedRegimes));

export function assessPools(situation: Situation): readonly Assessed[] {
  const { candidates, work, secondsLeft, slackSeconds } = situation;
  return assess(candidates, {
    model: model(),
    observations: situation.observations,
    records: situation.records,
    work,
    fallbacks: situation.fallbacks,
    secondsLeft,
    spotSeconds: slackSeconds + work.workSeconds,
    timeUsd: situation.timeUsd,
    nowMilliseconds: situation.nowMilliseconds,
  });
}
