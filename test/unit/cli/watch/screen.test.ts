import { writtenPipeline } from '@tidewheel/declaration/pipeline.ts';
import fc from 'fast-check';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { visible } from '../../../../cli/command/format.ts';
import { News } from '../../../../cli/watch/news.ts';
import { screenLines } from '../../../../cli/watch/screen.ts';
import type { WatchedRun, WatchedSeries } from '../../../../cli/watch/view.ts';
import { makeReport } from '../../../../functions/run/attempts/make-report.ts';
import { AT, declarationOf, runOf, secondsAfter } from '../../../support/builders/records.ts';

const NOW = Date.parse(secondsAfter(5_000));
const plain = (view: WatchedRun, series: WatchedSeries = [], columns = 80): string[] =>
  screenLines({ view, series }, { now: NOW, columns, colours: pc.createColors(false) });

type Attempt = WatchedRun['attempts'][number];

const RUN: WatchedRun['run'] = {
  runId: 'digits-000042',
  pipeline: 'digits',
  batch: 42,
  trigger: 'arrival',
  execution: 1,
  createdAt: AT,
  updatedAt: AT,
  status: 'training',
  declaration: writtenPipeline(declarationOf('digits', { limits: { deadlineHours: 12 } })),
  closedAt: secondsAfter(100),
  sealedAt: secondsAfter(200),
};
const attemptIn = (zoneId: string, over: Partial<Attempt>): Attempt => ({
  attempt: 1,
  jobName: 'digits-000042-a1',
  launcher: 'sagemaker',
  status: 'running',
  createdAt: secondsAfter(300),
  updatedAt: secondsAfter(300),
  placement: {
    pool: { instanceType: 'g5.xlarge', zoneId, purchaseOption: 'spot', launcher: 'sagemaker' },
    topology: { nodes: 2, acceleratorsPerNode: 1 },
    decidedAt: secondsAfter(290),
    onDemandHourlyUsd: 1.5,
  },
  ...over,
});
const lost = attemptIn('use1-az4', {
  status: 'interrupted',
  outcome: {
    kind: 'interrupted',
    message: 'reclaimed',
    endedAt: secondsAfter(2_000),
    trainingSeconds: 1_500,
    interruptions: 0,
  },
  progressAfter: { step: 4_000, totalSteps: 9_600, checkpoint: 'step-4000', updatedAt: secondsAfter(1_800) },
});
const running = attemptIn('use1-az1', { attempt: 2, createdAt: secondsAfter(2_100) });
const view: WatchedRun = {
  run: RUN,
  attempts: [lost, running],
  timeline: [],
  progress: {
    step: 4_800,
    totalSteps: 9_600,
    trainingSeconds: 4_800,
    checkpoint: 'step-4800',
    updatedAt: secondsAfter(4_990),
  },
  money: {
    asOf: secondsAfter(4_900),
    usd: 3.08,
    usdPerSecond: 0.001,
    byPurchaseOption: [],
    lost: { seconds: 130, usd: 0.06 },
    onDemandUsd: 8.9,
    expected: {
      widths: { end: 1, cost: 1 },
      usd: { low: 5.2, expected: 6.1, high: 7.4 },
      finishAt: { low: secondsAfter(9_000), expected: secondsAfter(9_800), high: secondsAfter(12_000) },
      onDemandUsd: 17.9,
      basis: 'measured',
    },
    deadlineAt: secondsAfter(43_300),
  },
};
const series: WatchedSeries = [
  {
    name: 'loss',
    source: 'log',
    unit: 'step',
    pointCount: 10,
    lost: [],
    points: Array.from({ length: 10 }, (_, index) => ({
      position: index * 500,
      value: 1 - index / 12,
      at: AT,
      attempt: 1,
    })),
  },
];

describe('the screen of a run', () => {
  it('shows both attempts, the lost work and the finish', () => {
    const [head = '', life = ''] = plain(view, series);
    expect(head).toMatch(/^digits-000042 {2}training {2}attempt 2 of 50 +deadline .+ left\)$/);
    expect(life).toMatch(/^settle▏pack▏ g5\.xlarge az4 ━+╳▒+ az1 ━+▶ +◌ \S+ \(\S+-\S+\)$/);
  });

  it('shows progress, pace, loss and money', () => {
    const [, , progress, money] = plain(view, series);
    expect(progress).toMatch(/^step 4,800 \/ 9,600 {3}50 % {2}█{8}░{8} +1 s a step {3}loss 0\.25 ↘$/);
    expect(money).toBe('USD 3.18 of 6.10 (5.20-7.40)   On-Demand would be 17.90   lost 2 m 10 s ($0.06)');
  });

  it('fits every width and every number of attempts', () => {
    const attempts = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ ...lost, attempt: index + 1 }));
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 200 }), fc.integer({ min: 0, max: 80 }), (columns, count) => {
        const lines = plain({ ...view, attempts: [...attempts(count), running] }, series, columns);
        expect(Math.max(...lines.map((line) => visible(line).length))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it('calls no deadline missed that lies ahead', () => {
    const declaration = declarationOf('digits', { limits: { deadlineHours: 12 } });
    const run = runOf('digits', 42, { declaration, closedAt: secondsAfter(100) });
    const headAt = (seconds: number): string | undefined => {
      const finishedAt = secondsAfter(seconds);
      const report = makeReport({ run, attempts: [], timeline: [], status: 'failed', finishedAt });
      return plain({ ...view, run: RUN, report })[0];
    };
    expect(headAt(5_000)).toMatch(/ deadline \S+( \S+)? not met$/);
    expect(headAt(50_000)).toMatch(/ missed$/);
  });

  it('obeys no control characters of foreign text', () => {
    const failed = { ...RUN, status: 'failed' as const, failure: 'Error: \u001b[2J\u0007gone' };
    const hostile: WatchedSeries = series.map((each) => ({ ...each, name: 'a\u001b[2Jloss' }));
    const text = plain({ ...view, run: failed }, hostile).join('');
    expect(text).toContain('gone');
    expect(text).not.toContain('\u001b');
    expect(text).not.toContain('\u0007');
  });

  it('says what the doctor advises', () => {
    const gain = { low: 1, expected: 2, high: 3 };
    const verdict = {
      cause: 'hostCpu',
      evidence: {},
      remedy: { change: { kind: 'workers' }, where: 'script', text: 'load with 8 workers' },
      gain: { seconds: gain, dollars: gain },
      also: [],
      unknown: [],
    } as const;
    const diagnosed = { ...running, diagnosis: { at: AT, verdicts: [verdict] } };
    expect(plain({ ...view, attempts: [lost, diagnosed] }, series).at(-1)).toBe(
      'doctor: load with 8 workers',
    );
  });

  it('says what goes on before the script starts', () => {
    const preparing = { since: AT, text: 'Downloading the training image' };
    const watched = { view: { ...view, attempts: [lost, { ...running, preparing }] }, series };
    const line = `${AT.slice(11, 19)} UTC Downloading the training image`;
    expect(plain(watched.view, series).at(-1)).toBe(line);
    const news = new News();
    expect(news.of(watched)).toContain(line);
    expect(news.of(watched)).not.toContain(line);
  });

  it('says in each line of progress when it ends', () => {
    const { expected } = view.money;
    if (expected === undefined) throw new Error('no end is expected');
    const lineAt = (lateChance: number) => {
      const money = { ...view.money, expected: { ...expected, lateChance } };
      return new News().of({ view: { ...view, money }, series }).at(-1);
    };
    expect(lineAt(0.04)).toMatch(/, done about [\w :]+ \([\w :]+ to [\w :]+\)$/);
    const near = { low: AT, expected: AT, high: secondsAfter(9) };
    const money = { ...view.money, expected: { ...expected, finishAt: near } };
    expect(new News().of({ view: { ...view, money }, series }).at(-1)).toMatch(
      / \([\w :]+:00 to [\w :]+:09\)/,
    );
    expect(lineAt(0.73)).toMatch(/ to [\w :]+\), 73 % chance of being late$/);
  });

  it('has no loss of values that are none', () => {
    const nothing = series.map((each) => ({
      ...each,
      points: each.points.map((point) => ({ ...point, value: null })),
    }));
    expect(plain(view, nothing).join('\n')).not.toContain('loss');
  });

  it('waits for data without a line too many', () => {
    const { expected: _expected, deadlineAt: _deadlineAt, ...money } = view.money;
    const { closedAt: _closedAt, sealedAt: _sealedAt, ...run } = RUN;
    const waiting: WatchedRun = { run: { ...run, status: 'settling' }, attempts: [], timeline: [], money };
    expect(plain(waiting)).toEqual(['digits-000042  settling', 'settle…▏']);
    const settle = { quietSeconds: 60, maximumWaitSeconds: 3_600 };
    const lines = (newestEventAt: string) =>
      screenLines(
        { view: { ...waiting, run: { ...waiting.run, newestEventAt } }, series: [], settle },
        { now: NOW, columns: 100, colours: pc.createColors(false) },
      ).at(-1);
    const why = 'packs when nothing has arrived for 60 s (settle.quietSeconds)';
    expect(lines(secondsAfter(4_990))?.replace(/\d\d:\d\d$/, 'TIME')).toBe(`${why}: about TIME`);
    expect(lines(secondsAfter(4_900))).toBe(why);
  });

  it('ends with the command that has the model', () => {
    const made = makeReport({
      run: runOf('digits', 42, { declaration: declarationOf('digits'), closedAt: secondsAfter(100) }),
      attempts: [],
      timeline: [],
      status: 'succeeded',
      finishedAt: secondsAfter(5_000),
    });
    const report = { ...made, modelUri: 's3://bucket/model.tar.gz' };
    const run = { ...RUN, status: 'succeeded' as const };
    expect(plain({ ...view, run, report }).slice(-2)).toEqual([
      'model s3://bucket/model.tar.gz',
      'to have it here: tidewheel model get digits-000042',
    ]);
    const declaration = declarationOf('digits', { training: { strategy: 'ddp', model: 'none' } });
    expect(plain({ ...view, run: { ...run, declaration }, report }).at(-1)).toMatch(
      /^to have what it saved:/,
    );
  });
});
