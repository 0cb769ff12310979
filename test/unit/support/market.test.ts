import { describe, expect, it } from 'vitest';
import { drawTraces, nextSpell, TICK_SECONDS } from '../../support/market/traces.ts';

const trace = Array.from('0110', (each) => each === '1');

describe('a spell with capacity', () => {
  it.each([
    [0, { startsIn: TICK_SECONDS, endsIn: 3 * TICK_SECONDS }],
    [1.5, { startsIn: 0, endsIn: 1.5 * TICK_SECONDS }],
    [3, undefined],
    [9, undefined],
  ])('is found from tick %d on', (tick, spell) => {
    expect(nextSpell(trace, tick * TICK_SECONDS)).toEqual(spell);
  });

  it('ends with the trace', () => {
    expect(nextSpell([true], 0)).toEqual({ startsIn: 0, endsIn: TICK_SECONDS });
  });
});

it('zones and seeds have traces of their own', () => {
  const traces = [...drawTraces(1, 3, 500), ...drawTraces(2, 1, 500)];
  expect(new Set(traces.map((each) => each.join())).size).toBe(4);
  // The long run of the chain has capacity for half of the time.
  const firsts = Array.from({ length: 200 }, (_, seed) => drawTraces(seed, 1, 1)[0]?.[0] === true);
  expect(firsts.filter(Boolean).length).toBeGreaterThan(80);
  expect(firsts.filter(Boolean).length).toBeLessThan(130);
});
