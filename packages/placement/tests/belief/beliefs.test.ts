import { describe, expect, it } from 'vitest';
import type { Observation } from '../../belief/attempt-observations.ts';
import { beliefModel, believed, outlookOf } from '../../belief/beliefs.ts';
import { beginWalk, fittedRegimes, withRates } from '../../belief/regimes.ts';

const model = beliefModel(fittedRegimes);
const NOW = 1e12;
const pool = (instanceType: string, zoneId = 'use1-az1') =>
  ({ instanceType, zoneId, launcher: 'sagemaker', purchaseOption: 'spot' }) as const;
const seen = (secondsAgo: number, what: Observation['seen'], instanceType: string): Observation => ({
  ...pool(instanceType),
  atMilliseconds: NOW - secondsAgo * 1_000,
  seen: what,
});
const chance = (observations: readonly Observation[], score?: number, zoneId?: string): number =>
  outlookOf(model, pool('c6i.xlarge', zoneId), { observations: observations, score, nowMilliseconds: NOW })
    .chanceUp;

describe('the belief in a pool', () => {
  const wellAMomentAgo = seen(15, 'up', 'c6i.xlarge');
  const neighbourLost = seen(4, 'lost', 'm5.xlarge');

  it('drops when a neighbour loses capacity seconds later', () => {
    expect(chance([wellAMomentAgo])).toBeCloseTo(1);
    expect(chance([wellAMomentAgo, neighbourLost])).toBeLessThan(0.6);
    expect(chance([wellAMomentAgo, neighbourLost], 1)).toBeLessThan(0.2);
  });

  it('is left as it was in another zone', () => {
    expect(chance([neighbourLost], undefined, 'use1-az2')).toBeCloseTo(chance([], undefined, 'use1-az2'));
  });
});

describe('an attempt that held its hosts', () => {
  const first = seen(20 * 3_600, 'up', 'c6i.xlarge');
  const last = seen(0, 'up', 'c6i.xlarge');
  const held = { ...last, heldSinceMilliseconds: first.atMilliseconds };
  const of = (end: Observation, chain = model) =>
    outlookOf(chain, pool('c6i.xlarge'), { observations: [first, end], nowMilliseconds: NOW });
  const likelihoodsOf = (observations: readonly Observation[]) => (abundance: number) =>
    believed(beliefModel(withRates(fittedRegimes, abundance, 1)), pool('c6i.xlarge'), {
      observations,
      nowMilliseconds: NOW,
    }).logLikelihood;
  const HELD = 1_800_000;

  it('shows capacity from its start to its end', () => {
    expect(of(held).upSeconds).toBeGreaterThan(1.05 * of(last).upSeconds);
  });

  it('is explained best by a chain of long spells', () => {
    const likelihood = likelihoodsOf([first, held]);
    expect(likelihood(1.8)).toBeGreaterThan(Math.log(1.2) + likelihood(1));
    expect(likelihood(1)).toBeGreaterThan(Math.log(1.2) + likelihood(0.55));
  });

  it('is worth no less beside others', () => {
    const besides = (count: number) =>
      Array.from({ length: count }, (_, k) => {
        const atMilliseconds = NOW - ((k + 1) / count) * HELD;
        return { ...held, atMilliseconds, heldSinceMilliseconds: atMilliseconds - 40 * HELD };
      });
    const upSeconds = (count: number) =>
      outlookOf(model, pool('c6i.xlarge'), { observations: besides(count).reverse(), nowMilliseconds: NOW })
        .upSeconds;
    expect(upSeconds(8)).toBeGreaterThan(0.9 * upSeconds(1));
  });
});

it('has a finite likelihood whatever it learns', () => {
  const walk = beginWalk(model);
  for (let k = 0; k < 400; k += 1) walk.learn(k % 2 === 0 ? { up: 1, down: 0 } : { up: 0, down: 1 });
  expect(Math.exp(walk.logLikelihood())).toBe(0);
  expect(walk.logLikelihood()).toBeGreaterThan(-10_000);
});

it('passes many steps at once as one by one', () => {
  for (const steps of [1, 2, 7, 40, 63, 64, 65, 200]) {
    const [atOnce, oneByOne] = [beginWalk(model), beginWalk(model)];
    for (const walk of [atOnce, oneByOne]) walk.learn({ up: 1, down: 0 });
    atOnce.pass(steps);
    for (let k = 0; k < steps; k += 1) oneByOne.pass(1);
    const expected = oneByOne.belief();
    expect(expected).not.toEqual(model.start);
    for (const [regime, share] of atOnce.belief().entries())
      expect(share).toBeCloseTo(expected[regime] ?? 0, 10);
  }
});
