import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evenly } from '../../../../test/support/builders/evenly.ts';
import { type Belief, fittedRegimes, observe } from '../../belief/regimes.ts';
import { IDLE, SPOT } from '../../policy/actions.ts';
import shipped from '../../policy/lattice-600.json' with { type: 'json' };
import { marketModel } from '../../policy/market-model.ts';
import { type ZoneQuestion, zoneChoice } from '../../policy/zone-choice.ts';

const HOUR = 3_600;
const model = marketModel(fittedRegimes, shipped);
const ask = zoneChoice(model);

/** What is believed of a zone after so many ticks with capacity, then so many without. */
function after(up: number, down: number): Belief {
  let belief: Belief = model.start;
  for (let tick = 0; tick < up + down; tick += 1)
    belief = observe(model.ahead(belief), tick < up ? 1 : 0, tick < up ? 0 : 1);
  return belief;
}

/** Zone 0 is at hand and has been for a day; zone 1 is cheaper, as good, and went ten minutes ago. */
interface ScoreAnswer extends Omit<ZoneQuestion, 'marketBeliefOf'> {
  readonly available: readonly boolean[];
  readonly beliefs: readonly Belief[];
}

const question = (change: Partial<ScoreAnswer> = {}): ScoreAnswer => ({
  restartSeconds: 720,
  spotUsd: [1.2, 0.9],
  available: [true, false],
  beliefs: [after(144, 0), after(144, 1)],
  workLeft: 12 * HOUR,
  slack: 12 * HOUR,
  atHand: 0,
  inUse: false,
  lasting: 0.95,
  ...change,
});

/** What to do, and in which zone or for which. */
function choose(requested: ScoreAnswer): { readonly action: number; readonly zone: number } {
  const cheaper = ask({
    ...requested,
    marketBeliefOf(zone) {
      const ahead = model.weights(requested.beliefs[zone] ?? model.start);
      return { chance: requested.available[zone] === true ? 1 : 0, ifThere: ahead, ifNot: ahead };
    },
  });
  if (cheaper === undefined) return { action: SPOT, zone: requested.atHand };
  expect(cheaper.savedUsd).toBeGreaterThan(0);
  return { action: cheaper.action, zone: cheaper.zone };
}

const cheaperIsBack = { available: [true, true], beliefs: [after(144, 0), after(144, 0)] };

describe('the choice of a zone', () => {
  it('waits for a cheaper zone while slack lasts', () => {
    expect(choose(question())).toEqual({ action: IDLE, zone: 1 });
  });

  it('leaves slack for outages of all zones', () => {
    expect(choose(question({ lasting: 0.4 }))).toEqual({ action: SPOT, zone: 0 });
    expect(choose(question({ lasting: 0 }))).toEqual({ action: SPOT, zone: 0 });
    expect(choose(question({ slack: HOUR }))).toEqual({ action: SPOT, zone: 0 });
  });

  it('does not wait for a zone long down', () => {
    const little = { slack: 2 * HOUR };
    expect(choose(question(little))).toEqual({ action: IDLE, zone: 1 });
    const longGone = { ...little, beliefs: [after(144, 0), after(0, 144)] };
    expect(choose(question(longGone))).toEqual({ action: SPOT, zone: 0 });
    expect(choose(question({ spotUsd: [1.2, 1.19], inUse: true }))).toEqual({ action: SPOT, zone: 0 });
  });

  it('moves to a cheaper zone when that pays', () => {
    const moving = { ...cheaperIsBack, inUse: true };
    expect(choose(question(moving))).toEqual({ action: SPOT, zone: 1 });
    expect(choose(question({ ...moving, workLeft: 0.5 * HOUR }))).toEqual({ action: SPOT, zone: 0 });
    expect(choose(question({ ...moving, spotUsd: [1.2, 1.19] }))).toEqual({ action: SPOT, zone: 0 });
  });

  it('leaves a job alone that ends in this tick', () => {
    const ending = fc.record({
      workLeft: evenly(1, 600),
      slack: evenly(0, 20 * HOUR),
      spotUsd: evenly(0.62, 1.19).map((cheaper) => [1.2, cheaper]),
    });
    fc.assert(
      fc.property(ending, fc.constantFrom({}, cheaperIsBack), (requested, back) => {
        const found = choose(question({ ...requested, ...back, restartSeconds: 600, inUse: true }));
        expect(found).toEqual({ action: SPOT, zone: 0 });
      }),
    );
  });

  it('starts in the cheaper zone unless too fresh', () => {
    expect(choose(question(cheaperIsBack))).toEqual({ action: SPOT, zone: 1 });
    const fresh = { available: [true, true], beliefs: [after(144, 0), after(0, 1)], spotUsd: [1.2, 1.15] };
    expect(choose(question({ ...fresh, slack: 3 * HOUR }))).toEqual({ action: SPOT, zone: 0 });
  });

  /** Mostly a cheaper zone with slack to wait for it or to move to it: else next to every draw would stay. */
  const anyQuestion = fc
    .record({
      slack: evenly(0, 20 * HOUR),
      workLeft: evenly(1, 30 * HOUR),
      price: evenly(0.1, 3),
      ratio: fc.oneof({ weight: 4, arbitrary: evenly(0.2, 0.9) }, { weight: 1, arbitrary: evenly(0.9, 3) }),
      up: fc.boolean(),
      ticks: fc.integer({ min: 1, max: 200 }),
      inUse: fc.boolean(),
      lasting: fc.oneof({ weight: 3, arbitrary: evenly(0.8, 1) }, { weight: 1, arbitrary: evenly(0, 0.8) }),
    })
    .map(({ price, ratio, up, ticks, ...rest }) =>
      question({
        ...rest,
        spotUsd: [price, price * ratio],
        available: [true, up],
        beliefs: [after(20, 0), up ? after(ticks, 0) : after(20, ticks)],
      }),
    );

  it('moves only where On-Demand still fits afterwards', () => {
    fc.assert(
      fc.property(anyQuestion, (requested) => {
        const { action, zone } = choose(requested);
        if (action === SPOT && zone === 0) return;
        const lost = action === IDLE ? model.tickSeconds : requested.restartSeconds;
        expect(requested.slack - lost).toBeGreaterThanOrEqual(2 * requested.restartSeconds);
        expect(requested.spotUsd[1]).toBeLessThan(requested.spotUsd[0] ?? 0);
        expect(action === IDLE || requested.available[zone]).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('waits for less where an hour is worth something', () => {
    const worth = (waitingUsd: number) =>
      choose(question({ spotUsd: [1.2 + waitingUsd, 0.9 + waitingUsd], waitingUsd })).action;
    expect(worth(0)).toBe(IDLE);
    expect(worth(0.01)).toBe(IDLE);
    expect(worth(2)).toBe(SPOT);
  });

  it('asks less readily for a less likely zone', () => {
    const belief = after(144, 0);
    const saved = [0.9, 0.7, 0.5, 0.3].map((chance) => {
      const ifThere = model.weights(observe(belief, 1, 0));
      const ifNot = model.weights(after(144, 1));
      const sightOf = () => ({ chance, ifThere, ifNot });
      return ask({ ...question({ inUse: true }), marketBeliefOf: sightOf })?.savedUsd ?? 0;
    });
    expect(saved[0]).toBeGreaterThan(0);
    expect(saved).toEqual(saved.toSorted((a, b) => b - a));
  });

  it('is the same in any currency', () => {
    fc.assert(
      fc.property(anyQuestion, (requested) => {
        const twice = { ...requested, spotUsd: requested.spotUsd.map((price) => 2 * price) };
        expect(choose(twice)).toEqual(choose(requested));
      }),
      { numRuns: 30 },
    );
  });
});
