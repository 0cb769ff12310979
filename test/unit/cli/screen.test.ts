/** What `npm start` says of runs, declarations, and data that belongs to no pipeline. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { dropTarget, watchUnclaimedFiles } from '../../../cli/serve/unclaimed-files.ts';
import { runWatcher } from '../../../cli/serve/watch-runs.ts';
import { attemptOf, outcomeOf, runOf } from '../../support/builders/records.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const AT = '2026-01-01T00:00:00.000Z';
let at: Ground;
let look: () => Promise<string[]>;
beforeEach(async () => {
  at = ground();
  const watcher = runWatcher({ stores: at, store: at.store });
  look = async () => (await watcher()).map(({ text }) => text);
});

describe('the runs of every pipeline', () => {
  it('are no news at the first look', async () => {
    await at.runs.create(runOf('wine', 1));
    await at.attempts.create(attemptOf('wine-000001', 1, { outcome: outcomeOf('serviceError') }));
    await at.attempts.create(attemptOf('wine-000001', 2));
    await at.pipelines.ensure('wine', { firstBatch: 1, at: AT });
    expect(await look()).toEqual([]);
    expect(await look()).toEqual([]);
    await at.runs.update('wine-000001', { status: 'failed', failure: 'two\nlines', updatedAt: AT });
    expect(await look()).toEqual(['wine-000001 failed: two | lines']);
  });

  it('get a line for each step, once', async () => {
    await at.pipelines.ensure('wine', { firstBatch: 1, at: AT });
    await look();
    await at.runs.create(runOf('wine', 1));
    expect(await look()).toEqual(['wine-000001 started: data arrived']);
    const attempt = attemptOf('wine-000001', 1);
    await at.attempts.create(attempt);
    const [requested] = await look();
    expect(requested).toContain(`wine-000001 attempt 1 requested: `);
    expect(requested).toContain(attempt.jobName);
    await at.attempts.update('wine-000001', 1, { outcome: outcomeOf('interrupted'), updatedAt: AT });
    expect(await look()).toEqual([expect.stringMatching(/^wine-000001 attempt 1 was interrupted/)]);
    await at.runs.update('wine-000001', {
      status: 'succeeded',
      modelUri: 's3://b/model.tar.gz',
      updatedAt: AT,
    });
    expect(await look()).toEqual(['wine-000001 succeeded: s3://b/model.tar.gz']);
    expect(await look()).toEqual([]);
  });

  it('have their lines when they end between looks', async () => {
    await at.pipelines.ensure('wine', { firstBatch: 1, at: AT });
    await look();
    const run = runOf('wine', 1);
    await at.runs.create(run);
    await at.attempts.create(attemptOf(run.runId, 1, { outcome: outcomeOf('userError') }));
    await at.runs.closeBatch(run, { at: AT });
    await at.runs.update(run.runId, { status: 'failed', failure: 'exit code 3', updatedAt: '2099-01-01' });
    const lines = await look();
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe('wine-000001 started: data arrived');
    expect(lines[3]).toBe('wine-000001 failed: exit code 3');
    expect(await look()).toEqual([]);
  });
});

describe('the last lines of a script', () => {
  it('are on the screen once', async () => {
    await at.pipelines.ensure('wine', { firstBatch: 1, at: AT });
    await look();
    const run = runOf('wine', 1);
    await at.runs.create(run);
    const message = 'train.py ended with exit code 3: KeyError: label';
    const outcome = { ...outcomeOf('userError'), message };
    await at.attempts.create(attemptOf(run.runId, 1, { outcome }));
    await at.runs.closeBatch(run, { at: AT });
    const failure = `the training script failed: ${message}`;
    await at.runs.update(run.runId, { status: 'failed', failure, updatedAt: '2099-01-01' });
    const lines = await look();
    expect(lines.filter((line) => line.includes('KeyError'))).toEqual([
      `wine-000001 attempt 1 failed: ${message}`,
    ]);
    expect(lines.at(-1)).toBe('wine-000001 failed: the training script failed: see attempt 1');
  });
});

describe('declarations', () => {
  it('have a line with every problem, and when corrected', async () => {
    await look();
    await at.pipelines.ensure('wine', { firstBatch: 1, at: AT });
    expect(await look()).toEqual([]);
    const problems = [{ path: 'training.strategy', message: 'write ddp' }];
    await at.pipelines.setValidity('wine', { valid: false, problems, updatedAt: AT });
    expect(await look()).toEqual(['pipelines/wine.yaml is not valid: training.strategy: write ddp']);
    expect(await look()).toEqual([]);
    await at.pipelines.setValidity('wine', { valid: true, updatedAt: AT });
    expect(await look()).toEqual(['pipeline wine is declared']);
    await at.pipelines.remove('wine', AT);
    expect(await look()).toEqual(['pipeline wine was removed']);
  });
});

describe('a file of the drop folder', () => {
  it('goes to the arrivals of its pipeline', () => {
    expect(dropTarget('wine/red/a b.csv')).toEqual({ kind: 'data', key: 'wine/incoming/red/a b.csv' });
  });

  it.each([
    ['x.txt', 'drop/x.txt', 'move it to drop/<pipeline>/'],
    ['Bad Name/x.txt', 'drop/Bad Name/', '"Bad Name" cannot name a pipeline: use 1 to 32 of a-z'],
    ['pipelines/x.txt', 'drop/pipelines/', 'the bucket has a folder of the service by this name'],
  ])('is ignored with the remedy: %s', (path, place, remedy) => {
    expect(dropTarget(path)).toEqual({
      kind: 'ignored',
      place,
      remedy: expect.stringContaining(remedy) as string,
    });
  });
});

describe('what belongs to no pipeline in the bucket', () => {
  /** What one look at a bucket with these keys says. */
  async function linesOf(...keys: readonly string[]): Promise<readonly string[]> {
    const lines: string[] = [];
    const ending = new AbortController();
    for (const key of keys) at.store.put(key, '');
    const problem = (text: string): void => void lines.push(text);
    const watching = watchUnclaimedFiles({ store: at.store, screen: { problem }, signal: ending.signal });
    ending.abort();
    await watching;
    return lines;
  }

  it('has a line with the remedy', async () => {
    const arrivals = ['wine', 'beer', 'Bad Name', 'tidewheel-check'].map((name) => `${name}/incoming/1.png`);
    const declarations = [bucketKeys.pipeline('wine'), 'pipelines/beer.yml', 'pipelines/Bad Name.yaml'];
    const lines = await linesOf(...declarations, ...arrivals);
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(/^Bad Name\/incoming\/ is ignored: "Bad Name" cannot name/) as string,
      'beer/incoming/ waits for a pipeline: declare it at pipelines/beer.yaml',
      expect.stringMatching(/^pipelines\/Bad Name\.yaml declares nothing: .*use 1 to 32 of a-z/) as string,
      'pipelines/beer.yml declares nothing: the name of a declaration is pipelines/<pipeline>.yaml',
    ]);
  });

  it('an unclaimed file has one line, whatever its name', async () => {
    const name = 'x\n07:00:00 evil-000001 succeeded\u001b[2J';
    const lines = await linesOf(`pipelines/${name}.yaml`, `pipelines/${name}`, `${name}/incoming/1.png`);
    expect(lines).toHaveLength(3);
    expect(lines.filter((text) => !/^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(text))).toEqual([]);
  });
});
