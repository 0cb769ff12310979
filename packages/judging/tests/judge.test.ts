import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import { errorAt, type Judged, judge, judgeNumber } from '../judge.ts';

const RULE = { kind: 'whenBetterBy', margin: { points: 0 }, confidence: 0.95 } as const;

/** `right` samples of so many are right, from the first one on. */
const tableOf = (values: readonly number[]) => new Map(values.map((value, k) => [`a/${k}.png`, { value }]));
const bits = (right: number, of: number) => tableOf(Array.from({ length: of }, (_, k) => Number(k < right)));
const judged = (change: Partial<Judged>): Judged => ({
  metric: 'accuracy',
  mode: 'max',
  rule: RULE,
  candidate: bits(90, 100),
  current: bits(80, 100),
  look: 1,
  ...change,
});

describe('a candidate', () => {
  it('is the first where no model is in use', () => {
    expect(judge(judged({ current: undefined }))).toMatchObject({ verdict: 'first', mean: 0.9 });
  });

  it('without a sample has no mean', () => {
    expect(judge(judged({ candidate: bits(0, 0) }))).toEqual({
      verdict: 'rejected',
      reasons: expect.arrayContaining([expect.stringContaining('no sample has a score')]) as string[],
    });
  });

  it('is better where ten samples changed sides for it alone', () => {
    const judgement = judge(judged({}));
    expect(judgement).toMatchObject({ verdict: 'better', sides: { gained: 10, lost: 0 } });
    expect(judgement.difference).toMatchObject({ test: 'mcnemar', pairs: 100, better: expect.closeTo(0.1) });
    expect(judgement.difference?.chance).toBeCloseTo(0.5 ** 10, 12);
  });

  it('shows nothing with the higher number alone', () => {
    const judgement = judge(judged({ candidate: bits(82, 100) }));
    expect(judgement.verdict).toBe('inconclusive');
    expect(judgement.samplesNeeded).toBeGreaterThan(300);
    expect(judgement.reasons[1]).toMatch(/a difference like this one takes about [\d,]+ samples/);
  });

  it('is not better where it lost ten samples', () => {
    const judgement = judge(judged({ candidate: bits(70, 100) }));
    expect(judgement.verdict).toBe('notBetter');
    expect(judgement.worst?.map(({ key }) => key)).toHaveLength(10);
    expect(judgement.worst?.[0]).toMatchObject({ key: 'a/70.png', candidate: 0, current: 1 });
  });

  it('has to show more at each later comparison', () => {
    expect(judge(judged({ look: 10 })).verdict).toBe('inconclusive');
    expect(judge(judged({ look: 6 })).verdict).toBe('better');
    const spent = Array.from({ length: 10_000 }, (_, k) => errorAt(k + 1, 0.95));
    expect(spent.reduce((sum, error) => sum + error, 0)).toBeCloseTo(0.05, 4);
  });

  it('wins by a lower loss in mode min', () => {
    const uniform = seededUniform('losses');
    const losses = Array.from({ length: 400 }, () => 0.5 + uniform());
    const lower = losses.map((loss) => loss - 0.05 - 0.1 * uniform());
    const judgement = judge(
      judged({ metric: 'loss', mode: 'min', candidate: tableOf(lower), current: tableOf(losses) }),
    );
    expect(judgement).toMatchObject({ verdict: 'better', difference: { test: 'mean' } });
    expect(judgement.difference?.better).toBeCloseTo(0.1, 2);
    expect(judgement.difference?.interval[0]).toBeGreaterThan(0.09);
  });

  it('may lose less than notWorseBy allows', () => {
    const rule = { kind: 'notWorseBy', margin: { share: 0.05 }, confidence: 0.95 } as const;
    expect(judge(judged({ rule, candidate: bits(895, 1000), current: bits(900, 1000) })).verdict).toBe(
      'better',
    );
    expect(judge(judged({ rule, candidate: bits(800, 1000), current: bits(900, 1000) })).verdict).toBe(
      'notBetter',
    );
  });

  it('counts groups, not samples, where samples come in groups', () => {
    const alone = judge(judged({}));
    const groupOf = (key: string) => String(Math.floor(Number(/\d+/.exec(key)?.[0]) / 10));
    const grouped = judge(judged({ groupOf }));
    expect(alone.verdict).toBe('better');
    expect(grouped).toMatchObject({ verdict: 'inconclusive', difference: { groups: 10, pairs: 100 } });
  });

  it('never replaces a model below promote.atLeast', () => {
    const judgement = judge(judged({ rule: { ...RULE, atLeast: 0.95 } }));
    expect(judgement.verdict).toBe('notBetter');
    expect(judgement.reasons).toEqual(['accuracy 0.9 on 100 samples, below the 0.95 of promote.atLeast']);
  });
});

describe('scores that decide nothing', () => {
  it('are rejected where samples of the model in use are missing', () => {
    const judgement = judge(judged({ candidate: bits(90, 98) }));
    expect(judgement.verdict).toBe('rejected');
    expect(judgement.reasons[0]).toBe(
      '2 samples that the model in use was scored on have no score of this one, such as a/98.png: evaluate both on the same samples',
    );
  });

  it('are rejected where one evaluation scored other samples', () => {
    const judgement = judge(judged({ candidate: bits(90, 103), isOneSet: true }));
    expect(judgement.verdict).toBe('rejected');
    expect(judgement.reasons).toEqual([
      '3 samples of this one have no score of the model in use, such as a/100.png: have the evaluation score the same samples each time',
    ]);
  });

  it('are rejected where there is none', () => {
    expect(judge(judged({ candidate: new Map() })).verdict).toBe('rejected');
  });

  it('are inconclusive where no sample has both', () => {
    const judgement = judge(judged({ current: new Map() }));
    expect(judgement).toMatchObject({
      verdict: 'inconclusive',
      reasons: [expect.stringMatching(/evaluate it on/)],
    });
  });
});

describe('one number', () => {
  const asked = { metric: 'accuracy', mode: 'max', rule: { ...RULE, atLeast: 0.8 } } as const;

  it.each([
    [0.9, false, 'first', 'accuracy 0.9, as one number; no model was in use'],
    [0.9, true, 'inconclusive', 'no difference can be tested without a score for each sample'],
    [0.7, true, 'notBetter', 'below the 0.8 of promote.atLeast'],
    [undefined, false, 'rejected', 'printed no finite number for accuracy'],
  ])('of %s, with one in use %s, ends as %s', (value, hasCurrent, verdict, reason) => {
    const judgement = judgeNumber(value, { ...asked, hasCurrent });
    expect(judgement).toMatchObject({ verdict, reasons: [expect.stringContaining(reason)] });
  });
});

describe('new samples', () => {
  it('are counted apart from those that both were scored on', () => {
    const judgement = judge(judged({ candidate: bits(100, 150), current: bits(80, 100) }));
    expect(judgement.difference?.pairs).toBe(100);
    expect(judgement.fresh).toEqual({ samples: 50, mean: 0 });
  });

  it('are judged by both models where both were scored on them', () => {
    const both = { candidate: bits(140, 150), current: bits(80, 150), isOneSet: true };
    const judgement = judge(judged({ ...both, earlier: new Set(bits(0, 100).keys()) }));
    expect(judgement.difference?.pairs).toBe(150);
    expect(judgement.earlier).toMatchObject({ samples: 100, mean: 1, current: 0.8, sides: { gained: 20 } });
    expect(judgement.fresh).toMatchObject({ samples: 50, mean: 0.8, current: 0, better: 0.8 });
    expect(judgement.reasons[2]).toMatch(
      /^on 100 earlier ones 1 against 0\.8: \+0\.2 \(.+\), on 50 new ones 0\.8 against 0: \+0\.8 \(.+\)$/,
    );
  });

  it('have no interval where they are few', () => {
    const both = { candidate: bits(101, 101), current: bits(80, 101) };
    const { fresh } = judge(judged({ ...both, earlier: new Set(bits(0, 100).keys()) }));
    expect(fresh).toEqual({ samples: 1, mean: 1, current: 0, better: 1, sides: { gained: 1, lost: 0 } });
  });

  it('show each class by itself', () => {
    const label = (k: number) => (k < 30 ? 'cat' : 'dog');
    const scored = (right: number) =>
      new Map(
        Array.from({ length: 100 }, (_, k) => [String(k), { value: Number(k < right), label: label(k) }]),
      );
    const { byLabel } = judge(judged({ candidate: scored(90), current: scored(80) }));
    expect(byLabel).toEqual([
      { label: 'dog', samples: 70, candidate: expect.closeTo(60 / 70), current: expect.closeTo(50 / 70) },
      { label: 'cat', samples: 30, candidate: 1, current: 1 },
    ]);
  });
});
