/** Arithmetic in fewer bits: what is known of it, and what a forecast may say. */
import type { Arithmetic } from '@tidewheel/contract/evidence.ts';
import { describe, expect, it } from 'vitest';
import { evidenceOf, type Means } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';

const STEPS = 20_000;
/** From docs/research/log.md: a vision transformer on an H200, a batch of 64; operations follow from its shapes. */
const MEASURED = { stepSeconds: 64 / 356.8, bfloat16: 64 / 1_784.9, tf32: 64 / 951.3 };
const seen = (given: Partial<Arithmetic>): Arithmetic => ({
  float32: 0,
  tf32: 0,
  bits16: 0,
  line: null,
  ...given,
});

const verdicts = (means: Means) =>
  diagnose(
    evidenceOf(
      [{ type: 'p5.4xlarge', gpuBusy: 1, stepSeconds: MEASURED.stepSeconds, ...means }],
      {},
      { steps: STEPS },
    ),
  );
const kinds = (means: Means): readonly (string | undefined)[] =>
  verdicts(means).flatMap(({ remedy, others = [] }) =>
    [remedy, ...others.map((each) => each.remedy)].map((each) => each?.change.kind),
  );

describe('a training in float32', () => {
  const means = { arithmetic: seen({ float32: 5.9e12, line: 'train.py:41 main' }) };
  const [top] = verdicts(means);

  it('is bound by it, at a line', () => {
    expect(top?.cause).toBe('compute-bound-in-float32');
    expect(top?.remedy?.text).toBe(
      "with torch.autocast('cuda', dtype=torch.bfloat16): around the forward pass, train.py:41 main",
    );
  });

  it('gains what was measured on an H200', () => {
    const saved = (MEASURED.stepSeconds - MEASURED.bfloat16) * STEPS;
    expect(saved).toBeGreaterThan(top?.gain.seconds.low ?? 0);
    expect(saved).toBeLessThan(top?.gain.seconds.high ?? 0);
    expect(Math.abs((top?.gain.seconds.expected ?? 0) / saved - 1)).toBeLessThan(0.2);
  });

  it('gains less by TF32, as measured', () => {
    const tf32 = top?.others?.find(({ remedy }) => remedy.change.kind === 'tf32');
    const saved = (MEASURED.stepSeconds - MEASURED.tf32) * STEPS;
    expect(saved).toBeGreaterThan(tf32?.gain.seconds.low ?? 0);
    expect(saved).toBeLessThan(tf32?.gain.seconds.high ?? 0);
  });

  it('that waits for its workers is not sped up', () => {
    const waiting = { ...means, shares: { wait: 0.5, compute: 0.5 }, gpuBusy: 0.45, workerBusy: 0.9 };
    expect(kinds(waiting)).not.toContain('bf16');
  });

  it.each(['g4dn.2xlarge', 'p3.2xlarge'])('takes float16 with a scaled loss on %s', (type) => {
    const [found] = verdicts({ ...means, arithmetic: seen({ float32: 5e11, line: 'a.py:41 main' }), type });
    expect(found?.cause).toBe('compute-bound-in-float32');
    expect(found?.remedy?.change).toEqual({ kind: 'fp16', line: 'a.py:41 main' });
    expect(found?.remedy?.text).toContain('GradScaler and its state_dict() in the checkpoint');
    expect(found?.others).toEqual([]);
    // No more than the published rates: 65 of 8.1 and 125 of 15.7 TFLOP/s.
    expect(found?.gain.seconds.high).toBeLessThan(0.88 * MEASURED.stepSeconds * STEPS);
    expect(found?.gain.seconds.low).toBeGreaterThan(0);
  });
});

it('TF32 may gain nothing, or half of the work', () => {
  const [top] = verdicts({ arithmetic: seen({ tf32: 5.9e12 }) });
  expect(top?.cause).toBe('compute-bound-in-float32');
  expect(top?.gain.seconds.low).toBeCloseTo(0, 0);
  expect(top?.gain.seconds.high).toBeCloseTo(0.5 * MEASURED.stepSeconds * STEPS, -1);
  expect(top?.others).toEqual([]);
});

it('16 bits get no such remedy', () => {
  const means = { arithmetic: seen({ bits16: 5e12, float32: 1e12 }) };
  expect(kinds(means)).toEqual([undefined]);
  expect(verdicts(means)[0]).toMatchObject({ cause: 'nothing-wrong', also: [] });
});

it('no word of 16 bits on c5.4xlarge', () => {
  expect(verdicts({ type: 'c5.4xlarge' })[0]).toMatchObject({ cause: 'nothing-wrong', also: [] });
});

it('a V100 may gain by float16', () => {
  expect(verdicts({ type: 'p3.2xlarge' })[0]?.others?.[0]?.remedy.change.kind).toBe('fp16');
});

it('arithmetic that was not seen is no cause', () => {
  const [top] = verdicts({});
  expect(top?.cause).toBe('nothing-wrong');
  expect(top?.others?.[0]?.remedy.change.kind).toBe('bf16');
  expect(top?.others?.[0]?.gain.seconds.low).toBeCloseTo(0, 6);
});
