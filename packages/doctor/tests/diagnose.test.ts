/** Each cause from the evidence that it leaves, and the healthy job that leaves none. */
import { describe, expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';

const waiting = { shares: { wait: 0.5, compute: 0.5 }, workerBusy: 1, gpuBusy: 0.45 };
const topOf = (...question: Parameters<typeof evidenceOf>) => diagnose(evidenceOf(...question))[0];

describe('the first verdict', () => {
  it('is nothing wrong where the accelerator works', () => {
    expect(diagnose(evidenceOf([{}])).map(({ cause }) => cause)).toEqual(['nothing-wrong']);
  });

  it('leaves out the wait for the first batch', () => {
    const evidence = evidenceOf([{}]);
    const points = evidence.points.map((point, k) =>
      k < 5 ? { ...point, steps: 0, shares: { wait: 1, compute: 0, save: 0, exchange: 0 } } : point,
    );
    expect(diagnose({ ...evidence, points }).map(({ cause }) => cause)).toEqual(['nothing-wrong']);
  });

  it('is absent before three points', () => {
    const evidence = evidenceOf([{}]);
    expect(diagnose({ ...evidence, points: evidence.points.slice(0, 4) })).toEqual([]);
  });

  it('is a download that takes longer than the steps', () => {
    const top = topOf([{}], { download: 3_000 }, { data: { bytes: 3e12, files: 1_000 } });
    expect(top).toMatchObject({
      cause: 'download',
      remedy: { change: { kind: 'input-mode', inputMode: 'FastFile' } },
    });
    expect(top?.gain.seconds.expected).toBe(3_000);
  });

  it('is many small files where the network idles', () => {
    const top = topOf([{}], { download: 3_000 }, { data: { bytes: 1e10, files: 2_000_000 } });
    expect(top).toMatchObject({ cause: 'small-files', remedy: { change: { kind: 'pack' } } });
  });

  it('is an installation at every start', () => {
    expect(topOf([{}], { install: 900 })).toMatchObject({ cause: 'installation' });
  });

  it('is too few workers while cores are idle', () => {
    const top = topOf([{ ...waiting, workers: 2, cpu: { workers: 2, all: 2.5 } }]);
    expect(top).toMatchObject({
      cause: 'too-few-workers',
      remedy: { change: { kind: 'workers', workers: 5 } },
      next: 'the accelerator',
    });
    expect(top?.gain.seconds.expected).toBeCloseTo(1_000);
  });

  it('promises less of what other programs hold', () => {
    const starved = { shares: { wait: 0.15, compute: 0.85 }, workers: 0, gpuBusy: 0.9 };
    const cpu = { cores: 2, main: 0.1, workers: 0 };
    const [alone, beside] = [0.1, 2].map((all) => topOf([{ ...starved, cpu: { ...cpu, all } }]));
    expect(beside).toMatchObject({ cause: 'too-few-workers', evidence: { otherCores: 1.9 } });
    expect(beside?.unknown).toContain('how much of the CPU other programs leave to the workers');
    const whole = alone?.gain.seconds.expected ?? Number.NaN;
    expect(beside?.gain.seconds.expected).toBeCloseTo(0.4 * whole);
    expect(beside?.gain.seconds.low).toBeCloseTo(-0.2 * whole);
    expect(beside?.gain.seconds.high).toBeCloseTo(whole);
  });

  it('takes a long run queue for other programs', () => {
    // As pytorch-ignite's mnist.py in a local region, whose hosts count their own processes alone.
    const starved = { shares: { wait: 0.42, compute: 0.58 }, workers: 0, gpuBusy: 0.9 };
    const cpu = { cores: 2, main: 0.2, workers: 0, all: 0.2, threads: 1 };
    const [own, many] = [3, 19].map((runQueue) => topOf([{ ...starved, cpu: { ...cpu, runQueue } }]));
    expect(many?.gain.seconds.low).toBeLessThan(0);
    expect(many?.gain.seconds.high).toBeCloseTo(own?.gain.seconds.expected ?? Number.NaN);
  });

  it('counts on no idle core beside a run queue', () => {
    // As PyTorch's mnist/main.py on two cores at a load of 27, where a worker brought nothing.
    const starved = { shares: { wait: 0.4, compute: 0.6 }, workers: 0, gpuBusy: 0.9 };
    const cpu = { cores: 2, main: 0.1, workers: 0, all: 1.7 };
    const [short, long] = [2, 27].map((runQueue) => topOf([{ ...starved, cpu: { ...cpu, runQueue } }]));
    expect(short?.gain.seconds.low).toBeGreaterThan(0);
    expect(long).toMatchObject({ cause: 'too-few-workers', evidence: { runQueue: 27 } });
    expect(long?.gain.seconds.low).toBeLessThan(0);
  });

  it('names the next limit where cores end first', () => {
    const top = topOf([
      { ...waiting, shares: { wait: 0.9, compute: 0.1 }, workers: 4, cpu: { workers: 4, all: 4.5 } },
    ]);
    expect(top?.next).toBe('the CPUs of the host');
  });

  it('is too many workers where fewer would fit', () => {
    const top = topOf([{ ...waiting, workers: 16, faults: 400, cpu: { workers: 2, all: 3 } }]);
    expect(top).toMatchObject({ cause: 'too-many-workers', remedy: { change: { workers: 5 } } });
  });

  it('is host memory where every worker is needed', () => {
    const alternatives = ['g5.4xlarge'];
    const top = topOf([
      {
        ...waiting,
        shares: { wait: 0.7, compute: 0.3 },
        alternatives,
        faults: 400,
        cpu: { workers: 2, all: 4 },
      },
    ]);
    expect(top).toMatchObject({ cause: 'host-memory', remedy: { change: { type: 'g5.4xlarge' } } });
  });

  it('is the network at its baseline', () => {
    const top = topOf(
      [{ ...waiting, received: 600e6, cpu: { workers: 1, all: 2 } }],
      {},
      { inputMode: 'FastFile' },
    );
    expect(top).toMatchObject({ cause: 'network', remedy: { change: { inputMode: 'File' } } });
  });

  it('is one late worker where the others idle', () => {
    const top = topOf([{ ...waiting, gapped: true, workerBusy: 0.4 }]);
    expect(top).toMatchObject({ cause: 'periodic-gaps', evidence: { gapEverySteps: 4 } });
  });

  it('is workers that start again in each epoch', () => {
    // In ten seconds of 50 steps, loaders started again five times, and 3 s passed until their first batches.
    const restarts = { share: 0.3, count: 5 };
    const top = topOf([{ ...waiting, gapped: true, workerBusy: 0.4, restarts }]);
    expect(top).toMatchObject({
      cause: 'worker-restarts',
      remedy: { change: { kind: 'keep-workers' }, where: 'script' },
    });
    expect(top?.evidence['stepsPerStart']).toBeCloseTo(10);
    // A batch takes one of four workers 0.32 s, so 0.032 of the 0.06 s a step stay.
    expect((top?.gain.seconds.expected ?? 0) / 10_000).toBeCloseTo(0.028);
  });

  it.each([
    ['Hugging Face Trainer', 'ignore_data_skip=True'],
    ['Accelerate', 'skip_first_batches'],
    [undefined, 'StatefulDataLoader'],
  ])('is data that a resume of %s skips', (format, remedy) => {
    const top = topOf([{}], { firstStep: 1_300 }, { skipped: { seconds: 1_200, format } });
    expect(top).toMatchObject({
      cause: 'skips-data',
      evidence: { skippedSeconds: 1_200 },
      remedy: { where: 'script', text: expect.stringContaining(remedy) as string },
    });
    expect(top?.gain.seconds.expected).toBe(1_200);
    expect(topOf([{}], {}, { skipped: { seconds: 20, format } })?.cause).toBe('nothing-wrong');
  });

  it('is a late worker where few start again', () => {
    const restarts = { share: 0.04, count: 1 };
    const top = topOf([{ ...waiting, gapped: true, workerBusy: 0.4, restarts }]);
    expect(top?.cause).toBe('periodic-gaps');
  });

  it('is a hand-over where all steps wait alike', () => {
    const top = topOf([{ ...waiting, workerBusy: 0.2, pinBusy: 0.75 }]);
    expect(top).toMatchObject({ cause: 'hand-over', evidence: { pinBusy: 0.75 } });
    expect(top?.evidence).not.toHaveProperty('gapEverySteps');
  });

  it('is a checkpoint that stops the steps', () => {
    const top = topOf([{ shares: { compute: 0.7, save: 0.3 }, gpuBusy: 0.65 }]);
    expect(top).toMatchObject({ cause: 'checkpoint-stall' });
    expect(top?.gain.seconds.expected).toBeCloseTo(600);
  });

  it('is an exchange that all hosts wait for', () => {
    const host = { shares: { compute: 0.5, exchange: 0.5 }, gpuBusy: 0.45, sent: 100e6 };
    expect(topOf([host, host])).toMatchObject({ cause: 'gradient-exchange' });
  });

  it('is the one host that is slow', () => {
    const usual = { shares: { compute: 0.6, exchange: 0.4 }, gpuBusy: 0.55 };
    const top = topOf([usual, { shares: { compute: 1, exchange: 0 } }, usual]);
    expect(top).toMatchObject({ cause: 'slow-host', remedy: { change: { host: 1 } } });
    expect(top?.gain.seconds.expected).toBeCloseTo(800);
  });

  it('is an accelerator with little to do', () => {
    const top = topOf([{ gpuBusy: 0.05, alternatives: ['g4dn.xlarge', 'c5.2xlarge'] }]);
    expect(top).toMatchObject({
      cause: 'accelerator-too-large',
      remedy: { change: { kind: 'instance-type' } },
    });
    expect(top?.gain.dollars.expected).toBeGreaterThan(0);
  });
});

it('several verdicts are ranked by money', () => {
  const stalled = { shares: { compute: 0.7, save: 0.3 }, gpuBusy: 0.65 };
  const causes = diagnose(evidenceOf([stalled], { install: 300 })).map(({ cause }) => cause);
  expect(causes).toEqual(['checkpoint-stall', 'installation']);
});
