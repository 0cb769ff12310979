/** A day ends with its report, also where a step fails; nothing that was found is lost, and nothing is left over. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Day, GOES_ON, playAll } from '../../../../cli/first-day/play-all.ts';
import { keepResults, readResults, type StepResult } from '../../../../cli/first-day/results.ts';
import { STEPS } from '../../../../cli/first-day/steps.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { firstDay, reportBytes } from '../../../support/first-day.ts';
import { folderOfTest } from '../../../support/folders.ts';

const PLACE = { where: 'AWS', account: '123456789012', region: 'us-east-1', stage: 'first' } as const;
const REPORT = reportBytes({ status: 'failed', failure: 'the script ended with 1' });
const reportOf = (pipeline: string) => bucketKeys.report(pipeline, `${pipeline}-000001`);
const done: StepResult = { number: 2, outcome: 'asExpected', at: 'then', seconds: 9, lines: ['all well'] };

let folder: string;
let store: MemoryBlobStore;
let stopping: AbortController;
let onSleep: () => unknown;
beforeEach(() => {
  folder = folderOfTest('first-day');
  store = new MemoryBlobStore();
  stopping = new AbortController();
  onSleep = () => undefined;
});

const file = () => path.join(folder, 'results.json');
const kept = () => readResults(file(), PLACE);
const reported = () => readFile(path.join(folder, 'report.md'), 'utf8');
const dayOf = (numbers: readonly number[], over: Partial<Day> = {}): Day => ({
  steps: STEPS.filter(({ number }) => numbers.includes(number)),
  again: false,
  folder,
  place: PLACE,
  names: false,
  mayPlay: async () => 'yes',
  ...over,
});
const deps = () => firstDay({ onSleep: () => onSleep(), signal: stopping.signal }, store).deps;

describe('a step that fails', () => {
  it('is reported with the remedy, and ends the day', async () => {
    store.put = () => Promise.reject(new Error('expired'));
    expect(await playAll(dayOf([2, 4, 7]), deps())).toBe(false);
    expect((await kept()).map(({ number, outcome }) => [number, outcome])).toEqual([[2, 'failed']]);
    expect(await reported()).toMatch(/FAILED[\s\S]*## Step 2\n\n- explained: Error: expired/);
  });

  it('keeps its result before its pipeline is removed', async () => {
    onSleep = () => store.put(reportOf('first-day-4'), REPORT);
    store.deleteMany = () => Promise.reject(new Error('the network is gone'));
    await expect(playAll(dayOf([4]), deps())).rejects.toThrow('the network is gone');
    expect((await kept())[0]?.lines[0]).toBe('the run failed: the script ended with 1');
    expect(await reported()).toContain('DIFFERS');
  });
});

describe('a step that is not possible here', () => {
  it('has its reason on the screen once', async () => {
    const lines: string[] = [];
    const { ground, ...rest } = deps();
    const local = { ...rest, isLocal: true, ground: { ...ground, say: (line: string) => lines.push(line) } };
    expect(await playAll(dayOf([3]), local)).toBe(true);
    expect(lines.join('\n').match(/it needs 50 GB of disk/g)).toHaveLength(1);
    expect(await reported()).toMatch(/## Step 3\n\n- .*it needs 50 GB of disk/);
  });
});

describe('a day that is stopped', () => {
  it('is reported, and the next waits for its run', async () => {
    await keepResults(file(), { place: PLACE, results: [done] });
    onSleep = () => stopping.abort();
    await expect(playAll(dayOf([2, 4]), deps())).rejects.toThrow('aborted');
    expect(await kept()).toEqual([done]);
    expect(await reported()).toMatch(/as expected[\s\S]*not done/);
    expect(store.keys()).toContain(bucketKeys.pipeline('first-day-4'));

    stopping = new AbortController();
    onSleep = () => store.put(reportOf('first-day-4'), REPORT);
    expect(await playAll(dayOf([2, 4]), deps())).toBe(false);
    expect((await kept()).map(({ number, outcome }) => [number, outcome])).toEqual([
      [2, 'asExpected'],
      [4, 'differs'],
    ]);
    expect(store.keys()).toEqual([]);
  });

  it('at a question plays nothing further', async () => {
    const lines: string[] = [];
    const { ground, ...rest } = deps();
    const silent = { ...rest, ground: { ...ground, say: (line: string) => lines.push(line) } };
    expect(await playAll(dayOf([2, 7], { mayPlay: async () => 'stop' }), silent)).toBe(false);
    expect(lines.slice(-2)).toEqual(['No answer came: the steps that are left are not played.', GOES_ON]);
    expect(await kept()).toEqual([]);
    expect(await reported()).toContain('not done');
    expect(store.keys()).toEqual([]);
  });
});

describe('a second day', () => {
  it('removes leftovers and plays nothing that is done', async () => {
    await keepResults(file(), { place: PLACE, results: [done] });
    await store.put(reportOf('first-day-2'), REPORT);
    expect(await playAll(dayOf([2]), deps())).toBe(true);
    expect(await kept()).toEqual([done]);
    expect(store.keys()).toEqual([]);
  });

  it('takes no old report for a new one', async () => {
    await keepResults(file(), { place: PLACE, results: [done] });
    await store.put(bucketKeys.pipeline('first-day-2'), new Uint8Array(1));
    await store.put(reportOf('first-day-2'), REPORT);
    onSleep = () => stopping.abort();
    await expect(playAll(dayOf([2], { again: true }), deps())).rejects.toThrow('aborted');
    expect(store.keys()).not.toContain(reportOf('first-day-2'));
  });

  it('waits longer for a slow run', async () => {
    expect(await playAll(dayOf([4]), deps())).toBe(false);
    expect((await kept())[0]).toMatchObject({ outcome: 'differs', goesOn: true });
    expect(store.keys()).toContain(bucketKeys.pipeline('first-day-4'));
    onSleep = () => store.put(reportOf('first-day-4'), REPORT);
    await playAll(dayOf([4]), deps());
    expect((await kept())[0]?.goesOn).toBeUndefined();
    expect(store.keys()).toEqual([]);
  });
});
