/** What the training process does itself: work beside a loader, and pauses. */

import { type EvidencePoint, readPoints } from '@tidewheel/contract/evidence.ts';
import { describe, expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';
import type { Verdict } from '../rules/verdict.ts';

const LINE = 'train.py:12 load';

describe('work in the loop', () => {
  const [top] = diagnose(evidenceOf([{ workers: 0, hostWork: { share: 0.6, line: LINE } }]));

  it('is named with its line and as many workers', () => {
    expect(top).toMatchObject({
      cause: 'work-in-loop',
      remedy: { where: 'script', change: { kind: 'load-in-workers', workers: 2, line: LINE } },
    });
    expect(top?.remedy?.text).toContain(LINE);
  });

  it('of a framework has no line, and a parameter', () => {
    const [work] = diagnose(evidenceOf([{ workers: 0, hostWork: { share: 0.6, line: null } }]));
    expect(work?.remedy?.text).toBe(
      'what the framework reads in the loop: in 2 workers, by its own parameter (num_workers, workers)',
    );
  });

  it('leaves the rest of the step', () => {
    // 0.12 of 0.2 s are host work, which two workers do in 0.06 s; the rest is 0.08 s.
    expect(top?.gain.seconds.expected).toBeCloseTo(10_000 * 0.12, 0);
  });

  it('is nothing below a tenth of the step', () => {
    const [quiet] = diagnose(evidenceOf([{ hostWork: { share: 0.09, line: LINE } }]));
    expect(quiet?.cause).toBe('nothing-wrong');
  });
});

describe('pauses', () => {
  // Of ten seconds, six are pauses: 20 steps of 0.2 s.
  const paused = evidenceOf([{ hostWork: { share: 0.5, line: LINE } }]);
  const points = paused.points.map((point) => ({ ...point, steps: 20 }));
  const [top] = diagnose({ ...paused, points });

  it('are steps longer on average than nearly all', () => {
    expect(top).toMatchObject({ cause: 'pauses', remedy: { change: { kind: 'pause-less', line: LINE } } });
    expect(top?.evidence['pausedShare']).toBeCloseTo(0.6, 2);
  });

  it('count where a point holds no step', () => {
    const some = points.map((point, k) =>
      k % 3 === 1 ? { ...point, steps: 0, stepSeconds: { median: 0, p95: 0 } } : { ...point, steps: 50 },
    );
    expect(diagnose({ ...paused, points: some })[0]?.cause).toBe('pauses');
  });
});

describe('pauses beside other programs', () => {
  // Of 0.5 s a step, 0.3 s are pauses: the looks find no host work in them.
  function topOf(cpu: Partial<EvidencePoint['cpu']>): Verdict | undefined {
    const evidence = evidenceOf([{ cpu: { threads: 2, ...cpu } }]);
    return diagnose({ ...evidence, points: evidence.points.map((point) => ({ ...point, steps: 20 })) })[0];
  }

  it('are not said where the steps had no core', () => {
    expect(topOf({ runQueue: 25, waitForCore: 0.9 })?.cause).toBe('nothing-wrong');
    expect(topOf({ runQueue: 25, waitForCore: null })?.cause).toBe('nothing-wrong');
  });

  it('are said where the steps had theirs', () => {
    expect(topOf({ runQueue: 25, waitForCore: 0.2 })?.cause).toBe('pauses');
  });

  it('are said where the threads are the training’s own', () => {
    expect(topOf({ runQueue: 6, waitForCore: 0.9 })?.cause).toBe('pauses');
  });
});

describe('the line of a point', () => {
  const [point] = evidenceOf([{}]).points;

  it.each(['<script>alert(1)</script>', 'a\nb', 'x'.repeat(201)])('is left out where it is %j', (line) => {
    const text = JSON.stringify({ ...point, hostWork: { share: 0.5, line } });
    expect(readPoints(text)).toMatchObject([{ hostWork: { share: 0.5, line: null } }]);
  });

  it('may be missing, as earlier agents write points', () => {
    expect(readPoints(JSON.stringify({ ...point, hostWork: undefined }))).toMatchObject([{ hostWork: null }]);
  });
});
