/** What the agent measured on the hosts of all attempts, as a person sees it on one axis. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { readUtilisation } from '../../../functions/records/utilisation.ts';
import { evidenceOf } from '../../support/builders/evidence.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const [point] = evidenceOf([{}]).points;
const START = Date.parse('2026-11-25T10:00:00.000Z');
const timeOf = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

interface Line {
  readonly at: number;
  readonly cores?: number;
  readonly gpu?: number;
  readonly processes?: number;
}

/** On a host of four cores. */
const lineOf = ({ at, cores = 2, gpu, processes = 1 }: Line): string =>
  JSON.stringify({
    ...point,
    at: timeOf(at),
    processes,
    cpu: { ...point?.cpu, cores: 4, all: cores },
    gpu: gpu === undefined ? null : { busy: gpu, memoryUsedBytes: 1, memoryTotalBytes: 2, powerWatts: null },
  });
const folder = bucketKeys.evidence('digits', 'digits-000001');
const measured = (attempt: number, host: string, lines: readonly Line[]) => [
  { key: `${folder}${attempt}-${host}.jsonl`, text: lines.map(lineOf).join('\n') },
];

async function meansOf(files: ReturnType<typeof measured>, most: number) {
  const store = memoryObjectStore(fakeClock());
  for (const { key, text } of files) store.put(key, text);
  return (await readUtilisation(store, { pipeline: 'digits', runId: 'digits-000001', most })).points;
}

describe('the utilisation of a run', () => {
  it('is the mean over its hosts', async () => {
    const hosts = [
      ...measured(1, 'algo-1', [{ at: 0, cores: 4, gpu: 0.5 }]),
      ...measured(1, 'algo-2', [{ at: 4, cores: 1, gpu: 1 }]),
    ];
    expect(await meansOf(hosts, 300)).toEqual([
      {
        at: timeOf(4),
        attempt: 1,
        hosts: 2,
        cpuBusy: 0.625,
        gpuBusy: 0.75,
        waiting: point?.shares.wait,
      },
    ]);
  });

  it('keeps a CPU within its cores', async () => {
    expect(await meansOf(measured(1, 'algo-1', [{ at: 0, cores: 4.2 }]), 300)).toMatchObject([
      { cpuBusy: 1 },
    ]);
  });

  it('averages a long run to few points', async () => {
    const lines = Array.from({ length: 1_000 }, (_, place) => ({
      at: place * 10,
      cores: place % 2 === 0 ? 4 : 0,
    }));
    const means = await meansOf(measured(1, 'algo-1', lines), 10);
    expect(means).toHaveLength(10);
    expect(means.every(({ cpuBusy }) => cpuBusy === 0.5)).toBe(true);
  });

  it('never mixes two attempts', async () => {
    const both = [...measured(2, 'algo-1', [{ at: 5 }]), ...measured(1, 'algo-1', [{ at: 1 }])];
    expect((await meansOf(both, 2)).map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('leaves out helpers and lines cut short', async () => {
    const lines = [
      lineOf({ at: 0, cores: 4, processes: 0 }),
      lineOf({ at: 0 }).slice(0, 90),
      lineOf({ at: 0 }),
    ];
    const files = measured(1, 'algo-1', []).map(({ key }) => ({ key, text: lines.join('\n') }));
    expect(await meansOf(files, 300)).toMatchObject([{ cpuBusy: 0.5 }]);
  });
});

describe('files of many hosts', () => {
  const keyOf = (attempt: number, host: number): string => `${folder}${attempt}-algo-${host}.jsonl`;
  const read = (store: ReturnType<typeof memoryObjectStore>) =>
    readUtilisation(store, { pipeline: 'digits', runId: 'digits-000001', most: 300 });

  it('are read beside those of other attempts', async () => {
    const store = memoryObjectStore(fakeClock());
    store.put(keyOf(1, 1), lineOf({ at: 0 }));
    store.put(keyOf(2, 1), lineOf({ at: 600 }));
    store.put(`${folder}1-algo-1-phases.json`, '{}');
    expect(await read(store)).toMatchObject({
      points: [{ attempt: 1, hosts: 1 }, { attempt: 2 }],
      hostsLeftOut: 0,
    });
  });

  it('leave no attempt out for second hosts', async () => {
    const store = memoryObjectStore(fakeClock());
    const padded = `${lineOf({ at: 0 })}\n${' '.repeat(6e6)}`;
    for (const host of [1, 2, 3]) store.put(keyOf(1, host), padded);
    store.put(keyOf(2, 1), lineOf({ at: 600 }));
    expect(await read(store)).toMatchObject({
      points: [{ attempt: 1, hosts: 2 }, { attempt: 2 }],
      hostsLeftOut: 1,
    });
  });

  it('are empty before anything is measured', async () => {
    expect(await read(memoryObjectStore(fakeClock()))).toEqual({ points: [], hostsLeftOut: 0 });
  });
});
