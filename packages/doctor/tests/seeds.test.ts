/** Simulated trainings whose cause is known: the full set is `npm run bench:doctor`. */
import { describe, expect, it } from 'vitest';
import { caseOf } from '../../../bench/doctor/generate.ts';
import { score, sharesOf } from '../../../bench/doctor/score.ts';
import { play } from '../../../bench/doctor/simulate.ts';

const SEEDS = Array.from({ length: 31 }, (_, k) => 5_001 + k);

describe('as many seeds as causes are drawn in turn', () => {
  const scored = SEEDS.map(score);

  it.each(scored.map((each) => [each.truth, each] as const))('%s is the first verdict', (truth, { said }) => {
    expect(said).toBe(truth);
  });

  it('forecast their gains within 20 % mostly', () => {
    expect(sharesOf(scored).gainWithin20).toBeGreaterThanOrEqual(0.8);
  });
});

describe('a simulated training', () => {
  const { workload } = caseOf(4);
  const recorded = play(workload);

  it('is the same for the same seed', () => {
    expect(play(workload).seconds).toBe(recorded.seconds);
  });

  it('accounts for every second of a step', () => {
    const shares = recorded.evidence.points.map(({ shares: { wait, compute, save, exchange } }) =>
      Math.abs(wait + compute + save + exchange - 1),
    );
    expect(Math.max(...shares)).toBeLessThan(1e-6);
  });

  it('uses no more cores than there are', () => {
    const { cpu } = play(caseOf(6).workload).evidence.points[3] ?? {};
    expect(cpu?.all).toBeLessThanOrEqual(cpu?.cores ?? 0);
  });

  it('ends sooner with the workers that it lacked', () => {
    const more = play({ ...workload, workers: workload.workers + 2 });
    expect(more.seconds).toBeLessThan(recorded.seconds);
  });
});
