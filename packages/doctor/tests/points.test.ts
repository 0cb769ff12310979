/** The files of evidence that the agent leaves beside the checkpoints. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { evidenceFileOf, readHostStart, readPoints } from '@tidewheel/contract/evidence.ts';
import { describe, expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';

const folder = bucketKeys.evidence('digits', 'digits-000001');
const [point] = evidenceOf([{}]).points;

describe('the name of a file of evidence', () => {
  it('tells attempt and host of the points', () => {
    expect(evidenceFileOf(`${folder}3-algo-1.jsonl`)).toEqual({ kind: 'points', attempt: 3, host: 'algo-1' });
  });

  it('tells attempt and host of a start', () => {
    const key = `${folder}12-ip-10-0-0-7.ec2.internal-phases.json`;
    expect(evidenceFileOf(key)).toEqual({ kind: 'start', attempt: 12, host: 'ip-10-0-0-7.ec2.internal' });
  });

  it.each(['0-algo-1.jsonl', 'algo-1.jsonl', '1-algo-1.txt'])('is not %s', (name) => {
    expect(evidenceFileOf(`${folder}${name}`)).toBeUndefined();
  });
});

describe('lines of points', () => {
  it('come back as they were written', () => {
    expect(readPoints(`${JSON.stringify(point)}\n`)).toEqual([point]);
  });

  it('are passed over when cut short', () => {
    const line = JSON.stringify(point);
    expect(readPoints(`${line.slice(0, 80)}\n${line}\n`)).toEqual([point]);
  });

  it('may come from before there were ranks', () => {
    const earlier = { ...point, processes: undefined, rankSkewSeconds: undefined };
    expect(readPoints(JSON.stringify(earlier))).toMatchObject([{ processes: 1, rankSkewSeconds: null }]);
  });
});

describe('the start of a host', () => {
  const start = {
    startedAt: '2026-11-25T10:00:00.000Z',
    phases: { download: null, install: 2, scriptStart: 5, firstBatch: 1, firstStep: null },
    hooks: { kind: 'removed', hook: 'torch.save', reason: "TypeError('x')" },
  };

  it('keeps the lines that can be shown', () => {
    const lines = { loader: 'data/load.py:5 training', save: '<script>alert("train.py:1")</script>' };
    expect(readHostStart(JSON.stringify({ ...start, lines }))?.lines.loader).toBe(lines.loader);
    expect(readHostStart(JSON.stringify({ ...start, lines }))?.lines.save).toBeUndefined();
  });

  it('is read with phases and hooks', () => {
    expect(readHostStart(JSON.stringify(start))).toEqual({ ...start, lines: {} });
  });

  it('is unknown when the file is cut short', () => {
    expect(readHostStart(JSON.stringify(start).slice(0, 60))).toBeUndefined();
  });
});
