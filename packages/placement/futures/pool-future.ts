/**
 * One drawn future of a Spot pool: when its capacity goes and comes again, by the fitted chain in continuous time. Rates
 * are drawn as well, because the chain was fitted to other pools than this one.
 */

import { pick } from '@tidewheel/kit/seeded-random.ts';
import { type Belief, fittedRegimes } from '../belief/regimes.ts';

export interface PoolFuture {
  /** Times are seconds from now, and must not fall from call to call. */
  isUp(at: number): boolean;
  /** When it next changes between capacity and none. */
  changeAfter(at: number): number;
}

/** How this pool differs from the chain, as factors: 1 is the chain itself. */
interface PoolRates {
  /** On every rate. */
  readonly speed: number;
  /** On the return of capacity, and its inverse on the loss. */
  readonly abundance: number;
}

const HALF = fittedRegimes.ratesPerHour.length / 2;
const isUpIn = (regime: number): boolean => regime < HALF;

/** From one regime: the rates a second within its side and to the other one, and where each leads. */
const EXITS = fittedRegimes.ratesPerHour.map((row, from) => {
  const toSide = (other: boolean) => {
    const rates = row.map((rate, to) => ((isUpIn(to) === isUpIn(from)) === other ? 0 : rate / 3_600));
    const rate = rates.reduce((sum, each) => sum + each, 0);
    return { rate, shares: rates.map((each) => (rate > 0 ? each / rate : 0)) };
  };
  return { within: toSide(false), across: toSide(true) };
});

export function drawPool(belief: Belief, { speed, abundance }: PoolRates, draw: () => number): PoolFuture {
  let regime = pick(belief, draw());
  let clock = 0;
  let isUpNow = isUpIn(regime);
  const nextChange = (): number => {
    for (;;) {
      const exits = EXITS[regime];
      if (exits === undefined) return Number.POSITIVE_INFINITY;
      const across = exits.across.rate * speed * (isUpNow ? 1 / abundance : abundance);
      const rate = exits.within.rate * speed + across;
      if (rate <= 0) return Number.POSITIVE_INFINITY;
      clock -= Math.log(1 - draw()) / rate;
      const leaves = draw() * rate < across;
      regime = pick((leaves ? exits.across : exits.within).shares, draw());
      if (leaves) return clock;
    }
  };
  let change = nextChange();
  const goTo = (at: number): void => {
    while (change <= at) {
      isUpNow = !isUpNow;
      change = nextChange();
    }
  };
  return {
    isUp(at) {
      goTo(at);
      return isUpNow;
    },
    changeAfter(at) {
      goTo(at);
      return change;
    },
  };
}
