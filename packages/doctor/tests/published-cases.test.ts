/** Cases whose figures AWS and others published, as far as the figures go. */
import { expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';

it('a gap every fourth step asks for more workers', () => {
  const [top] = diagnose(
    evidenceOf([
      {
        type: 'p3.2xlarge',
        shares: { wait: 0.82, compute: 0.18 },
        gpuBusy: 0.18,
        gapped: true,
        workers: 4,
        workerBusy: 1,
        cpu: { workers: 4, all: 4.2 },
      },
    ]),
  );
  expect(top).toMatchObject({
    cause: 'too-few-workers',
    evidence: { gapEverySteps: 4, gpuBusy: expect.closeTo(0.18) },
    remedy: { change: { workers: 7 } },
    next: 'the CPUs of the host',
  });
});

const prepared = (type: string, helper: string, share: number, stepSeconds: number) =>
  evidenceOf([
    {
      type,
      alternatives: [helper],
      stepSeconds,
      shares: { wait: 1 - share, compute: share },
      gpuBusy: share * 0.95,
      workers: 1_000,
      workerBusy: 1,
      cpu: { workers: type === 'p4d.24xlarge' ? 95 : 3.4, all: type === 'p4d.24xlarge' ? 95.5 : 3.9 },
    },
  ]);

it('two helpers beside a p4d bring 2.2 x', () => {
  const verdicts = diagnose(prepared('p4d.24xlarge', 'c5.18xlarge', 0.4, 0.192));
  expect(verdicts[0]).toMatchObject({
    cause: 'preparation',
    remedy: { change: { kind: 'helpers', type: 'c5.18xlarge', nodes: 2 } },
  });
  const perStep = (verdicts[0]?.gain.seconds.expected ?? 0) / 10_000;
  expect(0.192 / (0.192 - perStep)).toBeCloseTo(2.2, 1);
});

const forecast = (share: number): number => {
  const [top] = diagnose(prepared('g5.xlarge', 'c5.4xlarge', share, 0.2));
  return 1 / (1 - (top?.gain.seconds.expected ?? 0) / 2_000);
};

it('helpers beside a g5.xlarge bring what its accelerator leaves', () => {
  expect(forecast(0.3)).toBeCloseTo(1 / 0.3, 1);
  expect(forecast(0.45)).toBeCloseTo(1 / 0.45, 1);
});
